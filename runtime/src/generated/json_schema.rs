//! `schemars::JsonSchema` for generated types: the schema that the server sent. A macro expands in another crate and
//! cannot see this one's features, so it has two versions.

#[cfg(feature = "schemars")]
pub use schemars::{JsonSchema, Schema, SchemaGenerator};

/// The name or id of a type.
#[cfg(feature = "schemars")]
pub type Name = std::borrow::Cow<'static, str>;

/// Returns a schema as `schemars` holds it.
#[cfg(feature = "schemars")]
#[must_use]
pub fn original(text: Option<&str>) -> Schema {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// Implements `schemars::JsonSchema` for a type of a tool.
///
/// The schema is a separate document, as the server sent it: its references are relative to its root.
#[doc(hidden)]
#[cfg(feature = "schemars")]
#[macro_export]
macro_rules! __json_schema {
    ($type:ident, input_schema of $params:ident) => {
        $crate::__json_schema!($type, ::core::option::Option::Some(<$params as $crate::Tool>::SPEC.input_schema));
    };
    ($type:ident, output_schema of $params:ident) => {
        $crate::__json_schema!($type, <$params as $crate::Tool>::SPEC.output_schema);
    };
    ($type:ident, $text:expr) => {
        impl $crate::__private::json_schema::JsonSchema for $type {
            fn schema_name() -> $crate::__private::json_schema::Name {
                ::core::convert::From::from(::core::stringify!($type))
            }

            fn schema_id() -> $crate::__private::json_schema::Name {
                ::core::convert::From::from(::core::concat!(::core::module_path!(), "::", ::core::stringify!($type)))
            }

            fn json_schema(
                _: &mut $crate::__private::json_schema::SchemaGenerator,
            ) -> $crate::__private::json_schema::Schema {
                $crate::__private::json_schema::original($text)
            }
        }
    };
}

/// Without feature `schemars`, types have no `schemars::JsonSchema`.
#[doc(hidden)]
#[cfg(not(feature = "schemars"))]
#[macro_export]
macro_rules! __json_schema {
    ($($tokens:tt)*) => {};
}

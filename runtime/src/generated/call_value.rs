//! The JSON form of a call that is a value: `{"name": .., "arguments": {..}}`, the `params` of MCP's `tools/call`.

use serde::de::Error as _;
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Deserializer, Serializer};
use serde_json::Value;

use crate::CallError;

/// Prints a call.
///
/// # Errors
/// The serializer's own, and arguments with a number that JSON cannot hold.
pub fn serialize_call<S: Serializer>(name: &'static str, arguments: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    if !arguments.is_object() {
        return Err(S::Error::custom(format!("the arguments of `{name}` have no JSON form")));
    }
    // Formats without field names print a struct as a list, which is not a call.
    let mut call = serializer.serialize_map(Some(2))?;
    call.serialize_entry("name", name)?;
    call.serialize_entry("arguments", arguments)?;
    call.end()
}

/// Deserializes a call; other members of the request (`_meta`) are ignored.
///
/// # Errors
/// The deserializer's own, and whatever `parse` refuses.
pub fn deserialize_call<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    parse: impl FnOnce(&str, Option<&Value>) -> Result<T, CallError>,
) -> Result<T, D::Error> {
    let call = CallParams::deserialize(deserializer)?;
    parse(&call.name, call.arguments.as_ref()).map_err(D::Error::custom)
}

struct CallParams {
    name: String,
    arguments: Option<Value>,
}

crate::__object!(CallParams { name: required "name", arguments: optional "arguments", });

/// `Serialize` and `Deserialize` for the type of a server's calls.
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_call {
    ($type:ident) => {
        impl $crate::__private::serde::Serialize for $type {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__private::serialize_call(self.name(), &self.arguments(), serializer)
            }
        }

        impl<'de> $crate::__private::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::__private::deserialize_call(deserializer, |name, arguments| Self::parse(name, arguments))
            }
        }
    };
}

//! Tables for generated types, used instead of derives: `serde`'s attributes cannot express all of it, and need more
//! tokens.

/// `Wire` for a struct: `field: required "key"`, `optional` or `present`, then `extra field` or `deny` for unknown
/// properties, and `any` with sets of properties, one of which must be there. `tag "key"` names the property that the
/// union around it reads.
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    (
        $type:ident { $($field:ident: $presence:ident $key:literal,)* } $(tag $tag:literal)? extra $extra:ident
        $(any $sets:tt)*
    ) => {
        $crate::__object!(
            @impl $type [$($field $presence $key)*] [$($key,)* $($tag)?]
            // It takes every key.
            ::core::option::Option::None,
            $crate::__private::Unknown::Keep(&mut $extra), [$extra] [$(&$sets),*]
        );
    };
    ($type:ident { $($field:ident: $presence:ident $key:literal,)* } $(tag $tag:literal)? deny $(any $sets:tt)*) => {
        $crate::__object!(
            @impl $type [$($field $presence $key)*] [$($key,)* $($tag)?]
            ::core::option::Option::Some(&[$($key,)* $($tag)?]),
            $crate::__private::Unknown::Deny, [] [$(&$sets),*]
        );
    };
    ($type:ident { $($field:ident: $presence:ident $key:literal,)* } $(tag $tag:literal)? $(any $sets:tt)*) => {
        $crate::__object!(
            @impl $type [$($field $presence $key)*] [$($key,)* $($tag)?]
            ::core::option::Option::Some(&[$($key,)* $($tag)?]),
            $crate::__private::Unknown::Ignore, [] [$(&$sets),*]
        );
    };
    (
        @impl $type:ident [$($field:ident $presence:ident $key:literal)*] $keys:tt $taken:expr,
        $unknown:expr, [$($extra:ident)?] $demands:tt
    ) => {
        $crate::__wire! {
            $type: input => {
                $(let mut $field = ::core::option::Option::None;)*
                $(let mut $extra = ::std::collections::BTreeMap::new();)?
                input.give($crate::__private::Sink::Object(&mut $crate::__private::Fields::new(
                    &$keys,
                    &mut [$($crate::__private::Slot::$presence(&mut $field)),*],
                    $unknown,
                    &$demands,
                )))?;
                ::core::result::Result::Ok(Self {
                    $($field: $crate::__object_take!($presence $field),)*
                    $($extra,)?
                })
            }, [$taken],
            object => $crate::__private::Form::Object(object),
            to => {
                let fields: &[$crate::__private::Member<'_>] =
                    &[$($crate::__private::Member::$presence($key, &object.$field)),*];
                to.fields(fields)?;
                $(to.extra(fields, &object.$extra)?;)?
                ::core::result::Result::Ok(())
            },
        }
    };
}

/// Returns the value of a property, which is there if the property is required.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_take {
    (required $field:ident) => {
        match $field {
            ::core::option::Option::Some(value) => value,
            ::core::option::Option::None => return ::core::result::Result::Err($crate::__private::nothing_read()),
        }
    };
    ($presence:ident $field:ident) => {
        $field
    };
}

/// Implements `Wire` for an enum of objects with a tag property. `json` is for tags that are not strings; `open` keeps
/// unlisted tags in `Other`.
#[doc(hidden)]
#[macro_export]
macro_rules! __tagged_union {
    ($type:ident by $key:literal $branches:tt $($open:ident)?) => {
        $crate::__tagged_union!(@impl $type $key true Text $branches $($open)?);
    };
    ($type:ident by json $key:literal $branches:tt $($open:ident)?) => {
        $crate::__tagged_union!(@impl $type $key false literal $branches $($open)?);
    };
    (@impl $type:ident $key:literal $is_text:literal $tag_form:ident { $($variant:ident = $tag:literal,)* } $($open:ident)?) => {
        $crate::__wire! {
            $type: input => input.recorded(|input| match &*input.tag($key, $is_text)? {
                $($tag => input.read().map(Self::$variant),)*
                _ => input.other_branch($key, &[$($tag),*], $crate::__optional!($(Self::$open)?)),
            }), [$crate::__union_keys!($type [$key] $($variant)*)],
            value => {
                #[allow(unreachable_patterns)]
                match value {
                    $(Self::$open(other) => $crate::__private::Print::form(other),)?
                    _ => $crate::__private::Form::Object(value),
                }
            },
            to => match value {
                $(Self::$variant(branch) => to.tagged($key, $crate::__private::Form::$tag_form($tag), branch),)*
                $(Self::$open(_) => ::core::result::Result::Ok(()),)?
            },
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __union_keys {
    ($type:ident $own:tt $($variant:ident)*) => {{
        static KEYS: $crate::__private::UnionKeys = $crate::__private::UnionKeys::new(|| {
            $crate::__private::keys_of_branches(&$own, &[$($crate::__private::keys_of_branch($type::$variant)),*])
        });
        KEYS.as_deref()
    }};
}

/// Implements `Wire` for an enum whose branch depends on the value: the first that loses nothing. A branch with kinds
/// takes any value of them. `by` lists distinguishing keys, sorted, each with the number of its branch, and the other
/// branches.
#[doc(hidden)]
#[macro_export]
macro_rules! __untagged_union {
    (
        $type:ident { $($variant:ident,)* }
        $(by [$($key:literal $(= $text:literal)? => $branch:literal,)*] [$($other:literal),*])?
        $(rest $rest:ident [$($kind:literal),*])?
    ) => {
        $crate::__wire! {
            $type: input => input.recorded(|input| {
                $crate::__private::pick(
                    input,
                    &[$(|input| input.read().map(Self::$variant)),*],
                    $crate::__optional!($(&$crate::__private::Index {
                        keys: &[$(($key, $crate::__optional!($($text)?), $branch)),*],
                        others: &[$($other),*],
                    })?),
                    $crate::__optional!($((&[$($kind),*], Self::$rest))?),
                )
            }), [$crate::__union_keys!($type [] $($variant)* $($rest)?)],
            value => match value {
                $(Self::$variant(branch) => $crate::__private::Print::form(branch),)*
                $(Self::$rest(branch) => $crate::__private::Print::form(branch),)?
            },
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __optional {
    () => {
        ::core::option::Option::None
    };
    ($value:expr) => {
        ::core::option::Option::Some($value)
    };
}

/// `Wire` for a type with one field.
#[doc(hidden)]
#[macro_export]
macro_rules! __newtype {
    ($type:ident($inner:ty)) => {
        impl ::core::convert::From<$inner> for $type {
            fn from(value: $inner) -> Self {
                Self(value)
            }
        }

        $crate::__wire! {
            $type: input => $crate::__private::Wire::read(input).map(Self), [<$inner as $crate::__private::Wire>::keys()],
            value => $crate::__private::Print::form(&value.0),
        }
    };
}

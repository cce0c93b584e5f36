//! Tables for generated types, used instead of derives: `serde`'s attributes cannot express all of it, and need more
//! tokens.

/// `Wire` for a struct: `field: required "key"`, `optional` or `present`, then `extra field` or `deny` for unknown
/// properties. `tag "key"` names the property that the union around it reads.
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    ($type:ident { $($field:ident: $presence:ident $key:literal,)* } tag $tag:literal $($rest:tt)*) => {
        $crate::__object!(@impl $type [$($field: $presence $key,)*] [$($key,)* $tag] $($rest)*);
    };
    ($type:ident { $($field:ident: $presence:ident $key:literal,)* } $($rest:tt)*) => {
        $crate::__object!(@impl $type [$($field: $presence $key,)*] [$($key),*] $($rest)*);
    };
    (@impl $type:ident [$($field:ident: $presence:ident $key:literal,)*] $keys:tt $($rest:tt)*) => {
        impl $crate::__private::Wire for $type {
            fn read(
                input: $crate::__private::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::Mismatch> {
                $(let mut $field = ::core::option::Option::None;)*
                $crate::__object_read!(input $keys [$($field $presence $key)*] $($rest)*)
            }

            $crate::__object_keys!($keys $($rest)*);
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                $crate::__private::Form::Object(self, $crate::__object_length!(self [$($field $presence)*] $($rest)*))
            }

            fn members(
                &self,
                to: &mut $crate::__private::Members<'_>,
            ) -> ::core::result::Result<(), $crate::__private::Stopped> {
                $crate::__object_print!(to &[$($crate::__private::Member::$presence($key, &self.$field)),*], self $($rest)*)
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_read {
    ($input:ident $keys:tt $fields:tt extra $extra:ident $($rest:tt)*) => {{
        let mut extra = ::std::collections::BTreeMap::new();
        let unknown = $crate::__private::Unknown::Keep(&mut extra);
        $crate::__object_read!(@impl $input $keys $fields unknown [$extra: extra,] $($rest)*)
    }};
    ($input:ident $keys:tt $fields:tt deny $($rest:tt)*) => {{
        let unknown = $crate::__private::Unknown::Deny;
        $crate::__object_read!(@impl $input $keys $fields unknown [] $($rest)*)
    }};
    ($input:ident $keys:tt $fields:tt $($rest:tt)*) => {{
        let unknown = $crate::__private::Unknown::Ignore;
        $crate::__object_read!(@impl $input $keys $fields unknown [] $($rest)*)
    }};
    (
        @impl $input:ident $keys:tt [$($field:ident $presence:ident $key:literal)*] $unknown:ident
        [$($extra:ident: $kept:ident,)?] $(any $sets:tt)*
    ) => {{
        let slots: &mut [$crate::__private::Slot<'_>] = &mut [$($crate::__private::Slot::$presence(&mut $field)),*];
        let mut fields = $crate::__private::Fields::new(&$keys, slots, $unknown);
        $input.object(&mut fields)?;
        $(fields.require_any(&$sets)?;)*
        #[allow(unused_variables)]
        let strangers = fields.finish();
        ::core::result::Result::Ok(Self {
            $($field: $crate::__object_take!(strangers $presence $key $field),)*
            $($extra: $kept,)?
        })
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_take {
    ($strangers:ident required $key:literal $field:ident) => {
        match $field {
            ::core::option::Option::Some(value) => value,
            ::core::option::Option::None => return ::core::result::Result::Err($strangers.missing($key)),
        }
    };
    ($strangers:ident $presence:ident $key:literal $field:ident) => {
        $field
    };
}

/// Lists the keys of a struct; a struct that keeps unknown properties takes every key.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_keys {
    ($keys:tt extra $($rest:tt)*) => {};
    ($keys:tt $($rest:tt)*) => {
        fn keys() -> ::core::option::Option<$crate::__private::Keys> {
            ::core::option::Option::Some(&$keys)
        }
    };
}

/// Returns the number of printed members, if no others are possible.
#[doc(hidden)]
#[macro_export]
macro_rules! __object_length {
    ($self:ident $fields:tt extra $($rest:tt)*) => {
        ::core::option::Option::None
    };
    ($self:ident [$($field:ident $presence:ident)*] $($rest:tt)*) => {
        ::core::option::Option::Some(0 $(+ u32::from($crate::__object_is_printed!($presence &$self.$field)))*)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_print {
    ($to:ident $fields:expr, $self:ident extra $extra:ident $($rest:tt)*) => {
        $to.fields_and($fields, &$self.$extra)
    };
    ($to:ident $fields:expr, $self:ident $($rest:tt)*) => {
        $to.fields($fields)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_is_printed {
    (required $value:expr) => {
        true
    };
    ($presence:ident $value:expr) => {
        $value.is_some()
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
        impl $crate::__private::Wire for $type {
            fn read(
                input: $crate::__private::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::Mismatch> {
                input.recorded(Self::keys, |input| match &*input.tag($key, $is_text)? {
                    $($tag => input.read().map(Self::$variant),)*
                    _ => $crate::__tagged_union_rest!(input $key [$($tag),*] $($open)?),
                })
            }

            $crate::__union_keys!($type [$key] $($variant)*);
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                #[allow(unreachable_patterns)]
                match self {
                    $(Self::$open(value) => $crate::__private::Print::form(value),)?
                    _ => $crate::__private::Form::Object(self, ::core::option::Option::None),
                }
            }

            fn members(
                &self,
                to: &mut $crate::__private::Members<'_>,
            ) -> ::core::result::Result<(), $crate::__private::Stopped> {
                match self {
                    $(Self::$variant(branch) => to.tagged($key, $crate::__private::Form::$tag_form($tag), branch),)*
                    $(Self::$open(_) => ::core::result::Result::Ok(()),)?
                }
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tagged_union_rest {
    ($input:ident $key:literal [$($tag:literal),*]) => {
        ::core::result::Result::Err($crate::__private::unknown_tag($key, &[$($tag),*]))
    };
    ($input:ident $key:literal [$($tag:literal),*] $open:ident) => {
        $input.read().map(Self::$open)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __union_keys {
    ($type:ident $own:tt $($variant:ident)*) => {
        fn keys() -> ::core::option::Option<$crate::__private::Keys> {
            static KEYS: $crate::__private::UnionKeys = $crate::__private::UnionKeys::new(|| {
                $crate::__private::keys_of_branches(&$own, &[$($crate::__private::keys_of_branch($type::$variant)),*])
            });
            KEYS.as_deref()
        }
    };
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
        impl $crate::__private::Wire for $type {
            fn read(
                input: $crate::__private::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::Mismatch> {
                input.recorded(Self::keys, |input| {
                    $crate::__private::pick(
                        input,
                        &[$(|input| input.read().map(Self::$variant)),*],
                        $crate::__optional!($(&$crate::__private::Index {
                            keys: &[$(($key, $crate::__optional!($($text)?), $branch)),*],
                            others: &[$($other),*],
                        })?),
                        $crate::__optional!($((&[$($kind),*], Self::$rest))?),
                    )
                })
            }

            $crate::__union_keys!($type [] $($variant)* $($rest)?);
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                match self {
                    $(Self::$variant(branch) => $crate::__private::Print::form(branch),)*
                    $(Self::$rest(branch) => $crate::__private::Print::form(branch),)?
                }
            }
        }

        $crate::__serde_through_wire!($type);
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

        impl $crate::__private::Wire for $type {
            fn read(input: $crate::__private::Input<'_>) -> ::core::result::Result<Self, $crate::Mismatch> {
                $crate::__private::Wire::read(input).map(Self)
            }

            fn keys() -> ::core::option::Option<$crate::__private::Keys> {
                <$inner as $crate::__private::Wire>::keys()
            }
        }

        impl $crate::__private::Print for $type {
            fn form(&self) -> $crate::__private::Form<'_> {
                $crate::__private::Print::form(&self.0)
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

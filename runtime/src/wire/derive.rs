//! The tables that generated types are made of, instead of derives: what `serde`'s attributes cannot say in as many
//! tokens.

/// `Wire` for a struct: `field: required "key"`, `optional` or `present`, then `extra field` or `deny` for unknown
/// properties. `tag "key"` names the property that the union around it reads.
#[doc(hidden)]
#[macro_export]
macro_rules! __object {
    ($type:ident { $($field:ident: $presence:ident $key:literal,)* } $($rest:tt)*) => {
        impl $crate::wire::Wire for $type {
            fn read(
                input: $crate::wire::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                let object = input.object()?;
                $crate::__object_checks!(object [$($key,)*] $($rest)*);
                $crate::__object_value!(object [$($field $presence $key,)*] [$($key,)*] $($rest)*)
            }

            fn write(&self) -> ::core::result::Result<$crate::wire::prelude::Value, $crate::wire::Mismatch> {
                #[allow(unused_mut)]
                let mut object = $crate::wire::ObjectWriter::new();
                $($crate::__object_write!(object $presence $key, &self.$field);)*
                $crate::__object_write_extra!(self object $($rest)*);
                ::core::result::Result::Ok(object.finish())
            }

            fn undeclared(&self) -> usize {
                0 $(+ $crate::wire::Wire::undeclared(&self.$field))* + $crate::__object_undeclared!(self $($rest)*)
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_checks {
    ($object:ident [$($key:literal,)*]) => {};
    ($object:ident [$($key:literal,)*] extra $extra:ident $($rest:tt)*) => {
        $crate::__object_checks!($object [$($key,)*] $($rest)*);
    };
    ($object:ident [$($key:literal,)*] tag $tag:literal $($rest:tt)*) => {
        $crate::__object_checks!($object [$($key,)* $tag,] $($rest)*);
    };
    ($object:ident [$($key:literal,)*] deny $($rest:tt)*) => {
        $object.deny_unknown(&[$($key),*])?;
        $crate::__object_checks!($object [$($key,)*] $($rest)*);
    };
    ($object:ident [$($key:literal,)*] any $sets:tt $($rest:tt)*) => {
        $object.require_any(&$sets)?;
        $crate::__object_checks!($object [$($key,)*] $($rest)*);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_value {
    ($object:ident [$($field:ident $presence:ident $key:literal,)*] [$($known:literal,)*] tag $tag:literal $($rest:tt)*) => {
        $crate::__object_value!($object [$($field $presence $key,)*] [$($known,)* $tag,] $($rest)*)
    };
    ($object:ident [$($field:ident $presence:ident $key:literal,)*] [$($known:literal,)*] extra $extra:ident $($rest:tt)*) => {
        ::core::result::Result::Ok(Self {
            $($field: $object.$presence($key)?,)*
            $extra: $object.extra(&[$($known),*])?,
        })
    };
    ($object:ident [$($field:ident $presence:ident $key:literal,)*] [$($known:literal,)*] $($rest:tt)*) => {
        ::core::result::Result::Ok(Self { $($field: $object.$presence($key)?,)* })
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_write {
    ($object:ident required $key:literal, $value:expr) => {
        $object.required($key, $value)?
    };
    ($object:ident $presence:ident $key:literal, $value:expr) => {
        $object.optional($key, $value)?
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_undeclared {
    ($self:ident tag $tag:literal $($rest:tt)*) => {
        $crate::__object_undeclared!($self $($rest)*)
    };
    ($self:ident extra $extra:ident $($rest:tt)*) => {
        $crate::wire::Wire::undeclared(&$self.$extra)
    };
    ($self:ident $($rest:tt)*) => {
        0
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __object_write_extra {
    ($self:ident $object:ident tag $tag:literal $($rest:tt)*) => {
        $crate::__object_write_extra!($self $object $($rest)*);
    };
    ($self:ident $object:ident extra $extra:ident $($rest:tt)*) => {
        $object.extra(&$self.$extra)?;
    };
    ($self:ident $object:ident $($rest:tt)*) => {};
}

/// `Wire` for an enum of objects that a property tells apart; `json` where its values are no strings, `open` keeps what
/// the schema does not list in `Other`.
#[doc(hidden)]
#[macro_export]
macro_rules! __tagged_union {
    ($type:ident by $key:literal $branches:tt $($open:ident)?) => {
        $crate::__tagged_union!(@impl $type $key tag tagged $branches $($open)?);
    };
    ($type:ident by json $key:literal $branches:tt $($open:ident)?) => {
        $crate::__tagged_union!(@impl $type $key tag_json tagged_json $branches $($open)?);
    };
    (@impl $type:ident $key:literal $read:ident $write:ident { $($variant:ident = $tag:literal,)* } $($open:ident)?) => {
        impl $crate::wire::Wire for $type {
            fn read(
                input: $crate::wire::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                let object = input.object()?;
                match ::core::convert::AsRef::<str>::as_ref(&object.$read($key)?) {
                    $($tag => $crate::wire::Wire::read(input).map(Self::$variant),)*
                    _ => $crate::__tagged_union_rest!(input object $key [$($tag),*] $($open)?),
                }
            }

            fn write(&self) -> ::core::result::Result<$crate::wire::prelude::Value, $crate::wire::Mismatch> {
                match self {
                    $(Self::$variant(branch) => $crate::wire::ObjectWriter::$write($key, $tag)?.flatten(branch),)*
                    $(Self::$open(value) => $crate::wire::Wire::write(value),)?
                }
            }

            fn undeclared(&self) -> usize {
                match self {
                    $(Self::$variant(branch) => $crate::wire::Wire::undeclared(branch),)*
                    $(Self::$open(value) => $crate::wire::Wire::undeclared(value),)?
                }
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tagged_union_rest {
    ($input:ident $object:ident $key:literal [$($tag:literal),*]) => {
        ::core::result::Result::Err($object.unknown_tag($key, &[$($tag),*]))
    };
    ($input:ident $object:ident $key:literal [$($tag:literal),*] $open:ident) => {
        $crate::wire::Wire::read($input).map(Self::$open)
    };
}

/// `Wire` for an enum whose value picks the branch: the first that loses nothing. A branch with kinds takes any value
/// of them.
#[doc(hidden)]
#[macro_export]
macro_rules! __untagged_union {
    ($type:ident { $($variant:ident,)* } $(rest $rest:ident [$($kind:literal),*])?) => {
        impl $crate::wire::Wire for $type {
            fn read(
                input: $crate::wire::Input<'_>,
            ) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                #[allow(unused_mut)]
                let mut pick = $crate::wire::Pick::of(input);
                $(pick.branch(Self::$variant);)*
                $(pick.rest(&[$($kind),*], Self::$rest);)?
                pick.finish()
            }

            fn write(&self) -> ::core::result::Result<$crate::wire::prelude::Value, $crate::wire::Mismatch> {
                match self {
                    $(Self::$variant(branch) => $crate::wire::Wire::write(branch),)*
                    $(Self::$rest(branch) => $crate::wire::Wire::write(branch),)?
                }
            }

            fn undeclared(&self) -> usize {
                match self {
                    $(Self::$variant(branch) => $crate::wire::Wire::undeclared(branch),)*
                    $(Self::$rest(branch) => $crate::wire::Wire::undeclared(branch),)?
                }
            }
        }

        $crate::__serde_through_wire!($type);
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

        impl $crate::wire::Wire for $type {
            fn read(input: $crate::wire::Input<'_>) -> ::core::result::Result<Self, $crate::wire::Mismatch> {
                $crate::wire::Wire::read(input).map(Self)
            }

            fn write(&self) -> ::core::result::Result<$crate::wire::prelude::Value, $crate::wire::Mismatch> {
                $crate::wire::Wire::write(&self.0)
            }

            fn undeclared(&self) -> usize {
                $crate::wire::Wire::undeclared(&self.0)
            }
        }

        $crate::__serde_through_wire!($type);
    };
}

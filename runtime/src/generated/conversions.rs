/// Implements `From` for the branches of a union: from their content, boxed or not, and from types that convert to it.
#[doc(hidden)]
#[macro_export]
macro_rules! __from {
    ($type:ident { $($variant:ident($payload:ty),)* }) => {$(
        impl ::core::convert::From<$payload> for $type {
            fn from(value: $payload) -> Self {
                Self::$variant(::core::convert::Into::into(value))
            }
        }
    )*};
}

/// `From` for the branches of a union: of what a branch holds, also where it is boxed, and of what becomes that.
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

//! Methods that set one field and return the value.

/// Declares a method for each field: its argument, and the value for the field.
macro_rules! setters {
    ($type:ty { $($(#[$about:meta])* $field:ident($argument:ident: $argument_type:ty) => $value:expr;)* }) => {
        impl $type {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $field(mut self, $argument: $argument_type) -> Self {
                    self.$field = $value;
                    self
                }
            )*
        }
    };
}
pub(crate) use setters;

/// Declares a method for each list of texts, which adds to the list.
macro_rules! adders {
    ($type:ty { $($(#[$about:meta])* $name:ident($argument:ident) => [$($list:tt)+];)* }) => {
        impl $type {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $name<S: Into<String>>(mut self, $argument: impl IntoIterator<Item = S>) -> Self {
                    self.$($list)+.extend($argument.into_iter().map(Into::into));
                    self
                }
            )*
        }
    };
}
pub(crate) use adders;

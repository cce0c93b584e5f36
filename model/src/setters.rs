//! Methods that change a value and return it.

/// Declares methods by their arguments and their change, which is an expression that begins after `self.`.
macro_rules! setters {
    ($type:ty { $($(#[$about:meta])* $name:ident($($argument:ident: $argument_type:ty),*) { $($change:tt)+ })* }) => {
        impl $type {
            $(
                $(#[$about])*
                #[must_use]
                pub fn $name(mut self, $($argument: $argument_type),*) -> Self {
                    self.$($change)+;
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

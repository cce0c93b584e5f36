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

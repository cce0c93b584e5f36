//! Enums whose variants are words of `mcp.toml`.

/// Declares an enum with the word of each variant.
macro_rules! words {
    ($(#[$attribute:meta])* pub enum $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name {
            $($(#[$about])* $variant,)*
        }

        impl $name {
            /// All variants.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the word in `mcp.toml`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        const _: () = {
            use $crate::FileError;
            use $crate::config::key::Form;
            use $crate::config::read::{Node, Reader};
            use $crate::config::table::ConfigValue;

            impl ConfigValue for $name {
                const FORM: Form = Form::Words(&[$($word),*]);

                fn read(reader: &Reader<'_>, node: &Node, what: &str) -> Result<Self, FileError> {
                    Ok(match reader.word(node, what, &[$($word),*])? {
                        $($word => Self::$variant,)*
                        _ => Self::default(),
                    })
                }

                fn to_json(&self) -> serde_json::Value {
                    self.name().into()
                }
            }
        };
    };
}
pub(crate) use words;

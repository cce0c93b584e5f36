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

        impl $crate::config::table::ConfigValue for $name {
            const FORM: $crate::config::key::Form = $crate::config::key::Form::Words(|| vec![$($word),*]);

            fn read(
                reader: &$crate::config::read::Reader<'_>,
                node: &$crate::config::read::Node,
                what: &str,
            ) -> Result<Self, $crate::FileError> {
                reader.word(node, what, &Self::ALL.map(|word| (word.name(), word)))
            }

            fn to_json(&self) -> serde_json::Value {
                self.name().into()
            }
        }
    };
}
pub(crate) use words;

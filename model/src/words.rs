//! Enums whose variants are words of `mcp.toml`.

/// An enum of words.
pub(crate) trait Words: Copy + Default + PartialEq + 'static {
    /// The variants with their words.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns the words.
    fn words() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }

    /// Returns the word of a variant.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, variant)| *variant == self).map_or("", |(word, _)| word)
    }
}

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

        impl $crate::words::Words for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }
    };
}
pub(crate) use words;

//! When there are colours.

use std::env;

use clap::{ColorChoice, ValueEnum};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

impl Colour {
    /// Reads the choice of colours before the command line is parsed: it also holds for errors of parsing.
    pub(crate) fn said() -> ColorChoice {
        let words: Vec<String> = env::args_os()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned())
            .take_while(|word| word != "--")
            .collect();
        let joined = words.iter().find_map(|word| word.strip_prefix("--color="));
        let apart =
            words.iter().zip(words.iter().skip(1)).find(|(word, _)| *word == "--color").map(|(_, when)| when.as_str());
        match joined.or(apart) {
            Some("always") => ColorChoice::Always,
            Some("never") => ColorChoice::Never,
            _ => ColorChoice::Auto,
        }
    }
}

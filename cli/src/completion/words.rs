//! The text that is written so far.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, Command};

/// The words of a line that is being written, as far as they matter.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The command, and the one within it.
    pub(super) path: Vec<String>,
    /// The words behind it that are no options.
    pub(super) positionals: Vec<String>,
    /// The value of `--config`.
    pub(super) config: Option<PathBuf>,
}

impl Said {
    /// Reads words without the program's name. The last may be half a word.
    pub(super) fn read(root: &Command, words: &[OsString]) -> Self {
        let mut said = Self::default();
        let mut command = root;
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            let (name, value) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (&*word, None),
            };
            if name.len() > 1 && name.starts_with('-') {
                let mut arguments = command.get_arguments().chain(root.get_arguments());
                let Some(option) = arguments.find(|argument| is_named(argument, name)) else { continue };
                let takes = option.get_action().takes_values();
                let value = if takes && value.is_none() { words.next().map(Into::into) } else { value };
                if option.get_id() == "config" {
                    said.config = value.map(PathBuf::from);
                }
            } else if let Some(inner) = command.find_subcommand(&*word).filter(|_| said.positionals.is_empty()) {
                said.path.push(inner.get_name().to_owned());
                command = inner;
            } else {
                said.positionals.push(word.into_owned());
            }
        }
        said
    }
}

fn is_named(argument: &Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| name.strip_prefix('-') == Some(short.to_string().as_str())),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Said;
    use crate::args::Arguments;

    #[test]
    fn options_and_their_values_are_not_positionals() {
        let line = "-v --config a.toml call --timeout 5s -o out --yes github list_issues --owner x";
        let words: Vec<_> = line.split(' ').map(Into::into).collect();
        let said = Said::read(&Arguments::command(), &words);
        assert_eq!(said.path, ["call"]);
        assert_eq!(said.positionals, ["github", "list_issues", "x"], "those of the tool are not known yet");
        assert_eq!(said.config.as_deref(), Some("a.toml".as_ref()));

        let words: Vec<_> = ["prompt", "get", "list", "--config=b.toml"].map(Into::into).into();
        let said = Said::read(&Arguments::command(), &words);
        assert_eq!((said.path.len(), said.positionals.len()), (2, 1), "a server may be named like a command");
        assert_eq!(said.config.as_deref(), Some("b.toml".as_ref()));
    }
}

//! Completed values that need quotes in a shell. Elvish, fish and zsh add them, bash if told to, PowerShell never.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::complete;
use clap_complete::env::{self as shells, EnvCompleter};

/// Allowed in values beside plain characters. Between quotes of no shell are they anything but themselves, and bash, which
/// expands what it is given, makes no names of files of them.
pub(super) const QUOTABLE: &str = " ()&#;=<>|";

pub(super) fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:@,+%".contains(character)
}

/// The word that a shell would make of what is written so far: a quote need not be closed.
pub(super) fn unquoted(word: &OsStr) -> OsString {
    let Some(text) = word.to_str().filter(|text| text.contains(['\\', '\'', '"'])) else { return word.to_owned() };
    let mut unquoted = String::new();
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None | Some('"'), '\\') => unquoted.extend(characters.next()),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            (_, character) => unquoted.push(character),
        }
    }
    unquoted.into()
}

/// PowerShell, which writes candidates into the line as they are.
pub(super) struct Powershell;

impl EnvCompleter for Powershell {
    fn name(&self) -> &'static str {
        shells::Powershell.name()
    }

    fn is(&self, name: &str) -> bool {
        shells::Powershell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        shells::Powershell.write_registration(var, name, bin, completer, buf)
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        let last = args.len().saturating_sub(1);
        for candidate in complete(cmd, args, last, current_dir)? {
            let value = candidate.get_value().to_string_lossy();
            match value.chars().all(is_plain) {
                true => write!(buf, "{value}")?,
                false => write!(buf, "'{}'", value.replace('\'', "''"))?,
            }
            if let Some(help) = candidate.get_help() {
                write!(buf, "\t{}", help.to_string().lines().next().unwrap_or_default())?;
            }
            writeln!(buf)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::unquoted;

    #[test]
    fn words_are_read_as_shells_read_them() {
        for (written, word) in [
            ("plain", "plain"),
            (r"New\ Y", "New Y"),
            ("'New Y", "New Y"),
            ("\"New Y\"", "New Y"),
            (r"--city='New Y", "--city=New Y"),
            (r#""a\"b'c""#, "a\"b'c"),
            (r"'a\b'", r"a\b"),
            ("New\\", "New"),
        ] {
            assert_eq!(unquoted(written.as_ref()), word, "{written}");
        }
    }
}

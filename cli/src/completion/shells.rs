//! Rules of shells. Bash breaks words at `=` and `:`, and expects only the text after the last break. Completed values
//! may need quotes: elvish, fish and zsh add them, bash only on request, PowerShell never.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use clap::Command;
use clap_complete::engine::{CompletionCandidate, complete};
use clap_complete::env::{self as shells, EnvCompleter};

const BREAKS: [char; 2] = ['=', ':'];
/// The end of the function that completes, and what comes before it: bash quotes names of files alone, as it has to between the
/// quotes that are there. A bash that does not know how is given nothing.
const END: &str = "\n}\nif ";
const QUOTED: &str = r#"
    if [[ "${COMPREPLY[*]-}" == *[\ \(\)\&\#\;\<\>\|]* ]]; then
        compopt -o filenames 2> /dev/null || COMPREPLY=()
    fi"#;

/// Characters allowed in values besides plain ones. Inside quotes they have no special meaning in any shell, and bash
/// does not expand them to file names.
pub(super) const QUOTABLE: &str = " ()&#;=<>|";

pub(super) fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:@,+%".contains(character)
}

/// The shells that get more than the library gives them.
pub(super) enum Shell {
    Bash,
    /// It writes candidates into the line as they are.
    Powershell,
}

impl Shell {
    fn of_library(&self) -> &'static dyn EnvCompleter {
        match self {
            Self::Bash => &shells::Bash,
            Self::Powershell => &shells::Powershell,
        }
    }
}

impl EnvCompleter for Shell {
    fn name(&self) -> &'static str {
        self.of_library().name()
    }

    fn is(&self, name: &str) -> bool {
        self.of_library().is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        let mut script = Vec::new();
        self.of_library().write_registration(var, name, bin, completer, &mut script)?;
        // PowerShell's has no such end.
        let script = String::from_utf8_lossy(&script).replacen(END, &format!("{QUOTED}{END}"), 1);
        buf.write_all(script.as_bytes())
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), io::Error> {
        if let Self::Powershell = self {
            let mut lines = Vec::new();
            shells::Powershell.write_complete(cmd, args, current_dir, &mut lines)?;
            for line in String::from_utf8_lossy(&lines).lines() {
                // A description follows the value.
                let (value, help) = line.split_at(line.find('\t').unwrap_or(line.len()));
                match value.chars().all(is_plain) {
                    true => writeln!(buf, "{line}")?,
                    false => writeln!(buf, "'{}'{help}", value.replace('\'', "''"))?,
                }
            }
            return Ok(());
        }
        let Some(index) = index() else { return Ok(()) };
        let (words, is_broken) = joined(&args, index);
        let current = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        // Bash keeps the text before the break, so it must not be repeated.
        let known = if is_broken { current.rfind(BREAKS).map_or(0, |at| at + 1) } else { 0 };
        let before = current.get(..known).unwrap_or_default();
        let last = words.len().saturating_sub(1);
        let candidates = complete(cmd, words, last, current_dir)?;
        let value = |candidate: &CompletionCandidate| {
            candidate.get_value().to_string_lossy().strip_prefix(before).map(str::to_owned)
        };
        let separator = env::var("_CLAP_IFS").unwrap_or_else(|_| "\n".to_owned());
        write!(buf, "{}", candidates.iter().filter_map(value).collect::<Vec<_>>().join(&separator))
    }
}

/// Returns the word that a shell would read so far; a quote may be open.
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

/// Returns the index of the word at the cursor.
pub(super) fn index() -> Option<usize> {
    env::var("_CLAP_COMPLETE_INDEX").ok()?.parse().ok()
}

/// Returns the words up to the one that the cursor is in, as they were before bash broke them, and whether that one was
/// broken.
pub(super) fn joined(words: &[OsString], index: usize) -> (Vec<OsString>, bool) {
    let is_break =
        |word: &OsStr| word.to_str().is_some_and(|text| !text.is_empty() && text.chars().all(|c| BREAKS.contains(&c)));
    let mut joined: Vec<OsString> = Vec::new();
    let (mut is_behind_break, mut is_broken) = (false, false);
    for word in words.iter().take(index + 1) {
        let breaks = is_break(word);
        is_broken = !joined.is_empty() && (is_behind_break || breaks);
        match joined.last_mut() {
            Some(last) if is_broken => last.push(word),
            _ => joined.push(word.clone()),
        }
        is_behind_break = breaks;
    }
    if words.len() <= index {
        // The cursor is behind all of them.
        joined.push(OsString::new());
        is_broken = false;
    }
    (joined, is_broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_by_bash_are_joined_again() {
        for (broken, whole, is_broken) in [
            ("p call g t --state = c", "p call g t --state=c", true),
            ("p read s note : ///x", "p read s note:///x", true),
            ("p --config = a.toml call g", "p --config=a.toml call g", false),
            ("p call g t --x := 1", "p call g t --x:=1", true),
        ] {
            let words: Vec<OsString> = broken.split(' ').map(OsString::from).collect();
            let expected: Vec<OsString> = whole.split(' ').map(OsString::from).collect();
            assert_eq!(joined(&words, words.len() - 1), (expected, is_broken), "{broken}");
        }
        let words = ["p".into(), "call".into()];
        assert_eq!(joined(&words, 2).0, ["p", "call", ""]);
    }

    #[test]
    fn words_are_unquoted_by_shell_rules() {
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

//! Finds the end of a value in a command line, before its other words.

use std::ops::Range;

use super::shape::{self, is_flag};

const SHELLS: [&str; 11] = ["ash", "bash", "busybox", "cmd", "dash", "fish", "ksh", "powershell", "pwsh", "sh", "zsh"];
/// The characters that end a word of a shell, beside blanks.
const WORD_ENDS: &str = ";&|<>()";
const QUOTES: [char; 2] = ['"', '\''];

/// Returns `true` if the argument behind these is a script: `sh -c SCRIPT`.
pub(super) fn is_script(command: &str, before: &[String]) -> bool {
    let Some((flag, before)) = before.split_last() else { return false };
    let letters = flag.strip_prefix('-').unwrap_or_default();
    let is_of_letters = letters.bytes().all(|b| b.is_ascii_lowercase()) && letters.len() <= 4;
    let has_script = (is_of_letters && letters.ends_with('c'))
        || ["/c", "/k", "-command"].iter().any(|known| flag.eq_ignore_ascii_case(known));
    let is_shell = |program: &str| {
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        SHELLS.contains(&name.trim_end_matches(".exe"))
    };
    has_script && (is_shell(command) || before.iter().any(|word| is_shell(word)))
}

/// Returns `true` if a quote is open at the end of this part of a script.
pub(super) fn is_quoted(script: &str) -> bool {
    let mut quotes = Quotes::default();
    for c in script.chars() {
        quotes.takes(c, true);
    }
    quotes.open.is_some()
}

/// Returns the value at the start of a text, without surrounding quotes. In a script it ends with its word. Elsewhere
/// it ends before an option or another pair, because it may contain blanks.
pub(super) fn of(text: &str, is_script: bool) -> Range<usize> {
    let mut quotes = Quotes::default();
    let end = text.char_indices().find(|(at, c)| {
        if quotes.takes(*c, is_script) {
            return false;
        }
        let ends_word = is_script && WORD_ENDS.contains(*c);
        ends_word || (c.is_whitespace() && (is_script || begins_another(text.get(*at..).unwrap_or_default())))
    });
    let end = end.map_or(text.len(), |(at, _)| at);
    let value = text.get(..end).unwrap_or_default();
    let quote = value.chars().next().filter(|c| QUOTES.contains(c));
    let inside = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote).filter(|i| !i.contains(quote)));
    match inside {
        Some(inside) => 1..1 + inside.len(),
        None => 0..end,
    }
}

/// Returns `true` if the next word is an option, or a key with its value.
fn begins_another(text: &str) -> bool {
    let word = shape::run(text.trim_start(), &|c| !c.is_whitespace());
    let key = shape::run(word, &|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    is_flag(word.split('=').next().unwrap_or_default())
        || (!key.is_empty() && word.get(key.len()..).is_some_and(|rest| rest.starts_with('=')))
}

/// Follows a text through its quotes.
#[derive(Default)]
struct Quotes {
    open: Option<char>,
    is_escaped: bool,
}

impl Quotes {
    /// Returns `true` if a character is inside of quotes, or one of them, or has lost its meaning.
    fn takes(&mut self, c: char, has_escapes: bool) -> bool {
        if std::mem::take(&mut self.is_escaped) {
            return true;
        }
        match self.open {
            _ if has_escapes && c == '\\' && self.open != Some('\'') => self.is_escaped = true,
            Some(quote) if c == quote => self.open = None,
            Some(_) => {}
            None if QUOTES.contains(&c) => self.open = Some(c),
            None => return false,
        }
        true
    }
}

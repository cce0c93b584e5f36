//! Which words of a command line are flags, and which are their values.

use std::borrow::Cow;

use super::Flags;
use super::names::Meaning;
use super::typed::whole_array;

/// An option of the program itself, which takes precedence over a tool's property.
///
/// ```
/// use mcp_bindgen_schema::flags::OwnOption;
///
/// let timeout = OwnOption::new("timeout").takes_value();
/// let help = OwnOption::new("help").short('h');
/// # let _ = (timeout, help);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnOption {
    /// Its name after `--`.
    pub long: Option<String>,
    /// Its letter after `-`.
    pub short: Option<char>,
    /// `true` if a value follows.
    pub takes_value: bool,
}

impl OwnOption {
    /// Creates an option with a long name and no value.
    #[must_use]
    pub fn new(long: impl Into<String>) -> Self {
        Self { long: Some(long.into()), short: None, takes_value: false }
    }

    /// Creates an option with a letter and no value.
    #[must_use]
    pub fn letter(short: char) -> Self {
        Self { long: None, short: Some(short), takes_value: false }
    }

    /// Adds a letter.
    #[must_use]
    pub fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    /// Makes it take a value.
    #[must_use]
    pub fn takes_value(self) -> Self {
        Self { takes_value: true, ..self }
    }
}

/// The arguments after the name of a tool, separated by recipient.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Split {
    /// The options of the program, with their values.
    pub own: Vec<String>,
    /// All others, for [`Flags::parse`].
    pub rest: Vec<String>,
}

/// The value of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given<'w> {
    Nothing,
    /// `VALUE`, or `=VALUE`.
    Text(&'w str),
    /// `:=JSON`.
    Json(&'w str),
}

/// A flag with its value, or a word that belongs to none.
#[derive(Debug)]
pub(super) enum Word<'w> {
    Flag {
        name: &'w str,
        given: Given<'w>,
        meaning: Meaning<'w>,
    },
    /// The base of the arguments, or one of them by any name.
    Args(Given<'w>),
    Arg(Given<'w>),
    /// An option of the program, as it was written.
    Own {
        words: Vec<&'w str>,
        name: &'w str,
        is_json: bool,
    },
    Stray {
        word: &'w str,
        before: Option<&'w str>,
    },
}

/// Returns the name in `NAME`, `NAME=VALUE` or `NAME:=JSON`, and what follows it.
pub(super) fn name_and_value(text: &str) -> (&str, Given<'_>) {
    match text.split_once('=') {
        Some((name, value)) => match name.strip_suffix(':') {
            Some(name) => (name, Given::Json(value)),
            None => (name, Given::Text(value)),
        },
        None => (text, Given::Nothing),
    }
}

/// Splits `NAME=VALUE` or `NAME:=JSON`, in which the name may be a JSON string. Returns the name, the rest, and `true`
/// for a JSON string.
pub(super) fn any_name(text: &str) -> (Cow<'_, str>, Given<'_>, bool) {
    match quoted_name(text) {
        Some((name, rest)) => (name.into(), name_and_value(rest).1, true),
        None => {
            let (name, given) = name_and_value(text);
            (name.into(), given, false)
        }
    }
}

/// Returns a name that is written as a JSON string, and what follows it.
fn quoted_name(text: &str) -> Option<(String, &str)> {
    if !text.starts_with('"') {
        return None;
    }
    let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let name = names.next()?.ok()?;
    let rest = text.get(names.byte_offset()..)?;
    (rest.starts_with('=') || rest.starts_with(":=")).then_some((name, rest))
}

impl Flags {
    /// Separates the options of the program, which may also follow the name of a tool.
    ///
    /// ```
    /// use mcp_bindgen_schema::flags::{Flags, OwnOption};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"draft": {"type": "boolean"}}});
    /// let flags = Flags::new(&schema, [OwnOption::new("yes"), OwnOption::new("timeout").takes_value()]);
    /// let split = flags.split(&["--draft", "--timeout", "5s", "--yes"].map(str::to_owned));
    /// assert_eq!(split.own, ["--timeout", "5s", "--yes"]);
    /// assert_eq!(split.rest, ["--draft"]);
    /// ```
    #[must_use]
    pub fn split(&self, words: &[String]) -> Split {
        let mut split = Split::default();
        let mut position = 0;
        while let Some((word, used)) = self.word(words, position, None) {
            let mut taken = words.iter().skip(position).take(used).cloned();
            match word {
                Word::Own { is_json: false, .. } => split.own.extend(&mut taken),
                _ => split.rest.extend(&mut taken),
            }
            position += used;
        }
        split
    }

    pub(super) fn words<'w>(&'w self, words: &'w [String]) -> Vec<Word<'w>> {
        let mut found = Vec::new();
        let mut position = 0;
        let mut before = None;
        while let Some((word, used)) = self.word(words, position, before) {
            before = words.get(position).map(String::as_str);
            position += used;
            found.push(word);
        }
        found
    }

    /// Returns the properties that the arguments set, as lists of keys; without those of `--args`.
    #[must_use]
    pub fn given(&self, words: &[String]) -> Vec<Vec<String>> {
        self.paths(&self.words(words)).collect()
    }

    pub(super) fn paths<'w>(&'w self, words: &'w [Word<'w>]) -> impl Iterator<Item = Vec<String>> {
        let meaning = |(meaning, _)| match meaning {
            Meaning::Property(found) | Meaning::Negated(found) => Some(found.path),
            Meaning::Ambiguous(_) | Meaning::Unknown => None,
        };
        words.iter().filter_map(|word| self.given_by(word)).filter_map(meaning)
    }

    /// Returns `true` if an argument alone is a whole array or JSON: then no further one can add an element.
    #[must_use]
    pub fn is_whole(&self, word: &str) -> bool {
        let words = [word.to_owned()];
        self.words(&words).iter().filter_map(|word| self.given_by(word)).any(|(meaning, given)| {
            match (meaning, given) {
                (_, Given::Json(_)) => true,
                (Meaning::Property(found), Given::Text(text)) => {
                    found.view.repeats() && whole_array(&found.view, text).is_some()
                }
                _ => false,
            }
        })
    }

    /// Returns the property that a word sets, with the value.
    fn given_by<'w>(&'w self, word: &Word<'w>) -> Option<(Meaning<'w>, Given<'w>)> {
        match word {
            Word::Flag { meaning, given, .. } => Some((meaning.clone(), *given)),
            Word::Arg(Given::Text(text)) => {
                let (name, given, is_quoted) = any_name(text);
                Some((self.argument(&name, is_quoted), given))
            }
            _ => None,
        }
    }

    /// Returns the flag or the stray word at a position, and how many words it takes.
    fn word<'w>(&'w self, words: &'w [String], position: usize, before: Option<&'w str>) -> Option<(Word<'w>, usize)> {
        let word = words.get(position)?.as_str();
        // A value does not begin like a flag; `--NAME=VALUE` takes every value.
        let next = words.get(position + 1).map(String::as_str).filter(|next| !next.starts_with("--"));
        let Some(body) = word.strip_prefix("--").filter(|body| !body.is_empty()) else {
            return Some(self.short(word, next, before));
        };
        let (name, given) = name_and_value(body);
        let with_next = |given: Given<'w>| match (given, next) {
            (Given::Nothing, Some(next)) => (Given::Text(next), 2),
            (given, _) => (given, 1),
        };
        if matches!(name, "args" | "arg") {
            let (given, used) = with_next(given);
            return Some((if name == "args" { Word::Args(given) } else { Word::Arg(given) }, used));
        }
        if let Some(own) = self.own.iter().find(|own| own.long.as_deref() == Some(name)) {
            let next = next.filter(|_| own.takes_value && given == Given::Nothing);
            let taken: Vec<&str> = [word].into_iter().chain(next).collect();
            let used = taken.len();
            return Some((Word::Own { words: taken, name, is_json: matches!(given, Given::Json(_)) }, used));
        }
        let meaning = self.meaning(name);
        let takes_next = match &meaning {
            Meaning::Property(found) => !found.view.is_switch(),
            Meaning::Negated(_) => false,
            // The word after an unknown flag is its value.
            Meaning::Ambiguous(_) | Meaning::Unknown => next.is_some_and(|next| !next.starts_with('-')),
        };
        let (given, used) = if takes_next { with_next(given) } else { (given, 1) };
        Some((Word::Flag { name, given, meaning }, used))
    }

    fn short<'w>(&self, word: &'w str, next: Option<&'w str>, before: Option<&'w str>) -> (Word<'w>, usize) {
        let letters = word.strip_prefix('-').unwrap_or_default();
        let own = letters.chars().next().and_then(|letter| self.own.iter().find(|own| own.short == Some(letter)));
        let Some(own) = own else { return (Word::Stray { word, before }, 1) };
        let is_alone = letters.chars().count() == 1;
        let next = next.filter(|_| own.takes_value && is_alone);
        let taken: Vec<&str> = [word].into_iter().chain(next).collect();
        let used = taken.len();
        (Word::Own { words: taken, name: letters.get(..1).unwrap_or_default(), is_json: false }, used)
    }

    pub(super) fn is_own(&self, name: &str) -> bool {
        matches!(name, "args" | "arg") || self.own.iter().any(|own| own.long.as_deref() == Some(name))
    }
}

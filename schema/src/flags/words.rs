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
pub(super) struct Word<'w> {
    /// The words that it takes.
    pub(super) taken: &'w [String],
    pub(super) given: Given<'w>,
    pub(super) kind: WordKind<'w>,
}

#[derive(Debug)]
pub(super) enum WordKind<'w> {
    /// `--NAME`, or `--arg NAME`.
    Flag {
        name: Cow<'w, str>,
        by_arg: bool,
        meaning: Meaning<'w>,
    },
    /// The base of the arguments.
    Args,
    /// An option of the program, by its name after `--`.
    Own(Option<&'w str>),
    Stray,
}

impl Word<'_> {
    /// Returns the property that the word sets.
    pub(super) fn path(&self) -> Option<&[String]> {
        match &self.kind {
            WordKind::Flag { meaning: Meaning::Property(found), .. } => Some(&found.path),
            _ => None,
        }
    }
}

/// Returns the name in `NAME`, `NAME=VALUE` or `NAME:=JSON`, and what follows it.
fn name_and_value(text: &str) -> (&str, Given<'_>) {
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
fn any_name(text: &str) -> (Cow<'_, str>, Given<'_>, bool) {
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
        for word in self.words(words) {
            let is_own = matches!(word.kind, WordKind::Own(_)) && !matches!(word.given, Given::Json(_));
            let recipient = if is_own { &mut split.own } else { &mut split.rest };
            recipient.extend_from_slice(word.taken);
        }
        split
    }

    pub(super) fn words<'w>(&'w self, mut words: &'w [String]) -> Vec<Word<'w>> {
        let mut found = Vec::new();
        while let Some(word) = self.word(words) {
            words = words.get(word.taken.len()..).unwrap_or_default();
            found.push(word);
        }
        found
    }

    /// Returns the properties that the arguments set, as lists of keys; without those of `--args`.
    #[must_use]
    pub fn given(&self, words: &[String]) -> Vec<Vec<String>> {
        self.words(words).iter().filter_map(Word::path).map(<[String]>::to_vec).collect()
    }

    /// Returns `true` if an argument alone is a whole array or JSON: then no further one can add an element.
    #[must_use]
    pub fn is_whole(&self, word: &str) -> bool {
        self.words(&[word.to_owned()]).iter().any(|word| match (&word.kind, word.given) {
            (WordKind::Flag { .. }, Given::Json(_)) => true,
            (WordKind::Flag { meaning: Meaning::Property(found), .. }, Given::Text(text)) => {
                whole_array(&found.view, text).is_some()
            }
            _ => false,
        })
    }

    /// Returns the flag or the stray word at the beginning of some words.
    fn word<'w>(&'w self, words: &'w [String]) -> Option<Word<'w>> {
        let word = words.first()?;
        // A value does not begin like a flag; `--NAME=VALUE` takes every value.
        let next = words.get(1).map(String::as_str).filter(|next| !next.starts_with("--"));
        let body = word.strip_prefix("--").filter(|body| !body.is_empty());
        let (name, given) = body.map_or(("", Given::Nothing), name_and_value);
        let own = self.own.iter().find(|own| own.long.as_deref() == Some(name));
        let (kind, takes_next) = match (name, own) {
            _ if body.is_none() => self.letters(word),
            ("args", _) => (Some(WordKind::Args), true),
            // The name is in the value.
            ("arg", _) => (None, true),
            (_, Some(own)) => (Some(WordKind::Own(Some(name))), own.takes_value),
            (_, None) => {
                let meaning = self.meaning(name);
                let takes_next = match &meaning {
                    Meaning::Property(found) => !found.view.is_switch(),
                    // The word after an unknown flag is its value.
                    _ => next.is_some_and(|next| !next.starts_with('-')),
                };
                (Some(WordKind::Flag { name: name.into(), by_arg: false, meaning }), takes_next)
            }
        };
        let next = next.filter(|_| takes_next && given == Given::Nothing);
        let taken = words.get(..1 + usize::from(next.is_some()))?;
        let given = next.map_or(given, Given::Text);
        let (kind, given) = match kind {
            Some(kind) => (kind, given),
            None => {
                let (name, given, is_quoted) = any_name(if let Given::Text(text) = given { text } else { "" });
                let meaning = self.argument(&name, is_quoted);
                (WordKind::Flag { name, by_arg: true, meaning }, given)
            }
        };
        Some(Word { taken, given, kind })
    }

    /// Returns the meaning of a word that does not begin with `--`, and whether it takes the next one.
    fn letters(&self, word: &str) -> (Option<WordKind<'_>>, bool) {
        let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
        let own = letters.next().and_then(|letter| self.own.iter().find(|own| own.short == Some(letter)));
        match own {
            Some(own) => (Some(WordKind::Own(None)), own.takes_value && letters.next().is_none()),
            None => (Some(WordKind::Stray), false),
        }
    }

    pub(super) fn is_own(&self, name: &str) -> bool {
        matches!(name, "args" | "arg") || self.own.iter().any(|own| own.long.as_deref() == Some(name))
    }
}

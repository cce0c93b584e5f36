//! Mismatches of a value and its type, and their messages.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;

use mcp_bindgen_model::nearest;

/// The maximum number of unknown keys that are searched for a misspelled one.
pub(super) const MOST_STRANGERS: usize = 64;

const MOST_LISTED: usize = 12;

/// A value that does not match its type, with the position and the expected type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch(Box<Content>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    /// Keys and indices, the innermost first, as reading unwinds.
    steps: Vec<Cow<'static, str>>,
    message: Message,
}

/// The message of a mismatch. Unions drop most mismatches, so the text is built only for display.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    Expected {
        what: &'static str,
        found: &'static str,
    },
    Missing(&'static str),
    Text(Cow<'static, str>),
    /// See [`Mismatch::skipped`].
    Skipped,
}

impl Mismatch {
    /// Creates a mismatch at the value itself.
    pub fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self::of(Message::Text(message.into()))
    }

    pub(super) fn expected(what: &'static str, found: &'static str) -> Self {
        Self::of(Message::Expected { what, found })
    }

    pub(super) fn missing(key: &'static str) -> Self {
        Self::of(Message::Missing(key))
    }

    pub(super) fn twice() -> Self {
        Self::new("duplicate property")
    }

    /// Creates the mismatch of a branch that was not read to its end: it was only looked at, or another one loses less.
    /// It is never shown.
    pub(super) fn skipped() -> Self {
        Self::of(Message::Skipped)
    }

    pub(super) fn is_skipped(&self) -> bool {
        self.0.message == Message::Skipped
    }

    fn of(message: Message) -> Self {
        Self(Box::new(Content { steps: Vec::new(), message }))
    }

    /// Prepends the key of the surrounding object.
    #[must_use]
    pub fn within(mut self, key: impl Into<Cow<'static, str>>) -> Self {
        self.0.steps.push(key.into());
        self
    }

    /// Prepends the index in the surrounding array.
    #[must_use]
    pub fn within_item(self, index: usize) -> Self {
        self.within(index.to_string())
    }

    /// Returns the position as a JSON pointer (RFC 6901); empty for the whole value.
    #[must_use]
    pub fn pointer(&self) -> String {
        self.0.steps.iter().rev().map(|step| format!("/{}", mcp_bindgen_model::pointer_segment(step))).collect()
    }

    /// Returns the expected and the actual value in words.
    #[must_use]
    pub fn message(&self) -> Cow<'_, str> {
        match &self.0.message {
            Message::Expected { what, found } => Cow::Owned(format!("expected {what}, found {found}")),
            Message::Missing(key) => Cow::Owned(format!("missing property `{}`", key.escape_debug())),
            Message::Text(text) => Cow::Borrowed(text),
            Message::Skipped => Cow::Borrowed("another branch loses less"),
        }
    }

    pub(super) fn depth(&self) -> usize {
        self.0.steps.len()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message())?;
        if self.0.steps.is_empty() { Ok(()) } else { write!(formatter, " at `{}`", self.pointer()) }
    }
}

impl std::error::Error for Mismatch {}

/// Adds a step around a mismatch that passes beside an error.
#[cold]
pub(super) fn add_step(fault: &RefCell<Option<Mismatch>>, step: &dyn fmt::Display) {
    if let Some(mismatch) = &mut *fault.borrow_mut() {
        mismatch.0.steps.push(step.to_string().into());
    }
}

/// Returns the mismatch of a source that gave no value.
#[cold]
#[must_use]
pub fn nothing_read() -> Mismatch {
    Mismatch::new("missing value")
}

/// Returns the mismatch of an unknown property, and suggests the nearest of the absent ones.
pub(super) fn unknown(key: &str, absent: &[String]) -> Mismatch {
    let near = nearest(key, absent.iter().map(String::as_str));
    let hint = near.first().map(|near| format!("; did you mean `{}`?", near.escape_debug()));
    Mismatch::new(format!("unknown property{}", hint.unwrap_or_default()))
}

/// Returns the mismatch of a missing property, and suggests the nearest present one.
#[cold]
pub(super) fn missing_among(key: &'static str, keys: &[String]) -> Mismatch {
    match nearest(key, keys.iter().map(String::as_str)).first() {
        Some(near) => Mismatch::new(format!(
            "missing property `{0}`, found `{1}`: did you mean `{0}`?",
            key.escape_debug(),
            near.escape_debug()
        )),
        None => Mismatch::missing(key),
    }
}

/// Returns the mismatch of a value that is not in a list.
pub(super) fn one_of(values: &[&str]) -> Mismatch {
    let more = values.len().saturating_sub(MOST_LISTED);
    let listed: Vec<_> = values.iter().take(MOST_LISTED).map(|value| mcp_bindgen_model::printable(value)).collect();
    let rest = if more == 0 { String::new() } else { format!(" or {more} more") };
    Mismatch::new(format!("expected one of `{}`{rest}", listed.join("`, `")))
}

//! Redaction of secrets: every text that leaves the runtime is redacted here before it is truncated.

mod forms;
mod matcher;
mod values;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, RwLock};

use mcp_bindgen_model::{pointer_key, pointer_segment, printable};
use serde_json::Value;

use self::matcher::{Matcher, Skeleton};

pub(crate) use self::values::PrivateValues;
use crate::ground::sync::{read, write};

/// The text in the place of a secret.
pub(crate) const REDACTED: &str = "[redacted]";
/// A server may repeat a token that was replaced since, but not for long.
const MOST_LEARNED: usize = 16;
/// The maximum length of untrusted text in messages.
pub(crate) const LONGEST_MESSAGE: usize = 2000;

/// Removes the secrets of one server from texts; clones share them. The default knows none.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Arc<RwLock<Shared>>);

#[derive(Default)]
struct Shared {
    configured: PrivateValues,
    /// The values that were learned at run time, the latest first.
    learned: Vec<String>,
    /// The values of another redactor.
    lent: Option<Arc<Known>>,
    /// All of these values.
    known: Arc<Known>,
}

impl Shared {
    fn update(&mut self) {
        let mut values = self.configured.clone();
        self.learned.iter().for_each(|learned| values.secret(learned));
        self.lent.iter().for_each(|lent| values.found.append(&mut lent.values.found.clone()));
        let mut forms = Vec::new();
        for (value, is_sure) in &values.found {
            forms::add(value, &mut |form| forms.push((form, *is_sure)));
        }
        self.known = Arc::new(Known { matcher: Matcher::new(forms), values });
    }
}

#[derive(Default)]
struct Known {
    values: PrivateValues,
    matcher: Matcher,
}

impl Redactor {
    pub(crate) fn new(values: &PrivateValues) -> Self {
        let mut shared = Shared { configured: values.clone(), ..Shared::default() };
        shared.update();
        Self(Arc::new(RwLock::new(shared)))
    }

    /// Adds a new secret, such as a token or a session id; only the latest ones are kept.
    pub(crate) fn learn(&self, secret: &str) {
        let mut shared = write(&self.0);
        if !shared.learned.iter().any(|learned| learned == secret) {
            shared.learned.truncate(MOST_LEARNED - 1);
            shared.learned.insert(0, secret.to_owned());
            shared.update();
        }
    }

    /// Adds all secrets of another redactor, in place of its earlier ones.
    pub(crate) fn learn_from(&self, other: &Self) {
        let lent = other.known();
        let mut shared = write(&self.0);
        if shared.lent.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &lent)) {
            shared.lent = Some(lent);
            shared.update();
        }
    }

    fn known(&self) -> Arc<Known> {
        read(&self.0).known.clone()
    }

    /// Returns a text without secrets.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        without(text, &self.known().matcher, false, usize::MAX)
    }

    /// Returns `true` if a text contains a secret.
    pub(crate) fn knows(&self, text: &str) -> bool {
        matches!(self.text(text), Cow::Owned(_))
    }

    /// Returns `true` if a text certainly contains a secret.
    pub(crate) fn is_sure_of(&self, text: &str) -> bool {
        matches!(without(text, &self.known().matcher, true, usize::MAX), Cow::Owned(_))
    }

    /// Returns untrusted text for a message: without secrets, control sequences and bidirectional marks, and with at
    /// most this many characters. Lines stay.
    pub(crate) fn shown(&self, text: &str, longest: usize) -> String {
        let text = without(text, &self.known().matcher, false, longest.saturating_add(1));
        let end = text.char_indices().nth(longest).map(|(end, _)| end);
        let kept = text.get(..end.unwrap_or(text.len())).unwrap_or_default();
        let mut shown = String::new();
        for part in kept.split_inclusive(['\n', '\t']) {
            let line = part.trim_end_matches(['\n', '\t']);
            shown += &printable(line);
            shown += part.get(line.len()..).unwrap_or_default();
        }
        shown + if end.is_some() { "…" } else { "" }
    }

    /// Writes `Debug` of a value, without secrets.
    pub(crate) fn debug(&self, exact: &dyn fmt::Debug, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if f.alternate() { format!("{exact:#?}") } else { format!("{exact:?}") };
        f.write_str(&self.text(&text))
    }

    /// Redacts a text like [`shown`](Self::shown), and puts it on one line.
    pub(crate) fn shown_line(&self, text: &str, longest: usize) -> String {
        let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
        // Each line of a secret is known separately, so lines are joined only afterwards.
        let text = self.shown(text.trim(), longest);
        text.chars().map(on_one_line).collect()
    }

    /// Returns a JSON pointer without secrets.
    pub(crate) fn pointer(&self, pointer: &str) -> String {
        let shown = |segment: &str| {
            let key = pointer_key(segment);
            pointer_segment(&self.text(&key)).to_string()
        };
        pointer.split('/').map(shown).collect::<Vec<_>>().join("/")
    }

    /// Takes secrets out of a value for messages.
    pub(crate) fn value(&self, value: &mut Value) {
        clean(value, &self.known().matcher, false);
    }

    /// Removes values that are certainly secret from a server's description of itself, and no others: schemas must stay
    /// unchanged.
    pub(crate) fn description(&self, value: &mut Value) {
        clean(value, &self.known().matcher, true);
    }
}

/// `Debug` of a struct with these fields and a `redactor`, without its secrets.
macro_rules! debug_redacted {
    ($type:ident { $($field:ident),+ }) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                struct Exact<'a>(&'a $type);
                impl std::fmt::Debug for Exact<'_> {
                    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        let $type { $($field,)+ redactor: _ } = self.0;
                        f.debug_struct(stringify!($type))$(.field(stringify!($field), $field))+.finish()
                    }
                }
                self.redactor.debug(&Exact(self), f)
            }
        }
    };
}
pub(crate) use debug_redacted;

/// Implements `Debug` with a fixed text, for types whose content is secret or has no text.
macro_rules! debug_as {
    ($type:ty, $text:literal) => {
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($text)
            }
        }
    };
}
pub(crate) use debug_as;

debug_as!(Redactor, "Redactor");

/// Redactors never make the values that contain them unequal.
impl PartialEq for Redactor {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Returns the text without secrets, up to `longest` characters. Secrets that overlap or touch are removed together.
fn without<'t>(text: &'t str, secrets: &Matcher, only_sure: bool, longest: usize) -> Cow<'t, str> {
    if secrets.is_empty(only_sure) {
        return Cow::Borrowed(text);
    }
    let skeleton = Skeleton::of(text);
    let (mut written, mut length) = (String::new(), 0);
    let (mut copied_to, mut end) = (0, text.len());
    for (at, place) in skeleton.chars() {
        if length >= longest {
            end = place;
            break;
        }
        if let Some(hidden_to) = secrets.end_at(&skeleton, at, only_sure) {
            if place > copied_to || written.is_empty() {
                written.push_str(text.get(copied_to..place).unwrap_or_default());
                written.push_str(REDACTED);
                length += REDACTED.len();
            }
            copied_to = copied_to.max(hidden_to);
        } else if place >= copied_to {
            length += 1;
        }
    }
    if written.is_empty() {
        return Cow::Borrowed(text.get(..end).unwrap_or_default());
    }
    written.push_str(text.get(copied_to..end).unwrap_or_default());
    Cow::Owned(written)
}

fn clean(value: &mut Value, secrets: &Matcher, only_sure: bool) {
    match value {
        _ if secrets.is_empty(only_sure) => {}
        Value::String(text) => {
            if let Cow::Owned(cleaned) = without(text, secrets, only_sure, usize::MAX) {
                *text = cleaned;
            }
        }
        Value::Number(number) => {
            let text = number.to_string();
            if secrets.end_at(&Skeleton::of(&text), 0, only_sure) == Some(text.len()) {
                *value = REDACTED.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, secrets, only_sure)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| clean(member, secrets, only_sure));
            if members.keys().any(|key| matches!(without(key, secrets, only_sure, usize::MAX), Cow::Owned(_))) {
                for (key, member) in std::mem::take(members) {
                    members.insert(without(&key, secrets, only_sure, usize::MAX).into_owned(), member);
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests;

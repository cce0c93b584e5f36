//! The part of a conversation's state that decides about sections, as a value that outlives the prompt.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How much of a section is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Visibility {
    /// All of it: its text, its children, their tools and servers.
    #[default]
    Full,
    /// Its summary alone. Its children are left out, and the tools and servers of all of them withheld.
    Summary,
}

/// The sections that a model has opened, in the order in which it did; what was opened by one call was opened at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenSections {
    rounds: Vec<Vec<String>>,
}

impl OpenSections {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, where these sections are opened as well, by their dotted keys (`integrations.github`). What is open already
    /// stays what it is.
    #[must_use]
    pub fn with(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut round: Vec<String> = Vec::new();
        for path in paths.into_iter().map(Into::into) {
            if !self.contains(&path) && !round.contains(&path) {
                round.push(path);
            }
        }
        if !round.is_empty() {
            self.rounds.push(round);
        }
        self
    }

    /// Returns `true` if a section was opened.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.round_of(path).is_some()
    }

    /// All of them, in the order in which they were opened.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.rounds.iter().flatten().map(String::as_str)
    }

    /// Returns `true` if none was opened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rounds.iter().all(Vec::is_empty)
    }

    /// By which call it was opened, counted from 1.
    pub(super) fn round_of(&self, path: &str) -> Option<usize> {
        self.rounds.iter().position(|round| round.iter().any(|open| open == path)).map(|index| index + 1)
    }
}

/// The state of a conversation: the open sections, and the facts that sections depend on.
///
/// It is kept with the conversation, not in the prompt, so that one [`Prompt`](super::Prompt) serves any number of them.
///
/// ```
/// use mcp_bindgen_agents::{PromptState, Visibility};
///
/// let state = PromptState::new().with_fact("phase", "review").with_visibility("appendix", Visibility::Summary);
/// let kept = serde_json::to_string(&state)?;
/// assert_eq!(serde_json::from_str::<PromptState>(&kept)?, state);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptState {
    /// The sections that the model opened.
    pub open: OpenSections,
    /// How the program has sections shown, by their dotted keys, whatever else speaks for another.
    pub shown: BTreeMap<String, Visibility>,
    /// The program's facts, for predicates of sections.
    pub facts: Map<String, Value>,
}

impl PromptState {
    /// The state in which a conversation begins.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens sections, by their dotted keys, as if the model had done so by one call: their tools are offered. Their text was
    /// in the result of that call and is not in the prompt's; [`with_visibility`](Self::with_visibility) shows it there.
    #[must_use]
    pub fn with_open(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.open = self.open.with(paths);
        self
    }

    /// Notes what the program knows.
    #[must_use]
    pub fn with_fact(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.facts.insert(name.into(), value.into());
        self
    }

    /// Has a section shown like this, whatever it says itself and whether or not the model has opened it.
    #[must_use]
    pub fn with_visibility(mut self, path: impl Into<String>, visibility: Visibility) -> Self {
        self.shown.insert(path.into(), visibility);
        self
    }

    /// Returns the fact of this name; `null` where there is none.
    #[must_use]
    pub fn fact(&self, name: &str) -> &Value {
        self.facts.get(name).unwrap_or(&Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_opened_keeps_its_order() {
        let open = OpenSections::new().with(["c"]).with(["a", "c", "a"]).with(["c"]);
        assert_eq!(open.paths().collect::<Vec<_>>(), ["c", "a"]);
        assert_eq!((open.round_of("c"), open.round_of("a"), open.round_of("b")), (Some(1), Some(2), None));
        assert!(!open.is_empty() && OpenSections::new().is_empty());
    }
}

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

/// The sections that a model has opened, in order. Sections of one call were opened together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenSections {
    rounds: Vec<Vec<String>>,
}

impl OpenSections {
    /// Creates a set without open sections.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens these sections too, by their dotted keys (`integrations.github`). Open ones stay as they are.
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

    /// Returns `true` if the section is open.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.round_of(path).is_some()
    }

    /// Returns the keys of the open sections, in the order in which they were opened.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.rounds.iter().flatten().map(String::as_str)
    }

    /// Returns `true` if no section is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rounds.iter().all(Vec::is_empty)
    }

    /// Returns the number of the call that opened the section, counted from 1.
    pub(super) fn round_of(&self, path: &str) -> Option<usize> {
        self.rounds.iter().position(|round| round.iter().any(|open| open == path)).map(|index| index + 1)
    }
}

/// The state of a conversation: the open sections, and facts that sections depend on.
///
/// Keep it with the conversation: one [`Prompt`](super::Prompt) serves any number of them.
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
    /// The visibility of sections, by their dotted keys. Overrides everything else.
    pub shown: BTreeMap<String, Visibility>,
    /// Facts of the program, for the predicates of sections.
    pub facts: Map<String, Value>,
}

impl PromptState {
    /// Creates the initial state of a conversation.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens sections, by their dotted keys, as one call of the model: their tools are offered. Their text belongs to
    /// the result of that call and is not in the prompt; to show it there use
    /// [`with_visibility`](Self::with_visibility).
    #[must_use]
    pub fn with_open(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.open = self.open.with(paths);
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn with_fact(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.facts.insert(name.into(), value.into());
        self
    }

    /// Sets the visibility of a section, whatever the section specifies and whether or not it is open.
    #[must_use]
    pub fn with_visibility(mut self, path: impl Into<String>, visibility: Visibility) -> Self {
        self.shown.insert(path.into(), visibility);
        self
    }

    /// Returns the fact with this name, or `null`.
    #[must_use]
    pub fn fact(&self, name: &str) -> &Value {
        self.facts.get(name).unwrap_or(&Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opened_sections_preserve_their_order() {
        let open = OpenSections::new().with(["c"]).with(["a", "c", "a"]).with(["c"]);
        assert_eq!(open.paths().collect::<Vec<_>>(), ["c", "a"]);
        assert_eq!((open.round_of("c"), open.round_of("a"), open.round_of("b")), (Some(1), Some(2), None));
        assert!(!open.is_empty() && OpenSections::new().is_empty());
    }
}

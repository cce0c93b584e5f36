//! Schemas in the words of a provider.

use serde_json::Value;

/// A provider's subset of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// OpenAI, Chat Completions and Responses.
    OpenAi,
    /// Anthropic's Messages.
    Anthropic,
    /// Gemini's `parametersJsonSchema`.
    Gemini,
}

/// A schema that was converted for a provider.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rewrite {
    /// The schema for the provider.
    pub schema: Value,
    /// `true` if the provider only lets the model send valid values.
    pub is_strict: bool,
    /// The parts that could not be expressed.
    pub lost: Vec<Lost>,
    /// Renamed properties; [`Nulls::take_out`](super::Nulls::take_out) restores their names.
    pub renamed: Vec<Renamed>,
    /// Its share of the limits of a request.
    pub load: Load,
}

/// A part of a schema that a provider's subset cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Lost {
    /// The position in the original schema, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// Its text in the description, if it has one.
    pub words: Option<String>,
}

/// A property whose name the provider does not accept. The new name is unique in the schema, and ends in a hash if an
/// object with it allows undeclared keys.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Renamed {
    /// The position of its object in the original schema, as a JSON pointer.
    pub pointer: String,
    /// Its name.
    pub wire: String,
    /// The name that the model sends.
    pub sent: String,
}

/// The share of a strict schema in the limits of a request. A definition counts for each reference to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// The number of optional properties.
    pub optional: usize,
    /// The number of parameters with several types, including `null`.
    pub unions: usize,
}

/// The reason why a schema cannot be strict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotStrict {
    /// The position in the original schema, as a JSON pointer.
    pub pointer: String,
    /// The reason, for people: always the same text for the same reason.
    pub why: String,
}

impl NotStrict {
    pub(super) fn new(pointer: impl Into<String>, why: &str) -> Self {
        Self { pointer: pointer.into(), why: why.to_owned() }
    }
}

impl std::fmt::Display for NotStrict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pointer, why } = self;
        if pointer.is_empty() { write!(formatter, "{why}") } else { write!(formatter, "{pointer}: {why}") }
    }
}

impl std::error::Error for NotStrict {}

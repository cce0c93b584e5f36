//! Schemas in the words of a provider.

use serde_json::Value;

/// Whose words.
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

/// A schema in the words of a provider.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rewrite {
    /// The schema for the provider.
    pub schema: Value,
    /// Whether a model can send nothing but values of it.
    pub is_strict: bool,
    /// The parts that could not be expressed.
    pub lost: Vec<Lost>,
    /// Properties that have another name in it; [`Nulls::take_out`](super::Nulls::take_out) gives them back theirs.
    pub renamed: Vec<Renamed>,
    /// Its share of the limits of a request.
    pub load: Load,
}

/// A part of a schema that a provider's subset cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Lost {
    /// The place in the original schema, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// It in words, as it stands in the description; none where it says nothing to a model.
    pub words: Option<String>,
}

/// A property whose name the provider does not take. What it is called instead stands for nothing else in the schema, and
/// has a hash where some object that has it takes any key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Renamed {
    /// The object that has it, in the original schema, as a JSON pointer.
    pub pointer: String,
    /// Its name.
    pub wire: String,
    /// The model's name for it.
    pub sent: String,
}

/// The share of a strict schema in the limits of a whole request. A definition counts wherever it is referred to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// Properties that may be absent.
    pub optional: usize,
    /// Parameters of several types, `null` among them.
    pub unions: usize,
}

/// Why a schema cannot be strict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotStrict {
    /// The place in the original schema, as a JSON pointer.
    pub pointer: String,
    /// Why, in words: always the same for the same reason.
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

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
    /// What is sent.
    pub schema: Value,
    /// Whether a model can send nothing but values of it.
    pub is_strict: bool,
    /// What could not be said in it.
    pub lost: Vec<Lost>,
    /// What it adds to the ceilings of a request.
    pub load: Load,
}

/// What of a schema could not be said in a provider's words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lost {
    /// The place in the original schema, as a JSON pointer.
    pub pointer: String,
    /// The keyword.
    pub keyword: String,
    /// It in words, as it stands in the description; none where it says nothing to a model.
    pub words: Option<String>,
}

/// What a strict schema counts against the ceilings of a whole request.
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
    /// Why, in words.
    pub why: String,
}

/// The schema so that a model can send nothing but values of it.
///
/// # Errors
/// Where the provider's subset does not allow that without losing a value that the schema has.
pub fn strict(_schema: &Value, _dialect: Dialect) -> Result<Rewrite, NotStrict> {
    Err(NotStrict { pointer: String::new(), why: "not yet".to_owned() })
}

/// The schema so that the provider takes it.
#[must_use]
pub fn loose(schema: &Value, _dialect: Dialect) -> Rewrite {
    Rewrite { schema: schema.clone(), is_strict: false, lost: Vec::new(), load: Load::default() }
}

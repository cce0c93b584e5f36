//! Converts schemas to each provider's subset of JSON Schema, and a model's arguments back.
//!
//! A schema is converted for one provider: with [`strict`] if its subset allows that, so that the model can only send
//! valid arguments, else with [`loose`]. Unsupported keywords are added to the description. Pass the model's
//! arguments to [`Nulls::take_out`], then validate them against the original schema.
//!
//! Both start from the [shapes](crate::Shapes) of the schema, so dialects, references and combinations are handled as
//! everywhere, and schemas that are too large for shapes allow anything.
//!
//! ```
//! use mcp_bindgen_schema::provider::{Dialect, Nulls, strict};
//! use serde_json::json;
//!
//! let schema = json!({
//!     "type": "object",
//!     "properties": {"path": {"type": "string", "minLength": 1}, "depth": {"type": "integer"}},
//!     "required": ["path"],
//! });
//! let rewrite = strict(&schema, Dialect::OpenAi).unwrap();
//! assert_eq!(rewrite.schema, json!({
//!     "type": "object",
//!     "properties": {
//!         "path": {"type": "string", "description": "Not empty"},
//!         "depth": {"type": ["integer", "null"]},
//!     },
//!     "required": ["path", "depth"],
//!     "additionalProperties": false,
//! }));
//!
//! let mut sent = json!({"path": "src", "depth": null});
//! Nulls::of(&schema).take_out(&mut sent);
//! assert_eq!(sent, json!({"path": "src"}));
//! ```

mod definitions;
mod names;
mod nulls;
mod objects;
mod print;
mod reading;
mod subset;
mod words;

pub use nulls::Nulls;
use print::Printer;
use reading::read;
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
    /// Renamed properties; [`Nulls::take_out`] restores their names.
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

impl std::fmt::Display for NotStrict {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pointer, why } = self;
        if pointer.is_empty() { write!(formatter, "{why}") } else { write!(formatter, "{pointer}: {why}") }
    }
}

impl std::error::Error for NotStrict {}

/// Converts a schema so that a model can only send valid values.
///
/// - OpenAI: every property is required, and optional ones may be `null` instead. Objects are closed. Keywords that
///   the subset lacks (`minLength`, other formats, ...) are added to the description.
/// - Anthropic: properties stay optional, bounds are added to the description. Limits on all tools of a request are
///   left to the caller: see [`Load`].
/// - Gemini has no flag; its mode `VALIDATED` enforces this schema.
///
/// An object that declares properties and does not mention others counts as closed. An object without declared
/// properties is any object, unless it is the arguments as a whole.
///
/// # Errors
/// Fails if the provider's subset would exclude a valid value. Such schemas are:
/// - schemas that allow anything: `{}`, open objects, and maps on OpenAI and Anthropic,
/// - recursive schemas on Anthropic and Gemini,
/// - `oneOf` with branches that may overlap, and schemas that are too large,
/// - on OpenAI, optional nullable properties whose default is not `null`: missing and `null` differ there, and a model
///   that must send the property could only send `null`.
pub fn strict(schema: &Value, dialect: Dialect) -> Result<Rewrite, NotStrict> {
    let (rewrite, refused) = Printer::new(&read(schema), dialect, true).print();
    refused.map_or(Ok(rewrite), Err)
}

/// Converts a schema so that the provider accepts it: the result allows everything that the original allows, and more
/// if the provider lacks keywords.
///
/// ```
/// use mcp_bindgen_schema::provider::{Dialect, loose};
/// use serde_json::json;
///
/// let rewrite = loose(&json!({"anyOf": [{"type": "object", "properties": {"id": {"type": "integer"}}}]}), Dialect::Anthropic);
/// assert_eq!(rewrite.schema, json!({"type": "object", "properties": {"id": {"type": "integer"}}}));
/// ```
#[must_use]
pub fn loose(schema: &Value, dialect: Dialect) -> Rewrite {
    // Only strict printing refuses.
    Printer::new(&read(schema), dialect, false).print().0
}

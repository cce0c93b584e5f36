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
mod limits;
mod names;
mod notes;
mod nulls;
mod objects;
mod print;
mod reading;
mod repeated;
mod rewrite;
mod root;
mod subset;
mod words;

pub use nulls::Nulls;
use print::Printer;
use reading::read;
pub use rewrite::{Dialect, Load, Lost, NotStrict, Renamed, Rewrite};
use serde_json::Value;

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
    let reading = read(schema);
    let mut rewrite = Printer::new(&reading, dialect, true).print()?;
    repeated::moved_to_definitions(&mut rewrite.schema);
    reading.exclusive()?;
    limits::within(&rewrite.schema, dialect)?;
    Ok(rewrite)
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
    let reading = read(schema);
    match Printer::new(&reading, dialect, false).print() {
        Ok(mut rewrite) => {
            repeated::moved_to_definitions(&mut rewrite.schema);
            rewrite
        }
        // Only strict printing refuses.
        Err(_) => Rewrite {
            schema: serde_json::json!({"type": "object", "properties": {}}),
            is_strict: false,
            lost: Vec::new(),
            renamed: Vec::new(),
            load: Load::default(),
        },
    }
}

//! Validates values against the schemas of servers: complete JSON Schema, beyond the generated types.
//!
//! With feature `validate`, generated `parse` functions and calls validate arguments. With `validation` alone, use a
//! [`Validator`], or the layer [`Validate`](crate::middleware::Validate). To validate results use [`result`]. Nothing
//! is fetched, and `format` is not asserted.
//!
//! ```
//! use mcp_bindgen_runtime::validate::Validator;
//! use serde_json::json;
//!
//! let schema = json!({"type": "object", "properties": {"limit": {"type": "integer", "maximum": 100}}});
//! let validator = Validator::new(&schema)?;
//! assert!(validator.check(&json!({"limit": 100})).is_ok());
//!
//! let violation = validator.check(&json!({"limit": 500})).unwrap_err();
//! assert_eq!(violation.pointer, "/limit");
//! assert_eq!(violation.keyword, "maximum");
//! assert_eq!(violation.value, "500");
//! # Ok::<(), mcp_bindgen_runtime::validate::UnusableSchema>(())
//! ```

mod links;
mod mend;
mod validator;
mod violation;

use serde_json::Value;

use crate::ground::redact::Redactor;
use crate::{ToolResult, ToolSpec};

pub use validator::Validator;
pub use violation::{Skipped, UnusableSchema, Violation};

/// The reason why a value was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The value does not match the schema.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// The schema cannot be used, so the value cannot be checked.
    #[error("unusable schema: {0}")]
    UnusableSchema(#[from] UnusableSchema),
}

impl Refusal {
    /// Returns the position in the value, as a JSON pointer (RFC 6901); empty for the whole value.
    #[must_use]
    pub fn pointer(&self) -> &str {
        if let Self::Violation(violation) = self { &violation.pointer } else { "" }
    }

    /// Returns the fault, without the place.
    #[must_use]
    pub fn message(&self) -> String {
        if let Self::Violation(violation) = self { violation.reason() } else { self.to_string() }
    }
}

/// Validates arguments against the tool's `inputSchema`, which is compiled once.
///
/// # Errors
/// Fails if the arguments do not fit, or the schema cannot be used.
pub fn arguments(spec: &'static ToolSpec, arguments: &Value) -> Result<(), Refusal> {
    validator::check(spec.name, spec.input_schema, arguments, &Redactor::default())
}

/// Validates the structured content of a result against the tool's `outputSchema`, which is compiled once; without
/// structured content its text, in all ways in which [`Tool::output`](crate::Tool::output) reads it. Error results
/// are always valid, and so are all results of tools without an `outputSchema`.
///
/// # Errors
/// Fails if the structured content does not fit or is missing, or the schema cannot be used.
pub fn result(spec: &'static ToolSpec, result: &ToolResult) -> Result<(), Refusal> {
    let Some(schema) = spec.output_schema.filter(|_| !result.is_error) else { return Ok(()) };
    // Validation reads values like decoding does: text counts if there is no other value.
    let values = crate::call::values(result);
    let mut refused = values.iter().map(|value| (value, validator::check(spec.name, schema, value, &result.redactor)));
    let Some((likeliest, Err(refusal))) = refused.next() else {
        return if values.is_empty() { Err(Violation::missing_structured_content().into()) } else { Ok(()) };
    };
    if refused.any(|(_, checked)| checked.is_ok()) {
        return Ok(());
    }
    let is_prose = result.structured.is_none() && likeliest.is_string() && values.len() == 1;
    Err(if is_prose { Violation::missing_structured_content().into() } else { refusal })
}

use std::fmt;

use serde_json::Value;

/// A value that does not fit its type: where, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The innermost step first, as reading unwinds.
    steps: Vec<String>,
    message: String,
}

impl Mismatch {
    /// A mismatch at the value itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { steps: Vec::new(), message: message.into() }
    }

    pub(super) fn expected(what: &str, found: &Value) -> Self {
        Self::new(format!("expected {what}, found {}", describe(found)))
    }

    /// The same mismatch, seen from the object or array that holds the value under `step`.
    #[must_use]
    pub fn within(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }

    /// Where, as a JSON pointer (RFC 6901); empty for the whole value.
    #[must_use]
    pub fn pointer(&self) -> String {
        self.steps.iter().rev().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1"))).collect()
    }

    /// What was expected and what was found.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    pub(super) fn depth(&self) -> usize {
        self.steps.len()
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if self.steps.is_empty() { Ok(()) } else { write!(formatter, " at `{}`", self.pointer()) }
    }
}

impl std::error::Error for Mismatch {}

/// The kind of a value, never its content: arguments may hold secrets.
fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

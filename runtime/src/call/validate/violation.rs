//! Short descriptions of violations and of unusable schemas: values and schemas are large and untrusted.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use crate::ground::redact::Redactor;

pub(super) const LONGEST_VALUE: usize = 80;
const LONGEST_MESSAGE: usize = 240;

/// A part of a schema that a value breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The position in the value, as a JSON pointer (RFC 6901); empty for the whole value.
    pub pointer: String,
    /// The keyword of the schema that is broken.
    pub keyword: String,
    /// The value there as JSON, shortened.
    pub value: String,
    /// The demand of the keyword.
    pub message: String,
}

impl Violation {
    pub(super) fn new(error: &ValidationError<'_>, redactor: &Redactor) -> Self {
        let error = telling(error);
        let keyword = match error.kind() {
            ValidationErrorKind::FalseSchema => forbidding(error),
            kind => kind.keyword(),
        };
        Self {
            pointer: redactor.pointer(error.instance_path().as_str()),
            keyword: keyword.to_owned(),
            value: redactor.shown_line(&error.instance().to_string(), LONGEST_VALUE),
            message: match error.kind() {
                // The schema has other references than the server's.
                ValidationErrorKind::Not { .. } => "value matches the schema of `not`".to_owned(),
                _ => redactor.shown_line(&error.masked().to_string(), LONGEST_MESSAGE),
            },
        }
    }

    pub(super) fn missing_structured_content() -> Self {
        Self {
            pointer: String::new(),
            keyword: "outputSchema".to_owned(),
            value: Value::Null.to_string(),
            message: "the result has no structured content".to_owned(),
        }
    }

    /// Returns the fault, without the place.
    pub(super) fn reason(&self) -> String {
        format!("{} (`{}`, found {})", self.message, self.keyword, self.value)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::call::place(&self.pointer).trim_start() {
            "" => formatter.write_str(&self.reason()),
            place => write!(formatter, "{place}: {}", self.reason()),
        }
    }
}

impl std::error::Error for Violation {}

/// Returns the error of the only plausible branch of a union, also of one in that branch. A branch is plausible if its
/// type and its tag match the value.
fn telling<'e, 'v>(mut error: &'e ValidationError<'v>) -> &'e ValidationError<'v>
where
    'static: 'v,
{
    while let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind() {
        let mut meant = context.iter().filter(|errors| !errors.iter().any(|branch| is_ruled_out(error, branch)));
        match (meant.next().and_then(|errors| errors.first()), meant.next()) {
            (Some(branch), None) => error = branch,
            _ => break,
        }
    }
    error
}

/// Returns the keyword whose value is `false`, unless it is the name of a property.
fn forbidding<'e>(error: &'e ValidationError<'_>) -> &'e str {
    let path = error.schema_path().as_str();
    let (rest, last) = path.rsplit_once('/').unwrap_or_default();
    let is_named = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"]
        .iter()
        .any(|keyword| rest.ends_with(keyword));
    if is_named || last.is_empty() || last.bytes().all(|byte| byte.is_ascii_digit()) { "false" } else { last }
}

fn is_ruled_out(union: &ValidationError<'_>, branch: &ValidationError<'_>) -> bool {
    match branch.kind() {
        ValidationErrorKind::Type { .. } => branch.instance_path() == union.instance_path(),
        ValidationErrorKind::Constant { .. } => true,
        _ => false,
    }
}

/// A part of a schema that is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The position in the schema, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The value at the place as JSON, shortened.
    pub value: String,
    /// The reason why it is not checked.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}{}: {}", self.value, crate::call::place(&self.pointer), self.reason)
    }
}

/// A schema that cannot be used, because a part of it is missing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", place(.pointer))]
#[non_exhaustive]
pub struct UnusableSchema {
    /// The position in the schema, as a JSON pointer (RFC 6901); empty if unknown.
    pub pointer: String,
    /// The fault.
    pub message: String,
}

impl UnusableSchema {
    pub(super) fn new(pointer: impl Into<String>, message: impl AsRef<str>) -> Self {
        Self { pointer: pointer.into(), message: Redactor::default().shown_line(message.as_ref(), LONGEST_MESSAGE) }
    }
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { String::new() } else { format!(" (at `{}`)", mcp_bindgen_model::printable(pointer)) }
}

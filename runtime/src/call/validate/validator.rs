//! A schema that is ready to check values.

use jsonschema::Draft;
use mcp_bindgen_schema::Draft as Dialect;
use serde_json::Value;

use super::links::Links;
use super::mend::{compile, mend};
use super::{Skipped, UnusableSchema, Violation, expansion};
use crate::ground::redact::Redactor;

/// A schema, compiled.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    skipped: Vec<Skipped>,
}

impl Validator {
    /// Compiles a schema, in the version of its `$schema` or else 2020-12.
    ///
    /// Keywords with invalid values, and patterns that the regex engine does not support, are
    /// [skipped](Self::skipped); the rest of the schema applies.
    ///
    /// # Errors
    /// Fails if a reference leads nowhere or out of the document, if the schema is too deep, if it applies to one value
    /// too often, or if it has too many dynamic references: a validator would never finish.
    pub fn new(schema: &Value) -> Result<Self, UnusableSchema> {
        let links = Links::of(schema)?;
        expansion::check(&links)?;
        let draft = match links.draft {
            // `mend` handles the differences of draft 4, but `1.0` is an integer.
            Dialect::D4 | Dialect::D6 => Draft::Draft6,
            Dialect::D7 => Draft::Draft7,
            Dialect::D2019 => Draft::Draft201909,
            Dialect::D2020 | Dialect::Unsaid => Draft::Draft202012,
        };
        let (mut mended, mut skipped) = mend(&links, draft, false);
        let mut compiled = compile(draft, &mended);
        if compiled.is_err() {
            (mended, skipped) = mend(&links, draft, true);
            compiled = compile(draft, &mended);
        }
        match compiled {
            Ok(compiled) => Ok(Self { compiled, skipped }),
            Err(error) => Err(UnusableSchema::new("", error.masked().to_string())),
        }
    }

    /// Checks a value.
    ///
    /// # Errors
    /// Fails with the first violation.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        self.check_redacted(value, &Redactor::default())
    }

    /// Returns the violations, at most `most` of them, so that a caller can correct several faults at once.
    ///
    /// ```
    /// use mcp_bindgen_runtime::validate::Validator;
    /// use serde_json::json;
    ///
    /// let schema = json!({ "required": ["b"], "properties": { "a": { "type": "integer" } } });
    /// let violations = Validator::new(&schema)?.violations(&json!({ "a": "one" }), 10);
    /// assert_eq!(violations.len(), 2);
    /// # Ok::<(), mcp_bindgen_runtime::validate::UnusableSchema>(())
    /// ```
    #[must_use]
    pub fn violations(&self, value: &Value, most: usize) -> Vec<Violation> {
        let redactor = Redactor::default();
        self.compiled.iter_errors(value).take(most).map(|error| Violation::new(&error, &redactor)).collect()
    }

    /// Checks a value like [`check`](Self::check). The violation is without the secrets of the redactor.
    pub(super) fn check_redacted(&self, value: &Value, redactor: &Redactor) -> Result<(), Violation> {
        self.compiled.validate(value).map_err(|error| Violation::new(&error, redactor))
    }

    /// Returns the parts of the schema that are not checked.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}

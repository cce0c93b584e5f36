//! Schemas that are ready to check values. Those of the bound tools are compiled when they are first used.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock, RwLock};

use jsonschema::Draft;
use mcp_bindgen_schema::Draft as Dialect;
use serde_json::Value;

use super::links::Links;
use super::mend::compile;
use super::{Refusal, Skipped, UnusableSchema, Violation};
use crate::ground::redact::Redactor;
use crate::ground::sync::{read, write};

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
        let draft = match links.draft {
            // `compile` handles the differences of draft 4, but `1.0` is an integer.
            Dialect::D4 | Dialect::D6 => Draft::Draft6,
            Dialect::D7 => Draft::Draft7,
            Dialect::D2019 => Draft::Draft201909,
            Dialect::D2020 | Dialect::Unsaid => Draft::Draft202012,
        };
        let (compiled, skipped) = compile(&links, draft, false)?;
        Ok(Self { compiled, skipped })
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

type Compiled = Arc<OnceLock<Result<Validator, UnusableSchema>>>;

/// The schemas by the address and length of their texts. Hashing a long schema at every call would cost more than most
/// checks.
static COMPILED: LazyLock<RwLock<HashMap<(usize, usize), Compiled>>> = LazyLock::new(RwLock::default);

/// Checks a value against a schema of a bound tool. Only calls with this schema wait for its compilation.
pub(super) fn check(tool: &str, schema: &'static str, value: &Value, redactor: &Redactor) -> Result<(), Refusal> {
    let (place, mut is_new) = (compiled(schema), false);
    let compiled = place.get_or_init(|| {
        is_new = true;
        let schema = serde_json::from_str(schema).map_err(|error| UnusableSchema::new("", error.to_string()));
        schema.and_then(|schema| Validator::new(&schema))
    });
    // Outside of `get_or_init`: a subscriber of `tracing` may validate with the same schema, which would deadlock.
    if is_new {
        warn(tool, compiled);
    }
    match compiled {
        Ok(validator) => Ok(validator.check_redacted(value, redactor)?),
        Err(unusable) => Err(unusable.clone().into()),
    }
}

fn compiled(schema: &'static str) -> Compiled {
    let place = (schema.as_ptr().addr(), schema.len());
    let known = read(&COMPILED).get(&place).cloned();
    known.unwrap_or_else(|| write(&COMPILED).entry(place).or_default().clone())
}

/// Warns of what is not validated.
fn warn(tool: &str, compiled: &Result<Validator, UnusableSchema>) {
    for skipped in compiled.iter().flat_map(Validator::skipped) {
        tracing::warn!(tool, pointer = skipped.pointer, "part of the schema is not validated: {skipped}");
    }
    if let Err(unusable) = compiled {
        tracing::warn!(tool, "unusable schema: {unusable}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn schema_is_compiled_once_and_survives_a_poisoned_lock() {
        let schema = r#"{"type": "integer"}"#;
        assert!(check("count", schema, &json!(5), &Redactor::default()).is_ok());
        let first = compiled(schema);
        let poisoned = std::thread::spawn(|| {
            let _held = COMPILED.write();
            panic!("poisons the lock");
        });
        assert!(poisoned.join().is_err());
        assert!(check("count", schema, &json!("5"), &Redactor::default()).is_err());
        assert!(Arc::ptr_eq(&first, &compiled(schema)));
    }

    #[test]
    fn malformed_schema_is_refused_every_time() {
        for _ in 0..2 {
            let refusal = check("broken", "{", &json!({}), &Redactor::default()).unwrap_err();
            assert!(matches!(refusal, Refusal::UnusableSchema(_)), "{refusal}");
        }
    }
}

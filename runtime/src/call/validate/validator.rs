//! A schema that is ready to check values.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, ValidationError};
use serde_json::Value;

use super::links::Links;
use super::mend::{Mended, Probe, mend};
use super::{Skipped, UnusableSchema, Violation, dialect, expansion};
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
    /// Fails if a `$ref` leads nowhere or out of the document, or the schema is too deep or grows without measure: schemas
    /// that are made of each other apply to one value more often than any validator could try.
    pub fn new(schema: &Value) -> Result<Self, UnusableSchema> {
        let draft = dialect::of(schema);
        let mended = mend(schema, draft, None)?;
        if let Ok(compiled) = compile_document(draft, &mended.schema)? {
            return Ok(Self { compiled, skipped: mended.skipped });
        }
        let probe: Probe = |draft, schema| compile(draft, schema).is_ok();
        let mended = mend(schema, draft, Some(probe))?;
        match compile_document(draft, &mended.schema)? {
            Ok(compiled) => Ok(Self { compiled, skipped: mended.skipped }),
            Err(error) => Err(unusable(&error, &mended)),
        }
    }

    /// Checks a value.
    ///
    /// # Errors
    /// With the first thing that does not fit.
    pub fn check(&self, value: &Value) -> Result<(), Violation> {
        self.check_without(value, &Redactor::default())
    }

    /// Returns all that does not fit, but no more than `most`: several faults of arguments can be mended at once.
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

    /// Checks a value of which not everything may be repeated.
    pub(super) fn check_without(&self, value: &Value, redactor: &Redactor) -> Result<(), Violation> {
        self.compiled.validate(value).map_err(|error| Violation::new(&error, redactor))
    }

    /// Returns the parts of the schema that are not checked.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}

/// Compiles a whole document, if that ends.
fn compile_document(
    draft: Draft,
    schema: &Value,
) -> Result<Result<jsonschema::Validator, ValidationError<'static>>, UnusableSchema> {
    let links = match Links::of(schema, draft) {
        Ok(links) => links,
        Err(error) => return Ok(Err(error.into())),
    };
    expansion::check(&links)?;
    Ok(if links.are_fixed { compile(draft, &links.by_pointers(draft)) } else { compile(draft, schema) })
}

fn compile(draft: Draft, schema: &Value) -> Result<jsonschema::Validator, ValidationError<'static>> {
    let mut options = jsonschema::options().with_draft(draft).offline().should_validate_formats(false);
    for encoding in ["base64", "base64url", "base32", "base32hex", "base16"] {
        options = options.without_content_encoding_support(encoding);
    }
    options.without_content_media_type_support("application/json").build(schema)
}

fn unusable(error: &ValidationError<'_>, mended: &Mended) -> UnusableSchema {
    let message = error.masked().to_string();
    if !matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        return UnusableSchema::new(error.instance_path().as_str(), message);
    }
    match mended.references.iter().find(|reference| reference.explains(&message)) {
        Some(reference) => UnusableSchema::new(
            &reference.pointer,
            format!("`{}` does not exist in this document, and other documents are never fetched", reference.target),
        ),
        None => UnusableSchema::new("", message),
    }
}

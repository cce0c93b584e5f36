//! The assertions of a schema about a string or a number, beyond its type.

use serde_json::{Map, Number, Value};

use super::{SchemaId, Schemas};
use crate::bundle::{Draft, lookup};

/// The keywords of one schema.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Scalars {
    pub(crate) minimum: Vec<Limit>,
    pub(crate) maximum: Vec<Limit>,
    pub(crate) multiple_of: Option<Number>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    pub(crate) pattern: Option<String>,
}

/// A bound of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Limit {
    pub(crate) value: Number,
    pub(crate) exclusive: bool,
}

impl Scalars {
    pub(crate) fn of(map: &Map<String, Value>, draft: Draft) -> Self {
        Self {
            minimum: limits(map, "minimum", "exclusiveMinimum", draft),
            maximum: limits(map, "maximum", "exclusiveMaximum", draft),
            multiple_of: lookup(map, "multipleOf").and_then(Value::as_number).cloned(),
            min_length: lookup(map, "minLength").and_then(whole),
            max_length: lookup(map, "maxLength").and_then(whole),
            pattern: lookup(map, "pattern").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

impl Schemas<'_> {
    /// Returns the schema's own assertions about strings and numbers: none where a reference hides its siblings.
    pub(crate) fn scalars(&self, id: SchemaId) -> Scalars {
        let draft = self.bundle.draft();
        let is_hidden =
            |map: &&Map<String, Value>| draft.ref_stands_alone() && lookup(map, "$ref").is_some_and(Value::is_string);
        self.source(id).filter(|map| !is_hidden(map)).map(|map| Scalars::of(map, draft)).unwrap_or_default()
    }
}

/// A bound and its strict twin; draft 4 says `exclusiveMinimum: true` beside `minimum`.
fn limits(map: &Map<String, Value>, keyword: &str, exclusive: &str, draft: Draft) -> Vec<Limit> {
    let strict = lookup(map, exclusive);
    let plain = match lookup(map, keyword) {
        Some(Value::Number(value)) => {
            let exclusive = strict == Some(&Value::Bool(true)) && draft.has_exclusive_flags();
            Some(Limit { value: value.clone(), exclusive })
        }
        _ => None,
    };
    let strict = match strict {
        Some(Value::Number(value)) if draft >= Draft::D6 => Some(Limit { value: value.clone(), exclusive: true }),
        _ => None,
    };
    plain.into_iter().chain(strict).collect()
}

/// A count: `2.0` is one too.
pub(super) fn whole(value: &Value) -> Option<u64> {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // guarded: integral and not negative
    let integral = |value: f64| (value.fract() == 0.0 && value >= 0.0).then_some(value as u64);
    value.as_u64().or_else(|| value.as_f64().and_then(integral))
}

//! Assertions on strings, numbers and lists beyond their type: patterns, lengths, bounds. The generator writes them
//! into newtypes as schemas, and the runtime checks values against these.

mod judge;
mod plain;

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Number, Value, json};

pub use judge::Checks;
#[cfg(feature = "provider")]
pub(crate) use plain::is_portable;

use crate::diagnostics::{Reporter, UNCHECKED_PATTERN};
use crate::document::Document;
use crate::normalize::SchemaId;
use crate::shape::{Shape, ShapeId};

/// Schemas are followed so far through references and `allOf`.
const MOST_SCHEMAS: usize = 64;

impl Document<'_> {
    /// Returns the strings, numbers and lists with assertions, each with a schema of these. Patterns that cannot be
    /// checked are reported and left out.
    ///
    /// ```
    /// use mcp_bindgen_schema::diagnostics::Reporter;
    /// use mcp_bindgen_schema::{Document, Role};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"page": {"type": "integer", "minimum": 1}}});
    /// let mut reporter = Reporter::new("list", 0, "/inputSchema");
    /// let document = Document::read(&schema, Role::Input, &mut reporter);
    /// let checks = document.checks(&mut reporter);
    /// assert_eq!(checks.into_values().collect::<Vec<_>>(), [serde_json::json!({"minimum": 1})]);
    /// ```
    #[must_use]
    pub fn checks(&self, reporter: &mut Reporter) -> BTreeMap<ShapeId, Value> {
        let mut unchecked = HashSet::new();
        let mut all = BTreeMap::new();
        for id in self.shapes.ids() {
            let shape = self.shapes.get(id);
            if !matches!(shape, Shape::Text | Shape::I64 | Shape::U64 | Shape::Number | Shape::List(_)) {
                continue;
            }
            let mut checks: Vec<Value> = Vec::new();
            for schema in self.schemas.holding(self.shapes.origin(id), MOST_SCHEMAS) {
                let said = match shape {
                    Shape::Text => self.of_text(schema, &mut unchecked, reporter),
                    Shape::List(_) => self.of_list(schema),
                    shape => self.of_number(schema, shape),
                };
                if !said.is_empty() && !checks.contains(&Value::Object(said.clone())) {
                    checks.push(Value::Object(said));
                }
            }
            match checks.as_mut_slice() {
                [] => {}
                [only] => drop(all.insert(id, only.take())),
                _ => drop(all.insert(id, json!({ "allOf": checks }))),
            }
        }
        all
    }

    fn of_text(&self, id: SchemaId, unchecked: &mut HashSet<SchemaId>, reporter: &mut Reporter) -> Map<String, Value> {
        let mut checks = keywords(self.schemas.scalars(id).of_texts());
        let is_plain = |pattern: &Value| pattern.as_str().is_some_and(plain::is_plain);
        if checks.get("pattern").is_some_and(|pattern| !is_plain(pattern)) {
            checks.shift_remove("pattern");
            if unchecked.insert(id) {
                reporter.say(UNCHECKED_PATTERN, &format!("{}/pattern", self.schemas.pointer(id)), "");
            }
        }
        checks
    }

    fn of_list(&self, id: SchemaId) -> Map<String, Value> {
        let node = self.schemas.get(id);
        let least = Some(node.min_items).filter(|least| *least > 0);
        let counts = [("minItems", least), ("maxItems", node.max_items)];
        keywords(counts.into_iter().filter_map(|(keyword, count)| Some((keyword, count?.into()))))
    }

    fn of_number(&self, id: SchemaId, shape: &Shape) -> Map<String, Value> {
        let mut checks = keywords(self.schemas.scalars(id).of_numbers());
        checks.retain(|keyword, value| {
            let is_step = keyword != "multipleOf" || value.as_f64().is_some_and(|step| step > 0.0);
            is_step && !value.as_number().is_some_and(|value| is_said_by_type(shape, keyword, value))
        });
        checks
    }
}

fn keywords(said: impl IntoIterator<Item = (&'static str, Value)>) -> Map<String, Value> {
    said.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect()
}

/// Returns `true` if every value of a type keeps to a keyword.
fn is_said_by_type(shape: &Shape, keyword: &str, value: &Number) -> bool {
    let (least, greatest) = match shape {
        Shape::I64 => (Number::from(i64::MIN), Number::from(i64::MAX)),
        Shape::U64 => (Number::from(0), Number::from(u64::MAX)),
        _ => return false,
    };
    match keyword {
        "minimum" => crate::number::order(value, &least).is_le(),
        "exclusiveMinimum" => crate::number::order(value, &least).is_lt(),
        "maximum" => crate::number::order(value, &greatest).is_ge(),
        "exclusiveMaximum" => crate::number::order(value, &greatest).is_gt(),
        _ => value.as_f64().is_some_and(|step| (1.0 / step).fract() == 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    #[track_caller]
    fn checks_of(property: &Value) -> (Vec<Value>, usize) {
        let schema = json!({"type": "object", "properties": {"x": property}, "$defs": {"Day": {
            "type": "string", "pattern": "^\\d{4}$"
        }}});
        let mut reporter = Reporter::new("t", 0, "/inputSchema");
        let document = Document::read(&schema, Role::Input, &mut reporter);
        let checks = document.checks(&mut reporter).into_values().collect();
        (checks, reporter.finish().len())
    }

    #[test]
    fn only_unconditional_keywords_are_checked() {
        for (property, checks) in [
            (json!({"type": "string", "minLength": 1, "maxLength": 2.0}), json!([{"minLength": 1, "maxLength": 2}])),
            (json!({"type": ["string", "null"], "pattern": "^a"}), json!([{"pattern": "^a"}])),
            (json!({"$ref": "#/$defs/Day"}), json!([{"pattern": "^\\d{4}$"}])),
            // A definition is one type, regardless of keywords beside a reference to it.
            (json!({"$ref": "#/$defs/Day", "maxLength": 9}), json!([{"pattern": "^\\d{4}$"}])),
            (
                json!({"allOf": [{"type": "string", "minLength": 1}, {"maxLength": 9}]}),
                json!([{"allOf": [{"minLength": 1}, {"maxLength": 9}]}]),
            ),
            (json!({"allOf": [{"type": "string", "minLength": 3}]}), json!([{"minLength": 3}])),
            (
                json!({"type": "number", "exclusiveMinimum": 0, "maximum": 5, "multipleOf": 0.5}),
                json!([{"exclusiveMinimum": 0, "maximum": 5, "multipleOf": 0.5}]),
            ),
            (json!({"type": "array", "minItems": 1, "maxItems": 3.0}), json!([{"minItems": 1, "maxItems": 3}])),
            (json!({"type": "array", "items": {"type": "string", "minLength": 1}}), json!([{"minLength": 1}])),
            (json!({"type": ["array", "string"], "minItems": 2}), json!([{"minItems": 2}])),
            (json!({"type": "array", "minItems": 0}), json!([])),
            // The type says as much.
            (json!({"prefixItems": [{"type": "string"}], "type": "array", "minItems": 1, "maxItems": 1}), json!([])),
            (json!({"type": "integer", "minimum": 0, "multipleOf": 1}), json!([])),
            (json!({"type": "integer", "minimum": -9_223_372_036_854_775_808_i64}), json!([])),
            (json!({"type": "string", "minLength": 0}), json!([])),
            // Alternatives do not apply to every value.
            (json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "string", "pattern": "b"}]}), json!([])),
            (json!({"type": "string", "if": {"minLength": 3}, "then": {"maxLength": 4}}), json!([])),
            (json!({"type": "string", "enum": ["a"], "minLength": 1}), json!([])),
            (json!({"type": "string", "minimum": 1, "minLength": "1", "multipleOf": 0}), json!([])),
        ] {
            assert_eq!(Value::from(checks_of(&property).0), checks, "{property}");
        }
    }

    #[test]
    fn unchecked_pattern_is_reported_once() {
        let (checks, said) = checks_of(&json!({"type": "string", "pattern": "^(?=a)b", "minLength": 1}));
        assert_eq!((checks, said), (vec![json!({"minLength": 1})], 1));
    }
}

//! Assertions on strings, numbers and lists beyond their type: patterns, lengths, bounds. The generator writes them
//! into newtypes as schemas. The runtime and views check values against these.

mod judge;
pub(crate) mod plain;

use std::collections::HashSet;

use serde_json::{Map, Number, Value, json};

pub use judge::Checks;
#[cfg(feature = "provider")]
pub(crate) use plain::is_portable;

use crate::diagnostics::{Reporter, UNCHECKED_PATTERN};
use crate::document::Document;
use crate::normalize::SchemaId;
use crate::number::order;
use crate::shape::{Shape, ShapeId};

/// Schemas are followed so far through references and `allOf`.
const MOST_SCHEMAS: usize = 64;

impl Document<'_> {
    /// Returns the strings, numbers and lists with assertions, each with a schema of these, in the order of their ids.
    /// Patterns that cannot be checked are reported and left out.
    ///
    /// ```
    /// use mcp_bindgen_schema::diagnostics::Reporter;
    /// use mcp_bindgen_schema::{Document, Role};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"page": {"type": "integer", "minimum": 1}}});
    /// let mut reporter = Reporter::new("list", 0, "/inputSchema");
    /// let document = Document::read(&schema, Role::Input, &mut reporter);
    /// let checks = document.checks(&mut reporter);
    /// assert_eq!(checks[0].1, serde_json::json!({"minimum": 1}));
    /// ```
    #[must_use]
    pub fn checks(&self, reporter: &mut Reporter) -> Vec<(ShapeId, Value)> {
        let mut unchecked = HashSet::new();
        let mut all = Vec::new();
        for id in self.shapes.ids() {
            let shape = self.shapes.get(id);
            if !matches!(shape, Shape::Text | Shape::I64 | Shape::U64 | Shape::Number | Shape::List(_)) {
                continue;
            }
            let mut checks: Vec<Value> = Vec::new();
            for schema in self.schemas.holding(self.shapes.origin(id), MOST_SCHEMAS) {
                let said = self.said(schema, shape, &mut unchecked, reporter);
                if !said.is_empty() && !checks.contains(&Value::Object(said.clone())) {
                    checks.push(Value::Object(said));
                }
            }
            match checks.as_mut_slice() {
                [] => {}
                [only] => all.push((id, only.take())),
                _ => all.push((id, json!({ "allOf": checks }))),
            }
        }
        all
    }

    /// Returns the assertions of one schema that apply to a shape and are not said by its type.
    fn said(
        &self,
        id: SchemaId,
        shape: &Shape,
        unchecked: &mut HashSet<SchemaId>,
        reporter: &mut Reporter,
    ) -> Map<String, Value> {
        let (node, scalars) = (self.schemas.get(id), self.schemas.scalars(id));
        let mut said: Vec<(&str, Value)> = match shape {
            Shape::Text => scalars.of_texts().collect(),
            Shape::List(_) => node.of_lists().collect(),
            _ => scalars.of_numbers(),
        };
        said.retain(|(keyword, value)| match value {
            Value::String(pattern) if !plain::is_plain(pattern) => {
                if unchecked.insert(id) {
                    reporter.say(UNCHECKED_PATTERN, &format!("{}/pattern", node.pointer), "");
                }
                false
            }
            Value::Number(value) => !is_said_by_type(shape, keyword, value),
            _ => true,
        });
        said.into_iter().map(|(keyword, value)| (keyword.to_owned(), value)).collect()
    }
}

/// Returns `true` if every value of a type keeps to a keyword. A `multipleOf` of 0 or less is invalid and asks for nothing.
fn is_said_by_type(shape: &Shape, keyword: &str, value: &Number) -> bool {
    let step = value.as_f64().filter(|_| keyword == "multipleOf");
    if step.is_some_and(|step| step <= 0.0) {
        return true;
    }
    let (least, greatest) = match shape {
        Shape::I64 => (i64::MIN.into(), i64::MAX.into()),
        Shape::U64 => (0.into(), u64::MAX.into()),
        _ => return false,
    };
    match keyword {
        "minimum" => order(value, &least).is_le(),
        "exclusiveMinimum" => order(value, &least).is_lt(),
        "maximum" => order(value, &greatest).is_ge(),
        "exclusiveMaximum" => order(value, &greatest).is_gt(),
        _ => step.is_some_and(|step| (1.0 / step).fract() == 0.0),
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
        let checks = document.checks(&mut reporter).into_iter().map(|(_, schema)| schema).collect();
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

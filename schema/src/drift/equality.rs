//! Finds the structurally equal schemas of two versions: references are followed, and annotations ignored.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::version::{Equality, Version};
use crate::alike::refined;
use crate::keys::sorted;
use crate::normalize::SchemaId;
use crate::number::{ByValue, hashed, same};

/// The budget of the refinement: the number of schemas and of their subschemas, times the rounds.
const MOST_WORK: usize = 4_000_000;

impl Equality {
    pub(super) fn of(left: &Version<'_>, right: &Version<'_>) -> Self {
        let (mut outlines, mut children, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        // The places of outlines, by their hashes.
        let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
        for version in [left, right] {
            let start = classes.len();
            for id in version.ids() {
                let (outline, held) = outline(version, id);
                let alike = known.entry(hashed(&ByValue(&outline))).or_default();
                let twin = alike.iter().find(|twin| outlines.get(**twin).is_some_and(|twin| same(twin, &outline)));
                // Nothing is known of a schema beyond the limit on schemas: what holds it equals no other.
                let is_whole = held.iter().all(|held| version.has(*held));
                let class = twin.copied().filter(|_| is_whole).unwrap_or(classes.len());
                if class == classes.len() && is_whole {
                    alike.push(class);
                }
                classes.push(class);
                children.push(held.iter().map(|held| start.saturating_add(held.index())).collect());
                outlines.push(outline);
            }
        }
        let mut left_classes = refined(classes, &children, MOST_WORK);
        let right = left_classes.split_off(left.ids().count());
        Self { left: left_classes, right }
    }

    /// Returns `true` if two schemas are certainly equal. Both ids must come from [`Version::followed`].
    pub(super) fn equal(&self, left: SchemaId, right: SchemaId) -> bool {
        let (left, right) = (self.left.get(left.index()), self.right.get(right.index()));
        left.is_some() && left == right
    }
}

/// Returns the keywords of a schema in a normal form, without its subschemas, and the subschemas in an order that
/// depends only on the keywords.
fn outline(version: &Version<'_>, id: SchemaId) -> (Value, Vec<SchemaId>) {
    let (node, asserted) = (version.node(id), version.assertions(id));
    let (mut keywords, mut held): (Vec<Value>, Vec<SchemaId>) = (Vec::new(), Vec::new());
    for (keyword, named) in [
        ("properties", &node.properties),
        ("patternProperties", &asserted.patterns),
        ("dependentSchemas", &asserted.dependent_schemas),
    ] {
        for (name, schema) in sorted(named, |(name, _)| name) {
            keywords.extend([keyword.into(), name.as_str().into()]);
            held.push(*schema);
        }
    }
    let (contains, condition) = (asserted.contains.as_ref(), asserted.condition.as_ref());
    let mut lists: Vec<(&str, &[SchemaId])> = vec![("prefixItems", &node.prefix_items), ("allOf", &node.parts)];
    for choice in &node.choices {
        lists.push((if choice.is_exclusive { "oneOf" } else { "anyOf" }, &choice.branches));
    }
    let singles = [
        ("additionalProperties", version.additional(id)),
        ("items", node.items),
        ("not", asserted.not),
        ("propertyNames", asserted.property_names),
        ("contains", contains.map(|contains| contains.schema)),
        ("if", condition.map(|condition| condition.test)),
        ("then", condition.and_then(|condition| condition.then)),
        ("else", condition.and_then(|condition| condition.otherwise)),
    ];
    lists.extend(singles.iter().map(|(keyword, single)| (*keyword, single.as_slice())));
    for (keyword, list) in lists {
        for schema in list {
            keywords.push(keyword.into());
            held.push(*schema);
        }
    }
    held.iter_mut().for_each(|schema| *schema = version.followed(*schema));
    let keys = |keys: &[String]| -> Value { keys.iter().map(|key| (key.as_str(), Value::Null)).collect() };
    let needed = &asserted.dependent_required;
    let needs = || needed.iter().map(|(key, needs)| (key.as_str(), keys(needs))).collect();
    let others = [
        ("false", node.never.then_some(Value::Null)),
        ("type", node.kinds.map(|kinds| kinds.names().into())),
        ("enum", node.allowed.as_ref().map(|values| set_of(values))),
        ("required", (!node.required.is_empty()).then(|| keys(&node.required))),
        ("dependentRequired", (!needed.is_empty()).then(needs)),
        ("minContains", contains.map(|contains| contains.least.into())),
        ("maxContains", contains.map(|contains| contains.most.into())),
        ("format", asserted.format.as_deref().map(Value::from)),
        ("unevaluated", asserted.unevaluated.as_deref().map(Value::from)),
        ("$ref", asserted.unresolved.as_deref().map(Value::from)),
    ];
    let own = asserted.keywords(node).into_iter().filter(|(_, keyword, _)| *keyword != "dependentRequired");
    for (keyword, value) in own.map(|(_, keyword, value)| (keyword, Some(value))).chain(others) {
        keywords.extend(value.map(|value| Value::Array(vec![keyword.into(), value])));
    }
    (keywords.into(), held)
}

/// Returns listed values as a set, in which equal ones are there once.
fn set_of(values: &[Value]) -> Value {
    let mut by_hash = Map::new();
    for value in values {
        let alike = by_hash.entry(hashed(&ByValue(value)).to_string()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(alike) = alike
            && !alike.iter().any(|known| same(known, value))
        {
            alike.push(value.clone());
        }
    }
    by_hash.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Role;

    /// Returns `true` if the schemas of the property `p` are equal.
    fn are_equal(left: &Value, right: &Value) -> bool {
        let [left, right] = [left, right].map(|schema| Version::read(schema, Role::Output));
        let of = |version: &Version<'_>| {
            let (_, schema) = version.node(SchemaId::ROOT).properties.iter().find(|(name, _)| name == "p").unwrap();
            version.followed(*schema)
        };
        Equality::of(&left, &right).equal(of(&left), of(&right))
    }

    fn with(property: &Value, definitions: &Value) -> Value {
        json!({ "type": "object", "properties": { "p": property }, "$defs": definitions })
    }

    #[test]
    fn schemas_of_one_meaning_are_equal() {
        let text = json!({ "A": { "type": "string" } });
        for (left, right, expected) in [
            (json!({ "enum": ["a", 1, "a"] }), json!({ "enum": [1.0, "a"] }), true),
            (json!({ "enum": [0, -0.0] }), json!({ "const": 0 }), true),
            (json!({ "enum": [1] }), json!({ "enum": [1, 2] }), false),
            (json!({ "minimum": 1 }), json!({ "minimum": 1.0 }), true),
            (json!({ "const": 9_007_199_254_740_993_u64 }), json!({ "const": 9_007_199_254_740_992_u64 }), false),
            (json!({ "required": ["a", "b"] }), json!({ "required": ["b", "a", "b"] }), true),
            (
                json!({ "dependentRequired": { "a": ["b", "c"], "d": ["e"] } }),
                json!({ "dependentRequired": { "d": ["e"], "a": ["c", "b", "c"] } }),
                true,
            ),
            (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "dependentRequired": { "a": ["c"] } }), false),
            (json!({ "$ref": "#/$defs/A" }), json!({ "allOf": [{ "$ref": "#/$defs/A" }] }), true),
            (
                json!({ "$ref": "#/$defs/A", "maxLength": 9 }),
                json!({ "allOf": [{ "type": "string" }], "maxLength": 9 }),
                true,
            ),
            (json!({ "anyOf": [{}, { "type": "null" }] }), json!({ "oneOf": [{}, { "type": "null" }] }), false),
        ] {
            assert_eq!(are_equal(&with(&left, &text), &with(&right, &text)), expected, "{left} {right}");
        }
    }

    #[test]
    fn recursive_definitions_that_differ_three_levels_down_are_not_equal() {
        let tree = |next: &str, leaf: &str| {
            let node = |next: &str, leaf: &str| json!({ "properties": { "next": { "$ref": next }, "value": { "type": leaf } } });
            let all = [node(next, "string"), node("#/$defs/C", "string"), node("#/$defs/A", leaf)];
            let [a, b, c] = all;
            with(&json!({ "$ref": "#/$defs/A" }), &json!({ "A": a, "B": b, "C": c }))
        };
        let whole = tree("#/$defs/B", "string");
        assert!(are_equal(&whole, &whole));
        assert!(are_equal(&whole, &tree("#/$defs/A", "integer")), "once unrolled");
        assert!(!are_equal(&whole, &tree("#/$defs/B", "integer")));
    }

    #[test]
    fn schemas_that_hold_one_beyond_the_limit_are_not_equal() {
        let long = |length: usize| with(&json!({ "properties": { "k".repeat(length): {} } }), &json!({}));
        assert!(are_equal(&long(100), &long(100)));
        assert!(!are_equal(&long(5000), &long(5000)));
    }

    #[test]
    fn schemas_above_the_limit_of_levels_alone_are_not_equal() {
        let mut chain = json!({ "d300": { "type": "string" } });
        for index in 0..300 {
            chain[format!("d{index}")] =
                json!({ "properties": { "a": { "$ref": format!("#/$defs/d{}", index + 1) } } });
        }
        let held = |level: usize| {
            let whole = json!({ "$ref": "#/$defs/d0" });
            let mut schema = with(&json!({ "not": { "$ref": format!("#/$defs/d{level}") } }), &chain);
            schema["properties"]["whole"] = whole;
            schema
        };
        assert!(are_equal(&held(200), &held(200)));
        assert!(!are_equal(&held(0), &held(0)));
    }
}

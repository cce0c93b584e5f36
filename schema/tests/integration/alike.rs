//! Which shapes are the same type, and which are not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Alike, Class, Document, Role, Shape};
use serde_json::{Value, json};

/// The class of what a schema says of the property `it`.
fn classes(schemas: &[(Role, Value)]) -> Vec<Class> {
    let documents: Vec<Document<'_>> = schemas
        .iter()
        .map(|(role, schema)| Document::read(schema, *role, &mut Reporter::new("tool", 0, "/schema")))
        .collect();
    let alike = Alike::new(&documents.iter().collect::<Vec<_>>());
    let it = |(place, document): (usize, &Document<'_>)| {
        let Shape::Struct(root) = document.shapes.get(document.root) else { panic!("{schemas:?}") };
        let field = root.fields.iter().find(|field| field.wire == "it").expect("the property");
        alike.class(place, field.slot.shape).expect("a class")
    };
    documents.iter().enumerate().map(it).collect()
}

fn with(it: &Value, definitions: &Value) -> Value {
    json!({"type": "object", "properties": {"it": it}, "$defs": definitions})
}

fn are_alike(left: &Value, right: &Value) -> bool {
    let schemas = [(Role::Input, with(left, &json!({}))), (Role::Output, with(right, &json!({})))];
    let classes = classes(&schemas);
    classes[0] == classes[1]
}

fn object(members: &Value) -> Value {
    let mut object = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let (all, members) = (object.as_object_mut().unwrap(), members.as_object().unwrap());
    all.extend(members.iter().map(|(key, value)| (key.clone(), value.clone())));
    object
}

#[test]
fn annotations_and_order_do_not_affect_equality() {
    let plain = object(&json!({"required": ["a", "b"]}));
    for same in [
        object(&json!({"required": ["b", "a"], "description": "d", "title": "t"})),
        object(&json!({"required": ["a", "b"], "additionalProperties": false})),
        object(&json!({"required": ["a", "b"], "properties": {"b": {"type": "integer", "maximum": 5},
                       "a": {"type": "string", "minLength": 1, "pattern": "^a"}}})),
    ] {
        assert!(are_alike(&plain, &same), "{same}");
    }
    let choice = |values: Value| json!({"type": "string", "enum": values});
    assert!(are_alike(&choice(json!(["x", "y"])), &choice(json!(["y", "x"]))));
    let tagged = |first: &str, second: &str| {
        let branch = |kind: &str| {
            json!({"type": "object", "properties": {"kind": {"const": kind}, kind: {"type": "string"}},
                   "required": ["kind"]})
        };
        json!({"oneOf": [branch(first), branch(second)]})
    };
    assert!(are_alike(&tagged("left", "right"), &tagged("right", "left")));
}

#[test]
fn every_part_of_a_type_affects_equality() {
    let plain = object(&json!({"required": ["a"]}));
    for other in [
        object(&json!({})),
        object(&json!({"required": ["a", "b"]})),
        object(&json!({"required": ["a"], "additionalProperties": true})),
        object(&json!({"required": ["a"], "additionalProperties": {"type": "string"}})),
        object(&json!({"required": ["a"], "properties": {"a": {"type": "string"}, "c": {"type": "integer"}}})),
        object(&json!({"required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "number"}}})),
        object(&json!({"required": ["a"],
                       "properties": {"a": {"type": "string"}, "b": {"type": ["integer", "null"]}}})),
        object(&json!({"required": ["a"], "properties": {"a": {"type": ["string", "null"]},
                       "b": {"type": "integer"}}})),
    ] {
        assert!(!are_alike(&plain, &other), "{other}");
    }
    let choice = |values: Value| json!({"type": "string", "enum": values});
    assert!(!are_alike(&choice(json!(["x", "y"])), &choice(json!(["x", "y", "z"]))));
    assert!(!are_alike(&json!({"enum": [1, "x"]}), &json!({"enum": [1, "y"]})));
    assert!(!are_alike(
        &json!({"type": "array", "items": plain}),
        &json!({"type": "object",
        "additionalProperties": plain})
    ));
}

#[test]
fn nested_difference_affects_equality() {
    let nested = |leaf: &str| {
        let inner = json!({"type": "object", "properties": {"leaf": {"type": leaf}}});
        json!({"type": "object", "properties": {"list": {"type": "array", "items": {
            "type": "object", "properties": {"inner": inner}}}}})
    };
    assert!(are_alike(&nested("string"), &nested("string")));
    assert!(!are_alike(&nested("string"), &nested("boolean")));
}

#[test]
fn recursive_types_are_compared() {
    let node = |next: &str, value: &str| json!({"type": "object", "properties": {"value": {"type": value}, "next": {"$ref": next}}});
    let it = json!({"$ref": "#/$defs/Node"});
    let plain = with(&it, &json!({"Node": node("#/$defs/Node", "string")}));
    // The same, once unrolled.
    let unrolled =
        with(&it, &json!({"Node": node("#/$defs/Other", "string"), "Other": node("#/$defs/Other", "string")}));
    let ends_otherwise =
        with(&it, &json!({"Node": node("#/$defs/Other", "string"), "Other": node("#/$defs/Other", "boolean")}));
    let classes = classes(&[(Role::Input, plain), (Role::Output, unrolled), (Role::Output, ends_otherwise)]);
    assert_eq!(classes[0], classes[1]);
    assert_ne!(classes[0], classes[2]);
}

#[test]
fn arguments_of_a_tool_are_always_a_separate_type() {
    let schema = json!({"type": "object", "properties": {"it": {"$ref": "#"}}});
    let classes = classes(&[(Role::Input, schema.clone()), (Role::Input, schema.clone()), (Role::Output, schema)]);
    assert_ne!(classes[0], classes[1]);
    assert_ne!(classes[0], classes[2]);
}

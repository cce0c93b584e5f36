//! Definitions that are not looked into.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, Shape, ShapeId, Slot};
use serde_json::{Value, json};

const MONEY: &[&str] = &["/$defs/Money"];

fn definitions() -> Value {
    json!({
        "Money": {"type": "object", "properties": {"cents": {"type": "integer"}}, "required": ["cents"]},
        "Other": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
    })
}

/// Returns the shape of the property `it`, and whether it allows `null`.
fn it(it: &Value) -> String {
    let schema = json!({"type": "object", "properties": {"it": it}, "required": ["it"], "$defs": definitions()});
    let document = Document::read_around(&schema, Role::Input, MONEY, &mut Reporter::new("t", 0, "/inputSchema"));
    let Shape::Struct(root) = document.shapes.get(document.root) else { panic!("{it}") };
    said(&document, root.fields[0].slot)
}

fn said(document: &Document<'_>, slot: Slot) -> String {
    let shape = |id: ShapeId| said(document, Slot { shape: id, nullable: false });
    let text = match document.shapes.get(slot.shape) {
        Shape::Opaque => {
            let [definition] = document.shapes.origin(slot.shape) else { panic!("one definition") };
            document.schemas.pointer(*definition).to_owned()
        }
        Shape::List(item) => format!("[{}]", said(document, *item)),
        Shape::Map(value) => format!("{{{}}}", said(document, *value)),
        Shape::Union(union) => union.branches.iter().map(|branch| shape(branch.shape)).collect::<Vec<_>>().join(" or "),
        Shape::Struct(_) => "a struct".to_owned(),
        Shape::Text => "text".to_owned(),
        other => format!("{other:?}"),
    };
    if slot.nullable { format!("{text}?") } else { text }
}

#[test]
fn schema_that_only_refers_to_an_extern_type_is_opaque() {
    let money = json!({"$ref": "#/$defs/Money"});
    for (schema, expected) in [
        (money.clone(), "/$defs/Money"),
        (json!({"$ref": "#/$defs/Money", "description": "d", "default": {"cents": 0}}), "/$defs/Money"),
        (json!({"allOf": [money], "title": "t"}), "/$defs/Money"),
        (json!({"type": "array", "items": money}), "[/$defs/Money]"),
        (json!({"type": "object", "additionalProperties": money}), "{/$defs/Money}"),
        (json!({"anyOf": [money, {"type": "null"}]}), "/$defs/Money?"),
        (json!({"anyOf": [money, {"type": "string"}]}), "/$defs/Money or text"),
        (json!({"anyOf": [money, {"$ref": "#/$defs/Other"}]}), "/$defs/Money or a struct"),
    ] {
        assert_eq!(it(&schema), expected, "{schema}");
    }
}

#[test]
fn schema_that_narrows_an_extern_type_is_generated() {
    let money = json!({"$ref": "#/$defs/Money"});
    for schema in [
        json!({"allOf": [money, {"properties": {"currency": {"type": "string"}}}]}),
        json!({"$ref": "#/$defs/Money", "required": ["cents", "currency"]}),
        json!({"$ref": "#/$defs/Other"}),
    ] {
        assert_eq!(it(&schema), "a struct", "{schema}");
    }
}

#[test]
fn root_that_refers_to_an_extern_type_contains_it() {
    for role in [Role::Input, Role::Output] {
        let schema = json!({"$ref": "#/$defs/Money", "$defs": definitions()});
        let document = Document::read_around(&schema, role, MONEY, &mut Reporter::new("t", 0, "/inputSchema"));
        let Shape::Named(inner) = document.shapes.get(document.root) else { panic!("a newtype") };
        assert_eq!(said(&document, *inner), "/$defs/Money");
    }
}

#[test]
fn branches_of_a_tagged_union_may_be_opaque() {
    let branch = |kind: &str| {
        json!({"type": "object", "properties": {"kind": {"const": kind}, kind: {"type": "string"}},
               "required": ["kind"]})
    };
    let schema = json!({
        "type": "object",
        "properties": {"it": {"oneOf": [{"$ref": "#/$defs/Money"}, branch("other")]}},
        "required": ["it"],
        "$defs": {"Money": branch("money")},
    });
    let document = Document::read_around(&schema, Role::Input, MONEY, &mut Reporter::new("t", 0, "/inputSchema"));
    let Shape::Struct(root) = document.shapes.get(document.root) else { panic!("a struct") };
    let Shape::Union(union) = document.shapes.get(root.fields[0].slot.shape) else { panic!("a union") };
    assert!(union.tag.is_none(), "{union:?}");
    let opaque = union.branches.iter().filter(|branch| matches!(document.shapes.get(branch.shape), Shape::Opaque));
    assert_eq!(opaque.count(), 1);
}

//! Which differences are found, where, and which of them break.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use mcp_model::drift::{Change, ChangeKind, diff};
use mcp_model::{Snapshot, drift};
use serde_json::{Value, json};

fn snapshot(tools: Value) -> Snapshot {
    Snapshot { tools: tools.as_array().unwrap().clone(), ..Snapshot::default() }
}

fn tool(input: &Value, output: Option<&Value>) -> Snapshot {
    let mut tool = json!({ "name": "t", "inputSchema": input });
    if let Some(output) = output {
        tool["outputSchema"] = output.clone();
    }
    snapshot(json!([tool]))
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The differences of one property `p`, as an input and as an output.
fn property(old: Value, new: Value) -> (Vec<String>, Vec<String>) {
    let schema = |property: &Value| json!({ "type": "object", "properties": { "p": property } });
    let short = |changes: Vec<Change>| -> Vec<String> {
        let place = |side| format!("t /{side}/properties/p");
        lines(&changes)
            .iter()
            .map(|l| l.replace(&place("inputSchema"), "p").replace(&place("outputSchema"), "p"))
            .collect()
    };
    let any = json!({});
    let input = diff(&tool(&schema(&old), None), &tool(&schema(&new), None));
    let output = diff(&tool(&any, Some(&schema(&old))), &tool(&any, Some(&schema(&new))));
    (short(input), short(output))
}

#[track_caller]
fn check(old: Value, new: Value, input: &[&str], output: &[&str]) {
    let (found_input, found_output) = property(old, new);
    assert_eq!(found_input, input, "as an input");
    assert_eq!(found_output, output, "as an output");
}

#[test]
fn tools_come_and_go() {
    let old = snapshot(json!([{ "name": "b" }, { "name": "a" }]));
    let new = snapshot(json!([{ "name": "c" }, { "name": "b" }]));
    assert_eq!(lines(&diff(&old, &new)), ["breaking    a: the tool is gone", "compatible  c: new tool"]);
    assert!(diff(&old, &snapshot(json!([{ "name": "a" }, { "name": "b" }]))).is_empty(), "the order says nothing");
}

#[test]
fn words_and_hints_break_nothing() {
    let old = snapshot(json!([{ "name": "a", "description": "x", "inputSchema": {} }]));
    let new =
        snapshot(json!([{ "name": "a", "description": "y", "inputSchema": {}, "annotations": {}, "title": "T" }]));
    assert_eq!(
        lines(&diff(&old, &new)),
        ["compatible  a /description: changed", "compatible  a /annotations: new", "compatible  a /title: new"]
    );
    check(
        json!({ "type": "string", "description": "x" }),
        json!({ "type": "string", "title": "y", "default": 1 }),
        &["compatible  p: another title, description, default"],
        &["compatible  p: another title, description, default"],
    );
}

#[test]
fn properties_come_and_go() {
    let schema = |names: &[&str], required: &[&str]| {
        let properties: serde_json::Map<_, _> =
            names.iter().map(|n| ((*n).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties, "required": required })
    };
    let old = schema(&["gone", "kept", "now", "then"], &["then"]);
    let new = schema(&["kept", "now", "then", "new", "must/have"], &["now", "must/have"]);
    assert_eq!(
        lines(&diff(&tool(&old, None), &tool(&new, None))),
        [
            "breaking    t /inputSchema/properties/gone: the property is gone",
            "breaking    t /inputSchema/properties/now: required now",
            "compatible  t /inputSchema/properties/then: optional now",
            "compatible  t /inputSchema/properties/new: new property",
            "breaking    t /inputSchema/properties/must~1have: new required property",
        ]
    );
    let any = json!({});
    assert_eq!(
        lines(&diff(&tool(&any, Some(&old)), &tool(&any, Some(&new)))),
        [
            "breaking    t /outputSchema/properties/gone: the property is gone",
            "compatible  t /outputSchema/properties/now: required now",
            "breaking    t /outputSchema/properties/then: optional now",
            "compatible  t /outputSchema/properties/new: new property",
            "compatible  t /outputSchema/properties/must~1have: new property",
        ]
    );
}

#[test]
fn an_output_schema_comes_and_goes() {
    let any = json!({});
    assert_eq!(lines(&diff(&tool(&any, None), &tool(&any, Some(&any)))), ["compatible  t /outputSchema: new"]);
    assert_eq!(lines(&diff(&tool(&any, Some(&any)), &tool(&any, None))), ["breaking    t /outputSchema: gone"]);
}

#[test]
fn types() {
    check(
        json!({ "type": "string" }),
        json!({ "type": "integer", "minimum": 1 }),
        &["breaking    p: string became integer"],
        &["breaking    p: string became integer"],
    );
    check(
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
        &["compatible  p: integer became number"],
        &["breaking    p: integer became number"],
    );
    check(
        json!({ "type": ["string", "integer"] }),
        json!({ "type": "string" }),
        &["breaking    p: string or integer became string"],
        &["compatible  p: string or integer became string"],
    );
    check(
        json!({}),
        json!({ "type": "string" }),
        &["breaking    p: any type became string"],
        &["compatible  p: any type became string"],
    );
    check(json!("odd"), json!([1]), &["breaking    p: another schema"], &["breaking    p: another schema"]);
    check(json!("odd"), json!("odd"), &[], &[]);
}

#[test]
fn null_in_all_its_spellings() {
    let plain = json!({ "type": "string" });
    for nullable in [
        json!({ "type": ["string", "null"] }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "type": "null" }, { "type": "string" }] }),
        json!({ "type": "string", "nullable": true }),
    ] {
        check(
            plain.clone(),
            nullable.clone(),
            &["compatible  p: `null` is valid now"],
            &["breaking    p: `null` is valid now"],
        );
        check(
            nullable,
            plain.clone(),
            &["breaking    p: `null` is no longer valid"],
            &["compatible  p: `null` is no longer valid"],
        );
    }
    let (input, _) =
        property(json!({ "type": ["string", "null"] }), json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
    assert_eq!(input, ["compatible  t /inputSchema: written differently"]);
}

#[test]
fn values_and_bounds() {
    check(
        json!({ "enum": ["a", "b"] }),
        json!({ "enum": ["b", "c"] }),
        &["breaking    p: \"a\" is no longer valid", "compatible  p: \"c\" is valid now"],
        &["compatible  p: \"a\" is no longer valid", "compatible  p: \"c\" is valid now"],
    );
    check(
        json!({ "const": 1 }),
        json!({ "enum": [1, 2] }),
        &["compatible  p: 2 is valid now"],
        &["breaking    p: 2 is valid now"],
    );
    check(
        json!({ "minimum": 1, "maxLength": 5, "minItems": 2 }),
        json!({ "minimum": 2, "maxLength": 9, "maxItems": 3 }),
        &[
            "breaking    p: `minimum` 1 became 2",
            "compatible  p: `minItems` 2 is gone",
            "compatible  p: `maxLength` 5 became 9",
            "breaking    p: `maxItems` 3 is new",
        ],
        &[
            "compatible  p: `minimum` 1 became 2",
            "compatible  p: `minItems` 2 is gone",
            "compatible  p: `maxLength` 5 became 9",
            "compatible  p: `maxItems` 3 is new",
        ],
    );
    check(
        json!({ "pattern": "a" }),
        json!({ "pattern": "b", "allOf": [] }),
        &["breaking    p: `pattern` changed", "breaking    p: `allOf` new"],
        &["compatible  p: `pattern` changed", "compatible  p: `allOf` new"],
    );
}

#[test]
fn other_keys_and_elements() {
    check(
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": false }),
        &["compatible  p/additionalProperties: other keys are no longer valid"],
        &["compatible  p/additionalProperties: other keys are no longer valid"],
    );
    check(
        json!({ "additionalProperties": { "type": "string" } }),
        json!({ "additionalProperties": { "type": "boolean" } }),
        &["breaking    p/additionalProperties: string became boolean"],
        &["breaking    p/additionalProperties: string became boolean"],
    );
    check(
        json!({ "items": { "type": "string" } }),
        json!({ "items": { "type": "string", "maxLength": 1 } }),
        &["breaking    p/items: `maxLength` 1 is new"],
        &["compatible  p/items: `maxLength` 1 is new"],
    );
    check(
        json!({ "prefixItems": [{}, {}] }),
        json!({ "prefixItems": [{ "type": "string" }] }),
        &[
            "breaking    p/prefixItems: another number of elements",
            "breaking    p/prefixItems/0: any type became string",
        ],
        &[
            "breaking    p/prefixItems: another number of elements",
            "compatible  p/prefixItems/0: any type became string",
        ],
    );
}

#[test]
fn alternatives() {
    let (string, object) = (json!({ "type": "string" }), json!({ "type": "object" }));
    check(
        json!({ "anyOf": [string] }),
        json!({ "anyOf": [object, string] }),
        &["compatible  p: 1 more alternatives"],
        &["breaking    p: 1 more alternatives"],
    );
    check(
        json!({ "anyOf": [object, string] }),
        string.clone(),
        &["breaking    p: 1 alternatives are gone"],
        &["compatible  p: 1 alternatives are gone"],
    );
    check(
        json!({ "oneOf": [string, { "type": "integer" }] }),
        json!({ "oneOf": [string, { "type": "integer", "minimum": 3 }] }),
        &["breaking    p/oneOf/1: `minimum` 3 is new"],
        &["compatible  p/oneOf/1: `minimum` 3 is new"],
    );
}

#[test]
fn references_are_followed() {
    let schema = |kind: &str| {
        json!({
            "type": "object",
            "properties": {
                "plain": { "$ref": "#/$defs/Node" },
                "maybe": { "anyOf": [{ "$ref": "#/$defs/Other" }, { "type": "null" }] },
            },
            "$defs": {
                "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" }, "v": { "type": kind } } },
                "Other": { "type": kind },
            },
        })
    };
    assert_eq!(
        lines(&diff(&tool(&schema("string"), None), &tool(&schema("integer"), None))),
        [
            "breaking    t /inputSchema/properties/plain/properties/v: string became integer",
            "breaking    t /inputSchema/properties/maybe: string became integer",
        ]
    );
    check(
        json!({ "$ref": "https://example.com/a" }),
        json!({ "$ref": "https://example.com/b" }),
        &["breaking    p: another `$ref`"],
        &["breaking    p: another `$ref`"],
    );
}

#[test]
fn hostile_schemas_end_and_do_not_speak_to_the_terminal() {
    let mut chain = serde_json::Map::new();
    for index in 0..5_000 {
        let next = json!({ "properties": { "n": { "$ref": format!("#/$defs/{}", index + 1) } } });
        chain.insert(index.to_string(), next);
    }
    let chained = |last: Value| {
        let mut chain = chain.clone();
        chain.insert("5000".to_owned(), last);
        tool(&json!({ "$ref": "#/$defs/0", "$defs": chain }), None)
    };
    assert!(!diff(&chained(json!({ "type": "string" })), &chained(json!({ "type": "null" }))).is_empty());

    let circle = |first: &str| {
        tool(&json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": first }, "b": { "$ref": "#/$defs/a" } } }), None)
    };
    assert_eq!(
        lines(&diff(&circle("#/$defs/b"), &circle("#/$defs/a"))),
        ["compatible  t /inputSchema: written differently"]
    );

    let hostile = snapshot(json!([{ "name": "a\u{1b}[2J\u{202e}", "inputSchema": {} }]));
    assert_eq!(lines(&diff(&snapshot(json!([])), &hostile)), [r"compatible  a\u{1b}[2J\u{202e}: new tool"]);
}

#[test]
fn the_server_and_entries_that_are_no_tools() {
    let old = Snapshot {
        instructions: Some("a".to_owned()),
        ..snapshot(json!([1, { "name": "x" }, { "name": "x", "title": "2" }]))
    };
    let new = Snapshot {
        protocol_version: Some("2025-11-25".to_owned()),
        ..snapshot(json!([2, { "name": "x" }, { "name": "x" }]))
    };
    let changes = drift::diff(&old, &new);
    assert_eq!(
        lines(&changes),
        [
            "compatible  server /protocolVersion: new",
            "compatible  server /instructions: gone",
            "breaking    server: a tool that is no object changed",
            "compatible  x /title: gone",
        ]
    );
    assert_eq!(changes[1].kind, ChangeKind::Wording);
}

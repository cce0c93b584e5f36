//! Overrides are read as the generator reads schemas: what in them is none is refused, what they mend is typed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use mcp_bindgen_codegen::{Bindings, Options, apply_overrides, format};
use mcp_bindgen_model::{FileError, Overrides, Snapshot};
use serde_json::{Value, json};

fn mended(tool: Value, said: Value) -> Result<Snapshot, Vec<FileError>> {
    let snapshot = Snapshot::parse(&json!({ "tools": [tool] }).to_string()).unwrap();
    let overrides = Overrides::parse(&json!({ "tools": { "t": said } }).to_string()).unwrap();
    apply_overrides(&snapshot, &overrides)
}

/// The messages of the faults, with what each is about.
fn faults(tool: Value, said: Value) -> Vec<String> {
    let faults = mended(tool, said).expect_err("it does not fit");
    faults.into_iter().map(|fault| format!("{} ({})", fault.message, fault.inside.unwrap_or_default())).collect()
}

fn code(snapshot: &Snapshot) -> String {
    format(Bindings::generate(snapshot, &Options::new("s")).0).unwrap()
}

fn input(schema: Value) -> Value {
    json!({ "name": "t", "inputSchema": schema })
}

#[test]
fn undeclared_property_is_added_by_all_of() {
    let tool =
        input(json!({ "type": "object", "properties": { "query": { "type": "string" } }, "required": ["query"] }));
    let said =
        json!({ "patch": { "inputSchema": { "allOf": [{ "properties": { "limit": { "type": "integer" } } }] } } });
    let code = code(&mended(tool, said).unwrap());
    assert!(code.contains("pub query: String") && code.contains("pub limit: Option<i64>"), "{code}");
}

#[test]
fn invalid_server_schema_is_patched_or_remains_a_warning() {
    let tool = input(json!({ "type": "object", "properties": { "a": { "type": "int" }, "b": { "type": "lst" } } }));
    let patch = |schema: Value| json!({ "patch": { "inputSchema": { "properties": schema } } });
    let snapshot = mended(tool.clone(), patch(json!({ "a": { "type": "integer" } }))).unwrap();
    let (_, said) = Bindings::generate(&snapshot, &Options::new("s"));
    let pointers: Vec<&str> = said.iter().map(|said| said.pointer.as_str()).collect();
    assert_eq!(pointers, ["/inputSchema/properties/b/type"], "the server's other fault is none of the override");
    assert!(code(&snapshot).contains("pub a: Option<i64>"));

    let worse = faults(tool, patch(json!({ "a": { "type": "integr" } })));
    assert_eq!(worse, ["the type is not a JSON type: `integr` (tool t, /inputSchema/properties/a/type)"]);
}

#[test]
fn dangling_reference_caused_by_an_override_is_an_error() {
    let tool = input(json!({
        "type": "object",
        "properties": { "a": { "$ref": "#/$defs/A" } },
        "$defs": { "A": { "type": "string" }, "B": {} }
    }));
    let said = json!({ "patch": { "inputSchema": { "$defs": { "A": null } } } });
    assert_eq!(faults(tool, said), ["the $ref does not resolve: #/$defs/A (tool t, /inputSchema/properties/a/$ref)"]);
}

#[test]
fn every_invalid_schema_in_an_override_is_reported() {
    let said = json!({ "outputSchema": {
        "properties": { "a": { "type": "int" }, "b": 5, "c": { "enum": "x" } },
        "required": "a",
        "anyOf": {}
    } });
    let found = faults(input(json!({ "type": "object" })), said);
    for place in ["properties/a/type", "properties/b", "properties/c/enum", "required", "anyOf"] {
        let place = format!("(tool t, /outputSchema/{place})");
        assert!(found.iter().any(|fault| fault.ends_with(&place)), "{place}: {found:#?}");
    }
}

#[test]
fn tool_without_a_schema_can_be_patched() {
    let said = json!({ "patch": { "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } } } } });
    for tool in [json!({ "name": "t" }), json!({ "name": "t", "inputSchema": [] })] {
        let code = code(&mended(tool, said.clone()).unwrap());
        assert!(code.contains("pub a: Option<String>"), "{code}");
        assert!(
            code.contains(r##".with_declared_input_schema(r#"{"type":"object"}"#)"##),
            "as bindings without overrides"
        );
    }
}

#[test]
fn removed_output_schema_yields_the_untyped_result() {
    let mut tool = input(json!({ "type": "object" }));
    tool["outputSchema"] = json!({ "type": "string" });
    let code = code(&mended(tool, json!({ "patch": { "outputSchema": null } })).unwrap());
    assert!(code.contains("Result<ToolResult, CallError>"), "{code}");
    assert!(code.contains(r##"declared_output_schema(Option::Some(r#"{"type":"string"}"#))"##), "{code}");
}

#[test]
fn tool_order_does_not_affect_overrides() {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let overrides = r#"{ "tools": { "b": { "outputSchema": { "type": "string" }, "learnedFrom": 2 } } }"#;
    let overrides = Overrides::parse(overrides).unwrap();
    let of = |names: [&str; 2]| {
        let snapshot = Snapshot { tools: names.map(tool).to_vec(), ..Snapshot::default() };
        let mended = apply_overrides(&snapshot, &overrides).unwrap();
        let (mut tools, _) = Bindings::describe(&mended, &Options::new("s"));
        tools.sort_by(|left, right| left.tool.cmp(&right.tool));
        tools.into_iter().map(|tool| (tool.tool, tool.returns, tool.overridden)).collect::<Vec<_>>()
    };
    assert_eq!(of(["a", "b"]), of(["b", "a"]));
    assert!(of(["a", "b"])[1].2.as_ref().is_some_and(|said| said.learned_from == Some(2)));
}

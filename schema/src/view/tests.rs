use mcp_bindgen_model::{Config, Snapshot};
use serde_json::{Value, json};

use super::apply_views;

/// Returns the tool `t` with this schema through the view, or the errors of the view.
fn seen(schema: &Value, view: &str) -> Result<Value, Vec<String>> {
    let list = json!({ "tools": [{ "name": "t", "description": "The server's", "inputSchema": schema }] });
    let snapshot = Snapshot::parse(&list.to_string()).unwrap();
    let toml = format!("[servers.s]\ncommand = \"x\"\n[servers.s.view.t]\n{view}\n");
    let config = Config::parse_toml(&toml, "mcp.toml".as_ref()).map_err(|error| vec![error.to_string()])?;
    let seen = apply_views(&snapshot, config.server("s").unwrap());
    let faults = |faults: Vec<_>| faults.iter().map(ToString::to_string).collect::<Vec<String>>();
    seen.map(|seen| seen.tools[0].clone()).map_err(faults)
}

fn schema(schema: &Value, view: &str) -> Value {
    seen(schema, view).unwrap()["inputSchema"].clone()
}

fn fault(schema: &Value, view: &str) -> String {
    seen(schema, view).unwrap_err().join("\n")
}

fn issue() -> Value {
    json!({ "type": "object", "required": ["owner", "title"], "properties": {
        "owner": { "type": "string", "maxLength": 10 },
        "title": { "type": "string" },
        "state": { "enum": ["open", "closed"] },
        "count": { "type": "integer", "minimum": 1 },
        "labels": { "type": "array", "items": { "type": "string" } },
    }})
}

#[test]
fn fixed_and_hidden_arguments_are_removed_and_defaults_optional() {
    let seen =
        schema(&issue(), "fixed = { owner = \"rust-lang\" }\ndefault = { title = \"It broke\" }\nhide = [\"labels\"]");
    assert_eq!(seen.get("required"), None);
    let properties = seen["properties"].as_object().unwrap();
    assert_eq!(properties.keys().collect::<Vec<_>>(), ["title", "state", "count"]);
    assert_eq!(properties["title"], json!({ "type": "string", "default": "It broke" }));
}

#[test]
fn title_description_and_hints_are_replaced() {
    let seen = seen(&issue(), "title = \"Ours\"\ndescription = \"Opens an issue.\"\nhints.destructive = true").unwrap();
    assert_eq!(seen["title"], "Ours");
    assert_eq!(seen["description"], "Opens an issue.");
    assert_eq!(seen["annotations"], json!({ "destructiveHint": true }));
    assert_eq!(seen["name"], "t");
}

#[test]
fn values_in_a_view_must_match_the_schema() {
    for (view, why) in [
        ("fixed.owner = 1", "invalid value of argument `owner` of tool `t`: expected a string, found a number"),
        ("fixed.owner = \"far-too-long\"", "expected at most 10 characters, found 12"),
        ("fixed.state = \"gone\"", "expected one of `open`, `closed`"),
        ("fixed.count = 0", "expected at least 1, found 0"),
        ("fixed.count = 1.5", "expected a whole number, found 1.5"),
        ("fixed.labels = [\"a\", 2]", "in `1`: expected a string, found a number"),
        ("default.state = \"gone\"", "expected one of `open`, `closed`"),
    ] {
        let said = fault(&issue(), view);
        assert!(said.contains(why) && said.contains("mcp.toml:4:"), "{view}: {said}");
    }
    assert!(seen(&issue(), "fixed = { count = 2.0, state = \"open\" }").is_ok());
}

#[test]
fn pattern_of_many_values_is_compiled_once() {
    let items = json!({ "type": "string", "pattern": "^(?:a|b{4000})$" });
    let listed = json!({ "type": "object", "properties": { "labels": { "type": "array", "items": items } } });
    let view = |last: &str| format!("fixed.labels = [{}\"{last}\"]", "\"a\", ".repeat(30_000));
    let started = std::time::Instant::now();
    assert!(seen(&listed, &view("a")).is_ok());
    let said = fault(&listed, &view("c"));
    assert!(said.contains("in `30000`: expected a string that matches"), "{said}");
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn unknown_argument_is_an_error_with_the_nearest_name() {
    let said = fault(&issue(), "fixed = { onwer = \"a\" }\nhide = [\"labels\", \"lables\"]");
    assert!(said.contains("tool `t` has no argument `onwer`") && said.contains("did you mean `owner`?"), "{said}");
    assert!(said.contains("mcp.toml:5:19") && said.contains("did you mean `labels`?"), "{said}");
}

#[test]
fn required_argument_can_be_hidden_only_with_a_value() {
    let said = fault(&issue(), "hide = [\"title\"]");
    assert!(
        said.contains("argument `title` of tool `t` cannot be hidden: it is required")
            && said.contains("set a value for it"),
        "{said}"
    );
    let seen = schema(&issue(), "hide = [\"title\"]\ndefault.title = \"It broke\"");
    assert_eq!(seen["required"], json!(["owner"]));
    assert_eq!(seen["properties"].get("title"), None);
}

#[test]
fn branches_that_exclude_a_fixed_value_are_removed() {
    let tagged = json!({ "type": "object", "properties": { "kind": { "type": "string" } }, "oneOf": [
        { "properties": { "kind": { "const": "file" }, "path": { "type": "string" } }, "required": ["kind", "path"] },
        { "properties": { "kind": { "const": "url" }, "url": { "type": "string" } }, "required": ["kind", "url"] },
    ]});
    let file = json!({ "type": "object", "properties": {}, "oneOf": [
        { "properties": { "path": { "type": "string" } }, "required": ["path"] },
    ]});
    assert_eq!(schema(&tagged, "fixed.kind = \"file\""), file);
    assert!(fault(&tagged, "fixed.kind = \"other\"").contains("expected one of `file`"));
    assert!(fault(&tagged, "hide = [\"kind\"]").contains("it is required"));
}

#[test]
fn dependencies_on_a_fixed_argument_are_resolved() {
    let depends = json!({ "type": "object", "minProperties": 2,
        "properties": { "from": { "type": "string" }, "to": { "type": "string" }, "by": {} },
        "dependentRequired": { "from": ["to"], "by": ["from"] },
    });
    assert_eq!(
        schema(&depends, "fixed.from = \"a\""),
        json!({ "type": "object", "minProperties": 1,
            "properties": { "to": { "type": "string" }, "by": {} }, "required": ["to"], "dependentRequired": { "by": [] },
        })
    );
    assert_eq!(
        schema(&depends, "hide = [\"from\"]"),
        json!({ "type": "object", "minProperties": 2,
            "properties": { "to": { "type": "string" }, "by": {} }, "dependentSchemas": { "by": false },
        })
    );
}

#[test]
fn references_to_a_removed_argument_still_resolve() {
    let referring = json!({ "type": "object", "properties": {
        "from": { "type": "object", "properties": { "id": { "type": "integer" } } },
        "to": { "$ref": "#/properties/from" },
        "id": { "$ref": "#/properties/from/properties/id" },
    }});
    let seen = schema(&referring, "fixed.from = { id = 1 }");
    assert_eq!(seen["properties"]["to"], json!({ "$ref": "#/$defs/from" }));
    assert_eq!(seen["properties"]["id"], json!({ "$ref": "#/$defs/from/properties/id" }));
    assert_eq!(seen["$defs"]["from"]["properties"]["id"], json!({ "type": "integer" }));
    let definition = json!({ "$ref": "#/$defs/Args", "$defs": { "Args": issue() } });
    let seen = schema(&definition, "fixed.owner = \"a\"");
    assert_eq!(seen["allOf"][0]["required"], json!(["title"]));
    assert!(fault(&definition, "fixed.owner = 1").contains("expected a string"));
}

#[test]
fn arguments_of_mutually_recursive_schemas_are_listed_quickly() {
    let again = |name: &str| vec![json!({ "$ref": format!("#/$defs/{name}") }); 20];
    let whole = json!({ "$ref": "#/$defs/A", "$defs": {
        "A": { "anyOf": again("B"), "properties": { "a": {} } },
        "B": { "anyOf": again("A"), "properties": { "b": {} } },
    }});
    assert_eq!(super::declared_arguments(whole.as_object().unwrap()), ["a", "b"]);
}

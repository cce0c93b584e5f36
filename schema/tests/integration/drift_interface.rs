//! Tests changes that affect only regenerated code: renamed items, changed types, reordered arguments.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::drift::{Witness, diff};
use serde_json::{Value, json};

fn list(snapshot: &Value) -> Snapshot {
    Snapshot::parse(&snapshot.to_string()).unwrap()
}

/// Checks the differences in both directions.
#[track_caller]
fn check(old: &Value, new: &Value, there: &[&str], back: &[&str]) {
    let lines = |old, new| diff(&list(old), &list(new)).iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut found = lines(old, new);
    found.sort();
    assert_eq!(found, there, "there");
    let mut found = lines(new, old);
    found.sort();
    assert_eq!(found, back, "back");
}

fn tools(names: &[&str]) -> Value {
    let tools: Vec<Value> = names.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
    json!({ "tools": tools })
}

fn tool(key: &str, schema: &Value) -> Value {
    let mut tool = json!({ "name": "t", "inputSchema": {} });
    tool[key] = schema.clone();
    json!({ "tools": [tool] })
}

fn properties(properties: &Value) -> Value {
    json!({ "type": "object", "properties": properties })
}

#[test]
fn tool_that_takes_the_name_of_another_is_reported() {
    check(
        &tools(&["fooBar"]),
        &tools(&["fooBar", "foo_bar"]),
        &[
            "compatible  foo_bar: new tool",
            "silent      fooBar /name: called `foo_bar_camel` in Rust now, and not `foo_bar`: tool `foo_bar` takes that name",
        ],
        &[
            "breaking    foo_bar: the tool was removed",
            "silent      foo_bar /name: gone, and was called `foo_bar` in Rust: tool `fooBar` takes that name",
            "source      fooBar /name: called `foo_bar` in Rust now, and not `foo_bar_camel`",
        ],
    );
    // Methods differ, and variants and types do not.
    check(
        &tools(&["a1"]),
        &tools(&["a1", "a_1"]),
        &["compatible  a_1: new tool", "source      a1 /name: called `A1Xbdd95620` in Rust now, and not `A1`"],
        &[
            "breaking    a_1: the tool was removed",
            "source      a1 /name: called `A1` in Rust now, and not `A1Xbdd95620`",
        ],
    );
    check(&tools(&["a"]), &tools(&["a", "b"]), &["compatible  b: new tool"], &["breaking    b: the tool was removed"]);
}

#[test]
fn property_that_takes_the_name_of_another_is_reported() {
    let text = json!({ "type": "string" });
    let of = |schema: &Value| tool("inputSchema", schema);
    let (old, new) = (properties(&json!({ "fooBar": text })), properties(&json!({ "fooBar": text, "foo_bar": text })));
    let moved = "silent      t /inputSchema/properties/fooBar: called `foo_bar_camel` in Rust now, and not `foo_bar`: \
                 property `foo_bar` takes that name";
    let moved_back =
        "source      t /inputSchema/properties/fooBar: called `foo_bar` in Rust now, and not `foo_bar_camel`";
    let there = ["compatible  t /inputSchema/properties/foo_bar: new property", moved];
    let gone = "silent      t /inputSchema/properties/foo_bar: gone, and was called `foo_bar` in Rust: property `fooBar` \
                takes that name";
    let back = [gone, moved_back];
    check(&of(&old), &of(&new), &there, &back);
    // The field for all other keys makes way.
    let open =
        |of: &Value| json!({ "type": "object", "properties": of, "additionalProperties": { "type": "integer" } });
    let (old, new) = (open(&json!({ "a": text })), open(&json!({ "a": text, "extra": { "type": "integer" } })));
    let said = "source      t /inputSchema/additionalProperties: other keys are in the field `extra_properties` now, and not \
                in `extra`";
    let found: Vec<String> = diff(&list(&of(&old)), &list(&of(&new))).iter().map(ToString::to_string).collect();
    assert!(found.iter().any(|line| line == said), "{found:?}");
}

#[test]
fn value_that_takes_the_variant_of_another_is_reported() {
    let of = |values: &Value| tool("outputSchema", &properties(&json!({ "p": { "enum": values } })));
    let moved = "source      t /outputSchema/properties/p: `a-b` is called `ABDash` in Rust now, and not `AB`";
    let moved_back = "source      t /outputSchema/properties/p: `a-b` is called `AB` in Rust now, and not `ABDash`";
    let listed =
        "source      t /outputSchema/properties/p: \"aB\" is listed now: a `match` needs the variant `ABCamel`";
    let gone = "source      t /outputSchema/properties/p: \"aB\" is not listed any more";
    check(&of(&json!(["a-b", "c"])), &of(&json!(["a-b", "c", "aB"])), &[listed, moved], &[gone, moved_back]);
}

#[test]
fn constant_that_becomes_an_enum_is_an_argument() {
    let of = |values: &Value| {
        tool("inputSchema", &json!({ "type": "object", "properties": { "p": { "enum": values } }, "required": ["p"] }))
    };
    check(
        &of(&json!(["a"])),
        &of(&json!(["a", "b"])),
        &[
            "source      t /inputSchema/properties/p: \"b\" is listed now: a `match` needs the variant `B`",
            "source      t /inputSchema/properties/p: a constant and a choice are different types: `Default` is gone",
        ],
        &["breaking    t /inputSchema/properties/p: \"b\" is no longer valid"],
    );
}

#[test]
fn property_that_becomes_recursive_is_boxed() {
    let of = |more: &Value| {
        let mut b = properties(&json!({ "n": { "type": "integer" } }));
        b["properties"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let a = properties(&json!({ "b": { "$ref": "#/$defs/B" } }));
        let root = json!({ "$ref": "#/$defs/A" });
        let schema = json!({ "type": "object", "properties": { "a": root }, "$defs": { "A": a, "B": b } });
        tool("inputSchema", &schema)
    };
    check(
        &of(&json!({})),
        &of(&json!({ "a": { "$ref": "#/$defs/A" } })),
        &[
            "compatible  t /inputSchema/properties/a/properties/b/properties/a: new property",
            "source      t /inputSchema/properties/a/properties/b: its field holds a `Box` now",
        ],
        &[
            // The removed property was always an object; an undeclared key can have any value.
            "compatible  t /inputSchema/properties/a/properties/b/properties/a/properties/b/properties/n: was an integer, now untyped",
            "compatible  t /inputSchema/properties/a/properties/b/properties/a/properties/b: was an object, now untyped",
            "source      t /inputSchema/properties/a/properties/b/properties/a: the property was removed",
            "source      t /inputSchema/properties/a/properties/b: its field holds no `Box` any more",
        ],
    );
}

#[test]
fn result_wrapper_change_is_a_source_change() {
    let result = |more: (&str, Value)| {
        let mut schema = properties(&json!({ "result": { "type": "string" } }));
        schema["required"] = json!(["result"]);
        schema[more.0] = more.1;
        tool("outputSchema", &schema)
    };
    let plain = result(("title", json!("Found")));
    let gone = "source      t /outputSchema: no wrapper any more: handlers return the whole result instead of `result`";
    let new = "source      t /outputSchema: a wrapper now: handlers return `result` instead of the whole result";
    let titled = "wording     t /outputSchema: another title";
    check(&result(("title", json!("tOutput"))), &plain, &[gone, titled], &[new, titled]);
    let flagged = result(("x-fastmcp-wrap-result", json!(true)));
    check(&flagged, &result(("x-other", json!(true))), &[gone], &[new]);
    let other = "compatible  t /outputSchema: written differently";
    check(&flagged, &result(("title", json!("tOutput"))), &[other, titled], &[other, titled]);
}

#[test]
fn tool_that_requires_a_task_is_a_breaking_change() {
    let of = |support: &str| json!({ "tools": [{ "name": "t", "inputSchema": {}, "execution": { "taskSupport": support } }] });
    let said = "breaking    t /execution/taskSupport: calls have to be tasks now: bindings make none";
    let changed = "compatible  t /execution: changed";
    check(&of("optional"), &of("required"), &[said], &[changed]);
    check(&tools(&["t"]), &of("required"), &[said], &["compatible  t /execution: gone"]);
    check(&of("forbidden"), &of("optional"), &[changed], &[changed]);
    let changes = diff(&list(&of("optional")), &list(&of("required")));
    assert_eq!(changes[0].witness, Some(Witness::Sent(json!({}))));
}

#[test]
fn changed_prompt_and_resource_signatures_are_reported() {
    let prompt = |arguments: Value| json!({ "tools": [], "prompts": [{ "name": "p", "arguments": arguments }] });
    let required = |names: &[&str]| -> Value {
        names.iter().map(|name| json!({ "name": name, "required": true })).collect::<Vec<_>>().into()
    };
    let order = "silent      server /prompts: prompt `p` has a `new` that takes its arguments in another order, and calls still compile";
    check(&prompt(required(&["from", "to"])), &prompt(required(&["to", "from"])), &[order], &[order]);
    let optional = |names: &[&str]| -> Value { names.iter().map(|name| json!({ "name": name })).collect() };
    let form = "compatible  server /prompts: prompt `p` has its arguments in another form";
    check(&prompt(optional(&["from", "to"])), &prompt(optional(&["to", "from"])), &[form], &[form]);
    check(
        &prompt(optional(&["aB"])),
        &prompt(optional(&["aB", "a_b"])),
        &[
            "compatible  server /prompts: prompt `p` takes `a_b` now",
            "silent      server /prompts: prompt `p` has `aB`, which is called `a_b_camel` in Rust now, and not `a_b`: \
             argument `a_b` takes that name",
        ],
        &[
            "breaking    server /prompts: prompt `p` no longer takes `a_b`",
            "silent      server /prompts: prompt `p` has `a_b`, which is gone, and was called `a_b` in Rust: argument `aB` takes \
             that name",
            "source      server /prompts: prompt `p` has `aB`, which is called `a_b` in Rust now, and not `a_b_camel`",
        ],
    );
    check(
        &prompt(optional(&[])),
        &prompt(json!("none")),
        &["breaking    server /prompts: prompt `p` has arguments that are not an array, and cannot be bound"],
        &[form],
    );
    // Tools keep their names, and prompts make way.
    let with = |tools: &[&str]| {
        let tools: Vec<Value> = tools.iter().map(|name| json!({ "name": name, "inputSchema": {} })).collect();
        json!({ "tools": tools, "prompts": [{ "name": "p" }], "resourceTemplates": [{ "name": "r", "uriTemplate": "x://{a}" }] })
    };
    check(
        &with(&[]),
        &with(&["prompt_p", "resource_r"]),
        &[
            "compatible  prompt_p: new tool",
            "compatible  resource_r: new tool",
            "source      server /prompts: prompt `p` is called `prompt_p_prompt` in Rust now, and not `prompt_p`",
            "source      server /resourceTemplates: resource template `r` is called `resource_r_resource` in Rust now, and not `resource_r`",
        ],
        &[
            "breaking    prompt_p: the tool was removed",
            "breaking    resource_r: the tool was removed",
            "source      server /prompts: prompt `p` is called `prompt_p` in Rust now, and not `prompt_p_prompt`",
            "source      server /resourceTemplates: resource template `r` is called `resource_r` in Rust now, and not `resource_r_resource`",
        ],
    );
}

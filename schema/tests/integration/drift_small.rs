//! Pairs of small schemas, each made by hand for one question, with what has to be told and what must not.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::Instant;

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::drift::{Change, Class, diff, told};
use serde_json::{Map, Value, json};

fn tool(input: &Value, output: Option<&Value>) -> Snapshot {
    let mut tool = json!({ "name": "t", "inputSchema": input });
    if let Some(output) = output {
        tool["outputSchema"] = output.clone();
    }
    Snapshot { tools: vec![tool], ..Snapshot::default() }
}

pub(crate) fn of_input(old: &Value, new: &Value) -> Vec<Change> {
    diff(&tool(old, None), &tool(new, None))
}

pub(crate) fn of_output(old: &Value, new: &Value) -> Vec<Change> {
    diff(&tool(&json!({}), Some(old)), &tool(&json!({}), Some(new)))
}

pub(crate) fn breaking(changes: &[Change]) -> Vec<String> {
    changes.iter().filter(|change| change.class == Class::Breaking).map(ToString::to_string).collect()
}

#[track_caller]
pub(crate) fn breaks(changes: &[Change], at: &str) {
    let found = breaking(changes);
    assert!(found.iter().any(|line| line.contains(at)), "nothing breaks at {at}: {found:#?}");
    let is_proved = |change: &Change| change.class != Class::Breaking || change.witness.is_some();
    assert!(changes.iter().all(is_proved), "a break without a proof: {found:#?}");
}

#[track_caller]
pub(crate) fn holds(changes: &[Change]) {
    let none: [String; 0] = [];
    assert_eq!(breaking(changes), none);
}

/// An object with one property.
pub(crate) fn with(key: &str, schema: &Value) -> Value {
    json!({ "type": "object", "properties": { key: schema } })
}

/// Two schemas of a property, of which nothing but an added property beside it changes what is sent.
fn beside(schema: &Value) -> [Value; 2] {
    [
        json!({ "type": "object", "properties": { "p": schema } }),
        json!({ "type": "object", "properties": { "p": schema, "new": { "type": "string" } } }),
    ]
}

#[test]
fn recursion_assumptions_are_checked_again_outside_the_cycle() {
    let old = json!({
        "type": "object",
        "properties": {
            "p": { "type": "object", "properties": { "k": { "$ref": "#/$defs/A" } } },
            "q": { "$ref": "#/$defs/B2" },
        },
        "$defs": {
            "A": { "type": "object", "properties": { "b": { "$ref": "#/$defs/B" } } },
            "B": { "type": "object", "properties": { "a": { "$ref": "#/$defs/A" }, "y": { "type": "string" } } },
            "B2": { "type": "object", "properties": { "a": { "$ref": "#/$defs/A" } } },
        },
    });
    let mut new = old.clone();
    new["properties"]["p"] = json!({
        "anyOf": [{ "type": "object", "properties": { "k": { "$ref": "#/$defs/A" } } }, { "type": "object" }],
    });
    new["properties"]["q"] = json!({ "$ref": "#/$defs/B" });
    new["$defs"]["B"]["properties"]["y"] = json!({ "type": "integer" });
    breaks(&of_input(&old, &new), "/properties/q");
    breaks(&of_output(&new, &old), "/properties/q");
}

#[test]
fn unchanged_schemas_have_no_breaking_changes() {
    for unchanged in [
        json!({ "type": "object", "patternProperties": { "^a": { "type": "string" } }, "additionalProperties": false }),
        json!({ "type": "integer", "format": "uint32" }),
        json!({ "type": "object", "properties": { "a": { "type": "string" } }, "unevaluatedProperties": false }),
        json!({ "type": "object", "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "a": { "minProperties": 2 } } }),
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "dependentRequired": { "c": ["d"] } }),
        json!({ "type": ["string", "null"], "default": null }),
    ] {
        let [old, new] = beside(&unchanged);
        holds(&of_input(&old, &new));
        holds(&of_output(&old, &new));
    }
}

#[test]
fn null_is_not_sent_if_it_means_absent() {
    let old = with("p", &json!({ "anyOf": [{ "type": "string" }, { "type": "null" }], "default": null }));
    holds(&of_input(&old, &with("p", &json!({ "type": "string" }))));
    let old = with("p", &json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
    breaks(&of_input(&old, &with("p", &json!({ "type": "string" }))), "/properties/p");
}

#[test]
fn long_tuples_are_compared_completely() {
    let tuple = |last: &str| {
        let mut items = vec![json!({ "type": "string" }); 40];
        items[39] = json!({ "type": last });
        with("t", &json!({ "type": "array", "prefixItems": items, "minItems": 40, "maxItems": 40, "items": false }))
    };
    breaks(&of_output(&tuple("string"), &tuple("integer")), "/prefixItems/39");
}

#[test]
fn lists_with_duplicates_are_compared_as_sets() {
    let listed = |values: Value| with("p", &json!({ "enum": values }));
    breaks(&of_input(&listed(json!([["a"], ["b"]])), &listed(json!([["a"], ["a"]]))), "/properties/p");
    let depending = |needs: Value| {
        json!({ "type": "object", "dependentRequired": { "a": needs },
        "properties": { "a": {}, "b": {}, "c": {} } })
    };
    breaks(&of_input(&depending(json!(["b", "b"])), &depending(json!(["b", "c"]))), "");
}

#[test]
fn numbers_are_compared_exactly() {
    let step = |step: Value| with("p", &json!({ "type": "number", "multipleOf": step }));
    breaks(&of_input(&step(json!(1e-10)), &step(json!(1))), "/properties/p");
    holds(&of_input(&step(json!(0.3)), &step(json!(0.1))));
    let least = |least: Value| with("p", &json!({ "type": "integer", "minimum": least }));
    breaks(
        &of_input(&least(json!(9_007_199_254_740_992_u64)), &least(json!(9_007_199_254_740_993_u64))),
        "/properties/p",
    );
    holds(&of_input(&least(json!(9_007_199_254_740_992_u64)), &least(json!(9_007_199_254_740_992.0))));
}

#[test]
fn pattern_classes_are_ascii_only() {
    let listed = with("p", &json!({ "type": "string", "enum": ["\u{0663}", "3"] }));
    breaks(&of_input(&listed, &with("p", &json!({ "type": "string", "pattern": "^\\d$" }))), "/properties/p");
    breaks(&of_input(&listed, &with("p", &json!({ "type": "string", "pattern": "^\\w$" }))), "/properties/p");
}

#[test]
fn keywords_removed_from_a_dialect_have_no_effect() {
    let schema = |keyword: &str| {
        json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
            "properties": { "a": {}, "b": {} }, keyword: { "a": ["b"] } })
    };
    breaks(&of_input(&schema("dependencies"), &schema("dependentRequired")), "");
    holds(&of_input(&schema("dependentRequired"), &schema("dependencies")));
}

#[test]
fn one_change_is_reported_on_one_line() {
    let untyped = with("p", &json!({ "description": "anything" }));
    let typed = with("p", &json!({ "type": "string" }));
    let lines = |changes: &[Change]| breaking(changes).join("\n");
    let said = lines(&of_input(&untyped, &typed));
    assert_eq!(said, "breaking    t /inputSchema/properties/p: was untyped, now a string");
    let said = lines(&of_output(&typed, &untyped));
    assert_eq!(said, "breaking    t /outputSchema/properties/p: was a string, now untyped");
    let several = with("p", &json!({ "type": ["string", "integer", "boolean"] }));
    let said = lines(&of_input(&several, &typed));
    assert_eq!(said, "breaking    t /inputSchema/properties/p: a boolean or an integer is no longer valid");
    let said = lines(&of_output(&typed, &with("p", &json!({ "type": ["string", "number", "null"] }))));
    assert_eq!(said, "breaking    t /outputSchema/properties/p: may be a number now");
}

#[test]
fn one_change_in_many_tools_is_reported_on_one_line() {
    let tools = |required: Value| {
        let schema = json!({ "type": "object", "properties": { "page": { "type": "integer" } }, "required": required });
        let tools = ["click", "close", "hover"].map(|name| json!({ "name": name, "inputSchema": schema }));
        Snapshot { tools: tools.to_vec(), ..Snapshot::default() }
    };
    let changes = diff(&tools(json!([])), &tools(json!(["page"])));
    assert_eq!(changes.len(), 3);
    let lines = [
        "breaking    3 tools /inputSchema/properties/page: required now: click, close, hover [MCPD0012]",
        "            = may be sent, and is refused now: {}",
    ];
    assert_eq!(told(&changes, 10), lines);
}

#[test]
fn keywords_of_newer_drafts_have_no_effect() {
    let of = |draft: &str, property: Value| json!({ "$schema": format!("http://json-schema.org/{draft}/schema#"), "type": "object", "properties": { "p": property } });
    let tuple = json!({ "type": "array", "prefixItems": [{ "type": "string" }] });
    holds(&of_input(&of("draft-07", json!({ "type": "array" })), &of("draft-07", tuple)));
    holds(&of_input(
        &of("draft-04", json!({ "type": "string" })),
        &of("draft-04", json!({ "type": "string", "const": "a" })),
    ));
    breaks(
        &of_input(
            &of("draft-07", json!({ "type": "string" })),
            &of("draft-07", json!({ "type": "string", "const": "a" })),
        ),
        "/properties/p",
    );
}

/// The processor time that a comparison may take, also in a debug build on a slow machine.
const SECONDS: f64 = 8.0;

/// Returns the processor time of this thread, which other processes do not affect; `None` where the system does not tell it.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split(' ').next()?.parse().ok()?;
    (nanoseconds > 0.0).then_some(nanoseconds / 1e9)
}

#[track_caller]
fn is_quick(name: &str, old: &Value, new: &Value) {
    for (role, compare) in [("input", of_input as fn(&Value, &Value) -> Vec<Change>), ("output", of_output)] {
        let (start, before) = (Instant::now(), processor_seconds());
        let changes = compare(old, new);
        let computed = before.zip(processor_seconds()).map(|(before, after)| after - before);
        let took = computed.unwrap_or_else(|| start.elapsed().as_secs_f64());
        assert!(took < SECONDS, "{name}, {role}: {took:.1} s");
        assert!(!changes.is_empty(), "{name}, {role}");
    }
}

fn flat(properties: usize, retyped: usize) -> Value {
    let kind = |index: usize| if index == retyped { "integer" } else { "string" };
    let properties: Map<_, _> = (0..properties).map(|i| (format!("p{i}"), json!({ "type": kind(i) }))).collect();
    json!({ "type": "object", "properties": properties })
}

fn nested(definitions: usize, next: impl Fn(usize) -> Value, required: bool) -> Value {
    let defs: Map<_, _> = (0..definitions).map(|index| (format!("d{index}"), next(index))).collect();
    let required = if required { json!(["new"]) } else { json!([]) };
    json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/d0" }, "new": { "type": "string" } },
        "required": required, "$defs": defs })
}

#[test]
fn large_flat_schemas_are_compared_quickly() {
    is_quick("4,000 properties", &flat(4_000, usize::MAX), &flat(4_000, 2_000));
    let listed = |last: &str| {
        let mut values: Vec<Value> = (0..16_000).map(|index| json!(format!("value {index}"))).collect();
        values.push(json!(last));
        with("p", &json!({ "enum": values }))
    };
    is_quick("16,000 strings", &listed("old"), &listed("new"));
    let numbers = |last: u64| {
        let mut values: Vec<Value> = (0..16_000).map(|index| json!(index)).collect();
        values.push(json!(last));
        with("p", &json!({ "enum": values }))
    };
    is_quick("16,000 numbers", &numbers(20_000), &numbers(30_000));
}

#[test]
fn doubly_linked_definitions_are_compared_quickly() {
    let forty = |next: &dyn Fn(String) -> Value| {
        let next =
            |index: usize| if index < 39 { next(format!("d{}", index + 1)) } else { json!({ "type": "object" }) };
        [nested(40, next, false), nested(40, next, true)]
    };
    let [old, new] = forty(&|next| {
        let next = json!({ "$ref": format!("#/$defs/{next}") });
        json!({ "allOf": [next, next] })
    });
    is_quick("allOf twice", &old, &new);
    let [old, new] = forty(&|next| {
        let next = json!({ "$ref": format!("#/$defs/{next}") });
        json!({ "anyOf": [next, next] })
    });
    is_quick("anyOf twice", &old, &new);
    let next = |index: usize| {
        let to = |next: usize| json!({ "$ref": format!("#d{next}") });
        let branches = if index < 39 { json!([to(index + 1), to(index + 1)]) } else { json!([{ "type": "object" }]) };
        json!({ "$anchor": format!("d{index}"), "anyOf": branches })
    };
    is_quick("anyOf by anchors", &nested(40, next, false), &nested(40, next, true));
    let next = |index: usize| {
        let others = (0..17).filter(|other| *other != index);
        let others: Vec<Value> = others.map(|other| json!({ "$ref": format!("#/$defs/d{other}") })).collect();
        json!({ "type": "object", "allOf": others })
    };
    is_quick("seventeen in allOf", &nested(17, next, false), &nested(17, next, true));
}

#[test]
fn split_range_equals_the_whole_range() {
    for (whole, split) in [
        (
            json!({ "type": "integer", "minimum": 0, "maximum": 10 }),
            json!({ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 5 }, { "type": "integer", "minimum": 6, "maximum": 10 }] }),
        ),
        (
            json!({ "type": "number", "maximum": 10 }),
            json!({ "type": "number", "anyOf": [{ "maximum": 5.5 }, { "exclusiveMinimum": 5.5, "maximum": 10 }] }),
        ),
        (
            json!({ "type": "string", "maxLength": 10 }),
            json!({ "type": "string", "oneOf": [{ "maxLength": 5 }, { "minLength": 6, "maxLength": 10 }] }),
        ),
        (
            json!({ "type": "array", "items": {} }),
            json!({ "type": "array", "anyOf": [{ "minItems": 2 }, { "maxItems": 1 }] }),
        ),
    ] {
        holds(&of_input(&with("p", &whole), &with("p", &split)));
        holds(&of_input(&with("p", &split), &with("p", &whole)));
    }
    let whole = with("p", &json!({ "type": "number" }));
    for gap in [
        json!({ "type": "number", "anyOf": [{ "maximum": 5 }, { "minimum": 6 }] }),
        json!({ "type": "number", "anyOf": [{ "exclusiveMaximum": 5.5 }, { "exclusiveMinimum": 5.5 }] }),
        json!({ "type": "number", "oneOf": [{ "maximum": 5.5 }, { "minimum": 5.5 }] }),
    ] {
        breaks(&of_input(&whole, &with("p", &gap)), "/properties/p");
    }
}

#[test]
fn unsatisfiable_schemas_cause_no_breaking_change() {
    let endless = |of: &str| {
        let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/n" } }, "required": ["next"] });
        json!({ "type": "object", "properties": { "p": { "anyOf": [{ "$ref": "#/$defs/n" }, { "type": of }] } },
            "$defs": { "n": node } })
    };
    holds(&of_input(&endless("string"), &with("p", &json!({ "type": "string" }))));
    holds(&of_output(&with("p", &json!({ "type": "string" })), &endless("string")));
    let steps = with("p", &json!({ "type": "number", "multipleOf": 2 }));
    holds(&of_input(&steps, &with("p", &json!({ "type": "integer" }))));
}

#[test]
fn equivalent_dependency_keywords_compare_equal() {
    let ways = [
        json!({ "dependentRequired": { "a": ["b"] } }),
        json!({ "dependentSchemas": { "a": { "required": ["b"] } } }),
        json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] } }),
    ];
    let with = |way: &Value| {
        let mut schema = way.clone();
        schema["type"] = json!("object");
        schema["properties"] = json!({ "a": {}, "b": {} });
        schema
    };
    for (left, right) in ways.iter().zip(ways.iter().cycle().skip(1)) {
        holds(&of_input(&with(left), &with(right)));
        breaks(&of_input(&with(&json!({})), &with(left)), "");
    }
}

#[test]
fn witness_violates_every_alternative() {
    let object = |key: &str, kind: &str| json!({ "type": "object", "properties": { key: { "type": kind } } });
    let old = with("p", &json!({ "type": "object", "properties": { "a": {}, "b": {} } }));
    let new = with("p", &json!({ "anyOf": [object("a", "string"), object("b", "string")] }));
    breaks(&of_input(&old, &new), "/properties/p");
    let counted = |most: u64| with("p", &json!({ "type": "object", "maxProperties": most }));
    breaks(&of_input(&counted(9), &counted(3)), "/properties/p");
    let matching =
        |least: u64| with("p", &json!({ "type": "array", "contains": { "type": "string" }, "minContains": least }));
    breaks(&of_input(&matching(1), &matching(2)), "/properties/p");
    let pattern = |pattern: &str| with("p", &json!({ "type": "string", "pattern": pattern }));
    breaks(&of_input(&pattern("^[a-z]+$"), &pattern("^[a-m]+$")), "/properties/p");
}

#[test]
fn witness_has_the_required_formats() {
    let formats = [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "iri",
        "uuid",
    ];
    for format in formats {
        let formatted = json!({ "type": "string", "format": format });
        let schema = |required: &[&str]| json!({ "type": "object", "properties": { "p": formatted, "q": { "type": "string" } }, "required": required });
        let changes = of_input(&schema(&["p"]), &schema(&["p", "q"]));
        breaks(&changes, "/properties/q");
        let text = changes[0].witness.as_ref().unwrap().value()["p"].clone();
        assert!(text.as_str().is_some_and(|text| text.len() > 2), "{format}: {text}");
        // A server that answers it, and another property that the old bindings require and may be absent.
        let changes = of_output(&schema(&["p", "q"]), &schema(&["p"]));
        breaks(&changes, "/properties/q");
        assert_eq!(changes[0].witness.as_ref().unwrap().value()["p"], text, "{format}");
    }
    // Texts of another length, too.
    for (format, least, expected) in [
        ("uri", 24, "https://example.com/aaa"),
        ("email", 16, "aa@example.com"),
        ("date-time", 23, "2026-01-02T03:04:05.0Z"),
    ] {
        let of = |more: Option<u8>| {
            let mut text = json!({ "type": "string", "format": format });
            if let Some(least) = more {
                text["minLength"] = json!(least);
            }
            with("p", &text)
        };
        let changes = of_input(&of(None), &of(Some(least)));
        breaks(&changes, "/properties/p: `minLength`");
        let text = changes[0].witness.as_ref().unwrap().value()["p"].clone();
        assert_eq!(text.as_str().unwrap().len(), expected.len().max(usize::from(least) - 1), "{text}");
    }
}

#[test]
fn closed_branch_refuses_keys_of_other_branches() {
    // Generated types of the branch `b` keep `x`, which the branch `a` declares.
    let of = |more: Value| {
        let branch = |kind: &str, key: &str| json!({ "type": "object", "properties": { "kind": { "const": kind }, key: { "type": "integer" } }, "required": ["kind"] });
        let mut other = branch("b", "y");
        other.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with("p", &json!({ "oneOf": [branch("a", "x"), other] }))
    };
    breaks(&of_input(&of(json!({})), &of(json!({ "additionalProperties": false }))), "/properties/p");
    breaks(&of_input(&of(json!({})), &of(json!({ "additionalProperties": { "type": "string" } }))), "/properties/p");
    holds(&of_input(&of(json!({ "additionalProperties": false })), &of(json!({}))));
}

#[test]
fn same_format_in_another_dialect_is_unchanged() {
    let of = |dialect: &str, format: &str| {
        let mut schema = with("p", &json!({ "type": "string", "format": format }));
        schema["$schema"] = json!(dialect);
        schema
    };
    let (new, old) = ("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#");
    holds(&of_input(&of(new, "uri"), &of(old, "uri")));
    breaks(&of_input(&of(new, "email"), &of(old, "uri")), "/properties/p");
}

#[test]
fn names_beyond_the_limits_of_the_types_schema_are_compared_or_break() {
    // Its pointer fits as the server wrote it, but not below the definitions of the types.
    let key = "k".repeat(4_080);
    let of = |kind: &str| json!({ "type": "object", "properties": { &key: { "type": kind } }, "required": [&key] });
    assert!(!breaking(&of_output(&of("string"), &of("integer"))).is_empty());
}

#[test]
fn added_property_of_a_large_schema_is_compatible() {
    holds(&of_input(&flat(4_000, usize::MAX), &flat(4_001, usize::MAX)));
    holds(&of_output(&flat(4_000, usize::MAX), &flat(4_001, usize::MAX)));
}

#[test]
fn added_property_in_one_of_many_exclusive_branches_is_compatible() {
    let of = |added: bool| {
        let branch = |index: usize| {
            let mut properties = json!({ "tag": { "const": format!("t{index}") }, "a": {}, "b": {} });
            if added && index == 60 {
                properties["new"] = json!({ "type": "string" });
            }
            let branch = json!({ "type": "object", "properties": properties, "required": ["a", "b", "tag"] });
            (format!("d{index}"), branch)
        };
        let choices: Vec<Value> = (0..120).map(|index| json!({ "$ref": format!("#/$defs/d{index}") })).collect();
        json!({
            "type": "object", "properties": { "p": { "oneOf": choices } },
            "$defs": (0..120).map(branch).collect::<Map<_, _>>(),
        })
    };
    holds(&of_output(&of(false), &of(true)));
}

#[test]
fn integers_beyond_the_old_type_are_proven_inside_alternatives() {
    let of = |most: u64| {
        let count = json!({ "oneOf": [{ "anyOf": [{ "type": "integer", "minimum": 0, "maximum": most }, { "type": "null" }] }] });
        let details =
            json!({ "type": "object", "properties": { "n": { "type": "string" }, "count": count }, "required": ["n"] });
        let first = json!({ "type": "object", "properties": { "details": details }, "required": ["details"] });
        let second = json!({
            "type": "object", "properties": { "name": { "type": "string" }, "all": { "type": "array", "items": details } },
            "required": ["name"],
        });
        json!({ "type": "object", "properties": { "result": { "anyOf": [first, second] } }, "required": ["result"] })
    };
    breaks(&of_output(&of(i64::MAX.unsigned_abs()), &of(u64::MAX)), "/outputSchema/properties/result");
}

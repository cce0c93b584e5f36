//! Which differences are found, where, what they mean, and that each breaking one is proved.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::drift::{Change, ChangeKind, Class, Witness, diff};
use serde_json::{Value, json};

fn snapshot(tools: Value) -> Snapshot {
    Snapshot { tools: tools.as_array().unwrap().clone(), ..Snapshot::default() }
}

fn input(schema: &Value) -> Snapshot {
    snapshot(json!([{ "name": "t", "inputSchema": schema }]))
}

fn output(schema: Option<&Value>) -> Snapshot {
    let mut tool = json!({ "name": "t", "inputSchema": {} });
    if let Some(schema) = schema {
        tool["outputSchema"] = schema.clone();
    }
    snapshot(json!([tool]))
}

fn lines(changes: &[Change]) -> Vec<String> {
    changes.iter().map(ToString::to_string).collect()
}

/// The changes without the tool's name and the key of its schema; every breaking one has to be proved.
#[track_caller]
fn told(changes: &[Change]) -> Vec<String> {
    for change in changes {
        assert_eq!(change.witness.is_some(), change.class == Class::Breaking, "{change}");
    }
    let short = |line: &String| {
        let (class, rest) = line.split_once(' ').unwrap();
        format!("{class} {}", rest.trim().replace("t /inputSchema", "").replace("t /outputSchema", ""))
    };
    lines(changes).iter().map(short).collect()
}

/// Two schemas as the input and as the output of a tool.
#[track_caller]
fn check(old: &Value, new: &Value, as_input: &[&str], as_output: &[&str]) {
    assert_eq!(told(&diff(&input(old), &input(new))), as_input, "as an input");
    assert_eq!(told(&diff(&output(Some(old)), &output(Some(new)))), as_output, "as an output");
}

fn object(property: &Value) -> Value {
    json!({ "type": "object", "properties": { "p": property } })
}

/// Two schemas of a property `p`.
#[track_caller]
fn check_property(old: Value, new: Value, as_input: &[&str], as_output: &[&str]) {
    let at = |lines: &[&str]| lines.iter().map(|line| line.replacen("@", "/properties/p", 1)).collect::<Vec<_>>();
    let (as_input, as_output) = (at(as_input), at(as_output));
    let borrowed = |lines: &[String]| lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    let (old, new) = (object(&old), object(&new));
    assert_eq!(told(&diff(&input(&old), &input(&new))).join("\n"), borrowed(&as_input), "as an input");
    assert_eq!(told(&diff(&output(Some(&old)), &output(Some(&new)))).join("\n"), borrowed(&as_output), "as an output");
}

fn witness(old: &Value, new: &Value) -> Value {
    let changes = diff(&input(old), &input(new));
    changes[0].witness.as_ref().unwrap().value().clone()
}

const REWRITTEN: &[&str] = &["compatible @: written differently"];

#[test]
fn added_and_removed_tools_are_reported() {
    let old = snapshot(json!([{ "name": "b" }, { "name": "a" }]));
    let new = snapshot(json!([{ "name": "c" }, { "name": "b" }]));
    assert_eq!(lines(&diff(&old, &new)), ["breaking    a: the tool was removed", "compatible  c: new tool"]);
    assert!(diff(&old, &snapshot(json!([{ "name": "a" }, { "name": "b" }]))).is_empty(), "the order says nothing");
    let gone =
        json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 3 } }, "required": ["n"] });
    let changes = diff(&input(&gone), &snapshot(json!([])));
    assert_eq!(changes[0].witness, Some(Witness::Sent(json!({ "n": 7 }))));
}

#[test]
fn changed_descriptions_and_hints_are_not_breaking() {
    let old = snapshot(json!([{ "name": "a", "description": "x", "inputSchema": {} }]));
    let new =
        snapshot(json!([{ "name": "a", "description": "y", "inputSchema": {}, "annotations": {}, "title": "T" }]));
    assert_eq!(
        lines(&diff(&old, &new)),
        ["wording     a /description: changed", "compatible  a /annotations: new", "wording     a /title: new"]
    );
    let words = &["wording @: another title, description, default"];
    check_property(
        json!({ "type": "string", "description": "x" }),
        json!({ "type": "string", "title": "y", "default": "1" }),
        words,
        words,
    );
    // A default of `null` decides whether absent and `null` are told apart.
    let nullable = json!({ "type": ["string", "null"] });
    let lines = &["source @: absent and `null` are distinguished differently", "wording @: another default"];
    check_property(nullable, json!({ "type": ["string", "null"], "default": null }), lines, lines);
}

#[test]
fn added_and_removed_properties_are_reported() {
    let schema = |names: &[&str], required: &[&str]| {
        let properties: serde_json::Map<_, _> =
            names.iter().map(|n| ((*n).to_owned(), json!({ "type": "string" }))).collect();
        json!({ "type": "object", "properties": properties, "required": required })
    };
    check(
        &schema(&["gone", "kept", "now", "then"], &["then"]),
        &schema(&["kept", "now", "then", "new", "must/have"], &["now", "must/have"]),
        &[
            "breaking /properties/now: required now",
            "breaking /properties/must~1have: new required property",
            "source /properties/gone: the property was removed",
            "source /properties/then: optional now",
            "compatible /properties/new: new property",
        ],
        &[
            "breaking /properties/gone: the property was removed, and may be anything now",
            "breaking /properties/then: may be absent now",
            "source /properties/now: required now",
            "compatible /properties/new: new property",
            "compatible /properties/must~1have: new property",
        ],
    );
    // In a closed object the key is refused.
    let closed = |names: Value| json!({ "type": "object", "properties": names, "additionalProperties": false });
    check(
        &closed(json!({ "a": {}, "b": {} })),
        &closed(json!({ "a": {} })),
        &["breaking /properties/b: the property is no longer valid"],
        &["source /properties/b: the property was removed"],
    );
    // The order in which `new` takes its arguments.
    let ordered = |names: [&str; 2]| schema(&["a", "b"], &names);
    let lines = &["silent /required: `new` takes its arguments in another order, and calls still compile"];
    check(&ordered(["a", "b"]), &ordered(["b", "a"]), lines, lines);
}

#[test]
fn added_and_removed_output_schemas_are_reported() {
    let any = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    assert_eq!(
        lines(&diff(&output(None), &output(Some(&any)))),
        ["source      t /outputSchema: new: regenerated handlers return it instead of the untyped result"]
    );
    let changes = diff(&output(Some(&any)), &output(None));
    assert_eq!(lines(&changes), ["breaking    t /outputSchema: gone"]);
    assert_eq!(changes[0].witness, Some(Witness::Answered(Value::Null)));
}

#[test]
fn type_changes_are_classified() {
    check_property(
        json!({ "type": "string" }),
        json!({ "type": "integer" }),
        &["breaking @: a string is no longer valid"],
        &["breaking @: may be an integer now"],
    );
    check_property(
        json!({ "type": "integer" }),
        json!({ "type": "number" }),
        &["source @: an integer became a number, without `Eq` and `Hash`"],
        &["breaking @: may be a number with a fraction now"],
    );
    check_property(
        json!({ "type": ["string", "integer"] }),
        json!({ "type": "string" }),
        &["breaking @: an integer is no longer valid"],
        &["source @: one of several alternatives became a string"],
    );
    check_property(
        json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX }),
        json!({ "type": "integer" }),
        &["source @: a non-negative integer became an integer"],
        &["breaking @: may be less now than its type holds"],
    );
}

#[test]
fn every_spelling_of_nullable_is_equivalent() {
    let plain = json!({ "type": "string" });
    let spellings = [
        json!({ "type": ["string", "null"] }),
        json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "type": "null" }, { "type": "string" }] }),
        json!({ "type": "string", "nullable": true }),
    ];
    for nullable in &spellings {
        let loosened = &["source @: `null` is valid now"];
        // Optional properties read `null` as absent.
        check_property(plain.clone(), nullable.clone(), loosened, loosened);
        check_property(
            nullable.clone(),
            plain.clone(),
            &["breaking @: `null` is no longer valid"],
            &["source @: `null` is no longer valid"],
        );
        let required = |schema: &Value| json!({ "type": "object", "properties": { "p": schema }, "required": ["p"] });
        let changes = diff(&output(Some(&required(&plain))), &output(Some(&required(nullable))));
        assert_eq!(told(&changes), ["breaking /properties/p: may be `null` now"]);
        for other in spellings.iter().filter(|other| *other != nullable) {
            check_property(nullable.clone(), other.clone(), REWRITTEN, REWRITTEN);
        }
    }
}

#[test]
fn enum_and_bound_changes_are_classified() {
    check_property(
        json!({ "enum": ["a", "b"] }),
        json!({ "enum": ["b", "c"] }),
        &["breaking @: \"a\" is no longer valid"],
        &["source @: \"a\" is not listed any more", "source @: \"c\" is listed now: a `match` needs the variant `C`"],
    );
    check_property(
        json!({ "const": "a" }),
        json!({ "enum": ["a", "b"] }),
        &[
            "source @: a constant and a choice are different types: `Default` is gone",
            "source @: \"b\" is listed now: a `match` needs the variant `B`",
        ],
        &["breaking @: may be \"b\" now"],
    );
    check_property(
        json!({ "enum": ["a", 1] }),
        json!({ "enum": ["a", 1, 2] }),
        &["source @: 2 is listed now: a `match` needs the variant `N2`"],
        &["breaking @: may be 2 now"],
    );
    check_property(
        json!({ "type": "string" }),
        json!({ "enum": ["a", "b"] }),
        &["breaking @: only listed values are valid now"],
        &["source @: a string became one of several strings"],
    );
    for (old, new, keyword) in [
        (json!({ "type": "integer", "minimum": 1 }), json!({ "type": "integer", "minimum": 2 }), "minimum"),
        (json!({ "type": "number", "maximum": 1.5 }), json!({ "type": "number", "exclusiveMaximum": 1.5 }), "maximum"),
        (json!({ "type": "integer" }), json!({ "type": "integer", "multipleOf": 3 }), "multipleOf"),
        (json!({ "type": "string", "maxLength": 9 }), json!({ "type": "string", "maxLength": 5 }), "maxLength"),
        (json!({ "type": "string" }), json!({ "type": "string", "minLength": 1 }), "minLength"),
        (json!({ "type": "string" }), json!({ "type": "string", "pattern": "^[a-z]{3}$" }), "pattern"),
        (json!({ "type": "array", "maxItems": 3 }), json!({ "type": "array", "maxItems": 2 }), "maxItems"),
        (json!({ "type": "array" }), json!({ "type": "array", "uniqueItems": true }), "uniqueItems"),
        (json!({ "type": "array" }), json!({ "type": "array", "contains": { "const": 1 } }), "contains"),
        (json!({ "type": "object" }), json!({ "type": "object", "minProperties": 1 }), "minProperties"),
        (
            json!({ "type": "object" }),
            json!({ "type": "object", "propertyNames": { "maxLength": 3 } }),
            "propertyNames",
        ),
        (json!({ "not": { "const": 1 } }), json!({ "not": { "const": 2 } }), "not"),
        (json!({}), json!({ "not": { "type": "string" } }), "not"),
    ] {
        let changes = diff(&input(&object(&old)), &input(&object(&new)));
        assert_eq!(told(&changes)[0], format!("breaking /properties/p: `{keyword}` is tighter now"), "{old} {new}");
        let answered = diff(&output(Some(&object(&old))), &output(Some(&object(&new))));
        assert!(answered.iter().all(|change| change.class == Class::Compatible), "{answered:?}");
        if keyword != "not" {
            let looser = diff(&input(&object(&new)), &input(&object(&old)));
            assert_eq!(told(&looser), [format!("compatible /properties/p: `{keyword}` is looser now")], "{old} {new}");
        }
    }
    // Bounds that say the same.
    check_property(
        json!({ "type": "integer", "minimum": 1 }),
        json!({ "type": "integer", "exclusiveMinimum": 0 }),
        REWRITTEN,
        REWRITTEN,
    );
}

#[test]
fn additional_properties_and_items_are_compared() {
    // Types leave out the keys that they have no field for.
    let declared = |more: Value| {
        let mut schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let closed = json!({ "additionalProperties": false });
    let rewritten = &["compatible : written differently"];
    check(&declared(json!({})), &declared(closed.clone()), rewritten, rewritten);
    check(
        &declared(json!({ "additionalProperties": true })),
        &declared(closed),
        &["breaking /additionalProperties: other keys are no longer valid"],
        &["source /additionalProperties: other keys are not kept any more"],
    );
    check_property(
        json!({ "type": "object" }),
        json!({ "type": "object", "additionalProperties": false }),
        &[
            "breaking @/additionalProperties: other keys are no longer valid",
            "source @: an object with any keys became an object with declared properties",
        ],
        &["source @: an object with any keys became an object with declared properties"],
    );
    check_property(
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": "object", "additionalProperties": { "type": "boolean" } }),
        &["breaking @/additionalProperties: a string is no longer valid"],
        &["breaking @/additionalProperties: may be a boolean now"],
    );
    check_property(
        json!({ "type": "array", "items": { "type": "string" } }),
        json!({ "type": "array", "items": { "type": "string", "maxLength": 1 } }),
        &["breaking @/items: `maxLength` is tighter now"],
        &["compatible @/items: written differently"],
    );
    let tuple = |items: Value| {
        let length = items.as_array().unwrap().len();
        json!({ "type": "array", "prefixItems": items, "minItems": length, "maxItems": length })
    };
    check_property(
        tuple(json!([{ "type": "string" }, { "type": "integer" }])),
        tuple(json!([{ "type": "string" }])),
        &["breaking @: `maxItems` is tighter now"],
        &["breaking @: may have another number of items now"],
    );
    // Types without further items read no longer arrays.
    let first = json!([{ "type": "string" }, { "type": "integer" }]);
    let read = |schema: &Value| output(Some(&object(schema)));
    let (closed, open) = (json!({ "prefixItems": first, "items": false }), json!({ "prefixItems": first }));
    let changes = diff(&read(&closed), &read(&open));
    assert!(
        told(&changes).contains(&"breaking /properties/p/items: may have another number of items now".to_owned()),
        "{changes:?}"
    );
}

#[test]
fn union_alternatives_are_compared() {
    let (text, whole, list) = (json!({ "type": "string" }), json!({ "type": "integer" }), json!({ "type": "array" }));
    check_property(
        json!({ "anyOf": [text, whole] }),
        json!({ "anyOf": [list, text, whole] }),
        &["source @: the alternative Array is new: a `match` needs the variant `Array`"],
        &["breaking @: may be an array now"],
    );
    check_property(json!({ "anyOf": [text, whole] }), json!({ "oneOf": [whole, text] }), REWRITTEN, REWRITTEN);
    check_property(
        json!({ "anyOf": [text, whole] }),
        json!({ "anyOf": [text, whole], "oneOf": [text, { "type": "boolean" }] }),
        &["breaking @: an integer is no longer valid"],
        &["source @: one of several alternatives became a string"],
    );
    let branch = |kind: &str| json!({ "type": "object", "properties": { "k": { "const": kind } }, "required": ["k"] });
    check_property(
        json!({ "oneOf": [branch("a"), branch("b")] }),
        json!({ "oneOf": [branch("b"), branch("c"), branch("a")] }),
        &["source @: the alternative c is new: a `match` needs the variant `C`"],
        &["source @: the alternative c is new: a `match` needs the variant `C`"],
    );
    // Of exactly one of two that overlap.
    let changes = diff(
        &input(&object(&json!({ "anyOf": [{ "type": "integer" }, { "type": "number", "minimum": 3 }] }))),
        &input(&object(&json!({ "oneOf": [{ "type": "integer" }, { "type": "number", "minimum": 3 }] }))),
    );
    assert_eq!(
        told(&changes)[0],
        "breaking /properties/p: a value may fit several alternatives now, of which only one may"
    );
}

#[test]
fn equivalent_rewrites_are_compatible() {
    let plain = json!({ "type": "string", "minLength": 2, "pattern": "^a" });
    for wrapped in [
        json!({ "allOf": [plain] }),
        json!({ "anyOf": [plain] }),
        json!({ "oneOf": [plain] }),
        json!({ "allOf": [{ "type": "string" }, { "minLength": 2 }, { "pattern": "^a" }] }),
        json!({ "type": "string", "allOf": [{ "minLength": 2 }], "pattern": "^a" }),
        json!({ "type": ["string"], "minLength": 2, "pattern": "^a" }),
        json!({ "not": { "not": plain }, "allOf": [plain] }),
    ] {
        for (old, new) in [(&plain, &wrapped), (&wrapped, &plain)] {
            let changes = diff(&input(&object(old)), &input(&object(new)));
            assert!(changes.iter().all(|change| change.class == Class::Compatible), "{old} {new}: {changes:?}");
        }
    }
    // Behind a reference the type has another name, and nothing else changes.
    let inner = json!({ "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] });
    for (key, reference) in [("A b", "#/$defs/A%20b"), ("A b", "#/$defs/A b"), ("Z", "#here"), ("Z", "urn:z")] {
        let mut defined = inner.clone();
        defined["$anchor"] = "here".into();
        defined["$id"] = if reference == "urn:z" { "urn:z".into() } else { "".into() };
        let mut schema = object(&json!({ "$ref": reference }));
        schema["$defs"] = json!({ key: defined });
        check(
            &object(&inner),
            &schema,
            &["source /properties/p: its type has another name"],
            &["source /properties/p: its type has another name"],
        );
    }
}

#[test]
fn references_are_resolved_in_comparisons() {
    let schemas: [fn(&str) -> Value; 5] = [
        |kind| json!({ "properties": { "p": { "allOf": [{ "$ref": "#/$defs/D" }] } }, "$defs": { "D": { "type": kind } } }),
        |kind| json!({ "properties": { "p": { "$ref": "#/$defs/D", "title": "x", "maxLength": 9 } }, "$defs": { "D": { "type": kind } } }),
        |kind| json!({ "properties": { "p": { "$ref": "#here" } }, "$defs": { "D": { "$anchor": "here", "type": kind } } }),
        |kind| json!({ "properties": { "p": { "$ref": "d.json" } }, "$defs": { "D": { "$id": "d.json", "type": kind } } }),
        |kind| json!({ "properties": { "p": { "$ref": "#/$defs/a%25b~1c" } }, "$defs": { "a%b/c": { "type": kind } } }),
    ];
    for schema in schemas {
        check(
            &schema("string"),
            &schema("integer"),
            &["breaking /properties/p: a string is no longer valid"],
            &["breaking /properties/p: may be an integer now"],
        );
    }
    let elsewhere = |target: &str| object(&json!({ "$ref": target }));
    let changes = diff(&input(&elsewhere("https://example.com/a")), &input(&elsewhere("https://example.com/b")));
    assert_eq!(changes[0].class, Class::Breaking, "what cannot be decided is breaking");
    assert!(changes[0].witness.is_none());
}

#[test]
fn conditional_keywords_are_compared() {
    let names = json!({ "a": { "type": "string" }, "b": { "type": "string" }, "c": { "type": "string" } });
    let with = |more: Value| {
        let mut schema = json!({ "type": "object", "properties": names });
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let then = |key: &str| {
        with(
            json!({ "if": { "properties": { "a": { "const": "x" } }, "required": ["a"] }, "then": { "required": [key] } }),
        )
    };
    let changes = diff(&input(&then("b")), &input(&then("c")));
    assert_eq!(told(&changes)[0], "breaking /properties/c: required now");
    for (keyword, value) in
        [("dependentSchemas", json!({ "a": { "required": ["b"] } })), ("dependentRequired", json!({ "a": ["b"] }))]
    {
        let changes = diff(&input(&with(json!({}))), &input(&with(json!({ keyword: value }))));
        assert_eq!(told(&changes), [format!("breaking : `{keyword}` is tighter now")]);
        assert_eq!(witness(&with(json!({})), &with(json!({ keyword: value }))), json!({ "a": "a" }));
    }
    let patterned = |kind: &str| json!({ "type": "object", "patternProperties": { "^x-": { "type": kind } } });
    let changes = diff(&input(&patterned("string")), &input(&patterned("integer")));
    assert_eq!(told(&changes)[0], "breaking /patternProperties/^x-: a string is no longer valid");
    // A key that only `required` names is a field.
    let named = json!({ "type": "object", "properties": { "a": {} }, "required": ["k"] });
    let unnamed = json!({ "type": "object", "properties": { "a": {} } });
    let changes = diff(&output(Some(&named)), &output(Some(&unnamed)));
    assert_eq!(told(&changes), ["breaking /properties/k: may be absent now"]);
}

#[test]
fn comparison_of_recursive_schemas_terminates() {
    let tree = |kind: Value| {
        json!({
            "type": "object",
            "properties": { "root": { "$ref": "#/$defs/T" } },
            "$defs": { "T": { "type": kind, "properties": { "l": { "$ref": "#/$defs/T" }, "r": { "$ref": "#/$defs/T" } } } },
        })
    };
    let start = Instant::now();
    let (plain, nullable) = (tree(json!("object")), tree(json!(["object", "null"])));
    assert!(diff(&input(&plain), &input(&nullable)).iter().all(|change| change.class > Class::Breaking));
    let changes = diff(&input(&nullable), &input(&plain));
    assert_eq!(told(&changes)[0], "breaking /properties/root: `null` is no longer valid");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn hostile_schemas_terminate_and_are_escaped_in_messages() {
    let mut chain = serde_json::Map::new();
    for index in 0..2_000 {
        let next = json!({ "properties": { "n": { "$ref": format!("#/$defs/{}", index + 1) } } });
        chain.insert(index.to_string(), next);
    }
    let chained = |last: Value| {
        let mut chain = chain.clone();
        chain.insert("2000".to_owned(), last);
        input(&json!({ "$ref": "#/$defs/0", "$defs": chain }))
    };
    let start = Instant::now();
    let changes = diff(&chained(json!({ "type": "string" })), &chained(json!({ "type": "null" })));
    assert!(changes.iter().any(|change| change.class == Class::Breaking), "{changes:?}");

    // Every definition is the sum of the next two.
    let sums = |last: &str| {
        let mut definitions: serde_json::Map<String, Value> = (0..25)
            .map(|index| {
                let parts = [1, 2].map(|step| json!({ "$ref": format!("#/$defs/{}", index + step) }));
                (index.to_string(), json!({ "properties": { "a": { "allOf": parts }, "b": parts[0] } }))
            })
            .collect();
        definitions.insert("25".to_owned(), json!({ "type": last }));
        definitions.insert("26".to_owned(), json!({ "type": "object" }));
        input(&json!({ "$ref": "#/$defs/0", "$defs": definitions }))
    };
    assert!(!diff(&sums("object"), &sums("array")).is_empty());
    let many = |kind: &str| {
        let branches: Vec<Value> =
            (0..200).map(|index| json!({ "properties": { format!("p{index}"): { "type": kind } } })).collect();
        input(&json!({ "allOf": [{ "anyOf": branches }, { "anyOf": branches }, { "oneOf": branches }] }))
    };
    assert!(!diff(&many("string"), &many("integer")).is_empty());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());

    let circle = |first: &str| {
        input(&json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": first }, "b": { "$ref": "#/$defs/a" } } }))
    };
    assert!(diff(&circle("#/$defs/b"), &circle("#/$defs/a")).len() < 3);

    let hostile = snapshot(json!([{ "name": "a\u{1b}[2J\u{202e}", "inputSchema": {} }]));
    assert_eq!(lines(&diff(&snapshot(json!([])), &hostile)), [r"compatible  a\u{1b}[2J\u{202e}: new tool"]);
    let named =
        |key: &str| input(&json!({ "type": "object", "properties": { key: { "type": "string" } }, "required": [key] }));
    let changes = diff(&named("a"), &named("\u{1b}[2J"));
    let shown = format!("{} {}", changes[0], changes[0].witness.as_ref().unwrap());
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn server_metadata_and_malformed_tools_are_compared() {
    let old = Snapshot {
        instructions: Some("a".to_owned()),
        ..snapshot(json!([1, { "name": "x" }, { "name": "x", "title": "2" }]))
    };
    let new = Snapshot {
        protocol_version: Some("2025-11-25".to_owned()),
        ..snapshot(json!([2, { "name": "x" }, { "name": "x" }]))
    };
    let changes = diff(&old, &new);
    assert_eq!(
        lines(&changes),
        [
            "compatible  server /protocolVersion: new",
            "wording     server /instructions: gone",
            "breaking    server: a malformed tool changed",
            "wording     x /title: gone",
        ]
    );
    assert_eq!(changes[1].kind, ChangeKind::Instructions);
}

#[test]
fn description_of_additional_properties_is_a_wording_change() {
    let with = |additional: Value| {
        output(Some(
            &json!({ "type": "object", "properties": { "field": { "type": "object", "additionalProperties": additional } } }),
        ))
    };
    let changes = diff(&with(json!({})), &with(json!({ "description": "Whatever there is." })));
    assert_eq!(told(&changes), ["wording /properties/field/additionalProperties: another description"],);
}

#[test]
fn prompts_and_resource_templates_are_compared() {
    let snapshot = |prompts: &str, templates: &str| {
        let text = format!(r#"{{"tools": [], "prompts": {prompts}, "resourceTemplates": {templates}}}"#);
        Snapshot::parse(&text).expect("it is a snapshot")
    };
    let old = snapshot(
        r#"[{"name": "a", "arguments": [{"name": "x", "required": true}, {"name": "y"}, {"name": "z"}]}, {"name": "gone"}, 7]"#,
        r#"[{"name": "t", "uriTemplate": "a://{x}"}, {"name": "gone", "uriTemplate": "a://{x}"}]"#,
    );
    let new = snapshot(
        r#"[{"name": "new"}, {"name": "a", "description": "d", "arguments": [{"name": "x"}, {"name": "y", "required": true}, {"name": "w"}]}]"#,
        r#"[{"name": "t", "uriTemplate": "a://{y}", "mimeType": "text/plain"}]"#,
    );
    let lines = mcp_bindgen_schema::drift::told(&diff(&old, &new), 100);
    let without_id = |line: &String| line.split(" [MCPD").next().unwrap().to_owned();
    let mut told: Vec<String> = lines.iter().map(without_id).collect();
    told.sort();
    let expected = [
        "            = may be sent, and is refused now: {\"x\":\"text\"}",
        "            = was new(x: impl Into<String>), is new(y: impl Into<String>)",
        "            = was new(x: impl Into<String>), is new(y: impl Into<String>)",
        "breaking    server /prompts: prompt `a` no longer takes `z`",
        "breaking    server /prompts: prompt `a` requires `y` now",
        "breaking    server /prompts: prompt `gone` is gone",
        "breaking    server /resourceTemplates: resource template `gone` is gone",
        "breaking    server /resourceTemplates: resource template `t` has another `uriTemplate`",
        "compatible  server /prompts: prompt `a` takes `w` now",
        "compatible  server /prompts: prompt `new` is new",
        "compatible  server /prompts: prompt without a name is gone",
        "compatible  server /resourceTemplates: resource template `t` has another `mimeType`",
        "silent      server /prompts: prompt `a` has a `new` that takes `y` in place of `x`, and calls still compile",
        "silent      server /resourceTemplates: resource template `t` has a `new` that takes `y` in place of `x`, and calls still \
         compile",
        "source      server /prompts: prompt `a` no longer requires `x`",
        "wording     server /prompts: prompt `a` has another `description`",
    ];
    assert_eq!(told, expected, "{told:#?}");
    let arguments = |more: &str| {
        let argument = |name: &str| format!(r#"{{"name": "{name}", "required": true}}"#);
        snapshot(&format!(r#"[{{"name": "a", "arguments": [{}, {}{more}]}}]"#, argument("y"), argument("x")), "[]")
    };
    let changes = diff(&arguments(""), &arguments(r#", {"name": "z", "required": true}"#));
    let witness = changes[0].witness.as_ref().unwrap().value();
    assert_eq!(witness.to_string(), r#"{"x":"text","y":"text"}"#, "sorted");
    let list = r#"[{"name": "b", "uriTemplate": "b:"}, {"name": "a", "uriTemplate": "b:"}, {"name": "a", "uriTemplate": "a:"}]"#;
    let forward = snapshot("[]", list);
    let mut backward = forward.clone();
    backward.resource_templates.reverse();
    assert!(diff(&forward, &backward).is_empty(), "the order says nothing");
}

//! Values against schemas: the official tests, and what servers get wrong.

#![allow(clippy::panic, clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};

use mcp_bindgen_runtime::__private::{Form, Input, Mismatch, Print, Wire};
use mcp_bindgen_runtime::validate::{Validator, arguments, result};
use mcp_bindgen_runtime::{CallError, ServerSpec, Tool, ToolCall, ToolResult, ToolSpec, parse_arguments};
use serde_json::{Value, json};

fn validator(schema: Value) -> Validator {
    Validator::new(&schema).unwrap_or_else(|unusable| panic!("{unusable}: {schema}"))
}

fn accepts(schema: Value, value: Value) -> bool {
    validator(schema).check(&value).is_ok()
}

fn skipped(schema: Value) -> Vec<String> {
    validator(schema).skipped().iter().map(|skipped| skipped.pointer.clone()).collect()
}

/// Schemas of the suite that are on a server of its own.
const REMOTE: &str = "http://localhost:1234";

#[test]
fn validator_passes_the_official_json_schema_test_suite() {
    let suite = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/suites/json-schema-test-suite");
    if !suite.exists() {
        assert!(std::env::var_os("CI").is_none(), "the official tests are not at {}", suite.display());
        println!("skipped: the official tests are not at {}", suite.display());
        return;
    }
    let mut wrong = Vec::new();
    for (folder, dialect) in [
        ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
    ] {
        let mut judged = 0;
        for file in json_files(&suite.join(folder)) {
            let groups: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
            for mut group in groups.into_iter().filter(|group| !group["schema"].to_string().contains(REMOTE)) {
                if let Value::Object(schema) = &mut group["schema"] {
                    schema.entry("$schema").or_insert_with(|| dialect.into());
                }
                let validator = Validator::new(&group["schema"]);
                for test in group["tests"].as_array().unwrap() {
                    let valid = validator.as_ref().ok().map(|validator| validator.check(&test["data"]).is_ok());
                    judged += 1;
                    if valid != test["valid"].as_bool() {
                        let what = (&group["description"], &test["description"], validator.as_ref().err());
                        wrong.push(format!("{}: {what:?}", file.display()));
                    }
                }
                if let Ok(validator) = &validator {
                    assert!(validator.skipped().is_empty(), "{:?}: {}", validator.skipped(), group["schema"]);
                }
            }
        }
        println!("{folder}: {judged} verdicts");
        assert!(judged > 500, "{folder}: {judged} verdicts");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| !path.ends_with("refRemote.json"))
        .collect();
    files.sort();
    files
}

#[test]
fn violation_contains_pointer_message_and_keyword() {
    let schema = json!({"properties": {"a/b": {"items": {"maximum": 5}}}, "required": ["a/b"]});
    let violation = validator(schema.clone()).check(&json!({"a/b": [1, 7]})).unwrap_err();
    assert_eq!((violation.pointer.as_str(), violation.keyword.as_str()), ("/a~1b/1", "maximum"));
    assert_eq!(violation.to_string(), "at `/a~1b/1`: value is greater than the maximum of 5 (`maximum`, found 7)");
    let violation = validator(schema).check(&json!({})).unwrap_err();
    assert_eq!((violation.pointer.as_str(), violation.keyword.as_str()), ("", "required"));
    assert!(violation.message.contains("a/b"), "{violation}");
    let closed = validator(json!({"additionalProperties": false})).check(&json!({"a": 1})).unwrap_err();
    assert_eq!(closed.keyword, "additionalProperties");
    let closed = validator(json!({"properties": {"a": false}})).check(&json!({"a": 1})).unwrap_err();
    assert_eq!((closed.pointer.as_str(), closed.keyword.as_str()), ("/a", "false"));
    let denied = json!({"properties": {"a": {"not": {"$ref": "#/$defs/b"}}}, "$defs": {"b": {"type": "string"}}});
    let violation = validator(denied).check(&json!({"a": "x"})).unwrap_err();
    assert_eq!((violation.keyword.as_str(), violation.message.as_str()), ("not", "value matches the schema of `not`"));
}

#[test]
fn violation_message_is_short_and_printable() {
    let options: Vec<_> = (0..5_000).map(|index| format!("option {index}")).collect();
    let violation = validator(json!({"enum": options})).check(&json!("\u{1b}[2J\u{202e}é".repeat(1_000))).unwrap_err();
    let text = violation.to_string();
    assert!(text.chars().count() < 500, "{text}");
    assert!(!text.chars().any(|char| char.is_control() || char == '\u{202e}'), "{text}");
}

#[test]
fn union_violation_refers_to_the_branch_that_was_meant() {
    let nullable = json!({"properties": {"n": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}}});
    let violation = validator(nullable.clone()).check(&json!({"n": 0})).unwrap_err();
    assert_eq!((violation.pointer.as_str(), violation.keyword.as_str()), ("/n", "minimum"));
    assert_eq!(validator(nullable).check(&json!({"n": "x"})).unwrap_err().keyword, "anyOf");
    let branch = |tag: &str| json!({"properties": {"kind": {"const": tag}, "size": {"type": "integer"}}});
    let tagged = json!({"oneOf": [branch("a"), branch("b")]});
    let violation = validator(tagged).check(&json!({"kind": "b", "size": "x"})).unwrap_err();
    assert_eq!((violation.pointer.as_str(), violation.keyword.as_str()), ("/size", "type"));
}

#[test]
fn dialect_is_selected_by_the_schema() {
    let tuple = |dialect: &str| json!({"$schema": dialect, "items": [{"type": "string"}], "additionalItems": false});
    for dialect in ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft-07/schema", "about:own"] {
        assert!(accepts(tuple(dialect), json!(["a"])), "{dialect}");
        assert!(!accepts(tuple(dialect), json!(["a", "b"])), "{dialect}");
        assert!(!accepts(tuple(dialect), json!([1])), "{dialect}");
    }
    let siblings = |dialect: &str| {
        json!({"$schema": dialect, "properties": {"a": {"$ref": "#/definitions/any", "type": "string"}},
               "definitions": {"any": {}}})
    };
    assert!(accepts(siblings("http://json-schema.org/draft-07/schema#"), json!({"a": 5})));
    assert!(!accepts(siblings("https://json-schema.org/draft/2019-09/schema"), json!({"a": 5})));
    let draft4 = json!({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 0, "exclusiveMinimum": true,
                        "properties": {"gone": false, "any": true}, "additionalProperties": false});
    assert!(!accepts(draft4.clone(), json!(0)));
    assert!(accepts(draft4.clone(), json!({"any": 1})));
    assert!(!accepts(draft4.clone(), json!({"gone": 1})));
    assert_eq!(skipped(draft4), Vec::<String>::new());
    let newer = json!({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1, "exclusiveMinimum": 5,
                       "propertyNames": false, "contains": false});
    for value in [json!(2), json!({"a": 1}), json!([1])] {
        assert!(accepts(newer.clone(), value));
    }
    assert_eq!(skipped(newer), ["/exclusiveMinimum"]);
}

#[test]
fn definitions_without_references_are_not_read() {
    let unused = json!({"$defs": {"a": {"$ref": "#/nowhere"}, "b": {"type": "any"}}, "type": "integer"});
    assert_eq!(skipped(unused.clone()), Vec::<String>::new());
    assert!(accepts(unused.clone(), json!(1)) && !accepts(unused, json!("x")));
}

#[test]
fn part_that_is_referred_to_elsewhere_is_reported_once() {
    let shared = json!({"properties": {"a": {"properties": {"b": {"type": "any", "maximum": 1}}},
                                       "c": {"$ref": "#/properties/a/properties/b"}, "d": {"$ref": "#"}}});
    assert_eq!(skipped(shared.clone()), ["/properties/a/properties/b/type"]);
    for value in [json!({"a": {"b": 2}}), json!({"c": 2}), json!({"d": {"d": {"c": 2}}})] {
        assert!(!accepts(shared.clone(), value));
    }
    assert!(accepts(shared, json!({"a": {"b": 1}, "c": 1, "d": {"c": 0}})));
}

#[test]
fn recursive_references_are_followed_and_leave_repairs_as_they_are() {
    let dialect = "https://json-schema.org/draft/2019-09/schema";
    let mut tree = json!({"$schema": dialect, "$defs": {"even": {"multipleOf": 2}}, "properties": {
        "n": {"$recursiveRef": "#"}, "x": {"type": "any"}, "m": {"$ref": "#/$defs/even", "$recursiveRef": "#"}}});
    for index in 0..17 {
        tree["properties"][format!("even{index}")] = json!({"$ref": "#/$defs/even"});
    }
    assert_eq!(skipped(tree.clone()), ["/properties/x/type"]);
    assert!(accepts(tree.clone(), json!({"n": {"n": {"even16": 4}}, "m": {"even0": 2}, "x": 1})));
    for value in [json!({"n": {"n": {"even16": 3}}}), json!({"m": 3}), json!({"m": {"even0": 3}})] {
        assert!(!accepts(tree.clone(), value));
    }
    let open = json!({"$id": "tree", "$recursiveAnchor": true, "properties": {
        "n": {"type": "integer"}, "x": {"type": "any"}, "children": {"items": {"$recursiveRef": "#"}}}});
    let closed = json!({"$id": "closed", "$recursiveAnchor": true, "$ref": "tree", "unevaluatedProperties": false});
    let both = json!({"$schema": dialect, "$id": "https://example.com/", "$defs": {"closed": closed, "tree": open},
                      "properties": {"open": {"$ref": "tree"}, "closed": {"$ref": "closed"}}});
    assert_eq!(skipped(both.clone()), ["/$defs/tree/properties/x/type"]);
    for value in
        [json!({"open": {"children": [{"m": 1}]}}), json!({"closed": {"children": [{"n": 1, "children": []}]}})]
    {
        assert!(accepts(both.clone(), value));
    }
    for value in
        [json!({"closed": {"children": [{"children": [{"m": 1}]}]}}), json!({"open": {"children": [{"n": "1"}]}})]
    {
        assert!(!accepts(both.clone(), value));
    }
}

#[test]
fn anchors_that_no_dynamic_reference_leads_to_have_no_limit() {
    let (draft7, draft2020) =
        ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema");
    for (dialect, keyword, value, reference) in [
        (draft2020, "$dynamicAnchor", json!("T"), json!({"$dynamicRef": "#other"})),
        (draft2020, "$recursiveAnchor", json!(true), json!({"$recursiveRef": "#"})),
        (draft7, "$dynamicAnchor", json!("T"), json!({"$dynamicRef": "#T"})),
        ("https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor", json!(true), json!({})),
    ] {
        let one = |index| (format!("d{index}"), json!({"$id": format!("d{index}"), keyword: value, "type": "integer"}));
        let mut schema = json!({"$schema": dialect, "definitions": (0..150).map(one).collect::<Value>(),
                                "properties": {"a": {"$ref": "d100"}, "b": reference}});
        schema["definitions"]["other"] = json!({"$dynamicAnchor": "other"});
        assert!(accepts(schema.clone(), json!({"a": 1})) && !accepts(schema, json!({"a": "x"})), "{dialect} {keyword}");
    }
}

#[test]
fn formats_and_content_keywords_are_not_asserted() {
    for dialect in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema"] {
        assert!(accepts(json!({"$schema": dialect, "format": "email"}), json!("nobody")));
        let content = json!({"$schema": dialect, "contentMediaType": "application/json", "contentEncoding": "base64"});
        assert!(accepts(content, json!("{:}")));
    }
}

#[test]
fn unsupported_pattern_is_skipped_and_reported() {
    let schema = json!({"properties": {
        "a": {"type": "string", "pattern": "(?<n", "maxLength": 3},
        "b": {"patternProperties": {"^x[": {"type": "string"}, "^y": {"type": "string"}}, "additionalProperties": false},
    }});
    let validator = validator(schema);
    let pointers: Vec<_> = validator.skipped().iter().map(|skipped| skipped.pointer.as_str()).collect();
    let additional = "/properties/b/additionalProperties";
    assert_eq!(pointers, ["/properties/a/pattern", "/properties/b/patternProperties/^x[", additional]);
    assert!(validator.skipped()[0].to_string().contains("regex"), "{}", validator.skipped()[0]);
    assert!(validator.check(&json!({"a": "abc", "b": {"x[": 5, "y": "s"}})).is_ok());
    assert!(validator.check(&json!({"a": "abcd"})).is_err());
    assert!(validator.check(&json!({"b": {"y": 5}})).is_err());
}

#[test]
fn malformed_keyword_is_skipped_and_reported() {
    for (property, pointers) in [
        (json!({"type": "any", "minimum": 1}), vec!["type"]),
        (json!({"type": ["number", "float"], "minimum": 1}), vec!["type"]),
        (json!({"type": {"a": 1}, "minimum": 1}), vec!["type"]),
        (json!({"type": ["number", "number"], "minimum": 1}), vec![]),
        (json!({"type": "number", "required": true, "minimum": 1}), vec!["required"]),
        (json!({"type": "number", "minimum": 1, "maximum": "9"}), vec!["maximum"]),
        (json!({"type": "number", "minimum": 1, "maxLength": null}), vec!["maxLength"]),
        (json!({"type": "number", "minimum": 1, "items": "string"}), vec!["items"]),
        (json!({"type": "number", "minimum": 1, "properties": []}), vec!["properties"]),
        (json!({"type": "number", "minimum": 1, "anyOf": []}), vec!["anyOf"]),
        (json!({"type": "number", "minimum": 1, "oneOf": ["x", {}]}), vec!["oneOf/0"]),
        (json!({"type": "number", "minimum": 1, "allOf": ["x", {}]}), vec!["allOf/0"]),
        (json!({"type": "number", "minimum": 1, "not": "x"}), vec!["not"]),
        (json!({"type": "number", "minimum": 1, "not": {"type": "any"}}), vec!["not/type", "not"]),
        (json!({"type": "number", "minimum": 1, "$ref": 5}), vec!["$ref"]),
        (json!({"type": "number", "minimum": 1, "$id": 5}), vec!["$id"]),
        (json!({"type": "number", "minimum": 1, "multipleOf": 0}), vec!["multipleOf"]),
        (json!({"type": "number", "minimum": 1, "title": 5, "description": null, "examples": "x"}), vec![]),
        (json!({"type": "number", "minimum": 1, "$schema": 5}), vec![]),
    ] {
        for dialect in ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"] {
            let schema = json!({"$schema": dialect, "properties": {"a": property, "b": {"type": "string"}}});
            let expected: Vec<_> = pointers.iter().map(|pointer| format!("/properties/a/{pointer}")).collect();
            assert_eq!(skipped(schema.clone()), expected, "{schema}");
            assert!(accepts(schema.clone(), json!({"a": 5, "b": "x"})), "{schema}");
            assert!(!accepts(schema.clone(), json!({"a": 0})), "{schema}");
            assert!(!accepts(schema.clone(), json!({"b": 5})), "{schema}");
        }
    }
}

#[test]
fn malformed_schema_accepts_any_value() {
    for schema in [json!("string"), json!(null), json!([]), json!(5)] {
        assert_eq!(skipped(schema.clone()), [""]);
        assert!(accepts(schema, json!({"a": 1})));
    }
    let closed = json!({"properties": {"a": "string"}, "additionalProperties": false});
    assert!(accepts(closed.clone(), json!({"a": 1})));
    assert!(!accepts(closed, json!({"b": 1})));
}

#[test]
fn skipped_keyword_inside_a_condition_never_rejects_more() {
    let unknown = json!({"type": "any"});
    let text = json!({"type": "string"});
    assert!(accepts(json!({"oneOf": [unknown, text]}), json!("x")));
    let beside =
        json!({"oneOf": [{"type": "any", "maximum": 9}, text], "anyOf": [{"minimum": 1}], "allOf": [{"maximum": 20}]});
    assert!(accepts(beside.clone(), json!("x")) && accepts(beside.clone(), json!(5)));
    assert!([0, 15, 25].iter().all(|value| !accepts(beside.clone(), json!(value))));
    assert!(accepts(json!({"if": unknown, "then": false}), json!("x")));
    assert!(accepts(json!({"contains": unknown, "maxContains": 1}), json!([1, 2])));
    assert!(accepts(json!({"properties": ["a"], "additionalProperties": false}), json!({"a": 1})));
}

#[test]
fn openapi_and_draft_4_keywords_are_understood_without_a_dialect() {
    let nullable = json!({"properties": {"a": {"type": "string", "nullable": true}}});
    assert!(accepts(nullable.clone(), json!({"a": null})));
    assert!(!accepts(nullable, json!({"a": 5})));
    let exclusive = json!({"type": "integer", "minimum": 0, "exclusiveMinimum": true, "exclusiveMaximum": false});
    assert!(!accepts(exclusive.clone(), json!(0)));
    assert!(accepts(exclusive.clone(), json!(1)));
    assert_eq!(skipped(exclusive), Vec::<String>::new());
    assert_eq!(skipped(json!({"exclusiveMinimum": true})), ["/exclusiveMinimum"]);
}

#[test]
fn references_are_resolved_only_inside_the_document() {
    let odd = json!({"properties": {"a": {"$ref": "#/x-types/a~1b%20c"}}, "x-types": {"a/b c": {"type": "any", "maximum": 1}}});
    assert!(accepts(odd.clone(), json!({"a": 1})));
    assert!(!accepts(odd, json!({"a": 2})));
    for reference in ["#/$defs/nope", "#nope", "other.json", "https://example.com/x", "file:///etc/passwd", "%%"] {
        let schema = json!({"properties": {"a": {"$ref": reference}}});
        let unusable = Validator::new(&schema).unwrap_err();
        assert_eq!(unusable.pointer, "/properties/a/$ref", "{unusable}");
        assert!(unusable.to_string().ends_with("are never fetched (at `/properties/a/$ref`)"), "{unusable}");
        assert!(unusable.message.contains(reference), "{unusable}");
    }
}

#[test]
fn recursive_or_huge_schemas_neither_hang_nor_overflow() {
    let ways_to_itself = [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
        json!({"not": {"$ref": "#"}}),
        json!({"if": {"$ref": "#"}, "then": {"$ref": "#"}}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"$id": "x#y"}),
        json!({"$id": "http://["}),
        json!({"$id": "", "$ref": ""}),
        json!({"$id": "#"}),
        json!({"$anchor": "a", "$ref": "#a"}),
        json!({"$dynamicRef": "#"}),
        json!({"$recursiveRef": "#"}),
    ];
    for schema in ways_to_itself {
        if let Ok(validator) = Validator::new(&schema) {
            let _ = validator.check(&json!({"a": [1]}));
        }
    }
    let doubled: Value = (0..40)
        .map(|index| {
            let next = json!({"$ref": format!("#/$defs/{}", index + 1)});
            (index.to_string(), json!({"allOf": [next, next]}))
        })
        .chain([("40".to_owned(), json!({}))])
        .collect();
    let chained: Value = (0..5_000)
        .map(|index| (index.to_string(), json!({"$ref": format!("#/$defs/{}", index + 1)})))
        .chain([("5000".to_owned(), json!({}))])
        .collect();
    for defs in [doubled, chained] {
        let bomb = json!({"properties": {"a": {"$ref": "#/$defs/0"}}, "$defs": defs});
        assert!(Validator::new(&bomb).unwrap_err().message.contains("times"));
    }
    let deep = (0..1_000).fold(json!({}), |inner, _| json!({"not": inner}));
    assert!(Validator::new(&deep).unwrap_err().message.contains("deep"));
}

static COUNT: ToolSpec = ToolSpec::new("count", r#"{"properties": {"n": {"type": "integer", "maximum": 9}}}"#)
    .output_schema(r#"{"type": "object", "required": ["total"]}"#);

#[test]
fn arguments_and_results_are_validated_against_the_tool() {
    assert!(arguments(&COUNT, &json!({"n": 9})).is_ok());
    let refusal = arguments(&COUNT, &json!({"n": 10})).unwrap_err();
    assert_eq!(refusal.pointer(), "/n");
    assert!(refusal.message().contains("`maximum`") && refusal.message().contains("10"), "{refusal}");

    let answer = |answer: Value| result(&COUNT, &ToolResult::from_json("s", "count", answer));
    assert!(answer(json!({"structuredContent": {"total": 1}})).is_ok());
    assert!(answer(json!({"structuredContent": {}})).is_err());
    assert!(answer(json!({"content": [{"type": "text", "text": "{\"total\": 1}"}]})).is_ok());
    assert!(answer(json!({"content": [{"type": "text", "text": "one"}]})).is_err());
    assert!(answer(json!({"content": [], "isError": true})).is_ok());
}

/// As they are read: FastMCP writes a list as a block for each item, and a text as it is.
#[test]
fn text_results_are_validated_as_they_are_decoded() {
    static LIST: ToolSpec = ToolSpec::new("list", "{}")
        .output_schema(r#"{"type": "array", "items": {"type": "object", "required": ["n"]}}"#);
    static TEXT: ToolSpec = ToolSpec::new("text", "{}").output_schema(r#"{"type": "string", "maxLength": 5}"#);
    let answer = |spec: &'static ToolSpec, blocks: &[&str]| {
        let blocks: Vec<Value> = blocks.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        result(spec, &ToolResult::from_json("s", "t", json!({ "content": blocks })))
            .map_err(|refusal| refusal.message())
    };
    assert_eq!(answer(&LIST, &[r#"{"n": 1}"#]), Ok(()));
    assert_eq!(answer(&LIST, &[r#"{"n": 1}"#, r#"{"n": 2}"#]), Ok(()));
    assert_eq!(answer(&LIST, &[r#"[{"n": 1}]"#, "[]"]), Ok(()), "one of them fits");
    assert!(answer(&LIST, &[r#"{"n": 1}"#, "{}"]).is_err());
    assert!(answer(&LIST, &["none"]).unwrap_err().contains("structured content"));
    assert_eq!(answer(&TEXT, &["short"]), Ok(()));
    assert_eq!(answer(&TEXT, &["12345"]), Ok(()));
    assert!(answer(&TEXT, &["too long"]).is_err());
}

static SERVER: ServerSpec = ServerSpec::new("counter");

#[derive(Debug)]
struct CountParams(Option<i64>);

impl Wire for CountParams {
    fn read(input: Input<'_>) -> Result<Self, Mismatch> {
        Ok(Self(input.value()?.get("n").and_then(Value::as_i64)))
    }
}

impl Print for CountParams {
    fn form(&self) -> Form<'_> {
        Form::value(self.0.map_or_else(|| json!({}), |n| json!({"n": n})))
    }
}

impl Tool for CountParams {
    const NAME: &'static str = "count";
    const SERVER: &'static ServerSpec = &SERVER;
    const SPEC: &'static ToolSpec = &COUNT;
    type Output = ToolResult;

    fn output(result: ToolResult) -> Result<ToolResult, CallError> {
        Ok(result)
    }

    fn result(output: ToolResult) -> Result<ToolResult, CallError> {
        Ok(output)
    }
}

#[test]
fn arguments_are_validated_when_parsed_and_when_sent() {
    assert_eq!(parse_arguments::<CountParams>(&json!({"n": 9})).unwrap().0, Some(9));
    assert!(ToolCall::of(&CountParams(None)).is_ok());
    let refused = [
        (parse_arguments::<CountParams>(&json!({"n": null})).unwrap_err(), "`type`, found null"),
        (parse_arguments::<CountParams>(&json!({"n": 10})).unwrap_err(), "`maximum`, found 10"),
        (ToolCall::of(&CountParams(Some(10))).unwrap_err(), "`maximum`, found 10"),
    ];
    for (error, expected) in refused {
        assert!(error.to_string().starts_with("counter: invalid arguments for `count` at `/n`: "), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

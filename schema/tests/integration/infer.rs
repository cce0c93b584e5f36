//! Schemas of what was seen.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::infer::Sample;
use mcp_bindgen_schema::{Document, Role, Shape};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn seen<'v>(values: impl IntoIterator<Item = &'v Value>) -> Sample {
    values.into_iter().fold(Sample::default(), |mut all, value| {
        all.merge(&Sample::of(value));
        all
    })
}

fn schema(values: Value) -> Value {
    seen(values.as_array().expect("a list of values")).schema()
}

#[test]
fn inferred_schema_describes_exactly_the_samples() {
    for (values, expected) in [
        (json!([]), json!({})),
        (json!([1, -2]), json!({ "type": "integer" })),
        (json!([1, 2.5]), json!({ "type": "number" })),
        (json!([5.0]), json!({ "type": "number" })),
        (json!([i64::MAX]), json!({ "type": "integer", "minimum": i64::MIN, "maximum": i64::MAX })),
        (json!([u64::MAX]), json!({})),
        (json!([9_007_199_254_740_993_i64, 0.5]), json!({})),
        (json!([9_007_199_254_740_992_i64, 0.5]), json!({ "type": "number" })),
        (json!(["open", "closed", "open"]), json!({ "type": "string" })),
        (json!(["x", null]), json!({ "type": ["string", "null"] })),
        (json!([null]), json!({ "description": "`null` in every result so far" })),
        (json!([[], []]), json!({ "type": "array" })),
        (json!([[], [1]]), json!({ "type": "array", "items": { "type": "integer" } })),
        (json!([[null]]), json!({ "type": "array", "items": { "description": "`null` in every result so far" } })),
        (json!([true, "x"]), json!({ "anyOf": [{ "type": "boolean" }, { "type": "string" }] })),
        (json!([1, null, []]), json!({ "anyOf": [{ "type": "integer" }, { "type": "array" }, { "type": "null" }] })),
        (json!([{}]), json!({ "type": "object" })),
        (
            json!([{ "b": 1, "a": "x" }, { "b": 2 }]),
            json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } },
                    "required": ["b"] }),
        ),
        (
            json!([{ "a": 1 }, null]),
            json!({ "type": ["object", "null"], "properties": { "a": { "type": "integer" } }, "required": ["a"] }),
        ),
        (json!([{ "a": 1 }, {}]), json!({ "type": "object", "properties": { "a": { "type": "integer" } } })),
        (
            json!([{ "17": [1] }, { "4": ["x"] }]),
            json!({ "type": "object", "additionalProperties": {
                "type": "array", "items": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } } }),
        ),
        (
            json!([{ "src/lib.rs": 1, "total": 2.5 }]),
            json!({ "type": "object", "additionalProperties": { "type": "number" } }),
        ),
    ] {
        assert_eq!(schema(values.clone()), expected, "{values}");
    }
}

/// An object with these keys.
fn with_keys(keys: impl Iterator<Item = String>) -> Value {
    Value::Object(keys.map(|key| (key, json!(1))).collect())
}

#[test]
fn varying_keys_are_inferred_as_a_map() {
    let words = |from: usize, count: usize| with_keys((from..from + count).map(|number| format!("word_{number}")));
    let is_map = |values: &[Value]| seen(values).schema().get("additionalProperties").is_some();
    assert!(!is_map(&[words(0, 256)]), "one result says nothing of the next");
    assert!(is_map(&[words(0, 257)]));
    assert!(!is_map(&[words(0, 60), words(0, 100)]), "some key is always there");
    assert!(!is_map(&[words(0, 32), words(32, 32)]));
    assert!(is_map(&[words(0, 32), words(32, 33)]));
}

#[test]
fn inferred_schema_contains_no_sample_values() {
    let secret = "sk-live-4eC39HqLyjWDarjtT1zdp7dc";
    let result = json!({
        "token": secret, "list": [secret, [secret]], "deep": { "a": { "b": secret } }, "id": 774_411_996_633_i64,
        "ratio": 0.774_411_996, "by_id": { "12": { "token": secret } }, secret[..7].to_owned(): secret,
    });
    let mut all = Sample::of(&result);
    all.merge(&Sample::of(&json!([secret])));
    let text = all.schema().to_string() + &format!("{all:?}");
    assert!(text.contains("by_id") && text.contains("sk-live"), "keys are there: {text}");
    for value in [secret, "774411996633", "774411996", "\"12\""] {
        assert!(!text.contains(value), "{value} is in {text}");
    }
}

#[test]
fn deep_or_large_samples_are_inferred_as_any() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "in": inner }));
    let depth = |schema: &Value| {
        let mut levels = 0;
        let mut place = schema;
        while let Some(inner) = place.pointer("/properties/in") {
            (levels, place) = (levels + 1, inner);
        }
        (levels, place.clone())
    };
    assert_eq!(depth(&schema(json!([nested(24)]))), (24, json!({ "type": "integer" })));
    assert_eq!(depth(&schema(json!([nested(120)]))), (24, json!({})));

    let level = |inner: &Value| Value::Object((0..20).map(|key| (format!("key_{key}"), inner.clone())).collect());
    let wide = level(&level(&level(&json!([1]))));
    let printed = seen([&wide]).schema();
    assert_eq!(printed.pointer("/properties/key_3/properties/key_7"), Some(&json!({})));
    assert!(printed.to_string().len() < 100_000);
    let sample = Sample::of_schema(&printed).expect("what was cut is read again");
    assert_eq!(sample.schema(), printed);
}

#[test]
fn only_inferred_schemas_are_parsed_back() {
    for other in [
        json!(true),
        json!({ "type": "string", "enum": ["open"] }),
        json!({ "type": "string", "description": "A name" }),
        json!({ "type": "object", "properties": {} }),
        json!({ "type": "object", "properties": { "a": { "type": "string", "format": "uri" } } }),
        json!({ "type": "array", "items": { "$ref": "#/$defs/Issue" } }),
        json!({ "type": "object", "additionalProperties": false }),
        json!({ "type": "lst" }),
        json!({ "anyOf": [{ "type": "string" }] }),
    ] {
        assert_eq!(Sample::of_schema(&other), None, "{other}");
    }
}

/// Values whose keys and kinds meet often.
fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        Just(json!(i64::MIN)),
        Just(json!(u64::MAX)),
        Just(json!(0.5)),
        "[a-z]{0,3}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        8 => "[a-d]".prop_map(String::from),
        1 => "[0-9]".prop_map(String::from),
        1 => Just("2026-11-22".to_owned()),
    ];
    scalar.prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn merging_samples_is_commutative_associative_and_idempotent(
        one in prop::collection::vec(values(), 0..4),
        two in prop::collection::vec(values(), 0..4),
        three in prop::collection::vec(values(), 0..4),
    ) {
        let (one, two, three) = (seen(&one), seen(&two), seen(&three));
        let merged = |left: &Sample, right: &Sample| {
            let mut all = left.clone();
            all.merge(right);
            all
        };
        prop_assert_eq!(merged(&one, &two), merged(&two, &one));
        prop_assert_eq!(merged(&merged(&one, &two), &three), merged(&one, &merged(&two, &three)));
        prop_assert_eq!(merged(&one, &one), one.clone());
        let all = merged(&merged(&one, &two), &three);
        prop_assert_eq!(all.schema().to_string(), merged(&merged(&three, &two), &one).schema().to_string());
    }

    /// A sample learned in two steps equals one learned at once.
    #[test]
    fn inferred_schema_preserves_the_complete_sample(
        first in prop::collection::vec(values(), 1..4),
        then in prop::collection::vec(values(), 0..4),
    ) {
        let kept = seen(&first).schema();
        let mut learned = Sample::of_schema(&kept).expect("it was learned");
        prop_assert_eq!(learned.schema(), kept);
        learned.merge(&seen(&then));
        prop_assert_eq!(learned.schema().to_string(), seen(first.iter().chain(&then)).schema().to_string());
    }

    #[test]
    fn inferred_schema_has_a_type(results in prop::collection::vec(values(), 1..6)) {
        has_a_type(&results)?;
    }
}

/// The generator has nothing to say about it, and types whatever the schema says something of.
fn has_a_type(results: &[Value]) -> Result<(), TestCaseError> {
    let schema = seen(results).schema();
    let mut reporter = Reporter::new("t", 0, "/outputSchema");
    let document = Document::read(&schema, Role::Output, &mut reporter);
    let said = reporter.finish();
    prop_assert!(said.is_empty(), "{:?}", said);
    let text = schema.to_string();
    // Four kinds of which everything is allowed, and `null`, are one branch without a type.
    let many = r#"{"type":"boolean"},{"type":"number"},{"type":"string"},{"type":"object"},{"type":"null"}"#;
    let open = ["{}", "so far", r#"{"type":"array"}"#, r#"["array","null"]}"#, many];
    let is_open = open.iter().any(|open| text.contains(open));
    let untyped = document.shapes.ids().any(|id| matches!(document.shapes.get(id), Shape::Anything | Shape::AnyOf(_)));
    prop_assert!(!untyped || is_open, "{}", schema);
    Ok(())
}

#[test]
fn many_types_beside_null_form_one_open_branch() {
    has_a_type(&[json!({ "b": null, "c": false, "a": 0.5 }), json!({ "a": "", "0": {} })]).unwrap();
}

//! Reading from text and from values: what is refused, where, and in which words.

#![allow(clippy::panic, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mcp_bindgen::__private::{from_value, to_value};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Clone, Debug, PartialEq)]
struct File {
    path: String,
    size: Option<u64>,
}
mcp_bindgen::__private::__object!(File { path: required "path", size: optional "size", });

#[derive(Clone, Debug, PartialEq)]
struct Strict {
    path: String,
}
mcp_bindgen::__private::__object!(Strict { path: required "path", } deny);

#[derive(Clone, Debug, PartialEq)]
struct Folder {
    files: Vec<File>,
    extra: BTreeMap<String, Value>,
}
mcp_bindgen::__private::__object!(Folder { files: required "files", } extra extra);

#[derive(Clone, Debug, PartialEq)]
struct Circle {
    radius: f64,
}
mcp_bindgen::__private::__object!(Circle { radius: required "radius", } tag "kind");

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Circle(Circle),
    Other(Value),
}
mcp_bindgen::__private::__tagged_union!(Shape by "kind" { Circle = "circle", } Other);

#[derive(Clone, Debug, PartialEq)]
enum Event {
    Known(Change),
    Gone(Gone),
}
#[rustfmt::skip] // the table ends with a comma
mcp_bindgen::__private::__untagged_union!(Event { Known, Gone, });

#[derive(Clone, Debug, PartialEq)]
struct Change {
    event: Word,
}
mcp_bindgen::__private::__object!(Change { event: required "event", });

#[derive(Clone, Debug, PartialEq)]
enum Word {
    Created,
    Updated,
    Other(String),
}
mcp_bindgen::__private::__string_enum!(Word { Created = "created", Updated = "updated", } open Other);

#[derive(Clone, Debug, PartialEq)]
struct Gone {
    event: Deleted,
}
mcp_bindgen::__private::__object!(Gone { event: required "event", });

#[derive(Clone, Copy, Debug, PartialEq)]
enum Deleted {
    Deleted,
}
mcp_bindgen::__private::__string_enum!(Deleted { Deleted = "deleted", });

#[track_caller]
fn refused<'t, T: Deserialize<'t> + std::fmt::Debug>(text: &'t str) -> String {
    let error = serde_json::from_str::<T>(text).unwrap_err().to_string();
    // The position of a field that is missing in the whole value is at the end of the text, so it is cut off.
    match error.rsplit_once(" at line 1 column ") {
        Some((said, _)) => said.to_owned(),
        None => error,
    }
}

#[test]
fn missing_key_error_suggests_the_nearest_key() {
    assert_eq!(refused::<File>(r#"{"pth": "a"}"#), "missing property `path`, found `pth`: did you mean `path`?");
    assert_eq!(refused::<File>(r#"{"colour": "a"}"#), "missing property `path`");
    assert_eq!(refused::<Strict>(r#"{"pth": "a"}"#), "unknown property; did you mean `path`? at `/pth`");
    assert_eq!(refused::<Strict>(r#"{"path": "a", "pth": "a"}"#), "unknown property at `/pth`");
    assert_eq!(
        refused::<Folder>(r#"{"files": [{"path": "a"}, {"paht": "b"}]}"#),
        "missing property `path`, found `paht`: did you mean `path`? at `/files/1`"
    );
}

#[test]
fn missing_property_error_contains_the_line_and_column() {
    let error = serde_json::from_str::<File>("{\n  \"size\": 1\n}").unwrap_err();
    assert_eq!(error.to_string(), "missing property `path` at line 3 column 1");
}

#[test]
fn duplicate_property_is_refused() {
    assert_eq!(refused::<File>(r#"{"path": "a", "path": "b"}"#), "duplicate property at `/path`");
}

#[test]
fn decode_error_shows_the_pointer_but_not_the_value() {
    for (text, expected) in [
        (r#"{"files": [{"path": 1}]}"#, "expected a string, found an integer at `/files/0/path`"),
        (
            r#"{"files": [{"path": "a", "size": -1}]}"#,
            "expected a 64-bit unsigned integer, found a negative integer at `/files/0/size`",
        ),
        (r#"{"files": ["hidden"]}"#, "expected an object, found a string at `/files/0`"),
        (r#"{"files": {"hidden": 1}}"#, "expected an array, found an object at `/files`"),
        (r#""hidden""#, "expected an object, found a string"),
        ("null", "expected an object, found null"),
    ] {
        assert_eq!(refused::<Folder>(text), expected);
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(from_value::<Folder>(&value).unwrap_err().to_string(), expected);
    }
}

#[test]
fn syntax_errors_of_generated_types_are_unchanged() {
    let cut_off = serde_json::from_str::<Folder>("{\"files\": [\n  {\"path\": \"a\"},").unwrap_err();
    assert!(cut_off.is_eof());
    assert_eq!(cut_off.line(), 2);
    let misspelt = serde_json::from_str::<Folder>("{\"files\": [\n  {\"path\": \"a\"} x").unwrap_err();
    assert!(misspelt.is_syntax());
    assert_eq!((misspelt.line(), misspelt.column()), (2, 17));
    let in_a_union = serde_json::from_str::<Shape>("{\"kind\": \"circle\",\n x").unwrap_err();
    assert!(in_a_union.is_syntax());
    assert_eq!(in_a_union.line(), 2);
}

#[test]
fn unlisted_string_is_undeclared() {
    assert!(matches!(from_value(&json!({"event": "deleted"})).unwrap(), Event::Gone(_)));
    assert!(matches!(from_value(&json!({"event": "updated"})).unwrap(), Event::Known(_)));
    assert!(matches!(from_value(&json!({"event": "moved"})).unwrap(), Event::Known(_)));
}

#[test]
fn flattened_types_take_only_their_keys() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Both {
        #[serde(flatten)]
        file: File,
        #[serde(flatten)]
        shape: Shape,
        #[serde(flatten)]
        rest: BTreeMap<String, Value>,
    }
    let text = r#"{"path":"a","kind":"circle","radius":2,"more":[1]}"#;
    let both: Both = serde_json::from_str(text).unwrap();
    assert_eq!(both.rest, BTreeMap::from([("more".to_owned(), json!([1]))]));
    assert_eq!(serde_json::to_string(&both).unwrap(), text);
}

#[test]
fn null_leaves_an_optional_field_empty() {
    let file: File = serde_json::from_str(r#"{"size": null, "path": "a"}"#).unwrap();
    assert_eq!(file, File { path: "a".to_owned(), size: None });
    assert_eq!(to_value(&file).unwrap(), json!({"path": "a"}));
    assert_eq!(refused::<File>(r#"{"path": null}"#), "expected a string, found null at `/path`");
}

#[test]
fn object_with_many_unknown_keys_is_decoded_in_bounded_time() {
    let mut object: serde_json::Map<String, Value> =
        (0..200_000).map(|index| (format!("key{index}"), Value::Null)).collect();
    object.insert("path".to_owned(), "a".into());
    let value = Value::Object(object);
    let started = Instant::now();
    from_value::<File>(&value).unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

mcp_bindgen::mcp_tools!("tuple", path = "fixtures/features/tuple.json");

#[test]
fn first_items_of_an_array_have_their_own_types() {
    use tuple::TuplePlaceParams;

    let read = |key: &str, items: Value| from_value::<TuplePlaceParams>(&json!({"point": [1, 2], key: items}));
    for (key, items) in [
        ("point", json!([])),
        ("point", json!([1])),
        ("old", json!(["a"])),
        ("old", json!(["a", 1])),
        ("open", json!([])),
        ("open", json!(["a", 1, 2, 3])),
        ("in_parts", json!([{"a": 1, "b": "c"}, "d", "e"])),
    ] {
        let params = read(key, items.clone()).unwrap_or_else(|error| panic!("{key} {items}: {error}"));
        assert_eq!(to_value(&params).unwrap()[key], items, "{key}");
    }
    for (key, items, pointer) in [
        ("old", json!([1]), "/old/0"),
        ("old", json!(["a", 1, 1]), "/old/2"),
        ("open", json!([1]), "/open/0"),
        ("open", json!(["a", "b"]), "/open/1"),
        ("open", json!(["a", 1, "b"]), "/open/2"),
        ("in_parts", json!(["d"]), "/in_parts/0"),
    ] {
        assert_eq!(read(key, items.clone()).unwrap_err().pointer(), pointer, "{key} {items}");
    }
    let params = read("open", json!(["a", 1])).unwrap();
    let open = params.open.unwrap();
    assert_eq!((open.prefix.0.as_deref(), open.rest), (Some("a"), vec![1]));
    // A gap has no form in JSON.
    let gap: mcp_bindgen::Prefixed<(Option<String>,), i64> = mcp_bindgen::Prefixed { prefix: (None,), rest: vec![1] };
    assert_eq!(to_value(&gap).unwrap_err().to_string(), "item 0 is missing, and others follow it");
}

//! Every way into JSON and out of it reads and prints the same.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{CreateIssue, Draw, Either, Grow, Label, Place, ThreeWays, alike, by_hand, json, read, reprinted};

/// All the ways take it and print the same text, or none takes it.
#[track_caller]
fn every_way<T: Serialize + DeserializeOwned>(text: &str) {
    let value: Value = json(text);
    let borrowed: &Value = &value;
    let ways = [
        ("from_str", serde_json::from_str::<T>(text)),
        ("from_slice", serde_json::from_slice(text.as_bytes())),
        ("from_reader", serde_json::from_reader(text.as_bytes())),
        ("a stream", serde_json::Deserializer::from_str(text).into_iter().next().unwrap()),
        ("from_value", serde_json::from_value(value.clone())),
        ("&Value", T::deserialize(borrowed)),
    ];
    let mut printed = Vec::new();
    for (way, read) in ways {
        let Ok(read) = read else {
            printed.push((way, None));
            continue;
        };
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::to_vec(&read).unwrap(), text.as_bytes(), "{way}");
        let mut written = Vec::new();
        serde_json::to_writer(&mut written, &read).unwrap();
        assert_eq!(written, text.as_bytes(), "{way}");
        assert_eq!(serde_json::to_value(&read).unwrap(), json(&text), "{way}");
        assert_eq!(json(&serde_json::to_string_pretty(&read).unwrap()), json(&text), "{way}");
        printed.push((way, Some(text)));
    }
    for (way, text) in &printed {
        assert_eq!(text, &printed[0].1, "{way}, not as {}", printed[0].0);
    }
}

#[test]
fn every_serde_entry_point_gives_the_same_result() {
    let escapes = r#"{"owner":"a\n\t\"\\\/\u00e9\ud83d\ude00\u0000","\u0072epo":"r","title":"\u0022","body":""}"#;
    for text in [
        escapes,
        r#"{"owner":"o","repo":"r","title":"t","labels":[],"milestone":5.0}"#,
        r#" { "owner" : "o" , "repo" : "r" , "title" : "t" , "labels" : null , "x" : {"y":[{}]} } "#,
        r#"{"owner":"o","repo":"r"}"#,
        r#"{"owner":1,"repo":"r","title":"t"}"#,
        r#"["o","r","t"]"#,
        "null",
    ] {
        every_way::<CreateIssue>(text);
    }
    for text in [
        r#"{"shape":{"kind":"circle","radius":1e300}}"#,
        r#"{"shape":{"radius":2,"kind":"circle"},"two_tags":{"y":3,"version":2.0,"type":"a"}}"#,
        r#"{"shape":{"kind":"blob"}}"#,
    ] {
        every_way::<Draw>(text);
    }
    for text in [
        r#"{"text_or_number":18446744073709551615}"#,
        r#"{"text_or_number":"\u0041","overlap":{"a":"x","b":1},"untyped_first":[1,"a",-0.0,1e-7]}"#,
        r#"{"text_or_number":5.0,"by_type":5.0,"lists":[],"maps":{"n":1},"nullable":null}"#,
        r#"{"text_or_number":[]}"#,
    ] {
        every_way::<Either>(text);
    }
    every_way::<Label>(r#"{"labels":{"a\u0062":"c"},"free":{"k":[1.5,{"z":null}]},"none":{}}"#);
    every_way::<Label>(r#"{"labels":{},"none":{"a":1}}"#);
    every_way::<Place>(r#"{"point":[1,2.5],"open":["a",1,2]}"#);
    every_way::<Place>(r#"{"point":[1,2.5,3]}"#);
    every_way::<ThreeWays>(r#"{"a":null,"c":[],"e":{"x":""}}"#);
}

#[test]
fn escapes_decode_equally_in_bindings_and_handwritten_types() {
    let texts = [
        r#"{"owner":"a\n\t\"\\\/\u00e9\ud83d\ude00\u0000","\u0072epo":"r","title":"\u0022","body":""}"#,
        r#"{"owner":"\ud83d","repo":"r","title":"t"}"#,
        r#"{"owner":"a"#,
        r#"{"owner":"o","repo":"r","title":"t"} x"#,
        r#"{"owner":"o","repo":"r","title":"t",}"#,
        "",
    ];
    alike::<CreateIssue, by_hand::CreateIssue>(&texts);
}

#[derive(Debug, Serialize, Deserialize)]
struct Borrows<'a, P> {
    #[serde(borrow)]
    name: &'a str,
    params: P,
}

#[test]
fn borrowed_text_works_beside_parameters() {
    let text = r#"{"name":"plain","params":{"owner":"o\n","repo":"r","title":"t"}}"#;
    let read: Borrows<'_, CreateIssue> = serde_json::from_str(text).unwrap();
    assert_eq!((read.name, read.params.owner.as_str()), ("plain", "o\n"));
    assert_eq!(json(&serde_json::to_string(&read).unwrap()), json(text));
}

#[test]
fn absent_null_and_empty_round_trip() {
    for text in ["{}", r#"{"a":null}"#, r#"{"a":""}"#, r#"{"c":[],"d":false,"b":0}"#, r#"{"b":null,"e":null}"#] {
        assert_eq!(json(&reprinted::<ThreeWays>(text).unwrap()), json(text));
    }
}

#[test]
fn decode_error_contains_the_pointer() {
    let error = serde_json::from_str::<Vec<CreateIssue>>(r#"[{"owner":"o","repo":1,"title":"t"}]"#).unwrap_err();
    assert!(error.is_data(), "{error}");
    assert!(error.to_string().starts_with("expected a string, found an integer at `/repo`"), "{error}");
}

#[test]
fn deeply_nested_values_are_refused() {
    let deep = format!(r#"{{"text_or_number":1,"maps":{}1{}}}"#, r#"{"n":"#.repeat(5000), "}".repeat(5000));
    assert!(serde_json::from_str::<Either>(&deep).is_err());
    let mut tree = json!({ "value": "leaf" });
    for _ in 0..400 {
        tree = json!({ "value": "", "children": [tree] });
    }
    assert!(Grow::deserialize(&json!({ "tree": tree })).is_err());
    let _: Either = read(r#"{"text_or_number":1,"maps":{"n":{"n":{}}}}"#);
}

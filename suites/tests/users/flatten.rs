//! `#[serde(flatten)]` beside another flattened struct and a map of the rest: each key goes to one place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{Closed, CreateIssue, Grow, Shape, WithExtra, alike, by_hand, json, keys, read, reprinted};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Other {
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    priority: i64,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Request<P> {
    id: u32,
    #[serde(flatten)]
    params: P,
    #[serde(flatten)]
    other: Other,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Maybe<P> {
    id: u32,
    #[serde(flatten)]
    params: Option<P>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Alone<P> {
    id: u32,
    #[serde(flatten)]
    params: P,
}

const FULL: &str = r#"{"id":1,"owner":"o","repo":"r","title":"t","labels":[],"milestone":3,
    "priority":2,"trace":"x","unknown":{"a":[1,null]},"more":null}"#;

#[test]
fn flattened_struct_works_beside_a_map() {
    let texts = [
        FULL,
        r#"{"id":1,"owner":"o","repo":"r","title":"t","priority":2}"#,
        r#"{"owner":"o","z":1,"repo":"r","priority":-2,"a":2,"title":"t","id":4294967295,"body":"\u00e9\n\"\\"}"#,
        // Refused: a key is missing, of another type, or the whole is no object.
        r#"{"id":1,"owner":"o","repo":"r","priority":2}"#,
        r#"{"id":1,"owner":"o","repo":"r","title":"t"}"#,
        r#"{"id":1,"owner":7,"repo":"r","title":"t","priority":2}"#,
        r#"{"id":1,"owner":"o","repo":"r","title":"t","labels":[1],"priority":2}"#,
        r#"[1]"#,
        r#"{}"#,
    ];
    alike::<Request<CreateIssue>, Request<by_hand::CreateIssue>>(&texts);
}

#[test]
fn flattened_keys_are_written_once_and_not_in_the_map() {
    let request: Request<CreateIssue> = read(FULL);
    assert_eq!(request.rest.keys().collect::<Vec<_>>(), ["more", "unknown"]);
    assert_eq!(request.params.labels.as_deref(), Some(&[][..]));
    let text = serde_json::to_string(&request).unwrap();
    assert!(keys(&text).values().all(|times| *times == 1), "{text}");
    assert_eq!(json(&text), json(FULL));
    assert_eq!(serde_json::from_value::<Request<CreateIssue>>(json(FULL)).unwrap(), request);
    assert_eq!(serde_json::to_value(&request).unwrap(), json(FULL));
}

#[test]
fn optional_flattened_struct_is_present_or_absent() {
    let texts = [
        r#"{"id":1,"owner":"o","repo":"r","title":"t","more":1}"#,
        r#"{"id":1,"more":1}"#,
        r#"{"id":1}"#,
        r#"{"more":1}"#,
    ];
    alike::<Maybe<CreateIssue>, Maybe<by_hand::CreateIssue>>(&texts);
    assert_eq!(read::<Maybe<CreateIssue>>(r#"{"id":1,"more":1}"#).params, None);
}

#[test]
fn flattened_closed_struct_sees_only_its_own_keys() {
    let texts = [
        r#"{"id":1,"name":"n"}"#,
        r#"{"id":1,"name":"n","priority":3,"priority_of":1}"#,
        r#"{"id":1,"name":1,"priority":3}"#,
        r#"{"id":1,"name":"n","more":[true],"priority":3}"#,
    ];
    alike::<Request<Closed>, Request<by_hand::Closed>>(&texts);
}

#[test]
fn flattened_open_struct_takes_all_other_keys() {
    let texts = [
        r#"{"id":1,"label":"l","size":2,"a":"x","b":"y"}"#,
        r#"{"id":1,"label":"l","size":"2"}"#,
        r#"{"id":1,"label":"l","a":1}"#,
    ];
    alike::<Alone<WithExtra>, Alone<by_hand::WithExtra>>(&texts);
}

#[test]
fn flattened_tagged_union_round_trips() {
    let texts = [
        r#"{"id":1,"kind":"circle","radius":2.5}"#,
        r#"{"radius":2.5,"id":1,"kind":"circle"}"#,
        r#"{"id":1,"kind":"point"}"#,
        r#"{"id":1,"kind":"blob"}"#,
        r#"{"id":1,"radius":2.5}"#,
    ];
    alike::<Alone<Shape>, Alone<by_hand::Shape>>(&texts);
    // The other branches declare keys that a circle lacks, so that a binding keeps what it does not know.
    let printed = reprinted::<Alone<Shape>>(r#"{"radius":2.5,"id":1,"kind":"circle","side":1}"#);
    assert_eq!(printed.as_deref(), Some(r#"{"id":1,"kind":"circle","radius":2.5,"side":1}"#));
}

#[test]
fn nested_types_of_a_flattened_struct_are_decoded() {
    let texts = [
        r#"{"id":1,"tree":{"value":"a","children":[{"value":"b","children":[]},{"value":"c"}]},"priority":1}"#,
        r#"{"id":1,"tree":{"value":"a"},"expression":{"op":"and","all":[{"op":"not","of":{"op":"is","name":"x"}}]},"priority":1,"z":0}"#,
        r#"{"id":1,"tree":{"value":"a"},"expression":{"op":"or"},"priority":1}"#,
        r#"{"id":1,"tree":{"children":[]},"priority":1}"#,
    ];
    alike::<Request<Grow>, Request<by_hand::Grow>>(&texts);
}

#[test]
fn numbers_survive_flatten() {
    for number in [json!(i64::MIN), json!(u64::MAX), json!(-0.0), json!(1e300), json!(0.1), json!(5)] {
        let text = format!(r#"{{"id":1,"owner":"o","repo":"r","title":"t","priority":1,"rest":{number}}}"#);
        assert_eq!(json(&reprinted::<Request<CreateIssue>>(&text).unwrap()), json(&text));
    }
}

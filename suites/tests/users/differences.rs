//! Tests intended differences between bindings and hand-written types, which serde's derives cannot express.

use crate::{Closed, Count, CreateIssue, Either, Shape, ThreeWays, by_hand, keeps_numbers_as_text, read, reprinted};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
struct ByHandThreeWays {
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum ByHandObjects {
    Short { path: String },
    WithLine { path: String, line: i64 },
}

#[track_caller]
fn differ<Ours, ByHand>(text: &str, ours: Option<&str>, by_hand: Option<&str>)
where
    Ours: Serialize + for<'de> Deserialize<'de>,
    ByHand: Serialize + for<'de> Deserialize<'de>,
{
    assert_eq!(reprinted::<Ours>(text).as_deref(), ours, "{text}");
    assert_eq!(reprinted::<ByHand>(text).as_deref(), by_hand, "{text}, by hand");
}

#[test]
fn null_is_distinct_from_absent() {
    differ::<ThreeWays, ByHandThreeWays>(r#"{"a":null}"#, Some(r#"{"a":null}"#), Some("{}"));
}

#[test]
fn integral_floats_decode_as_integers_and_print_as_integers() {
    differ::<Count, by_hand::Count>(r#"{"plain":5.0}"#, Some(r#"{"plain":5}"#), None);
    let issue = r#"{"owner":"o","repo":"r","title":"t","milestone":3}"#;
    differ::<CreateIssue, by_hand::CreateIssue>(issue, Some(issue), Some(&issue.replace('3', "3.0")));
}

#[test]
fn integer_that_a_float_would_round_is_refused() {
    let text = r#"{"plain":1,"or_number":9007199254740993}"#;
    differ::<Count, by_hand::Count>(text, None, Some(r#"{"plain":1,"or_number":9007199254740992.0}"#));
}

#[test]
fn one_of_several_key_sets_is_required() {
    differ::<Closed, by_hand::Closed>("{}", None, Some("{}"));
}

#[test]
fn union_keeps_keys_that_its_first_branch_would_lose() {
    let text = r#"{"path":"p","line":1}"#;
    assert_eq!(reprinted::<ByHandObjects>(text).as_deref(), Some(r#"{"path":"p"}"#));
    let either: Either = read(&format!(r#"{{"text_or_number":1,"objects":{text}}}"#));
    assert_eq!(serde_json::to_string(&either.objects).unwrap(), text);
}

#[test]
fn array_is_not_decoded_as_an_object() {
    let printed = Some(r#"{"owner":"o","repo":"r","title":"t"}"#);
    differ::<CreateIssue, by_hand::CreateIssue>(r#"["o","r","t",null,null,null,null]"#, None, printed);
}

#[test]
fn float_below_a_tag_is_decoded_with_arbitrary_precision() {
    let text = r#"{"radius":1.5,"kind":"circle"}"#;
    let printed = Some(r#"{"kind":"circle","radius":1.5}"#);
    differ::<Shape, by_hand::Shape>(text, printed, printed.filter(|_| !keeps_numbers_as_text()));
}

#[test]
fn omitted_fields_do_not_shift_others_in_compact_messagepack() {
    let text = r#"{"owner":"o","repo":"r","title":"t","milestone":1.5}"#;
    let ours: CreateIssue = read(text);
    assert_eq!(rmp_serde::from_slice::<CreateIssue>(&rmp_serde::to_vec(&ours).unwrap()).unwrap(), ours);
    let by_hand: by_hand::CreateIssue = read(text);
    rmp_serde::from_slice::<by_hand::CreateIssue>(&rmp_serde::to_vec(&by_hand).unwrap()).unwrap_err();
}

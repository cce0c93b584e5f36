//! Bindings inside the types of a program: containers, structs with derives, enums of every representation.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Closed, CreateIssue, Grow, Label, Shape, alike, by_hand, json, keeps_numbers_as_text, read, reprinted};

const ISSUE: &str = r#"{"owner":"o","repo":"r","title":"t","labels":["a"],"milestone":1.5}"#;
const POINT: &str = r#"{"kind":"point"}"#;

#[test]
fn bindings_work_in_containers() {
    let of = |before: &str, after: &str| format!("{before}{ISSUE}{after}");
    let lists = [of("[", "]"), "[]".to_owned(), format!("[{ISSUE},{ISSUE}]"), of("[", ",null]"), of("", "")];
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    alike::<Vec<CreateIssue>, Vec<by_hand::CreateIssue>>(&lists);
    alike::<Vec<Option<CreateIssue>>, Vec<Option<by_hand::CreateIssue>>>(&lists);
    alike::<Option<CreateIssue>, Option<by_hand::CreateIssue>>(&["null", ISSUE, "{}", "1"]);
    alike::<Rc<Label>, Rc<by_hand::Label>>(&[r#"{"labels":{"a":"b"}}"#, "null"][..1]);
    alike::<Box<CreateIssue>, Box<by_hand::CreateIssue>>(&[ISSUE, "null"]);
    let maps = [of(r#"{"a":"#, "}"), "{}".to_owned(), of(r#"{"":"#, r#","b":1}"#)];
    let maps: Vec<&str> = maps.iter().map(String::as_str).collect();
    alike::<BTreeMap<String, CreateIssue>, BTreeMap<String, by_hand::CreateIssue>>(&maps);
    alike::<HashMap<Cow<'_, str>, CreateIssue>, HashMap<Cow<'_, str>, by_hand::CreateIssue>>(&maps);
    let tuples = [format!("[{ISSUE},{POINT},[1,2]]"), format!("[{ISSUE},{POINT}]"), format!("[{POINT},{ISSUE},[]]")];
    let tuples: Vec<&str> = tuples.iter().map(String::as_str).collect();
    alike::<(CreateIssue, Shape, Vec<u8>), (by_hand::CreateIssue, by_hand::Shape, Vec<u8>)>(&tuples);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Job<P, S> {
    job_name: String,
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    all_params: Vec<P>,
    #[serde(alias = "form", rename = "shape")]
    drawn: Option<S>,
    last: Box<P>,
}

#[test]
fn bindings_work_in_derived_structs() {
    let texts = [
        format!(r#"{{"jobName":"j","allParams":[{ISSUE}],"form":{POINT},"last":{ISSUE}}}"#),
        format!(r#"{{"jobName":"j","shape":null,"last":{ISSUE}}}"#),
        format!(r#"{{"jobName":"j","last":{ISSUE},"other":1}}"#),
        r#"{"jobName":"j","last":{}}"#.to_owned(),
    ];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    alike::<Job<CreateIssue, Shape>, Job<by_hand::CreateIssue, by_hand::Shape>>(&texts);
    let job: Job<CreateIssue, Shape> = read(texts[0]);
    assert_eq!(job, job.clone());
}

#[derive(Debug, Serialize, Deserialize)]
enum External<P, S> {
    Create(P),
    Draw(S),
    Both { create: P, draw: S },
    Pair(P, S),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Internal<P, S> {
    Create(P),
    Draw(S),
    Both { create: P, draw: S },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", content = "with", rename_all = "snake_case")]
enum Adjacent<P, S> {
    Create(P),
    Pair(P, S),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged<P, C, S> {
    Create(P),
    Closed(C),
    Draw(S),
    Many(Vec<P>),
    Rest(Value),
}

#[test]
fn bindings_work_in_enums_of_every_representation() {
    let inner = ISSUE.trim_matches(['{', '}']);
    let texts = [
        format!(r#"{{"Create":{ISSUE}}}"#),
        format!(r#"{{"Pair":[{ISSUE},{POINT}]}}"#),
        format!(r#"{{"Both":{{"create":{ISSUE},"draw":{POINT}}}}}"#),
        format!(r#"{{"Draw":{ISSUE}}}"#),
        format!(r#"{{"op":"create",{inner}}}"#),
        format!(r#"{{{inner},"op":"create","more":1}}"#),
        format!(r#"{{"op":"both","create":{ISSUE},"draw":{POINT}}}"#),
        r#"{"op":"draw","kind":"circle","radius":1.5}"#.to_owned(),
        r#"{"op":"draw","kind":"circle"}"#.to_owned(),
        r#"{"op":"create"}"#.to_owned(),
        format!(r#"{{"op":"create","with":{ISSUE}}}"#),
        format!(r#"{{"with":[{ISSUE},{POINT}],"op":"pair"}}"#),
        format!(r#"{{"with":{ISSUE},"op":"pair"}}"#),
        ISSUE.to_owned(),
        POINT.to_owned(),
        r#"{"name":"n"}"#.to_owned(),
        r#"{"kind":"square","side":0.5}"#.to_owned(),
        format!("[{ISSUE},{ISSUE}]"),
        "[1, 18446744073709551615, -9223372036854775808, 0.1, 1e300]".to_owned(),
        "null".to_owned(),
    ];
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    alike::<External<CreateIssue, Shape>, External<by_hand::CreateIssue, by_hand::Shape>>(&texts);
    alike::<Internal<CreateIssue, Shape>, Internal<by_hand::CreateIssue, by_hand::Shape>>(&texts);
    alike::<Adjacent<CreateIssue, Shape>, Adjacent<by_hand::CreateIssue, by_hand::Shape>>(&texts);
    alike::<Untagged<CreateIssue, Closed, Shape>, Untagged<by_hand::CreateIssue, by_hand::Closed, by_hand::Shape>>(
        &texts[..4],
    );
    type Ours = Untagged<CreateIssue, Grow, Shape>;
    type ByHand = Untagged<by_hand::CreateIssue, by_hand::Grow, by_hand::Shape>;
    // Derives read no double in a union where numbers are kept as text: `Rest` takes what has more keys than a branch.
    let circle = r#"{"kind":"circle","radius":1.5}"#;
    // The other shapes have keys that a circle lacks: a binding keeps them, and what stands beside them.
    let circle_with_op = r#"{"kind":"circle","radius":1.5,"op":"draw"}"#;
    let more = [(texts[4], ISSUE, ISSUE), (texts[5], ISSUE, ISSUE), (texts[7], circle_with_op, circle)];
    for (text, ours, printed) in more {
        assert_eq!(reprinted::<Ours>(text).as_deref(), Some(ours), "{text}");
        let by_hand = json(if keeps_numbers_as_text() { text } else { printed });
        assert_eq!(reprinted::<ByHand>(text).map(|printed| json(&printed)), Some(by_hand), "{text}, by hand");
    }
    texts.retain(|text| more.iter().all(|(more, ..)| text != more));
    alike::<Ours, ByHand>(&texts);
}

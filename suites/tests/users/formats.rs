//! toml, yaml and messagepack: what bindings print there they read again, and what the same types by hand print as well.

use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{
    CreateIssue, Draw, Either, Grow, Issue, Label, Place, Shape, ThreeWays, WithExtra, by_hand, json,
    keeps_numbers_as_text, read, reprinted, same,
};

/// A format, by what it makes of a value and back; TOML has no `null` and wants a table.
struct Format<T> {
    name: &'static str,
    print: fn(&T) -> Result<Vec<u8>, String>,
    read: fn(&[u8]) -> Result<T, String>,
}

fn text<E: ToString>(result: Result<String, E>) -> Result<Vec<u8>, String> {
    result.map(String::into_bytes).map_err(|error| error.to_string())
}

fn formats<T: Serialize + DeserializeOwned>() -> [Format<T>; 4] {
    [
        Format {
            name: "toml",
            print: |value| text(toml::to_string(value)),
            read: |bytes| toml::from_str(std::str::from_utf8(bytes).unwrap()).map_err(|error| error.to_string()),
        },
        Format {
            name: "yaml",
            print: |value| text(serde_saphyr::to_string(value)),
            read: |bytes| serde_saphyr::from_slice(bytes).map_err(|error| error.to_string()),
        },
        Format {
            name: "messagepack, named",
            print: |value| rmp_serde::to_vec_named(value).map_err(|error| error.to_string()),
            read: |bytes| rmp_serde::from_slice(bytes).map_err(|error| error.to_string()),
        },
        // As derives print, fields that are left out shift the others; bindings print keys.
        Format {
            name: "messagepack, compact",
            print: |value| rmp_serde::to_vec(value).map_err(|error| error.to_string()),
            read: |bytes| rmp_serde::from_slice(bytes).map_err(|error| error.to_string()),
        },
    ]
}

/// JSON -> type -> format -> type -> JSON is what it was, in the formats that can hold it.
#[track_caller]
fn survives<T: Serialize + DeserializeOwned + Debug>(given: &str) {
    let value: T = read(given);
    let first = serde_json::to_value(&value).unwrap();
    for format in formats::<T>() {
        if format.name == "toml" && (given.contains("null") || !first.is_object()) {
            continue;
        }
        let name = format.name;
        let printed = (format.print)(&value).unwrap_or_else(|error| panic!("{name}: {given} does not print: {error}"));
        let again = (format.read)(&printed)
            .unwrap_or_else(|error| panic!("{name}: {:?}: {error}", String::from_utf8_lossy(&printed)));
        let second = serde_json::to_value(&again).unwrap();
        assert_eq!(second, first, "{name}: {:?}", String::from_utf8_lossy(&printed));
    }
}

/// Either side reads what the other printed.
#[track_caller]
fn interchange<Ours, ByHand>(given: &str)
where
    Ours: Serialize + DeserializeOwned + Debug,
    ByHand: Serialize + DeserializeOwned + Debug,
{
    if keeps_numbers_as_text() && reprinted::<ByHand>(given).is_none() {
        return;
    }
    let (ours, by_hand): (Ours, ByHand) = (read(given), read(given));
    for (format, their) in formats::<Ours>().into_iter().zip(formats::<ByHand>()).take(3) {
        let name = format.name;
        let printed = (their.print)(&by_hand).unwrap();
        let read = (format.read)(&printed)
            .unwrap_or_else(|error| panic!("{name}: {:?}: {error}", String::from_utf8_lossy(&printed)));
        assert!(same(&serde_json::to_value(&read).unwrap(), &json(given)), "{name}: {given}");
        // Integral numbers print as integers here, which the types by hand read as well.
        let printed = (format.print)(&ours).unwrap();
        let read = (their.read)(&printed)
            .unwrap_or_else(|error| panic!("{name}: {:?}: {error}", String::from_utf8_lossy(&printed)));
        assert!(same(&serde_json::to_value(&read).unwrap(), &json(given)), "{name}: {given}");
    }
}

const ISSUE: &str =
    r#"{"owner":"o: #1","repo":"no","title":"- 'a'\n\"b\"\t\u00e9","labels":[],"assignees":["~","1"],"milestone":3}"#;

/// A call has the form of MCP, by its keys, in every format.
#[test]
fn calls_round_trip_in_every_format() {
    survives::<crate::github::GithubCall>(
        r#"{"name":"create_issue","arguments":{"owner":"o","repo":"r","title":"t","labels":[]}}"#,
    );
}

#[test]
fn values_round_trip_in_every_format() {
    survives::<CreateIssue>(ISSUE);
    survives::<CreateIssue>(r#"{"owner":"null","repo":"true","title":"","body":"a\n\nb\n","milestone":0.1}"#);
    survives::<Draw>(r#"{"shape":{"kind":"circle","radius":2.5},"two_tags":{"type":"a","version":2,"y":-3}}"#);
    survives::<Draw>(r#"{"shape":{"kind":"point"},"by_ref":{"species":"dog","tricks":["sit"]}}"#);
    survives::<Label>(
        r#"{"labels":{"a.b":"c","":"d","e f":"2026-11-21"},"scores":{"x":{"points":-1}},"free":{"k":[1.5,{"z":[[]]}]},"named":{"n":1e300}}"#,
    );
    survives::<Either>(
        r#"{"text_or_number":1.5,"by_type":7,"one_or_many":["a"],"objects":{"path":"p","line":1,"more":true}}"#,
    );
    survives::<Either>(r#"{"text_or_number":"1","overlap":{"b":1,"a":"x"},"lists":[1,2],"untyped_first":{"a":[1]}}"#);
    survives::<Grow>(
        r#"{"tree":{"value":"a","children":[{"value":"b","children":[]}]},"expression":{"op":"not","of":{"op":"is","name":"x"}}}"#,
    );
    survives::<Place>(r#"{"point":[1,2.5],"at_least":["a",1],"open":["a",1,2],"single":["a"]}"#);
    survives::<Issue>(
        r#"{"number":7,"title":"t","state":"reopened","html_url":"u","labels":[{"name":"n"}],"user":{"login":"l","id":1}}"#,
    );
}

#[test]
fn null_and_absent_round_trip_in_formats_with_null() {
    for given in [r#"{"a":null,"c":null}"#, "{}", r#"{"a":"null","b":0,"c":[]}"#] {
        survives::<ThreeWays>(given);
    }
    survives::<Either>(r#"{"text_or_number":1,"nullable":null,"untyped_first":[null,{"a":null}]}"#);
    survives::<Label>(r#"{"labels":{},"free":{"n":null}}"#);
}

#[test]
fn bindings_and_handwritten_types_are_interchangeable() {
    interchange::<CreateIssue, by_hand::CreateIssue>(ISSUE);
    interchange::<Shape, by_hand::Shape>(r#"{"kind":"circle","radius":2.5}"#);
    interchange::<Shape, by_hand::Shape>(r#"{"kind":"point"}"#);
    interchange::<Label, by_hand::Label>(
        r#"{"labels":{"a b":"c"},"scores":{"x":{"points":1}},"open":{"l":[true]},"none":{}}"#,
    );
    interchange::<Grow, by_hand::Grow>(
        r#"{"tree":{"value":"a","children":[{"value":"b"}]},"expression":{"op":"and","all":[]}}"#,
    );
}

#[test]
fn null_of_yaml_is_an_object_without_properties() {
    let error = serde_saphyr::from_str::<WithExtra>("~").unwrap_err().to_string();
    assert!(error.contains("missing one of: `label` or `title`"), "{error}");
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Config<P, S> {
    name: String,
    shapes: Vec<S>,
    #[serde(flatten)]
    params: P,
}

#[test]
fn flattened_parameters_work_in_a_configuration_file() {
    let given = r#"{"name":"n","shapes":[{"kind":"point"},{"kind":"square","side":0.5}],"owner":"o","repo":"r","title":"t","milestone":2}"#;
    survives::<Config<CreateIssue, Shape>>(given);
    interchange::<Config<CreateIssue, Shape>, Config<by_hand::CreateIssue, by_hand::Shape>>(given);
    let written = "name = \"n\"\nowner = \"o\"\nrepo = 'r'\ntitle = \"t\"\nmilestone = 5\n\n[[shapes]]\nkind = \"circle\"\nradius = 1\n";
    let config: Config<CreateIssue, Shape> = toml::from_str(written).unwrap();
    assert_eq!(config.params.milestone, Some(5.0));
    let error = toml::from_str::<Config<CreateIssue, Shape>>(&written.replace("'r'", "7")).unwrap_err();
    assert!(error.to_string().contains("repo"), "{error}");
}

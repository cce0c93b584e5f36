//! The page of drift rules agrees with the table of kinds, and with what drift finds.

use mcp_bindgen_model::{Config, Date, Snapshot};
use mcp_bindgen_schema::drift::{self, ChangeKind, Class};
use serde_json::{Value, json};

const PAGE: &str = include_str!("../../../docs/book/src/changes.md");

/// The sections of the page: id, text and example.
fn sections() -> Vec<(&'static str, String, Vec<Value>)> {
    let section = |section: &'static str| {
        let (id, rest) = section.split_once("\n\n").unwrap();
        let (text, example) = rest.split_once("\n\n```json\n").unwrap();
        let example = example.split_once("\n```").unwrap().0;
        let lines = example.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (id, text.replace('\n', " "), lines)
    };
    PAGE.split("\n## ").skip(1).map(section).collect()
}

/// A line of an example as a whole list.
fn snapshot(line: &Value) -> Snapshot {
    if line.get("tools").is_some() {
        return Snapshot::parse(&line.to_string()).unwrap();
    }
    let mut tool = json!({ "name": "find", "inputSchema": { "type": "object" } });
    tool.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
    Snapshot { tools: vec![tool], ..Snapshot::default() }
}

#[test]
fn page_has_a_section_for_each_rule() {
    let ids: Vec<&str> = sections().into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ChangeKind::ALL.iter().map(|kind| kind.id()).collect::<Vec<_>>());
    let numbered: Vec<String> = (1..=ids.len()).map(|number| format!("MCPD{number:04}")).collect();
    assert_eq!(ids, numbered, "ids are given once, in order");
}

#[test]
fn examples_on_the_page_produce_their_rule_and_class() {
    let mut wrong = Vec::new();
    for ((id, text, example), kind) in sections().into_iter().zip(ChangeKind::ALL) {
        let (class, title) = text.split_once(": ").unwrap();
        assert!(
            title.to_lowercase().starts_with(&kind.title().to_lowercase()),
            "{id}: {title} is not {}",
            kind.title()
        );
        let [old, new] = example.as_slice() else { panic!("{id} has not two lines") };
        let changes = drift::diff(&snapshot(old), &snapshot(new));
        let found = changes.iter().any(|change| change.kind == *kind && change.class.name() == class.to_lowercase());
        if !found {
            let found: Vec<_> = changes.iter().map(|change| format!("{} {change}", change.kind.id())).collect();
            wrong.push(format!("{id} {class}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn order_of_arguments_is_not_silent_for_bindings_without_positions() {
    let tools = |required: [&str; 2]| {
        let text = json!({ "type": "string" });
        let schema = json!({ "type": "object", "properties": { "from": text, "to": text }, "required": required });
        snapshot(&json!({ "inputSchema": schema }))
    };
    let config = |rust: &str| {
        let text = format!("[servers.s]\ncommand = \"x\"\n{rust}");
        Config::parse_toml(&text, "mcp.toml".as_ref()).unwrap().server("s").unwrap().drift_rules.clone()
    };
    for (rust, class) in [("", Class::Silent), ("rust = { named = true }", Class::Compatible)] {
        let mut changes = drift::diff(&tools(["from", "to"]), &tools(["to", "from"]));
        drift::apply(&config(rust), &mut changes, Date::today());
        let classes: Vec<_> = changes.iter().map(|change| (change.kind, change.class)).collect();
        assert_eq!(classes, [(ChangeKind::ArgumentMeaning, class)]);
    }
}

//! The official JSON Schema tests as tool lists: one list a file, one tool a group of tests.

use std::fs;
use std::path::Path;

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_samples::Fallible;
use mcp_samples::corpus::{List, Origin, json_files, stem};
use mcp_samples::role_name;
use serde_json::{Map, Value, json};

use crate::selection::Selection;

const DRAFTS: [(&str, &str); 2] = [
    ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
    ("draft7", "http://json-schema.org/draft-07/schema#"),
];

/// Schemas that are on a server of the suite's own: nothing is fetched here.
const REMOTE: &str = "http://localhost:1234";

/// The keywords that make a schema depend on being the root of its document.
const ROOTED: [&str; 7] = ["$ref", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef"];

pub(crate) fn read(suites: &Path, selection: &Selection) -> Fallible<Vec<List>> {
    let mut lists = Vec::new();
    for (draft, dialect) in DRAFTS {
        for path in json_files(&suites.join("json-schema-test-suite").join(draft))? {
            let file = stem(&path);
            let name = format!("{draft}-{file}");
            if file != "refRemote" && selection.selects(&name) {
                let groups: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
                lists.push(list(name, &groups, dialect)?);
            }
        }
    }
    Ok(lists)
}

fn list(name: String, groups: &[Value], dialect: &str) -> Fallible<List> {
    let mut list = List { name, origin: Origin::Suite, snapshot: Snapshot::default(), samples: Vec::new() };
    for group in groups {
        let schema = group.get("schema").ok_or("a group of tests has no schema")?;
        if schema.to_string().contains(REMOTE) {
            continue;
        }
        let index = list.snapshot.tools.len();
        let movable = !mentions(schema, &ROOTED);
        list.snapshot.tools.push(tool(index, group, schema, movable, dialect));
        list.samples.push(samples(&list, index, Role::Output, group, |data| data));
        if movable {
            list.samples.push(samples(&list, index, Role::Input, group, |data| json!({ "value": data })));
        }
    }
    Ok(list)
}

fn tool(index: usize, group: &Value, schema: &Value, movable: bool, dialect: &str) -> Value {
    let input = if movable {
        let mut schema = schema.clone();
        // The dialect is named once, at the root.
        let inner = schema.as_object_mut().and_then(|members| members.remove("$schema"));
        let dialect = inner.unwrap_or_else(|| dialect.into());
        json!({ "$schema": dialect, "type": "object", "properties": { "value": schema }, "required": ["value"] })
    } else {
        json!({ "type": "object" })
    };
    let output = match schema {
        Value::Object(members) if members.contains_key("$schema") => schema.clone(),
        // A `$ref` of the older dialects hides its siblings, not its `$schema`.
        Value::Object(members) => {
            let mut all = Map::from_iter([("$schema".to_owned(), dialect.into())]);
            all.extend(members.clone());
            Value::Object(all)
        }
        other => json!({ "$schema": dialect, "allOf": [other] }),
    };
    json!({
        "name": format!("group_{index}"),
        "description": group.get("description"),
        "inputSchema": input,
        "outputSchema": output,
    })
}

fn samples(list: &List, index: usize, role: Role, group: &Value, place: impl Fn(Value) -> Value) -> String {
    let text = |value: &Value| value.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let verdict = |verdict: bool| -> (Vec<String>, Vec<Value>) {
        let tests = group.get("tests").and_then(Value::as_array).into_iter().flatten();
        tests
            .filter(|test| test.get("valid") == Some(&Value::Bool(verdict)))
            .map(|test| {
                let data = test.get("data").cloned().unwrap_or_default();
                (format!("{} / {}", text(group), text(test)), place(data))
            })
            .unzip()
    };
    let (valid_labels, valid) = verdict(true);
    let (invalid_labels, invalid) = verdict(false);
    json!({
        "server": list.name,
        "tool": list.tool_name(index),
        "index": index,
        "side": role_name(role),
        "valid": valid,
        "invalid": invalid,
        "valid_labels": valid_labels,
        "invalid_labels": invalid_labels,
    })
    .to_string()
}

fn mentions(schema: &Value, keywords: &[&str]) -> bool {
    match schema {
        Value::Object(members) => {
            members.iter().any(|(key, value)| keywords.contains(&key.as_str()) || mentions(value, keywords))
        }
        Value::Array(items) => items.iter().any(|item| mentions(item, keywords)),
        _ => false,
    }
}

//! Finds the differences between two snapshots of a server, and whether code with bindings of the old one still
//! works.
//!
//! Shapes are compared, not text. For each tool there are three questions. Can the server refuse a value that the old
//! bindings may send? Can it answer with a value that they cannot read? Would regenerated code have another Rust
//! interface? Undecidable cases count as breaking.

mod cases;
mod change;
mod equality;
mod failure;
mod format;
pub(crate) mod inclusion;
mod interface;
mod memo;
mod messages;
mod offers;
pub(crate) mod pattern;
mod rust;
mod samples;
mod schemas;
mod types;
mod validity;
pub(crate) mod version;

use std::collections::HashSet;

pub use change::{Change, ChangeKind, Class, Signatures, Witness, apply, grouped, told, untold};
use mcp_bindgen_model::{Snapshot, pointer_segment};
use serde_json::{Map, Value, json};

use self::rust::renamed;
use crate::keys::in_order;
use crate::{Role, names};

/// Returns the changes between two snapshots, sorted by the names of tools; empty if neither code nor people would
/// notice a difference.
///
/// ```
/// use mcp_bindgen_model::Snapshot;
/// use mcp_bindgen_schema::drift::{self, Class};
///
/// let old = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#)?;
/// let new = Snapshot::parse(
///     r#"{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]}"#,
/// )?;
/// let changes = drift::diff(&old, &new);
/// assert_eq!(changes[0].to_string(), "breaking    find /inputSchema/properties/q: new required property");
/// assert_eq!(changes[0].witness.as_ref().map(|witness| witness.value().to_string()), Some("{}".to_owned()));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[must_use]
pub fn diff(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    let mut changes = server_changes(old, new);
    offers::changes(old, new, &mut changes);
    for (name, pair) in pairs(&old.tools, &new.tools, "name") {
        match pair {
            (Some(old), Some(new)) => tool_changes(name, old, new, &mut changes),
            (Some(old), None) => {
                changes.push(refused(name, old, ChangeKind::ToolRemoved, "", "the tool was removed"));
            }
            (None, _) => changes.push(Change::new(name, Class::Compatible, ChangeKind::ToolAdded, "", "new tool")),
        }
    }
    renamed_tools(old, new, &mut changes);
    changes
}

/// An item of the old list, and of the new.
type Pair<'v> = (Option<&'v Value>, Option<&'v Value>);

/// Returns the items of two lists in pairs: by the text under a key and, as a text may be there twice, by which of that
/// text an item is.
fn pairs<'v>(old: &'v [Value], new: &'v [Value], key: &str) -> Vec<(&'v str, Pair<'v>)> {
    let name = |item: &'v Value| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let names = in_order(&old.iter().chain(new).map(name).collect::<Vec<_>>());
    let mut groups = vec![(Vec::new(), Vec::new()); names.len()];
    for (place, item) in old.iter().chain(new).enumerate() {
        let group = names.binary_search(&name(item)).ok().and_then(|group| groups.get_mut(group));
        let Some((before, now)) = group else { continue };
        let list = if place < old.len() { before } else { now };
        list.push(item);
    }
    let mut pairs = Vec::new();
    for (name, (before, now)) in names.into_iter().zip(groups) {
        for place in 0..before.len().max(now.len()) {
            pairs.push((name, (before.get(place).copied(), now.get(place).copied())));
        }
    }
    pairs
}

/// Returns a change after which no call of a tool is accepted.
fn refused(name: &str, old: &Value, kind: ChangeKind, pointer: &str, detail: &str) -> Change {
    let witness = schemas::arguments(&input_schema(old)).map(Witness::Sent);
    Change { witness, ..Change::new(name, Class::Breaking, kind, pointer, detail) }
}

fn server_changes(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    use ChangeKind::{Capabilities, Instructions, ServerInfo};
    let version = |snapshot: &Snapshot| snapshot.protocol_version.clone().map(Value::from);
    let instructions = |snapshot: &Snapshot| snapshot.instructions.clone().map(Value::from);
    let mut changes = Vec::new();
    for (key, kind, old, new) in &[
        ("protocolVersion", ServerInfo, version(old), version(new)),
        ("serverInfo", ServerInfo, old.server_info.clone(), new.server_info.clone()),
        ("capabilities", Capabilities, old.capabilities.clone(), new.capabilities.clone()),
        ("clientCapabilities", Capabilities, old.client_capabilities.clone(), new.client_capabilities.clone()),
        ("instructions", Instructions, instructions(old), instructions(new)),
    ] {
        let Some(detail) = presence(old.as_ref(), new.as_ref()) else { continue };
        let class = if *kind == Instructions { Class::Wording } else { Class::Compatible };
        changes.push(Change::new("", class, *kind, format!("/{key}"), detail));
    }
    changes
}

fn tool_changes(name: &str, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let (Some(before), Some(now)) = (old.as_object(), new.as_object()) else {
        let detail = "a malformed tool changed";
        changes.push(Change::new(name, Class::Breaking, ChangeKind::ToolMalformed, "", detail));
        return;
    };
    for key in keys_of_both(before, now) {
        match key {
            "inputSchema" => {
                changes.extend(schemas::changes(name, Role::Input, &input_schema(old), &input_schema(new)));
            }
            "outputSchema" if [old, new].iter().any(|tool| tool.get(key).is_some_and(Value::is_object)) => {
                output_changes(name, old, new, changes);
            }
            "execution" if is_task(new) && !is_task(old) => {
                let detail = "calls have to be tasks now: bindings make none";
                changes.push(refused(name, old, ChangeKind::TaskRequired, "/execution/taskSupport", detail));
            }
            _ => {
                let Some(detail) = presence(before.get(key), now.get(key)) else { continue };
                let (class, kind) = match key {
                    "title" | "description" | "icons" => (Class::Wording, ChangeKind::Wording),
                    "annotations" => (Class::Compatible, ChangeKind::Hints),
                    _ => (Class::Compatible, ChangeKind::ToolMember),
                };
                let pointer = format!("/{}", pointer_segment(key));
                changes.push(Change::new(name, class, kind, pointer, detail));
            }
        }
    }
}

/// Adds the tools whose Rust names have changed.
fn renamed_tools(old: &Snapshot, new: &Snapshot, changes: &mut Vec<Change>) {
    let (before, now) = (names_of(&old.tools), names_of(&new.tools));
    if before == now {
        return;
    }
    let schema = |list: &Snapshot, name: &str| {
        let is_named = |tool: &&Value| tool.get("name").and_then(Value::as_str) == Some(name);
        list.tools.iter().find(is_named).map(input_schema)
    };
    let calls = |wire: &str, taker: &str| {
        let compile = interface::takes_calls(&schema(old, wire)?, &schema(new, taker)?);
        compile.then(|| ["(..)", "(..)"].map(str::to_owned))
    };
    let methods = |_: bool, keys: &[&str]| tool_names(keys).into_iter().map(|names| names.method).collect();
    let variants = |_: bool, keys: &[&str]| tool_names(keys).into_iter().map(|names| names.variant).collect();
    let mut found = renamed(&before, &now, "tool", &methods, &calls);
    let known: HashSet<&str> = found.iter().map(|method| method.wire).collect();
    let other_calls = |wire: &str, taker: &str| if known.contains(wire) { None } else { calls(wire, taker) };
    let others = renamed(&before, &now, "tool", &variants, &other_calls);
    found.extend(others.into_iter().filter(|tool| !known.contains(tool.wire)));
    changes.extend(found.iter().map(|tool| tool.change(tool.wire, "/name", "")));
}

/// Returns the names in Rust of the tools with these names.
fn tool_names(keys: &[&str]) -> Vec<names::ToolNames> {
    names::tools(keys, &vec![None; keys.len()])
}

/// Returns the names that are there, each once.
fn names_of(list: &[Value]) -> Vec<&str> {
    in_order(&list.iter().filter_map(|item| item.get("name")?.as_str()).collect::<Vec<_>>())
}

/// Returns `true` if a server only accepts calls of the tool as tasks.
fn is_task(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").and_then(Value::as_str) == Some("required")
}

/// Returns the schema of a tool's arguments; a missing one allows any object.
fn input_schema(tool: &Value) -> Value {
    tool.get("inputSchema").filter(|schema| schema.is_object()).cloned().unwrap_or_else(|| json!({ "type": "object" }))
}

fn output_changes(name: &str, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    let schema = |tool: &Value| tool.get("outputSchema").filter(|schema| schema.is_object()).cloned();
    let pointer = "/outputSchema";
    match (schema(old), schema(new)) {
        (Some(old), Some(new)) => changes.extend(schemas::changes(name, Role::Output, &old, &new)),
        (None, Some(_)) => {
            let detail = "new: regenerated handlers return it instead of the untyped result";
            changes.push(Change::new(name, Class::Source, ChangeKind::OutputAdded, pointer, detail));
        }
        (Some(old), None) => {
            let gone = Change::new(name, Class::Breaking, ChangeKind::OutputRemoved, pointer, "gone");
            let witness = schemas::unreadable(&old).map(Witness::Answered);
            changes.push(Change { witness, ..gone });
        }
        (None, None) => {}
    }
}

fn presence(old: Option<&Value>, new: Option<&Value>) -> Option<&'static str> {
    match (old, new) {
        (None, Some(_)) => Some("new"),
        (Some(_), None) => Some("gone"),
        (old, new) if old != new => Some("changed"),
        _ => None,
    }
}

fn keys_of_both<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> Vec<&'a str> {
    let mut keys: Vec<&str> = old.keys().map(String::as_str).collect();
    keys.extend(new.keys().map(String::as_str).filter(|key| !old.contains_key(*key)));
    keys
}

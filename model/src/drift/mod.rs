//! How two snapshots of a server differ, and whether code that was bound to the old one still fits the new one.

mod keywords;
mod schema;
mod union;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use self::schema::{Comparison, Side};
use crate::{Snapshot, printable};

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The tool's wire name; empty where it is the server itself that changed.
    pub tool: String,
    /// What happened.
    pub kind: ChangeKind,
    /// Whether calls that fitted the old snapshot may fail now, or their results be something else.
    pub breaking: bool,
    /// Where in the tool, as a JSON pointer.
    pub pointer: String,
    /// What it is, in words that are safe to show.
    pub detail: String,
}

/// The kinds of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// A tool is new.
    ToolAdded,
    /// A tool is gone.
    ToolRemoved,
    /// Text for people, or an example, is another.
    Wording,
    /// A property or an output is new.
    Added,
    /// A property or the output is gone.
    Removed,
    /// A property has to be there now.
    NowRequired,
    /// A property may be absent now.
    NowOptional,
    /// A value is of another type or structure.
    Retyped,
    /// Fewer values are valid.
    Tightened,
    /// More values are valid.
    Loosened,
    /// Something else that bindings do not depend on.
    Other,
}

impl ChangeKind {
    /// The name, for machines: `now-required`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ToolAdded => "tool-added",
            Self::ToolRemoved => "tool-removed",
            Self::Wording => "wording",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::NowRequired => "now-required",
            Self::NowOptional => "now-optional",
            Self::Retyped => "retyped",
            Self::Tightened => "tightened",
            Self::Loosened => "loosened",
            Self::Other => "other",
        }
    }
}

/// Two columns: whether it breaks, and what it is.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = if self.breaking { "breaking" } else { "compatible" };
        let tool = if self.tool.is_empty() { "server".to_owned() } else { printable(&self.tool) };
        write!(f, "{class:<10}  {tool}")?;
        if !self.pointer.is_empty() {
            write!(f, " {}", printable(&self.pointer))?;
        }
        write!(f, ": {}", self.detail)
    }
}

/// What changed from one snapshot to the other, tool by tool in the order of their names; empty where code and people
/// would notice nothing.
///
/// ```
/// use mcp_model::{Snapshot, drift};
///
/// let old = Snapshot::parse(r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#)?;
/// let new = Snapshot::parse(
///     r#"{"tools":[{"name":"find","inputSchema":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}]}"#,
/// )?;
/// let changes = drift::diff(&old, &new);
/// assert_eq!(changes[0].to_string(), "breaking    find /inputSchema/properties/q: new required property");
/// # Ok::<(), mcp_model::FileError>(())
/// ```
pub fn diff(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    let mut changes = server_changes(old, new);
    let (old_tools, new_tools) = (by_name(&old.tools), by_name(&new.tools));
    let mut keys: Vec<_> = old_tools.keys().chain(new_tools.keys()).copied().collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        match (old_tools.get(&key), new_tools.get(&key)) {
            (Some(old), Some(new)) => tool_changes(key.0, old, new, &mut changes),
            (Some(_), None) => changes.push(whole_tool(key.0, ChangeKind::ToolRemoved, true, "the tool is gone")),
            (None, Some(_)) => changes.push(whole_tool(key.0, ChangeKind::ToolAdded, false, "new tool")),
            (None, None) => {}
        }
    }
    changes
}

/// The tools by name and, as a name may be there twice, by which of that name it is.
fn by_name(tools: &[Value]) -> BTreeMap<(&str, usize), &Value> {
    let mut map = BTreeMap::new();
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        let count = seen.entry(name).or_default();
        map.insert((name, *count), tool);
        *count += 1;
    }
    map
}

fn whole_tool(tool: &str, kind: ChangeKind, breaking: bool, detail: &str) -> Change {
    Change { tool: tool.to_owned(), kind, breaking, pointer: String::new(), detail: detail.to_owned() }
}

fn server_changes(old: &Snapshot, new: &Snapshot) -> Vec<Change> {
    let version = |snapshot: &Snapshot| snapshot.protocol_version.clone().map(Value::from);
    let instructions = |snapshot: &Snapshot| snapshot.instructions.clone().map(Value::from);
    let list = |items: &[Value]| Some(Value::from(items.to_vec()));
    [
        ("protocolVersion", ChangeKind::Other, version(old), version(new)),
        ("serverInfo", ChangeKind::Other, old.server_info.clone(), new.server_info.clone()),
        ("capabilities", ChangeKind::Other, old.capabilities.clone(), new.capabilities.clone()),
        ("clientCapabilities", ChangeKind::Other, old.client_capabilities.clone(), new.client_capabilities.clone()),
        ("instructions", ChangeKind::Wording, instructions(old), instructions(new)),
        ("prompts", ChangeKind::Other, list(&old.prompts), list(&new.prompts)),
        ("resourceTemplates", ChangeKind::Other, list(&old.resource_templates), list(&new.resource_templates)),
    ]
    .into_iter()
    .filter_map(|(key, kind, old, new)| {
        let detail = changed(old.as_ref(), new.as_ref())?;
        Some(Change { tool: String::new(), kind, breaking: false, pointer: format!("/{key}"), detail })
    })
    .collect()
}

fn tool_changes(name: &str, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else {
        if old != new {
            changes.push(whole_tool(name, ChangeKind::Retyped, true, "a tool that is no object changed"));
        }
        return;
    };
    for key in keys_of_both(old, new) {
        let (old, new) = (old.get(key), new.get(key));
        let pointer = format!("/{}", escaped(key));
        match (key, old, new) {
            ("inputSchema", ..) => {
                compare(Side::Input, name, old.unwrap_or(&Value::Null), new.unwrap_or(&Value::Null), changes);
            }
            ("outputSchema", Some(old), Some(new)) => compare(Side::Output, name, old, new, changes),
            _ => {
                let Some(detail) = changed(old, new) else {
                    continue;
                };
                let (kind, breaking) = match key {
                    "title" | "description" | "icons" => (ChangeKind::Wording, false),
                    "outputSchema" if new.is_some() => (ChangeKind::Added, false),
                    "outputSchema" => (ChangeKind::Removed, true),
                    _ => (ChangeKind::Other, false),
                };
                changes.push(Change { tool: name.to_owned(), kind, breaking, pointer, detail });
            }
        }
    }
}

fn compare(side: Side, tool: &str, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    if old != new {
        Comparison::new(side, tool, old, new, changes).run();
    }
}

fn changed(old: Option<&Value>, new: Option<&Value>) -> Option<String> {
    match (old, new) {
        (None, Some(_)) => Some("new".to_owned()),
        (Some(_), None) => Some("gone".to_owned()),
        (old, new) if old != new => Some("changed".to_owned()),
        _ => None,
    }
}

fn keys_of_both<'a>(old: &'a Map<String, Value>, new: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
    let added = new.keys().filter(|key| !old.contains_key(*key));
    old.keys().chain(added).map(String::as_str)
}

/// A key as a segment of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

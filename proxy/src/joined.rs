//! Tools that join similar tools of several servers.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_bindgen_model::{JoinedTool, printable};
use mcp_bindgen_schema::JoinedTools;
use serde_json::{Map, Value};

use super::attached::Attached;

/// The tools of `[tools]` by name, each with the servers and tools that it joins.
pub(super) type Wanted = Arc<BTreeMap<String, JoinedTool>>;

/// Like tools of several servers under one name.
pub(super) struct Joined {
    made: JoinedTools,
    /// Each with its name on the server.
    members: Vec<(Arc<Attached>, String)>,
}

impl Joined {
    /// Joins tools; `None` if they are not alike.
    pub(super) fn of(name: &str, tools: Vec<(Arc<Attached>, Value)>) -> Option<Self> {
        let named: Vec<(&str, &Value)> = tools.iter().map(|(attached, tool)| (&*attached.name, tool)).collect();
        let made = JoinedTools::of(name, &named)
            .inspect_err(|why| tracing::warn!("`[tools.{}]` is not served: {}", printable(name), printable(why)))
            .ok()?;
        let wire = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        Some(Self { made, members: tools.iter().map(|(attached, tool)| (attached.clone(), wire(tool))).collect() })
    }

    /// Returns the servers with their tools.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        self.members.iter().map(|(attached, tool)| (&*attached.name, tool.as_str()))
    }

    /// Returns it as clients see it.
    pub(super) fn item(&self) -> &Value {
        &self.made.tool
    }

    /// Takes the argument that says which server is meant, and returns the server with its tool.
    ///
    /// # Errors
    /// Fails if it names none of the servers.
    pub(super) fn take(&self, arguments: &mut Map<String, Value>) -> Result<(Arc<Attached>, String), String> {
        let argument = &self.made.argument;
        let server = arguments.shift_remove(argument);
        let is_meant =
            |(attached, _): &&(Arc<Attached>, String)| server.as_ref().and_then(Value::as_str) == Some(&*attached.name);
        self.members.iter().find(is_meant).cloned().ok_or_else(|| {
            let servers: Vec<String> =
                self.members.iter().map(|(attached, _)| format!("`{}`", attached.name)).collect();
            format!("expected one of {} at `/{argument}`", servers.join(", "))
        })
    }
}

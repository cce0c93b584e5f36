//! What servers offer, as a text.

use std::sync::Arc;

use mcp_runtime::Client;
use minijinja::Environment;
use serde_json::{Map, Value, json};

use super::names::public_name;
use super::params::Names;
use super::plain;
use super::server::{SectionServer, selects};
use super::template;

/// What the templates of inventories see.
const VARIABLES: [&str; 3] = ["server_names", "tool_count", "tools_by_server"];

/// The servers of a section that shows what they offer.
#[derive(Clone)]
pub(super) struct Inventory {
    pub(super) servers: Arc<[SectionServer]>,
    pub(super) template: Option<Arc<str>>,
}

/// Whether a tool of a server may be called at all, by their names: what policies refuse is not shown.
pub(super) type Admits<'a> = &'a dyn Fn(&str, &str) -> bool;

/// One tool as it is shown: nothing of it is markup any more.
struct Line {
    name: String,
    sentence: String,
}

impl Inventory {
    /// What is wrong with its template.
    pub(super) fn problems(&self, environment: &Environment<'_>) -> Vec<String> {
        let names = Names::these(VARIABLES);
        self.template.as_deref().map(|source| template::problems(environment, source, &names)).unwrap_or_default()
    }

    /// The text, with headings of servers on this level.
    pub(super) fn text(
        &self,
        environment: &Environment<'_>,
        level: usize,
        admits: Admits<'_>,
    ) -> Result<String, String> {
        match &self.template {
            Some(source) => template::render(environment, source, &self.variables(admits)),
            None => Ok(self.listing(level, admits)),
        }
    }

    fn listing(&self, level: usize, admits: Admits<'_>) -> String {
        let mut blocks = vec!["The following external tools are available via MCP:".to_owned()];
        for server in self.servers.iter() {
            blocks.push(format!("{} {}", "#".repeat(level), plain::name(server.name())));
            blocks.push(match lines(server, admits) {
                None => "Its tools are known once it is connected.".to_owned(),
                Some(lines) if lines.is_empty() => "It offers no tools.".to_owned(),
                Some(lines) => lines.iter().map(Line::bullet).collect::<Vec<_>>().join("\n"),
            });
        }
        blocks.join("\n\n")
    }

    fn variables(&self, admits: Admits<'_>) -> Value {
        let by_server: Map<String, Value> = self
            .servers
            .iter()
            .map(|server| {
                let tools = lines(server, admits).unwrap_or_default().into_iter();
                let tools = tools.map(|line| json!({ "name": line.name, "description": line.sentence })).collect();
                (plain::name(server.name()), Value::Array(tools))
            })
            .collect();
        let count: usize = by_server.values().filter_map(Value::as_array).map(Vec::len).sum();
        let names: Vec<String> = self.servers.iter().map(|server| plain::name(server.name())).collect();
        json!({ "server_names": names.join(", "), "tool_count": count, "tools_by_server": by_server })
    }
}

impl Line {
    fn bullet(&self) -> String {
        match self.sentence.is_empty() {
            true => format!("- `{}`", self.name),
            false => format!("- `{}` - {}", self.name, self.sentence),
        }
    }
}

/// The tools of a server that a model gets; `None` where nobody knows them yet.
fn lines(server: &SectionServer, admits: Admits<'_>) -> Option<Vec<Line>> {
    let handle = server.handle();
    let line = |name: &str, public: &str, description: Option<&str>| {
        let is_offered = admits(server.name(), name) && handle.allows(name) && selects(server.selection(), name);
        is_offered
            .then(|| Line { name: plain::name(public), sentence: plain::sentence(description.unwrap_or_default()) })
    };
    let bound = |name: &str| handle.bound.and_then(|spec| spec.tools.iter().find(|tool| tool.name == name));
    let Some(known) = handle.tools() else {
        let tools = handle.bound?.tools.iter();
        return Some(tools.filter_map(|tool| line(tool.name, tool.prefixed, tool.description)).collect());
    };
    let client = Client::behind(&handle.caller());
    let text = |tool: &Value, key: &str| tool.get(key).and_then(Value::as_str).map(str::to_owned);
    let of_tool = |tool: &Value| {
        let name = text(tool, "name")?;
        match bound(&name) {
            Some(tool) => line(tool.name, tool.prefixed, tool.description),
            None => {
                line(&name, &public_name(server.name(), client.as_ref(), &name), text(tool, "description").as_deref())
            }
        }
    };
    Some(known.iter().filter_map(of_tool).collect())
}

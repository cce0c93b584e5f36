//! The inventory of servers, as a text.

use std::sync::Arc;

use mcp_bindgen_runtime::__private::Offer;
use mcp_bindgen_schema::names::PrefixedNames;
use serde_json::{Map, Value, json};

use super::server::{SectionServer, selects};
use crate::json::{name, text};
use crate::text::{plain, quotable_name, sentence, unmarked};

/// The variables of an inventory's template.
pub(super) const VARIABLES: [&str; 4] = ["server_names", "tool_count", "tools_by_server", "instructions_by_server"];
/// The longest instructions of a server that are shown, in characters.
const LONGEST_INSTRUCTIONS: usize = 4_000;

/// The servers of a section that shows their tools.
#[derive(Clone)]
pub(super) struct Inventory {
    pub(super) servers: Arc<[SectionServer]>,
    /// `true` if the instructions of servers are shown.
    pub(super) instructs: bool,
}

/// One tool to show, without markup.
struct Line {
    name: String,
    sentence: String,
}

/// The tools of each server that are allowed by name, and their prefixed names.
pub(super) struct Admitted {
    pub(super) by_server: Vec<(String, Offer)>,
    pub(super) names: PrefixedNames,
}

impl Admitted {
    pub(super) fn admits(&self, server: &str, tool: &str) -> bool {
        let of_it = self.by_server.iter().find(|(name, _)| name == server);
        of_it.is_none_or(|(_, offer)| offer.admits(tool))
    }
}

impl Inventory {
    /// Describes the servers, with headings on this level.
    pub(super) fn listing(&self, level: usize, admitted: &Admitted) -> String {
        let mut blocks = vec!["The following external tools are available via MCP:".to_owned()];
        for server in self.servers.iter() {
            blocks.push(format!("{} {}", "#".repeat(level), quotable_name(server.name())));
            blocks.extend(self.instructions(server));
            blocks.push(match lines(server, admitted) {
                None => "Its tools are listed once it is connected.".to_owned(),
                Some(lines) if lines.is_empty() => "It has no tools.".to_owned(),
                Some(lines) => lines.iter().map(Line::bullet).collect::<Vec<_>>().join("\n"),
            });
        }
        blocks.join("\n\n")
    }

    /// Returns the instructions of a server as a quotation without markup, if they are enabled.
    fn instructions(&self, server: &SectionServer) -> Option<String> {
        let text = server.handle().instructions().filter(|_| self.instructs)?;
        let head: String = text.chars().take(LONGEST_INSTRUCTIONS).collect();
        let cut = if head.len() < text.len() { "\n…" } else { "" };
        let plain = format!("{}{cut}", plain(&head));
        let quoted = plain.lines().map(|line| format!("> {}", unmarked(line)).trim_end().to_owned());
        Some(quoted.collect::<Vec<_>>().join("\n")).filter(|quoted| !plain.is_empty() && !quoted.is_empty())
    }

    /// Returns the values of [`VARIABLES`].
    pub(super) fn variables(&self, admitted: &Admitted) -> Value {
        let (mut names, mut by_server, mut instructions) = (Vec::new(), Map::new(), Map::new());
        for server in self.servers.iter() {
            let name = quotable_name(server.name());
            let tools = lines(server, admitted).unwrap_or_default().into_iter();
            let tools = tools.map(|line| json!({ "name": line.name, "description": line.sentence })).collect();
            by_server.insert(name.clone(), Value::Array(tools));
            instructions.extend(self.instructions(server).map(|text| (name.clone(), Value::String(text))));
            names.push(name);
        }
        let count: usize = by_server.values().filter_map(Value::as_array).map(Vec::len).sum();
        json!({
            "server_names": names.join(", "), "tool_count": count, "tools_by_server": by_server,
            "instructions_by_server": instructions,
        })
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

/// Returns the tools of a server under their names for the model, without those that policies deny. Returns `None` if
/// they are unknown.
fn lines(server: &SectionServer, admitted: &Admitted) -> Option<Vec<Line>> {
    let handle = server.handle();
    let listed = handle.listed()?;
    let bound = handle.bound.map(|spec| spec.tools).unwrap_or_default();
    let selected = listed.iter().filter_map(|tool| Some((tool, name(tool)?)));
    let selected: Vec<(&Value, &str)> = selected.filter(|(_, name)| handle.allows(name)).collect();
    let wires: Vec<&str> = selected.iter().map(|(_, name)| *name).collect();
    let names = admitted.names.tools(server.name(), &wires);
    let of_tool = |((tool, wire), name): (&(&Value, &str), String)| {
        let is_offered = admitted.admits(server.name(), wire) && selects(server.selection(), wire);
        let bound = bound.iter().find(|bound| bound.name == *wire);
        let viewed = handle.configured().and_then(|config| config.views.get(wire)?.description.as_deref());
        let declared = bound.map_or_else(|| text(tool, "description"), |bound| bound.description);
        let sentence = sentence(viewed.or(declared).unwrap_or_default());
        is_offered.then(|| Line { name: quotable_name(&name), sentence })
    };
    Some(selected.iter().zip(names).filter_map(of_tool).collect())
}

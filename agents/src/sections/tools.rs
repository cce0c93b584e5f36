//! The offer of a rendered prompt, tool by tool: the input of a set of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mcp_bindgen_runtime::{CallTool, ConnectError, DynCallTool, ServerSpec, ToolSpec};
use serde_json::{Value, json};

use super::function::SectionTool;
use super::offered::{Offer, RenderedServer};
use super::render::RenderedPrompt;
use super::server::{Handle, failures, selects};

/// The tools of a rendered prompt, in the order in which models see them.
#[derive(Debug)]
#[non_exhaustive]
pub struct Offered {
    /// The tools.
    pub tools: Vec<OfferedTool>,
    /// The errors of servers whose tools are unknown and could not be listed.
    pub failed: Vec<ConnectError>,
}

/// A tool of a rendered prompt.
#[derive(Clone)]
#[non_exhaustive]
pub enum OfferedTool {
    /// A server's, as it is known from its list or a snapshot.
    Live {
        /// The server's name.
        server: String,
        /// The tool, as the server sent it.
        tool: Value,
        /// The caller, with the section's layers around.
        caller: Arc<dyn DynCallTool>,
    },
    /// A server's, as it was bound.
    Bound {
        /// The server.
        server: &'static ServerSpec,
        /// The tool.
        tool: &'static ToolSpec,
        /// The caller, with the section's layers around.
        caller: Arc<dyn DynCallTool>,
    },
    /// A function of the program, or one that opens sections.
    Function(SectionTool),
}

impl OfferedTool {
    /// Returns the server's name, if it is the tool of one, and the tool's name on the server or in the program.
    #[must_use]
    pub fn names(&self) -> (Option<&str>, &str) {
        match self {
            Self::Live { server, tool, .. } => (Some(server), wire_name(tool).unwrap_or_default()),
            Self::Bound { server, tool, .. } => (Some(server.name), tool.name),
            Self::Function(tool) => (None, tool.name()),
        }
    }
}

/// The offer of one declaration.
pub(super) enum What<'p> {
    /// A server's tools as listed, including malformed and repeated ones.
    Server(&'p RenderedServer, Vec<Value>),
    Function(&'p SectionTool),
}

impl RenderedPrompt {
    /// Returns all tools that are offered; those of one declaration are sorted by name. Servers with unknown tools
    /// are connected and listed concurrently, except those of closed sections. A server that could not be listed is
    /// tried again after 30 seconds at the earliest.
    pub async fn offered(&self) -> Offered {
        let (groups, failed) = self.groups().await;
        let mut tools = Vec::new();
        for (_, what) in groups {
            match what {
                What::Function(tool) => tools.push(OfferedTool::Function(tool.clone())),
                What::Server(server, listed) => {
                    let mut by_name = BTreeMap::new();
                    for tool in listed {
                        let Some(name) = wire_name(&tool).map(str::to_owned) else { continue };
                        by_name.entry(name).or_insert(tool);
                    }
                    tools.extend(by_name.into_iter().map(|(name, tool)| {
                        let (spec, caller) = (server.handle.bound, server.caller());
                        match spec.and_then(|spec| Some((spec, spec.tools.iter().find(|tool| tool.name == name)?))) {
                            Some((server, tool)) => OfferedTool::Bound { server, tool, caller },
                            None => OfferedTool::Live { server: server.name().to_owned(), tool, caller },
                        }
                    }));
                }
            }
        }
        Offered { tools, failed }
    }

    /// Returns the tools grouped by declaration, each with the call of `open_sections` that added it. A tool of a
    /// server is in one group only.
    pub(super) async fn groups(&self) -> (Vec<(usize, What<'_>)>, Vec<ConnectError>) {
        let unknown =
            self.servers.iter().filter(|server| server.handle.bound.is_none() && server.handle.tools().is_none());
        let failed = failures(unknown.map(|server| server.handle.list_unless_failing())).await;
        let mut seen: Vec<BTreeSet<String>> = vec![BTreeSet::new(); self.servers.len()];
        let of_offer = |(since, offer): &(usize, Offer)| {
            let what = match offer {
                Offer::Tool { index } => What::Function(&self.tools.get(*index)?.tool),
                Offer::Server { index, only } => {
                    let (server, seen) = (self.servers.get(*index)?, seen.get_mut(*index)?);
                    let is_first = seen.is_empty();
                    let (handle, offer) = (&server.handle, server.caller.offer());
                    let mut own = BTreeSet::new();
                    let mut tools = handle.listed();
                    tools.retain(|tool| match wire_name(tool) {
                        // Items that are not tools are reported once.
                        None => is_first,
                        Some(name) => {
                            let is_its = selects(only.as_ref(), name) && handle.allows(name) && offer.admits(name);
                            let is_new = is_its && !seen.contains(name);
                            if is_new {
                                own.insert(name.to_owned());
                            }
                            is_new
                        }
                    });
                    seen.extend(own);
                    What::Server(server, tools)
                }
            };
            Some((*since, what))
        };
        let groups = self.order.iter().filter_map(of_offer).collect();
        (groups, failed)
    }
}

impl Handle {
    /// Returns its tools as they are known, those of bindings in the form of a list.
    pub(super) fn listed(&self) -> Vec<Value> {
        match (self.tools(), self.bound) {
            (Some(known), _) => known.to_vec(),
            (None, Some(spec)) => spec.tools.iter().map(|tool| json!({ "name": tool.name })).collect(),
            (None, None) => Vec::new(),
        }
    }
}

pub(super) fn wire_name(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

impl std::fmt::Debug for OfferedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (server, tool) = self.names();
        f.debug_struct("OfferedTool").field("server", &server).field("tool", &tool).finish_non_exhaustive()
    }
}

//! What a rendered prompt offers, tool by tool: what a set of tools is made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::future::join_all;
use mcp_runtime::{CallTool, ConnectError, DynCallTool, ServerSpec, ToolSpec};
use serde_json::Value;

use super::function::SectionTool;
use super::render::{Offer, RenderedPrompt, RenderedServer};
use super::server::selects;

/// What a rendered prompt offers, in the order in which models are to be told of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Offered {
    /// The tools.
    pub tools: Vec<OfferedTool>,
    /// Why the tools of some servers are not among them: nobody knows them, and they could not be listed.
    pub failed: Vec<ConnectError>,
}

/// One tool that a rendered prompt offers.
#[derive(Clone)]
#[non_exhaustive]
pub enum OfferedTool {
    /// A server's, as it is known from its list or a snapshot.
    Live {
        /// The server's name.
        server: String,
        /// The tool, as the server sent it.
        tool: Value,
        /// What calls it, with the section's layers around.
        caller: Arc<dyn DynCallTool>,
    },
    /// A server's, as it was bound.
    Bound {
        /// The server.
        server: &'static ServerSpec,
        /// The tool.
        tool: &'static ToolSpec,
        /// What calls it, with the section's layers around.
        caller: Arc<dyn DynCallTool>,
    },
    /// A function of the program, or one that opens sections.
    Function(SectionTool),
}

impl OfferedTool {
    /// The server's name, where it is a server's, and the name that the server, or the program, knows the tool by.
    #[must_use]
    pub fn names(&self) -> (Option<&str>, &str) {
        match self {
            Self::Live { server, tool, .. } => (Some(server), wire_name(tool).unwrap_or_default()),
            Self::Bound { server, tool, .. } => (Some(server.name), tool.name),
            Self::Function(tool) => (None, tool.name()),
        }
    }
}

impl RenderedPrompt {
    /// All that is offered, tool by tool. Servers whose tools nobody knows are connected and listed, side by side; nothing
    /// else is started, and what stands in a section that is closed never is.
    pub async fn offered(&self) -> Offered {
        let unknown =
            self.servers.iter().filter(|server| server.handle.bound.is_none() && server.handle.tools().is_none());
        let listing = unknown.map(|server| async move { server.handle.list().await });
        let failed = join_all(listing).await.into_iter().filter_map(Result::err).collect();
        let mut seen = BTreeSet::new();
        let mut tools = Vec::new();
        for offer in &self.order {
            match offer {
                Offer::Tool { index } => {
                    tools.extend(self.tools.get(*index).map(|rendered| OfferedTool::Function(rendered.tool.clone())));
                }
                Offer::Server { index, only } => {
                    let Some(server) = self.servers.get(*index) else { continue };
                    tools.extend(server.offered().into_iter().filter(|tool| {
                        let (_, name) = tool.names();
                        selects(only.as_ref(), name) && seen.insert((*index, name.to_owned()))
                    }));
                }
            }
        }
        Offered { tools, failed }
    }
}

impl RenderedServer {
    /// Those of its tools that are known and may be used.
    fn offered(&self) -> Vec<OfferedTool> {
        let (handle, caller) = (&self.handle, &self.caller);
        let tools: Vec<OfferedTool> = match (handle.bound, handle.tools()) {
            (Some(server), None) => {
                let bound = |tool| OfferedTool::Bound { server, tool, caller: caller.clone() };
                server.tools.iter().map(bound).collect()
            }
            (_, known) => {
                let named = known.iter().flat_map(|tools| tools.iter()).filter(|tool| wire_name(tool).is_some());
                let live = |tool: &Value| OfferedTool::Live {
                    server: handle.name.clone(),
                    tool: tool.clone(),
                    caller: caller.clone(),
                };
                named.map(live).collect()
            }
        };
        let offer = caller.offer();
        let may_be_called = |name: &str| handle.allows(name) && offer.admits(name);
        tools.into_iter().filter(|tool| may_be_called(tool.names().1)).collect()
    }
}

fn wire_name(tool: &Value) -> Option<&str> {
    tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

impl std::fmt::Debug for OfferedTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (server, tool) = self.names();
        f.debug_struct("OfferedTool").field("server", &server).field("tool", &tool).finish_non_exhaustive()
    }
}

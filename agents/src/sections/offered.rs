//! The servers and tools of the sections that are shown.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_model::{ServerConfig, printable};
use mcp_bindgen_runtime::{CallTool, DynCallTool};

use super::check::Placed;
use super::error::{PromptWarning, RenderError};
use super::function::SectionTool;
use super::inventory::Admitted;
use super::placed::Inner;
use super::server::{Handle, SectionServer};
use super::state::Visibility;
use super::view::{Seen, View};

/// An entry of the offer, in order.
#[derive(Clone, Debug)]
pub(super) enum Offer {
    /// Tools of a server: all, or those of these globs.
    Server {
        index: usize,
        only: Option<Arc<[String]>>,
    },
    Tool(RenderedTool),
}

/// A server of an open section.
#[derive(Clone)]
pub struct RenderedServer {
    pub(super) handle: Arc<Handle>,
    pub(super) caller: Arc<dyn DynCallTool>,
    section: String,
    /// The sections whose layers are around it.
    governors: BTreeSet<usize>,
}

/// A tool that belongs to no server: a function of an open section, or a tool that opens sections.
#[derive(Clone, Debug)]
pub struct RenderedTool {
    tool: SectionTool,
    section: Option<String>,
}

impl RenderedServer {
    /// Returns the server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    /// Returns the dotted key of the section that declares it.
    #[must_use]
    pub fn section(&self) -> &str {
        &self.section
    }

    /// Returns its configuration, if known.
    #[must_use]
    pub fn config(&self) -> Option<&ServerConfig> {
        self.handle.configured()
    }

    /// Returns the service that calls its tools, including the layers of the sections that declare it.
    #[must_use]
    pub fn caller(&self) -> Arc<dyn DynCallTool> {
        self.caller.clone()
    }
}

impl RenderedTool {
    /// Returns the tool.
    #[must_use]
    pub fn tool(&self) -> &SectionTool {
        &self.tool
    }

    /// Returns the dotted key of its section; `None` for tools that open sections.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }
}

/// The servers and tools of open sections.
#[derive(Clone, Default)]
pub(super) struct Offered {
    pub(super) servers: Vec<RenderedServer>,
    /// Each with the call of `open_sections` by which it came.
    pub(super) order: Vec<(usize, Offer)>,
    pub(super) warnings: Vec<PromptWarning>,
}

impl Offered {
    /// Returns the offer of the sections that are shown, with the tools that open others.
    pub(super) fn of(view: &View<'_>, seen: &[Seen<'_>], ours: Vec<(usize, SectionTool)>) -> Result<Self, RenderError> {
        // Among what came at once, what opens sections is first: providers cut long lists at their end, and without it
        // nothing else is reached. The rest is in the order of the sections.
        let ours = ours.into_iter().map(|(since, tool)| (since, Offer::Tool(RenderedTool { tool, section: None })));
        let mut offered = Self { order: ours.collect(), ..Self::default() };
        let mut shown: Vec<&Seen<'_>> = seen.iter().filter(|seen| seen.visibility == Visibility::Full).collect();
        shown.sort_by_key(|seen| seen.since);
        for Seen { node, held, since, .. } in shown {
            let functions = node.parts.tools.iter().cloned();
            let functions = functions.map(|tool| RenderedTool { tool, section: Some(node.path.clone()) });
            offered.order.extend(functions.map(|function| (*since, Offer::Tool(function))));
            for server in view.inner.servers(node, held)? {
                if let Some(index) = offered.declare(&server, node)? {
                    offered.order.push((*since, Offer::Server { index, only: server.selection().cloned() }));
                }
            }
        }
        offered.order.sort_by_key(|(since, _)| *since);
        for server in &mut offered.servers {
            server.caller = view.inner.governed(&server.handle, &server.governors);
        }
        Ok(offered)
    }

    /// Says now what would go wrong once a model opens a section.
    pub(super) fn refuse_what_would_not_hold(&self, view: &View<'_>, seen: &[Seen<'_>]) -> Result<(), RenderError> {
        let closed = seen.iter().filter(|seen| seen.visibility == Visibility::Summary && seen.is_for_the_model);
        for node in closed.flat_map(|seen| view.enabled_from(seen.node)) {
            for server in node.parts.fixed() {
                self.replaced(server, node)?;
            }
        }
        Ok(())
    }

    /// Returns the server with a name, and its index.
    fn chosen(&self, name: &str) -> Option<(usize, &RenderedServer)> {
        self.servers.iter().enumerate().find(|(_, chosen)| chosen.name() == name)
    }

    /// Returns the warning that another server is used in place of a declared one. It is an error if layers of the
    /// section would not apply.
    fn replaced(&self, server: &SectionServer, node: &Placed) -> Result<Option<PromptWarning>, RenderError> {
        let chosen = self.chosen(server.name());
        let differs = chosen.and_then(|(_, chosen)| Some((chosen, chosen.handle.difference(&server.handle())?)));
        let Some((chosen, difference)) = differs else { return Ok(None) };
        let (name, used, skipped) = (server.name().to_owned(), chosen.section.clone(), node.path.clone());
        if node.parts.layers.is_empty() {
            let difference = difference.to_owned();
            return Ok(Some(PromptWarning::DuplicateServer { name, used, skipped, difference }));
        }
        let message = format!(
            "section `{used}` already declares `{}` {difference}, so the policies and layers of this one would not \
             apply; use clones of one `SectionServer` in both, or rename one of them",
            printable(&name)
        );
        Err(RenderError::Server { section: skipped, message })
    }

    /// Adds a server, and returns its index; `None` if another one is used in its place.
    fn declare(&mut self, server: &SectionServer, node: &Placed) -> Result<Option<usize>, RenderError> {
        if let Some(warning) = self.replaced(server, node)? {
            self.warnings.push(warning);
            return Ok(None);
        }
        let index = self.chosen(server.name()).map_or(self.servers.len(), |(index, _)| index);
        if index == self.servers.len() {
            let (handle, section) = (server.handle(), node.path.clone());
            let caller = handle.caller.clone();
            self.servers.push(RenderedServer { handle, caller, section, governors: BTreeSet::new() });
        }
        if let Some(chosen) = self.servers.get_mut(index).filter(|_| !node.parts.layers.is_empty()) {
            chosen.governors.insert(node.index);
        }
        Ok(Some(index))
    }
}

/// Returns the callable tools of servers, given the shown sections.
pub(super) fn admitted(view: &View<'_>, seen: &[Seen<'_>]) -> Result<Admitted, RenderError> {
    Ok(admitted_by(view.inner, &Offered::of(view, seen, Vec::new())?.servers))
}

/// Returns the callable tools of these servers.
pub(super) fn admitted_by(inner: &Inner, servers: &[RenderedServer]) -> Admitted {
    let by_server = servers.iter().map(|server| (server.name().to_owned(), server.caller.offer())).collect();
    Admitted { by_server, names: inner.names(servers.iter().map(|server| server.handle.clone())) }
}

impl fmt::Debug for RenderedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedServer")
            .field("name", &self.name())
            .field("section", &self.section)
            .finish_non_exhaustive()
    }
}

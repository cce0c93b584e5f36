//! The servers and tools of the sections that are shown.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_model::{ServerConfig, printable};
use mcp_bindgen_runtime::{CallTool, Client, DynCallTool};

use super::admitted::{Admits, Admitted};
use super::check::Placed;
use super::error::{PromptWarning, RenderError};
use super::function::SectionTool;
use super::placed::Inner;
use super::section::Declared;
use super::server::{Handle, Layering, SectionServer};
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
    Tool {
        index: usize,
    },
}

/// A server of an open section.
#[derive(Clone)]
pub struct RenderedServer {
    pub(super) handle: Arc<Handle>,
    pub(super) caller: Arc<dyn DynCallTool>,
    section: String,
}

/// A tool that belongs to no server: a function of an open section, or a tool that opens sections.
#[derive(Clone, Debug)]
pub struct RenderedTool {
    pub(super) tool: SectionTool,
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
        self.handle.config.as_ref().or_else(|| self.handle.client.as_ref().map(Client::config))
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

/// One thing that a section offers.
struct Item {
    since: usize,
    what: What,
}

enum What {
    Server(SectionServer, usize),
    /// Of this section, or ours.
    Tool(SectionTool, Option<usize>),
}

fn gather(view: &View<'_>, seen: Seen, items: &mut Vec<Item>) -> Result<(), RenderError> {
    let Seen { index, since, visibility: Visibility::Full, .. } = seen else { return Ok(()) };
    let Some(held) = view.held.get(index) else { return Ok(()) };
    let tools = view.inner.functions(index).into_iter().map(|tool| What::Tool(tool, Some(index)));
    let servers = view.inner.servers(index, held)?.into_iter().map(|server| What::Server(server, index));
    items.extend(tools.chain(servers).map(|what| Item { since, what }));
    Ok(())
}

/// A server that is used, and the sections that declare it.
pub(super) struct Chosen {
    handle: Arc<Handle>,
    section: String,
    governors: BTreeMap<usize, Vec<Layering>>,
}

impl Chosen {
    pub(super) fn rendered(self, inner: &Inner) -> RenderedServer {
        let caller = inner.governed(&self.handle, &self.governors);
        RenderedServer { caller, handle: self.handle, section: self.section }
    }
}

#[derive(Default)]
pub(super) struct Offered {
    pub(super) servers: Vec<Chosen>,
    pub(super) tools: Vec<RenderedTool>,
    pub(super) order: Vec<(usize, Offer)>,
    pub(super) warnings: Vec<PromptWarning>,
}

impl Offered {
    /// Returns the offer of the sections that are shown, with the tools that open others.
    pub(super) fn of(view: &View<'_>, seen: &[Seen], ours: Vec<(usize, SectionTool)>) -> Result<Self, RenderError> {
        let mut items = Vec::new();
        for seen in seen {
            gather(view, *seen, &mut items)?;
        }
        items.extend(ours.into_iter().map(|(since, tool)| Item { since, what: What::Tool(tool, None) }));
        // By since when. Among what came at once, what opens sections is first: providers cut long lists at their end, and
        // without it nothing else is reached. The rest is in the order of the sections.
        items.sort_by_key(|item| (item.since, !matches!(item.what, What::Tool(_, None))));
        let mut offered = Self::default();
        items.into_iter().try_for_each(|item| offered.take(item, view.inner))?;
        Ok(offered)
    }

    /// Says now what would go wrong once a model opens a section.
    pub(super) fn refuse_what_would_not_hold(&self, view: &View<'_>, seen: &[Seen]) -> Result<(), RenderError> {
        let closed = seen.iter().filter(|seen| seen.visibility == Visibility::Summary && seen.is_for_the_model);
        for node in
            closed.flat_map(|seen| view.enabled_from(seen.index)).filter_map(|index| view.inner.nodes.get(index))
        {
            for declared in &node.parts.servers {
                let Declared::Fixed(server) = declared else { continue };
                self.known(server, node)?;
            }
        }
        Ok(())
    }

    /// Returns the index of a server among the used ones, or its difference from the one with its name.
    fn known(
        &self,
        server: &SectionServer,
        node: &Placed,
    ) -> Result<Option<Result<usize, PromptWarning>>, RenderError> {
        let Some(index) = self.servers.iter().position(|chosen| chosen.handle.name == server.name()) else {
            return Ok(None);
        };
        let Some(chosen) = self.servers.get(index) else { return Ok(None) };
        let Some(difference) = chosen.handle.difference(&server.handle()) else { return Ok(Some(Ok(index))) };
        let (name, used, skipped) = (server.name().to_owned(), chosen.section.clone(), node.path.clone());
        if node.parts.layers.is_empty() {
            return Ok(Some(Err(PromptWarning::DuplicateServer { name, used, skipped, difference })));
        }
        let message = format!(
            "section `{used}` already declares `{}` {difference}, so the policies and layers of this one would not \
             apply; use clones of one `SectionServer` in both, or rename one of them",
            printable(&name)
        );
        Err(RenderError::Server { section: skipped, message })
    }

    fn take(&mut self, Item { since, what }: Item, inner: &Inner) -> Result<(), RenderError> {
        match what {
            What::Tool(tool, section) => {
                let section = section.and_then(|index| inner.nodes.get(index)).map(|node| node.path.clone());
                self.order.push((since, Offer::Tool { index: self.tools.len() }));
                self.tools.push(RenderedTool { tool, section });
                Ok(())
            }
            What::Server(server, index) => self.take_server(since, &server, index, inner),
        }
    }

    fn take_server(
        &mut self,
        since: usize,
        server: &SectionServer,
        section: usize,
        inner: &Inner,
    ) -> Result<(), RenderError> {
        let Some(node) = inner.nodes.get(section) else { return Ok(()) };
        let index = match self.known(server, node)? {
            Some(Ok(index)) => index,
            Some(Err(warning)) => {
                self.warnings.push(warning);
                return Ok(());
            }
            None => {
                let (handle, section) = (server.handle(), node.path.clone());
                self.servers.push(Chosen { handle, section, governors: BTreeMap::new() });
                self.servers.len() - 1
            }
        };
        if let Some(chosen) = self.servers.get_mut(index).filter(|_| !node.parts.layers.is_empty()) {
            chosen.governors.insert(section, node.parts.layers.clone());
        }
        self.order.push((since, Offer::Server { index, only: server.selection().cloned() }));
        Ok(())
    }
}

/// Which tools of servers may be called where these sections are shown.
pub(super) fn admitted(view: &View<'_>, seen: &[Seen]) -> Result<Admitted, RenderError> {
    let Offered { servers, .. } = Offered::of(view, seen, Vec::new())?;
    let servers: Vec<RenderedServer> = servers.into_iter().map(|chosen| chosen.rendered(view.inner)).collect();
    Ok(admitted_by(view.inner, &servers))
}

/// Which tools of these servers may be called.
pub(super) fn admitted_by(inner: &Inner, servers: &[RenderedServer]) -> Admitted {
    let of_server = |server: &RenderedServer| {
        let offer = server.caller.offer();
        let admits: Admits = Box::new(move |tool| offer.admits(tool));
        (server.name().to_owned(), admits)
    };
    let handles = servers.iter().map(|server| server.handle.clone());
    Admitted { by_server: servers.iter().map(of_server).collect(), names: inner.names(handles) }
}

impl fmt::Debug for RenderedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedServer")
            .field("name", &self.name())
            .field("section", &self.section)
            .finish_non_exhaustive()
    }
}

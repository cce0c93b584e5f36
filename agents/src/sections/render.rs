//! A prompt for one turn of one conversation.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_model::ServerConfig;
use mcp_runtime::{CallTool, Client, DynCallTool, ToolReply};

use super::error::{PromptWarning, RenderError};
use super::function::SectionTool;
use super::names::READ_SECTION;
use super::opening::{self, Opened, Opener};
use super::params::PromptParams;
use super::placed::Inner;
use super::server::{Handle, Layering, SectionServer};
use super::state::{PromptState, Visibility};
use super::text;
use super::view::{Seen, View};

/// A prompt as a model gets it: the text, and the servers and tools of the sections that are enabled and open.
///
/// What the model is offered stands in the order of the sections; what came by opening comes after what was there before, so
/// that the part of the request which a provider has cached stays the same.
#[derive(Clone)]
pub struct RenderedPrompt {
    pub(super) text: String,
    pub(super) servers: Vec<RenderedServer>,
    pub(super) tools: Vec<RenderedTool>,
    pub(super) order: Vec<Offer>,
    pub(super) warnings: Vec<PromptWarning>,
    pub(super) opener: Arc<Opener>,
}

/// What is offered, in order.
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

/// A server of a section that is open.
#[derive(Clone)]
pub struct RenderedServer {
    pub(super) handle: Arc<Handle>,
    pub(super) caller: Arc<dyn DynCallTool>,
    section: String,
}

/// A tool that is no server's: a function of a section that is open, or one that opens sections.
#[derive(Clone, Debug)]
pub struct RenderedTool {
    pub(super) tool: SectionTool,
    section: Option<String>,
}

impl RenderedPrompt {
    /// The text, for the system's message.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The servers. None of them is started by that they are here.
    #[must_use]
    pub fn servers(&self) -> &[RenderedServer] {
        &self.servers
    }

    /// The functions of sections, and those that open sections where there are any to open.
    #[must_use]
    pub fn tools(&self) -> &[RenderedTool] {
        &self.tools
    }

    /// What is worth mending in the sections.
    #[must_use]
    pub fn warnings(&self) -> &[PromptWarning] {
        &self.warnings
    }

    /// Opens sections, by their dotted keys, as the tool `open_sections` does: what it was given with is
    /// [`state`](Self::state) from then on. Several calls of one turn add up.
    ///
    /// ```
    /// use mcp_agents::{Prompt, PromptParams, PromptState, Section, SectionTool, Visibility};
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Nothing {}
    ///
    /// let clock = SectionTool::function("now", "The time.", async |_: Nothing| Ok::<_, String>("noon"));
    /// let prompt = Prompt::new()
    ///     .section(Section::new("time", "Time").summary("Clocks.").visibility(Visibility::Summary).tool(clock))
    ///     .build()?;
    /// let closed = prompt.render(&PromptParams::new(), &PromptState::new())?;
    /// assert_eq!(closed.tools()[0].tool().name(), "open_sections");
    ///
    /// let opened = closed.open_sections(&["time".to_owned()], "it asks for the time");
    /// assert!(opened.reply.success);
    /// let open = prompt.render(&PromptParams::new(), &opened.state)?;
    /// assert_eq!(open.tools()[1].tool().name(), "now");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_sections(&self, keys: &[String], reason: &str) -> Opened {
        self.opener.open(keys, reason)
    }

    /// Reads a section that is closed, as the tool `read_section` does: its text as if it were open, its children as they are.
    /// Nothing is changed by it.
    pub fn read_section(&self, key: &str) -> ToolReply {
        opening::reply(READ_SECTION, self.opener.read(key))
    }

    /// The state with all that was opened so far, to render the next turn with, and to keep.
    #[must_use]
    pub fn state(&self) -> PromptState {
        self.opener.state()
    }

    /// Whether sections were opened since this was rendered, so that it is to be rendered anew.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.opener.is_outdated()
    }
}

impl RenderedServer {
    /// The server's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.handle.name
    }

    /// The dotted key of the section that declares it.
    #[must_use]
    pub fn section(&self) -> &str {
        &self.section
    }

    /// How it is reached, where it is known: such as for a provider's own client of MCP.
    #[must_use]
    pub fn config(&self) -> Option<&ServerConfig> {
        self.handle.config.as_ref().or_else(|| self.handle.client.as_ref().map(Client::config))
    }

    /// What calls its tools, with the layers of the sections that declare it around.
    #[must_use]
    pub fn caller(&self) -> Arc<dyn DynCallTool> {
        self.caller.clone()
    }
}

impl RenderedTool {
    /// The tool.
    #[must_use]
    pub fn tool(&self) -> &SectionTool {
        &self.tool
    }

    /// The dotted key of the section that has it; `None` for those that open sections.
    #[must_use]
    pub fn section(&self) -> Option<&str> {
        self.section.as_deref()
    }
}

pub(super) fn render(
    inner: &Arc<Inner>,
    params: &PromptParams,
    state: &PromptState,
) -> Result<RenderedPrompt, RenderError> {
    let held = inner.resolve(params)?;
    let view = View { inner, held: &held, state };
    let seen = view.seen()?;
    let opener = Arc::new(Opener::new(inner.clone(), params.clone(), state.clone()));
    let mut offered = Offered { warnings: unknown_sections(inner, state), ..Offered::default() };
    let mut items = Vec::new();
    for seen in &seen {
        gather(&view, *seen, &mut items)?;
    }
    let ours = opening::tools(&view, &seen, &opener)?.into_iter();
    items.extend(ours.map(|(since, tool)| Item { since, what: What::Tool(tool, None) }));
    // By since when; among what came at once, what opens sections is last, and the rest in the order of the sections.
    items.sort_by_key(|item| (item.since, matches!(item.what, What::Tool(_, None))));
    items.into_iter().for_each(|item| offered.take(item, inner));
    let chosen = std::mem::take(&mut offered.servers);
    let servers: Vec<RenderedServer> = chosen.into_iter().map(|chosen| chosen.rendered(inner)).collect();
    let offers: Vec<_> = servers.iter().map(|server| (server.name(), server.caller.offer())).collect();
    let admits = |server: &str, tool: &str| {
        let of_it = offers.iter().find(|(name, _)| *name == server);
        of_it.is_none_or(|(_, offer)| offer.admits(tool))
    };
    let text = text::text(&view, &seen, &admits)?;
    let Offered { tools, order, warnings, .. } = offered;
    Ok(RenderedPrompt { text, servers, tools, order, warnings, opener })
}

fn unknown_sections(inner: &Inner, state: &PromptState) -> Vec<PromptWarning> {
    let named = state.open.paths().chain(state.shown.keys().map(String::as_str));
    let unknown = named.filter(|path| !inner.nodes.iter().any(|node| node.path == *path));
    unknown.map(|path| PromptWarning::UnknownSection { section: path.to_owned() }).collect()
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
    let (Some(node), Some(held)) = (view.inner.nodes.get(index), view.held.get(index)) else { return Ok(()) };
    let tools = node.parts.tools.iter().map(|tool| What::Tool(tool.clone(), Some(index)));
    let servers = view.inner.servers(index, held)?.into_iter().map(|server| What::Server(server, index));
    items.extend(tools.chain(servers).map(|what| Item { since, what }));
    Ok(())
}

/// A server that is used, and the sections that declare it.
struct Chosen {
    handle: Arc<Handle>,
    section: String,
    governors: BTreeMap<usize, Vec<Layering>>,
}

impl Chosen {
    fn rendered(self, inner: &Inner) -> RenderedServer {
        let caller = inner.governed(&self.handle, &self.governors);
        RenderedServer { caller, handle: self.handle, section: self.section }
    }
}

#[derive(Default)]
struct Offered {
    servers: Vec<Chosen>,
    tools: Vec<RenderedTool>,
    order: Vec<Offer>,
    warnings: Vec<PromptWarning>,
}

impl Offered {
    fn take(&mut self, item: Item, inner: &Inner) {
        match item.what {
            What::Tool(tool, section) => {
                let section = section.and_then(|index| inner.nodes.get(index)).map(|node| node.path.clone());
                self.order.push(Offer::Tool { index: self.tools.len() });
                self.tools.push(RenderedTool { tool, section });
            }
            What::Server(server, index) => self.take_server(&server, index, inner),
        }
    }

    fn take_server(&mut self, server: &SectionServer, section: usize, inner: &Inner) {
        let Some(node) = inner.nodes.get(section) else { return };
        let known = self.servers.iter().position(|chosen| chosen.handle.name == server.name());
        let difference = known
            .and_then(|index| self.servers.get(index))
            .and_then(|chosen| Some((chosen.section.clone(), chosen.handle.difference(server.handle())?)));
        if let Some((used, difference)) = difference {
            let (name, skipped) = (server.name().to_owned(), node.path.clone());
            self.warnings.push(PromptWarning::DuplicateServer { name, used, skipped, difference });
            return;
        }
        let index = known.unwrap_or_else(|| {
            let (handle, section) = (server.handle().clone(), node.path.clone());
            self.servers.push(Chosen { handle, section, governors: BTreeMap::new() });
            self.servers.len() - 1
        });
        if let Some(chosen) = self.servers.get_mut(index).filter(|_| !node.parts.layers.is_empty()) {
            chosen.governors.insert(section, node.parts.layers.clone());
        }
        self.order.push(Offer::Server { index, only: server.selection().cloned() });
    }
}

impl fmt::Debug for RenderedServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedServer")
            .field("name", &self.name())
            .field("section", &self.section)
            .finish_non_exhaustive()
    }
}

/// Without the text: parameters are in it.
impl fmt::Debug for RenderedPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedPrompt")
            .field("servers", &self.servers)
            .field("tools", &self.tools)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

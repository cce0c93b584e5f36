//! A prompt for one turn of one conversation.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use mcp_bindgen_model::{ServerConfig, printable};
use mcp_bindgen_runtime::{CallTool, Client, ConnectError, DynCallTool, ToolReply};
use mcp_bindgen_schema::names::PrefixedNames;

use super::check::Placed;
use super::error::{PromptWarning, RenderError};
use super::function::SectionTool;
use super::names::READ_SECTION;
use super::opening::{self, Opened, Opener};
use super::params::PromptParams;
use super::placed::Inner;
use super::section::Declared;
use super::server::{Handle, Layering, SectionServer};
use super::state::{OpenSections, PromptState, Visibility};
use super::text;
use super::view::{Seen, View};

/// A prompt as a model gets it: the text, and the servers and tools of the sections that are enabled and open.
///
/// The offer is in the order of the sections, after the tools that open them; newly opened tools come
/// after what was there before, so that the part of the request which a provider has cached stays the same. It changes where a
/// section that is opened takes tools away: by a policy for a server that was offered before.
#[derive(Clone)]
pub struct RenderedPrompt {
    pub(super) text: String,
    pub(super) servers: Vec<RenderedServer>,
    pub(super) tools: Vec<RenderedTool>,
    /// Each with the call of `open_sections` by which it came.
    pub(super) order: Vec<(usize, Offer)>,
    pub(super) warnings: Vec<PromptWarning>,
    pub(super) opener: Arc<Opener>,
    /// The names of the whole prompt, closed sections included: its tools get names beside these.
    pub(super) names: PrefixedNames,
}

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
    /// The text, for the system's message. It stays the same while a model opens sections: their text is in the result of
    /// [`open_sections`](Self::open_sections).
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

    /// Returns warnings about the sections.
    #[must_use]
    pub fn warnings(&self) -> &[PromptWarning] {
        &self.warnings
    }

    /// Opens sections, by their dotted keys, as the tool `open_sections` does. The reply has their text; their tools are in
    /// what is rendered with [`state`](Self::state) from then on. Several calls of one turn add up.
    ///
    /// ```
    /// use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, Section, SectionTool, Visibility};
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

    /// Lists the tools of its servers anew, side by side, for this prompt and all that are rendered from here on; connects
    /// where there is no connection. Says which failed: what those offered before stays known. A list is kept otherwise, be it
    /// that of a snapshot, until a server tells of changes through [`McpSection::changes`](super::McpSection::changes).
    pub async fn refresh(&self) -> Vec<ConnectError> {
        let listing = self.servers.iter().map(|server| async move { server.handle.list().await });
        join_all(listing).await.into_iter().filter_map(Result::err).collect()
    }

    /// Returns `true` if sections were opened since this was rendered, so that it is to be rendered anew.
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

    /// Returns the caller of its tools, with the layers of the sections that declare it around.
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
    let ours = opening::tools(&view, &seen, &opener);
    let offered = Offered::of(&view, &seen, ours)?;
    offered.refuse_what_would_not_hold(&view, &seen)?;
    let Offered { servers, tools, order, mut warnings } = offered;
    let servers: Vec<RenderedServer> = servers.into_iter().map(|chosen| chosen.rendered(inner)).collect();
    let admitted = Admitted::of(inner, &servers);
    // What the model opens it reads as the result of its call: the text that a provider has cached stays as it is.
    let beginning = PromptState { open: OpenSections::new(), ..state.clone() };
    let first = View { inner, held: &held, state: &beginning };
    let first_seen = first.seen()?;
    let text = text::text(&first, &first_seen, &self::admitted(&first, &first_seen)?)?;
    warnings.splice(..0, unknown_sections(inner, state));
    Ok(RenderedPrompt { text, servers, tools, order, warnings, opener, names: admitted.names })
}

/// Which tools of servers may be called where these sections are shown.
pub(super) fn admitted(view: &View<'_>, seen: &[Seen]) -> Result<Admitted, RenderError> {
    let Offered { servers, .. } = Offered::of(view, seen, Vec::new())?;
    let servers: Vec<RenderedServer> = servers.into_iter().map(|chosen| chosen.rendered(view.inner)).collect();
    Ok(Admitted::of(view.inner, &servers))
}

/// The tools of each server that names allow, and their prefixed names.
pub(super) struct Admitted {
    by_server: Vec<(String, Admits)>,
    names: PrefixedNames,
}

type Admits = Box<dyn Fn(&str) -> bool>;

impl Admitted {
    fn of(inner: &Inner, servers: &[RenderedServer]) -> Self {
        let of_server = |server: &RenderedServer| {
            let offer = server.caller.offer();
            let admits: Admits = Box::new(move |tool| offer.admits(tool));
            (server.name().to_owned(), admits)
        };
        let handles = servers.iter().map(|server| server.handle.clone());
        Self { by_server: servers.iter().map(of_server).collect(), names: inner.names(handles) }
    }

    pub(super) fn admits(&self, server: &str, tool: &str) -> bool {
        let of_it = self.by_server.iter().find(|(name, _)| name == server);
        of_it.is_none_or(|(_, admits)| admits(tool))
    }

    pub(super) fn names(&self) -> &PrefixedNames {
        &self.names
    }
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
    let Some(held) = view.held.get(index) else { return Ok(()) };
    let tools = view.inner.functions(index).into_iter().map(|tool| What::Tool(tool, Some(index)));
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
    order: Vec<(usize, Offer)>,
    warnings: Vec<PromptWarning>,
}

impl Offered {
    /// Returns the offer of the sections that are shown, with the tools that open others.
    fn of(view: &View<'_>, seen: &[Seen], ours: Vec<(usize, SectionTool)>) -> Result<Self, RenderError> {
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
    fn refuse_what_would_not_hold(&self, view: &View<'_>, seen: &[Seen]) -> Result<(), RenderError> {
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

    /// Where a server is among those that are used, or how it differs from the one that has its name.
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
            "section `{used}` declares another `{}`, {difference}, and is used, so that the policies and layers of this one \
             would not hold; declare clones of one `SectionServer` in both, or give one of them another name",
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

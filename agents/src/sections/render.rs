//! A prompt for one turn of one conversation.

use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use mcp_bindgen_runtime::{ConnectError, ToolReply};
use mcp_bindgen_schema::names::PrefixedNames;

use super::error::{PromptWarning, RenderError};
use super::names::READ_SECTION;
use super::offered::{self, Offer, Offered, RenderedServer, RenderedTool};
use super::opening::{self, Opened, Opener};
use super::params::PromptParams;
use super::placed::Inner;
use super::state::{OpenSections, PromptState};
use super::text;
use super::view::View;

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
    let all = Offered::of(&view, &seen, ours)?;
    all.refuse_what_would_not_hold(&view, &seen)?;
    let Offered { servers, tools, order, mut warnings } = all;
    let servers: Vec<RenderedServer> = servers.into_iter().map(|chosen| chosen.rendered(inner)).collect();
    let admitted = offered::admitted_by(inner, &servers);
    // What the model opens it reads as the result of its call: the text that a provider has cached stays as it is.
    let beginning = PromptState { open: OpenSections::new(), ..state.clone() };
    let first = View { inner, held: &held, state: &beginning };
    let first_seen = first.seen()?;
    let text = text::text(&first, &first_seen, &offered::admitted(&first, &first_seen)?)?;
    warnings.splice(..0, unknown_sections(inner, state));
    Ok(RenderedPrompt { text, servers, tools, order, warnings, opener, names: admitted.names })
}

fn unknown_sections(inner: &Inner, state: &PromptState) -> Vec<PromptWarning> {
    let named = state.open.paths().chain(state.shown.keys().map(String::as_str));
    let unknown = named.filter(|path| !inner.nodes.iter().any(|node| node.path == *path));
    unknown.map(|path| PromptWarning::UnknownSection { section: path.to_owned() }).collect()
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

//! A prompt for one turn of one conversation.

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::{ConnectError, ToolReply};
use mcp_bindgen_schema::names::PrefixedNames;

use super::error::{PromptWarning, RenderError};
use super::names::{OPEN_SECTIONS, READ_SECTION};
use super::offered::{self, Offer, Offered, RenderedServer, RenderedTool};
use super::opening::{self, Opened, Opener};
use super::params::PromptParams;
use super::placed::Inner;
use super::server::failures;
use super::state::{OpenSections, PromptState};
use super::text;
use super::view::View;

/// A rendered prompt: its text, and the servers and tools of the enabled and open sections.
///
/// Tools are in the order of the sections, after those that open sections. Newly opened tools are appended, so that
/// the provider's cached prefix of the request stays valid, unless the policy of a newly opened section removes tools
/// that were offered before.
#[derive(Clone)]
pub struct RenderedPrompt {
    pub(super) text: String,
    pub(super) offered: Offered,
    tools: Vec<RenderedTool>,
    pub(super) opener: Arc<Opener>,
    /// The names of the whole prompt, closed sections included: its tools get names beside these.
    pub(super) names: PrefixedNames,
}

impl RenderedPrompt {
    /// Returns the text for the system message. It stays the same while a model opens sections: their text is in the
    /// result of [`open_sections`](Self::open_sections).
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the servers. Rendering does not connect to them.
    #[must_use]
    pub fn servers(&self) -> &[RenderedServer] {
        &self.offered.servers
    }

    /// Returns the functions of sections, and the tools that open sections if any are closed.
    #[must_use]
    pub fn tools(&self) -> &[RenderedTool] {
        &self.tools
    }

    /// Returns warnings about the sections.
    #[must_use]
    pub fn warnings(&self) -> &[PromptWarning] {
        &self.offered.warnings
    }

    /// Opens sections by their dotted keys, as the tool `open_sections` does. The reply contains their text; their
    /// tools are offered when the prompt is rendered with [`state`](Self::state). Several calls in one turn
    /// accumulate.
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
        let (state, opened, told) = self.opener.open(keys);
        Opened { state, reply: opening::reply(OPEN_SECTIONS, told), opened, reason: reason.to_owned() }
    }

    /// Reads a closed section, as the tool `read_section` does: its text as if it were open, with its children as
    /// they are. Opens nothing.
    pub fn read_section(&self, key: &str) -> ToolReply {
        opening::reply(READ_SECTION, self.opener.read(key))
    }

    /// Returns the state including all sections opened so far: store it, and render the next turn with it.
    #[must_use]
    pub fn state(&self) -> PromptState {
        self.opener.state()
    }

    /// Lists the tools of its servers concurrently, connecting if necessary, for this prompt and all later
    /// renderings. Returns the errors of those that failed; their last known tools stay. Without this, lists and
    /// snapshots are kept until [`McpSection::changes`](super::McpSection::changes) reports a change.
    pub async fn refresh(&self) -> Vec<ConnectError> {
        failures(self.servers().iter().map(|server| server.handle.list())).await
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
    let mut offered = Offered::of(&view, &seen, ours)?;
    offered.refuse_what_would_not_hold(&view, &seen)?;
    let tools = offered.order.iter().filter_map(|(_, offer)| match offer {
        Offer::Tool(tool) => Some(tool.clone()),
        Offer::Server { .. } => None,
    });
    let tools = tools.collect();
    let admitted = offered::admitted_by(inner, &offered.servers);
    // The text of opened sections is in the result of the call, so that the cached text stays valid.
    let beginning = PromptState { open: OpenSections::new(), ..state.clone() };
    let first = View { inner, held: &held, state: &beginning };
    let first_seen = first.seen()?;
    let text = text::text(&first, &first_seen, &offered::admitted(&first, &first_seen)?)?;
    offered.warnings.splice(..0, unknown_sections(inner, state));
    Ok(RenderedPrompt { text, offered, tools, opener, names: admitted.names })
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
            .field("servers", &self.servers())
            .field("tools", &self.tools)
            .field("warnings", &self.warnings())
            .finish_non_exhaustive()
    }
}

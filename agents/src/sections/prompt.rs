//! The sections of a prompt in their order, checked.

use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::events::{Events, subscribe};

use super::error::{PromptError, RenderError};
use super::names::RESERVED_NAMES;
use super::params::PromptParams;
use super::placed::Inner;
use super::render::{self, RenderedPrompt};
use super::section::AnySection;
use super::state::PromptState;

/// The sections of a prompt, in order. Clones share everything. One prompt serves any number of conversations: their
/// differences are in [`PromptParams`] and [`PromptState`].
///
/// ```
/// use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, Section};
///
/// let prompt = Prompt::new()
///     .section(Section::new("task", "Task").template("Triage the new issues."))
///     .section(Section::new("tools", "Tools").child(Section::new("git", "Git").template("Use git.")))
///     .build()?;
/// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
/// assert_eq!(
///     rendered.text(),
///     "## 1. Task (task)\n\nTriage the new issues.\n\n## 2. Tools (tools)\n\n### 2.1. Git (tools.git)\n\nUse git."
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Prompt {
    inner: Arc<Inner>,
}

/// Builds a [`Prompt`].
#[derive(Debug)]
#[must_use = "there is no prompt until `build` is called"]
pub struct PromptBuilder {
    sections: Vec<AnySection>,
    reserved: Vec<String>,
}

impl PromptBuilder {
    /// Appends a section.
    pub fn section(mut self, section: impl Into<AnySection>) -> Self {
        self.sections.push(section.into());
        self
    }

    /// Sets the names that servers and tools of sections may not have, as globs; replaces [`RESERVED_NAMES`]. Servers
    /// can never be named `sections` or `program`.
    pub fn reserved(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reserved = names.into_iter().map(Into::into).collect();
        self
    }

    /// Checks the sections and builds the prompt.
    ///
    /// # Errors
    /// All that is wrong with them: keys that are malformed, twice among siblings, or below themselves; templates that do
    /// not compile, or use what their parameters do not have; sections that may be shown as a summary and have none; names
    /// that are reserved, malformed or there twice; what could never do anything.
    pub fn build(self) -> Result<Prompt, PromptError> {
        let inner = Inner::new(self.sections, self.reserved)?;
        Ok(Prompt { inner: Arc::new(inner) })
    }
}

impl Prompt {
    /// Creates a builder without sections.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> PromptBuilder {
        PromptBuilder { sections: Vec::new(), reserved: RESERVED_NAMES.map(str::to_owned).to_vec() }
    }

    /// Returns the dotted keys of all sections, in order.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.inner.nodes.iter().map(|node| node.path.as_str())
    }

    /// Renders the prompt for these parameters and this state. Does not connect to servers: it shows their last known
    /// tools.
    ///
    /// # Errors
    /// Fails if parameters are missing or too many, a template fails with them, or a section makes servers of them that may not
    /// be.
    pub fn render(&self, params: &PromptParams, state: &PromptState) -> Result<RenderedPrompt, RenderError> {
        render::render(&self.inner, params, state)
    }

    /// Subscribes to events of the calls of its functions, and of its servers: those that sections declare, and those that
    /// were made from parameters so far. [`Toolset::events`](crate::Toolset::events) has those of one rendering.
    #[must_use]
    pub fn events(&self) -> Events {
        let callers = self.inner.callers();
        subscribe(callers.iter().map(|caller| &**caller))
    }

    /// Closes the connections that this prompt created from configurations, for all parameters so far, and waits for
    /// child processes to exit. Clients that the program passed in stay open. The next call connects again.
    pub async fn close(&self) {
        let clients = self.inner.own_servers().into_iter().filter_map(|handle| handle.client.clone());
        let closing = clients.map(|client| async move { client.close().await });
        futures_util::future::join_all(closing).await;
    }
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("sections", &self.sections().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

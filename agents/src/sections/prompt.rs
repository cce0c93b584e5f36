//! The sections of a prompt in their order, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use mcp_model::{is_server_name, matches_glob};
use minijinja::Environment;

use super::check::{self, Placed};
use super::error::{PromptError, RenderError};
use super::params::{Held, Kind, PromptParams};
use super::section::{AnySection, Declared};
use super::server::{Handle, SectionServer, locked};
use super::{PromptState, RenderedPrompt};
use super::{render, template};

/// Names that servers and tools of sections may not have unless a prompt says otherwise: `wink`, under which the toolkit
/// that this way of writing prompts comes from keeps a program's own tools, and `sections`, under which ours are that open
/// sections.
pub const RESERVED_NAMES: [&str; 2] = ["wink", "sections"];

/// The sections of a prompt in their order; a clone is the same prompt. It is made once and serves any number of
/// conversations: what differs between those is in [`PromptParams`] and [`PromptState`].
///
/// ```
/// use mcp_agents::{Prompt, PromptParams, PromptState, Section};
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
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    /// Tells prompts apart for what is kept with servers.
    pub(super) id: u64,
    /// Each before its children, and those before what comes after it.
    pub(super) nodes: Vec<Placed>,
    pub(super) environment: Environment<'static>,
    kinds: BTreeSet<Kind>,
    reserved: Vec<String>,
    /// The servers that sections made of their parameters.
    made: Mutex<BTreeMap<(usize, String), Made>>,
}

/// The servers of one name that a section made of its parameters: the last one is kept, others as long as somebody has them.
struct Made {
    latest: Arc<Handle>,
    earlier: Vec<Weak<Handle>>,
}

/// Makes a [`Prompt`].
#[derive(Debug)]
#[must_use = "there is no prompt until `build` is called"]
pub struct PromptBuilder {
    sections: Vec<AnySection>,
    reserved: Vec<String>,
}

impl PromptBuilder {
    /// Adds a section, after those that are there.
    pub fn section(mut self, section: impl Into<AnySection>) -> Self {
        self.sections.push(section.into());
        self
    }

    /// The names that neither servers nor tools of any section may have, in place of [`RESERVED_NAMES`]; globs.
    pub fn reserved(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reserved = names.into_iter().map(Into::into).collect();
        self
    }

    /// Checks the sections.
    ///
    /// # Errors
    /// All that is wrong with them: keys that are malformed, twice among siblings, or below themselves; templates that do
    /// not compile, or use what their parameters do not have; sections that may be shown as a summary and have none; names
    /// that are reserved, malformed or there twice; what could never do anything.
    pub fn build(self) -> Result<Prompt, PromptError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let environment = template::environment();
        let nodes = check::placed(self.sections, &environment, &self.reserved)?;
        let kinds = nodes.iter().map(|node| node.parts.kind).collect();
        let inner = Inner {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            nodes,
            environment,
            kinds,
            reserved: self.reserved,
            made: Mutex::default(),
        };
        Ok(Prompt { inner: Arc::new(inner) })
    }
}

impl Prompt {
    /// A prompt of no sections yet.
    #[allow(clippy::new_ret_no_self)]
    pub fn new() -> PromptBuilder {
        PromptBuilder { sections: Vec::new(), reserved: RESERVED_NAMES.map(str::to_owned).to_vec() }
    }

    /// The dotted keys of all sections, in their order.
    pub fn sections(&self) -> impl Iterator<Item = &str> {
        self.inner.nodes.iter().map(|node| node.path.as_str())
    }

    /// Renders the prompt for these parameters, as the conversation has it. Nothing is started and nobody is asked: what is
    /// shown of servers is what is known of them.
    ///
    /// # Errors
    /// Where parameters are missing or too many, a template fails with them, or a section makes servers of them that may not
    /// be.
    pub fn render(&self, params: &PromptParams, state: &PromptState) -> Result<RenderedPrompt, RenderError> {
        render::render(self, params, state)
    }

    /// Closes the connections that this prompt made of configurations, those of earlier parameters too; a child process is
    /// gone when this returns. Clients that the program gave it stay open. The next call opens another connection.
    pub async fn close(&self) {
        let fixed =
            self.inner.nodes.iter().flat_map(|node| &node.parts.servers).filter_map(|declared| match declared {
                Declared::Fixed(server) => Some(server.handle().clone()),
                Declared::FromParams(_) => None,
            });
        let made: Vec<Arc<Handle>> = {
            let made = locked(&self.inner.made);
            let all = |made: &Made| {
                let earlier: Vec<_> = made.earlier.iter().filter_map(Weak::upgrade).collect();
                [made.latest.clone()].into_iter().chain(earlier)
            };
            made.values().flat_map(all).collect()
        };
        let ours = fixed.chain(made).filter(|handle| handle.config.is_some());
        let closing = ours.filter_map(|handle| handle.client.clone()).map(|client| async move { client.close().await });
        futures_util::future::join_all(closing).await;
    }
}

impl Inner {
    /// The parameters of each section.
    pub(super) fn resolve(&self, params: &PromptParams) -> Result<Vec<Held>, RenderError> {
        params.check(&self.kinds)?;
        let first_default = |kind: Kind| {
            let defaults = self.nodes.iter().filter_map(|node| node.parts.default.as_ref());
            defaults.into_iter().find(|held| held.kind() == kind)
        };
        let of_node = |node: &Placed| {
            let parts = &node.parts;
            let found =
                params.get(parts.kind).or(parts.default.as_ref()).or_else(|| first_default(parts.kind)).cloned();
            let made = || parts.construct.map(|construct| construct());
            let unit = || parts.kind.is_unit().then(|| Held::new(()));
            found
                .or_else(made)
                .or_else(unit)
                .ok_or_else(|| RenderError::MissingParams { section: node.path.clone(), type_name: parts.kind.name })
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// The servers of a section for its parameters.
    pub(super) fn servers(&self, index: usize, params: &Held) -> Result<Vec<SectionServer>, RenderError> {
        let Some(node) = self.nodes.get(index) else { return Ok(Vec::new()) };
        let mut servers: Vec<SectionServer> = Vec::new();
        for declared in &node.parts.servers {
            let found = match declared {
                Declared::Fixed(server) => vec![server.clone()],
                Declared::FromParams(make) => self.made(index, node, make(params.get()))?,
            };
            for server in found {
                if servers.iter().any(|other| other.name() == server.name()) {
                    let message = format!("two servers are called `{}`", mcp_model::printable(server.name()));
                    return Err(RenderError::Server { section: node.path.clone(), message });
                }
                servers.push(server);
            }
        }
        Ok(servers)
    }

    /// What a section made of its parameters, each the one that it made before where that is the same.
    fn made(&self, index: usize, node: &Placed, made: Vec<SectionServer>) -> Result<Vec<SectionServer>, RenderError> {
        let one = |server: SectionServer| {
            let problem = server_problem(server.handle(), &self.reserved);
            if let Some(message) = problem {
                return Err(RenderError::Server { section: node.path.clone(), message });
            }
            // What the program calls by itself it keeps by itself: two clients of one configuration need not be alike.
            let handle = match &server.handle().config {
                Some(_) => self.kept(index, server.handle()),
                None => server.handle().clone(),
            };
            Ok(server.by(handle))
        };
        made.into_iter().map(one).collect()
    }

    fn kept(&self, index: usize, handle: &Arc<Handle>) -> Arc<Handle> {
        let mut made = locked(&self.made);
        let slot = made
            .entry((index, handle.name.clone()))
            .or_insert_with(|| Made { latest: handle.clone(), earlier: Vec::new() });
        if slot.latest.difference(handle).is_none() {
            return slot.latest.clone();
        }
        slot.earlier.retain(|earlier| earlier.strong_count() > 0);
        let again = slot.earlier.iter().filter_map(Weak::upgrade).find(|earlier| earlier.difference(handle).is_none());
        let next = again.unwrap_or_else(|| handle.clone());
        let before = std::mem::replace(&mut slot.latest, next.clone());
        slot.earlier.retain(|earlier| !std::ptr::eq(earlier.as_ptr(), Arc::as_ptr(&next)));
        slot.earlier.push(Arc::downgrade(&before));
        next
    }
}

/// Why a section may not have a server.
pub(super) fn server_problem(handle: &Handle, reserved: &[String]) -> Option<String> {
    let shown = mcp_model::printable(&handle.name);
    if !is_server_name(&handle.name) {
        return Some(format!("`{shown}` is no name of a server: that is `^[a-z0-9][a-z0-9_-]{{0,63}}$`"));
    }
    if is_reserved(&handle.name, reserved) {
        return Some(format!("the name `{shown}` is reserved; give the server another one"));
    }
    (!handle.can_be_listed())
        .then(|| format!("nobody knows the tools of `{shown}`; give it a snapshot with `SectionServer::snapshot`"))
}

pub(super) fn is_reserved(name: &str, reserved: &[String]) -> bool {
    reserved.iter().any(|glob| matches_glob(glob, name))
}

impl fmt::Debug for Prompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompt").field("sections", &self.sections().collect::<Vec<_>>()).finish_non_exhaustive()
    }
}

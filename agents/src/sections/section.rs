//! A part of a prompt, with what it needs.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use mcp_bindgen_runtime::middleware::Policy;

use super::function::SectionTool;
use super::inventory::Inventory;
use super::params::{Held, Kind, Names, SectionParams};
use super::server::{Layering, SectionServer, SectionStack};
use super::state::{PromptState, Visibility};

/// A part of a prompt: a text with a heading, and what a model needs to act on it: tools, servers, and what governs them.
///
/// Its parameters `P` are found by their type: what [`PromptParams`](super::PromptParams) has of it, else the section's
/// default, else the first default of that type in the prompt, else `P::default()` where the section allows it.
///
/// ```
/// use mcp_bindgen_agents::{Section, Visibility};
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::middleware::Policy;
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Database { path: String, writable: bool }
///
/// let section = Section::with_params::<Database>("database", "Database access")
///     .template("The database is {{ path }}.{% if writable %} You may change it.{% endif %}")
///     .summary("A database is at hand.")
///     .visibility(Visibility::Summary)
///     .enabled(|database, _| !database.path.is_empty())
///     .servers_from(|database| [ServerConfig::uvx("sqlite", "mcp-server-sqlite").args(["--db", &database.path])])
///     .policy(Policy::deny(["drop_*"]));
/// # let _ = section;
/// ```
#[must_use = "a section does nothing until a prompt has it"]
pub struct Section<P = ()> {
    parts: Parts,
    params: PhantomData<fn() -> P>,
}

/// A section whatever its parameters, as children and prompts have them.
#[must_use = "a section does nothing until a prompt has it"]
pub struct AnySection {
    pub(super) parts: Parts,
}

pub(super) type Predicate = Box<dyn Fn(&dyn Any, &PromptState) -> bool + Send + Sync>;
pub(super) type Choice = Box<dyn Fn(&dyn Any, &PromptState) -> Visibility + Send + Sync>;
pub(super) type Declaring = Box<dyn Fn(&dyn Any) -> Vec<SectionServer> + Send + Sync>;

pub(super) enum Declared {
    Fixed(SectionServer),
    FromParams(Declaring),
}

pub(super) enum Body {
    Template(String),
    /// The inventory of an [`McpSection`](super::McpSection).
    Inventory(Inventory),
}

pub(super) enum Shown {
    Always(Visibility),
    By(Choice),
}

pub(super) struct Parts {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) body: Body,
    pub(super) summary: Option<String>,
    pub(super) kind: Kind,
    pub(super) names: Names,
    pub(super) default: Option<Held>,
    pub(super) construct: Option<fn() -> Held>,
    pub(super) enabled: Option<Predicate>,
    pub(super) shown: Shown,
    pub(super) tools: Vec<SectionTool>,
    pub(super) servers: Vec<Declared>,
    pub(super) layers: Vec<Layering>,
    pub(super) children: Vec<AnySection>,
}

impl Section {
    /// A section without parameters. A key is `^[a-z0-9][a-z0-9_-]{0,63}$`, and no other section beside it has the same.
    pub fn new(key: impl Into<String>, title: impl Into<String>) -> Self {
        Self::with_params::<()>(key, title)
    }

    /// A section with parameters.
    pub fn with_params<P: SectionParams>(key: impl Into<String>, title: impl Into<String>) -> Section<P> {
        let kind = Kind::of::<P>();
        let parts = Parts {
            key: key.into(),
            title: title.into(),
            body: Body::Template(String::new()),
            summary: None,
            kind,
            names: Names::of::<P>(),
            default: None,
            construct: None,
            enabled: None,
            shown: Shown::Always(Visibility::Full),
            tools: Vec::new(),
            servers: Vec::new(),
            layers: Vec::new(),
            children: Vec::new(),
        };
        Section { parts, params: PhantomData }
    }
}

impl<P: SectionParams> Section<P> {
    /// The text: a template of [minijinja](https://docs.rs/minijinja), which sees the fields of the parameters. What is
    /// undefined is an error, nothing is escaped, and there are no other templates to include. The filter `line` makes one
    /// harmless line of a stranger's text: `{{ title|line }}`.
    pub fn template(mut self, template: impl Into<String>) -> Self {
        self.parts.body = Body::Template(template.into());
        self
    }

    pub(super) fn inventory(mut self, inventory: Inventory) -> Self {
        self.parts.body = Body::Inventory(inventory);
        self
    }

    /// Sets the text for the section when it is shown as its summary; a template too.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.parts.summary = Some(summary.into());
        self
    }

    /// The parameters where none are given.
    pub fn default_params(mut self, params: P) -> Self {
        self.parts.default = Some(Held::new(params));
        self
    }

    /// Takes `P::default()` where there are neither parameters nor defaults of that type anywhere.
    pub fn or_default(mut self) -> Self
    where
        P: Default,
    {
        self.parts.construct = Some(|| Held::new(P::default()));
        self
    }

    /// Leaves the section out, with its children and all that they have, unless this holds.
    pub fn enabled(mut self, holds: impl Fn(&P, &PromptState) -> bool + Send + Sync + 'static) -> Self {
        let holds = move |params: &dyn Any, state: &_| params.downcast_ref().is_some_and(|params| holds(params, state));
        self.parts.enabled = Some(Box::new(holds));
        self
    }

    /// How the section is shown until a model opens it; [`Visibility::Full`] by default.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.parts.shown = Shown::Always(visibility);
        self
    }

    /// The same, by the parameters and the state.
    pub fn visibility_by(mut self, choose: impl Fn(&P, &PromptState) -> Visibility + Send + Sync + 'static) -> Self {
        let choose = move |params: &dyn Any, state: &_| {
            params.downcast_ref().map_or(Visibility::Summary, |params| choose(params, state))
        };
        self.parts.shown = Shown::By(Box::new(choose));
        self
    }

    /// Adds a function of the program, which the layers of this section govern. Its name is the only one in the prompt.
    pub fn tool(mut self, tool: SectionTool) -> Self {
        self.parts.tools.push(tool);
        self
    }

    /// Adds a server: a configuration, a [`Client`](mcp_bindgen_runtime::Client), or a [`SectionServer`].
    pub fn server(mut self, server: impl Into<SectionServer>) -> Self {
        self.parts.servers.push(Declared::Fixed(server.into()));
        self
    }

    /// Adds servers that depend on the parameters; asked for once the section is enabled and open. The same configuration is
    /// the same server, with the same connection, each time that the prompt is rendered, and so are clones of one
    /// [`Client`](mcp_bindgen_runtime::Client). The prompt keeps the last eight of a name, for conversations that take turns; the
    /// connections of others end with the prompts that were rendered with them.
    pub fn servers_from<L, S>(mut self, servers: impl Fn(&P) -> L + Send + Sync + 'static) -> Self
    where
        L: IntoIterator<Item = S>,
        S: Into<SectionServer>,
    {
        let servers = move |params: &dyn Any| match params.downcast_ref() {
            Some(params) => servers(params).into_iter().map(Into::into).collect(),
            None => Vec::new(),
        };
        self.parts.servers.push(Declared::FromParams(Box::new(servers)));
        self
    }

    /// Adds a policy for calls of this section's servers and functions; see [`layers`](Self::layers).
    pub fn policy(self, policy: Policy) -> Self {
        self.layers(move |stack| stack.policy(policy.clone()))
    }

    /// Puts layers around this section's servers, and around its functions: approvals, sequential dependencies, transactions, caches and what else a
    /// [`Stack`](mcp_bindgen_runtime::middleware::Stack) has. Where another section declares the same server in the same way, what
    /// both put around it holds.
    ///
    /// Functions are called as tools of a server `program`, of whose behaviour nothing is known: `Policy::read_only` denies them.
    /// Layers of another section never govern them.
    ///
    /// The closure is run once for each server, and once for all functions. What layers remember over calls belongs outside of
    /// it, and a clone inside. Two sections of one server share its stack: the shortest of their `total_cap`s and `try_timeout`s
    /// holds, clones of one transaction or cache are one for the tools of both, and of `retry` and `validate` that of the section
    /// that comes last in the prompt. A function that itself calls through the transaction that stands
    /// around it waits in vain.
    ///
    /// ```
    /// use mcp_bindgen_agents::Section;
    /// use mcp_bindgen_model::ServerConfig;
    /// use mcp_bindgen_runtime::middleware::SequentialDependency;
    ///
    /// let commit_after_diff = SequentialDependency::new("git_commit", ["git_diff"]);
    /// let section = Section::new("git", "Git")
    ///     .server(ServerConfig::uvx("git", "mcp-server-git"))
    ///     .layers(move |stack| stack.sequential(commit_after_diff.clone()));
    /// # let _ = section;
    /// ```
    pub fn layers(mut self, layers: impl Fn(SectionStack) -> SectionStack + Send + Sync + 'static) -> Self {
        self.parts.layers.push(Arc::new(layers));
        self
    }

    /// Adds a section below this one, after those that are there.
    pub fn child(mut self, child: impl Into<AnySection>) -> Self {
        self.parts.children.push(child.into());
        self
    }
}

impl<P> From<Section<P>> for AnySection {
    fn from(section: Section<P>) -> Self {
        Self { parts: section.parts }
    }
}

impl<P> fmt::Debug for Section<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}

impl fmt::Debug for AnySection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.fmt(f)
    }
}

/// Without parameters and servers: secrets may be in both.
impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section")
            .field("key", &self.key)
            .field("title", &self.title)
            .field("params", &self.kind.name)
            .field("children", &self.children)
            .finish_non_exhaustive()
    }
}

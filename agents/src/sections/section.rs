//! A section of a prompt.

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

/// A part of a prompt: a heading and text, with the tools and servers that it needs and the layers around them.
///
/// Its parameters `P` are found by type: in [`PromptParams`](super::PromptParams), else the section's default, else
/// the first default of that type in the prompt, else `P::default()` after [`or_default`](Self::or_default).
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
///
/// A clone declares the same servers, functions and layers. Give it a [key](Self::key) and
/// [parameters of its own](Self::own_params) to show one section for several values:
///
/// ```
/// use mcp_bindgen_agents::{Prompt, PromptParams, PromptState, Section};
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Repo { name: String }
///
/// let repo = |key: &str, name: &str| {
///     let section = Section::with_params::<Repo>("repo", "Repository").template("Work in {{ name }}.");
///     section.key(key).own_params(Repo { name: name.to_owned() })
/// };
/// let prompt = Prompt::new().section(repo("front", "web")).section(repo("back", "api")).build()?;
/// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
/// assert!(rendered.text().contains("Work in web.") && rendered.text().contains("Work in api."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a section does nothing until a prompt has it"]
pub struct Section<P = ()> {
    pub(super) parts: Parts,
    params: PhantomData<fn() -> P>,
}

impl<P> Clone for Section<P> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), params: PhantomData }
    }
}

/// A section with any type of parameters, for children and prompts.
#[derive(Clone, Debug)]
#[must_use = "a section does nothing until a prompt has it"]
pub struct AnySection {
    pub(super) parts: Parts,
}

pub(super) type Predicate = Arc<dyn Fn(&dyn Any, &PromptState) -> bool + Send + Sync>;
pub(super) type Choice = Arc<dyn Fn(&dyn Any, &PromptState) -> Visibility + Send + Sync>;
pub(super) type Declaring = Arc<dyn Fn(&dyn Any) -> Vec<SectionServer> + Send + Sync>;

#[derive(Clone)]
pub(super) enum Declared {
    Fixed(SectionServer),
    FromParams(Declaring),
}

#[derive(Clone, Default)]
pub(super) struct Parts {
    pub(super) key: String,
    pub(super) title: String,
    pub(super) template: Option<String>,
    /// The servers that an [`McpSection`](super::McpSection) describes.
    pub(super) inventory: Option<Inventory>,
    pub(super) summary: Option<String>,
    pub(super) kind: Kind,
    pub(super) names: Names,
    pub(super) default: Option<Held>,
    /// Parameters that nothing replaces.
    pub(super) own: Option<Held>,
    pub(super) construct: Option<fn() -> Held>,
    pub(super) enabled: Option<Predicate>,
    /// How much is shown, unless it is always all.
    pub(super) shown: Option<Choice>,
    pub(super) tools: Vec<SectionTool>,
    pub(super) servers: Vec<Declared>,
    pub(super) layers: Vec<Layering>,
    pub(super) children: Vec<AnySection>,
}

impl Section {
    /// Creates a section without parameters. The key matches `^[a-z0-9][a-z0-9_-]{0,63}$` and is unique among its
    /// siblings.
    pub fn new(key: impl Into<String>, title: impl Into<String>) -> Self {
        Self::with_params::<()>(key, title)
    }

    /// Creates a section with parameters.
    pub fn with_params<P: SectionParams>(key: impl Into<String>, title: impl Into<String>) -> Section<P> {
        let (kind, names) = (Kind::of::<P>(), Names::of::<P>());
        let parts = Parts { key: key.into(), title: title.into(), kind, names, ..Parts::default() };
        Section { parts, params: PhantomData }
    }
}

impl<P: SectionParams> Section<P> {
    /// Replaces the key, for a clone beside the original.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.parts.key = key.into();
        self
    }

    /// Replaces the title.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.parts.title = title.into();
        self
    }

    /// Sets the text: a [minijinja](https://docs.rs/minijinja) template whose variables are the fields of the
    /// parameters. Undefined variables are an error, nothing is escaped, and other templates cannot be included. For
    /// text from outside use the filter `line`, which makes it a single line without markup: `{{ title|line }}`.
    pub fn template(mut self, template: impl Into<String>) -> Self {
        self.parts.template = Some(template.into());
        self
    }

    /// Sets the template of the text that is shown while the section is collapsed to its summary.
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.parts.summary = Some(summary.into());
        self
    }

    /// Sets the parameters to use if [`PromptParams`](super::PromptParams) has none.
    pub fn default_params(mut self, params: P) -> Self {
        self.parts.default = Some(Held::new(params));
        self
    }

    /// Sets parameters that neither [`PromptParams`](super::PromptParams) nor defaults replace: for clones, each with values of
    /// its own.
    pub fn own_params(mut self, params: P) -> Self {
        self.parts.own = Some(Held::new(params));
        self
    }

    /// Uses `P::default()` if there are neither parameters nor defaults of that type.
    pub fn or_default(mut self) -> Self
    where
        P: Default,
    {
        self.parts.construct = Some(|| Held::new(P::default()));
        self
    }

    /// Includes the section, with its children, only if the closure returns `true`.
    pub fn enabled(mut self, holds: impl Fn(&P, &PromptState) -> bool + Send + Sync + 'static) -> Self {
        let holds = move |params: &dyn Any, state: &_| params.downcast_ref().is_some_and(|params| holds(params, state));
        self.parts.enabled = Some(Arc::new(holds));
        self
    }

    /// Sets how much is shown until a model opens the section; [`Visibility::Full`] by default.
    pub fn visibility(mut self, visibility: Visibility) -> Self {
        self.parts.shown = (visibility != Visibility::Full).then(|| -> Choice { Arc::new(move |_, _| visibility) });
        self
    }

    /// Sets the visibility like [`visibility`](Self::visibility), depending on the parameters and the state.
    pub fn visibility_by(mut self, choose: impl Fn(&P, &PromptState) -> Visibility + Send + Sync + 'static) -> Self {
        let choose = move |params: &dyn Any, state: &_| {
            params.downcast_ref().map_or(Visibility::Summary, |params| choose(params, state))
        };
        self.parts.shown = Some(Arc::new(choose));
        self
    }

    /// Adds a function of the program. The layers of this section apply to it. Its name must be unique in the prompt.
    pub fn tool(mut self, tool: SectionTool) -> Self {
        self.parts.tools.push(tool);
        self
    }

    /// Adds a server: a configuration, a [`Client`](mcp_bindgen_runtime::Client), or a [`SectionServer`].
    pub fn server(mut self, server: impl Into<SectionServer>) -> Self {
        self.parts.servers.push(Declared::Fixed(server.into()));
        self
    }

    /// Adds servers that depend on the parameters. The closure is called while the section is enabled and open. Equal
    /// configurations are the same server with the same connection across renderings, as are clones of one
    /// [`Client`](mcp_bindgen_runtime::Client). For each name the prompt keeps the eight most recently used servers,
    /// so that conversations can alternate; the connections of others close with the prompts that were rendered with
    /// them.
    pub fn servers_from<L, S>(mut self, servers: impl Fn(&P) -> L + Send + Sync + 'static) -> Self
    where
        L: IntoIterator<Item = S>,
        S: Into<SectionServer>,
    {
        let servers = move |params: &dyn Any| match params.downcast_ref() {
            Some(params) => servers(params).into_iter().map(Into::into).collect(),
            None => Vec::new(),
        };
        self.parts.servers.push(Declared::FromParams(Arc::new(servers)));
        self
    }

    /// Adds a policy for calls to this section's servers and functions; see [`layers`](Self::layers).
    pub fn policy(self, policy: Policy) -> Self {
        self.layers(move |stack| stack.policy(policy.clone()))
    }

    /// Adds layers around this section's servers and functions: approvals, sequential dependencies, transactions,
    /// caches and everything else that [`Stack`](mcp_bindgen_runtime::middleware::Stack) has. If another section
    /// declares the same server, the layers of both apply.
    ///
    /// Functions are called as tools of a server `program` without hints: `Policy::read_only` denies them. Layers of
    /// other sections never apply to them.
    ///
    /// The closure runs once for each server, and once for all functions. Create state that layers share between
    /// calls outside of it, and clone it inside. Two sections with the same server share its stack: the shortest
    /// `total_cap` and `try_timeout` apply, clones of one transaction or cache are shared by the tools of both, and
    /// `retry` and `validate` are those of the later section in the prompt. A function must not call through the
    /// transaction that is around itself: it would wait forever.
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

    /// Appends a child section.
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

impl Parts {
    /// Returns the servers that do not depend on parameters.
    pub(super) fn fixed(&self) -> impl Iterator<Item = &SectionServer> {
        self.servers.iter().filter_map(|declared| match declared {
            Declared::Fixed(server) => Some(server),
            Declared::FromParams(_) => None,
        })
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

//! The configuration of a server: how to reach it, and which parts to use.

mod auth;
mod build;
mod condition;
mod domain;
mod drift;
mod isolation;
pub(crate) mod json;
mod network;
mod paths;
mod patterns;
mod policy;
mod rate;
mod rust;
mod secret_store;
mod show;
mod values;
mod view;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use self::auth::{AuthConfig, GrantType};
pub use self::condition::{Condition, Pattern};
pub use self::domain::Domain;
pub use self::drift::{Acceptance, Drift, DriftRules};
pub use self::isolation::Isolation;
pub use self::patterns::PatternPlaces;
pub use self::policy::{PolicyEffect, PolicyRule};
pub use self::rate::Rate;
pub use self::rust::{ConfigPlace, RustConfig, RustRule, UnknownKeys};
pub use self::secret_store::SecretStore;
pub use self::view::{Hint, View, ViewRefusal};
use crate::matching::matches_globs;

/// How to reach a server.
#[derive(Clone, PartialEq, Eq)]
pub enum Transport {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// The folder it runs in.
        cwd: Option<String>,
    },
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
    /// The older HTTP with server-sent events.
    Sse {
        /// The endpoint of the event stream.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// The prefix of the names in a server's bindings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Prefix {
    /// The server's name.
    #[default]
    ServerName,
    /// Nothing.
    None,
    /// This.
    Named(String),
}

impl Prefix {
    /// Creates a prefix from a word that names can begin with: an ASCII letter, followed by letters, digits, `_` and
    /// `-`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
        let can_begin = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        can_begin.then(|| Self::Named(word.to_owned()))
    }
}

/// The parts of a bound tool that may not change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// The parts that calls and results depend on: the name and the meaning of the schemas.
    #[default]
    Schema,
    /// Everything that its bindings know of it, to the word: also title, description, hints, and the texts in its schemas.
    All,
}

impl Pin {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Schema, Self::All];

    /// Returns the word in `mcp.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::All => "all",
        }
    }
}

/// Whether a build may connect to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Live {
    /// Where the variable `MCP_BINDGEN_LIVE` asks for it.
    #[default]
    Ask,
    /// Never connects, whatever the environment contains.
    Never,
}

impl Live {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Ask, Self::Never];

    /// Returns the word in `mcp.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
        }
    }
}

/// The backend for the types of a server's bindings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Types {
    /// The generator's own translation, which loses nothing.
    #[default]
    Native,
    /// typify, for its validated newtypes; needs feature `typify`. It drops empty arrays and some `null`s.
    Typify,
}

impl Types {
    /// All variants.
    pub const ALL: [Self; 2] = [Self::Native, Self::Typify];

    /// Returns the word in `mcp.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Typify => "typify",
        }
    }
}

/// The configuration of a server. Values keep their placeholders until [`expand`](Self::expand).
///
/// `Debug` prints placeholders, and no secrets.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
///
/// let server = ServerConfig::npm("github", "@modelcontextprotocol/server-github")
///     .env("GITHUB_PERSONAL_ACCESS_TOKEN", "${GITHUB_TOKEN}")
///     .tools(["list_*", "create_issue"])
///     .exclude(["list_secrets"]);
/// assert!(server.selects("list_issues"));
/// assert!(!server.selects("list_secrets"));
///
/// let ready = server.expand(|variable| (variable == "GITHUB_TOKEN").then(|| "hidden".to_owned()))?;
/// assert_eq!(ready.env["GITHUB_PERSONAL_ACCESS_TOKEN"], "hidden");
/// assert!(!format!("{ready:?}").contains("hidden"));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerConfig {
    /// The name.
    pub name: String,
    /// How to reach it.
    pub transport: Transport,
    /// Environment variables of the child process.
    pub env: BTreeMap<String, String>,
    /// Environment variables of this process that the child process inherits.
    pub inherit_env: Vec<String>,
    /// Globs of the tools to use; `None` for all. The runtime denies calls of other tools. Like `exclude` and
    /// `approve`, this does not affect prompts and resources.
    pub tools: Option<Vec<String>>,
    /// Globs of the tools to exclude, applied after `tools`.
    pub exclude: Vec<String>,
    /// Globs of the tools whose calls need approval, for which the runtime asks the program.
    pub approve: Vec<String>,
    /// Globs of the URIs of the resources to use; `None` for all. The runtime denies other reads.
    pub resources: Option<Vec<String>>,
    /// Globs of the prompts to use; `None` for all. The runtime denies others.
    pub prompts: Option<Vec<String>>,
    /// The rules about calls. The strictest rule that applies to a call decides.
    pub policies: Vec<PolicyRule>,
    /// Whether sessions of a proxy share one connection, because the server keeps nothing of them.
    pub shared: bool,
    /// Globs of the tools that templates may call that are not local files, within `tools` and `exclude`; none by
    /// default.
    pub remote_use: Vec<String>,
    /// The prefix of names in bindings.
    pub prefix: Prefix,
    /// The backend for the types of bindings.
    pub types: Types,
    /// The handling of undeclared properties in generated types.
    pub unknown: UnknownKeys,
    /// Further options of the generated code.
    pub rust: RustConfig,
    /// The views of tools, by their names on the server.
    pub views: BTreeMap<String, View>,
    /// The purpose of the server.
    pub description: Option<String>,
    /// The timeout of calls.
    pub timeout: Option<Duration>,
    /// The timeout of connecting.
    pub connect_timeout: Option<Duration>,
    /// The number of calls in a time; further calls wait.
    pub limit: Option<Rate>,
    /// The certificate authorities to trust for a server at a URL, instead of the system's: PEM, or the path of a PEM
    /// file. A relative path is relative to the `folder`.
    pub ca: Option<String>,
    /// The certificate and the private key of this client for a server at a URL: PEM, or the path of a PEM file.
    pub client_cert: Option<String>,
    /// The HTTP proxy to a server at a URL, instead of the one of the environment.
    pub proxy: Option<String>,
    /// The OAuth settings of a server at a URL.
    pub auth: Option<AuthConfig>,
    /// The reaction to a live server that differs from its snapshot.
    pub drift: Option<Drift>,
    /// The accepted changes, and the classes of rules.
    pub drift_rules: DriftRules,
    /// The parts of a bound tool that may not change.
    pub pin: Option<Pin>,
    /// The isolation of the child process; `None` for none.
    pub isolation: Option<Isolation>,
    /// The places where the values of `${NAME}` are looked up, in order; empty for the environment alone.
    pub secret_stores: Vec<SecretStore>,
    /// Whether a model provider may connect to the server itself. Its URL and headers, including secrets, are then
    /// sent to the provider. Only `HostedServers` of `mcp_bindgen::agents` uses this.
    pub hosted: bool,
    /// The folder of the configuration file; relative paths in `command`, `cwd`, `isolation`, `ca` and `client_cert`
    /// are relative to it.
    pub folder: Option<PathBuf>,
    /// The positions of the patterns above in the configuration.
    pub pattern_places: PatternPlaces,
    /// The configuration before the placeholders were replaced: only it may be shown afterwards.
    as_written: Option<Box<ServerConfig>>,
}

impl ServerConfig {
    /// Returns `true` if the configuration selects a tool: it matches `tools`, if set, and not `exclude`.
    pub fn selects(&self, tool: &str) -> bool {
        self.tools.as_deref().is_none_or(|tools| matches_globs(tools, tool)) && !self.excludes(tool)
    }

    /// Returns `true` if `exclude` names a tool.
    #[must_use]
    pub fn excludes(&self, tool: &str) -> bool {
        matches_globs(&self.exclude, tool)
    }

    /// Returns `true` if `approve` names a tool.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("files", "files-server").approve(["*", "!read_*"]);
    /// assert!(server.needs_approval("delete_file") && !server.needs_approval("read_file"));
    /// ```
    #[must_use]
    pub fn needs_approval(&self, tool: &str) -> bool {
        matches_globs(&self.approve, tool)
    }

    /// Returns `true` if a rule of `policy` demands something of calls of a tool, at least under some condition.
    #[must_use]
    pub fn has_policy(&self, tool: &str) -> bool {
        let demands = |rule: &&PolicyRule| rule.then != PolicyEffect::Allow || rule.rate.is_some();
        self.policies.iter().filter(demands).any(|rule| matches_globs(&rule.tools, tool))
    }

    /// Returns `true` if `resources` selects a URI.
    #[must_use]
    pub fn selects_resource(&self, uri: &str) -> bool {
        self.resources.as_deref().is_none_or(|globs| matches_globs(globs, uri))
    }

    /// Returns `true` if `prompts` selects a prompt.
    #[must_use]
    pub fn selects_prompt(&self, prompt: &str) -> bool {
        self.prompts.as_deref().is_none_or(|globs| matches_globs(globs, prompt))
    }

    /// Returns `true` if `remote_use` allows a selected tool to templates that are not local files.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("files", "files-server").remote_use(["list_*"]);
    /// assert!(server.lets_remote_use("list_files") && !server.lets_remote_use("delete_file"));
    /// ```
    #[must_use]
    pub fn lets_remote_use(&self, tool: &str) -> bool {
        matches_globs(&self.remote_use, tool)
    }

    /// Fills in the restrictions that this configuration does not set from `other`: `tools`, `exclude`, `approve`,
    /// `remote_use`, `resources`, `prompts`, `policy`, `limit`, `view`, `drift`, `pin`, and `isolation` of a child process. A configuration that only changes how a
    /// server is reached thus keeps the restrictions.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let reviewed = ServerConfig::stdio("files", "files-server").approve(["delete_*"]);
    /// let moved = ServerConfig::http("files", "https://files.example.com/mcp").with_demands_of(&reviewed);
    /// assert_eq!(moved.approve, ["delete_*"]);
    /// ```
    #[must_use]
    pub fn with_demands_of(mut self, other: &Self) -> Self {
        self.tools = self.tools.or_else(|| other.tools.clone());
        self.resources = self.resources.or_else(|| other.resources.clone());
        self.prompts = self.prompts.or_else(|| other.prompts.clone());
        if self.policies.is_empty() {
            self.policies.clone_from(&other.policies);
        }
        self.pattern_places.extend(&other.pattern_places);
        if self.drift.is_none() && self.drift_rules.is_empty() {
            self.drift_rules = other.drift_rules.clone();
        }
        if self.views.is_empty() {
            self.views.clone_from(&other.views);
        }
        self.limit = self.limit.or(other.limit);
        self.drift = self.drift.or(other.drift);
        self.pin = self.pin.or(other.pin);
        if matches!(self.transport, Transport::Stdio { .. }) && self.isolation.is_none() {
            self.isolation = other.isolation.clone().map(|isolation| isolation.led_from(other.folder.as_deref()));
        }
        for (own, others) in [
            (&mut self.exclude, &other.exclude),
            (&mut self.approve, &other.approve),
            (&mut self.remote_use, &other.remote_use),
        ] {
            if own.is_empty() {
                own.clone_from(others);
            }
        }
        self
    }
}

/// Returns `true` for valid names of servers: `^[a-z0-9][a-z0-9_-]{0,63}$`.
pub fn is_server_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=64).contains(&name.len()) && name.starts_with(first) && name.chars().all(|c| first(c) || c == '_' || c == '-')
}

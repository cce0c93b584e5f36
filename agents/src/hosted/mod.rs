//! Servers that are handed to a provider, whose own client of the protocol calls their tools.

mod anthropic;
mod approval;
mod credentials;
mod declarations;
mod openai;
mod plan;

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_model::{Config, Drift, FileError, ServerConfig, Snapshot};
use mcp_bindgen_runtime::events::{Events, HostedObserver};
use mcp_bindgen_runtime::{SecretSource, ServerSpec, with_secrets};
use serde_json::Value;

pub use self::approval::HostedApproval;
use self::credentials::{Credentials, remote};
pub use self::declarations::{HostedDeclarations, HostedNote, HostedNoteKind, NotHosted, NotHostedReason};
use self::plan::Plan;
use crate::json::names;
use crate::{Provider, Toolset};

/// The servers with `hosted = true` in `mcp.toml`: the provider connects to them itself.
///
/// The provider's own client then lists and calls their tools, without this process. URLs, headers and the secrets in
/// them go to the provider with every request. `tools`, `exclude` and `approve` are translated for the provider; if
/// that is impossible, the server is not declared. Policies, transactions, timeouts and drift checks of this
/// program do not apply to those calls; [`notes`](HostedDeclarations::notes) lists this.
///
/// A server that cannot be declared as configured is in [`not_hosted`](HostedDeclarations::not_hosted) with the reason;
/// the program then calls its tools itself.
///
/// # Beside a toolset
///
/// A [`Toolset`] ignores `hosted = true`: it has the tools of all its servers, and calls them with the program's own
/// client. Sending both would show the model each tool twice. [`HostedDeclarations::beside`] returns the set without
/// the tools that the provider calls itself.
///
/// # Beside a prompt
///
/// Only the configuration of a server reaches the provider, and not the settings of a [`Prompt`](crate::Prompt)'s
/// sections. [`RenderedServer::config`](crate::RenderedServer::config) contains nothing of `SectionServer::only`,
/// `Section::policy` or `Section::layers`. Pass the rendered prompt's toolset to [`limited_to`](Self::limited_to) to
/// limit the provider to the offered tools. This applies `only`, policies by name, and whether the section is open.
/// Policies on arguments, approvals, transactions and other layers do not apply to calls of a provider, and no warning
/// is possible. Do not set `hosted` for a server that needs them.
///
/// ```
/// use mcp_bindgen_agents::{HostedServers, Provider};
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::LocalSecrets;
///
/// # async fn run() {
/// let tracker = ServerConfig::http("tracker", "https://mcp.example.com/mcp")
///     .header("Authorization", "Bearer ${TRACKER_TOKEN:-none}")
///     .exclude(["delete_*"])
///     .hosted();
/// let servers = HostedServers::new().with_tools(tracker, ["list_issues", "delete_issue"]);
///
/// let declared = servers.declarations(Provider::OpenAiResponses, &LocalSecrets).await;
/// assert_eq!(declared.tools[0]["server_url"], "https://mcp.example.com/mcp");
/// assert_eq!(declared.tools[0]["allowed_tools"][0], "list_issues");
///
/// let none = servers.declarations(Provider::Gemini, &LocalSecrets).await;
/// assert_eq!(none.not_hosted[0].server, "tracker");
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(run());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct HostedServers {
    servers: BTreeMap<String, Server>,
    observer: HostedObserver,
}

/// A call that a provider made itself, as its response shows it.
struct HostedCall {
    server: String,
    tool: String,
    is_error: bool,
}

#[derive(Clone, Debug)]
struct Server {
    config: ServerConfig,
    /// The names of its tools, if they were listed.
    tools: Option<Vec<String>>,
    /// Names that nothing goes beyond, whatever the configuration says.
    only: Option<BTreeSet<String>>,
}

impl HostedServers {
    /// Creates an empty set of servers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the servers of a configuration that have `hosted = true`. The names of their tools are read from the
    /// snapshots next to the configuration file, if there are any.
    ///
    /// # Errors
    /// Fails if a snapshot cannot be read: file, line and column.
    pub fn from_config(config: &Config) -> Result<Self, FileError> {
        let mut servers = Self::new();
        for name in config.servers.iter().filter(|(_, server)| server.hosted).map(|(name, _)| name) {
            let server = config.server_with_defaults(name)?;
            let path = config.snapshot_path(name);
            let is_there = config.path.is_some() && path.exists();
            servers = match is_there.then(|| Snapshot::load(&path)).transpose()? {
                Some(snapshot) => servers.with_tools(server, names(&snapshot.tools)),
                None => servers.with(server),
            };
        }
        Ok(servers)
    }

    /// Adds the server of bindings, with the configuration and the tools from build time. The provider may call no
    /// other tools, even if the configuration has no `tools`.
    ///
    /// # Errors
    /// Fails if the bindings carry no configuration.
    pub fn with_bindings(self, spec: &ServerSpec) -> Result<Self, FileError> {
        let wrong = |what: String| FileError::new(format!("server `{}`: {what}", spec.name));
        let text = spec.config.ok_or_else(|| {
            wrong("its bindings embed no configuration".to_owned()).with_help("use `HostedServers::with_tools`")
        })?;
        let json = serde_json::from_str(text).map_err(|error| wrong(format!("its embedded configuration: {error}")))?;
        let config = ServerConfig::from_json(spec.name, &json)?;
        let bound = spec.tools.iter().map(|tool| tool.name.to_owned()).collect();
        Ok(self.and(Server { config, tools: None, only: Some(bound) }))
    }

    /// Adds a server whose tools are unknown, or replaces the one with its name. Its configuration can only be
    /// translated if it names tools without wildcards.
    #[must_use]
    pub fn with(self, config: ServerConfig) -> Self {
        self.and(Server { config, tools: None, only: None })
    }

    /// Adds a server with the names of its tools, or replaces the one with its name.
    #[must_use]
    pub fn with_tools<S: Into<String>>(self, config: ServerConfig, tools: impl IntoIterator<Item = S>) -> Self {
        let tools = Some(tools.into_iter().map(Into::into).collect());
        self.and(Server { config, tools, only: None })
    }

    fn and(mut self, server: Server) -> Self {
        self.servers.insert(server.config.name.clone(), server);
        self
    }

    /// Limits each server to the tools that the toolset has of it, under the server's configured name. Tools that
    /// bindings, sections, `only`, policies by name or [`Toolset::subset`] leave out are disabled for the provider
    /// too. A server without any tool in the toolset is in [`not_hosted`](HostedDeclarations::not_hosted).
    ///
    /// ```
    /// use mcp_bindgen_agents::{HostedServers, Prompt, PromptParams, PromptState, Provider, Section, SectionServer};
    /// use mcp_bindgen_model::{ServerConfig, Snapshot};
    /// use mcp_bindgen_runtime::LocalSecrets;
    /// use mcp_bindgen_runtime::middleware::Policy;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let known = Snapshot::parse(r#"{ "tools": [{ "name": "list" }, { "name": "drop" }] }"#)?;
    /// let tracker = ServerConfig::http("tracker", "https://mcp.example.com/mcp").hosted();
    /// let server = SectionServer::from(tracker.clone()).snapshot(known);
    /// let section = Section::new("issues", "Issues").server(server).policy(Policy::deny(["drop"]));
    /// let prompt = Prompt::new().section(section).build()?;
    ///
    /// let rendered = prompt.render(&PromptParams::new(), &PromptState::new())?;
    /// let (toolset, _) = rendered.toolset().await?;
    /// let servers = HostedServers::new().with(tracker).limited_to(&toolset);
    /// let declared = servers.declarations(Provider::OpenAiResponses, &LocalSecrets).await;
    /// assert_eq!(declared.tools[0]["allowed_tools"], serde_json::json!(["list"]));
    /// assert!(declared.beside(&toolset).is_empty());
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(run())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limited_to(mut self, toolset: &Toolset) -> Self {
        for (name, server) in &mut self.servers {
            let named = toolset.tools_of_server(name).map(str::to_owned);
            server.only = Some(match server.only.take() {
                Some(only) => named.filter(|tool| only.contains(tool)).collect(),
                None => named.collect(),
            });
        }
        self
    }

    /// Returns the names of the servers, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns the servers in the provider's form, with their secrets. Providers do not store them: create them for
    /// each request, and use them only there.
    ///
    /// This does not fail: a server that cannot be declared is in [`not_hosted`](HostedDeclarations::not_hosted), and
    /// the others are declared.
    pub async fn declarations(&self, provider: Provider, secrets: &impl SecretSource) -> HostedDeclarations {
        let mut declared = HostedDeclarations::new(provider);
        for server in self.servers.values() {
            if let Err(refusal) = server.declare(provider, secrets, &mut declared).await {
                declared.refuse(&server.config.name, None, refusal);
            }
        }
        declared
    }

    /// Subscribes to events of the calls that providers make: [`ToolInvoked`](mcp_bindgen_runtime::events::ToolInvoked)
    /// of kind [`Hosted`](mcp_bindgen_runtime::events::CallKind::Hosted), once [`report`](Self::report) has the response.
    /// Clones share the subscribers.
    #[must_use]
    pub fn events(&self) -> Events {
        self.observer.events()
    }

    /// Reports the calls in a provider's response as [`events`](Self::events), in order, without duration and contents.
    /// Pass each response once: the whole one, not its parts.
    ///
    /// ```
    /// use mcp_bindgen_agents::{HostedServers, Provider};
    ///
    /// # async fn run() {
    /// let servers = HostedServers::new();
    /// let mut events = servers.events();
    /// let response = serde_json::json!({ "output": [
    ///     { "type": "mcp_call", "server_label": "tracker", "name": "list_issues", "arguments": "{}", "output": "[]" }
    /// ] });
    /// servers.report(Provider::OpenAiResponses, &response);
    /// println!("{:?}", events.next().await);
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run());
    /// ```
    pub fn report(&self, provider: Provider, response: &Value) {
        let (source, calls) = match provider {
            Provider::OpenAiResponses => ("openai", openai::calls(response)),
            Provider::Anthropic => ("anthropic", anthropic::calls(response)),
            // These call no servers.
            Provider::OpenAiChat | Provider::Gemini => return,
        };
        for HostedCall { server, tool, is_error } in calls {
            self.observer.called(source, &server, &tool, is_error);
        }
    }
}

impl Server {
    /// Adds the server to the declarations.
    async fn declare(
        &self,
        provider: Provider,
        secrets: &impl SecretSource,
        declared: &mut HostedDeclarations,
    ) -> Result<(), NotHosted> {
        let unsupported = |message| Err(NotHostedReason::Provider.because(message));
        let declare = match provider {
            Provider::OpenAiResponses => openai::declare,
            Provider::Anthropic => anthropic::declare,
            Provider::OpenAiChat => return unsupported("Chat Completions do not support MCP servers"),
            Provider::Gemini => {
                return unsupported("Gemini's `mcpServers` support neither allowed tools nor approvals");
            }
        };
        let config = &self.config;
        remote(config)?;
        if !config.hosted {
            return Err(NotHostedReason::NotAsked.because("its configuration does not have `hosted = true`"));
        }
        if config.drift == Some(Drift::Deny) {
            return Err(NotHostedReason::Drift.because(
                "a provider's client cannot enforce `drift = \"deny\"`; set `drift` of the server to \"warn\" or \
                 \"ignore\"",
            ));
        }
        // The plan enforces the demands on tools, and providers use neither resources nor prompts.
        let planned = ["tools", "exclude", "view", "policy", "approve", "resources", "prompts"];
        if let Some(demand) = config.demands().find(|demand| !planned.contains(demand)) {
            return Err(NotHostedReason::Network.because(format!("a provider's client cannot enforce `{demand}`")));
        }
        let plan = Plan::of(config, self.tools.as_deref(), self.only.as_ref())?;
        let ready = with_secrets(config, secrets).await;
        let ready = ready.map_err(|error| NotHostedReason::Secrets.because(error.message.clone()))?;
        let credentials = Credentials::of(&ready)?;
        credentials.check_encryption(config, &ready)?;
        declare(declared, (config, plan, &credentials))?;
        note(declared, config, &ready, &credentials);
        Ok(())
    }
}

/// Adds the notes on every server that is handed over.
fn note(declared: &mut HostedDeclarations, config: &ServerConfig, ready: &ServerConfig, credentials: &Credentials) {
    let idle = [
        ("`timeout`", config.timeout.is_some()),
        ("`connect_timeout`", config.connect_timeout.is_some()),
        ("`drift`", config.drift == Some(Drift::Warn)),
        ("`pin`", config.pin.is_some()),
    ];
    let idle: Vec<&str> = idle.into_iter().filter_map(|(key, is_set)| is_set.then_some(key)).collect();
    let without_effect = match idle.as_slice() {
        [] => String::new(),
        idle => format!(", so {} of its configuration has no effect", idle.join(", ")),
    };
    let text = format!(
        "the provider calls its tools: this program's policies, transactions, timeouts and drift checks do not apply, and \
         only `HostedServers::report` gives events{without_effect}"
    );
    declared.note(&config.name, HostedNoteKind::NotGoverned, text);
    if ready.secrets().iter().any(|secret| !secret.is_empty() && credentials.url.contains(secret.as_str())) {
        let text = "its `url` contains a secret, and providers repeat URLs in responses; use a header";
        declared.note(&config.name, HostedNoteKind::SecretInUrl, text);
    }
    if !credentials.is_encrypted() {
        let text = "its `url` is not https: requests and headers are not encrypted";
        declared.note(&config.name, HostedNoteKind::NotEncrypted, text);
    }
}

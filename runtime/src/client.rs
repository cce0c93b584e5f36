//! A client of one server.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_model::{Config, ServerConfig, nearest, printable};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::connection::Connection;
use crate::establish::establish;
use crate::options::ClientOptions;
use crate::request::RequestError;
use crate::{CallError, CallTool, ConnectError, ConnectErrorKind, ServerSpec, ToolCall, ToolResult};

const INVALID_PARAMS: i32 = -32602;

/// The variable that holds servers as JSON, before any file.
pub(crate) const SERVERS_VARIABLE: &str = "MCP_SERVERS";

type Outcome = Option<Result<Arc<Connection>, ConnectError>>;

/// A client of one server. Clones share one connection, which is opened by the first call and closed with the last
/// clone.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use mcp_model::ServerConfig;
/// use mcp_runtime::{CallTool, Client, ToolCall};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let result = client.call_tool(ToolCall::new("files", "list", Default::default())).await?;
/// println!("{}", result.text());
/// client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    config: ServerConfig,
    options: ClientOptions,
    slot: Mutex<Option<Attempt>>,
}

/// A connection that is being opened, or was.
struct Attempt {
    outcome: watch::Receiver<Outcome>,
    task: AbortHandle,
}

impl Attempt {
    fn is_usable(&self) -> bool {
        match &*self.outcome.borrow() {
            Some(Ok(connection)) => connection.is_open(),
            Some(Err(_)) => false,
            None => self.outcome.has_changed().is_ok(),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Client {
    /// A client of the server that is configured like this. It connects when it is first used.
    pub fn new(config: ServerConfig) -> Self {
        Self::with_options(config, ClientOptions::default())
    }

    /// A client with options.
    pub fn with_options(config: ServerConfig, options: ClientOptions) -> Self {
        Self { shared: Arc::new(Shared { config, options, slot: Mutex::new(None) }) }
    }

    /// The client that bindings connect with. How to reach the server says, in this order: the variable `MCP_SERVERS`,
    /// the configuration that was there when the bindings were made, `mcp.toml` or `.mcp.json` from the current folder
    /// upwards.
    ///
    /// # Errors
    /// Where none of them has the server, or one of them cannot be read.
    pub fn for_spec(spec: &'static ServerSpec) -> Result<Self, ConnectError> {
        let wrong = |message: String| ConnectError::new(spec.name, ConnectErrorKind::Config, message);
        let (config, defaults) = configured(spec).map_err(wrong)?;
        let mut options = ClientOptions::default();
        if let Some(timeout) = defaults {
            options = options.timeout(timeout);
        }
        if let Some(version) = spec.protocol_version {
            options = options.protocol_version(version);
        }
        if let Some(text) = spec.client_capabilities {
            let capabilities = serde_json::from_str(text)
                .map_err(|error| wrong(format!("the client capabilities of its bindings are not JSON: {error}")))?;
            options = options.capabilities(capabilities);
        }
        Ok(Self::with_options(config, options))
    }

    /// The server's name.
    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// The server's configuration, with its placeholders.
    pub fn config(&self) -> &ServerConfig {
        &self.shared.config
    }

    /// Opens the connection, where there is none.
    ///
    /// # Errors
    /// Why there is no connection.
    pub async fn connect(&self) -> Result<(), ConnectError> {
        self.connection().await.map(drop)
    }

    /// Whether the connection is open.
    pub fn is_connected(&self) -> bool {
        let slot = self.slot();
        slot.as_ref().is_some_and(|attempt| attempt.outcome.borrow().is_some() && attempt.is_usable())
    }

    /// Closes the connection; a child process is gone when this returns, with all that it started. The next call opens
    /// another.
    pub async fn close(&self) {
        let attempt = self.slot().take();
        let Some(attempt) = attempt else { return };
        attempt.task.abort();
        let connection = match &*attempt.outcome.borrow() {
            Some(Ok(connection)) => connection.clone(),
            _ => return,
        };
        connection.close().await;
    }

    /// Calls a tool with another time limit than the configured one.
    ///
    /// # Errors
    /// As [`CallTool::call_tool`].
    pub async fn call_tool_within(&self, call: ToolCall, timeout: Duration) -> Result<ToolResult, CallError> {
        let server = self.name();
        let connection = self.connection().await.map_err(|error| CallError::NotConnected {
            server: server.to_owned(),
            tool: call.tool.to_string(),
            message: error.message,
        })?;
        match self.exchange(&connection, &call, timeout).await {
            Ok(result) => {
                let result = ToolResult::from_json(server, call.tool.as_ref(), result);
                if result.is_error && names_unknown_tool(&call.tool, &result.text()) {
                    return Err(self.tool_not_found(&call.tool));
                }
                Ok(result)
            }
            Err(error) => Err(self.call_error(&connection, &call.tool, timeout, error)),
        }
    }

    #[cfg(not(feature = "http"))]
    async fn exchange(
        &self,
        connection: &Connection,
        call: &ToolCall,
        patience: Duration,
    ) -> Result<Value, RequestError> {
        connection.call_tool(&call.tool, &call.arguments, patience).await
    }

    #[cfg(feature = "http")]
    async fn exchange(
        &self,
        connection: &Connection,
        call: &ToolCall,
        patience: Duration,
    ) -> Result<Value, RequestError> {
        if let (Some(headers), Some(spec)) = (&connection.link.param_headers, call.spec)
            && spec.declared_input_schema().contains("x-mcp-header")
            && let Ok(schema) = serde_json::from_str(spec.declared_input_schema())
        {
            headers.learn(&call.tool, &schema).map_err(RequestError::Refused)?;
        }
        let outcome = connection.call_tool(&call.tool, &call.arguments, patience).await;
        match outcome {
            // The server refused it before it did anything; its list says which headers it wants.
            Err(error) if connection.wants_headers(&error) => {
                crate::list::tools(self, connection).await.map_err(|error| RequestError::NotSent(error.message))?;
                connection.call_tool(&call.tool, &call.arguments, patience).await
            }
            outcome => outcome,
        }
    }

    fn call_error(&self, connection: &Connection, tool: &str, timeout: Duration, error: RequestError) -> CallError {
        let (server, tool) = (self.name().to_owned(), tool.to_owned());
        match error {
            RequestError::Timeout => CallError::Timeout { server, tool, after: timeout },
            RequestError::NotSent(message) | RequestError::Refused(message) => {
                CallError::Transport { server, tool, message: connection.link.notes.explain(&message) }
            }
            RequestError::Lost(message) => {
                CallError::OutcomeUnknown { server, tool, message: connection.link.notes.explain(&message) }
            }
            RequestError::Rpc(error) if error.code.0 == INVALID_PARAMS && names_unknown_tool(&tool, &error.message) => {
                CallError::ToolNotFound { server, tool }
            }
            RequestError::Rpc(error) => CallError::Rpc {
                server,
                tool,
                code: i64::from(error.code.0),
                message: connection.link.notes.redact(&error.message),
                data: error.data.map(Box::new),
            },
        }
    }

    fn tool_not_found(&self, tool: &str) -> CallError {
        CallError::ToolNotFound { server: self.name().to_owned(), tool: tool.to_owned() }
    }

    pub(crate) fn call_timeout(&self) -> Duration {
        self.shared.options.call_timeout(self.shared.config.timeout)
    }

    /// The open connection; whoever comes while it is being opened waits for the same one.
    pub(crate) async fn connection(&self) -> Result<Arc<Connection>, ConnectError> {
        let mut outcome = {
            let mut slot = self.slot();
            match slot.as_ref() {
                Some(attempt) if attempt.is_usable() => attempt.outcome.clone(),
                _ => slot.insert(self.begin()).outcome.clone(),
            }
        };
        let aborted = || ConnectError::new(self.name(), ConnectErrorKind::Transport, "connecting was given up");
        let settled = outcome.wait_for(Option::is_some).await.map_err(|_| aborted())?;
        settled.clone().unwrap_or_else(|| Err(aborted()))
    }

    fn begin(&self) -> Attempt {
        let (sender, outcome) = watch::channel(None);
        let config = self.shared.config.clone();
        let options = self.shared.options.clone();
        let patience = options.connect_timeout_or(self.call_timeout());
        let task = tokio::spawn(async move {
            let connection = establish(&config, &options, patience).await.map(Arc::new);
            sender.send_replace(Some(connection));
        });
        Attempt { outcome, task: task.abort_handle() }
    }

    fn slot(&self) -> MutexGuard<'_, Option<Attempt>> {
        self.shared.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallTool for Client {
    fn call_tool(&self, call: ToolCall) -> impl Future<Output = Result<ToolResult, CallError>> + Send {
        self.call_tool_within(call, self.call_timeout())
    }
}

impl Client {
    /// Calls a tool by its wire name, without bindings.
    ///
    /// # Errors
    /// As [`CallTool::call_tool`].
    pub async fn call(&self, tool: impl Into<String>, arguments: Map<String, Value>) -> Result<ToolResult, CallError> {
        self.call_tool(ToolCall::new(self.name().to_owned(), tool.into(), arguments)).await
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("config", &self.shared.config).field("connected", &self.is_connected()).finish()
    }
}

/// Whether a message says, in the words of one of the SDKs and with nothing else, that there is no such tool.
fn names_unknown_tool(tool: &str, message: &str) -> bool {
    let said = message.trim().trim_start_matches("MCP error -32602: ").trim_end_matches('.');
    let said = said.replace(['`', '\'', '"', ':'], "");
    let tool = tool.replace(':', "");
    [format!("Unknown tool {tool}"), format!("Tool {tool} not found"), format!("Tool not found {tool}")]
        .iter()
        .any(|words| words.eq_ignore_ascii_case(&said))
}

type Configured = (ServerConfig, Option<Duration>);

fn configured(spec: &ServerSpec) -> Result<Configured, String> {
    if let Ok(text) = std::env::var(SERVERS_VARIABLE) {
        let config = Config::from_env_json(&text).map_err(|error| error.to_string())?;
        if config.servers.contains_key(spec.name) || config.rejected.contains_key(spec.name) {
            let server = config.server(spec.name).map_err(|error| error.to_string())?.clone();
            warn_of(&config, Some(spec.name));
            return Ok((server, None));
        }
        warn_of_strangers(spec.name, &config);
    }
    if let Some(text) = spec.config {
        let value =
            serde_json::from_str(text).map_err(|error| format!("the configuration of its bindings: {error}"))?;
        let mut server = ServerConfig::from_json(spec.name, &value).map_err(|error| error.to_string())?;
        server.folder = spec.folder.map(PathBuf::from);
        return Ok((server, None));
    }
    let folder = std::env::current_dir().map_err(|error| format!("the current folder cannot be read: {error}"))?;
    from_files(spec.name, &folder)
}

/// A misspelt name in the variable must not look like one that is obeyed.
fn warn_of_strangers(bound: &str, config: &Config) {
    let names: Vec<&str> = config.servers.keys().chain(config.rejected.keys()).map(String::as_str).collect();
    if names.is_empty() {
        return;
    }
    let meant = match nearest(bound, names.iter().copied()).first() {
        Some(near) => format!("was `{}` meant?", printable(near)),
        None => format!("it names {}", names.iter().map(|name| printable(name)).collect::<Vec<_>>().join(", ")),
    };
    tracing::warn!(server = bound, "{SERVERS_VARIABLE} does not name the server `{bound}` of these bindings; {meant}");
}

fn from_files(name: &str, folder: &Path) -> Result<Configured, String> {
    let Some(path) = Config::find(folder) else {
        return Err(format!(
            "no configuration: the bindings hold none, {SERVERS_VARIABLE} does not name the server, and there is neither \
             mcp.toml nor .mcp.json from `{}` upwards",
            folder.display()
        ));
    };
    let config = Config::load(&path).map_err(|error| error.to_string())?;
    let server = config.server(name).map_err(|error| error.to_string())?.clone();
    warn_of(&config, Some(name));
    Ok((server, Some(config.defaults.timeout)))
}

/// Tells what is worth mending in a configuration, for one of its servers or for all.
fn warn_of(config: &Config, server: Option<&str>) {
    let warnings = config.unenforced().into_iter().chain(config.warnings.iter().cloned());
    for warning in warnings.filter(|warning| server.is_none() || warning.server.as_deref() == server) {
        tracing::warn!("{warning}");
    }
}

/// The servers of a configuration, by name.
pub(crate) fn clients_of(config: Config) -> BTreeMap<String, Client> {
    warn_of(&config, None);
    let timeout = config.defaults.timeout;
    config
        .servers
        .into_iter()
        .map(|(name, server)| (name, Client::with_options(server, ClientOptions::default().timeout(timeout))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::names_unknown_tool;

    #[test]
    fn every_sdk_says_it_in_its_own_words() {
        for message in [
            "MCP error -32602: Tool find not found",
            "Unknown tool: find",
            "Unknown tool: 'find'",
            "tool not found: find",
            "tool `find` not found.",
        ] {
            assert!(names_unknown_tool("find", message), "{message}");
        }
        for message in ["Tool hammer not found in the shed", "find: tool not found", "not found", "Unknown tool: other"]
        {
            assert!(!names_unknown_tool("find", message), "{message}");
        }
    }
}

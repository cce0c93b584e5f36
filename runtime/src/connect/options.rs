//! The options of a client that a program sets, beyond the configuration of its server.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::{ServerConfig, Transport};
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Map, Value, json};

use super::limits::SharedLimits;
use super::secrets::{SecretSource, Secrets};
use crate::call::spec::setters;
use crate::call::{ApprovalAnswer, ApprovalRequest, Approver};
use crate::ground::deadline::Patience;
use crate::rpc::handlers::{
    ElicitationAnswer, ElicitationRequest, Handlers, Root, SamplingAnswer, SamplingRequest, answerer,
};
#[cfg(feature = "cassette")]
use crate::rpc::transports::cassette::Cassette;
#[cfg(feature = "stdio")]
use crate::rpc::transports::duplex::Streams;
#[cfg(feature = "http")]
use crate::rpc::transports::http::{authorization::Authorizer, network::Customize};

/// The default timeout of a call.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout of connecting; a server may have to be downloaded first.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// The default limit of a call that reports progress, as a multiple of its timeout.
const TIMEOUTS_IN_ALL: u32 = 10;

/// Options of a [`Client`](crate::Client).
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct ClientOptions {
    timeout: Option<Duration>,
    connect_timeout: Option<Duration>,
    max_total_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) health_check: Option<Duration>,
    pub(crate) max_concurrent_requests: Option<usize>,
    pub(crate) limits: Option<SharedLimits>,
    pub(crate) protocol_version: Option<String>,
    pub(crate) capabilities: Option<Value>,
    /// Beside those in `capabilities`.
    extensions: Map<String, Value>,
    /// The name and the version of the program, as servers see them.
    pub(crate) client_info: Option<Value>,
    pub(crate) handlers: Handlers,
    pub(crate) secrets: Secrets,
    pub(crate) trusts_current_folder: bool,
    pub(crate) approver: Option<Approver>,
    pub(crate) records_content: bool,
    /// The streams to the server.
    #[cfg(feature = "stdio")]
    pub(crate) streams: Option<Streams>,
    #[cfg(feature = "cassette")]
    pub(crate) cassette: Option<Cassette>,
    #[cfg(feature = "http")]
    pub(crate) customize: Option<Customize>,
    #[cfg(feature = "auth")]
    authorization: Option<crate::OAuth>,
}

impl ClientOptions {
    /// Creates the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    setters! { owned:
        /// Sets the timeout of a call on an open connection, unless the server's configuration sets one; 30 seconds by
        /// default. Progress of the server restarts it, up to [`max_total_timeout`](Self::max_total_timeout).
        timeout(timeout: Duration): timeout = Some(timeout);

        /// Sets the limit for calls with progress, and for listings with all pages; ten times the timeout by default.
        max_total_timeout(timeout: Duration): max_total_timeout = Some(timeout);

        /// Sets the timeout of connecting, unless the server's configuration sets one; 60 seconds by default.
        connect_timeout(timeout: Duration): connect_timeout = Some(timeout);

        /// Closes a connection that is unused for this long; the next call opens another. By default it stays open.
        idle_timeout(timeout: Duration): idle_timeout = Some(timeout);

        /// Pings an idle server at this interval. If it does not answer within the timeout of a call, the connection is
        /// replaced. By default only calls detect a dead server.
        health_check(every: Duration): health_check = Some(every);

        /// Limits the pending calls of one client, over any transport; the minimum is one. Further calls wait within
        /// the timeout that is set for them. Calls by handlers of the server's requests count too. Over HTTP this also
        /// limits all requests that wait for a response; 16 by default.
        max_concurrent_requests(requests: usize): max_concurrent_requests = Some(requests);

        /// Counts the calls and the failing starts of this client together with those of others; see
        /// [`SharedLimits`](crate::SharedLimits).
        shared_limits(limits: SharedLimits): limits = Some(limits);

        /// Sets the protocol version to try first.
        protocol_version(version: impl Into<String>): protocol_version = Some(version.into());

        /// Sets the client capabilities to declare, as JSON; the list of tools may depend on them.
        capabilities(capabilities: Value): capabilities = Some(capabilities);

        /// Sets the timeout of an answer to a request of the server; five minutes by default. Meanwhile the timeout of
        /// the call is paused, for at most ten times as long in total. A late answer is declined.
        answer_timeout(timeout: Duration): handlers.patience = Some(timeout);

        /// Limits elicitation and sampling requests of a server, to this number of each in a minute; 60 by default.
        /// Further requests are rejected. Requests for roots are not limited.
        ///
        /// ```
        /// use mcp_bindgen_runtime::{ClientOptions, SamplingAnswer};
        ///
        /// let options = ClientOptions::new()
        ///     .on_sampling(async |_| SamplingAnswer::text("my-model", "an answer that costs something"))
        ///     .answers_per_minute(5);
        /// # let _ = options;
        /// ```
        answers_per_minute(answers: usize): handlers.per_minute = Some(answers);

        /// Sets the source of placeholder values, instead of [`LocalSecrets`](crate::LocalSecrets): the environment and,
        /// with feature `keyring`, the keyring of the operating system. It is used each time a connection is opened.
        secrets(source: impl SecretSource + 'static): secrets = Secrets::new(source);

        /// Includes arguments and results in [`events`](crate::events) and spans, up to 16 KiB of each. Secrets of the
        /// configuration, values under secret keys (`password`, `apiKey`) and values with the form of secrets (`ghp_..`)
        /// are left out. By default neither is included.
        ///
        /// A client whose configuration has placeholders knows its secrets from the first connection on, and includes
        /// nothing before.
        record_content(yes: bool): records_content = yes;

        /// Records the session with the server, or replays it without one; see [`Cassette`](crate::Cassette). A cassette
        /// holds the connections of one server.
        #[cfg(feature = "cassette")]
        cassette(cassette: Cassette): cassette = Some(cassette);

        /// Opens connections by a [`Connector`](crate::Connector), instead of the `command` or `url` of the
        /// configuration. Everything else of it applies: `tools`, `approve`, `timeout`, and so on. For a server without a
        /// configuration use [`Client::connected_by`](crate::Client::connected_by).
        ///
        /// ```
        /// # #[cfg(unix)]
        /// # {
        /// use mcp_bindgen_runtime::ClientOptions;
        ///
        /// let options = ClientOptions::new()
        ///     .connector(async || Ok(tokio::net::UnixStream::connect("/run/files.sock").await?.into_split()));
        /// # let _ = options;
        /// # }
        /// ```
        #[cfg(feature = "stdio")]
        connector(connector: impl crate::Connector): streams = Some(Streams::by(connector));

        /// Sets the OAuth authorization of requests to a server over HTTP. `auth` of the server's configuration takes
        /// the place of the same settings.
        #[cfg(feature = "auth")]
        authorization(oauth: crate::OAuth): authorization = Some(oauth);

        /// Changes the HTTP client of servers at a URL, for example its proxies, its DNS or its timeouts. The builder
        /// has the settings of the configuration (`ca`, `client_cert`, `proxy`). Redirects and retries are set afterwards,
        /// because both could send a call again. OAuth requests use the same client, so default headers with secrets are
        /// sent to the authorization server too.
        ///
        /// Certificates that are added to the builder have no effect, because it has its own TLS configuration: use `ca`,
        /// or replace the configuration with `tls_backend_preconfigured`.
        ///
        /// ```
        /// use std::time::Duration;
        ///
        /// use mcp_bindgen_runtime::ClientOptions;
        ///
        /// let options = ClientOptions::new().http_client(|builder| {
        ///     builder.user_agent("my-agent/1.0").connect_timeout(Duration::from_secs(3))
        /// });
        /// # let _ = options;
        /// ```
        #[cfg(feature = "http")]
        http_client(change: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder + Send + Sync + 'static):
            customize = Some(Customize(Arc::new(change)));
    }

    /// Handles elicitation: requests of the server to the user during a call. Declares the capability.
    pub fn on_elicitation<A>(mut self, answer: impl Fn(ElicitationRequest) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = ElicitationAnswer> + Send + 'static,
    {
        self.handlers.elicitation = answerer(ElicitationRequest::read, answer, ElicitationAnswer::print);
        self
    }

    /// Handles sampling: requests of the server to a model. Declares the capability.
    ///
    /// ```
    /// use mcp_bindgen_runtime::{ClientOptions, SamplingAnswer};
    ///
    /// let options = ClientOptions::new().on_sampling(async |request| match request.params.get("messages") {
    ///     Some(messages) => SamplingAnswer::text("my-model", format!("about {messages}")),
    ///     None => SamplingAnswer::Decline,
    /// });
    /// # let _ = options;
    /// ```
    pub fn on_sampling<A>(mut self, answer: impl Fn(SamplingRequest) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = SamplingAnswer> + Send + 'static,
    {
        self.handlers.sampling = answerer(|_, params| SamplingRequest { params }, answer, SamplingAnswer::print);
        self
    }

    /// Sets the folders that the server may use. Declares the capability.
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Arc<[Root]> = roots.into_iter().collect();
        self.on_roots(move || ready(roots.to_vec()))
    }

    /// Handles requests for the folders that the server may use, instead of [`roots`](Self::roots), if they change.
    /// Declares the capability.
    ///
    /// ```
    /// use mcp_bindgen_runtime::{ClientOptions, Root};
    ///
    /// let options = ClientOptions::new().on_roots(async || vec![Root::new("file:///home/me/project")]);
    /// # let _ = options;
    /// ```
    pub fn on_roots<A>(mut self, answer: impl Fn() -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = Vec<Root>> + Send + 'static,
    {
        self.handlers.roots = answerer(|_, _| (), move |()| answer(), |roots| Ok(json!({ "roots": roots })));
        self
    }

    /// Returns `true` if the options have handlers for questions of servers.
    #[doc(hidden)]
    #[must_use]
    pub fn answers_questions(&self) -> bool {
        self.handlers.elicitation.is_some() || self.handlers.sampling.is_some() || self.handlers.roots.is_some()
    }

    /// Lets bindings without an embedded configuration use `mcp.toml` or `.mcp.json` of the working directory, or of
    /// its workspace root. They start its `command` and send secrets to its `url`: use this only in programs that run
    /// in trusted folders.
    ///
    /// ```no_run
    /// use mcp_bindgen_runtime::{Client, ClientOptions, ServerSpec};
    ///
    /// # static SERVER: ServerSpec = ServerSpec::new("github");
    /// let client = Client::for_spec_with(&SERVER, ClientOptions::new().trust_current_folder())?;
    /// // Github::with(client).create_issue(params).await?
    /// # drop(client);
    /// # Ok::<(), mcp_bindgen_runtime::ConnectError>(())
    /// ```
    pub fn trust_current_folder(mut self) -> Self {
        self.trusts_current_folder = true;
        self
    }

    /// Handles approvals of tools that `approve` of the server's configuration names; without a handler they are
    /// denied. Its time does not count against the call. Prompts and resources need no approval.
    ///
    /// For clients of a configuration use [`Servers::load_with`](crate::Servers::load_with), for those of bindings
    /// [`Client::for_spec_with`](crate::Client::for_spec_with).
    ///
    /// ```
    /// use mcp_bindgen_runtime::ClientOptions;
    /// use mcp_bindgen_runtime::middleware::ApprovalAnswer;
    ///
    /// let options = ClientOptions::new().on_approval(async |request| match request.tool.as_str() {
    ///     "merge_pull_request" => ApprovalAnswer::Approve,
    ///     _ => ApprovalAnswer::Decline("only merges".to_owned()),
    /// });
    /// # let _ = options;
    /// ```
    pub fn on_approval<A>(mut self, answer: impl Fn(ApprovalRequest) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = ApprovalAnswer> + Send + 'static,
    {
        self.approver = Some(Approver::new(answer));
        self
    }

    /// Sets the name and the version of the program, as servers see them (`clientInfo`); `mcp-bindgen` and its version
    /// by default.
    pub fn client_info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        let (name, version): (String, String) = (name.into(), version.into());
        self.client_info = Some(json!({ "name": name, "version": version }));
        self
    }

    /// Returns `true` if a cassette replaces the server.
    pub(crate) fn replays(&self) -> bool {
        #[cfg(feature = "cassette")]
        if let Some(cassette) = &self.cassette {
            return cassette.replays();
        }
        false
    }

    /// Writes the cassette of a closed connection.
    pub(crate) fn save_cassette(&self) {
        #[cfg(feature = "cassette")]
        if let Some(Err(error)) = self.cassette.as_ref().map(Cassette::save) {
            tracing::error!("{error}");
        }
    }

    /// Returns `true` if the client has one transport and cannot open another.
    pub(crate) fn opens_one_transport(&self) -> bool {
        #[cfg(feature = "stdio")]
        if let Some(streams) = &self.streams {
            return streams.are_for_one_session;
        }
        false
    }

    /// Returns `true` if connecting starts a child process.
    pub(crate) fn starts_child(&self, config: &ServerConfig) -> bool {
        #[cfg(feature = "stdio")]
        if self.streams.is_some() {
            return false;
        }
        cfg!(feature = "stdio") && matches!(config.transport, Transport::Stdio { .. }) && !self.replays()
    }

    /// Declares an extension of the protocol by its id (`com.example/feature`), with its settings. Its messages are
    /// sent with [`Client::request`](crate::Client::request) and [`Client::notify`](crate::Client::notify). They are
    /// received with [`on_request`](Self::on_request) and [`Client::notifications`](crate::Client::notifications).
    ///
    /// ```
    /// use mcp_bindgen_runtime::ClientOptions;
    /// use serde_json::json;
    ///
    /// let options = ClientOptions::new().extension("com.example/locks", json!({ "version": 2 }));
    /// # let _ = options;
    /// ```
    pub fn extension(mut self, id: impl Into<String>, settings: Value) -> Self {
        self.extensions.insert(id.into(), settings);
        self
    }

    /// Handles requests of the server with a method that is not the protocol's, for extensions: it receives the method
    /// and the parameters, and returns the result or a JSON-RPC error code and message. Like other requests of servers
    /// they are limited in number and time, and a method that the handler does not know should be answered with the
    /// code -32601.
    ///
    /// ```
    /// use mcp_bindgen_runtime::ClientOptions;
    /// use serde_json::json;
    ///
    /// let options = ClientOptions::new().on_request(async |method, _params| match method.as_str() {
    ///     "locks/owner" => Ok(json!({ "owner": "me" })),
    ///     _ => Err((-32601, format!("no such method: {method}"))),
    /// });
    /// # let _ = options;
    /// ```
    pub fn on_request<A>(mut self, answer: impl Fn(String, Value) -> A + Send + Sync + 'static) -> Self
    where
        A: Future<Output = Result<Value, (i32, String)>> + Send + 'static,
    {
        self.handlers.own = answerer(
            |method, params| (method, params),
            move |(method, params)| answer(method, params),
            |answer| answer.map_err(|(code, message)| ErrorData::new(ErrorCode(code), message, None)),
        );
        self
    }

    pub(crate) fn call_timeout(&self, configured: Option<Duration>) -> Duration {
        configured.or(self.timeout).unwrap_or(DEFAULT_TIMEOUT)
    }

    pub(crate) fn connect_timeout_or(&self, configured: Option<Duration>) -> Duration {
        configured.or(self.connect_timeout).unwrap_or(DEFAULT_CONNECT_TIMEOUT)
    }

    /// Returns the default time limits of a call.
    pub(crate) fn call_patience(&self, configured: Option<Duration>) -> Patience {
        let timeout = self.call_timeout(configured);
        let total = self.max_total_timeout.unwrap_or_else(|| timeout.saturating_mul(TIMEOUTS_IN_ALL));
        Patience::renewed_by_progress(timeout, total)
    }

    pub(crate) fn declared_capabilities(&self) -> Value {
        let mut capabilities = self.capabilities.clone().unwrap_or_else(|| json!({}));
        if let Value::Object(declared) = &mut capabilities {
            self.handlers.declare(declared);
            if !self.extensions.is_empty()
                && let Value::Object(all) = declared.entry("extensions").or_insert_with(|| json!({}))
            {
                all.extend(self.extensions.clone());
            }
        }
        capabilities
    }

    /// Returns the authorizer of requests to the server, if the program or the configuration sets one; `None` for a replay.
    #[cfg(feature = "http")]
    pub(super) fn authorizer(&self, config: &ServerConfig) -> Result<Option<Arc<dyn Authorizer>>, String> {
        #[cfg(feature = "auth")]
        if let Some(oauth) = self.authorization.as_ref().filter(|_| !self.replays()) {
            if let Transport::Http { headers, .. } | Transport::Sse { headers, .. } = &config.transport
                && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
            {
                return Err("`headers.Authorization` cannot be combined with OAuth; remove one of them".to_owned());
            }
            return Ok(Some(oauth.session(config, self.customize.clone())?));
        }
        let _ = config;
        Ok(None)
    }

    /// Prepares the configured authorization, unless the program has set one. It uses the tokens that `mcp-bindgen auth
    /// login` stores for this user.
    #[cfg(feature = "auth")]
    pub(crate) fn authorize_as_configured(&mut self, config: &ServerConfig) {
        if config.auth.is_some() {
            self.authorization.get_or_insert_with(|| crate::OAuth::new().store(crate::LocalTokenStore::new()));
        }
    }
}

#[cfg(test)]
#[cfg(all(feature = "stdio", feature = "cassette"))]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_that_is_run_starts_a_child() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, "{\"cassette\":1,\"server\":\"s\"}\n{\"end\":0}\n").expect("a cassette");
        let replaying = ClientOptions::new().cassette(Cassette::replay(path).expect("a cassette"));
        let connected = ClientOptions::new().connector(async || Ok(tokio::io::split(tokio::io::duplex(1).0)));
        let command = ServerConfig::stdio("s", "x");
        assert!(ClientOptions::new().starts_child(&command));
        assert!(!ClientOptions::new().starts_child(&ServerConfig::http("s", "http://127.0.0.1:1/")));
        assert!(!replaying.starts_child(&command));
        assert!(!connected.starts_child(&command));
    }
}

#[cfg(test)]
#[cfg(feature = "auth")]
mod auth_tests {
    use mcp_bindgen_model::AuthConfig;

    use super::*;

    #[test]
    fn configured_authorization_is_used_unless_the_program_sets_one() {
        let plain = ServerConfig::http("s", "https://s.example/mcp");
        let configured = plain.clone().auth(AuthConfig::default().scopes(["read"]));
        let authorizes = |mut options: ClientOptions, config: &ServerConfig| {
            options.authorize_as_configured(config);
            options.authorizer(config).expect("the settings are valid").is_some()
        };
        assert!(!authorizes(ClientOptions::new(), &plain) && authorizes(ClientOptions::new(), &configured));
        let own = ClientOptions::new().authorization(crate::OAuth::new().client("mine"));
        let mut both = own.clone();
        both.authorize_as_configured(&configured);
        assert_eq!(format!("{:?}", both.authorization), format!("{:?}", own.authorization));
    }

    #[test]
    fn authorization_contradicts_a_command_and_an_authorization_header() {
        let options = ClientOptions::new().authorization(crate::OAuth::new());
        let header = ServerConfig::http("s", "https://s.example/mcp").header("authorization", "Bearer x");
        for (config, expected) in [(ServerConfig::stdio("s", "x"), "use `env`"), (header, "remove one of them")] {
            let error = options.authorizer(&config).map(drop).expect_err(expected);
            assert!(error.contains(expected), "{error}");
        }
    }
}

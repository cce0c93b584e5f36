//! Starts or reaches a server and lets rmcp begin the conversation.

use std::sync::Arc;

use mcp_model::{ServerConfig, Transport};
use rmcp::RoleClient;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::IntoTransport;

use super::notes::Notes;
#[cfg(feature = "http")]
use super::param_headers::ParamHeaders;
use super::raw::Exchange;
use crate::ConnectErrorKind as Kind;
use crate::handler::Handler;

/// A secret so short may be a word of a schema, which has to stay as it is.
const SHORTEST_IN_LISTS: usize = 8;

type Service = RunningService<RoleClient, Handler>;

/// What a transport shares with the rest of its connection.
pub(crate) struct Link {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) notes: Notes,
    /// Where the server is reached over HTTP.
    #[cfg(feature = "http")]
    pub(crate) param_headers: Option<Arc<ParamHeaders>>,
}

impl Link {
    pub(crate) fn new(config: &ServerConfig, secrets: Vec<String>) -> Self {
        // Values that stand where secrets do; `secrets` has those of every placeholder, and words like `debug` among them.
        let mut private = config.secrets();
        private.retain(|value| value.len() >= SHORTEST_IN_LISTS);
        private.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self {
            exchange: Arc::default(),
            notes: Notes::hiding(secrets, private),
            #[cfg(feature = "http")]
            param_headers: matches!(config.transport, Transport::Http { .. }).then(Arc::default),
        }
    }
}

/// Why there is no conversation.
pub(crate) enum OpenError {
    /// The server could not be started, or the configuration does not say how to reach it.
    Start(Kind, String),
    /// The conversation did not begin.
    Begin(Box<ClientInitializeError>),
}

/// Opens a conversation.
pub(crate) async fn open(
    config: &ServerConfig,
    link: &Link,
    handler: Handler,
    mode: ClientLifecycleMode,
) -> Result<Service, OpenError> {
    match &config.transport {
        #[cfg(feature = "stdio")]
        Transport::Stdio { command, args, cwd } => {
            let program = super::process::Program {
                command,
                args,
                cwd: cwd.as_deref(),
                env: &config.env,
                inherit_env: &config.inherit_env,
            };
            let transport = super::stdio::StdioTransport::start(&program, link.exchange.clone(), link.notes.clone())
                .map_err(|error| OpenError::Start(Kind::Spawn, cannot_start(command, cwd.as_deref(), &error)))?;
            begin(handler, transport, mode).await
        }
        #[cfg(feature = "http")]
        Transport::Http { url, headers } => {
            use rmcp::transport::StreamableHttpClientTransport;
            use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
            let wrong = |message| OpenError::Start(Kind::Config, message);
            if !(url.starts_with("http://") || url.starts_with("https://")) {
                return Err(wrong("`url` begins with neither http:// nor https://".to_owned()));
            }
            let client = super::http::HttpClient {
                client: super::http_client::build()
                    .map_err(|error| OpenError::Start(Kind::Transport, error.to_string()))?,
                headers: header_map(headers).map_err(wrong)?,
                exchange: link.exchange.clone(),
                param_headers: link.param_headers.clone().unwrap_or_default(),
                notes: link.notes.clone(),
            };
            let settings = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            begin(handler, StreamableHttpClientTransport::with_client(client, settings), mode).await
        }
        Transport::Sse { .. } => Err(OpenError::Start(
            Kind::Unsupported,
            "`transport = \"sse\"` is not supported yet; use the server's streamable HTTP endpoint".to_owned(),
        )),
        #[cfg(not(all(feature = "stdio", feature = "http")))]
        _ => {
            let _ = (link, handler, mode);
            let missing = if cfg!(feature = "stdio") { "http" } else { "stdio" };
            let message = format!("this build cannot reach it; enable the feature `{missing}` of mcp-bindgen");
            Err(OpenError::Start(Kind::Unsupported, message))
        }
    }
}

async fn begin<T, E, A>(handler: Handler, transport: T, mode: ClientLifecycleMode) -> Result<Service, OpenError>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let begun = handler.serve_with_lifecycle(transport, mode).await;
    begun.map_err(|error| OpenError::Begin(Box::new(error)))
}

#[cfg(feature = "stdio")]
fn cannot_start(command: &str, cwd: Option<&str>, error: &std::io::Error) -> String {
    match (error.kind(), cwd) {
        (std::io::ErrorKind::NotFound, Some(cwd)) if !std::path::Path::new(cwd).is_dir() => {
            format!("could not start `{command}`: the folder `{cwd}` (cwd) does not exist")
        }
        (std::io::ErrorKind::NotFound, _) => {
            format!("could not start `{command}`: not found; is it installed and on PATH?")
        }
        _ => format!("could not start `{command}`: {error}"),
    }
}

#[cfg(feature = "http")]
fn header_map(headers: &std::collections::BTreeMap<String, String>) -> Result<http::HeaderMap, String> {
    const OURS: &[&str] = &["accept", "content-type", "content-length", "host", "mcp-session-id", "last-event-id"];
    let mut map = http::HeaderMap::new();
    for (name, value) in headers {
        let header = http::HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` under `headers` is not a header name"))?;
        if OURS.contains(&header.as_str()) {
            return Err(format!("the header `{name}` is set by the protocol; remove it from `headers`"));
        }
        let mut value = http::HeaderValue::from_str(value)
            .map_err(|_| format!("the value of the header `{name}` holds characters that a header cannot carry"))?;
        value.set_sensitive(true);
        map.insert(header, value);
    }
    Ok(map)
}

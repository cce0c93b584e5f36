//! One request over an open connection, and what can become of it.

use std::time::Duration;

use rmcp::model::{ClientRequest, ErrorData, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::Value;

use crate::transport::raw;

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum RequestError {
    /// No answer came in time.
    Timeout,
    /// It never reached the server.
    NotSent(String),
    /// It was refused before it had any effect.
    Refused(String),
    /// The connection was lost while it was under way.
    Lost(String),
    /// The server answered with an error.
    Rpc(ErrorData),
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Timeout => f.write_str("no answer came in time"),
            Self::NotSent(message) | Self::Refused(message) | Self::Lost(message) => f.write_str(message),
            Self::Rpc(error) => write!(f, "JSON-RPC error {}: {}", error.code.0, error.message),
        }
    }
}

/// Sends a request and waits for its raw result. Dropping the future cancels the request at the server.
pub(crate) async fn request(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
    patience: Duration,
) -> Result<Value, RequestError> {
    match tokio::time::timeout(patience, exchange(peer, request)).await {
        Ok(outcome) => outcome,
        Err(_) => Err(RequestError::Timeout),
    }
}

async fn exchange(peer: &Peer<RoleClient>, request: ClientRequest) -> Result<Value, RequestError> {
    let sent = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let handle = sent.map_err(|error| RequestError::NotSent(error.to_string()))?;
    Pending(Some(handle)).answer().await.map(raw::unwrap).map_err(classify)
}

/// A request that has no answer yet.
struct Pending(Option<RequestHandle<RoleClient>>);

impl Pending {
    async fn answer(mut self) -> Result<ServerResult, ServiceError> {
        let answer = match &mut self.0 {
            Some(handle) => (&mut handle.rx).await,
            None => return Err(ServiceError::TransportClosed),
        };
        self.0 = None;
        answer.unwrap_or(Err(ServiceError::TransportClosed))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let (Some(handle), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) {
            // Without a runtime the connection is gone as well, and so is the server's interest.
            runtime.spawn(handle.cancel(Some("the caller no longer waits".to_owned())));
        }
    }
}

fn classify(error: ServiceError) -> RequestError {
    match error {
        ServiceError::McpError(error) => RequestError::Rpc(error),
        ServiceError::TransportSend(error) => unsent(error.error.as_ref()),
        ServiceError::TransportClosed => RequestError::Lost("the connection was closed".to_owned()),
        other => RequestError::Lost(other.to_string()),
    }
}

/// What a transport's failure to send means for the request.
pub(crate) fn unsent(error: &(dyn std::error::Error + Send + Sync + 'static)) -> RequestError {
    #[cfg(feature = "http")]
    if let Some(error) = crate::transport::http::classify(error) {
        return error;
    }
    // The other transport is a pipe: what was not written whole was not read.
    RequestError::NotSent(error.to_string())
}

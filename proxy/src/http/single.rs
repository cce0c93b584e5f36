//! Requests without a session: 2026-07-28 and later.

use std::time::Duration;

use futures_util::stream::{StreamExt, iter, unfold};
use hyper::StatusCode;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, ErrorCode, Implementation, InitializeRequestParams,
    JsonRpcRequest, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, serve_directly_with_ct};
use rmcp::transport::OneshotTransport;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body::{Answer, Place, events, failed, json};
use crate::Proxy;

/// How long an answer may be on its own, so that its status can say what it is. After it whoever waits gets a stream, which
/// shows that it is still being worked on.
const ALONE: Duration = Duration::from_secs(10);

/// Answers it: as JSON where there is nothing but the answer, and as a stream of events otherwise. It ends when its client
/// goes away, which is how clients of this era cancel.
pub(super) async fn answer(
    proxy: &Proxy,
    ending: &CancellationToken,
    version: &str,
    request: JsonRpcRequest<ClientRequest>,
    place: Place,
) -> Result<Answer, Answer> {
    let version: ProtocolVersion =
        serde_json::from_value(Value::String(version.to_owned())).map_err(|_| failed("invalid version"))?;
    // The capabilities are in the request itself; this only has the version.
    let client = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::default())
        .with_protocol_version(version);
    let (transport, mut messages) = OneshotTransport::<RoleServer>::new(ClientJsonRpcMessage::Request(request));
    let own = ending.child_token();
    let running = serve_directly_with_ct(proxy.session(), transport, Some(client), own.clone());
    tokio::spawn(running.waiting());
    // Dropped with this future or with the stream, whichever the client leaves.
    let held = (own.drop_guard(), place);
    let first = match tokio::time::timeout(ALONE, messages.recv()).await {
        Ok(None) => return Err(failed("the request was not answered")),
        Ok(Some(first @ (ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))) => {
            return Ok(json(status(&first), &first));
        }
        Ok(Some(first)) => Some(first),
        Err(_) => None,
    };
    let rest = unfold(messages, async |mut messages| messages.recv().await.map(|message| (message, messages)));
    let messages = iter(first).chain(rest).map(ServerSseMessage::from_message);
    Ok(events(messages, ending.clone(), held))
}

/// The status that goes with an error (streamable HTTP, section "Sending Messages to the Server").
fn status(answer: &ServerJsonRpcMessage) -> StatusCode {
    let ServerJsonRpcMessage::Error(error) = answer else { return StatusCode::OK };
    match error.error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

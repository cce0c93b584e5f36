//! Requests without a session: 2026-07-28 and later.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use hyper::StatusCode;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body::{Answer, events, failed, json_text};
use super::channel::{Data, Event};
use super::streams::Streams;
use crate::shared::Shared;
use crate::visit::Visit;

/// How long an answer may be on its own, so that its status can say what it is. After it whoever waits gets a stream, which
/// shows that it is still being worked on.
const ALONE: Duration = Duration::from_secs(10);

/// Answers it: as JSON where there is nothing but the answer, and as a stream of events otherwise. It ends when its client
/// goes away, which is how clients of this era cancel.
pub(super) async fn answer(
    proxy: &Arc<Shared>,
    (ending, closing): (&CancellationToken, &CancellationToken),
    (id, request): (RequestId, Value),
    visit: Visit,
) -> Result<Answer, Answer> {
    let opened = Streams::open(proxy, closing.clone(), false);
    let (streams, receiving) = opened.map_err(|_| failed("the request cannot be answered"))?;
    let own = ending.child_token();
    tokio::spawn(receiving.run(own.clone()));
    // Dropped with this future or with the stream, whichever the client leaves.
    let held = (own.drop_guard(), visit.clone());
    let unanswered = || failed("the request was not answered");
    let mut listener = streams.request(id, request, visit).await.map_err(|_| unanswered())?;
    let first = match tokio::time::timeout(ALONE, listener.next()).await {
        Ok(None) => return Err(unanswered()),
        Ok(Some(Event { data: Some(Data { text, answer: Some(answer) }), .. })) => {
            return Ok(json_text(status(answer), text));
        }
        Ok(Some(first)) => Some(first),
        Err(_) => None,
    };
    Ok(events(iter(first).chain(listener.events()), ending.clone(), held))
}

/// The status that goes with an error (streamable HTTP, section "Sending Messages to the Server").
fn status(answer: Result<(), ErrorCode>) -> StatusCode {
    match answer {
        Err(
            ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
            | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
            | ErrorCode::HEADER_MISMATCH,
        ) => StatusCode::BAD_REQUEST,
        Err(ErrorCode::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

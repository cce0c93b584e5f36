//! Bodies of requests and responses.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::stream::{Stream, StreamExt, unfold};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, BodyStream, Empty, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use rmcp::model::{ErrorCode, ErrorData, JsonRpcError, RequestId};
use serde::Serialize;
use sse_stream::Sse;
use tokio_util::sync::CancellationToken;

use super::channel::Event;
use super::options::Limits;

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(super) type Answer = Response<Body>;

/// Comments keep those between client and server from taking a silent stream for a dead one.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// When clients come back whose connection broke off, in milliseconds.
const RETRY: u64 = 3000;

/// The body of a request, which is read once it is needed.
pub(super) type Payload = UnsyncBoxBody<Bytes, hyper::Error>;

/// Returns a body that was read before.
#[cfg(feature = "redis")]
pub(super) fn payload(bytes: impl Into<Bytes>) -> Payload {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Reads the body of a request within the limits.
///
/// # Errors
/// Fails with the response to a body that is too long, too slow or broken.
pub(super) async fn read(body: Payload, limits: &Limits) -> Result<Bytes, Answer> {
    match tokio::time::timeout(limits.head, Limited::new(body, limits.body).collect()).await {
        Ok(Ok(read)) => Ok(read.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let said = format!("Content Too Large: a request has at most {} bytes", limits.body);
            Err(text(StatusCode::PAYLOAD_TOO_LARGE, said))
        }
        Ok(Err(_)) => Err(text(StatusCode::BAD_REQUEST, "Bad Request: the body is incomplete")),
        Err(_) => Err(text(StatusCode::REQUEST_TIMEOUT, "Request Timeout: the body took too long")),
    }
}

/// More JSON values than this are no request: each takes fifty times its bytes, once it is read.
pub(super) const MOST_VALUES: usize = 131_072;

/// Counts the values of a JSON text, about: members count twice.
pub(super) fn values(text: &[u8]) -> usize {
    let (mut count, mut is_text, mut is_escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b':' | b'[' | b'{' if !is_text => count += 1,
            _ => {}
        }
    }
    count
}

pub(super) fn empty(status: StatusCode) -> Answer {
    with(status, Empty::new().boxed_unsync())
}

pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Answer {
    let answer = with(status, Full::new(Bytes::from(text.into())).boxed_unsync());
    with_header(answer, header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"))
}

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => json_text(status, body.into()),
        Err(_) => failed("failed to serialize the response"),
    }
}

/// Returns a response with JSON text.
pub(super) fn json_text(status: StatusCode, text: Bytes) -> Answer {
    let answer = with(status, Full::new(text).boxed_unsync());
    with_header(answer, header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
}

/// Returns a request that is refused as JSON-RPC refuses: status 400.
pub(super) fn refused(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Answer {
    json(StatusCode::BAD_REQUEST, &JsonRpcError::new(id, ErrorData::new(code, message.into(), None)))
}

/// Returns a response that streams events until the stream or the server ends. `held` is dropped at the end, on either
/// side.
pub(super) fn events(
    messages: impl Stream<Item = Event> + Send + 'static,
    closing: CancellationToken,
    held: impl Send + 'static,
) -> Answer {
    let frames = unfold((messages.boxed(), held), async |(mut messages, held)| {
        let bytes = match tokio::time::timeout(KEEP_ALIVE, messages.next()).await {
            Ok(message) => event(&message?),
            Err(_) => Bytes::from_static(b":\n\n"),
        };
        Some((Ok(Frame::data(bytes)), (messages, held)))
    });
    let frames = frames.take_until(closing.cancelled_owned());
    let mut answer = with(StatusCode::OK, StreamBody::new(frames).boxed_unsync());
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx collects streams otherwise.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    answer
}

/// Returns an answer that ends with something else, if not before.
pub(super) fn until(answer: Answer, end: impl Future<Output = ()> + Send + 'static) -> Answer {
    answer.map(|body| StreamBody::new(BodyStream::new(body).take_until(end)).boxed_unsync())
}

/// Returns an event, as it is sent.
fn event(event: &Event) -> Bytes {
    // An event without data only sets the position for resuming.
    let text = event.data.as_ref().map(|data| String::from_utf8_lossy(&data.text).into_owned());
    let mut sse = Sse::default().data(text.unwrap_or_default());
    sse.id.clone_from(&event.id);
    sse.retry = event.data.is_none().then_some(RETRY);
    sse.into()
}

fn with(status: StatusCode, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    answer
}

/// Adds a header to a response.
pub(super) fn with_header(mut answer: Answer, name: HeaderName, value: HeaderValue) -> Answer {
    answer.headers_mut().insert(name, value);
    answer
}

/// Returns the answer to a request that may come again soon.
pub(super) fn unavailable(why: &str) -> Answer {
    let answer = text(StatusCode::SERVICE_UNAVAILABLE, format!("Service Unavailable: {why}"));
    with_header(answer, header::RETRY_AFTER, HeaderValue::from_static("1"))
}

pub(super) fn failed(what: &str) -> Answer {
    text(StatusCode::INTERNAL_SERVER_ERROR, format!("Internal Server Error: {what}"))
}

pub(super) fn busy(what: &str) -> Answer {
    unavailable(&format!("too many {what} at once"))
}

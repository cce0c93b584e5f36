//! Requests of sessions over several instances: those of sessions that this instance does not hold are forwarded, or go on here,
//! and those that other instances forward are answered.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame as BodyFrame};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use lru::LruCache;
use mcp_bindgen_model::printable;
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::body::{Answer, Payload, busy, payload, read, refused, unavailable};
use super::handler::{Handler, no_session, session};
use super::headers::{self, Posted, SessionId};
use crate::attached::Kind;
use crate::context::Visit;
use crate::lock::lock;
use crate::redis::{Forwarded, Frame, HEARTBEAT, Message, RedisState, RedisStateError, SessionRecord};

/// The number of remembered requests.
const MOST_SEEN: NonZeroUsize = NonZeroUsize::new(10_000).unwrap();
/// How often it is looked who holds a session that somebody else goes on with.
const MOST_LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);
/// The number of frames that wait for a slow client.
const UNREAD: usize = 4096;
/// How long the holder may say nothing before it is looked at.
const SILENCE: Duration = Duration::from_secs(3);
/// Records of sessions are kept alive once in so many heartbeats.
const BEATS: u32 = 10;
/// The number of the next request that is forwarded.
static NEXT: AtomicU64 = AtomicU64::new(0);
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

impl Handler {
    /// Records a session that began here.
    pub(super) async fn record(&self, id: &SessionId, caller: &Caller, initialize: Value) -> Result<(), Answer> {
        let Some(state) = &self.proxy.redis else { return Ok(()) };
        let can_move = self.proxy.setup().upstreams.iter().all(|upstream| upstream.can_move());
        let (holder, principal, lasting) = (String::new(), caller.principal.clone(), Vec::new());
        let record = SessionRecord { holder, principal, initialize, lasting, can_move };
        self.sessions.hold(state, id, record).await.map_err(no_state)
    }

    /// Works for other instances, as long as this is served.
    pub(super) async fn work_for_others(self: Arc<Self>) {
        let Some(state) = &self.proxy.redis else { return };
        tokio::select! {
            biased;
            () = self.ending.cancelled() => {}
            _ = async { tokio::join!(beat(&self, state), receive(&self, state)) } => {}
        }
        // Its sessions can go on elsewhere at once.
        if let Err(error) = state.leave().await {
            tracing::debug!(target: "mcp_bindgen_proxy", "other instances find out for themselves that this one ended: {error}");
        }
    }

    /// Has the instance answer a request that holds its session; `None` if this one does.
    pub(super) async fn forward_unless_held(
        &self,
        method: &Method,
        headers: &HeaderMap,
        caller: &Caller,
        body: &mut Payload,
    ) -> Result<Option<Answer>, Answer> {
        let (Some(state), Some(session)) = (&self.proxy.redis, session(headers)?) else { return Ok(None) };
        for _ in 0..MOST_LOOKS {
            // Another request may have begun the session here in the meantime.
            if self.sessions.has(&session) {
                return Ok(None);
            }
            let held = state.holder(&session).await.map_err(no_state)?;
            let (record, is_alive) = held.ok_or_else(no_session)?;
            if record.principal != caller.principal || !is_alive && !record.can_move {
                return Err(no_session());
            }
            if is_alive {
                let not_text = |_| refused(None, ErrorCode::PARSE_ERROR, "the body is not JSON");
                let bytes = match *method {
                    Method::POST => read(std::mem::take(body), &self.options.limits).await?,
                    _ => Bytes::new(),
                };
                // The body is needed again if the holder never took the request.
                *body = payload(bytes.clone());
                let request = Forwarded {
                    from: state.id().to_owned(),
                    number: NEXT.fetch_add(1, Ordering::Relaxed),
                    method: method.to_string(),
                    headers: texts(headers),
                    body: String::from_utf8(bytes.into()).map_err(not_text)?,
                    caller: caller.clone(),
                };
                if let Some(answer) = forward(state, &record.holder, request).await.map_err(no_state)? {
                    return Ok(Some(answer));
                }
            } else if state.claim(&session, &record).await.map_err(no_state)? {
                self.take_over(state, &session, record, caller).await?;
                return Ok(None);
            } else {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Err(no_session())
    }

    /// Goes on with the session of a dead instance.
    async fn take_over(
        &self,
        state: &RedisState,
        id: &SessionId,
        record: SessionRecord,
        caller: &Caller,
    ) -> Result<(), Answer> {
        let number = Posted::of(&record.initialize).and_then(|posted| posted.id()).ok_or_else(no_session)?;
        let initialize = (number, record.initialize.clone());
        let begun = self.sessions.begin(initialize, caller, Some(id.clone())).await;
        begun.map_err(|_| busy("sessions"))?;
        for (number, (_, request)) in record.lasting.iter().enumerate() {
            // The client has had the answer.
            let (number, request) = renumbered(number, request.clone());
            let here = self.sessions.present(id, caller);
            let (Some(here), Some(place)) = (here, self.requests.take(None)) else { continue };
            if let Ok(answers) = here.streams.request(number, request, Visit::new(caller.clone(), place)).await {
                tokio::spawn(answers.answer());
            }
        }
        tracing::info!(target: "mcp_bindgen_proxy", "went on with a session of an instance that ended");
        self.sessions.hold(state, id, record).await.map_err(no_state)
    }
}

/// Returns a request under an id of the proxy's own: the client may use its id again.
fn renumbered(number: usize, mut request: Value) -> (RequestId, Value) {
    let id = RequestId::String(format!("resumed-{number}").into());
    if let Some(fields) = request.as_object_mut() {
        fields.insert("id".to_owned(), json!(id));
    }
    (id, request)
}

/// A pending answer. If its client disconnects, the holder is notified.
struct Awaited {
    state: RedisState,
    holder: String,
    number: u64,
    /// Closed once nothing more comes.
    frames: mpsc::Receiver<Frame>,
    /// The id of the unanswered request and the tool that it calls, for the error if the holder ends.
    request: Option<(Value, Option<String>)>,
}

impl Awaited {
    /// Notes an answer, after which there is nothing more to say.
    fn note(&mut self, frame: &Frame) {
        let Some((id, _)) = &self.request else { return };
        let is_answer = match frame {
            // Other answers than a stream are whole.
            Frame::Head(_, headers) => {
                header_map(headers).get(header::CONTENT_TYPE).is_none_or(|kind| kind != EVENT_STREAM)
            }
            Frame::Part(text) => text.lines().filter_map(|line| line.strip_prefix("data: ")).any(|data| {
                let message: Value = serde_json::from_str(data).unwrap_or_default();
                message.get("id") == Some(id) && message.get("method").is_none()
            }),
        };
        if is_answer {
            self.request = None;
        }
    }

    /// Waits for the next frame; `Err` if the holder is dead.
    async fn next(&mut self) -> Result<Option<Frame>, ()> {
        loop {
            if let Ok(frame) = tokio::time::timeout(SILENCE, self.frames.recv()).await {
                frame.iter().for_each(|frame| self.note(frame));
                return Ok(frame);
            }
            // While the store is unavailable, the state of the holder is unknown.
            if let Ok(false) = self.state.is_alive(&self.holder).await {
                self.frames.close();
                return Err(());
            }
        }
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        // Looked at first: without the sender the channel is closed.
        let is_over = self.frames.is_closed() && self.frames.is_empty();
        self.state.awaited().remove(&self.number);
        if is_over {
            return;
        }
        let (state, holder, number) = (self.state.clone(), std::mem::take(&mut self.holder), self.number);
        tokio::spawn(async move {
            let cancel = Message::Cancel { from: state.id().to_owned(), number };
            let _ = state.send(&holder, &cancel).await;
        });
    }
}

/// Forwards a request to the instance that holds its session; `None` if that instance ended before it took it.
async fn forward(state: &RedisState, holder: &str, request: Forwarded) -> Result<Option<Answer>, RedisStateError> {
    let (sender, frames) = mpsc::channel(UNREAD);
    let number = request.number;
    state.awaited().insert(number, sender);
    let (own, asked) = (state.clone(), about(&request.body));
    let mut awaited = Awaited { state: own, holder: holder.to_owned(), number, frames, request: asked };
    let message = Message::Request(Box::new(request));
    if let Err(error) = state.send(holder, &message).await {
        // The message may have arrived all the same. Only a request has a caller that receives an error.
        if awaited.request.is_none() {
            return Err(error);
        }
        tracing::error!(target: "mcp_bindgen_proxy", "{error}");
        awaited.frames.close();
    }
    let (status, head) = match awaited.next().await {
        Ok(Some(Frame::Head(status, head))) => (status, header_map(&head)),
        Err(()) if state.take_back(holder, &message).await? => return Ok(None),
        _ => (200, HeaderMap::from_iter([(header::CONTENT_TYPE, EVENT_STREAM)])),
    };
    let frames = unfold(awaited, async |mut awaited| {
        let bytes = match awaited.next().await {
            Ok(Some(Frame::Part(text))) => Bytes::from(text),
            Ok(Some(Frame::Head(..))) => Bytes::new(),
            Ok(None) | Err(()) => Bytes::from(lost(&awaited.request.take()?)),
        };
        Some((Ok(BodyFrame::data(bytes)), awaited))
    });
    let mut answer = Response::new(StreamBody::new(frames).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    *answer.headers_mut() = head;
    // The body is a stream here.
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    Ok(Some(answer))
}

/// Returns the id of a request, and the tool that it calls.
fn about(body: &str) -> Option<(Value, Option<String>)> {
    let request: Value = serde_json::from_str(body).ok()?;
    request.get("method")?;
    Some((request.get("id")?.clone(), headers::called_tool(&request).map(str::to_owned)))
}

/// Returns the last event of an answer whose holder died.
fn lost((id, tool): &(Value, Option<String>)) -> String {
    let work = tool.as_ref().map_or("this request".to_owned(), |tool| format!("the call of `{}`", printable(tool)));
    let text = format!(
        "the instance of the proxy that works on {work} was lost: the outcome is unknown; it may have taken effect, so \
         check before you repeat it"
    );
    let (key, outcome) = match tool {
        Some(_) => ("result", json!({ "content": [{ "type": "text", "text": text }], "isError": true })),
        None => ("error", json!({ "code": -32603, "message": text })),
    };
    format!("event: message\ndata: {}\n\n", json!({ "jsonrpc": "2.0", "id": id, key: outcome }))
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), value.to_str().ok()?.to_owned()));
    headers.iter().filter_map(text).collect()
}

fn header_map(texts: &[(String, String)]) -> HeaderMap {
    let header = |(name, value): &(String, String)| Some((name.parse().ok()?, value.parse().ok()?));
    texts.iter().filter_map(header).collect()
}

fn no_state(error: RedisStateError) -> Answer {
    tracing::error!(target: "mcp_bindgen_proxy", "{error}");
    unavailable("the shared state of the proxy is unavailable")
}

async fn beat(handler: &Handler, state: &RedisState) {
    let (mut own, mut known) = (HashSet::new(), None);
    for beat in 0_u32.. {
        if let Err(error) = state.beat().await {
            tracing::warn!(target: "mcp_bindgen_proxy", "{error}");
        }
        if beat % BEATS == 0 {
            handler.sessions.renew(state).await;
        }
        own.extend(std::mem::take(&mut *lock(&handler.proxy.changes)));
        let changes = async {
            for (server, kind) in &own {
                state.count_change(&format!("{} {server}", kind.method())).await?;
            }
            own.clear();
            state.changed_lists(&mut known).await
        };
        match changes.await {
            Ok(changed) => {
                let changed = changed.iter().filter_map(|list| list.split_once(' '));
                let changed = changed.filter_map(|(method, server)| Some((Kind::of_method(method)?, server)));
                changed.for_each(|(kind, server)| handler.proxy.list_anew(server, kind));
            }
            Err(error) => tracing::debug!(target: "mcp_bindgen_proxy", "changes of lists are told later: {error}"),
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

async fn receive(handler: &Arc<Handler>, state: &RedisState) {
    let (mut tasks, mut working) = (JoinSet::new(), HashMap::<(String, u64), AbortHandle>::new());
    // The latest requests: none is handled twice, even if the store restarts and has an older state.
    let mut seen = LruCache::new(MOST_SEEN);
    let mut waiting = None;
    loop {
        let message = state.receive(&mut waiting).await;
        while tasks.try_join_next().is_some() {}
        match serde_json::from_str(&message) {
            Ok(Message::Request(request)) => {
                working.retain(|_, task| !task.is_finished());
                let key = (request.from.clone(), request.number);
                if seen.put(key.clone(), ()).is_none() {
                    let (own, handler) = (state.clone(), handler.clone());
                    working.insert(key, tasks.spawn(async move { work(&handler, &own, *request).await }));
                }
            }
            Ok(Message::Cancel { from, number }) => {
                working.remove(&(from, number)).inspect(AbortHandle::abort);
            }
            Ok(Message::Answer { number, frame }) => {
                let mut awaited = state.awaited();
                let waiting = awaited.get(&number);
                // A request that does not take a part of its answer is dropped.
                if frame.zip(waiting).is_none_or(|(frame, waiting)| waiting.try_send(frame).is_err()) {
                    awaited.remove(&number);
                }
            }
            Err(error) => {
                tracing::warn!(target: "mcp_bindgen_proxy", "another instance sent a message that cannot be read: {error}");
            }
        }
    }
}

/// Answers a request that another instance has let in and forwarded.
async fn work(handler: &Handler, state: &RedisState, request: Forwarded) {
    let Forwarded { from, number, method, headers, body, caller } = request;
    let Ok(method) = method.parse::<Method>() else { return };
    let answer = match handler.requests.take(None) {
        Some(place) => handler.here(&method, &header_map(&headers), caller, payload(body), place).await,
        None => Err(busy("requests")),
    };
    let (Ok(answer) | Err(answer)) = answer;
    let (head, mut body) = answer.into_parts();
    let send = async |frame| state.send(&from, &Message::Answer { number, frame }).await;
    if send(Some(Frame::Head(head.status.as_u16(), texts(&head.headers)))).await.is_err() {
        return;
    }
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else { continue };
        let text = String::from_utf8_lossy(&data).into_owned();
        if send(Some(Frame::Part(text))).await.is_err() {
            return;
        }
    }
    let _ = send(None).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_requests_have_ids_of_their_own() {
        let request =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": { "uri": "a://b" } });
        let ids = [0, 1].map(|number| {
            let (id, repeated) = renumbered(number, request.clone());
            assert_eq!((&repeated["method"], &repeated["params"]), (&request["method"], &request["params"]));
            assert_eq!(Posted::of(&repeated).and_then(|posted| posted.id()), Some(id.clone()));
            id
        });
        assert_ne!(ids[0], ids[1]);
        assert!(!ids.contains(&RequestId::Number(1)), "{ids:?}");
    }
}

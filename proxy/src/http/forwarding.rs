//! Requests of sessions over several instances: those of sessions that this instance does not hold are forwarded, or go on here,
//! and those that other instances forward are answered.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame as BodyFrame};
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use lru::LruCache;
use mcp_bindgen_runtime::Caller;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::body::{Answer, Payload, busy, payload, read, refused, unavailable};
use super::handler::{Handler, no_session, session};
use super::headers::{self, Posted, SessionId};
use super::replicas::{Forwarded, Frame, Message, Replicas, header_map, texts};
use crate::context::Visit;
use crate::list_changes::Kind;
use crate::lock::lock;
use crate::redis::{HEARTBEAT, RedisStateError, SessionRecord};

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
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

impl Handler {
    /// Records a session that began here.
    pub(super) async fn record(&self, id: &SessionId, caller: &Caller, initialize: Value) -> Result<(), Answer> {
        let Some(replicas) = &self.sessions.replicas else { return Ok(()) };
        let can_move = self.proxy.setup().upstreams.iter().all(|upstream| upstream.can_move());
        let (holder, principal, lasting) = (String::new(), caller.principal.clone(), Vec::new());
        let record = SessionRecord { holder, principal, initialize, lasting, can_move };
        self.sessions.hold(replicas, id, record).await.map_err(no_state)
    }

    /// Works for other instances, as long as this is served.
    pub(super) async fn work_for_others(self: Arc<Self>) {
        let Some(replicas) = self.sessions.replicas.clone() else { return };
        tokio::select! {
            biased;
            () = self.ending.cancelled() => {}
            _ = async { tokio::join!(beat(&self, &replicas), receive(&self, &replicas)) } => {}
        }
        // Its sessions can go on elsewhere at once.
        if let Err(error) = replicas.state.leave().await {
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
        let (Some(replicas), Some(session)) = (&self.sessions.replicas, session(headers)?) else { return Ok(None) };
        for _ in 0..MOST_LOOKS {
            // Another request may have begun the session here in the meantime.
            if self.sessions.has(&session) {
                return Ok(None);
            }
            let held = replicas.state.holder(&session).await.map_err(no_state)?;
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
                // One that was never taken may go on elsewhere.
                *body = payload(bytes.clone());
                let request = Forwarded {
                    from: replicas.state.id().to_owned(),
                    number: replicas.next.fetch_add(1, Ordering::Relaxed),
                    method: method.to_string(),
                    headers: texts(headers),
                    body: String::from_utf8(bytes.into()).map_err(not_text)?,
                    caller: caller.clone(),
                };
                if let Some(answer) = forward(replicas, &record.holder, request).await.map_err(no_state)? {
                    return Ok(Some(answer));
                }
            } else if replicas.state.claim(&session, &record).await.map_err(no_state)? {
                self.take_over(replicas, &session, record, caller).await?;
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
        replicas: &Replicas,
        id: &SessionId,
        record: SessionRecord,
        caller: &Caller,
    ) -> Result<(), Answer> {
        let number = Posted::of(&record.initialize).and_then(|posted| posted.id()).ok_or_else(no_session)?;
        let initialize = (number, record.initialize.clone());
        let begun = self.sessions.begin(initialize, caller, Some(id.clone())).await;
        begun.map_err(|_| busy("sessions"))?;
        for (number, (_, request)) in record.lasting.iter().enumerate() {
            self.repeat(id, renumbered(number, request.clone()), caller).await;
        }
        tracing::info!(target: "mcp_bindgen_proxy", "went on with a session of an instance that ended");
        self.sessions.hold(replicas, id, record).await.map_err(no_state)
    }

    /// Makes a request of the client again, whose answer it has had.
    async fn repeat(&self, id: &SessionId, request: Value, caller: &Caller) {
        let (number, here) = (Posted::of(&request).and_then(|posted| posted.id()), self.sessions.present(id, caller));
        let (Some(number), Some(here), Some(place)) = (number, here, self.requests.take(None)) else { return };
        let visit = Visit::new(caller.clone(), place);
        if let Ok(answers) = here.streams.request(number, request, visit).await {
            tokio::spawn(answers.answer());
        }
    }
}

/// Returns a request under an id of the proxy's own: the client may use its id again.
fn renumbered(number: usize, mut request: Value) -> Value {
    if let Some(fields) = request.as_object_mut() {
        fields.insert("id".to_owned(), format!("resumed-{number}").into());
    }
    request
}

/// A pending answer. If its client disconnects, the holder is notified.
struct Awaited {
    replicas: Arc<Replicas>,
    holder: String,
    number: u64,
    frames: mpsc::Receiver<Frame>,
    is_over: bool,
    /// The unanswered call, for the error if the holder ends.
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
        while !self.is_over {
            match tokio::time::timeout(SILENCE, self.frames.recv()).await {
                Ok(None) => self.is_over = true,
                Ok(Some(frame)) => {
                    self.note(&frame);
                    return Ok(Some(frame));
                }
                Err(_) => {
                    // While the store is unavailable, the state of the holder is unknown.
                    if let Ok(false) = self.replicas.state.is_alive(&self.holder).await {
                        self.is_over = true;
                        return Err(());
                    }
                }
            }
        }
        Ok(None)
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        lock(&self.replicas.awaited).remove(&self.number);
        if self.is_over {
            return;
        }
        let (replicas, holder, number) = (self.replicas.clone(), std::mem::take(&mut self.holder), self.number);
        tokio::spawn(async move {
            let cancel = Message::Cancel { from: replicas.state.id().to_owned(), number };
            let _ = replicas.state.send(&holder, &cancel).await;
        });
    }
}

/// Forwards a request to the instance that holds its session; `None` if that instance ended before it took it.
async fn forward(
    replicas: &Arc<Replicas>,
    holder: &str,
    request: Forwarded,
) -> Result<Option<Answer>, RedisStateError> {
    let (sender, frames) = mpsc::channel(UNREAD);
    lock(&replicas.awaited).insert(request.number, sender);
    let mut awaited = Awaited {
        replicas: replicas.clone(),
        holder: holder.to_owned(),
        number: request.number,
        frames,
        is_over: false,
        request: about(&request.body),
    };
    let message = Message::Request(Box::new(request));
    let sent = replicas.state.send(holder, &message).await;
    if let Err(error) = sent {
        // The message may have arrived all the same. Only a request has a caller that receives an error.
        if awaited.request.is_none() {
            return Err(error);
        }
        tracing::error!(target: "mcp_bindgen_proxy", "{error}");
        awaited.is_over = true;
    }
    let (status, head) = match awaited.next().await {
        Ok(Some(Frame::Head(status, head))) => (status, header_map(&head)),
        Err(()) if replicas.state.take_back(holder, &message).await? => return Ok(None),
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

/// Returns the id of a request, and its tool.
fn about(body: &str) -> Option<(Value, Option<String>)> {
    let request: Value = serde_json::from_str(body).ok()?;
    request.get("method")?;
    Some((request.get("id")?.clone(), headers::called_tool(&request).map(str::to_owned)))
}

/// Returns the last event of an answer whose holder died.
fn lost((id, tool): &(Value, Option<String>)) -> String {
    let message = match tool {
        Some(tool) => {
            let tool = mcp_bindgen_model::printable(tool);
            let text = format!(
                "the instance of the proxy that makes the call of `{tool}` was lost: the outcome is unknown; it may have taken \
                 effect, so check before you repeat it"
            );
            let result = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        }
        None => {
            let error = json!({ "code": -32603, "message": "the instance of the proxy that works on it was lost" });
            json!({ "jsonrpc": "2.0", "id": id, "error": error })
        }
    };
    format!("event: message\ndata: {message}\n\n")
}

fn no_state(error: RedisStateError) -> Answer {
    tracing::error!(target: "mcp_bindgen_proxy", "{error}");
    unavailable("the shared state of the proxy is unavailable")
}

async fn beat(handler: &Handler, replicas: &Replicas) {
    let (mut own, mut known) = (HashSet::new(), None);
    for beat in 0_u32.. {
        if let Err(error) = replicas.state.beat().await {
            tracing::warn!(target: "mcp_bindgen_proxy", "{error}");
        }
        if beat % BEATS == 0 {
            handler.sessions.renew(replicas).await;
        }
        own.extend(std::mem::take(&mut *lock(&handler.proxy.changes)));
        let changes = async {
            for (server, kind) in &own {
                replicas.state.count_change(&format!("{} {server}", kind.method())).await?;
            }
            own.clear();
            replicas.state.changed_lists(&mut known).await
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

async fn receive(handler: &Arc<Handler>, replicas: &Arc<Replicas>) {
    let (mut tasks, mut working) = (JoinSet::new(), HashMap::<(String, u64), AbortHandle>::new());
    // The latest requests: none is handled twice, even if the store restarts and has an older state.
    let mut seen = LruCache::new(MOST_SEEN);
    let mut waiting = None;
    loop {
        let message = replicas.state.receive(&mut waiting).await;
        while tasks.try_join_next().is_some() {}
        match serde_json::from_str(&message) {
            Ok(Message::Request(request)) => {
                working.retain(|_, task| !task.is_finished());
                let key = (request.from.clone(), request.number);
                if seen.put(key.clone(), ()).is_none() {
                    let (own, handler) = (replicas.clone(), handler.clone());
                    working.insert(key, tasks.spawn(async move { work(&handler, &own, *request).await }));
                }
            }
            Ok(Message::Cancel { from, number }) => {
                working.remove(&(from, number)).inspect(AbortHandle::abort);
            }
            Ok(Message::Answer { number, frame }) => {
                let mut awaited = lock(&replicas.awaited);
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
async fn work(handler: &Handler, replicas: &Replicas, request: Forwarded) {
    let Forwarded { from, number, method, headers, body, caller } = request;
    let Ok(method) = method.parse::<Method>() else { return };
    let answer = match handler.requests.take(None) {
        Some(place) => handler.here(&method, &header_map(&headers), caller, payload(body), place).await,
        None => Err(busy("requests")),
    };
    let (Ok(answer) | Err(answer)) = answer;
    let (head, mut body) = answer.into_parts();
    let send = async |frame| replicas.state.send(&from, &Message::Answer { number, frame }).await;
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
            let repeated = renumbered(number, request.clone());
            assert_eq!((&repeated["method"], &repeated["params"]), (&request["method"], &request["params"]));
            Posted::of(&repeated).and_then(|posted| posted.id()).expect("it is a request")
        });
        assert_ne!(ids[0], ids[1]);
        assert!(!ids.contains(&rmcp::model::RequestId::Number(1)), "{ids:?}");
    }
}

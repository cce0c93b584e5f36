//! Requests of sessions over several instances: those of sessions that this instance does not hold are forwarded, or go on here,
//! and those that other instances forward are answered.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame as BodyFrame};
use hyper::header::{self, HeaderValue};
use hyper::{HeaderMap, Method, Response, StatusCode};
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::body::{Answer, Payload, busy, read, refused, unavailable};
use super::handler::{Handler, no_session, session, version};
use super::headers;
use super::replicas::{Forwarded, Frame, Headers, Message, Replicas, Route};
use super::sessions::SessionId;
use crate::context::{Visit, is_modern};
use crate::lock::lock;
use crate::redis::{HEARTBEAT, KnownChanges, RedisStateError, SessionRecord};

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
        let Some(replicas) = &self.replicas else { return Ok(()) };
        let can_move = self.proxy.setup().upstreams.iter().all(|upstream| upstream.can_move());
        let (holder, principal, lasting) = (String::new(), caller.principal.clone(), Vec::new());
        let recorded = replicas.hold(id, SessionRecord { holder, principal, initialize, lasting, can_move }).await;
        if let Err(error) = recorded {
            self.sessions.end(id);
            return Err(no_state(error));
        }
        Ok(())
    }

    /// Works for other instances, as long as this is served.
    pub(super) async fn work_for_others(self: Arc<Self>) {
        let Some(replicas) = self.replicas.clone() else { return };
        let mut ends = self.sessions.ends();
        let forgetting = async {
            loop {
                match ends.recv().await {
                    Ok(session) if !self.ending.is_cancelled() => replicas.ended(&session).await,
                    Ok(_) => return,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                }
            }
        };
        tokio::select! {
            biased;
            () = self.ending.cancelled() => {}
            _ = async { tokio::join!(beat(&self, &replicas), receive(&self, &replicas)) } => {}
            () = forgetting => {}
        }
        // Its sessions can go on elsewhere at once.
        if let Err(error) = replicas.state.leave().await {
            tracing::debug!(target: "mcp_bindgen_proxy", "other instances find out for themselves that this one ended: {error}");
        }
    }

    /// Answers a request that another instance has let in.
    async fn forwarded(&self, method: &Method, request: Forwarded) -> Answer {
        let Forwarded { headers, body, caller, .. } = request;
        let Ok(permit) = self.requests.clone().try_acquire_owned() else { return busy("requests") };
        let body = Payload::Right(body.into());
        match self.here(method, &headers.map(), caller, body, (permit, None)).await {
            Ok(answer) | Err(answer) => answer,
        }
    }

    /// Has the instance answer a request that holds its session.
    pub(super) async fn forward_unless_held(
        &self,
        method: &Method,
        headers: &HeaderMap,
        caller: &Caller,
        mut body: Payload,
    ) -> Result<Route, Answer> {
        let is_modern = version(headers).is_some_and(is_modern);
        let session = session(headers)?.filter(|id| !is_modern && !self.sessions.has(id));
        let (Some(replicas), Some(session)) = (&self.replicas, session) else {
            return Ok(Route::Here(body));
        };
        for _ in 0..MOST_LOOKS {
            // Another request may have begun the session here in the meantime.
            if self.sessions.has(&session) {
                return Ok(Route::Here(body));
            }
            let held = replicas.state.holder(&session).await.map_err(no_state)?;
            let (record, is_alive) = held.ok_or_else(no_session)?;
            if record.principal != caller.principal || !is_alive && !record.can_move {
                return Err(no_session());
            }
            if is_alive {
                let bytes = match *method {
                    Method::POST => read(body, self.options.limits.body, self.options.limits.head).await?,
                    _ => Bytes::new(),
                };
                let not_text = |_| refused(None, ErrorCode::PARSE_ERROR, "the body is not JSON");
                let text = String::from_utf8(bytes.to_vec()).map_err(not_text)?;
                let (method, headers) = (method.to_string(), Headers::of(headers));
                let forwarded = Forwarded { method, headers, body: text, caller: caller.clone() };
                let answered = forward(replicas, &record.holder, forwarded).await;
                if let Some(answer) = answered.map_err(no_state)? {
                    return Ok(Route::Elsewhere(answer));
                }
                // It was never taken: the session may go on elsewhere.
                body = Payload::Right(Full::new(bytes));
                continue;
            }
            if replicas.state.claim(&session, &record).await.map_err(no_state)? {
                self.take_over(replicas, &session, record, caller).await?;
                return Ok(Route::Here(body));
            }
            tokio::time::sleep(PAUSE).await;
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
        let number = headers::request_id(&record.initialize).ok_or_else(no_session)?;
        let initialize = (number, record.initialize.clone());
        let begun = self.sessions.begin(&self.proxy, initialize, caller, Some(id.clone())).await;
        begun.map_err(|_| busy("sessions"))?;
        for (number, (_, request)) in record.lasting.iter().enumerate() {
            let number = format!("resumed-{number}");
            let mut request = request.clone();
            if let Some(members) = request.as_object_mut() {
                members.insert("jsonrpc".to_owned(), "2.0".into());
                members.insert("id".to_owned(), number.clone().into());
            }
            self.repeat(id, (RequestId::String(number.into()), request), caller).await;
        }
        tracing::info!(target: "mcp_bindgen_proxy", "went on with a session of an instance that ended");
        replicas.hold(id, record).await.map_err(no_state)
    }

    /// Makes a request of the client again, whose answer it has had.
    async fn repeat(&self, id: &SessionId, (number, request): (RequestId, Value), caller: &Caller) {
        let Ok(permit) = self.requests.clone().try_acquire_owned() else { return };
        let Ok(values) = self.values.clone().try_acquire_many_owned(1) else { return };
        let visit = Visit::new(caller.clone(), (permit, values));
        let Some(here) = self.sessions.present(id, caller) else { return };
        if let Ok(answers) = here.streams.request(number, request, visit).await {
            tokio::spawn(answers.answer());
        }
    }
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
            Frame::Head(_, headers) => headers.map().get(header::CONTENT_TYPE).is_none_or(|kind| kind != EVENT_STREAM),
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
    let number = replicas.number();
    let (sender, frames) = mpsc::channel(UNREAD);
    lock(&replicas.awaited).insert(number, sender);
    let about = about(&request.body);
    let mut awaited = Awaited {
        replicas: replicas.clone(),
        holder: holder.to_owned(),
        number,
        frames,
        is_over: false,
        request: about,
    };
    let from = replicas.state.id().to_owned();
    let message = Message::Request { from, number, request: Box::new(request) };
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
        Ok(Some(Frame::Head(status, head))) => (status, head.map()),
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
    let (mut own, mut known) = (HashSet::new(), KnownChanges::default());
    for beat in 0_u32.. {
        if let Err(error) = replicas.state.beat().await {
            tracing::warn!(target: "mcp_bindgen_proxy", "{error}");
        }
        if beat % BEATS == 0 {
            for session in replicas.renew().await {
                handler.sessions.end(&session);
            }
        }
        own.extend(std::mem::take(&mut *lock(&handler.proxy.changes)));
        match replicas.changes(&own, &mut known).await {
            Ok(changed) => {
                own.clear();
                let proxy = handler.proxy.clone();
                tokio::spawn(async move {
                    join_all(changed.iter().map(|(kind, server)| proxy.list_anew(server, *kind))).await;
                });
            }
            Err(error) => tracing::debug!(target: "mcp_bindgen_proxy", "changes of lists are told later: {error}"),
        }
        tokio::time::sleep(HEARTBEAT).await;
    }
}

async fn receive(handler: &Arc<Handler>, replicas: &Arc<Replicas>) {
    let mut inbox = replicas.state.inbox();
    let mut tasks = JoinSet::new();
    loop {
        for text in inbox.next().await {
            while tasks.try_join_next().is_some() {}
            match serde_json::from_str(&text) {
                Ok(Message::Request { from, number, request }) => {
                    let key = (from, number);
                    let (own, handler, of) = (replicas.clone(), handler.clone(), key.clone());
                    replicas.begin(key, || {
                        tasks.spawn(async move {
                            work(&handler, &own, &of, *request).await;
                            own.end(&of);
                        })
                    });
                }
                Ok(Message::Cancel { from, number }) => replicas.cancel(&(from, number)),
                Ok(Message::Answer { number, frame }) => replicas.hand_on(number, frame),
                Err(error) => {
                    tracing::warn!(target: "mcp_bindgen_proxy", "another instance sent a message that cannot be read: {error}");
                }
            }
        }
    }
}

/// Answers a request that another instance has forwarded.
async fn work(handler: &Handler, replicas: &Replicas, (from, number): &(String, u64), request: Forwarded) {
    let number = *number;
    let Ok(method) = Method::from_bytes(request.method.as_bytes()) else { return };
    let (head, mut body) = handler.forwarded(&method, request).await.into_parts();
    let send = async |frame| replicas.state.send(from, &Message::Answer { number, frame }).await;
    if send(Some(Frame::Head(head.status.as_u16(), Headers::of(&head.headers)))).await.is_err() {
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

//! Handles a request.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{StreamExt, iter};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, StatusCode};
use mcp_bindgen_model::hex_digest;
use mcp_bindgen_runtime::__private::rpc::IN_USE;
use mcp_bindgen_runtime::Caller;
use rmcp::model::{ErrorCode, RequestId};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::admission::share;
use super::body::{
    Answer, MOST_VALUES, Payload, busy, empty, events, failed, json, json_text, read, refused, text, until, values,
    with_header,
};
use super::channel::{Data, Event};
use super::headers::{self, Era, Posted, SessionId};
use super::options::HttpOptions;
use super::sessions::{Presence, Sessions};
use super::streams::{NotTaken, Streams};
use crate::context::{Share, Shares, Visit, is_modern};
use crate::shared::Shared;

/// The limit on the JSON values of all pending requests, which use memory.
const MOST_VALUES_AT_ONCE: usize = 4 * MOST_VALUES;

/// The time after which a pending answer becomes a stream. Before that, the answer can still set the HTTP status; a
/// stream shows the client that the request is in progress.
const ALONE: Duration = Duration::from_secs(10);

/// The number of digits of a session's digest that identify it.
const SESSION_DIGITS: usize = 16;

/// The two ends of a connection.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) local: Option<IpAddr>,
    pub(super) remote: Option<IpAddr>,
}

/// All that requests need.
pub(super) struct Handler {
    pub(super) proxy: Arc<Shared>,
    pub(super) options: HttpOptions,
    /// The open requests, of each principal and of all.
    pub(super) requests: Shares,
    pub(super) values: Arc<Semaphore>,
    pub(super) sessions: Sessions,
    /// Streams without an end of their own end.
    pub(super) closing: CancellationToken,
    /// Everything ends.
    pub(super) ending: CancellationToken,
}

impl Handler {
    pub(super) fn new(proxy: Arc<Shared>, options: HttpOptions) -> Self {
        let limits = options.limits;
        let ending = CancellationToken::new();
        let closing = ending.child_token();
        Self {
            options,
            requests: Shares::new(limits.requests, limits.requests.div_ceil(4)),
            values: Arc::new(Semaphore::new(MOST_VALUES_AT_ONCE)),
            sessions: Sessions {
                proxy: proxy.clone(),
                open: Arc::default(),
                limits,
                ending: ending.child_token(),
                closing: closing.clone(),
            },
            closing,
            ending,
            proxy,
        }
    }

    /// Answers a request that came to this address of the machine.
    pub(super) async fn answer(&self, request: Request<Incoming>, ends: Ends) -> Answer {
        let (mut parts, body) = request.into_parts();
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let mut answer = match self.options.admit(&parts, ends.local) {
            // A forbidden origin may not read the reason.
            Err(answer) if answer.status() == StatusCode::FORBIDDEN => return answer,
            Err(answer) => answer,
            Ok(()) => match self.let_in(&mut parts, ends, body).await {
                Ok(answer) | Err(answer) => answer,
            },
        };
        share(&mut answer, origin);
        answer
    }

    async fn let_in(&self, parts: &mut Parts, ends: Ends, body: Incoming) -> Result<Answer, Answer> {
        let is_get = parts.method == Method::GET;
        let path = parts.uri.path().to_owned();
        if is_get && path == "/healthz" {
            return Ok(text(StatusCode::OK, "ok\n"));
        }
        if is_get && path == "/readyz" {
            let is_let_in = self.options.authenticate(parts).await.is_ok();
            return Ok(self.readiness(is_let_in));
        }
        if is_get && let Some(metadata) = self.options.metadata(parts) {
            return Ok(metadata);
        }
        let revocation = self.options.revocation(parts);
        let mut caller = self.options.authenticate(parts).await?;
        if is_get && path == "/metrics" {
            let metrics = self.proxy.metrics(self.sessions.count(), self.requests.count());
            let format = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            return Ok(with_header(text(StatusCode::OK, metrics), header::CONTENT_TYPE, format));
        }
        caller.address = ends.remote;
        let id = parts.headers.get(headers::SESSION);
        caller.session = id.map(|id| hex_digest(id.as_bytes()).chars().take(SESSION_DIGITS).collect());
        let answer = self.admitted(parts, self.proxy.admitted(caller), body).await?;
        Ok(match revocation {
            Some(revocation) => until(answer, revocation),
            None => answer,
        })
    }

    /// Says whether the proxy takes requests: status 503 while it closes, and if no server can be reached. Names of servers
    /// are for callers who are let in.
    fn readiness(&self, is_let_in: bool) -> Answer {
        let servers = self.proxy.servers();
        let is_ready = !self.closing.is_cancelled() && servers.iter().any(|(_, state)| *state != "failed");
        let mut page = Map::from_iter([("ready".to_owned(), is_ready.into())]);
        if is_let_in {
            let servers = servers.iter().map(|(name, state)| (name.to_string(), Value::from(*state)));
            page.insert("servers".to_owned(), servers.collect::<Map<_, _>>().into());
        }
        json(if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }, &page)
    }

    async fn admitted(&self, parts: &Parts, caller: Caller, body: Incoming) -> Result<Answer, Answer> {
        if parts.uri.path() != self.options.path {
            return Err(text(StatusCode::NOT_FOUND, "Not Found"));
        }
        let (method, headers) = (&parts.method, &parts.headers);
        let place = self.requests.take(caller.principal.as_deref()).ok_or_else(|| {
            let is_full = self.requests.count() >= self.options.limits.requests;
            busy(if is_full { "requests" } else { "requests of this principal" })
        })?;
        #[cfg_attr(not(feature = "redis"), allow(unused_mut))]
        let mut body = body.boxed_unsync();
        #[cfg(feature = "redis")]
        if let Some(answer) = self.forward_unless_held(method, headers, &caller, &mut body).await? {
            return Ok(until(answer, async move {
                let _place = place;
                std::future::pending().await
            }));
        }
        self.here(method, headers, caller, body, place).await
    }

    /// Answers a request for which no other instance holds state.
    pub(super) async fn here(
        &self,
        method: &Method,
        headers: &HeaderMap,
        caller: Caller,
        body: Payload,
        place: Share,
    ) -> Result<Answer, Answer> {
        match *method {
            Method::POST => self.post(headers, caller, body, place).await,
            Method::GET | Method::DELETE if is_modern_request(headers) => Err(not_allowed("POST")),
            Method::GET | Method::DELETE => {
                let id = session(headers)?;
                let id = id.ok_or_else(|| text(StatusCode::BAD_REQUEST, "Bad Request: no Mcp-Session-Id"))?;
                let here = self.sessions.present(&id, &caller).ok_or_else(no_session)?;
                if *method == Method::GET {
                    return self.listen(headers, here, place);
                }
                self.sessions.end(&id);
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(not_allowed("GET, POST, DELETE")),
        }
    }

    async fn post(&self, headers: &HeaderMap, caller: Caller, body: Payload, place: Share) -> Result<Answer, Answer> {
        if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
            let said = "Not Acceptable: `Accept` must include application/json and text/event-stream";
            return Err(text(StatusCode::NOT_ACCEPTABLE, said));
        }
        let content = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if !media_type(content).eq_ignore_ascii_case("application/json") {
            let said = "Unsupported Media Type: expected application/json";
            return Err(text(StatusCode::UNSUPPORTED_MEDIA_TYPE, said));
        }
        let here = match session(headers)? {
            Some(id) => Some((self.sessions.present(&id, &caller).ok_or_else(no_session)?, id)),
            None => None,
        };
        let bytes = read(body, &self.options.limits).await?;
        let values = values(&bytes);
        if values > MOST_VALUES {
            let said = format!("Content Too Large: a request has at most {MOST_VALUES} JSON values");
            return Err(text(StatusCode::PAYLOAD_TOO_LARGE, said));
        }
        let held = self.values.clone().try_acquire_many_owned(u32::try_from(values).unwrap_or(u32::MAX));
        let values = held.map_err(|_| busy("values in requests"))?;
        let visit = Visit::new(caller, (place, values));
        let value: Value = serde_json::from_slice(&bytes)
            .map_err(|_| refused(None, ErrorCode::PARSE_ERROR, "the body is not JSON"))?;
        drop(bytes);
        let posted = Posted::of(&value)
            .ok_or_else(|| refused(None, ErrorCode::INVALID_REQUEST, "the body is not a JSON-RPC message"))?;
        let era = Era::of(&value, posted.id(), headers)?;
        if era == Era::Sessions {
            return match here {
                Some(here) => self.in_session(here, posted, value, visit).await,
                None => self.begin(posted, value, &visit.caller).await,
            };
        }
        let agree = |schema: Option<&Map<String, Value>>| headers::agree(headers, &value, schema);
        let agreed = match headers::called_tool(&value) {
            Some(tool) => self.proxy.pool().with_input_schema(tool, &self.proxy.sees(&visit.caller), agree).await,
            None => agree(None),
        };
        agreed.map_err(|problem| headers::mismatch(posted.id(), problem))?;
        match posted {
            Posted::Request(id) => self.alone((id, value), visit).await,
            // Nothing that it could be about: a request ends when its connection does.
            Posted::Notification => Ok(empty(StatusCode::ACCEPTED)),
            Posted::Response => {
                Err(refused(None, ErrorCode::INVALID_REQUEST, "there is no pending request for this response"))
            }
        }
    }

    /// Answers a request without a session (2026-07-28): as JSON if there is only the response, and otherwise as a
    /// stream of events. It ends when its client disconnects, which is how clients of this era cancel.
    async fn alone(&self, (id, request): (RequestId, Value), visit: Visit) -> Result<Answer, Answer> {
        let opened = Streams::open(&self.proxy, self.closing.clone(), None);
        let (streams, receiving) = opened.map_err(|_| failed("the request cannot be answered"))?;
        let own = self.ending.child_token();
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
        Ok(events(iter(first).chain(listener.events()), self.ending.clone(), held))
    }

    async fn begin(&self, posted: Posted, message: Value, caller: &Caller) -> Result<Answer, Answer> {
        let is_initialize = message.get("method").is_some_and(|method| method == "initialize");
        let Some(number) = posted.id().filter(|_| is_initialize) else {
            let said = "send `initialize` first, then Mcp-Session-Id with each request";
            return Err(refused(None, ErrorCode::INVALID_REQUEST, said));
        };
        #[cfg(feature = "redis")]
        let initialize = message.clone();
        let (id, answer) = self.sessions.begin((number, message), caller, None).await?;
        if answer.answer.is_some_and(|answer| answer.is_err()) {
            self.sessions.end(&id);
            return Ok(json_text(StatusCode::OK, answer.text));
        }
        #[cfg(feature = "redis")]
        self.record(&id, caller, initialize).await?;
        let name = HeaderValue::from_str(&id).map_err(|_| failed("the session has no id"))?;
        Ok(with_header(json_text(StatusCode::OK, answer.text), HeaderName::from_static(headers::SESSION), name))
    }

    #[cfg_attr(not(feature = "redis"), allow(unused_variables))]
    async fn in_session(
        &self,
        (here, id): (Presence, SessionId),
        posted: Posted,
        message: Value,
        visit: Visit,
    ) -> Result<Answer, Answer> {
        let Posted::Request(number) = posted else {
            let is_taken = here.streams.take(message).await;
            return if is_taken { Ok(empty(StatusCode::ACCEPTED)) } else { Err(no_session()) };
        };
        #[cfg(feature = "redis")]
        if let Some(state) = &self.proxy.redis {
            self.sessions.note(state, &id, &message).await;
        }
        // No client keeps all others from asking.
        if here.streams.under_way() >= self.options.limits.requests.div_ceil(4) {
            return Err(busy("requests in this session"));
        }
        let answers = here.streams.request(number.clone(), message, visit).await;
        let answers = answers.map_err(|error| match error {
            NotTaken::Ended => no_session(),
            NotTaken::InUse => refused(Some(number), ErrorCode::INVALID_REQUEST, IN_USE),
        })?;
        // A request that is under way when the server closes may still be answered.
        Ok(events(answers.events(), self.ending.clone(), here))
    }

    fn listen(&self, headers: &HeaderMap, here: Presence, place: Share) -> Result<Answer, Answer> {
        if !accepts(headers, "text/event-stream") {
            return Err(text(StatusCode::NOT_ACCEPTABLE, "Not Acceptable: `Accept` must include text/event-stream"));
        }
        let last = headers.get(headers::LAST_EVENT).and_then(|value| value.to_str().ok());
        let listener = match last {
            Some(last) => here.streams.resumed(last),
            None => Some(here.streams.own()),
        };
        // After an error, browsers would repeat the request forever.
        let messages = iter(listener).flat_map(|listener| listener.events().boxed());
        Ok(events(messages, self.closing.clone(), (here, place)))
    }
}

fn is_modern_request(headers: &HeaderMap) -> bool {
    headers.get(headers::VERSION).and_then(|value| value.to_str().ok()).is_some_and(is_modern)
}

/// Returns the session of a request; one of 2026-07-28 has none.
pub(super) fn session(headers: &HeaderMap) -> Result<Option<SessionId>, Answer> {
    let id = headers.get(headers::SESSION).filter(|_| !is_modern_request(headers));
    id.map(|id| id.to_str().map(SessionId::from).map_err(|_| no_session())).transpose()
}

/// Returns the status that goes with an error (streamable HTTP, section "Sending Messages to the Server").
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

/// Returns the media type without parameters, such as those of `application/json; charset=utf-8`.
fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let of_its_kind = wanted.split_once('/').map(|(kind, _)| format!("{kind}/*")).unwrap_or_default();
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| {
            let range = media_type(range);
            range == "*/*" || range.eq_ignore_ascii_case(&of_its_kind) || range.eq_ignore_ascii_case(wanted)
        })
}

fn not_allowed(methods: &'static str) -> Answer {
    let answer = text(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed");
    with_header(answer, header::ALLOW, HeaderValue::from_static(methods))
}

/// Clients begin another one then.
pub(super) fn no_session() -> Answer {
    text(StatusCode::NOT_FOUND, "Not Found: unknown or ended session")
}

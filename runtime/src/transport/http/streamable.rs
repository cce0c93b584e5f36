//! Streamable HTTP: rmcp drives the sessions and streams, this module makes the requests.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, GetExtensions, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde_json::Value;
use sse_stream::Sse;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::direct::Calls;
use super::events::{Event, Reader};
use super::param_headers::ParamHeaders;
use super::refusals::{HttpError, RmcpError, is_lost_session};
use super::sessions::{SESSION, Sessions};
use super::{CLOSED, EVENT_STREAM, HttpClient, JSON, Life, bodies, content_type};
use crate::session::failure::Failure;
use crate::session::ledger::{Ledger, Outgoing};
use crate::session::raw;
use crate::session::ticket::Ticket;

const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const ANY_ANSWER: &str = "application/json, text/event-stream";
/// What a server sends faster than it is taken waits in its connections.
const MESSAGES_UNDER_WAY: usize = 16;
/// An id that is shorter is no secret: it would be found in every text.
const SHORTEST_SECRET_SESSION: usize = 8;
/// What is said when a session ends is a courtesy; nobody should wait for its answer.
const PATIENCE_FOR_DELETE: Duration = Duration::from_secs(1);

/// The transport; dropping it ends its requests.
pub(crate) struct StreamableTransport {
    inner: StreamableHttpClientTransport<Requests>,
    ledger: Arc<Ledger>,
    calls: Calls,
    /// What came to calls and is rmcp's.
    from_calls: mpsc::Receiver<ServerJsonRpcMessage>,
    ended: CancellationToken,
    life: Option<Life>,
}

impl StreamableTransport {
    pub(crate) fn new(
        url: reqwest::Url,
        http: HttpClient,
        param_headers: Arc<ParamHeaders>,
        max_concurrent_requests: Option<usize>,
        life: Life,
    ) -> Self {
        let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str());
        if let Some(limit) = max_concurrent_requests {
            settings = settings.max_concurrent_requests(limit);
        }
        let ledger = http.ledger.clone();
        let slots = Arc::new(Semaphore::new(settings.max_concurrent_requests.min(Semaphore::MAX_PERMITS)));
        let (sessions, latest) = (Sessions::default(), Arc::default());
        let ended = CancellationToken::new();
        let requests = Requests { http, url, param_headers, sessions, latest, slots, ended: ended.clone() };
        let (to_rmcp, from_calls) = mpsc::channel(MESSAGES_UNDER_WAY);
        let calls = Calls::new(requests.clone(), to_rmcp);
        let inner = StreamableHttpClientTransport::with_client(requests, settings);
        Self { inner, ledger, calls, from_calls, ended, life: Some(life) }
    }

    pub(crate) fn direct(&self) -> Calls {
        self.calls.clone()
    }
}

impl Transport<RoleClient> for StreamableTransport {
    type Error = RmcpError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), RmcpError>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = tokio::select! {
            message = self.inner.receive() => message,
            Some(message) = self.from_calls.recv() => return Some(message),
            () = self.ended.cancelled() => None,
        };
        if message.is_none() {
            self.ledger.close(&Failure::lost(CLOSED), None);
        }
        message
    }

    async fn close(&mut self) -> Result<(), RmcpError> {
        self.ledger.close(&Failure::lost(CLOSED), None);
        // rmcp waits for the first request whatever happens.
        self.life = None;
        self.inner.close().await
    }
}

/// The requests of one connection, as rmcp asks for them.
#[derive(Clone)]
pub(crate) struct Requests {
    pub(super) http: HttpClient,
    url: reqwest::Url,
    param_headers: Arc<ParamHeaders>,
    sessions: Sessions,
    latest: Arc<watch::Sender<Conversation>>,
    /// One for each request that may wait for the head of its answer, whoever sends it.
    pub(super) slots: Arc<Semaphore>,
    /// Cancelled when the session is lost.
    ended: CancellationToken,
}

/// What each request says of the conversation that it belongs to.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Conversation {
    pub(super) session: Option<Arc<str>>,
    pub(super) version: Option<HeaderValue>,
}

impl Conversation {
    pub(super) fn headers(&self) -> HashMap<HeaderName, HeaderValue> {
        self.version.clone().map(|version| (VERSION, version)).into_iter().collect()
    }
}

impl Requests {
    /// Sends a message; the response to it has not been looked at.
    pub(super) async fn send(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        mut headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<reqwest::Response, RmcpError> {
        if let ClientJsonRpcMessage::Request(request) = message {
            headers.extend(self.mirrored(&request.request, &headers));
        }
        headers.extend(self.sessions.header(session));
        let request = self
            .http
            .client
            .post(self.url.clone())
            .header(ACCEPT, ANY_ANSWER)
            .header(CONTENT_TYPE, JSON)
            .body(serde_json::to_vec(message)?);
        self.http.send(request, headers).await.map_err(RmcpError::Client)
    }

    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, RmcpError> {
        let request_id = match message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let response = self.send(message, session, headers).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return match begins(message) {
                true => Err(self.lost(format!("the server answered with HTTP {status} and no JSON-RPC response"))),
                false => Ok(StreamableHttpPostResponse::Accepted),
            };
        }
        if !status.is_success() {
            return self.refused(message, session.is_some(), response).await;
        }
        let Some(request_id) = request_id else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let session = begins(message).then(|| self.begun_session(&response)).flatten();
        if content_type(&response).starts_with(EVENT_STREAM) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response, Some(request_id)), session));
        }
        let kind = content_type(&response).to_owned();
        let body = bodies::whole(response).await.map_err(|problem| self.lost(problem))?;
        let mut messages = self.received(&body, Some(&request_id));
        let answer = messages.iter().position(answers).map(|at| messages.swap_remove(at));
        // Who reads the response to a call hands over all; rmcp takes one message of a response.
        match answer {
            Some(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            None => Err(self.no_answer(&kind, &body)),
        }
    }

    /// A body that does not answer the request.
    pub(super) fn no_answer(&self, kind: &str, body: &[u8]) -> RmcpError {
        let said = self.http.shown(body);
        let said = if said.is_empty() { "; its body is empty".to_owned() } else { format!(": {said}") };
        self.lost(format!("the server answered with `{kind}` and no JSON-RPC response{said}"))
    }

    /// What the conversation is that rmcp began last.
    pub(super) fn conversation(&self) -> Conversation {
        self.latest.borrow().clone()
    }

    /// Waits until rmcp has begun another conversation.
    pub(super) async fn replaced(&self, conversation: &Conversation) {
        // The sender lives as long as the requests.
        let _ = self.latest.subscribe().wait_for(|latest| latest.session != conversation.session).await;
    }

    fn note_conversation(
        &self,
        message: &ClientJsonRpcMessage,
        session: Option<&Arc<str>>,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) {
        let is_handshake = matches!(message, ClientJsonRpcMessage::Request(request)
            if matches!(request.request, ClientRequest::InitializeRequest(_)));
        if !is_handshake {
            let latest = Conversation { session: session.cloned(), version: headers.get(&VERSION).cloned() };
            self.latest.send_if_modified(|known| {
                // Before anybody can see the session, and send something to it.
                if known.session.is_some() && known.session != latest.session {
                    self.http.ledger.list_news.begin_session();
                }
                let is_new = *known != latest;
                *known = latest;
                is_new
            });
        }
    }

    /// The name of the session that the server begins with an answer, and that no text shows from here on.
    fn begun_session(&self, response: &reqwest::Response) -> Option<String> {
        let id = response.headers().get(SESSION)?;
        let text = id.to_str().ok()?;
        if text.len() >= SHORTEST_SECRET_SESSION {
            self.http.notes.redactor().learn(text);
        }
        Some(self.sessions.name(id))
    }

    /// A stream of the server's own messages, or the rest of an answer that was cut.
    pub(super) async fn get(
        &self,
        session: Option<&str>,
        last_event: Option<String>,
        mut headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<reqwest::Response, RmcpError> {
        headers.extend(self.sessions.header(session));
        if let Some(last_event) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            headers.insert(LAST_EVENT, last_event);
        }
        let request = self.http.client.get(self.url.clone()).header(ACCEPT, EVENT_STREAM);
        let response = self.http.send(request, headers).await.map_err(RmcpError::Client)?;
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(String::new()))),
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            status if !status.is_success() => Err(RmcpError::Client(HttpError::Lost(format!("HTTP {status}")))),
            _ if content_type(&response).starts_with(EVENT_STREAM) => Ok(response),
            _ => Err(StreamableHttpError::ServerDoesNotSupportSse),
        }
    }

    /// The arguments that the server wants to see in headers.
    fn mirrored(
        &self,
        request: &ClientRequest,
        headers: &HashMap<HeaderName, HeaderValue>,
    ) -> Vec<(HeaderName, HeaderValue)> {
        match request {
            ClientRequest::CallToolRequest(call) if headers.contains_key(&METHOD) => {
                let arguments = call.params.arguments.as_ref();
                let mirrored = arguments.map(|arguments| self.param_headers.of_call(&call.params.name, arguments));
                mirrored.into_iter().flatten().filter_map(|(name, value)| Some((name?, value))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// An event stream whose messages rmcp decodes without losing anything of a result.
    fn events(
        &self,
        response: reqwest::Response,
        answers: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let this = self.clone();
        let read = (self.reader(response), VecDeque::new());
        stream::unfold(read, move |(mut reader, mut found)| {
            let (this, answers) = (this.clone(), answers.clone());
            async move {
                loop {
                    if let Some(event) = found.pop_front() {
                        return Some((Ok(event), (reader, found)));
                    }
                    match reader.next().await? {
                        Ok(event) => found.extend(this.event(event, answers.as_ref())),
                        Err(error) => return Some((Err(SseError::Body(Box::new(error))), (reader, found))),
                    }
                }
            }
        })
        .boxed()
    }

    /// Reads the events of a response until the transport ends.
    pub(super) fn reader(&self, response: reqwest::Response) -> Reader {
        Reader::new(response, self.http.until.clone(), bodies::MAX_MESSAGE)
    }

    /// What rmcp may see of an event; a batch is several.
    fn event(&self, event: Event, answers: Option<&RequestId>) -> Vec<Sse> {
        let (messages, mut event) = self.messages(event, answers);
        let mut texts = messages.into_iter().filter_map(|message| serde_json::to_string(&message).ok());
        event.data = texts.next();
        let rest: Vec<Sse> = texts.map(|text| Sse::default().data(text)).collect();
        std::iter::once(event).chain(rest).collect()
    }

    /// The messages of an event that are rmcp's, and the event without them.
    pub(super) fn messages(&self, event: Event, answers: Option<&RequestId>) -> (Vec<ServerJsonRpcMessage>, Sse) {
        let mut event = match event {
            Event::Whole(event) => event,
            Event::TooLarge => {
                self.http.notes.problem(bodies::too_large());
                let Some(id) = answers else { return (Vec::new(), Sse::default()) };
                Sse::default().data(raw::unreadable(&id.clone().into_json_value(), &bodies::too_large()).to_string())
            }
        };
        let messages = event.data.take().map(|data| self.received(data.as_bytes(), answers)).unwrap_or_default();
        (messages, event)
    }

    /// What of a text is rmcp's; a batch is several messages.
    pub(super) fn received(&self, text: &[u8], answers: Option<&RequestId>) -> Vec<ServerJsonRpcMessage> {
        let messages = match raw::parse(text) {
            Some(Value::Array(batch)) => batch,
            Some(message) => vec![message],
            None => Vec::new(),
        };
        messages.into_iter().filter_map(|message| self.http.ledger.received(message, answers)).collect()
    }

    /// Makes of a status that is no success what rmcp should see.
    pub(super) async fn refused(
        &self,
        sent: &ClientJsonRpcMessage,
        had_session: bool,
        response: reqwest::Response,
    ) -> Result<StreamableHttpPostResponse, RmcpError> {
        let (status, headers) = (response.status(), response.headers().clone());
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let body = bodies::beginning(response).await;
        if had_session && status == StatusCode::BAD_REQUEST && is_lost_session(&body) {
            let message = self.http.refusal(status, &headers, &body).to_string();
            return Err(RmcpError::Client(self.http.fail(HttpError::SessionLost { status, message })));
        }
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let ClientJsonRpcMessage::Request(request) = sent
            && !is_auth
            && !headers.contains_key(RETRY_AFTER)
        {
            let error = serde_json::from_slice::<Value>(&body).ok().filter(is_rpc_error);
            if let Some(message) = error.and_then(|error| self.http.ledger.received(error, Some(&request.id))) {
                return Ok(StreamableHttpPostResponse::Json(message, None));
            }
            if request.request.extensions().get::<Ticket>().is_some_and(Ticket::is_settled) {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            if matches!(request.request, ClientRequest::DiscoverRequest(_)) && status.is_client_error() {
                let error = ErrorData::invalid_request(format!("HTTP {status}"), None);
                let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                return Ok(StreamableHttpPostResponse::Json(message, None));
            }
        }
        let refusal = self.http.refusal(status, &headers, &body);
        let is_elsewhere = matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED);
        Err(RmcpError::Client(self.http.fail(match refusal {
            HttpError::Status { status, message, retry_after } if is_elsewhere && begins(sent) => {
                let message = format!("{message}; a server of HTTP+SSE needs `transport = \"sse\"`");
                HttpError::Status { status, message, retry_after }
            }
            other => other,
        })))
    }

    /// Ends a request that failed, and the connection if its session is lost: the next call begins another one.
    pub(super) fn failed(&self, outgoing: &Outgoing, error: &HttpError) {
        outgoing.failed(error.failure());
        if matches!(error, HttpError::SessionLost { .. }) {
            self.http.ledger.stop(&Failure::not_sent(error.to_string()));
            self.ended.cancel();
        }
    }

    pub(super) fn lost(&self, problem: String) -> RmcpError {
        RmcpError::Client(self.http.fail(HttpError::Lost(problem)))
    }
}

/// Whether a body is an error of the protocol. What stands before a server, or serves other paths beside it, answers with
/// `{"error": "Not Found"}`, of which the status is what counts.
fn is_rpc_error(body: &Value) -> bool {
    body.get("error").is_some_and(Value::is_object)
}

impl StreamableHttpClient for Requests {
    type Error = HttpError;

    async fn post_message(
        &self,
        _uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, RmcpError> {
        self.note_conversation(&message, session.as_ref(), &headers);
        let outgoing = self.http.ledger.queued(&message);
        let counts = matches!(message, ClientJsonRpcMessage::Request(_)) && !begins(&message);
        let _slot = tokio::select! {
            biased;
            () = outgoing.abandoned() => None,
            slot = self.slots.acquire(), if counts => slot.ok(),
            () = std::future::ready(()), if !counts => None,
        };
        if !outgoing.begin_write(None) {
            return Err(HttpError::NotSent("nobody waits for the answer".to_owned()).into());
        }
        let outcome = self.http.until.or_end(self.post(&message, session.as_deref(), headers)).await;
        match &outcome {
            Ok(_) => outgoing.written(),
            Err(StreamableHttpError::SessionExpired) => outgoing.returned(),
            Err(StreamableHttpError::Client(error)) => self.failed(&outgoing, error),
            Err(error) => outgoing.failed(Failure::lost(error.to_string())),
        }
        outcome
    }

    async fn get_stream(
        &self,
        _uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, RmcpError> {
        let response = self.http.until.or_end(self.get(session.as_deref(), last_event, headers)).await?;
        Ok(self.events(response, None))
    }

    async fn delete_session(
        &self,
        _uri: Arc<str>,
        session: Arc<str>,
        _auth_header: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), RmcpError> {
        let headers = headers.into_iter().chain(self.sessions.header(Some(&session)));
        let sending = self.http.send(self.http.client.delete(self.url.clone()), headers);
        // A server need not support it, and the session is of no more use either way.
        let _ = tokio::time::timeout(PATIENCE_FOR_DELETE, sending).await;
        Ok(())
    }
}

/// Whether a message answers a request.
fn answers(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_))
}

/// Whether a message is the first of a conversation; its answer can come by no other stream.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request)
        if matches!(request.request, ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)))
}

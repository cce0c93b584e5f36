//! The requests of one connection over streamable HTTP, and the session that they belong to.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::RequestId;
use serde_json::{Map, Value, json};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::events::{Event, Reader, Sse};
use super::param_headers::{ParamHeaders, encode};
use super::refusals::is_lost_session;
use super::{EVENT_STREAM, HttpClient, JSON, bodies, content_type};
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Outgoing;
use crate::rpc::messages::{self, Incoming, MAX_MESSAGE};
use crate::rpc::sent::{Message, MethodCall};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const ANY_ANSWER: &str = "application/json, text/event-stream";
/// The minimum length of a secret session id: a shorter one would match in every text.
const SHORTEST_SECRET_SESSION: usize = 8;
/// The time to wait for the response to a `DELETE`, which is only a courtesy to the server.
const PATIENCE_FOR_DELETE: Duration = Duration::from_secs(1);
const INVALID_REQUEST: i32 = -32600;
const DISCOVER: &str = "server/discover";

/// The session of a connection, if its server has sessions, and the protocol version.
#[derive(Clone, Default)]
pub(super) struct Conversation {
    /// Counts the sessions of a connection.
    number: u64,
    pub(super) session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// `true` if the conversation began without a handshake.
    pub(super) is_modern: bool,
}

impl Conversation {
    fn headers(&self) -> HeaderMap {
        let session = self.session.iter().map(|session| (SESSION, session.clone()));
        session.chain(self.version.iter().map(|version| (VERSION, version.clone()))).collect()
    }
}

#[derive(Clone)]
pub(crate) struct Requests {
    pub(super) http: HttpClient,
    url: reqwest::Url,
    param_headers: Arc<ParamHeaders>,
    latest: Arc<watch::Sender<Conversation>>,
    /// The request that begins a session; one session begins at a time.
    initialize: Arc<Mutex<Option<Message>>>,
    /// One for each request that may wait for the head of its answer.
    pub(super) slots: Arc<Semaphore>,
    arriving: mpsc::Sender<Incoming>,
    /// Cancelled when the session is lost.
    pub(super) ended: CancellationToken,
}

impl Requests {
    pub(super) fn new(
        http: HttpClient,
        url: reqwest::Url,
        param_headers: Arc<ParamHeaders>,
        slots: usize,
        arriving: mpsc::Sender<Incoming>,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(slots.clamp(1, Semaphore::MAX_PERMITS)));
        let (latest, initialize, ended) = Default::default();
        Self { http, url, param_headers, latest, initialize, slots, arriving, ended }
    }

    pub(super) fn conversation(&self) -> Conversation {
        self.latest.borrow().clone()
    }

    /// Returns `true` for the first request of a session. A later `server/discover` is a health check.
    pub(super) fn begins(&self, message: &Message) -> bool {
        match message.as_request().map(|(_, call)| &*call.method) {
            Some("initialize") => true,
            Some(DISCOVER) => self.latest.borrow().number == 0,
            _ => false,
        }
    }

    /// Waits until there is another session in the place of this one.
    /// Cancel safe.
    pub(super) async fn replaced(&self, conversation: &Conversation) {
        // The sender lives as long as the requests.
        let _ = self.latest.subscribe().wait_for(|latest| latest.number != conversation.number).await;
    }

    /// Sends a message; the response to it has not been looked at.
    /// Dropped: as `HttpClient::send`.
    pub(super) async fn post(
        &self,
        message: &Message,
        conversation: &Conversation,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let (request, headers) = self.request(message, conversation)?;
        self.http.send(request, headers, outgoing).await
    }

    /// Sends a message that the server must accept.
    pub(super) async fn post_accepted(
        &self,
        message: &Message,
        conversation: &Conversation,
    ) -> Result<reqwest::Response, Failure> {
        let (request, headers) = self.request(message, conversation)?;
        self.http.send_accepted(request, headers, None).await
    }

    fn request(
        &self,
        message: &Message,
        conversation: &Conversation,
    ) -> Result<(reqwest::RequestBuilder, HeaderMap), Failure> {
        let mut headers = conversation.headers();
        if let Some((_, call)) = message.as_request() {
            self.add_headers(call, &mut headers);
        }
        let body = serde_json::to_vec(message).map_err(|error| Failure::not_sent(error.to_string()))?;
        let request = self.http.client.post(self.url.clone());
        Ok((request.header(ACCEPT, ANY_ANSWER).header(CONTENT_TYPE, JSON).body(body), headers))
    }

    /// Adds the headers that a server of a version without a handshake requires.
    fn add_headers(&self, request: &MethodCall, headers: &mut HeaderMap) {
        let Some(version) = request.version() else { return };
        let mut add = |name, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        };
        add(VERSION, version);
        add(METHOD, &request.method);
        if let Some(name) = subject(request) {
            add(NAME, &encode(name));
        }
        if request.method == "tools/call"
            && let (Some(Value::String(tool)), Some(Value::Object(arguments))) =
                (request.params.get("name"), request.params.get("arguments"))
        {
            headers.extend(self.param_headers.of_call(tool, arguments));
        }
    }

    /// Opens a stream of the server's own messages, or the rest of a broken response. Returns `None` if the server does
    /// not support it. If the future is dropped, the stream is not opened.
    pub(super) async fn get(
        &self,
        conversation: &Conversation,
        last_event: Option<&str>,
    ) -> Result<Option<Reader>, Failure> {
        let mut headers = conversation.headers();
        headers.extend(last_event.and_then(|id| HeaderValue::from_str(id).ok()).map(|id| (LAST_EVENT, id)));
        let request = self.http.client.get(self.url.clone()).header(ACCEPT, EVENT_STREAM);
        let response = self.http.send(request, headers, None).await?;
        match response.status() {
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => Ok(None),
            status if !status.is_success() => Err(Failure::lost(format!("HTTP {status}"))),
            _ if content_type(&response).starts_with(EVENT_STREAM) => Ok(Some(self.reader(response))),
            _ => Ok(None),
        }
    }

    /// Tells the server that the session is over.
    /// Dropped: the server may not hear of it.
    pub(super) async fn delete(&self) {
        let conversation = self.conversation();
        if conversation.session.is_some() {
            let sending = self.http.send(self.http.client.delete(self.url.clone()), conversation.headers(), None);
            // A server need not support it, and the session is of no more use either way.
            let _ = tokio::time::timeout(PATIENCE_FOR_DELETE, sending).await;
        }
    }

    /// Sends the first request of a session and reads its response. If the future is dropped, the server may keep an
    /// unused session.
    pub(super) async fn begin(&self, message: &Message, id: &RequestId, outgoing: &Outgoing) -> Result<(), Failure> {
        let own_version = message.as_request().and_then(|(_, call)| call.version());
        // Only one `initialize` may be pending; `server/discover` requests may overlap.
        let mut initialize = if own_version.is_none() { Some(self.initialize.lock().await) } else { None };
        let response = self.post(message, &Conversation::default(), Some(outgoing)).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Err(self.lost(format!("the server returned HTTP {status} without a JSON-RPC response")));
        }
        if !status.is_success() {
            return self.refused(message, &Conversation::default(), response, outgoing).await;
        }
        outgoing.written();
        let (answer, begun) = self.begun(response, own_version).await?;
        if let Some(conversation) = begun {
            if let Some(initialize) = &mut initialize {
                **initialize = Some(message.clone());
            }
            self.converse(conversation);
        }
        self.take(answer, Some(id)).await;
        if outgoing.is_settled() {
            Ok(())
        } else {
            Err(self.lost("the server responded to another request".to_owned()))
        }
    }

    /// Begins a session in the place of one that the server has forgotten, unless another request has.
    /// Dropped before the answer: as `begin`, and the next request begins another one.
    pub(super) async fn renew(&self, forgotten: &Conversation) -> Result<(), Failure> {
        let initialize = self.initialize.lock().await;
        if self.conversation().number != forgotten.number {
            return Ok(());
        }
        let renewing = async {
            let message = initialize.as_ref().ok_or_else(|| Failure::not_sent("it was started without a handshake"))?;
            let response = self.post_accepted(message, &Conversation::default()).await?;
            let (_, begun) = self.begun(response, None).await?;
            let next = begun.ok_or_else(|| Failure::not_sent("it rejected the handshake"))?;
            let initialized = Message::Notification(MethodCall::new("notifications/initialized", Map::new()));
            self.post_accepted(&initialized, &next).await?;
            Ok(next)
        };
        let failed = |why: Failure| {
            Failure::not_sent(format!("the server lost the session, and cannot start another: {}", why.message))
        };
        self.converse(renewing.await.map_err(failed)?);
        Ok(())
    }

    fn converse(&self, next: Conversation) {
        self.latest.send_modify(|latest| {
            if latest.number > 0 {
                // Before anybody can see the session, and send something to it.
                self.http.ledger.list_changes.mark_changed();
            }
            *latest = Conversation { number: latest.number + 1, ..next };
        });
    }

    /// Reads the answer to the first request of a session, and returns it with the session, if the server agrees to a
    /// version. If the future is dropped, the answer is lost.
    async fn begun(
        &self,
        response: reqwest::Response,
        own_version: Option<&str>,
    ) -> Result<(Value, Option<Conversation>), Failure> {
        let session = self.session(&response);
        let answer = self.first_answer(response).await?;
        let conversation = agreed_version(&answer, own_version).map(|version| Conversation {
            session,
            version: HeaderValue::from_str(version).ok(),
            is_modern: own_version.is_some(),
            ..Conversation::default()
        });
        Ok((answer, conversation))
    }

    /// Returns the session that the server begins with an answer, and that no text shows from here on.
    fn session(&self, response: &reqwest::Response) -> Option<HeaderValue> {
        let mut id = response.headers().get(SESSION)?.clone();
        id.set_sensitive(true);
        if let Some(text) = id.to_str().ok().filter(|text| text.len() >= SHORTEST_SECRET_SESSION) {
            self.http.notes.redactor().learn(text);
        }
        Some(id)
    }

    /// Returns the first message of a response that answers something; earlier messages are handed over. If the future
    /// is dropped, the answer is lost.
    async fn first_answer(&self, response: reqwest::Response) -> Result<Value, Failure> {
        if content_type(&response).starts_with(EVENT_STREAM) {
            let mut reader = self.reader(response);
            loop {
                let data = match reader.next().await {
                    Some(Ok(Event::Whole(event))) => event.data.unwrap_or_default(),
                    Some(Ok(Event::TooLarge)) => return Err(self.lost(messages::too_large(MAX_MESSAGE))),
                    Some(Err(error)) => return Err(self.lost(error.to_string())),
                    None => return Err(self.lost(super::NO_ANSWER.to_owned())),
                };
                for message in messages::parse_all(data.as_bytes()) {
                    if message.get("method").is_none() && messages::is_message(&message) {
                        return Ok(message);
                    }
                    self.take(message, None).await;
                }
            }
        }
        let kind = content_type(&response).to_owned();
        let body = bodies::whole(response).await.map_err(|problem| self.lost(problem))?;
        let mut answers = messages::parse_all(&body).into_iter().filter(|message| message.get("method").is_none());
        answers.find(messages::is_message).ok_or_else(|| self.no_answer(&kind, &body))
    }

    /// Returns a body that does not answer the request.
    pub(super) fn no_answer(&self, kind: &str, body: &[u8]) -> Failure {
        let text = self.http.printable(body);
        let text = if text.is_empty() { "; its body is empty".to_owned() } else { format!(": {text}") };
        self.lost(format!("the server returned `{kind}` without a JSON-RPC response{text}"))
    }

    /// Reads the events of a response until the transport ends.
    pub(super) fn reader(&self, response: reqwest::Response) -> Reader {
        Reader::new(response, self.http.until.clone(), MAX_MESSAGE)
    }

    /// Takes the messages of an event, and gives the event without them.
    /// Dropped: the messages that were not taken are lost.
    pub(super) async fn take_event(&self, event: Event, answers: Option<&RequestId>) -> Sse {
        let mut event = match event {
            Event::Whole(event) => event,
            Event::TooLarge => {
                self.http.notes.problem(messages::too_large(MAX_MESSAGE));
                if let Some(id) = answers {
                    self.take(
                        messages::unreadable(&id.clone().into_json_value(), &messages::too_large(MAX_MESSAGE)),
                        answers,
                    )
                    .await;
                }
                return Sse::default();
            }
        };
        if let Some(data) = event.data.take() {
            self.take_text(data.as_bytes(), answers).await;
        }
        event
    }

    /// Takes the messages of a text.
    /// Dropped: the messages that were not taken are lost.
    pub(super) async fn take_text(&self, text: &[u8], answers: Option<&RequestId>) {
        for message in messages::parse_all(text) {
            self.take(message, answers).await;
        }
    }

    /// Handles a message, and waits if the connection has no room for it. If the future is dropped while it waits, the
    /// message is lost.
    async fn take(&self, message: Value, answers: Option<&RequestId>) {
        if message.get("method").is_none() {
            let _ = self.http.ledger.received(message, answers);
        } else if let Ok(room) = self.arriving.reserve().await
            && let Some(message) = self.http.ledger.received(message, answers)
        {
            room.send(message);
        }
    }

    /// Reads a response with an error status: it answers the request, or fails it. If the future is dropped, the rest
    /// of the body is not read, and the request gets no outcome here.
    pub(super) async fn refused(
        &self,
        message: &Message,
        conversation: &Conversation,
        response: reqwest::Response,
        outgoing: &Outgoing,
    ) -> Result<(), Failure> {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = bodies::beginning(response).await;
        if conversation.session.is_some() && status == StatusCode::BAD_REQUEST && is_lost_session(&body) {
            // The connection ends with its session, and the next call begins another one.
            let failure = self.http.fail(self.http.refusal(status, &headers, &body));
            outgoing.failed(failure.clone());
            self.http.ledger.stop(&Failure::not_sent(failure.message.clone()));
            self.ended.cancel();
            return Err(failure);
        }
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let Some((id, call)) = message.as_request()
            && !is_auth
            && !headers.contains_key(RETRY_AFTER)
        {
            // A gateway may answer `{"error": "Not Found"}`, which is not an error of the protocol.
            let body = serde_json::from_slice(&body).ok();
            if let Some(error) = body.filter(|body: &Value| body.get("error").is_some_and(Value::is_object)) {
                self.take(error, Some(id)).await;
            } else if call.method == DISCOVER && status.is_client_error() {
                let error = json!({ "code": INVALID_REQUEST, "message": format!("HTTP {status}") });
                self.take(json!({ "id": id, "error": error }), Some(id)).await;
            }
            if outgoing.is_settled() {
                return Ok(());
            }
        }
        let mut refusal = self.http.refusal(status, &headers, &body);
        if matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) && self.begins(message) {
            refusal.message.push_str("; an HTTP+SSE server requires `transport = \"sse\"`");
        }
        Err(self.http.fail(refusal))
    }

    pub(super) fn lost(&self, problem: String) -> Failure {
        self.http.fail(Failure::lost(problem))
    }
}

/// Returns the protocol version that a server agrees to in the answer to a handshake, or to a request that says its
/// own.
fn agreed_version<'v>(answer: &'v Value, own: Option<&'v str>) -> Option<&'v str> {
    let result = answer.get("result")?;
    match own {
        None => result.get("protocolVersion")?.as_str(),
        Some(own) => result.get("supportedVersions")?.as_array()?.iter().any(|version| version == own).then_some(own),
    }
}

/// Returns the name, URI or task of a request for the header `Mcp-Name`.
fn subject(request: &MethodCall) -> Option<&str> {
    let key = match &*request.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.params.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::super::client;
    use super::super::network::Network;
    use super::*;
    use crate::ground::redact::Redactor;
    use crate::rpc::ledger::{Ledger, Limits};
    use crate::rpc::notes::Notes;

    #[tokio::test]
    async fn later_discovery_does_not_begin_a_session() {
        let http = HttpClient {
            client: client::shared("http://127.0.0.1:1/mcp", &Network::default()).expect("a client"),
            proxy: None,
            headers: HeaderMap::new(),
            authorizer: None,
            ledger: Ledger::new(Limits::default(), Duration::MAX, Redactor::default()),
            notes: Notes::default(),
            until: CancellationToken::new(),
        };
        let url = reqwest::Url::parse("http://127.0.0.1:1/mcp").expect("a URL");
        let requests = Requests::new(http, url, Arc::default(), 1, mpsc::channel(1).0);
        let request = |method: &'static str| Message::Request {
            id: RequestId::Number(1),
            call: MethodCall::new(method, Map::new()),
        };
        let begins = |method| requests.begins(&request(method));
        assert!(begins("initialize") && begins(DISCOVER) && !begins("tools/call"));
        requests.converse(Conversation::default());
        assert!(begins("initialize") && !begins(DISCOVER));
    }
}

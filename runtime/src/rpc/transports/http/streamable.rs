//! Streamable HTTP: the requests of one connection, the sessions that they belong to, and the stream of the server's own
//! messages.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::events::Reader;
use super::param_headers::{ParamHeaders, encode};
use super::{EVENT_STREAM, HttpClient, HttpTransport, MESSAGES_UNDER_WAY, content_type, on_runtime};
use crate::ground::sync::lock;
use crate::ground::task::task;
use crate::rpc::messages::{self, MAX_MESSAGE};
use crate::rpc::{Failure, Incoming, Message, MethodCall, Outgoing, Sender, Sending, Sides};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const ANY_ANSWER: &str = "application/json, text/event-stream";
/// The time to wait for the response to a `DELETE`, which is only a courtesy to the server.
const PATIENCE_FOR_DELETE: Duration = Duration::from_secs(1);
const REQUESTS_UNDER_WAY: usize = 16;
/// The time for a server to accept a message without a response.
const PATIENCE_FOR_ACCEPTANCE: Duration = Duration::from_secs(30);

/// The session of a connection, if its server has sessions, and the protocol version.
#[derive(Clone, Default)]
pub(super) struct Conversation {
    /// The headers of its requests: the session and the version.
    pub(super) headers: HeaderMap,
    /// The request that it began with, if that was a handshake.
    pub(super) initialize: Option<Arc<Message>>,
    /// Cancelled when another session replaces it.
    pub(super) replaced: CancellationToken,
}

impl Conversation {
    pub(super) fn has_session(&self) -> bool {
        self.headers.contains_key(SESSION)
    }
}

/// The state of a connection, shared by both sides of its transport.
pub(super) struct Requests {
    pub(super) http: HttpClient,
    url: reqwest::Url,
    param_headers: Arc<ParamHeaders>,
    /// The latest session; without headers before the first one.
    latest: Mutex<Conversation>,
    /// One session is renewed at a time.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// One for each request that may wait for the head of its answer.
    pub(super) slots: Semaphore,
    pub(super) arriving: mpsc::Sender<Incoming>,
    /// Cancelled when the server knows that the session has begun.
    begun: CancellationToken,
}

impl Requests {
    pub(super) fn conversation(&self) -> Conversation {
        lock(&self.latest).clone()
    }

    /// Returns `true` for the first request of a session. A later `server/discover` is a health check.
    pub(super) fn begins(&self, call: &MethodCall) -> bool {
        match &*call.method {
            "initialize" => true,
            "server/discover" => lock(&self.latest).headers.is_empty(),
            _ => false,
        }
    }

    /// Sets the latest conversation.
    pub(super) fn converse(&self, next: Conversation) {
        let mut latest = lock(&self.latest);
        if !latest.headers.is_empty() {
            // Before anybody can see the session, and send something to it.
            self.http.ledger.list_changes.mark_changed();
        }
        std::mem::replace(&mut *latest, next).replaced.cancel();
    }

    /// Sends a message, and returns the response with any status. Dropping the future acts like dropping
    /// `HttpClient::send`.
    pub(super) async fn post(
        &self,
        message: &Message,
        conversation: &Conversation,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let mut headers = conversation.headers.clone();
        self.add_headers(message, &mut headers);
        let request = self.http.post(&self.url, message)?.header(ACCEPT, ANY_ANSWER);
        self.http.send(request, headers, outgoing).await
    }

    /// Sends a message that the server must accept, and that needs no answer. Dropping the future ends the request; the
    /// server may have read it.
    pub(super) async fn deliver(&self, message: &Message, conversation: &Conversation) -> Result<(), Failure> {
        self.http.accept(self.post(message, conversation, None).await?).await
    }

    /// Opens the stream of the server's own messages, or continues a broken response. Returns `false` if the server
    /// does not support it. If the future is dropped, the stream is not opened.
    pub(super) async fn open(&self, reader: &mut Reader, conversation: &Conversation) -> Result<bool, Failure> {
        let mut headers = conversation.headers.clone();
        if let Some(Ok(id)) = reader.last_event.as_deref().map(HeaderValue::from_str) {
            headers.insert(LAST_EVENT, id);
        }
        let request = self.http.client.get(self.url.clone()).header(ACCEPT, EVENT_STREAM);
        let response = self.http.send(request, headers, None).await?;
        match response.status() {
            status if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS => Ok(false),
            status if !status.is_success() => Err(Failure::lost(format!("HTTP {status}"))),
            _ if !content_type(&response).starts_with(EVENT_STREAM) => Ok(false),
            _ => {
                reader.resume(response);
                Ok(true)
            }
        }
    }

    /// Sends a message that needs no answer. Dropping the future acts like dropping `deliver`.
    async fn notify(&self, message: &Message) -> Result<(), Failure> {
        let conversation = self.conversation();
        let late = |_| self.http.lost(format!("the server did not accept it within {PATIENCE_FOR_ACCEPTANCE:?}"));
        timeout(PATIENCE_FOR_ACCEPTANCE, self.deliver(message, &conversation)).await.map_err(late)?
    }

    /// Listens in one session until it is replaced. If the future is dropped, the stream is closed, and the id of its
    /// last event is forgotten.
    async fn listen_to(&self, conversation: &Conversation) {
        let mut reader = Reader::new(None, self.http.until.clone());
        loop {
            match self.open(&mut reader, conversation).await {
                Ok(true) => {
                    self.http.ledger.list_changes.mark_changed();
                    while let Ok(event) = reader.next().await {
                        match event {
                            Some(event) => drop(self.take(event.data.unwrap_or_default().as_bytes(), None).await),
                            None => self.http.notes.problem(messages::too_large(MAX_MESSAGE)),
                        }
                    }
                }
                // The server does not offer this stream.
                Ok(false) => return conversation.replaced.cancelled().await,
                Err(_) => {}
            }
            self.http.ledger.list_changes.mark_unwatched();
            reader.pause().await;
        }
    }

    /// Deletes the session on the server. If the future is dropped, the server may not learn of it.
    async fn delete(self: Arc<Self>) {
        let conversation = self.conversation();
        if conversation.has_session() {
            let request = self.http.client.delete(self.url.clone());
            let sending = self.http.send(request, conversation.headers.clone(), None);
            // A server need not support it, and the session is of no more use either way.
            let _ = timeout(PATIENCE_FOR_DELETE, sending).await;
        }
    }

    /// Adds the headers that a server of a version without a handshake requires.
    fn add_headers(&self, message: &Message, headers: &mut HeaderMap) {
        let Message::Request { call, .. } = message else { return };
        let Some(version) = call.version() else { return };
        let mut add = |name, text: &str| {
            if let Ok(value) = HeaderValue::from_str(text) {
                headers.insert(name, value);
            }
        };
        add(VERSION, version);
        add(METHOD, &call.method);
        if let Some(name) = subject(call) {
            add(NAME, &encode(name));
        }
        if call.method == "tools/call"
            && let (Some(Value::String(tool)), Some(arguments)) =
                (call.params.get("name"), call.params.get("arguments"))
        {
            headers.extend(self.param_headers.of_call(tool, arguments));
        }
    }
}

/// Returns both sides of a transport to this URL.
pub(crate) fn connect(
    url: reqwest::Url,
    http: HttpClient,
    param_headers: Arc<ParamHeaders>,
    max_concurrent_requests: Option<usize>,
) -> Sides {
    let (arriving, arrived) = mpsc::channel(MESSAGES_UNDER_WAY);
    let slots = max_concurrent_requests.unwrap_or(REQUESTS_UNDER_WAY).clamp(1, Semaphore::MAX_PERMITS);
    let (slots, (latest, renewing, begun)) = (Semaphore::new(slots), Default::default());
    let requests = Requests { http: http.clone(), url, param_headers, latest, renewing, slots, arriving, begun };
    let requests = Arc::new(requests);
    let (listening, leaving) = (task(listen(requests.clone())).fuse(), task(requests.clone().delete()));
    (requests, Box::new(HttpTransport { _life: http.until.clone().drop_guard(), http, arrived, listening, leaving }))
}

impl Sender for Requests {
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        on_runtime(self.http.runtime.clone(), async move {
            let exchange = async {
                let method = match &message {
                    Message::Request { .. } => return self.exchange(&message, &outgoing).await,
                    Message::Notification(notification) => &*notification.method,
                    Message::Response { .. } => "",
                };
                match method {
                    // Without a handshake, dropping its response cancels a request.
                    "notifications/cancelled" if self.conversation().initialize.is_none() => Ok(()),
                    "notifications/initialized" => self.notify(&message).await.inspect(|()| self.begun.cancel()),
                    _ => self.notify(&message).await,
                }
            };
            self.http.run(&outgoing, exchange).await
        })
    }
}

/// Reads the stream of the server's own messages, over all sessions of a connection. Dropping the future closes the
/// stream, and later messages of the server are lost.
async fn listen(requests: Arc<Requests>) {
    requests.begun.cancelled().await;
    loop {
        let conversation = requests.conversation();
        tokio::select! {
            () = conversation.replaced.cancelled() => {}
            () = requests.listen_to(&conversation), if conversation.has_session() => {}
        }
    }
}

/// Returns the name, URI or task of a request for the header `Mcp-Name`.
fn subject(call: &MethodCall) -> Option<&str> {
    let key = match &*call.method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    call.params.get(key)?.as_str()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicBool, Ordering};

    use futures_util::future::BoxFuture;
    use rmcp::model::RequestId;
    use serde_json::{Map, json};
    use tokio::runtime::Handle;

    use super::super::authorization::{Authorizer, Challenge};
    use super::super::network::{Network, shared};
    use super::super::scripted::answering;
    use super::*;
    use crate::ground::redact::Redactor;
    use crate::rpc::Ledger;
    use crate::rpc::notes::Notes;

    pub(crate) fn http(authorizer: Option<Arc<dyn Authorizer>>) -> HttpClient {
        HttpClient {
            client: shared("http://127.0.0.1:1/mcp", &Network::default()).expect("a client"),
            proxy: None,
            headers: HeaderMap::new(),
            authorizer,
            ledger: Ledger::new(Duration::MAX, Redactor::default()),
            notes: Notes::default(),
            runtime: Handle::current(),
            until: CancellationToken::new(),
        }
    }

    /// An authorizer that has a header for the first attempt only.
    #[derive(Default)]
    struct Once(AtomicBool, Redactor);

    impl Authorizer for Once {
        fn header(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, String>> {
            let is_second = self.0.swap(true, Ordering::Relaxed);
            let header = HeaderValue::from_static("Bearer first");
            Box::pin(ready(if is_second { Err("no other".to_owned()) } else { Ok(Some(header)) }))
        }

        fn challenged(&self, _: Challenge) -> BoxFuture<'_, Result<bool, String>> {
            Box::pin(ready(Ok(false)))
        }

        fn waits_for(&self) -> Option<String> {
            None
        }

        fn extra_time(&self) -> Option<Duration> {
            None
        }

        fn redactor(&self) -> &Redactor {
            &self.1
        }
    }

    #[tokio::test]
    async fn redirected_request_keeps_its_authorization() {
        let url =
            answering(|head| match (head.contains("authorization: bearer first"), head.starts_with("post /there ")) {
                (false, _) => "400 Bad Request",
                (true, false) => "307 Elsewhere\r\nlocation: /there",
                (true, true) => "202 Accepted",
            });
        let url = url.await.parse().expect("a URL");
        let http = http(Some(Arc::new(Once::default())));
        let message = Message::Notification(MethodCall::new("notifications/initialized", Map::new()));
        let outgoing = http.ledger.queued(&message);
        let request = http.post(&url, &message).expect("a request");
        let response = http.send(request, HeaderMap::new(), Some(&outgoing)).await.expect("a response");
        assert_eq!(response.status(), StatusCode::ACCEPTED);
    }

    /// Nothing listens there.
    const NOWHERE: &str = "http://127.0.0.1:1/mcp";

    fn requests(url: &str) -> Arc<Requests> {
        let (http, url) = (http(None), url.parse().expect("a URL"));
        let (param_headers, latest, renewing, begun) = Default::default();
        let (slots, arriving) = (Semaphore::new(1), mpsc::channel(1).0);
        Arc::new(Requests { http, url, param_headers, latest, renewing, slots, arriving, begun })
    }

    fn notify(requests: &Arc<Requests>, method: &'static str) -> Sending {
        let message = Message::Notification(MethodCall::new(method, Map::new()));
        let outgoing = requests.http.ledger.queued(&message);
        requests.clone().send(message, outgoing)
    }

    #[tokio::test]
    async fn stream_of_the_server_is_opened_or_not_offered_or_tried_again() {
        for (head, expected) in [
            ("200 OK\r\ncontent-type: text/event-stream", Ok(true)),
            ("200 OK\r\ncontent-type: text/html", Ok(false)),
            ("404 Not Found", Ok(false)),
            ("405 Method Not Allowed", Ok(false)),
            ("429 Too Many Requests", Err("HTTP 429 Too Many Requests".to_owned())),
            ("503 Service Unavailable", Err("HTTP 503 Service Unavailable".to_owned())),
        ] {
            let requests = requests(&answering(move |_| head).await);
            let mut reader = Reader::new(None, CancellationToken::new());
            let opened = requests.open(&mut reader, &Conversation::default()).await;
            assert_eq!(opened.map_err(|failure| failure.message), expected);
        }
    }

    #[tokio::test]
    async fn conversation_lasts_until_another_one_replaces_it() {
        let requests = requests(NOWHERE);
        let first = requests.conversation();
        assert!(!first.has_session() && !first.replaced.is_cancelled());
        requests.converse(Conversation::default());
        assert!(first.replaced.is_cancelled() && !requests.conversation().replaced.is_cancelled());
    }

    #[tokio::test]
    async fn cancellation_is_sent_only_after_a_handshake() {
        let requests = requests(NOWHERE);
        notify(&requests, "notifications/cancelled").await.expect("it is not sent");
        let call = MethodCall::new("initialize", Map::new());
        let initialize = Some(Arc::new(Message::Request { id: RequestId::Number(0), call }));
        requests.converse(Conversation { initialize, ..Conversation::default() });
        notify(&requests, "notifications/cancelled").await.expect_err("it is sent");
    }

    #[tokio::test]
    async fn session_has_begun_once_the_server_knows_of_it() {
        let requests = requests(&answering(|_| "202 Accepted").await);
        for (method, has_begun) in [("notifications/roots/list_changed", false), ("notifications/initialized", true)] {
            notify(&requests, method).await.expect("it is accepted");
            assert_eq!(requests.begun.is_cancelled(), has_begun, "{method}");
        }
    }

    #[test]
    fn name_header_has_the_tool_prompt_resource_or_task_of_a_request() {
        for (methods, expected) in [
            (&["tools/call", "prompts/get"][..], Some("n")),
            (&["resources/read", "resources/subscribe", "resources/unsubscribe"], Some("u")),
            (&["tasks/get", "tasks/update", "tasks/cancel"], Some("t")),
            (&["tools/list"], None),
        ] {
            for method in methods {
                let call = MethodCall::with(*method, json!({ "name": "n", "uri": "u", "taskId": "t" }));
                assert_eq!(subject(&call), expected, "{method}");
            }
        }
    }

    #[tokio::test]
    async fn later_discovery_does_not_begin_a_session() {
        let requests = requests(NOWHERE);
        let begins = |method: &'static str| requests.begins(&MethodCall::new(method, Map::new()));
        assert!(begins("initialize") && begins("server/discover") && !begins("tools/call"));
        let headers = HeaderMap::from_iter([(VERSION, HeaderValue::from_static("2026-07-28"))]);
        requests.converse(Conversation { headers, ..Conversation::default() });
        assert!(begins("initialize") && !begins("server/discover"));
    }
}

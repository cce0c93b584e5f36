//! Calls over streamable HTTP past rmcp, which begins conversations and has all other messages.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::FutureExt;
use http::{HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::runtime::{Handle, Id};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::events::Reader;
use super::param_headers::encode;
use super::refusals::RmcpError;
use super::streamable::{Conversation, METHOD, Requests, VERSION};
use super::{EVENT_STREAM, bodies, content_type};
use crate::session::direct::{Direct, Sending, Sent};
use crate::session::failure::Failure;
use crate::session::ledger::Outgoing;

const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// How often the rest of an answer is asked for, and how long before where the server does not say.
const RESUMPTIONS: usize = 5;
const PAUSE_BEFORE_RESUMPTION: Duration = Duration::from_secs(1);
const LOOKS_FOR_THE_END: usize = 3;
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);
/// How long a response may go on after the answer, so that its connection can be used again.
const PATIENCE_WITH_RESPONSES: Duration = Duration::from_secs(1);

#[derive(Clone)]
pub(crate) struct Calls {
    requests: Requests,
    /// The one that drives the connection's sockets.
    runtime: Option<Id>,
    /// What comes with an answer and is no answer.
    to_rmcp: mpsc::Sender<ServerJsonRpcMessage>,
}

impl Direct for Calls {
    fn send(&self, message: ClientJsonRpcMessage, outgoing: Outgoing) -> Sending<'_> {
        Box::pin(async move {
            if current_runtime() != self.runtime {
                // A socket that another runtime drives would stay in the pool, and rest with it.
                outgoing.returned();
                return Sent::Returned;
            }
            let slot = self.requests.slots.acquire().await;
            let (ClientJsonRpcMessage::Request(request), Ok(slot)) = (&message, slot) else { return Sent::Yes };
            // Read before it is asked whether the call may leave: it goes to the session that the answer was about.
            let conversation = self.requests.conversation();
            if !outgoing.begin_write(None) {
                return Sent::Yes;
            }
            let exchange = async {
                let headers = headers(&request.request, &conversation);
                let session = conversation.session.as_deref();
                let response = self.requests.send(&message, session, headers).await?;
                drop(slot);
                self.take(&message, &request.id, response, &outgoing, &conversation).await
            };
            match self.requests.http.until.or_end(exchange).await {
                Ok(()) => {}
                Err(StreamableHttpError::SessionExpired) => {
                    outgoing.returned();
                    return Sent::Returned;
                }
                Err(StreamableHttpError::Client(error)) => self.requests.failed(&outgoing, &error),
                Err(error) => outgoing.failed(Failure::lost(error.to_string())),
            }
            Sent::Yes
        })
    }
}

impl Calls {
    pub(super) fn new(requests: Requests, to_rmcp: mpsc::Sender<ServerJsonRpcMessage>) -> Self {
        Self { requests, runtime: current_runtime(), to_rmcp }
    }

    /// Reads a response until the ledger has the answer.
    async fn take(
        &self,
        message: &ClientJsonRpcMessage,
        id: &RequestId,
        response: reqwest::Response,
        outgoing: &Outgoing,
        conversation: &Conversation,
    ) -> Result<(), RmcpError> {
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            // The answer comes by the stream of the server's own messages, or not at all.
            outgoing.written();
            return Ok(());
        }
        if !status.is_success() {
            self.requests.refused(message, conversation.session.is_some(), response).await?;
            return Ok(());
        }
        outgoing.written();
        if content_type(&response).starts_with(EVENT_STREAM) {
            return self.follow(self.requests.reader(response), id, outgoing, conversation).await;
        }
        let kind = content_type(&response).to_owned();
        let body = bodies::whole(response).await.map_err(|problem| self.requests.lost(problem))?;
        for message in self.requests.received(&body, Some(id)) {
            let _ = self.to_rmcp.send(message).await;
        }
        if outgoing.is_settled() { Ok(()) } else { Err(self.requests.no_answer(&kind, &body)) }
    }

    /// Reads events until one is the answer, also where the stream is cut in between.
    async fn follow(
        &self,
        mut reader: Reader,
        id: &RequestId,
        outgoing: &Outgoing,
        conversation: &Conversation,
    ) -> Result<(), RmcpError> {
        let mut last_event = None;
        let mut pause = PAUSE_BEFORE_RESUMPTION;
        let mut resumptions = 0;
        loop {
            let event = tokio::select! {
                biased;
                event = reader.next() => event,
                () = self.requests.replaced(conversation) => {
                    return Err(self.requests.lost("the session ended before the answer came".to_owned()));
                }
            };
            let problem = match event {
                Some(Ok(event)) => {
                    let (messages, event) = self.requests.messages(event, Some(id));
                    for message in messages {
                        let _ = self.to_rmcp.send(message).await;
                    }
                    if outgoing.is_settled() {
                        let_end(reader).await;
                        return Ok(());
                    }
                    pause = event.retry.map_or(pause, Duration::from_millis).max(SHORTEST_PAUSE);
                    if event.id.is_some() {
                        last_event = event.id;
                        resumptions = 0;
                    }
                    continue;
                }
                Some(Err(error)) => error.to_string(),
                None => "the server ended its response without an answer".to_owned(),
            };
            if last_event.is_none() || resumptions == RESUMPTIONS {
                return Err(self.requests.lost(problem));
            }
            resumptions += 1;
            tokio::time::sleep(pause).await;
            let session = conversation.session.as_deref();
            match self.requests.get(session, last_event.clone(), conversation.headers()).await {
                Ok(response) => reader = self.requests.reader(response),
                Err(StreamableHttpError::ServerDoesNotSupportSse | StreamableHttpError::AuthRequired(_)) => {
                    return Err(self.requests.lost(format!("{problem}, and refused to send the rest")));
                }
                // It may be there again.
                Err(_) => {}
            }
        }
    }
}

/// Reads what is left of a response, so that its connection can be used again.
async fn let_end(mut reader: Reader) {
    // Most end with their answer, and another task for each call costs more than looking twice.
    for _ in 0..LOOKS_FOR_THE_END {
        match reader.next().now_or_never() {
            Some(Some(Ok(_))) => {}
            Some(_) => return,
            None => tokio::task::yield_now().await,
        }
    }
    tokio::spawn(timeout(PATIENCE_WITH_RESPONSES, async move { while let Some(Ok(_)) = reader.next().await {} }));
}

fn current_runtime() -> Option<Id> {
    Handle::try_current().ok().map(|runtime| runtime.id())
}

/// What rmcp says in headers of its requests.
fn headers(request: &ClientRequest, conversation: &Conversation) -> HashMap<HeaderName, HeaderValue> {
    let mut headers = conversation.headers();
    if let Some(version) = request.get_meta().protocol_version()
        && let ClientRequest::CallToolRequest(call) = request
    {
        headers.extend(HeaderValue::from_str(version.as_str()).ok().map(|version| (VERSION, version)));
        headers.insert(METHOD, HeaderValue::from_static("tools/call"));
        headers.extend(HeaderValue::from_str(&encode(&call.params.name)).ok().map(|name| (NAME, name)));
    }
    headers
}

//! The common parts of streamable HTTP and the older HTTP+SSE.

pub(crate) mod authorization;
pub(crate) mod documents;
pub(crate) mod events;
mod exchange;
pub(crate) mod network;
pub(crate) mod param_headers;
pub(crate) mod reach;
pub(crate) mod refusals;
#[cfg(test)]
mod scripted;
mod sending;
pub(crate) mod streamable;

use std::future::Future;
use std::sync::Arc;

use futures_util::future::{BoxFuture, Fuse};
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::authorization::Authorizer;
use crate::ground::task::Boxed;
use crate::rpc::failure::CLOSED;
use crate::rpc::notes::Notes;
use crate::rpc::{Failure, Incoming, Ledger, Message, Outgoing, Sending, Transport, messages};

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";
/// The maximum length of untrusted text in a message.
const PREVIEW: usize = 300;
/// Messages of the server beyond this many wait in their connections.
pub(super) const MESSAGES_UNDER_WAY: usize = 16;

/// The HTTP client of one connection, with its headers and its authorization.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) client: Arc<reqwest::Client>,
    /// Host and port of the configured proxy.
    pub(crate) proxy: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notes: Notes,
    /// The runtime that drives the sockets of the connection.
    pub(crate) runtime: Handle,
    /// Cancelled when the transport ends, which ends its requests.
    pub(crate) until: CancellationToken,
}

impl HttpClient {
    /// Returns the POST of a message.
    pub(super) fn post(&self, url: &reqwest::Url, message: &Message) -> Result<reqwest::RequestBuilder, Failure> {
        let body = serde_json::to_vec(message).map_err(|error| Failure::not_sent(error.to_string()))?;
        Ok(self.client.post(url.clone()).header(CONTENT_TYPE, JSON).body(body))
    }

    /// Runs the exchange of a message until it ends, nobody wants its response, or the transport ends. Dropping the
    /// future drops `exchange`.
    pub(super) async fn run(
        &self,
        outgoing: &Outgoing,
        exchange: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), Failure> {
        let outcome = tokio::select! {
            biased;
            () = outgoing.abandoned() => Ok(()),
            outcome = self.until.run_until_cancelled(exchange) => outcome.unwrap_or_else(|| Err(Failure::lost(CLOSED))),
        };
        outcome.inspect_err(|failure| outgoing.failed(failure.clone()))
    }

    /// Returns a response with a status of success. If the future is dropped, the rest of the body is not read.
    ///
    /// # Errors
    /// Fails with the reason of any other status.
    pub(super) async fn accepted(&self, response: reqwest::Response) -> Result<reqwest::Response, Failure> {
        if response.status().is_success() {
            return Ok(response);
        }
        let (refusal, _) = self.refusal(response).await;
        Err(self.fail(refusal))
    }

    /// Ends the exchange of a message that the server must accept, and that needs no answer here.
    pub(super) async fn accept(&self, response: reqwest::Response) -> Result<(), Failure> {
        // Read, so that its connection can serve again.
        documents::beginning(self.accepted(response).await?).await;
        Ok(())
    }

    /// Takes the messages of a text, and then waits if the connection has no room for them: a response does not wait for
    /// room for the requests before it. Returns the first message that `is_answer` selects, which is not taken. If the
    /// future is dropped, the messages that wait are lost.
    pub(super) async fn take(
        &self,
        text: &[u8],
        arriving: &mpsc::Sender<Incoming>,
        is_answer: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let (answers, others): (Vec<_>, Vec<_>) = messages::parse_all(text).into_iter().partition(is_answer);
        let incoming: Vec<_> = others.into_iter().filter_map(|message| self.ledger.received(message, None)).collect();
        for incoming in incoming {
            // The receiver is only gone if the connection has ended.
            let _ = arriving.send(incoming).await;
        }
        answers.into_iter().next()
    }

    /// Returns the error for a status that is not a success, and the beginning of the body. Dropping the future acts
    /// like dropping `accepted`.
    async fn refusal(&self, response: reqwest::Response) -> (Failure, Vec<u8>) {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = documents::beginning(response).await;
        let challenge = headers.get(WWW_AUTHENTICATE).map(HeaderValue::as_bytes);
        let credentials = match &self.authorizer {
            Some(_) => Some("the access token"),
            None => self.headers.contains_key(AUTHORIZATION).then_some("the `Authorization` header"),
        };
        let text = self.printable(challenge.unwrap_or(&body));
        (refusals::refusal(status, &headers, &text, credentials), body)
    }

    /// Records why a request failed. The message is without secrets from here on, because others log it.
    pub(super) fn fail(&self, failure: Failure) -> Failure {
        self.learn_secrets();
        // Truncated last: half of a secret would not be found.
        let message = self.notes.redact(&failure.message);
        self.notes.problem(message.clone());
        let failure = Failure { message, ..failure };
        // Layers only see the source of an error.
        failure.clone().with_source(failure)
    }

    fn lost(&self, problem: impl Into<String>) -> Failure {
        self.fail(Failure::lost(problem))
    }

    /// Returns untrusted text for a message, on one line.
    fn printable(&self, text: &[u8]) -> String {
        self.notes.redactor().shown_line(&String::from_utf8_lossy(text), PREVIEW)
    }

    /// Adds the secrets of the authorization to those that no text shows.
    fn learn_secrets(&self) {
        if let Some(authorizer) = &self.authorizer {
            self.notes.redactor().learn_from(authorizer.redactor());
        }
    }
}

/// The receiving side; dropping it ends all requests.
pub(super) struct HttpTransport {
    pub(super) http: HttpClient,
    pub(super) arrived: mpsc::Receiver<Incoming>,
    /// Reads the server's own messages. If it ends, it drops its sender of `arrived`.
    pub(super) listening: Fuse<Boxed<()>>,
    /// Tells the server that the session ends.
    pub(super) leaving: Boxed<()>,
    pub(super) _life: DropGuard,
}

impl Transport for HttpTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                // The session was lost.
                () = self.http.until.cancelled() => {
                    self.http.ledger.close(&Failure::lost(CLOSED), None);
                    None
                }
                message = self.arrived.recv() => message,
                // The last messages may be there, and then the end.
                () = &mut self.listening => self.arrived.recv().await,
            }
        })
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.http.ledger.close(&Failure::lost(CLOSED), None);
            (&mut self.leaving).await;
            self.http.until.cancel();
        })
    }
}

pub(super) fn content_type(response: &reqwest::Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Sends a message on the runtime that drives its connection: the socket of another would stop with that runtime. Dropping the
/// future cancels the sending.
pub(super) fn on_runtime(
    runtime: Handle,
    sending: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Sending {
    let sending: Sending = Box::pin(sending);
    if Handle::try_current().is_ok_and(|here| here.id() == runtime.id()) {
        return sending;
    }
    Box::pin(async move {
        let mut tasks = JoinSet::new();
        tasks.spawn_on(sending, &runtime);
        tasks.join_next().await.and_then(Result::ok).unwrap_or_else(|| Err(Failure::lost(CLOSED)))
    })
}

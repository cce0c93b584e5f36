//! The common parts of streamable HTTP and the older HTTP+SSE.

pub(crate) mod authorization;
pub(crate) mod bodies;
pub(crate) mod client;
mod departing;
pub(crate) mod documents;
pub(crate) mod events;
mod exchange;
mod listening;
pub(crate) mod network;
pub(crate) mod param_headers;
pub(crate) mod reach;
pub(crate) mod refusals;
mod requests;
mod statuses;
pub(crate) mod streamable;

use std::future::Future;
use std::sync::Arc;

use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::authorization::Authorizer;
use crate::Dispatched;
use crate::ground::redact::{LONGEST_MESSAGE, Redactor};
use crate::rpc::failure::{CLOSED, Failure, WITHDRAWN};
use crate::rpc::ledger::{Ledger, Outgoing};
use crate::rpc::notes::Notes;
use crate::rpc::transports::Sending;

pub(crate) const EVENT_STREAM: &str = "text/event-stream";
pub(crate) const JSON: &str = "application/json";
/// The maximum length of untrusted text in a message.
const PREVIEW: usize = 300;
const NO_ANSWER: &str = "the server ended its HTTP response without a JSON-RPC response";

/// The requests of one connection.
#[derive(Clone)]
pub(crate) struct HttpClient {
    pub(crate) client: Arc<reqwest::Client>,
    /// Host and port of the configured proxy.
    pub(crate) proxy: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) authorizer: Option<Arc<dyn Authorizer>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) notes: Notes,
    /// Cancelled when the transport ends, which ends its requests.
    pub(crate) until: CancellationToken,
}

impl HttpClient {
    /// Sends a request with the headers of the configuration and of the protocol. `outgoing` is the message, and
    /// records when it leaves. Dropping the future ends the request; if it had left, the server may have acted on it.
    pub(super) async fn send(
        &self,
        request: reqwest::RequestBuilder,
        headers: HeaderMap,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let mut all = self.headers.clone();
        all.extend(headers);
        // `headers` replaces headers; the configuration may not set those of the builder (Accept, Content-Type).
        let request = request.headers(all).build().map_err(Failure::from);
        let sending = async {
            match &self.authorizer {
                None => self.attempt(request?, outgoing).await,
                Some(authorizer) => authorization::send(self, authorizer.as_ref(), &request?, outgoing).await,
            }
        };
        let response = sending.await.map_err(|error| match outgoing.is_some_and(Outgoing::is_unwanted) {
            true => Failure::lost(WITHDRAWN),
            false => self.fail(error),
        })?;
        self.notes.problem_is_over();
        Ok(response)
    }

    /// Sends a request, and fails unless the server accepts it; see [`send`](Self::send).
    pub(super) async fn send_accepted(
        &self,
        request: reqwest::RequestBuilder,
        headers: HeaderMap,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let response = self.send(request, headers, outgoing).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    /// Sends a request, and repeats it after a redirect: reqwest does not follow redirects for a body that reports when
    /// it leaves. Dropping the future acts like dropping `send`.
    async fn attempt(
        &self,
        mut request: reqwest::Request,
        outgoing: Option<&Outgoing>,
    ) -> Result<reqwest::Response, Failure> {
        let failed = |error| {
            let mut failure = Failure::from(error);
            if let (Dispatched::No, Some(proxy)) = (failure.dispatched, &self.proxy) {
                failure.message.push_str(&format!(" (through the proxy {proxy})"));
            }
            failure
        };
        let Some(outgoing) = outgoing else { return self.client.execute(request).await.map_err(failed) };
        let mut visited = Vec::new();
        loop {
            let response = self.client.execute(departing::of(&request, outgoing)?).await.map_err(failed)?;
            let Some(target) = redirect_target(&response) else { return Ok(response) };
            visited.push(request.url().clone());
            client::check_redirect(response.status(), &target, &visited).map_err(|problem| Failure {
                is_final: true,
                ..Failure::lost(format!("the server redirects {problem}"))
            })?;
            *request.url_mut() = target;
        }
    }

    /// Notes why a request failed. Without secrets from here on, because others log it.
    pub(super) fn fail(&self, failure: Failure) -> Failure {
        // Truncated last: half of a secret would not be found.
        let message = self.redactor().shown(&failure.message, LONGEST_MESSAGE);
        self.notes.problem(message.clone());
        Failure { message, ..failure }.as_source()
    }

    /// Returns the output of a future, unless the transport ends first.
    /// Dropped: `work` is dropped.
    pub(crate) async fn or_end<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.until.run_until_cancelled(work).await.unwrap_or_else(|| Err(Failure::lost(CLOSED)))
    }

    /// Returns untrusted text for a message, on one line.
    fn printable(&self, text: &[u8]) -> String {
        self.redactor().shown_line(&String::from_utf8_lossy(text), PREVIEW)
    }

    /// Knows the secrets of the configuration and of the authorization.
    fn redactor(&self) -> &Redactor {
        let redactor = self.notes.redactor();
        if let Some(authorizer) = &self.authorizer {
            redactor.learn_from(authorizer.redactor());
        }
        redactor
    }

    /// Returns the error for a status that is not a success. If the future is dropped, the rest of the body is not
    /// read.
    async fn refused(&self, response: reqwest::Response) -> Failure {
        let (status, headers) = (response.status(), response.headers().clone());
        let body = bodies::beginning(response).await;
        self.fail(self.refusal(status, &headers, &body))
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
        let challenge = headers.get(WWW_AUTHENTICATE).map(HeaderValue::as_bytes);
        let credentials = match &self.authorizer {
            Some(_) => Some("the access token"),
            None => self.headers.contains_key(AUTHORIZATION).then_some("the `Authorization` header"),
        };
        refusals::refusal(status, headers, &self.printable(challenge.unwrap_or(body)), credentials)
    }
}

/// Returns the URL to repeat the message at.
fn redirect_target(response: &reqwest::Response) -> Option<reqwest::Url> {
    let status = response.status();
    let repeats = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let location = response.headers().get(LOCATION).filter(|_| repeats)?;
    response.url().join(location.to_str().ok()?).ok()
}

pub(super) fn content_type(response: &reqwest::Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Sends a message on the runtime that drives its connection: the socket of another would stop with that runtime. Dropping the
/// future cancels the sending.
pub(super) fn on_runtime(
    runtime: &Handle,
    sending: impl Future<Output = Result<(), Failure>> + Send + 'static,
) -> Sending {
    if Handle::try_current().is_ok_and(|here| here.id() == runtime.id()) {
        return Box::pin(sending);
    }
    let mut tasks = JoinSet::new();
    tasks.spawn_on(Box::pin(sending) as Sending, runtime);
    Box::pin(async move {
        match tasks.join_next().await {
            Some(Ok(outcome)) => outcome,
            _ => Err(Failure::lost(CLOSED)),
        }
    })
}

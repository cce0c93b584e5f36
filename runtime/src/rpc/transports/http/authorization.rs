//! The interface between requests and authorization.

use std::time::Duration;

use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use super::HttpClient;
use crate::ground::redact::Redactor;
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Outgoing;

/// A source of `Authorization` headers, which obtains another one after a refusal. Errors are messages for a person.
pub(crate) trait Authorizer: Send + Sync {
    /// Returns the header of the next request, or `None` to send it without one. Dropping the future does not stop the
    /// task that obtains tokens.
    fn header(&self) -> BoxFuture<'_, Result<Option<HeaderValue>, String>>;

    /// Handles a refused request. Returns `true` if a new header is available for a retry. Dropping the future does not
    /// stop the task that obtains tokens.
    fn challenged(&self, challenge: Challenge) -> BoxFuture<'_, Result<bool, String>>;

    /// Returns the action of a user that it waits for, if any.
    fn waits_for(&self) -> Option<String>;

    /// Returns the extra time for connecting while a user must act, if any.
    fn extra_time(&self) -> Option<Duration>;

    /// Knows all that is secret about the authorization.
    fn redactor(&self) -> &Redactor;
}

/// A request that was refused with 401 or 403.
#[allow(dead_code, reason = "who authorizes looks into it")]
pub(crate) struct Challenge {
    pub(crate) status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub(crate) values: Vec<String>,
    /// The value that was sent as `Authorization`.
    pub(crate) sent: Option<HeaderValue>,
}

/// Sends a request with its `Authorization`, and repeats it after each kind of answered challenge. If the future is
/// dropped, the request ends, and `outgoing` shows whether it had left.
pub(super) async fn send(
    http: &HttpClient,
    authorizer: &dyn Authorizer,
    request: &reqwest::Request,
    outgoing: Option<&Outgoing>,
) -> Result<reqwest::Response, Failure> {
    let unauthorized = |message: String| Failure { wants_authorization: true, ..Failure::not_sent(message) };
    let mut answered = Vec::new();
    loop {
        let sent = authorizer.header().await.map_err(unauthorized)?;
        // Responses may contain these secrets, and are printed in errors and logs.
        http.notes.redactor().learn_from(authorizer.redactor());
        let mut attempt = request.try_clone().ok_or_else(|| Failure::not_sent("the request cannot be repeated"))?;
        attempt.headers_mut().extend(sent.clone().map(|header| (AUTHORIZATION, header)));
        let response = http.attempt(attempt, outgoing).await?;
        let status = response.status();
        let is_challenge = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if !is_challenge || answered.contains(&status) {
            return Ok(response);
        }
        answered.push(status);
        if let Some(outgoing) = outgoing {
            outgoing.returned();
        }
        let values = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let values = values.filter_map(|value| value.to_str().ok().map(str::to_owned)).collect();
        if !authorizer.challenged(Challenge { status, values, sent }).await.map_err(unauthorized)? {
            return Ok(response);
        }
    }
}

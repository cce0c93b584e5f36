//! The interface between requests and authorization.

use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderValue, StatusCode};

use crate::ground::redact::Redactor;

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

    /// Returns the redactor of all secrets of the authorization.
    fn redactor(&self) -> &Redactor;
}

/// A request that was refused with 401 or 403.
#[allow(dead_code, reason = "authorizers read the fields")]
pub(crate) struct Challenge {
    pub(crate) status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub(crate) values: Vec<String>,
    /// The value that was sent as `Authorization`.
    pub(crate) sent: Option<HeaderValue>,
}

//! Transport errors, for all transports.

use std::error::Error;
use std::time::Duration;

use crate::{Cause, Dispatched};

/// The text of a connection that ended.
pub(crate) const CLOSED: &str = "the connection was closed";
/// The error of a request that must not be sent any more.
pub(crate) const WITHDRAWN: &str = "the caller no longer waits for the request";
const STALE: &str = "the server's tool list kept changing during the comparison; call again";

/// A failed request, or connection, as its transport describes it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Shows whether the server may have acted on the request.
    pub(crate) dispatched: Dispatched,
    /// The reason; without the transport's other notes on the server.
    pub(crate) message: String,
    /// `true` if the server requires authorization.
    pub(crate) wants_authorization: bool,
    /// `true` if the tools have changed since the comparison for this request.
    pub(crate) is_stale: bool,
    /// `true` if another attempt would end alike.
    pub(crate) is_final: bool,
    /// The HTTP status that the server refused it with.
    pub(crate) http_status: Option<u16>,
    /// The delay that the server requested before the next attempt, if any.
    pub(crate) retry_after: Option<Duration>,
    /// The underlying error, if it shows no secret.
    pub(crate) source: Option<Cause>,
}

impl Failure {
    pub(crate) fn new(dispatched: Dispatched, message: impl Into<String>) -> Self {
        let (wants_authorization, is_stale, is_final) = (false, false, false);
        let (message, http_status, retry_after, source) = (message.into(), None, None, None);
        Self { dispatched, message, wants_authorization, is_stale, is_final, http_status, retry_after, source }
    }

    /// Creates the failure of a call whose tools have changed since the comparison.
    pub(crate) fn stale() -> Self {
        Self { is_stale: true, ..Self::not_sent(STALE) }
    }

    /// Creates the failure of a request that the server cannot have acted on.
    pub fn not_sent(message: impl Into<String>) -> Self {
        Self::new(Dispatched::No, message)
    }

    /// Creates the failure of a request that the server may have acted on.
    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(Dispatched::Unknown, message)
    }

    pub(crate) fn with_source(mut self, source: impl Error + Send + Sync + 'static) -> Self {
        self.source = Some(Cause::new(source));
        self
    }
}

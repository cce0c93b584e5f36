//! Terms and errors of requests.

use rmcp::model::ErrorData;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::Dispatched;
use crate::call::Listener;
use crate::ground::deadline::Patience;
use crate::rpc::clock::ServerRequests;
use crate::rpc::failure::Failure;

/// Why a request has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RequestError {
    /// No answer came in time.
    #[error("timed out")]
    Timeout(Dispatched),
    /// The caller's token was cancelled.
    #[error("it was cancelled")]
    Cancelled(Dispatched),
    /// The request failed below the protocol; [`Dispatched::Yes`] means that the server's response was invalid.
    #[error("{}", .0.message)]
    Failed(Failure),
    /// The server answered with an error.
    #[error("JSON-RPC error {}: {}", .0.code.0, .0.message)]
    Rpc(ErrorData),
}

impl RequestError {
    /// Creates the error of an invalid response.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Failed(Failure::new(Dispatched::Yes, message))
    }

    /// Returns `true` if the server answered, even if its answer was invalid.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Rpc(_) | Self::Failed(Failure { dispatched: Dispatched::Yes, .. }))
    }

    /// Converts the error of a later request of one call: the first one may have had effects.
    pub(crate) fn after_a_round(mut self) -> Self {
        if let Self::Timeout(dispatched) | Self::Cancelled(dispatched) | Self::Failed(Failure { dispatched, .. }) =
            &mut self
            && *dispatched == Dispatched::No
        {
            *dispatched = Dispatched::Unknown;
        }
        self
    }
}

/// The terms of a request: its time limits, its listener and cancellation, and the conditions under which it is sent.
#[derive(Default)]
pub(crate) struct Terms {
    pub(crate) patience: Patience,
    pub(crate) listener: Option<Listener>,
    pub(crate) cancellation: Option<CancellationToken>,
    /// The server's open questions, which stop the clock.
    pub(crate) questions: Option<ServerRequests>,
    /// The count of changes to the list of tools for which the call was allowed.
    pub(crate) list: Option<u64>,
    /// Its `_meta`, if it is made for another client.
    pub(crate) stamp: Option<Map<String, Value>>,
    /// `true` if its response ends a subscription instead of answering a call.
    pub(crate) is_subscription: bool,
}

impl From<Patience> for Terms {
    fn from(patience: Patience) -> Self {
        Self { patience, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_after_a_round_is_unknown_unless_the_server_responded() {
        let after = |dispatched| match RequestError::Failed(Failure::new(dispatched, "x")).after_a_round() {
            RequestError::Failed(failure) => failure.dispatched,
            other => panic!("{other:?}"),
        };
        assert_eq!([Dispatched::No, Dispatched::Yes].map(after), [Dispatched::Unknown, Dispatched::Yes]);
    }
}

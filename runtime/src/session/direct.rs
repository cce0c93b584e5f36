//! Calls that go straight from their caller to the transport and back.
//!
//! rmcp's service, which numbers requests and sorts answers, has no part in them: each task that a message passes through
//! costs about as much as the message.

use std::future::Future;
use std::pin::Pin;

use rmcp::model::ClientJsonRpcMessage;

use super::ledger::Outgoing;

/// What came of sending a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The ledger knows.
    Yes,
    /// Nothing was done, and rmcp has to send it: it begins the next conversation, and has the connection's own runtime.
    #[cfg_attr(not(feature = "http"), allow(dead_code))]
    Returned,
}

pub(crate) type Sending<'d> = Pin<Box<dyn Future<Output = Sent> + Send + 'd>>;

/// A transport that takes requests from callers.
pub(crate) trait Direct: Send + Sync {
    /// Sends a request. Where its answer comes as the response of its own, that is read too.
    fn send(&self, message: ClientJsonRpcMessage, outgoing: Outgoing) -> Sending<'_>;
}

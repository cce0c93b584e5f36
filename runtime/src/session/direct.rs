//! Calls that go straight from their caller to the transport and back.
//!
//! rmcp's service, which numbers requests and sorts answers, has no part in them: each task that a message passes through
//! costs about as much as the message.

use std::future::Future;
use std::pin::Pin;

use rmcp::model::ClientJsonRpcMessage;

use super::ledger::Outgoing;

/// Sends a request; the ledger has what became of it.
pub(crate) type Sending<'d> = Pin<Box<dyn Future<Output = ()> + Send + 'd>>;

/// A transport that takes requests from callers.
pub(crate) trait Direct: Send + Sync {
    /// Sends a request. Where its answer comes as the response of its own, that is read too.
    fn send(&self, message: ClientJsonRpcMessage, outgoing: Outgoing) -> Sending<'_>;
}

//! How messages travel: over a pair of streams, over HTTP, from a recording.

#[cfg(feature = "cassette")]
pub(crate) mod cassette;
#[cfg(feature = "stdio")]
pub(crate) mod duplex;
#[cfg(feature = "stdio")]
mod framing;
#[cfg(feature = "http")]
pub(crate) mod http;
#[cfg(feature = "stdio")]
pub(crate) mod lines;
#[cfg(feature = "stdio")]
pub(crate) mod pipe;
#[cfg(feature = "http")]
pub(crate) mod sse;
#[cfg(feature = "stdio")]
pub(crate) mod writer;

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, RequestId};

use crate::ground::task::Boxed;
use crate::rpc::failure::Failure;
use crate::rpc::ledger::Outgoing;
use crate::rpc::questions::Question;

/// Gives whether the message has left. What became of a request, the ledger has.
pub(crate) type Sending = Boxed<Result<(), Failure>>;

/// Sends messages, from any task.
pub(crate) trait Sender: Send + Sync {
    /// Sends a message. Where the answer to a request comes as its response, that is read too, and dropping the future ends
    /// the reading.
    fn send(self: Arc<Self>, message: ClientJsonRpcMessage, outgoing: Outgoing) -> Sending;
}

/// Receives messages. All its futures are cancel safe.
pub(crate) trait Transport: Send {
    /// What the ledger leaves to others of the messages that arrive; none at the end.
    fn receive(&mut self) -> Pin<Box<dyn Future<Output = Option<Incoming>> + Send + '_>>;

    /// Ends the connection. What is under way fails.
    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

/// What the server wants of this client.
pub(crate) enum Incoming {
    /// An answer.
    Question(Question),
    /// No answer to this request any more.
    Cancelled(RequestId),
}

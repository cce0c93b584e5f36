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
#[cfg(feature = "http")]
pub(crate) mod sse;
#[cfg(feature = "stdio")]
pub(crate) mod writer;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Cause;
use crate::ground::task::Boxed;
use crate::rpc::{Failure, Incoming, Message, Outgoing};

/// Resolves once the message has left. The outcome of a request is in the ledger.
pub type Sending = Boxed<Result<(), Failure>>;

/// Both sides of a transport.
pub type Sides = (Arc<dyn Sender>, Box<dyn Transport>);

/// Sends messages, from any task.
pub trait Sender: Send + Sync {
    /// Sends a message. Over HTTP this also reads the response; dropping the future stops reading.
    /// Over a stream a message that has begun to leave is written to its end.
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending;
}

/// Receives messages.
pub trait Transport: Send {
    /// Returns the next message to act on; `None` at the end.
    /// Cancel safe.
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>>;

    /// Ends the connection; pending requests fail. If the future is dropped, dropping the transport ends the rest,
    /// without waiting for the server.
    fn close(&mut self) -> BoxFuture<'_, ()>;
}

/// Returns `true` if another attempt would fail with the same cause.
pub(crate) fn is_final(cause: &Cause) -> bool {
    cause.downcast_ref::<Failure>().is_some_and(|failure| failure.is_final)
}

//! What a session is held over.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{ClientJsonRpcMessage, RequestId};

use super::failure::Failure;
use super::ledger::Outgoing;
use super::questions::Question;
use crate::ground::task::Boxed;

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

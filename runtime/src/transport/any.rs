//! Every transport as one type: rmcp compiles its service once for each.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{RequestId, ServerJsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};

use super::questions::{Question, Questions};
use crate::session::failure::Failure;
use crate::session::ledger::Ledger;
use crate::session::server_requests::Answers;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

const UNREAD: &str = "the server sends request after request and does not read the answers";

/// A message that has arrived.
#[expect(clippy::large_enum_variant, reason = "it is handed on at once")]
pub(crate) enum Incoming {
    /// An answer to a request of rmcp's, or a notification.
    Message(ServerJsonRpcMessage),
    Question(Question),
}

/// A connection to a server. Its futures lose nothing when they are dropped.
pub(crate) trait Transport: Send {
    type Error: Error + Send + Sync + 'static;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static;

    /// The next message; none at the end.
    fn receive(&mut self) -> impl Future<Output = Option<Incoming>> + Send;

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// A transport of any kind, which answers what the server asks.
pub(super) struct AnyTransport {
    kind: Box<dyn Kind>,
    questions: Questions,
    ledger: Arc<Ledger>,
}

impl AnyTransport {
    pub(super) fn new(transport: impl Transport + 'static, answers: Arc<Answers>, ledger: Arc<Ledger>) -> Self {
        Self { kind: Box::new(transport), questions: Questions::new(answers), ledger }
    }
}

/// [`Transport`] with boxed futures.
trait Kind: Send {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> Boxed<'static, Result<(), AnyError>>;
    fn receive(&mut self) -> Boxed<'_, Option<Incoming>>;
    fn close(&mut self) -> Boxed<'_, Result<(), AnyError>>;
}

impl<T: Transport> Kind for T {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> Boxed<'static, Result<(), AnyError>> {
        let sending = Transport::send(self, message);
        Box::pin(async move { sending.await.map_err(AnyError::new) })
    }

    fn receive(&mut self) -> Boxed<'_, Option<Incoming>> {
        Box::pin(Transport::receive(self))
    }

    fn close(&mut self) -> Boxed<'_, Result<(), AnyError>> {
        Box::pin(async move { Transport::close(self).await.map_err(AnyError::new) })
    }
}

impl rmcp::transport::Transport<RoleClient> for AnyTransport {
    type Error = AnyError;

    fn name() -> Cow<'static, str> {
        "mcp_runtime".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), AnyError>> + Send + 'static {
        self.kind.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let has_room = self.questions.has_room();
            let arrived = async {
                match has_room {
                    true => self.kind.receive().await,
                    false => std::future::pending().await,
                }
            };
            let stuck = self.questions.stuck();
            tokio::select! {
                biased;
                answer = self.questions.next() => {
                    let Some((answer, size)) = answer else { continue };
                    let sending = self.kind.send(answer);
                    self.questions.send(size, sending);
                }
                incoming = arrived => match incoming? {
                    Incoming::Message(message) => {
                        if let Some(id) = cancelled(&message) {
                            self.questions.cancel(id);
                        }
                        return Some(message);
                    }
                    Incoming::Question(question) => self.questions.ask(question),
                },
                () = stuck => {
                    self.ledger.close(&Failure::lost(UNREAD), None);
                    return None;
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), AnyError>> + Send {
        self.kind.close()
    }
}

/// The request of the server that it wants no answer to any more.
fn cancelled(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    let ServerJsonRpcMessage::Notification(notification) = message else { return None };
    let ServerNotification::CancelledNotification(cancelled) = &notification.notification else { return None };
    cancelled.params.request_id.as_ref()
}

/// The error of any transport, with its text.
#[derive(Debug)]
pub(super) struct AnyError(Box<dyn Error + Send + Sync>);

impl AnyError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for AnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for AnyError {
    /// The error itself: rmcp looks for its own there.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

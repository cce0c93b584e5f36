//! Every transport as one type: rmcp compiles its service once for each.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::pin::Pin;

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A transport of any kind.
pub(super) struct AnyTransport(Box<dyn Kind>);

impl AnyTransport {
    pub(super) fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// [`Transport`] with boxed futures.
trait Kind: Send {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> Boxed<'static, Result<(), AnyError>>;
    fn receive(&mut self) -> Boxed<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close(&mut self) -> Boxed<'_, Result<(), AnyError>>;
}

impl<T: Transport<RoleClient>> Kind for T {
    fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> Boxed<'static, Result<(), AnyError>> {
        let sending = Transport::send(self, message);
        Box::pin(async move { sending.await.map_err(AnyError::new) })
    }

    fn receive(&mut self) -> Boxed<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        Box::pin(Transport::receive(self))
    }

    fn close(&mut self) -> Boxed<'_, Result<(), AnyError>> {
        Box::pin(async move { Transport::close(self).await.map_err(AnyError::new) })
    }
}

impl Transport<RoleClient> for AnyTransport {
    type Error = AnyError;

    fn name() -> Cow<'static, str> {
        "mcp_runtime".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), AnyError>> + Send + 'static {
        self.0.send(message)
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        self.0.receive()
    }

    fn close(&mut self) -> impl Future<Output = Result<(), AnyError>> + Send {
        self.0.close()
    }
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

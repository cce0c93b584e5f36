//! A proxy for one client: over stdin and stdout, or any stream.

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, TransportAdapterIdentity, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Proxy, ServeError};

/// How many bytes a message may have. A longer one is dropped, whatever its length.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// How many requests may be under way at once. More are refused, rather than waiting in a queue without an end.
const MOST_REQUESTS: usize = 1024;

impl Proxy {
    /// Serves it to the one client at stdin and stdout, until stdin ends. Nothing else may read or write them meanwhile.
    ///
    /// ```no_run
    /// # async fn serve(proxy: mcp_agents::proxy::Proxy) -> Result<(), mcp_agents::proxy::ServeError> {
    /// proxy.serve_stdio().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Where the conversation cannot begin.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        let (input, output) = stdio_pipes();
        self.converse(input, output).await
    }

    /// Serves it to the one client at the other end of a stream, until the stream ends: `tokio::io::duplex` in tests, a
    /// socket, a pipe.
    ///
    /// # Errors
    /// Where the conversation cannot begin.
    pub async fn serve_over(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Result<(), ServeError> {
        let (input, output) = tokio::io::split(stream);
        self.converse(input, output).await
    }

    async fn converse<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(LONGEST_MESSAGE);
        let served = serve_server::<_, _, _, TransportAdapterIdentity>(self.session(), Guarded::new(transport)).await;
        match served {
            Ok(running) => {
                let _ = running.waiting().await;
                Ok(())
            }
            // A client that looked in and left.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(ServerInitializeError::InitializeFailed(error)) => {
                Err(ServeError::Connection { message: error.message.into_owned() })
            }
            // What it says otherwise may hold the message itself.
            Err(_) => Err(ServeError::Connection { message: "the client does not speak MCP".to_owned() }),
        }
    }
}

/// A transport to a client that may send anything.
struct Guarded<T> {
    transport: T,
    /// Whether a request came: before it nothing else means anything.
    is_open: bool,
    under_way: Arc<Mutex<HashSet<RequestId>>>,
    /// A refusal that is being written. Nothing is read meanwhile.
    refusing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T> Guarded<T> {
    fn new(transport: T) -> Self {
        Self { transport, is_open: false, under_way: Arc::default(), refusing: None }
    }

    fn under_way(&self) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.under_way().remove(id);
        }
        self.transport.send(message)
    }

    /// Loses nothing where it is dropped: what was read is handed on at once.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                refusing.await;
                self.refusing = None;
            }
            let message = self.transport.receive().await?;
            match &message {
                JsonRpcMessage::Request(request) => {
                    let id = request.id.clone();
                    let is_room = {
                        let mut under_way = self.under_way();
                        let is_room = under_way.len() < MOST_REQUESTS;
                        if is_room {
                            under_way.insert(id.clone());
                        }
                        is_room
                    };
                    if !is_room {
                        let said = format!("too many requests at once: at most {MOST_REQUESTS} may be under way");
                        let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, said, None);
                        let sent = self.transport.send(JsonRpcMessage::error(error, Some(id)));
                        self.refusing = Some(Box::pin(async move { drop(sent.await) }));
                        continue;
                    }
                    self.is_open = true;
                }
                // Its answer will not be sent.
                JsonRpcMessage::Notification(notification) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        self.under_way().remove(id);
                    }
                    if !self.is_open {
                        continue;
                    }
                }
                _ if !self.is_open => continue,
                _ => {}
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

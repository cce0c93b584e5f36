//! A proxy for one client: over stdin and stdout, or any stream.

use std::future::Future;
use std::pin::Pin;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleServer, ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, TransportAdapterIdentity, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use super::under_way::{IN_USE, Noted, UnderWay};
use super::{Proxy, ServeError};

/// How many bytes a message may have. A longer one is dropped, whatever its length.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// How many requests may be under way at once. More are refused, rather than waiting in a queue without an end.
const MOST_REQUESTS: usize = 1024;

impl Proxy {
    /// Serves one client on stdin and stdout, until stdin ends. Nothing else may use them meanwhile.
    ///
    /// ```no_run
    /// # async fn serve(proxy: mcp_bindgen_proxy::Proxy) -> Result<(), mcp_bindgen_proxy::ServeError> {
    /// proxy.serve_stdio().await
    /// # }
    /// ```
    ///
    /// # Errors
    /// Fails if the conversation cannot begin, and with [`ServeError::AccessWithoutNames`].
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        let (input, output) = stdio_pipes();
        self.converse(input, output).await
    }

    /// Serves one client on a stream, until the stream ends: a socket, a pipe, or `tokio::io::duplex` in tests.
    ///
    /// # Errors
    /// As [`serve_stdio`](Self::serve_stdio).
    pub async fn serve_over(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Result<(), ServeError> {
        let (input, output) = tokio::io::split(stream);
        self.converse(input, output).await
    }

    async fn converse<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        if self.restricts_access() {
            return Err(ServeError::AccessWithoutNames);
        }
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
            // Other messages may contain the client's message.
            Err(_) => Err(ServeError::Connection { message: "the client does not speak MCP".to_owned() }),
        }
    }
}

/// A transport to a client that may send anything.
struct Guarded<T> {
    transport: Noted<T, ()>,
    /// Whether a request came: before it nothing else means anything.
    is_open: bool,
    /// A refusal that is being written. Nothing is read meanwhile.
    refusing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<T: Transport<RoleServer>> Guarded<T> {
    fn new(transport: T) -> Self {
        let transport = Noted { transport, under_way: UnderWay::default() };
        Self { transport, is_open: false, refusing: None }
    }

    /// Notes a request.
    ///
    /// # Errors
    /// Why it is refused.
    fn begin(&self, id: RequestId) -> Result<(), ErrorData> {
        let under_way = &self.transport.under_way;
        if under_way.contains(&id) {
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, IN_USE, None));
        }
        if under_way.len() >= MOST_REQUESTS {
            let said = format!("too many concurrent requests: at most {MOST_REQUESTS} are allowed");
            return Err(ErrorData::new(ErrorCode::INTERNAL_ERROR, said, None));
        }
        under_way.begin(id, ());
        Ok(())
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Guarded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
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
            if let JsonRpcMessage::Request(request) = &message {
                let id = request.id.clone();
                if let Err(error) = self.begin(id.clone()) {
                    // Past what notes answers: another request of this id may be under way.
                    let sent = self.transport.transport.send(JsonRpcMessage::error(error, Some(id)));
                    self.refusing = Some(Box::pin(async move { drop(sent.await) }));
                    continue;
                }
                self.is_open = true;
            }
            if self.is_open {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

//! A proxy for one client: over stdin and stdout, or any stream.

use std::sync::Arc;

use mcp_bindgen_runtime::__private::rpc::{serve, with_client};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::client_state::ClientState;
use super::{Proxy, ServeError};

/// How many bytes a message may have. A longer one is dropped, whatever its length.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

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
        #[cfg(target_os = "linux")]
        if let Ok((input, output)) = pipes() {
            return self.converse(input, output).await;
        }
        self.converse(tokio::io::stdin(), tokio::io::stdout()).await
    }

    /// Serves one client on a stream, until the stream ends: a socket, a pipe, or `tokio::io::duplex` in tests.
    ///
    /// # Errors
    /// Fails like [`serve_stdio`](Self::serve_stdio).
    pub async fn serve_over(&self, stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Result<(), ServeError> {
        let (input, output) = tokio::io::split(stream);
        self.converse(input, output).await
    }

    async fn converse<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        if self.shared.setup().access.is_some() {
            return Err(ServeError::AccessWithoutNames);
        }
        let client = Arc::new(ClientState::new(self.shared.clone(), None, CancellationToken::new()));
        let receiving = serve(|ledger| with_client(input, output, LONGEST_MESSAGE, ledger), client);
        let receiving = receiving.map_err(|error| ServeError::Connection { message: error.to_string() })?;
        // On a task, which needs no thread to be woken for each message; it ends if this future is dropped.
        let mut serving = JoinSet::new();
        serving.spawn(receiving.run(CancellationToken::new()));
        let _ = serving.join_next().await;
        Ok(())
    }
}

/// Opens stdin and stdout again if both are pipes, so that non-blocking mode stays inside this process.
#[cfg(target_os = "linux")]
fn pipes() -> std::io::Result<(tokio::net::unix::pipe::Receiver, tokio::net::unix::pipe::Sender)> {
    let options = tokio::net::unix::pipe::OpenOptions::new();
    Ok((options.open_receiver("/proc/self/fd/0")?, options.open_sender("/proc/self/fd/1")?))
}

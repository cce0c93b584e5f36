//! Transports over a pair of streams, to a server or to a client, which may be in the same process.

use std::future::{Future, ready};
use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines::{Reader, connect};
use super::writer::Sink;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::ground::task::Boxed;
use crate::rpc::messages::MAX_MESSAGE;
use crate::rpc::notes::Notes;
use crate::rpc::{Ledger, Sides};

/// The message for streams that cannot be opened again.
const SPENT: &str = "the client's streams have ended; create a new client";

type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns a transport to a client over a pair of streams. Messages are limited to this many bytes; longer ones are
/// dropped.
///
/// # Errors
/// Fails outside of a runtime.
pub fn with_client(
    reader: impl AsyncRead + Send + Unpin + 'static,
    writer: impl AsyncWrite + Send + Unpin + 'static,
    longest: usize,
    ledger: Arc<Ledger>,
) -> io::Result<Sides> {
    connect(Box::new(()), (Box::new(reader), Sink::stream(writer)), ledger, None, longest)
}

/// A function that opens a pair of streams to a server. Examples are a socket, the input and output of a program in a
/// container or on another machine, or a WebSocket behind an adapter. The server speaks lines of JSON, as over stdio.
///
/// The client calls it for the first connection and after each lost one. The client then renews subscriptions to
/// resources and changes. It does not send a call with an unknown outcome again. Any function that returns a future of
/// streams is a connector:
///
/// ```
/// # #[cfg(unix)]
/// # {
/// use mcp_bindgen_runtime::{Client, ClientOptions};
///
/// let client = Client::connected_by("files", ClientOptions::new(), async || {
///     Ok(tokio::net::UnixStream::connect("/run/files.sock").await?.into_split())
/// });
/// # let _ = client;
/// # }
/// ```
pub trait Connector: Send + Sync + 'static {
    /// The stream that the server writes to.
    type Read: AsyncRead + Send + Unpin + 'static;
    /// The stream that the server reads. Dropping both closes the connection.
    type Write: AsyncWrite + Send + Unpin + 'static;

    /// Opens the streams. The connect timeout applies, and the future may be dropped.
    ///
    /// # Errors
    /// Fails if the connection cannot be opened; secrets of the server's configuration are removed from the message.
    fn connect(&self) -> impl Future<Output = io::Result<(Self::Read, Self::Write)>> + Send;
}

impl<F, A, R, W> Connector for F
where
    F: Fn() -> A + Send + Sync + 'static,
    A: Future<Output = io::Result<(R, W)>> + Send,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Read = R;
    type Write = W;

    fn connect(&self) -> impl Future<Output = io::Result<(R, W)>> + Send {
        self()
    }
}

/// The source of a client's streams.
#[derive(Clone)]
pub(crate) struct Streams {
    open: Arc<dyn Fn() -> Boxed<io::Result<Pair>> + Send + Sync>,
    /// `true` if at most one session is possible.
    pub(crate) are_for_one_session: bool,
}

type Pair = (Reader, Writing);

debug_as!(Streams, "Streams(..)");

impl Streams {
    /// Creates the source of one pair, which serves one session.
    #[inline]
    pub(crate) fn new(reader: Reader, writer: Writing) -> Self {
        let pair = Mutex::new(Some((reader, writer)));
        let open = move || -> Boxed<io::Result<Pair>> {
            Box::pin(ready(lock(&pair).take().ok_or_else(|| io::Error::other(SPENT))))
        };
        Self { open: Arc::new(open), are_for_one_session: true }
    }

    /// Creates a source whose connector opens a pair for each session.
    pub(crate) fn by(connector: impl Connector) -> Self {
        let connector = Arc::new(connector);
        let open = move || -> Boxed<io::Result<Pair>> {
            let connector = connector.clone();
            Box::pin(async move {
                let (reader, writer) = connector.connect().await?;
                Ok((Box::new(reader) as Reader, Box::new(writer) as Writing))
            })
        };
        Self { open: Arc::new(open), are_for_one_session: false }
    }

    /// Opens the streams, and returns both sides of a transport to a server over them. If the future is dropped, opened
    /// streams are closed.
    pub(crate) async fn connect(&self, ledger: Arc<Ledger>, notes: Notes) -> io::Result<Sides> {
        let (reader, writer) = (self.open)().await?;
        connect(Box::new(()), (reader, Sink::stream(writer)), ledger, Some(notes), MAX_MESSAGE)
    }
}

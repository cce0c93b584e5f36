//! A server at the other end of a pair of streams, which may be in the same process.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite};

use super::lines::{FarEnd, LineTransport};
use super::pipe::Sink;
use super::writer::Writer;
use crate::rpc::ledger::Ledger;
use crate::rpc::notes::Notes;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// The transport; dropping it closes the streams.
pub(crate) type DuplexTransport = LineTransport<Stranger, Reader>;

/// Nothing is known of who holds the other ends.
pub(crate) struct Stranger;

impl FarEnd for Stranger {
    async fn end_with_server(&mut self) -> Infallible {
        std::future::pending().await
    }

    async fn note_end(&mut self, _: &Notes) {}

    async fn shut_down(&mut self) {}
}

impl DuplexTransport {
    /// A transport over the streams; none where they are in use or have been.
    pub(crate) fn over(streams: &Streams, ledger: Arc<Ledger>, notes: Notes) -> Option<(Arc<Writer>, Self)> {
        let (reader, writer) = streams.take()?;
        let writer = Arc::new(Writer::new(Sink::Given(writer), ledger.clone()).ok()?);
        Some((writer.clone(), Self::new(Stranger, reader, writer, ledger, notes)))
    }
}

/// A pair of streams, which is good for one session.
#[derive(Clone)]
pub(crate) struct Streams(Arc<Mutex<Option<(Reader, Writing)>>>);

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams(..)")
    }
}

impl Streams {
    pub(crate) fn new(reader: Reader, writer: Writing) -> Self {
        Self(Arc::new(Mutex::new(Some((reader, writer)))))
    }

    /// Returns `true` if the streams were already used.
    pub(crate) fn are_spent(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn take(&self) -> Option<(Reader, Writing)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

//! A server at the other end of a pair of streams, which may be in the same process.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::lines::{FarEnd, LineTransport};
use super::pipe::Sink;
use super::writer::Writer;
use crate::observe::notes::Notes;
use crate::session::ledger::Ledger;

type Reader = Box<dyn AsyncRead + Send + Unpin>;
type Writing = Box<dyn AsyncWrite + Send + Unpin>;

/// The transport; dropping it closes the streams, unless the beginning of the conversation is tried once more.
pub(crate) type DuplexTransport = LineTransport<Stranger, Lent<Reader>>;

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
    pub(crate) fn over(streams: &Streams, ledger: Arc<Ledger>, notes: Notes) -> Option<Self> {
        let (reader, writer) = {
            let mut home = streams.home();
            (home.reader.take()?, home.writer.take()?)
        };
        let reader = Lent { half: Some(reader), streams: streams.clone(), home: |home| &mut home.reader };
        let writer = Lent { half: Some(writer), streams: streams.clone(), home: |home| &mut home.writer };
        let writer = Writer::new(Sink::Given(Box::new(writer)), ledger.clone()).ok()?;
        Some(Self::new(Stranger, reader, writer, ledger, notes))
    }
}

/// A pair of streams, which is good for one conversation. Until that has begun, transports that failed give them back:
/// the other protocol era is tried over the same ones.
#[derive(Clone)]
pub(crate) struct Streams(Arc<Mutex<Home>>);

struct Home {
    reader: Option<Reader>,
    writer: Option<Writing>,
    /// Whether what comes back is closed.
    is_over: bool,
}

impl Streams {
    pub(crate) fn new(reader: Reader, writer: Writing) -> Self {
        Self(Arc::new(Mutex::new(Home { reader: Some(reader), writer: Some(writer), is_over: false })))
    }

    /// Whether there was a conversation, or an attempt at one.
    pub(crate) fn are_spent(&self) -> bool {
        self.home().is_over
    }

    /// Whatever comes of the attempt to begin a conversation, there is no other one after it.
    pub(crate) fn for_one_conversation(&self) -> OneConversation {
        OneConversation(self.clone())
    }

    fn home(&self) -> MutexGuard<'_, Home> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt to begin a conversation; when it ends, the streams are whoever's that has them, or closed.
pub(crate) struct OneConversation(Streams);

impl Drop for OneConversation {
    fn drop(&mut self) {
        let closed = {
            let mut home = self.0.home();
            home.is_over = true;
            (home.reader.take(), home.writer.take())
        };
        drop(closed);
    }
}

/// One of the streams, in the hands of a transport.
pub(crate) struct Lent<T> {
    half: Option<T>,
    streams: Streams,
    home: fn(&mut Home) -> &mut Option<T>,
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        let mut home = self.streams.home();
        if !home.is_over {
            *(self.home)(&mut home) = self.half.take();
        }
    }
}

impl<T: Unpin> Lent<T> {
    fn half(&mut self) -> io::Result<Pin<&mut T>> {
        self.half.as_mut().map(Pin::new).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Lent<T> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.get_mut().half()?.poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Lent<T> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().half()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().half()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().half()?.poll_shutdown(context)
    }
}

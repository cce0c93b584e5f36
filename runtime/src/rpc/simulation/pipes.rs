//! The pipes between a session and its simulated server.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::Chance;
use crate::ground::sync::lock;
use crate::rpc::transports::writer::{Reading, Sink};

/// Both pipes, as the session and the server see them.
#[derive(Clone)]
pub(crate) struct Pipes(Arc<Mutex<Both>>);

/// The contents of both pipes.
pub(super) struct Both {
    chance: Chance,
    /// Bytes that the session has written, and the server has not read.
    pub(super) written: VecDeque<u8>,
    /// Bytes that the server has written, and the session has not read.
    pub(super) said: VecDeque<u8>,
    /// `true` if the server is gone; it reads no more.
    pub(super) is_dead: bool,
    /// The number of bytes that fit at once.
    room: usize,
    wakers: Vec<Waker>,
}

impl Pipes {
    pub(super) fn new(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let room = [1, 7, 64, 4096][chance.below(4)];
        let (written, said, wakers) = Default::default();
        Self(Arc::new(Mutex::new(Both { chance, written, said, is_dead: false, room, wakers })))
    }

    /// Does something with both, and wakes who waits.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Both) -> T) -> T {
        let mut both = lock(&self.0);
        let done = act(&mut both);
        both.wakers.drain(..).for_each(Waker::wake);
        done
    }
}

impl Both {
    /// Writes some of the bytes, if there is room.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_dead {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let room = self.room.saturating_sub(self.written.len()).min(bytes.len());
        let length = if room == 0 { 0 } else { 1 + self.chance.below(room) };
        self.written.extend(bytes.iter().take(length));
        Ok(length)
    }
}

/// The end that the session writes to.
pub(crate) struct SimulatedSink(pub(super) Pipes);

impl From<SimulatedSink> for Sink {
    fn from(sink: SimulatedSink) -> Self {
        let reading = SimulatedSink(sink.0.clone());
        let mut sink = Self::stream(sink);
        sink.reading = Some(Box::new(reading));
        sink
    }
}

impl AsyncWrite for SimulatedSink {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let is_ready = self.ready_if(context, |both| both.is_dead || both.written.len() < both.room);
        is_ready.map(|()| self.both(|both| both.write(bytes)))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Reading for SimulatedSink {
    fn was_read(&mut self, _: usize) -> BoxFuture<'_, ()> {
        let is_read = |both: &Both| both.written.is_empty() || both.is_dead;
        Box::pin(std::future::poll_fn(move |context| self.ready_if(context, is_read)))
    }

    fn lost(&self) -> Option<u64> {
        self.both(|both| both.is_dead.then(|| u64::try_from(both.written.len()).unwrap_or(u64::MAX)))
    }
}

impl SimulatedSink {
    fn both<T>(&self, act: impl FnOnce(&mut Both) -> T) -> T {
        act(&mut lock(&self.0.0))
    }

    /// Waits for a condition, and sometimes waits although it holds.
    fn ready_if(&self, context: &Context<'_>, is_ready: impl Fn(&Both) -> bool) -> Poll<()> {
        self.both(|both| {
            if is_ready(both) && !both.chance.once_in(4) {
                return Poll::Ready(());
            }
            if is_ready(both) {
                context.waker().wake_by_ref();
            }
            both.wakers.push(context.waker().clone());
            Poll::Pending
        })
    }
}

/// The end that the session reads from.
pub(super) struct SimulatedReader(pub(super) Pipes);

impl AsyncRead for SimulatedReader {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut both = lock(&self.0.0);
        if both.said.is_empty() && !both.is_dead {
            both.wakers.push(context.waker().clone());
            return Poll::Pending;
        }
        let most = both.said.len().min(buffer.remaining());
        let length = if most == 0 { 0 } else { 1 + both.chance.below(most) };
        let bytes: Vec<u8> = both.said.drain(..length).collect();
        buffer.put_slice(&bytes);
        Poll::Ready(Ok(()))
    }
}

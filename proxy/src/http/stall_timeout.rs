//! Closes connections whose client stopped reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail if the other side reads nothing for a time. So a client that stopped reading does not keep its
/// place among the connections.
pub(super) struct StallTimeout<S> {
    stream: S,
    patience: Duration,
    /// The timeout of the pending write.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> StallTimeout<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Self {
        Self { stream, patience, waiting: None }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallTimeout<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: Unpin> StallTimeout<S> {
    /// Polls a write, which fails if nothing is written in time.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.stream), context) {
            self.waiting = None;
            return Poll::Ready(written);
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallTimeout<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.within(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.within(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    /// Without it, hyper copies bodies into a buffer that keeps the size of the largest one.
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn slow_reader_is_tolerated_and_a_stalled_one_times_out() {
        let (mut near, far) = tokio::io::duplex(8);
        let mut stream = StallTimeout::new(far, Duration::from_millis(600));
        let reading = async {
            let mut bytes = [0; 8];
            for _ in 0..8 {
                sleep(Duration::from_millis(100)).await;
                assert!(near.read_exact(&mut bytes).await.is_ok());
            }
        };
        // Longer than its patience, and never without anything being taken for so long.
        let (written, ()) = tokio::join!(stream.write_all(&[1; 64]), reading);
        assert!(written.is_ok(), "{written:?}");
        let stuck = tokio::time::timeout(Duration::from_secs(10), stream.write_all(&[1; 64])).await;
        let error = stuck.map(|written| written.map_err(|error| error.kind()));
        assert!(matches!(error, Ok(Err(io::ErrorKind::TimedOut))), "{error:?}");
    }
}

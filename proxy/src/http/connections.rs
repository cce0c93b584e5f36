//! Connections: how many, how long, and how they end, also if the client stopped reading.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::AsyncWrite;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::{Sleep, sleep};
use tokio_util::sync::CancellationToken;

use super::handler::{Ends, Handler};
use super::options::{HttpOptions, Limits};
use crate::ServeError;
use crate::lock::lock;
use crate::shared::Shared;

/// A proxy that is served over HTTP. Dropping it stops it at once; [`close`](Self::close) waits for calls.
#[must_use = "dropping it ends it"]
pub struct HttpServer {
    address: SocketAddr,
    handler: Arc<Handler>,
    accepting: JoinHandle<()>,
}

impl HttpServer {
    /// Returns the address with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for clients: `http://127.0.0.1:8080/mcp`.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.handler.options.path)
    }

    /// Stops accepting requests, waits up to [`HttpOptions::drain`](super::HttpOptions::drain) for open ones, and
    /// ends all sessions.
    pub async fn close(mut self) {
        self.handler.closing.cancel();
        let _ = (&mut self.accepting).await;
    }

    /// Serves until a future completes, then closes.
    pub async fn until(self, happens: impl Future<Output = ()>) {
        happens.await;
        self.close().await;
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.handler.ending.cancel();
        self.accepting.abort();
    }
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpServer").field("address", &self.address).finish_non_exhaustive()
    }
}

pub(super) async fn serve(proxy: Arc<Shared>, options: HttpOptions) -> Result<HttpServer, ServeError> {
    let asked = options.address;
    let bind = |error: io::Error| ServeError::Bind { address: asked, kind: error.kind(), message: error.to_string() };
    let listener = TcpListener::bind(asked).await.map_err(bind)?;
    let address = listener.local_addr().map_err(bind)?;
    let limits = options.limits;
    let handler = Arc::new(Handler::new(proxy, options));
    #[cfg(feature = "redis")]
    tokio::spawn(handler.clone().work_for_others());
    let accepting = tokio::spawn(accept(listener, handler.clone(), limits));
    Ok(HttpServer { address, handler, accepting })
}

async fn accept(listener: TcpListener, handler: Arc<Handler>, limits: Limits) {
    let room = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
    let graceful = GracefulShutdown::new();
    // Connections without a request so far, in the order of arrival.
    let strangers = Arc::new(Mutex::new(BTreeMap::<u64, CancellationToken>::new()));
    for number in 0_u64.. {
        let accepted = async {
            let accepted = listener.accept().await;
            if room.available_permits() == 0
                && let Some((_, ending)) = lock(&strangers).pop_first()
            {
                ending.cancel();
            }
            // Without a free place it waits, and further connections stay in the system's queue.
            (room.clone().acquire_owned().await, accepted)
        };
        let (permit, accepted) = tokio::select! {
            accepted = accepted => accepted,
            () = handler.closing.cancelled() => break,
        };
        let Ok((stream, _)) = accepted else {
            // Too many open files, mostly: they become fewer.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let ending = handler.ending.child_token();
        lock(&strangers).insert(number, ending.clone());
        let _ = stream.set_nodelay(true);
        let local = stream.local_addr().ok().map(|address| address.ip());
        let remote = stream.peer_addr().ok().map(|address| address.ip().to_canonical());
        let (ends, handler, strangers) = (Ends { local, remote }, handler.clone(), strangers.clone());
        let others = strangers.clone();
        let service = service_fn(move |request| {
            let handler = handler.clone();
            lock(&others).remove(&number);
            async move { Ok::<_, Infallible>(handler.answer(request, ends).await) }
        });
        let (read, writer) = stream.into_split();
        let stream = tokio::io::join(read, StallTimeout { writer, patience: limits.taken, waiting: None });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            let _held = permit;
            tokio::select! {
                // A client that goes away in the middle is its own affair.
                _ = connection => {}
                () = ending.cancelled() => {}
            }
            lock(&strangers).remove(&number);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.drain, graceful.shutdown()).await;
    handler.ending.cancel();
}

/// A stream whose writes fail if the other side reads nothing for a time. So a client that stopped reading does not keep its
/// place among the connections.
struct StallTimeout<W> {
    writer: W,
    patience: Duration,
    /// The timeout of the pending write.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<W: Unpin> StallTimeout<W> {
    /// Polls a write, which fails if nothing is written in time.
    fn within<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut W>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(written) = write(Pin::new(&mut self.writer), context) {
            self.waiting = None;
            return Poll::Ready(written);
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(self.patience)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for StallTimeout<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.within(context, |writer, context| writer.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.within(context, |writer, context| writer.poll_write_vectored(context, slices))
    }

    /// Without it, hyper copies bodies into a buffer that keeps the size of the largest one.
    fn is_write_vectored(&self) -> bool {
        self.writer.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.writer).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn slow_reader_is_tolerated_and_a_stalled_one_times_out() {
        let (mut near, writer) = tokio::io::duplex(8);
        let mut stream = StallTimeout { writer, patience: Duration::from_millis(600), waiting: None };
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

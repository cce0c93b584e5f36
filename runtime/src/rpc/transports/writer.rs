//! Writes messages to a stream, one a line, each whole or not at all.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pipe::Sink;
use crate::ground::task::task;
use crate::rpc::failure::{Failure, WITHDRAWN};
use crate::rpc::ledger::{Ledger, Outgoing};
use crate::rpc::sent::Message;
use crate::rpc::transports::{Sender, Sending};

const BROKEN: &str = "the server stopped reading";
const PATIENCE_WITH_WRITERS: Duration = Duration::from_millis(100);

/// The queue of messages to a server. Messages wait for their turn in the order in which they were sent.
pub(crate) struct Writer {
    stream: Arc<Mutex<Stream>>,
    closing: CancellationToken,
    ledger: Arc<Ledger>,
    /// The runtime of the connection. A caller's own runtime may stop in the middle of a message.
    runtime: Handle,
}

struct Stream {
    sink: Option<Sink>,
    /// How many bytes were written so far.
    position: u64,
}

impl Writer {
    /// Creates a writer for the current runtime.
    ///
    /// # Errors
    /// Fails outside of a runtime.
    pub(crate) fn new(sink: Sink, ledger: Arc<Ledger>) -> io::Result<Self> {
        let stream = Arc::new(Mutex::new(Stream { sink: Some(sink), position: 0 }));
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        Ok(Self { stream, closing: CancellationToken::new(), ledger, runtime })
    }

    /// Closes the pipe. Writers that wait for their turn, or for the server to read, give up. If the future is dropped,
    /// they still give up, and the pipe closes with the transport.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if let Ok(mut stream) = timeout(PATIENCE_WITH_WRITERS, self.stream.lock()).await {
            stream.sink.take();
        }
    }

    /// Closes at once, for a dropped transport. A write in progress ends, and closes the pipe with the writer.
    pub(super) fn abandon(&self) {
        self.closing.cancel();
        if let Ok(mut stream) = self.stream.try_lock() {
            stream.sink.take();
        }
    }

    /// Returns the maximum number of bytes that a dead server can have read, if the system reports it. Cancel safe.
    pub(crate) async fn read_at_most(&self) -> Option<u64> {
        // A task that writes to a closed pipe fails soon.
        let stream = timeout(PATIENCE_WITH_WRITERS, self.stream.lock()).await.ok()?;
        let lost = stream.sink.as_ref()?.reading.as_ref()?.lost()?;
        Some(stream.position.saturating_sub(lost))
    }

    /// Returns the stream, once all earlier data was read. If the future is dropped, its place in the queue is lost.
    async fn turn(&self) -> OwnedMutexGuard<Stream> {
        let mut stream = self.stream.clone().lock_owned().await;
        if let Some(reading) = stream.sink.as_mut().and_then(|sink| sink.reading.as_mut()) {
            reading.was_read().await;
        }
        stream
    }

    /// Returns the stream, if it is free.
    fn turn_at_once(&self) -> Option<OwnedMutexGuard<Stream>> {
        let mut stream = self.stream.clone().try_lock_owned().ok()?;
        let sink = stream.sink.as_mut().filter(|_| !self.closing.is_cancelled())?;
        let is_free = sink.reading.as_mut().is_none_or(|reading| reading.is_read());
        is_free.then_some(stream)
    }

    /// Spawns the write, which continues if the caller stops waiting.
    fn by_task(&self, writing: impl Future<Output = Result<(), Failure>> + Send + 'static) -> Sending {
        let (done, outcome) = oneshot::channel();
        self.runtime.spawn(task(async move {
            // The receiver may be gone.
            let _ = done.send(writing.await);
        }));
        Box::pin(async move { outcome.await.unwrap_or_else(|_| Err(Failure::lost(BROKEN))) })
    }

    /// Writes a message when its turn comes, unless its caller stops waiting. Cancel safe before its turn; afterwards
    /// it is as little cancel safe as `write_all`.
    async fn write(&self, message: &Message, outgoing: Outgoing) -> Result<(), Failure> {
        let stream = tokio::select! {
            biased;
            () = outgoing.abandoned() => return Err(withdrawn()),
            () = self.closing.cancelled() => return Err(Failure::not_sent(BROKEN)),
            stream = self.turn() => stream,
        };
        let line = line(message).map_err(|error| Failure::not_sent(error.to_string()))?;
        let end = stream.end_of(&line);
        if !outgoing.begin_write(Some(end)) {
            return Err(withdrawn());
        }
        self.finish(stream, &line, end, &outgoing).await
    }

    /// Writes the rest of a message that ends there.
    /// Not cancel safe, as `write_all`.
    async fn finish(
        &self,
        mut stream: OwnedMutexGuard<Stream>,
        rest: &[u8],
        end: u64,
        outgoing: &Outgoing,
    ) -> Result<(), Failure> {
        let written = tokio::select! {
            biased;
            written = stream.write_all(rest) => written,
            () = self.closing.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.report(&stream, end, outgoing, written)
    }

    fn report(&self, stream: &Stream, end: u64, outgoing: &Outgoing, written: io::Result<()>) -> Result<(), Failure> {
        let Err(error) = written else {
            outgoing.written();
            return Ok(());
        };
        self.ledger.stop(&Failure::not_sent(BROKEN));
        // Without its last brace no server can take it for a request.
        let broken = if stream.position.saturating_add(1) < end { Failure::not_sent } else { Failure::lost };
        let failure = broken(BROKEN.to_owned()).with_source(io::Error::from(error.kind()));
        outgoing.failed(failure.clone());
        Err(failure)
    }
}

impl Sender for Writer {
    /// Sends a message. If it cannot be written at once, a task writes the rest, because a caller that gives up must
    /// not leave half a message behind.
    fn send(self: Arc<Self>, message: Message, outgoing: Outgoing) -> Sending {
        let Some((mut stream, line)) = self.turn_at_once().and_then(|stream| Some((stream, line(&message).ok()?)))
        else {
            let writing = self.clone();
            return self.by_task(async move { writing.write(&message, outgoing).await });
        };
        let end = stream.end_of(&line);
        if !outgoing.begin_write(Some(end)) {
            return Box::pin(ready(Err(withdrawn())));
        }
        match stream.write_at_once(&line) {
            Ok((written, is_flushed)) if written < line.len() || !is_flushed => {
                let writing = self.clone();
                self.by_task(async move {
                    let rest = line.get(written..).unwrap_or_default();
                    writing.finish(stream, rest, end, &outgoing).await
                })
            }
            written => Box::pin(ready(self.report(&stream, end, &outgoing, written.map(drop)))),
        }
    }
}

fn line(message: &Message) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn withdrawn() -> Failure {
    Failure::not_sent(WITHDRAWN)
}

impl Stream {
    /// Returns the end position of a line that is written now.
    fn end_of(&self, line: &[u8]) -> u64 {
        self.position.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX))
    }

    /// Writes as much of a line as fits. Returns the number of bytes, and `true` if all written data was flushed.
    fn write_at_once(&mut self, line: &[u8]) -> io::Result<(usize, bool)> {
        let sink = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        // The task that writes the rest polls again, and is woken then.
        let written = sink.stream.write(line).now_or_never().transpose()?.unwrap_or_default();
        self.position += u64::try_from(written).unwrap_or_default();
        Ok((written, sink.stream.flush().now_or_never().transpose()?.is_some()))
    }

    /// Writes all bytes. It is not cancel safe, because half a line may have been written. A task runs it, and drops it
    /// only when the pipe closes.
    async fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        let sink = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        if let Some(reading) = &mut sink.reading {
            reading.make_room(rest.len());
        }
        while !rest.is_empty() {
            let written = sink.stream.write(rest).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.position += u64::try_from(written).unwrap_or_default();
            rest = rest.get(written..).unwrap_or_default();
        }
        sink.stream.flush().await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use serde_json::Map;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::ground::redact::Redactor;
    use crate::rpc::ledger::Limits;
    use crate::rpc::sent::MethodCall;

    #[tokio::test]
    async fn message_that_fits_is_written_before_anybody_waits_for_it() {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let limits = Limits { requests: usize::MAX, bytes: usize::MAX };
        let ledger = Ledger::new(limits, Duration::from_secs(30), Redactor::default());
        let writer = Arc::new(Writer::new(Sink::stream(ours), ledger.clone()).expect("a runtime"));
        let message = Message::Notification(MethodCall::new("notifications/initialized", Map::new()));
        let outgoing = ledger.queued(&message);
        let mut sending = writer.send(message, outgoing);
        let sent = Pin::new(&mut sending).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(sent, Poll::Ready(Ok(()))), "no task is needed");
        let mut start = [0; 16];
        theirs.read_exact(&mut start).await.expect("it is there");
        assert_eq!(&start, br#"{"jsonrpc":"2.0""#);
    }
}

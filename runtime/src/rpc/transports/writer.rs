//! Writes messages to a stream, one a line, each whole or not at all.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::io::AsyncWriteExt;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pipe::Sink;
use crate::ground::task::{Boxed, task};
use crate::rpc::failure::WITHDRAWN;
use crate::rpc::{Failure, Ledger, Message, Outgoing, Sender, Sending};

const BROKEN: &str = "the server stopped reading";
const PATIENCE_WITH_WRITERS: Duration = Duration::from_millis(100);

/// The queue of messages to a server. Messages wait for their turn in the order in which they were sent.
pub(crate) struct Writer {
    stream: Mutex<Stream>,
    closing: CancellationToken,
    pub(super) ledger: Arc<Ledger>,
    /// The runtime of the connection. A caller's own runtime may stop in the middle of a message.
    runtime: Handle,
}

struct Stream {
    sink: Option<Sink>,
    /// The number of bytes that were written so far.
    position: u64,
}

impl Writer {
    /// Creates a writer for the current runtime.
    ///
    /// # Errors
    /// Fails outside of a runtime.
    pub(crate) fn new(sink: Sink, ledger: Arc<Ledger>) -> io::Result<Self> {
        let stream = Mutex::new(Stream { sink: Some(sink), position: 0 });
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
    async fn turn(&self, length: usize) -> MutexGuard<'_, Stream> {
        let mut stream = self.stream.lock().await;
        if let Some(reading) = stream.sink.as_mut().and_then(|sink| sink.reading.as_mut()) {
            reading.was_read(length).await;
        }
        stream
    }

    /// Writes a line when its turn comes, unless its caller stops waiting. Cancel safe before its turn; afterwards it
    /// is as little cancel safe as `write_all`.
    async fn write(&self, line: &[u8], outgoing: &Outgoing) -> Result<(), Failure> {
        let mut stream = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(Failure::not_sent(BROKEN)),
            stream = self.turn(line.len()) => stream,
            () = outgoing.abandoned() => return Err(Failure::not_sent(WITHDRAWN)),
        };
        let end = stream.position.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        if !outgoing.begin_write(Some(end)) {
            return Err(Failure::not_sent(WITHDRAWN));
        }
        let written = tokio::select! {
            biased;
            written = stream.write_all(line) => written,
            () = self.closing.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
        };
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
        let runtime = self.runtime.clone();
        let mut writing: Boxed<_> = Box::pin(async move {
            let mut line = serde_json::to_vec(&message).map_err(|error| Failure::not_sent(error.to_string()))?;
            line.push(b'\n');
            drop(message);
            self.write(&line, &outgoing).await
        });
        let _entered = runtime.enter();
        // The task that writes the rest polls again, and is woken then.
        if let Some(outcome) = writing.as_mut().now_or_never() {
            return Box::pin(ready(outcome));
        }
        let (done, outcome) = oneshot::channel();
        runtime.spawn(task(async move {
            // The receiver may be gone.
            let _ = done.send(writing.await);
        }));
        Box::pin(async move { outcome.await.unwrap_or_else(|_| Err(Failure::lost(BROKEN))) })
    }
}

impl Stream {
    /// Writes all bytes. It is not cancel safe, because half a line may have been written. A task runs it, and drops it
    /// only when the pipe closes.
    async fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        let sink = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
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

    use rmcp::model::RequestId;
    use serde_json::Map;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::Dispatched;
    use crate::ground::redact::Redactor;
    use crate::rpc::MethodCall;
    use crate::rpc::ticket::TicketTerms;

    #[tokio::test]
    async fn cut_request_may_have_run_if_only_its_line_break_is_missing() {
        for (missing, expected) in [(2, Dispatched::No), (1, Dispatched::Unknown)] {
            let ledger = Ledger::new(Duration::from_secs(30), Redactor::default());
            let (id, call) = (ledger.next_id(), MethodCall::new("tools/list", Map::new()));
            let message = Message::Request { id: RequestId::Number(id), call };
            let line = serde_json::to_vec(&message).expect("it is JSON").len() + 1;
            // Nothing can be written beyond its end.
            let sink = io::Cursor::new(vec![0; line - missing].into_boxed_slice());
            let writer = Arc::new(Writer::new(Sink::stream(sink), ledger.clone()).expect("a runtime"));
            let (_, outgoing) = ledger.admit((id, &message), line, TicketTerms::default()).expect("there is room");
            let failure = writer.send(message, outgoing).await.expect_err("it is cut");
            assert_eq!(failure.dispatched, expected, "{missing}");
        }
    }

    #[tokio::test]
    async fn message_that_fits_is_written_before_anybody_waits_for_it() {
        let (ours, mut theirs) = tokio::io::duplex(4096);
        let ledger = Ledger::new(Duration::from_secs(30), Redactor::default());
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

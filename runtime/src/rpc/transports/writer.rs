//! Writes messages to a stream, one per line, each completely or not at all. For the stdin of a child process it also
//! knows how much was read.
//!
//! A pipe of the usual size holds hundreds of requests, and a server buffers what it reads at once. All of them may
//! then run, although their callers gave up long ago. Thus the next message is written only after the previous one was
//! read.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::ground::sync::lock;
use crate::ground::task::task;
use crate::rpc::failure::WITHDRAWN;
use crate::rpc::{Failure, Ledger, Message, Outgoing, Sender, Sending};

const BROKEN: &str = "the server stopped reading";
const PATIENCE_WITH_WRITERS: Duration = Duration::from_millis(100);

/// The queue of messages to a server. Messages wait for their turn in the order in which they were sent.
pub(crate) struct Writer {
    /// `None` once it is closed.
    sink: Mutex<Option<Sink>>,
    closing: CancellationToken,
    pub(super) ledger: Arc<Ledger>,
    /// The runtime of the connection. A caller's own runtime may stop in the middle of a message.
    runtime: Handle,
}

impl Writer {
    /// Creates a writer for the current runtime.
    ///
    /// # Errors
    /// Fails outside of a runtime.
    pub(crate) fn new(sink: Sink, ledger: Arc<Ledger>) -> io::Result<Self> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        Ok(Self { sink: Mutex::new(Some(sink)), closing: CancellationToken::new(), ledger, runtime })
    }

    /// Closes the pipe. Writers that wait for their turn, or for the server to read, give up. If the future is dropped,
    /// they still give up, and the pipe closes with the transport.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if let Some(mut sink) = self.unused().await {
            *sink = None;
        }
    }

    /// Closes at once, for a dropped transport. A write in progress ends, and closes the pipe with the writer.
    pub(super) fn abandon(&self) {
        self.closing.cancel();
        if let Ok(mut sink) = self.sink.try_lock() {
            *sink = None;
        }
    }

    /// Returns the maximum number of bytes that a dead server can have read, if the system reports it. Cancel safe.
    pub(crate) async fn read_at_most(&self) -> Option<u64> {
        let sink = self.unused().await?;
        let Sink { reading, position, .. } = sink.as_ref()?;
        Some(position.saturating_sub(reading.as_ref()?.lost()?))
    }

    /// Returns the sink once nobody writes. A task that writes to a closed pipe fails soon.
    async fn unused(&self) -> Option<MutexGuard<'_, Option<Sink>>> {
        timeout(PATIENCE_WITH_WRITERS, self.sink.lock()).await.ok()
    }

    /// Returns the sink, once all earlier data was read. If the future is dropped, its place in the queue is lost.
    async fn turn(&self, length: usize) -> MutexGuard<'_, Option<Sink>> {
        let mut sink = self.sink.lock().await;
        if let Some(Sink { reading: Some(reading), .. }) = &mut *sink {
            reading.was_read(length).await;
        }
        sink
    }

    /// Writes a line when its turn comes, unless its caller stops waiting. Cancel safe before its turn; afterwards it
    /// is as little cancel safe as `write_all`.
    async fn write(&self, line: &[u8], outgoing: &Outgoing) -> Result<(), Failure> {
        let mut sink = tokio::select! {
            biased;
            () = self.closing.cancelled() => return Err(Failure::not_sent(BROKEN)),
            sink = self.turn(line.len()) => sink,
            () = outgoing.abandoned() => return Err(Failure::not_sent(WITHDRAWN)),
        };
        let Some(sink) = &mut *sink else { return Err(Failure::not_sent(BROKEN)) };
        let end = sink.position.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
        if !outgoing.begin_write(Some(end)) {
            return Err(Failure::not_sent(WITHDRAWN));
        }
        let written = tokio::select! {
            biased;
            written = sink.write_all(line) => written,
            () = self.closing.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
        };
        let Err(error) = written else {
            outgoing.written();
            return Ok(());
        };
        self.ledger.stop(&Failure::not_sent(BROKEN));
        // Without its last brace no server can take it for a request.
        let broken = if sink.position.saturating_add(1) < end { Failure::not_sent } else { Failure::lost };
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
        let mut writing: Sending = Box::pin(async move {
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
        let outcome = Arc::new(std::sync::Mutex::new(None));
        let written = outcome.clone();
        let writing = runtime.spawn(task(async move { *lock(&written) = Some(writing.await) }));
        Box::pin(async move {
            let _ = writing.await;
            lock(&outcome).take().unwrap_or_else(|| Err(Failure::lost(BROKEN)))
        })
    }
}

/// The destination of messages.
pub(crate) struct Sink {
    stream: Box<dyn AsyncWrite + Send + Unpin>,
    /// Reports how much of the written data was read, if the system can.
    pub(in crate::rpc) reading: Option<Box<dyn Reading>>,
    /// The number of bytes that were written so far.
    position: u64,
}

impl Sink {
    /// Creates a destination that does not report how much was read.
    pub(crate) fn stream(stream: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        Self { stream: Box::new(stream), reading: None, position: 0 }
    }

    pub(crate) fn child(stdin: ChildStdin) -> io::Result<Self> {
        #[cfg(unix)]
        let reading: Option<Box<dyn Reading>> = Some(Box::new(unix::Pipe::of(&stdin)?));
        #[cfg(not(unix))]
        let reading = None;
        Ok(Self { reading, ..Self::stream(stdin) })
    }

    /// Writes all bytes. It is not cancel safe, because half a line may have been written. A task runs it, and drops it
    /// only when the pipe closes.
    async fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        while !rest.is_empty() {
            let written = self.stream.write(rest).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.position += u64::try_from(written).unwrap_or_default();
            rest = rest.get(written..).unwrap_or_default();
        }
        self.stream.flush().await
    }
}

/// Reports how much of the written data the other side has read.
pub(crate) trait Reading: Send {
    /// Waits until the other side has read everything, or will read nothing more, and prepares for a message of this
    /// length. Cancel safe.
    fn was_read(&mut self, length: usize) -> BoxFuture<'_, ()>;

    /// Returns the number of bytes that were not read, if no reader is left.
    fn lost(&self) -> Option<u64>;
}

#[cfg(unix)]
mod unix {
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::ioctl_fionread;
    use tokio::net::unix::pipe::Sender;

    use super::*;

    /// A line's end may stay behind until the next line comes.
    const LEFT_BEHIND: u64 = 1;
    /// The interval between checks, on systems that do not report an emptied pipe.
    const LOOK_AGAIN: Duration = Duration::from_millis(10);

    /// The size while messages queue. A pipe of one page becomes writable only when it is empty, so the writer can wait
    /// for that. Every message that is read wakes the writer then, which costs time.
    const SMALL: usize = 4096;
    /// The usual size, in which a long message takes fewer turns.
    const LARGE: usize = 65536;

    /// Another descriptor of the pipe to a child's stdin.
    pub(super) struct Pipe {
        descriptor: Sender,
        size: usize,
    }

    impl Pipe {
        pub(super) fn of(pipe: &impl AsFd) -> io::Result<Self> {
            let descriptor = pipe.as_fd().try_clone_to_owned()?;
            Ok(Self { descriptor: Sender::from_owned_fd(descriptor)?, size: LARGE })
        }

        fn resize(&mut self, size: usize) {
            if size != self.size {
                self.size = size;
                // If the system refuses, the pipe is polled every few milliseconds.
                #[cfg(target_os = "linux")]
                let _ = rustix::pipe::fcntl_setpipe_size(&self.descriptor, size);
            }
        }

        fn unread(&self) -> u64 {
            ioctl_fionread(&self.descriptor).unwrap_or_default()
        }

        fn is_orphaned(&self) -> bool {
            let mut polled = [PollFd::new(&self.descriptor, PollFlags::empty())];
            let outcome = poll(&mut polled, Some(&Timespec::default()));
            outcome.is_ok() && polled.iter().any(|pipe| pipe.revents().contains(PollFlags::ERR))
        }
    }

    impl Reading for Pipe {
        fn was_read(&mut self, length: usize) -> BoxFuture<'_, ()> {
            Box::pin(async move {
                if self.unread() <= LEFT_BEHIND {
                    return self.resize(LARGE);
                }
                self.resize(SMALL);
                loop {
                    // The readiness is cleared, so that the next event triggers another check.
                    let _ = self.descriptor.try_io(|| Err::<(), _>(io::ErrorKind::WouldBlock.into()));
                    if self.unread() <= LEFT_BEHIND || self.is_orphaned() {
                        break;
                    }
                    let _ = timeout(LOOK_AGAIN, self.descriptor.writable()).await;
                }
                if length > SMALL {
                    self.resize(LARGE);
                }
            })
        }

        fn lost(&self) -> Option<u64> {
            self.is_orphaned().then(|| self.unread())
        }
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
    use crate::rpc::request::Terms;

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
            let (_, outgoing) = ledger.admit((id, &message), line, Terms::default()).expect("there is room");
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

    #[cfg(target_os = "linux")]
    mod of_a_pipe {
        use std::io::{Read, Write, pipe};

        use rustix::pipe::fcntl_getpipe_size;

        use super::super::unix::Pipe;
        use super::super::*;

        #[tokio::test]
        async fn message_waits_in_a_small_pipe_until_the_previous_one_was_read() {
            for (length, expected) in [(4096, 4096), (4097, 65536)] {
                let (mut reader, mut writer) = pipe().expect("a pipe");
                let mut ours = Pipe::of(&writer).expect("a pipe");
                let size = || fcntl_getpipe_size(&reader).expect("a size");
                writer.write_all(b"{}\n").expect("there is room");
                let mut waiting = ours.was_read(length);
                assert!((&mut waiting).now_or_never().is_none());
                assert_eq!(size(), 4096);
                // The line's end stays behind.
                (&reader).read_exact(&mut [0; 2]).expect("it is there");
                waiting.await;
                assert_eq!(size(), expected);
                ours.was_read(1).now_or_never().expect("nothing is to be read");
                assert_eq!(size(), 65536);
                reader.read_exact(&mut [0]).expect("it is there");
            }
        }

        #[tokio::test]
        async fn unread_bytes_are_lost_once_no_reader_is_left() {
            let (reader, mut writer) = pipe().expect("a pipe");
            let mut ours = Pipe::of(&writer).expect("a pipe");
            writer.write_all(b"{}\n").expect("there is room");
            assert_eq!(ours.lost(), None);
            drop(reader);
            assert_eq!(ours.lost(), Some(3));
            ours.was_read(1).now_or_never().expect("nothing more is read");
        }
    }
}

//! Writes messages to a stream, one a line, each whole or not at all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::service::TxJsonRpcMessage;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::pipe::Sink;
use crate::session::direct::{Direct, Sending};
use crate::session::failure::Failure;
use crate::session::ledger::{Ledger, Outgoing};
use crate::task::task;

const BROKEN: &str = "the server does not read any more";
const PATIENCE_WITH_WRITERS: Duration = Duration::from_millis(100);

/// What is written to a server. Messages wait for their turn in the order in which they were sent.
pub(crate) struct Writer {
    stream: Arc<Mutex<Stream>>,
    closing: CancellationToken,
    ledger: Arc<Ledger>,
    /// The one that the connection is in: whoever calls from another may let that rest in the middle of a message.
    runtime: Handle,
}

struct Stream {
    sink: Option<Sink>,
    /// How many bytes were written so far.
    position: u64,
}

impl Writer {
    /// # Errors
    /// Outside of a runtime.
    pub(super) fn new(sink: Sink, ledger: Arc<Ledger>) -> io::Result<Self> {
        let stream = Arc::new(Mutex::new(Stream { sink: Some(sink), position: 0 }));
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        Ok(Self { stream, closing: CancellationToken::new(), ledger, runtime })
    }

    /// Closes the pipe. Whoever waits for a turn, or for the server to read on, gives up.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        if let Ok(mut stream) = timeout(PATIENCE_WITH_WRITERS, self.stream.lock()).await {
            stream.sink.take();
        }
    }

    /// How much of what was written a server that is gone can have read at most, where the system says so.
    pub(crate) async fn read_at_most(&self) -> Option<u64> {
        // Whoever writes into a pipe that nobody reads is about to notice.
        let stream = timeout(PATIENCE_WITH_WRITERS, self.stream.lock()).await.ok()?;
        let lost = stream.sink.as_ref()?.lost()?;
        Some(stream.position.saturating_sub(lost))
    }

    /// The stream, once what was written before has been read.
    async fn turn(&self) -> OwnedMutexGuard<Stream> {
        let mut stream = self.stream.clone().lock_owned().await;
        if let Some(sink) = &mut stream.sink {
            sink.was_read().await;
        }
        stream
    }

    /// The stream, where nothing is in the way.
    fn turn_at_once(&self) -> Option<OwnedMutexGuard<Stream>> {
        let mut stream = self.stream.clone().try_lock_owned().ok()?;
        let is_free = !self.closing.is_cancelled() && stream.sink.as_mut().is_some_and(Sink::is_read);
        is_free.then_some(stream)
    }

    /// Writes a message when its turn has come, unless nobody waits for it any more.
    ///
    /// # Errors
    /// Where it was not written whole.
    pub(crate) async fn write(&self, message: &TxJsonRpcMessage<RoleClient>, outgoing: Outgoing) -> io::Result<()> {
        let stream = tokio::select! {
            biased;
            () = outgoing.abandoned() => return Err(withdrawn()),
            () = self.closing.cancelled() => return Err(io::ErrorKind::BrokenPipe.into()),
            stream = self.turn() => stream,
        };
        let line = line(message)?;
        let end = stream.end_of(&line);
        if !outgoing.begin_write(Some(end)) {
            return Err(withdrawn());
        }
        self.finish(stream, &line, end, &outgoing).await
    }

    /// Writes the rest of a message that ends there.
    async fn finish(
        &self,
        mut stream: OwnedMutexGuard<Stream>,
        rest: &[u8],
        end: u64,
        outgoing: &Outgoing,
    ) -> io::Result<()> {
        let written = tokio::select! {
            biased;
            written = stream.write_all(rest) => written,
            () = self.closing.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
        };
        self.report(&stream, end, outgoing, written)
    }

    fn report(&self, stream: &Stream, end: u64, outgoing: &Outgoing, written: io::Result<()>) -> io::Result<()> {
        match written {
            Ok(()) => {
                outgoing.written();
                Ok(())
            }
            Err(error) => {
                self.ledger.stop(&Failure::not_sent(BROKEN));
                // Without its last brace no server can take it for a request.
                let broken = if stream.position.saturating_add(1) < end { Failure::not_sent } else { Failure::lost };
                let source = io::Error::from(error.kind());
                outgoing.failed(broken(BROKEN.to_owned()).with_source(source));
                Err(error)
            }
        }
    }
}

impl Direct for Arc<Writer> {
    /// What cannot be written at once is written by a task, since half of a message must not stay behind when its caller
    /// gives up.
    fn send(&self, message: TxJsonRpcMessage<RoleClient>, outgoing: Outgoing) -> Sending<'_> {
        if let Some(mut stream) = self.turn_at_once()
            && let Ok(line) = line(&message)
        {
            let end = stream.end_of(&line);
            if outgoing.begin_write(Some(end)) {
                match stream.write_at_once(&line) {
                    Ok(written) if written < line.len() => {
                        let writer = self.clone();
                        self.runtime.spawn(task(async move {
                            let rest = line.get(written..).unwrap_or_default();
                            let _ = writer.finish(stream, rest, end, &outgoing).await;
                        }));
                    }
                    written => {
                        // The ledger has it.
                        let _ = self.report(&stream, end, &outgoing, written.map(drop));
                    }
                }
            }
        } else {
            let writer = self.clone();
            self.runtime.spawn(task(async move {
                let _ = writer.write(&message, outgoing).await;
            }));
        }
        Box::pin(std::future::ready(()))
    }
}

fn line(message: &TxJsonRpcMessage<RoleClient>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn withdrawn() -> io::Error {
    io::Error::new(io::ErrorKind::Interrupted, "nobody waits for the request any more")
}

impl Stream {
    /// Where a line that is written now would end.
    fn end_of(&self, line: &[u8]) -> u64 {
        self.position.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX))
    }

    /// Writes as much of a line as there is room for, and says how much that was.
    fn write_at_once(&mut self, line: &[u8]) -> io::Result<usize> {
        let written = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_at_once(line)?;
        self.position += u64::try_from(written).unwrap_or_default();
        Ok(written)
    }

    async fn write_all(&mut self, mut rest: &[u8]) -> io::Result<()> {
        let sink = self.sink.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        sink.make_room(rest.len());
        while !rest.is_empty() {
            let written = sink.write(rest).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.position += u64::try_from(written).unwrap_or_default();
            rest = rest.get(written..).unwrap_or_default();
        }
        sink.flush().await
    }
}

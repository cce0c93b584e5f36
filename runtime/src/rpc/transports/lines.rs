//! JSON-RPC in lines: over the pipes of a child process, or over a pair of streams.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::framing::{Frame, Framer};
use super::writer::{Sink, Writer};
use crate::rpc::notes::Notes;
use crate::rpc::{Failure, Incoming, Ledger, Sides, Transport, messages};

const CLOSED: &str = "the server closed the connection";
const READ_AT_ONCE: usize = 64 * 1024;

/// The other end, besides reading and writing.
pub(crate) trait FarEnd: Send {
    /// Ends the remaining processes once the server itself has ended. Waits until then, or forever if the end cannot be
    /// detected. Cancel safe.
    fn end_with_server(&mut self) -> BoxFuture<'_, Infallible> {
        Box::pin(pending())
    }

    /// Records why the stream ended, as far as known. Cancel safe: another call records the rest.
    fn note_end<'a>(&'a mut self, _notes: &'a Notes) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// Ends the far end, after its input was closed. If the future is dropped, dropping the far end kills the rest.
    fn shut_down(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}

/// The stream that the other end writes to.
pub(crate) type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// The far end of a pair of streams, about which nothing else is known.
impl FarEnd for () {}

/// The receiving side; dropping it closes the streams.
struct LineTransport {
    far_end: Box<dyn FarEnd>,
    writer: Arc<Writer>,
    reader: BufReader<Reader>,
    framer: Framer,
    /// The notes about a server; `None` for a client.
    notes: Option<Notes>,
}

/// Returns both sides of a transport over a pair of streams: to a server with its notes, or to a client. Messages are
/// limited to `longest` bytes; longer ones are dropped.
///
/// # Errors
/// Fails outside of a runtime.
pub(crate) fn connect(
    far_end: Box<dyn FarEnd>,
    (reader, sink): (Reader, Sink),
    ledger: Arc<Ledger>,
    notes: Option<Notes>,
    longest: usize,
) -> io::Result<Sides> {
    let writer = Arc::new(Writer::new(sink, ledger)?);
    let reader = BufReader::with_capacity(READ_AT_ONCE, reader);
    let transport = LineTransport { far_end, writer: writer.clone(), reader, framer: Framer::new(longest), notes };
    Ok((writer, Box::new(transport)))
}

impl LineTransport {
    /// Handles a frame. An unreadable response of a server fails only its own request. An unreadable message of a
    /// client may be a request or a response.
    fn take(&mut self, frame: Frame) -> Option<Incoming> {
        let message = match frame {
            Frame::Noise(line) => return self.noise(&String::from_utf8_lossy(&line)),
            Frame::Object { text, id } => match (messages::parse(&text), id) {
                (Some(message), _) if messages::is_message(&message) => message,
                (None, Some(id)) if self.notes.is_some() => messages::unreadable(&id, "the response is not valid JSON"),
                _ => return self.noise(&String::from_utf8_lossy(&text)),
            },
            Frame::TooLarge { id: Some(id) } if self.notes.is_some() => {
                messages::unreadable(&id, &messages::too_large(self.framer.limit))
            }
            Frame::TooLarge { .. } => return self.noise(&messages::too_large(self.framer.limit)),
        };
        self.writer.ledger.received(message, None)
    }

    fn noise(&self, line: &str) -> Option<Incoming> {
        match &self.notes {
            Some(notes) => notes.noise_line(line),
            None => tracing::debug!("ignoring a line of the client that is not JSON-RPC"),
        }
        None
    }

    /// Reads on, and returns `false` at the end. Cancel safe.
    async fn read(&mut self) -> io::Result<bool> {
        let available = tokio::select! {
            biased;
            available = self.reader.fill_buf() => available?,
            never = self.far_end.end_with_server() => match never {},
        };
        let length = available.len();
        if length == 0 {
            return Ok(self.framer.finish());
        }
        self.framer.push(available);
        self.reader.consume(length);
        Ok(true)
    }

    /// Returns the next message. Cancel safe.
    async fn next_message(&mut self) -> Option<Incoming> {
        loop {
            while let Some(frame) = self.framer.next() {
                if let Some(incoming) = self.take(frame) {
                    return Some(incoming);
                }
            }
            match self.read().await {
                Ok(true) => {}
                Ok(false) => {
                    self.writer.ledger.stop(&Failure::not_sent(CLOSED));
                    if let Some(notes) = &self.notes {
                        self.far_end.note_end(notes).await;
                    }
                    let read = self.writer.read_at_most().await;
                    self.writer.ledger.close(&Failure::lost(CLOSED), read);
                    return None;
                }
                Err(error) => {
                    if let Some(notes) = &self.notes {
                        notes.problem(error.to_string());
                    }
                    self.writer.ledger.close(&Failure::lost(error.to_string()).with_source(error), None);
                    return None;
                }
            }
        }
    }
}

impl Drop for LineTransport {
    fn drop(&mut self) {
        self.writer.abandon();
    }
}

impl Transport for LineTransport {
    fn receive(&mut self) -> BoxFuture<'_, Option<Incoming>> {
        Box::pin(self.next_message())
    }

    fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.writer.ledger.stop(&Failure::not_sent(CLOSED));
            self.writer.close().await;
            self.far_end.shut_down().await;
            self.writer.ledger.close(&Failure::lost(CLOSED), None);
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use rmcp::model::RequestId;
    use serde_json::Map;
    use tokio::io::{AsyncReadExt, DuplexStream, duplex};

    use super::*;
    use crate::ground::redact::Redactor;
    use crate::rpc::request::Terms;
    use crate::rpc::ticket::State;
    use crate::rpc::{Message, MethodCall};

    const LONGEST: usize = 60;

    /// Returns a transport whose other side writes a text and closes its stream.
    fn opened(text: String, notes: Option<Notes>) -> (Arc<Ledger>, Sides, DuplexStream) {
        let ledger = Ledger::new(Duration::MAX, Redactor::default());
        let (sink, far_end) = duplex(4096);
        let reader: Reader = Box::new(io::Cursor::new(text.into_bytes()));
        let sides =
            connect(Box::new(()), (reader, Sink::stream(sink)), ledger.clone(), notes, LONGEST).expect("a runtime");
        (ledger, sides, far_end)
    }

    #[tokio::test]
    async fn output_that_is_no_message_is_noted_to_its_last_line() {
        let (notes, log) = (Notes::default(), r#"{"level":"info"}"#);
        let (_, (_, mut transport), _) = opened(format!("ready\n{log}\nbye"), Some(notes.clone()));
        assert!(transport.receive().await.is_none());
        assert_eq!(notes.evidence().stray_output, ["ready", log, "bye"]);
    }

    #[tokio::test]
    async fn unreadable_message_is_the_response_of_a_server_and_noise_of_a_client() {
        for (result, expected) in [
            ("tru".to_owned(), "the response is not valid JSON"),
            (format!("\"{}\"", "x".repeat(LONGEST)), "the server sent a message of more than 0 MiB"),
        ] {
            for (notes, expected) in [(Some(Notes::default()), expected), (None, CLOSED)] {
                let text = format!(r#"{{"jsonrpc":"2.0","id":0,"result":{result}}}"#);
                let (ledger, (_, mut transport), _) = opened(text, notes);
                let (id, call) = (ledger.next_id(), MethodCall::new("tools/list", Map::new()));
                let message = Message::Request { id: RequestId::Number(id), call };
                let (ticket, outgoing) = ledger.admit((id, &message), 100, Terms::default()).expect("room");
                assert!(outgoing.begin_write(None) && transport.receive().await.is_none());
                let State::Failed(failure) = ticket.state() else { panic!("{:?}", ticket.state()) };
                assert_eq!(failure.message, expected, "{result}");
            }
        }
    }

    #[tokio::test]
    async fn stream_to_the_server_ends_when_the_transport_is_closed_or_dropped() {
        for is_closed in [true, false] {
            let (_, (_sender, mut transport), mut far_end) = opened(String::new(), None);
            if is_closed {
                transport.close().await;
            } else {
                drop(transport);
            }
            let end = far_end.read(&mut [0; 8]).now_or_never().expect("at once").expect("no error");
            assert_eq!(end, 0, "{is_closed}");
        }
    }
}

//! Server-sent events, as the HTML standard reads them, within bounds.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::refusals::describe;
use crate::ground::backoff::Backoff;
use crate::rpc::messages::MAX_MESSAGE;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// The pause before a stream is opened again, unless the server asks for another.
const DEFAULT_RETRY: Duration = Duration::from_secs(1);
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The time for a response to end after the answer, so that its connection can be used again.
const PATIENCE_WITH_RESPONSES: Duration = Duration::from_secs(1);

/// The fields of an event, as far as it has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sse {
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(super) id: Option<String>,
    /// Milliseconds.
    retry: Option<u64>,
}

/// The events of a stream, over all responses that carry it.
pub(crate) struct Reader {
    response: Option<reqwest::Response>,
    until: CancellationToken,
    parser: Parser,
    /// The id of the last event, to resume after it.
    pub(super) last_event: Option<String>,
    /// The pause before the stream is opened again.
    pub(super) retry: Duration,
    /// The next pauses, since the stream last worked.
    pauses: Backoff,
    /// The time when the response arrived, if no pause came since.
    opened: Option<Instant>,
}

impl Reader {
    pub(crate) fn new(response: Option<reqwest::Response>, until: CancellationToken) -> Self {
        let (parser, pauses) = (Parser::new(MAX_MESSAGE), Backoff::new(DEFAULT_RETRY, LONGEST_PAUSE));
        Self { response, until, parser, last_event: None, retry: DEFAULT_RETRY, pauses, opened: None }
    }

    /// Returns the next event; `None` stands for one beyond the limit. Cancel safe.
    ///
    /// # Errors
    /// Fails at the end of the response or of the transport.
    pub(crate) async fn next(&mut self) -> Result<Option<Sse>, String> {
        const ENDED: &str = "the event stream ended";
        loop {
            if let Some(event) = self.parser.found.pop_front() {
                if let Some(event) = &event {
                    let retry = event.retry.map_or(self.retry, Duration::from_millis);
                    self.retry = retry.clamp(SHORTEST_RETRY, LONGEST_PAUSE);
                    self.last_event = event.id.clone().or(self.last_event.take());
                }
                self.pauses = Backoff::new(self.retry, LONGEST_PAUSE);
                return Ok(event);
            }
            let response = self.response.as_mut().ok_or(ENDED)?;
            match self.until.run_until_cancelled(response.chunk()).await {
                Some(Ok(Some(chunk))) => {
                    self.parser.push(&chunk);
                    // A flood is always ready, and others of the task want to be heard.
                    tokio::task::consume_budget().await;
                }
                Some(Err(error)) => return Err(format!("the event stream failed: {}", describe(&error))),
                Some(Ok(None)) | None => return Err(ENDED.to_owned()),
            }
        }
    }

    /// Continues with another response.
    pub(super) fn resume(&mut self, response: reqwest::Response) {
        self.response = Some(response);
        self.parser = Parser::new(MAX_MESSAGE);
        self.opened = Some(Instant::now());
    }

    /// Waits before the server's own messages are read again: each time twice as long, until an event arrives or a
    /// response lasts for long. Cancel safe.
    pub(super) async fn pause(&mut self) {
        // Such a stream worked, even without messages.
        if self.opened.take().is_some_and(|opened| opened.elapsed() > LONGEST_PAUSE) {
            self.pauses = Backoff::new(self.retry, LONGEST_PAUSE);
        }
        sleep(self.pauses.pause()).await;
    }

    /// Reads the rest of a response in the background, so that its connection can be reused. The caller does not wait.
    pub(super) fn let_end(mut self) {
        let rest = async move { while self.next().await.is_ok() {} };
        let mut rest = Box::pin(timeout(PATIENCE_WITH_RESPONSES, rest));
        // Most end with their answer.
        if rest.as_mut().now_or_never().is_none() {
            tokio::spawn(rest);
        }
    }
}

/// Reads events; how the bytes are split makes no difference.
#[derive(Default)]
struct Parser {
    limit: usize,
    /// The current line; incomplete if the event is beyond the limit.
    line: Vec<u8>,
    after_cr: bool,
    has_begun: bool,
    current: Sse,
    /// The bytes of the event so far, including those that are not kept, without comments.
    length: usize,
    /// `None` stands for an event beyond the limit.
    found: VecDeque<Option<Sse>>,
}

impl Parser {
    fn new(limit: usize) -> Self {
        Self { limit, ..Self::default() }
    }

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            if std::mem::replace(&mut self.after_cr, piece.ends_with(b"\r")) && piece == b"\n" {
                continue;
            }
            let ended = piece.strip_suffix(b"\n").or_else(|| piece.strip_suffix(b"\r"));
            let text = ended.unwrap_or(piece);
            self.length += text.len();
            if self.length <= self.limit || self.line.is_empty() {
                self.line.extend_from_slice(text);
            }
            if ended.is_some() {
                self.line_ends();
            }
        }
    }

    fn line_ends(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(BYTE_ORDER_MARK) {
            line.drain(..BYTE_ORDER_MARK.len());
        }
        if line.is_empty() {
            return self.event_ends();
        }
        if self.length > self.limit {
            return;
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.current.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.current.data = Some(value.to_owned()),
            },
            "event" => self.current.event = Some(value.to_owned()),
            "id" if !value.contains('\0') => self.current.id = Some(value.to_owned()),
            "retry" => self.current.retry = value.parse().ok().or(self.current.retry),
            // A comment only keeps the connection alive.
            "" => self.length = self.length.saturating_sub(line.len()),
            _ => {}
        }
    }

    fn event_ends(&mut self) {
        let event = std::mem::take(&mut self.current);
        let is_too_large = std::mem::take(&mut self.length) > self.limit;
        if is_too_large || event != Sse::default() {
            self.found.push_back((!is_too_large).then_some(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::{Body, Frame};
    use proptest::prelude::*;
    use tokio::sync::mpsc;

    use super::*;

    fn events(limit: usize, pieces: &[&[u8]]) -> VecDeque<Option<Sse>> {
        let mut parser = Parser::new(limit);
        pieces.iter().for_each(|piece| parser.push(piece));
        parser.found
    }

    fn message(data: &str) -> Option<Sse> {
        Some(Sse { data: Some(data.to_owned()), ..Sse::default() })
    }

    #[test]
    fn all_line_endings_are_parsed_and_unknown_fields_are_ignored() {
        let text = "\u{feff}data: a\r\ndata:b\rdata\n\n:comment\n\n\r\nid: 7\nretry: 20\nretry: x\nevent: e\nnew: 1\nodd\n\u{feff}data: x\n\ndata: cut";
        let expected = [
            message("a\nb\n"),
            Some(Sse { id: Some("7".to_owned()), retry: Some(20), event: Some("e".to_owned()), data: None }),
        ];
        assert_eq!(events(100, &[text.as_bytes()]), expected);
    }

    #[test]
    fn event_beyond_the_limit_does_not_affect_others() {
        let (long, comment) = ("x".repeat(50), "x".repeat(20));
        let text =
            format!("data: a\n\ndata: {long}\ndata: x\n\ndata: b\n\n:{comment}\n\n:{comment}\n:{comment}\ndata: c\n\n");
        let found = events(40, &[text.as_bytes()]);
        assert_eq!(found, [message("a"), None, message("b"), message("c")]);
        assert_eq!(events(7, &[b"data: a\n\n"]), [message("a")]);
        assert_eq!(events(6, &[b"data: a\n\n"]), [None]);
    }

    #[test]
    fn id_with_a_null_byte_is_ignored() {
        let expected = Sse { id: Some("7".to_owned()), ..Sse::default() };
        assert_eq!(events(100, &[b"id: 7\nid: 8\0\n\n"]), [Some(expected)]);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_until_a_response_lasts_longer_than_a_minute() {
        let mut reader = Reader::new(None, CancellationToken::new());
        for (lasted, expected) in [(0, 1), (0, 2), (60, 4), (0, 8), (0, 16), (0, 32), (0, 60), (0, 60), (61, 1), (0, 2)]
        {
            if lasted > 0 {
                reader.resume(http::Response::new("").into());
                tokio::time::advance(Duration::from_secs(lasted)).await;
            }
            let start = Instant::now();
            reader.pause().await;
            assert_eq!(start.elapsed().as_secs(), expected, "after a response of {lasted} s");
        }
    }

    /// A body whose parts arrive one by one.
    struct Arriving(mpsc::Receiver<&'static [u8]>);

    impl Body for Arriving {
        type Data = &'static [u8];
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<&'static [u8]>, Infallible>>> {
            self.0.poll_recv(context).map(|part| part.map(|part| Ok(Frame::data(part))))
        }
    }

    #[tokio::test]
    async fn rest_of_an_answered_response_is_read() {
        let (parts, body) = mpsc::channel(1);
        let response = http::Response::new(reqwest::Body::wrap(Arriving(body)));
        let mut reader = Reader::new(Some(response.into()), CancellationToken::new());
        parts.send(&b"data: answer\n\n"[..]).await.expect("it is read");
        assert_eq!(reader.next().await, Ok(message("answer")));
        reader.let_end();
        for rest in [&b": more\n"[..], b"\n", b": more\n"] {
            parts.send(rest).await.expect("it is read too");
        }
    }

    proptest! {
        #[test]
        fn events_are_independent_of_chunk_boundaries(
            text in "(data: ?[a-z]{0,9}|:[a-z]{0,3}|id: [0-9]|retry: [0-9]|[\\r\\n]|\\n\\n|\\r\\n){0,30}",
            cut in any::<proptest::sample::Index>(),
        ) {
            let bytes = text.as_bytes();
            let (a, b) = bytes.split_at(cut.index(bytes.len() + 1));
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            for limit in [12, 1000] {
                let whole = events(limit, &[bytes]);
                prop_assert_eq!(&events(limit, &[a, b]), &whole);
                prop_assert_eq!(&events(limit, &single), &whole);
            }
        }
    }
}

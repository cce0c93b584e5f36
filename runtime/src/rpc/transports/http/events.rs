//! Server-sent events, as the HTML standard reads them, within bounds.

use std::collections::VecDeque;
use std::io;

use tokio_util::sync::CancellationToken;

use super::refusals::describe;

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The fields of an event that were there.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sse {
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) id: Option<String>,
    /// Milliseconds.
    pub(crate) retry: Option<u64>,
}

/// An event, or that one was beyond the limit.
#[derive(Debug, PartialEq)]
pub(crate) enum Event {
    Whole(Sse),
    TooLarge,
}

/// The events of a response.
pub(crate) struct Reader {
    response: reqwest::Response,
    until: CancellationToken,
    parser: Parser,
}

impl Reader {
    pub(crate) fn new(response: reqwest::Response, until: CancellationToken, limit: usize) -> Self {
        Self { response, until, parser: Parser::new(limit) }
    }

    /// Returns the next event, or `None` at the end of the response or of the transport. Cancel safe.
    pub(crate) async fn next(&mut self) -> Option<io::Result<Event>> {
        loop {
            if let Some(event) = self.parser.next() {
                return Some(Ok(event));
            }
            let chunk = tokio::select! {
                biased;
                () = self.until.cancelled() => return None,
                chunk = self.response.chunk() => chunk,
            };
            match chunk {
                Ok(Some(chunk)) => {
                    self.parser.push(&chunk);
                    // A flood is always ready, and others of the task want to be heard.
                    tokio::task::consume_budget().await;
                }
                Ok(None) => return None,
                Err(error) => return Some(Err(io::Error::other(describe(&error)))),
            }
        }
    }
}

/// Reads events; how the bytes are split makes no difference.
#[derive(Default)]
struct Parser {
    limit: usize,
    line: Vec<u8>,
    /// The length of the current line, including bytes that are not kept.
    line_length: usize,
    after_cr: bool,
    is_first_line: bool,
    current: Sse,
    /// The bytes of the event so far.
    kept: usize,
    found: VecDeque<Event>,
}

impl Parser {
    fn new(limit: usize) -> Self {
        Self { limit, is_first_line: true, ..Self::default() }
    }

    fn next(&mut self) -> Option<Event> {
        self.found.pop_front()
    }

    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes.first() == Some(&b'\n') {
                bytes = bytes.get(1..).unwrap_or_default();
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            self.kept += part.len();
            self.line_length += part.len();
            if self.kept <= self.limit {
                self.line.extend_from_slice(part);
            }
            let Some(end) = end else { return };
            self.after_cr = bytes.get(end) == Some(&b'\r');
            bytes = bytes.get(end + 1..).unwrap_or_default();
            self.line_ends();
        }
    }

    fn line_ends(&mut self) {
        let line = std::mem::take(&mut self.line);
        let is_empty = std::mem::take(&mut self.line_length) == 0;
        if self.kept > self.limit && !is_empty {
            return;
        }
        let mut line = String::from_utf8_lossy(&line);
        if std::mem::take(&mut self.is_first_line)
            && let Some(rest) = line.strip_prefix(BYTE_ORDER_MARK)
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            return self.event_ends();
        }
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
            // A comment only keeps the connection alive, and is not kept.
            "" => self.kept = self.kept.saturating_sub(line.len()),
            _ => {}
        }
    }

    fn event_ends(&mut self) {
        let event = std::mem::take(&mut self.current);
        if std::mem::take(&mut self.kept) > self.limit {
            self.found.push_back(Event::TooLarge);
        } else if event != Sse::default() {
            self.found.push_back(Event::Whole(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(limit: usize, pieces: &[&[u8]]) -> Vec<Event> {
        let mut parser = Parser::new(limit);
        pieces.iter().for_each(|piece| parser.push(piece));
        std::iter::from_fn(|| parser.next()).collect()
    }

    fn message(data: &str) -> Event {
        Event::Whole(Sse { data: Some(data.to_owned()), ..Sse::default() })
    }

    #[test]
    fn all_line_endings_are_parsed_and_unknown_fields_are_ignored() {
        let text = "\u{feff}data: a\r\ndata:b\rdata\n\n:comment\n\n\r\nid: 7\nretry: 20\nretry: x\nevent: e\nnew: 1\nodd\n\ndata: cut";
        let expected = [
            message("a\nb\n"),
            Event::Whole(Sse { id: Some("7".to_owned()), retry: Some(20), event: Some("e".to_owned()), data: None }),
        ];
        assert_eq!(events(100, &[text.as_bytes()]), expected);
    }

    #[test]
    fn event_beyond_the_limit_does_not_affect_others() {
        let text =
            format!("data: a\n\ndata: {}\ndata: x\n\ndata: b\n\n:{}\n\ndata: c\n\n", "x".repeat(50), "x".repeat(20));
        let found = events(40, &[text.as_bytes()]);
        assert_eq!(found, [message("a"), Event::TooLarge, message("b"), message("c")]);
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

//! Finds JSON-RPC messages in a server's stdout.
//!
//! The protocol requires one message per line. Real servers also print banners, pretty-printed JSON, batches and
//! endless lines. Every byte is examined at most three times, and memory is bounded.

mod scanner;

use std::collections::VecDeque;

use serde_json::Value;

use self::scanner::{Scanner, Step};

/// The number of bytes of a noise line that are kept for display.
const NOISE_KEPT: usize = 2048;
/// The number of lines of noise that are kept.
const NOISY_LINES_KEPT: usize = 20;

/// The result of reading.
#[derive(Debug, PartialEq)]
pub(crate) enum Frame {
    /// The text of one JSON object, and the `id` in it.
    Object { text: Vec<u8>, id: Option<Value> },
    /// An object beyond the limit, which was not kept.
    TooLarge { id: Option<Value> },
    /// A line, or the beginning of one, that is not part of a message.
    Noise(Vec<u8>),
}

/// Finds messages; how the bytes are split makes no difference.
pub(crate) struct Framer {
    pub(super) limit: usize,
    state: State,
    /// `true` inside of a batch, whose elements are taken one by one.
    in_batch: bool,
    found: VecDeque<Frame>,
}

#[derive(Default)]
enum State {
    /// Before a message.
    #[default]
    Between,
    /// Inside a line that is not a message, of which this is kept.
    Noise(Vec<u8>),
    /// Inside a possible message.
    Object(Box<Candidate>),
}

#[derive(Default)]
struct Candidate {
    scanner: Scanner,
    text: Vec<u8>,
    /// The offset of the break before the current line; 0 in the first line.
    line: usize,
    /// `true` beyond the size limit. The content is dropped, but the end and the id are still found.
    is_too_large: bool,
}

impl Framer {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, state: State::Between, in_batch: false, found: VecDeque::new() }
    }

    /// Returns the next frame that was found.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        self.found.pop_front()
    }

    /// Processes bytes that were read.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        while let Some((taken, candidate)) = self.feed(bytes) {
            bytes = bytes.get(taken..).unwrap_or_default();
            self.give_up(candidate);
        }
    }

    /// Takes the end of the stream. Returns `true` if there are more frames.
    pub(crate) fn finish(&mut self) -> bool {
        self.in_batch = false;
        // The last line of a candidate may begin another one, which has no further line.
        while matches!(self.state, State::Object(_))
            && let State::Object(candidate) = std::mem::take(&mut self.state)
        {
            self.give_up(*candidate);
        }
        self.push(b"\n");
        !self.found.is_empty()
    }

    /// Reads until the bytes end or a candidate turns out to be no message. Returns that candidate, and the number of
    /// bytes read until that was known.
    fn feed(&mut self, bytes: &[u8]) -> Option<(usize, Candidate)> {
        let mut at = 0;
        while let Some(left @ [byte, ..]) = bytes.get(at..) {
            match &mut self.state {
                State::Between => match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                    // A byte order mark.
                    0xEF | 0xBB | 0xBF => at += 1,
                    b',' if self.in_batch => at += 1,
                    b'[' | b']' if self.in_batch == (*byte == b']') => {
                        self.in_batch = !self.in_batch;
                        at += 1;
                    }
                    b'{' => self.state = State::Object(Box::default()),
                    // `[INFO] ready` began like a batch.
                    _ if std::mem::take(&mut self.in_batch) => self.state = State::Noise(b"[".to_vec()),
                    _ => self.state = State::Noise(Vec::new()),
                },
                State::Noise(kept) => {
                    let end = memchr::memchr(b'\n', left);
                    let line = first(left, end.unwrap_or(left.len()));
                    kept.extend_from_slice(first(line, NOISE_KEPT.saturating_sub(kept.len())));
                    at += line.len();
                    if end.is_some() {
                        let kept = std::mem::take(kept);
                        self.state = State::Between;
                        self.noise(&kept);
                    }
                }
                State::Object(candidate) => {
                    let (taken, step) = candidate.take(left, self.limit);
                    at += taken;
                    if step != Step::More
                        && let State::Object(candidate) = std::mem::take(&mut self.state)
                    {
                        if step == Step::Wrong {
                            self.in_batch = false;
                            return Some((at, *candidate));
                        }
                        self.found.push_back(candidate.frame());
                    }
                }
            }
        }
        None
    }

    /// Gives up a text that only began like a message. Its first line is noise, but a later line may be a message. The
    /// line that ended the candidate is read again.
    fn give_up(&mut self, candidate: Candidate) {
        let Candidate { mut text, line, is_too_large, .. } = candidate;
        if is_too_large || line == 0 {
            text.truncate(NOISE_KEPT);
            self.state = State::Noise(text);
            return;
        }
        let last = text.split_off(line.min(text.len()));
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            if !self.alone(line) && number < NOISY_LINES_KEPT {
                self.noise(line);
            }
        }
        self.push(&last);
    }

    /// Takes a line that is a whole message. Returns `true` if it is one.
    fn alone(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        let mut candidate = Candidate::default();
        let is_message = candidate.take(line, self.limit) == (line.len(), Step::Done);
        if is_message {
            self.found.push_back(candidate.frame());
        }
        is_message
    }

    fn noise(&mut self, line: &[u8]) {
        if !line.trim_ascii().is_empty() {
            self.found.push_back(Frame::Noise(first(line, NOISE_KEPT).to_vec()));
        }
    }
}

/// Returns the first bytes, at most so many.
fn first(bytes: &[u8], most: usize) -> &[u8] {
    bytes.get(..most).unwrap_or(bytes)
}

impl Candidate {
    /// Scans bytes, and returns the number taken with the state. A byte that does not belong is not taken.
    fn take(&mut self, bytes: &[u8], limit: usize) -> (usize, Step) {
        let (taken, step) = self.scanner.take(bytes);
        let part = first(bytes, taken);
        self.is_too_large |= self.text.len() + part.len() > limit;
        if self.is_too_large {
            self.text.truncate(NOISE_KEPT);
            self.text.shrink_to(NOISE_KEPT);
            self.text.extend_from_slice(first(part, NOISE_KEPT.saturating_sub(self.text.len())));
        } else {
            if let Some(newline) = memchr::memrchr(b'\n', part) {
                self.line = self.text.len() + newline;
            }
            self.text.extend_from_slice(part);
        }
        (taken, step)
    }

    fn frame(self) -> Frame {
        let id = self.scanner.id;
        if self.is_too_large { Frame::TooLarge { id } } else { Frame::Object { text: self.text, id } }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn frames(limit: usize, pieces: &[&[u8]]) -> Vec<Frame> {
        let mut framer = Framer::new(limit);
        for piece in pieces {
            framer.push(piece);
        }
        framer.finish();
        std::iter::from_fn(|| framer.next()).collect()
    }

    /// Messages as compact JSON, and what cost its message alone.
    fn messages(text: &str) -> Vec<String> {
        let found = frames(1000, &[text.as_bytes()]).into_iter();
        found
            .filter_map(|frame| match frame {
                Frame::Object { text, .. } => {
                    Some(serde_json::from_slice::<Value>(&text).expect("it is JSON").to_string())
                }
                Frame::TooLarge { id } => Some(format!("too large: {id:?}")),
                Frame::Noise(_) => None,
            })
            .collect()
    }

    fn noise(text: &str) -> Vec<String> {
        let found = frames(1000, &[text.as_bytes()]).into_iter();
        found
            .filter_map(|frame| match frame {
                Frame::Noise(line) => Some(String::from_utf8(line).expect("it is text")),
                _ => None,
            })
            .collect()
    }

    const A: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"text":"{[\"\\"}}"#;
    const B: &str = r#"{"jsonrpc":"2.0","method":"m","params":[[],{}]}"#;

    #[test]
    fn messages_may_span_lines_form_a_batch_or_share_a_line() {
        let pretty = |text: &str| format!("{:#}", serde_json::from_str::<Value>(text).expect("it is JSON"));
        let texts = [
            format!("{A}\n{B}\n"),
            format!("{A}\r\n\r\n  {B}"),
            format!("\u{feff}{}\n{}\n", pretty(A), pretty(B)),
            format!("[{A},{B}]\n"),
            format!("[\n{A},\n{B}\n]"),
            format!("[\n  {},\n  {}\n]", pretty(A), pretty(B)),
            format!("{A}{B}"),
        ];
        for text in texts {
            assert_eq!(messages(&text), [A, B], "{text}");
            assert_eq!(noise(&text), [""; 0], "{text}");
        }
    }

    #[test]
    fn banner_does_not_lose_messages_even_if_it_resembles_json() {
        let banners = [
            "Listening on 3000",
            "[INFO] ready",
            "[2026-01-01 10:00:00] ready",
            "{ starting }",
            "{",
            "[",
            "{\"level\": \"info\",",
            "{\"level\": \"info\"",
            "{\"level",
            "{'level': 'info'}",
            "[1, 2]",
            "\u{1b}[32m{\u{1b}[0m",
            "}]",
            "] ready",
            ", ready",
            "\"text\"",
        ];
        for banner in banners {
            let text = format!("{banner}\n{A}\n{B}\n{banner}\n{A}\n");
            assert_eq!(messages(&text), [A, B, A], "{text}");
            if banner != "[" {
                assert_eq!(noise(&text), [banner, banner], "{text}");
            }
        }
        // A message inside a failed candidate appears as soon as the candidate has failed.
        assert_eq!(messages(&format!("{{\"starting\":\n{A}\n{B}\n")), [A, B]);
    }

    #[test]
    fn last_line_before_the_end_is_noise_without_its_line_break() {
        assert_eq!(noise("{\n\"level\": \"info\""), ["{", "\"level\": \"info\""]);
        let found = noise(&format!("[{{\"a\":[\n{}\"the end\"", "1,\n".repeat(NOISY_LINES_KEPT)));
        assert_eq!((found.len(), found.last().map(String::as_str)), (NOISY_LINES_KEPT + 1, Some("\"the end\"")));
    }

    #[test]
    fn noise_of_many_lines_is_cut_before_the_line_that_is_no_message() {
        let text = format!("{{\"a\":[\n{}?\n{A}\n", "1,\n".repeat(NOISY_LINES_KEPT));
        let found = noise(&text);
        assert_eq!((found.len(), found.last().map(String::as_str)), (NOISY_LINES_KEPT + 1, Some("?")));
        assert_eq!(messages(&text), [A]);
    }

    #[test]
    fn oversized_message_is_dropped_and_reported_with_its_id() {
        let large = "x".repeat(1000);
        for message in [
            json!({"id": 7, "result": large}),
            json!({"result": {"id": 8, "text": large}, "id": 7}),
            json!({"id": {"id": 1}, "result": large}),
        ] {
            let id = message.get("id").filter(|id| id.is_number());
            let text = format!("{A}\n{message}\n{B}\n");
            assert_eq!(messages(&text), [A.to_owned(), format!("too large: {id:?}"), B.to_owned()]);
        }
        assert_eq!(messages(&format!("{large}\n{A}\n")), [A]);
        assert_eq!(messages(&format!("{{\"a\":\"{large}\n{A}\n")), [A]);
        for (limit, is_kept) in [(A.len(), true), (A.len() - 1, false)] {
            let found = frames(limit, &[A.as_bytes()]);
            assert_eq!(matches!(found[..], [Frame::Object { .. }]), is_kept, "{found:?}");
        }
    }

    /// The first bytes of a text that is too large are kept, even if the limit falls between two reads.
    #[test]
    fn noise_is_independent_of_chunk_boundaries() {
        let text = concat!(r#"{"":"#, "\n", r#"[{"jsonrpc":"2.0","result":{"text":"","n":[1.5,null]},"id":0}]"#);
        for text in [text.to_owned(), format!("{{\"\":[{}", "1,\n".repeat(NOISE_KEPT))] {
            let whole = frames(60, &[text.as_bytes()]);
            for at in 0..text.len().min(200) {
                let (before, after) = text.as_bytes().split_at(at);
                assert_eq!(frames(60, &[before, after]), whole, "split at {at}");
            }
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(frames(60, &bytes), whole);
        }
    }

    #[test]
    fn flood_is_read_in_bounded_memory_and_linear_time() {
        let start = std::time::Instant::now();
        let floods: [&[u8]; 6] =
            [b"x", b"{\"a\":\n", b"{\n", b"[{\"a\":[\n", b"{\"a\":[1,\n1,\n{},\n", b"{\"a\":{}}{\"a\"\n"];
        for flood in floods {
            let piece = flood.repeat(64 * 1024 / flood.len());
            let mut framer = Framer::new(256 * 1024);
            for _ in 0..12 {
                framer.push(&piece);
                while framer.next().is_some() {}
                let kept = match &framer.state {
                    State::Between => 0,
                    State::Noise(kept) => kept.capacity(),
                    State::Object(candidate) => candidate.text.capacity(),
                };
                assert!(kept <= 1024 * 1024, "{kept} bytes are kept of {}", flood.escape_ascii());
            }
        }
        // This takes about a second if every byte is examined once, and forever if it is once for each line.
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }

    fn line() -> impl Strategy<Value = String> {
        let text = prop_oneof!["[ -~é\\n]{0,12}", "[{}\\[\\]:,\"\\\\a1 ]{0,12}"];
        let message = (0..20i64, text.clone(), any::<bool>()).prop_map(|(id, text, pretty)| {
            let message = json!({"jsonrpc": "2.0", "result": {"text": text, "n": [1.5, null]}, "id": id});
            if pretty { format!("{message:#}") } else { message.to_string() }
        });
        prop_oneof![
            message.clone(),
            text,
            proptest::collection::vec(message, 0..3).prop_map(|batch| format!("[{}]", batch.join(",\n"))),
        ]
    }

    proptest! {
        #[test]
        fn frames_are_independent_of_chunk_boundaries(
            lines in proptest::collection::vec(line(), 0..8),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
        ) {
            let text = lines.join("\n").into_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            cuts.sort_unstable();
            let mut pieces = Vec::new();
            let mut rest = text.as_slice();
            let mut begin = 0;
            for cut in cuts {
                let (piece, left) = rest.split_at(cut - begin);
                pieces.push(piece);
                (rest, begin) = (left, cut);
            }
            pieces.push(rest);
            let bytes: Vec<&[u8]> = text.chunks(1).collect();
            for limit in [60, 10_000] {
                let whole = frames(limit, &[&text]);
                prop_assert_eq!(&frames(limit, &pieces), &whole);
                prop_assert_eq!(&frames(limit, &bytes), &whole);
            }
        }

        #[test]
        fn objects_are_found_between_banner_lines(
            lines in proptest::collection::vec((line(), "[a-z(<#*=][ -~]{0,12}"), 0..6),
        ) {
            let mut text = String::new();
            let mut expected = Vec::new();
            for (line, banner) in lines {
                let Ok(value) = serde_json::from_str::<Value>(&line) else { continue };
                match value {
                    Value::Object(_) => expected.push(value.to_string()),
                    Value::Array(batch) if batch.iter().all(Value::is_object) => {
                        expected.extend(batch.iter().map(Value::to_string));
                    }
                    _ => continue,
                }
                text.push_str(&format!("{banner}\n{line}\n"));
            }
            prop_assert_eq!(messages(&text), expected);
        }
    }
}

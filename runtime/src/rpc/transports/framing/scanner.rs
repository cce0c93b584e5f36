//! Scans a JSON object byte by byte for its end, its validity and its `id`.

use serde_json::Value;

/// Deeper than any reader of messages goes.
const MAX_DEPTH: usize = 10_000;
/// Longer than an `id` is.
const MAX_ID: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The text may still become an object.
    More,
    /// It has ended.
    Done,
    /// The next byte cannot be there.
    Wrong,
}

/// The expected next token.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Next {
    #[default]
    Object,
    KeyOrEnd,
    Key,
    Colon,
    Value,
    ValueOrEnd,
    CommaOrEnd,
    /// Inside a number, `true`, `false` or `null`, which the parser of the whole text distinguishes.
    Word,
    String {
        is_key: bool,
        is_escaped: bool,
    },
}

#[derive(Default)]
pub(super) struct Scanner {
    next: Next,
    /// The byte that ends each object and array around the next token.
    ends: Vec<u8>,
    /// `true` inside a key at the top, and in the value of its `id`, which are kept.
    keeps: bool,
    kept: Vec<u8>,
    /// The object's `id`, once it was read.
    pub(super) id: Option<Value>,
}

impl Scanner {
    /// Reads on; a byte that is wrong is not counted.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Step) {
        let mut at = 0;
        while let Some(left @ [byte, ..]) = bytes.get(at..) {
            // Most bytes are inside strings.
            if let Next::String { is_escaped: false, .. } = self.next
                && !self.keeps
            {
                match memchr::memchr3(b'"', b'\\', b'\n', left) {
                    None => return (bytes.len(), Step::More),
                    Some(0) => {}
                    Some(length) => {
                        at += length;
                        continue;
                    }
                }
            }
            match self.step(*byte) {
                Step::More => at += 1,
                Step::Done => return (at + 1, Step::Done),
                Step::Wrong => return (at, Step::Wrong),
            }
        }
        (at, Step::More)
    }

    fn step(&mut self, byte: u8) -> Step {
        self.next = match (self.next, byte) {
            (Next::String { .. }, b'\n') => return Step::Wrong,
            (Next::String { is_key: true, is_escaped: false }, b'"') => {
                self.keeps &= self.kept == b"id";
                self.kept.clear();
                Next::Colon
            }
            (Next::String { is_key, is_escaped }, _) => {
                self.keep(byte);
                match byte == b'"' && !is_escaped {
                    true => self.value_ends(),
                    false => Next::String { is_key, is_escaped: byte == b'\\' && !is_escaped },
                }
            }
            (Next::Word, _) if is_word(byte) => {
                self.keep(byte);
                Next::Word
            }
            (Next::Word, _) => {
                self.next = self.value_ends();
                return self.step(byte);
            }
            (next, b' ' | b'\t' | b'\r' | b'\n') if next != Next::Object => next,
            (Next::Object | Next::Value | Next::ValueOrEnd, b'{') if self.opens(b'}') => Next::KeyOrEnd,
            (Next::Value | Next::ValueOrEnd, b'[') if self.opens(b']') => Next::ValueOrEnd,
            (Next::Value | Next::ValueOrEnd, b'"') => {
                self.keep(byte);
                Next::String { is_key: false, is_escaped: false }
            }
            (Next::Value | Next::ValueOrEnd, _) if is_word(byte) => {
                self.keep(byte);
                Next::Word
            }
            (Next::Key | Next::KeyOrEnd, b'"') => {
                self.keeps = self.ends.len() == 1;
                self.kept.clear();
                Next::String { is_key: true, is_escaped: false }
            }
            (Next::Colon, b':') => Next::Value,
            (Next::CommaOrEnd, b',') if self.ends.last() == Some(&b'}') => Next::Key,
            (Next::CommaOrEnd, b',') => Next::Value,
            (Next::KeyOrEnd | Next::ValueOrEnd | Next::CommaOrEnd, _) if self.ends.last() == Some(&byte) => {
                self.ends.pop();
                Next::CommaOrEnd
            }
            _ => return Step::Wrong,
        };
        if self.ends.is_empty() { Step::Done } else { Step::More }
    }

    /// Begins an object or an array, unless it is too deep. An `id` that is one is invalid.
    fn opens(&mut self, end: u8) -> bool {
        self.keeps = false;
        self.ends.push(end);
        self.ends.len() <= MAX_DEPTH
    }

    fn value_ends(&mut self) -> Next {
        if self.keeps {
            self.id = std::str::from_utf8(&self.kept).ok().and_then(|id| serde_json::from_str(id).ok());
        }
        self.keeps = false;
        Next::CommaOrEnd
    }

    fn keep(&mut self, byte: u8) {
        if self.keeps && self.kept.len() < MAX_ID {
            self.kept.push(byte);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_begins_with_its_brace() {
        assert_eq!(Scanner::default().take(b"{}"), (2, Step::Done));
        assert_eq!(Scanner::default().take(b" {}"), (0, Step::Wrong));
    }

    #[test]
    fn longest_kept_id_has_256_bytes() {
        for (length, is_kept) in [(254, true), (255, false), (300, false)] {
            let (id, mut scanner) = ("x".repeat(length), Scanner::default());
            scanner.take(format!("{{\"id\":\"{id}\"}}").as_bytes());
            assert_eq!(scanner.id, is_kept.then(|| Value::from(id)));
        }
    }
}

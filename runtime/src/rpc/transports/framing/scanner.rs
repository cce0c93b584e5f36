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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Container {
    Object,
    Array,
}

/// The member at the top that is being read.
#[derive(Default, PartialEq, Eq)]
enum Member {
    #[default]
    Other,
    Key,
    Id,
}

#[derive(Default)]
pub(super) struct Scanner {
    next: Next,
    within: Vec<Container>,
    member: Member,
    /// The key at the top, or the `id`, as far as it was read.
    kept: Vec<u8>,
    id: Option<Value>,
}

impl Scanner {
    /// Reads on; a byte that is wrong is not counted.
    pub(super) fn take(&mut self, bytes: &[u8]) -> (usize, Step) {
        let mut at = 0;
        while let Some(byte) = bytes.get(at).copied() {
            // Most bytes are inside strings.
            if let Next::String { is_escaped: false, .. } = self.next
                && self.member == Member::Other
            {
                let left = bytes.get(at..).unwrap_or_default();
                match memchr::memchr3(b'"', b'\\', b'\n', left) {
                    None => return (bytes.len(), Step::More),
                    Some(0) => {}
                    Some(length) => {
                        at += length;
                        continue;
                    }
                }
            }
            match self.step(byte) {
                Step::More => at += 1,
                Step::Done => return (at + 1, Step::Done),
                Step::Wrong => return (at, Step::Wrong),
            }
        }
        (at, Step::More)
    }

    /// Returns the object's `id`, once it was read.
    pub(super) fn id(&mut self) -> Option<Value> {
        self.id.take()
    }

    fn step(&mut self, byte: u8) -> Step {
        if let Next::String { is_key, is_escaped } = self.next {
            return self.in_string(byte, is_key, is_escaped);
        }
        if self.next == Next::Word {
            if is_word(byte) {
                self.keep(byte);
                return Step::More;
            }
            self.value_ends();
        }
        match (self.next, byte) {
            (_, b' ' | b'\t' | b'\r' | b'\n') if self.next != Next::Object => Step::More,
            (Next::Object | Next::Value | Next::ValueOrEnd, b'{') => self.open(Container::Object, Next::KeyOrEnd),
            (Next::Value | Next::ValueOrEnd, b'[') => self.open(Container::Array, Next::ValueOrEnd),
            (Next::Key | Next::KeyOrEnd, b'"') => {
                if self.within.len() == 1 {
                    self.member = Member::Key;
                    self.kept.clear();
                }
                self.next = Next::String { is_key: true, is_escaped: false };
                Step::More
            }
            (Next::Value | Next::ValueOrEnd, b'"') => {
                self.keep(byte);
                self.next = Next::String { is_key: false, is_escaped: false };
                Step::More
            }
            (Next::Value | Next::ValueOrEnd, _) if is_word(byte) => {
                self.keep(byte);
                self.next = Next::Word;
                Step::More
            }
            (Next::Colon, b':') => {
                self.next = Next::Value;
                Step::More
            }
            (Next::CommaOrEnd, b',') => {
                self.next = if self.within.last() == Some(&Container::Object) { Next::Key } else { Next::Value };
                Step::More
            }
            (Next::KeyOrEnd, b'}') => self.close(Container::Object),
            (Next::ValueOrEnd, b']') => self.close(Container::Array),
            (Next::CommaOrEnd, b'}') => self.close(Container::Object),
            (Next::CommaOrEnd, b']') => self.close(Container::Array),
            _ => Step::Wrong,
        }
    }

    fn in_string(&mut self, byte: u8, is_key: bool, is_escaped: bool) -> Step {
        match byte {
            b'\n' => return Step::Wrong,
            b'"' if !is_escaped => {
                if is_key {
                    self.key_ends();
                } else {
                    self.keep(byte);
                    self.value_ends();
                }
                return Step::More;
            }
            _ => self.keep(byte),
        }
        self.next = Next::String { is_key, is_escaped: byte == b'\\' && !is_escaped };
        Step::More
    }

    fn open(&mut self, container: Container, next: Next) -> Step {
        if self.within.len() == MAX_DEPTH {
            return Step::Wrong;
        }
        // An `id` that is an object or an array is invalid.
        self.member = Member::Other;
        self.within.push(container);
        self.next = next;
        Step::More
    }

    fn close(&mut self, container: Container) -> Step {
        if self.within.pop() != Some(container) {
            return Step::Wrong;
        }
        self.next = Next::CommaOrEnd;
        if self.within.is_empty() { Step::Done } else { Step::More }
    }

    fn key_ends(&mut self) {
        if self.member == Member::Key {
            self.member = if self.kept == b"id" { Member::Id } else { Member::Other };
            self.kept.clear();
        }
        self.next = Next::Colon;
    }

    fn value_ends(&mut self) {
        if self.member == Member::Id {
            self.id = serde_json::from_slice(&self.kept).ok();
        }
        self.member = Member::Other;
        self.next = Next::CommaOrEnd;
    }

    fn keep(&mut self, byte: u8) {
        if self.member != Member::Other && self.kept.len() < MAX_ID {
            self.kept.push(byte);
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

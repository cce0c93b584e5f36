//! The position of the reader in the text.

use crate::fault::{Fault, Place};

/// A place in a text, and what comes after it. Moves forward only, so that lines are counted once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'t> {
    text: &'t str,
    offset: usize,
    place: Place,
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, offset: 0, place: Place { line: 1, column: 1 } }
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn rest(&self) -> &'t str {
        self.text.get(self.offset..).unwrap_or_default()
    }

    /// Returns the text between a place before this one and this one.
    pub(crate) fn since(&self, start: usize) -> &'t str {
        self.text.get(start..self.offset).unwrap_or_default()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.offset >= self.text.len()
    }

    /// Returns the byte that is `ahead` bytes from here.
    pub(crate) fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.offset + ahead).copied()
    }

    pub(crate) fn char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(crate) fn is_at(&self, expected: &str) -> bool {
        self.rest().starts_with(expected)
    }

    /// Goes on by this many bytes, and gives them.
    pub(crate) fn advance(&mut self, bytes: usize) -> &'t str {
        let passed = self.rest().get(..bytes).unwrap_or(self.rest());
        for byte in passed.bytes() {
            match byte {
                b'\n' => self.place = Place { line: self.place.line + 1, column: 1 },
                // The second and later bytes of a character.
                0x80..=0xbf => {}
                _ => self.place.column += 1,
            }
        }
        self.offset += passed.len();
        passed
    }

    pub(crate) fn eat(&mut self, expected: &str) -> bool {
        let is_there = self.is_at(expected);
        if is_there {
            self.advance(expected.len());
        }
        is_there
    }

    pub(crate) fn skip_space(&mut self) {
        self.take_while(char::is_whitespace);
    }

    pub(crate) fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        self.advance(rest.find(|c| !belongs(c)).unwrap_or(rest.len()))
    }

    /// Says something about this place.
    pub(crate) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.place, message)
    }

    /// Describes the text at the cursor, for a message.
    pub(crate) fn seen(&self) -> String {
        self.char()
            .map_or_else(|| "the end".to_owned(), |c| format!("`{}`", mcp_bindgen_model::printable(&c.to_string())))
    }
}

//! From a JSON pointer to a place in the text.

use serde_json::Value;

use crate::text::line_and_column;

/// Finds the line and column, from 1, of the value at a JSON pointer (RFC 6901), or of its key if it has one.
///
/// Returns `None` if the pointer names nothing or the text before it is not JSON. Does not recurse.
///
/// ```
/// let text = "{\n  \"tools\": [\n    { \"name\": \"a\" }\n  ]\n}\n";
/// assert_eq!(mcp_bindgen_model::locate(text, "/tools/0/name"), Some((3, 7)));
/// assert_eq!(mcp_bindgen_model::locate(text, "/tools/0"), Some((3, 5)));
/// assert_eq!(mcp_bindgen_model::locate(text, "/tools/1"), None);
/// ```
pub fn locate(text: &str, pointer: &str) -> Option<(usize, usize)> {
    let mut scanner = Scanner::new(text);
    scanner.skip_space();
    let mut found = scanner.position;
    if !pointer.is_empty() {
        for segment in pointer.strip_prefix('/')?.split('/') {
            found = scanner.enter(&pointer_key(segment))?;
        }
    }
    scanner.peek()?;
    Some(line_and_column(text, found))
}

/// Escapes a key as a segment of a JSON pointer (RFC 6901, section 3).
///
/// ```
/// assert_eq!(mcp_bindgen_model::pointer_segment("a/b~c"), "a~1b~0c");
/// ```
#[must_use]
pub fn pointer_segment(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Returns the key of a segment of a JSON pointer: the inverse of [`pointer_segment`].
///
/// ```
/// assert_eq!(mcp_bindgen_model::pointer_key("a~1b~0c"), "a/b~c");
/// ```
#[must_use]
pub fn pointer_key(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// Moves through JSON, which may be broken.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    pub(crate) position: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.position += 1;
        }
    }

    fn take(&mut self, expected: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == expected).then(|| self.position += 1)
    }

    /// Moves to the member or element of a segment, and returns the offset to point at.
    fn enter(&mut self, segment: &str) -> Option<usize> {
        self.skip_space();
        let is_object = self.peek()? == b'{';
        self.take(if is_object { b'{' } else { b'[' })?;
        // The elements of a list before the wanted one.
        let mut before: usize = if is_object { 0 } else { segment.parse().ok()? };
        // The last of two members with one name counts, as in the parser.
        let mut found = None;
        loop {
            self.skip_space();
            let at = self.position;
            match self.peek()? {
                b'}' | b']' => break,
                _ if is_object => {
                    let key = self.string()?;
                    self.take(b':')?;
                    self.skip_space();
                    if key == segment {
                        found = Some((at, self.position));
                    }
                }
                _ if before == 0 => return Some(at),
                _ => before -= 1,
            }
            self.skip_value()?;
            self.skip_space();
            match self.peek()? {
                b',' => self.position += 1,
                _ => break,
            }
        }
        let (key_at, value_at) = found?;
        self.position = value_at;
        Some(key_at)
    }

    fn string(&mut self) -> Option<String> {
        let start = self.position;
        self.skip_string()?;
        self.text.get(start..self.position)?.parse::<Value>().ok()?.as_str().map(str::to_owned)
    }

    fn skip_string(&mut self) -> Option<()> {
        self.take(b'"')?;
        loop {
            let byte = self.peek()?;
            self.position += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.position += 1,
                _ => {}
            }
        }
    }

    pub(crate) fn skip_value(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            self.skip_space();
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => {
                    depth += 1;
                    self.position += 1;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.position += 1;
                }
                b',' | b':' if depth > 0 => self.position += 1,
                b',' | b':' => return None,
                _ => self.skip_scalar(),
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Moves past a number or a word.
    pub(crate) fn skip_scalar(&mut self) {
        while self.peek().is_some_and(|byte| !b"{}[],:\" \t\r\n".contains(&byte)) {
            self.position += 1;
        }
    }
}

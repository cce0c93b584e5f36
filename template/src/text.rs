//! Texts between quotes, and names with expressions in them.

use crate::ast::{Part, Text};
use crate::code::code;
use crate::cursor::Cursor;
use crate::fault::Fault;
use crate::words::is_word;

/// Parses a quoted text; the cursor starts at its quote.
pub(crate) fn quoted(cursor: &mut Cursor<'_>) -> Result<Text, Fault> {
    let opened = *cursor;
    cursor.advance(1);
    let mut text = Parts::default();
    loop {
        let unclosed =
            || opened.fault("the string is not closed on its line: add `\"`, and write `\\n` for a line break");
        match cursor.byte(0) {
            None | Some(b'\n' | b'\r') => return Err(unclosed()),
            Some(b'"') => {
                cursor.advance(1);
                return Ok(text.finish());
            }
            Some(b'\\') => text.literal.push(escape(cursor)?),
            Some(b'{') if cursor.byte(1) == Some(b'{') => text.expression(part(cursor)?),
            Some(b'{') if cursor.byte(1) == Some(b'%') => {
                return Err(cursor.fault(
                    "a string cannot contain statements: write `{{ a if x else b }}`, or `{\\u0025` for these two \
                     characters",
                ));
            }
            Some(byte) if byte < 0x20 => {
                return Err(cursor.fault(format!("write this character as `\\u{byte:04x}` in a string")));
            }
            Some(b'{') => text.literal.push_str(cursor.advance(1)),
            Some(_) => text.literal.push_str(cursor.take_while(|c| !matches!(c, '"' | '\\' | '{' | '\0'..='\x1f'))),
        }
    }
}

/// Parses the name of a result: words with expressions in between.
pub(crate) fn name(cursor: &mut Cursor<'_>) -> Result<Text, Fault> {
    let mut text = Parts::default();
    loop {
        let word = cursor.take_while(is_word);
        text.literal.push_str(word);
        if cursor.is_at("{{") {
            text.expression(part(cursor)?);
        } else if word.is_empty() {
            return Ok(text.finish());
        }
    }
}

/// Parses `{{ .. }}` in a text.
fn part(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let opened = *cursor;
    cursor.advance(2);
    let is_signed = matches!(cursor.byte(0), Some(b'-' | b'+'));
    let code = code(cursor, &opened, "}}")?;
    if is_signed || code.end_sign.is_some() {
        return Err(
            opened.fault("whitespace control is not supported in a string: write `{{ .. }}` without `-` and `+`")
        );
    }
    let inner = code.inner.trim();
    if inner.is_empty() {
        return Err(opened.fault("expected an expression between `{{` and `}}`"));
    }
    Ok(inner.to_owned())
}

#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
    literal: String,
}

impl Parts {
    fn expression(&mut self, code: String) {
        self.flush();
        self.parts.push(Part::Expression(code));
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Literal(std::mem::take(&mut self.literal)));
        }
    }

    fn finish(mut self) -> Text {
        self.flush();
        Text { parts: self.parts }
    }
}

/// Parses an escape of JSON (RFC 8259, section 7): `\n`, `\u0061`, or two of those for a surrogate pair.
fn escape(cursor: &mut Cursor<'_>) -> Result<char, Fault> {
    for length in [2, 6, 12] {
        let escape = cursor.rest().get(..length).unwrap_or_default();
        if let Ok(text) = serde_json::from_str::<String>(&format!("\"{escape}\""))
            && let Some(char) = text.chars().next()
        {
            cursor.advance(length);
            return Ok(char);
        }
    }
    Err(cursor.fault(match cursor.is_at("\\u") {
        true => "expected four hexadecimal digits after `\\u`, and a second escape for a surrogate pair",
        false => "invalid escape: write a backslash as `\\\\`",
    }))
}

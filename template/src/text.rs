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
    let mut parts = Vec::new();
    loop {
        match cursor.byte(0) {
            None | Some(b'\n' | b'\r') => {
                let message = "the string is not closed on its line: add `\"`, and write `\\n` for a line break";
                return Err(opened.fault(message));
            }
            Some(b'"') => {
                cursor.advance(1);
                return Ok(Text { parts });
            }
            Some(b'\\') => add(&mut parts, &escape(cursor)?),
            Some(b'{') if cursor.byte(1) == Some(b'{') => parts.push(part(cursor)?),
            Some(b'{') if cursor.byte(1) == Some(b'%') => {
                return Err(cursor.fault(
                    "a string cannot contain statements: write `{{ a if x else b }}`, or `{\\u0025` for these two \
                     characters",
                ));
            }
            Some(byte) if byte < 0x20 => {
                return Err(cursor.fault(format!("write this character as `\\u{byte:04x}` in a string")));
            }
            Some(b'{') => add(&mut parts, cursor.advance(1)),
            Some(_) => add(&mut parts, cursor.take_while(|c| !matches!(c, '"' | '\\' | '{' | '\0'..='\x1f'))),
        }
    }
}

/// Parses the name of a result: words with expressions in between.
pub(crate) fn name(cursor: &mut Cursor<'_>) -> Result<Text, Fault> {
    let mut parts = Vec::new();
    loop {
        let word = cursor.take_while(is_word);
        add(&mut parts, word);
        if cursor.is_at("{{") {
            parts.push(part(cursor)?);
        } else if word.is_empty() {
            return Ok(Text { parts });
        }
    }
}

/// Parses `{{ .. }}` in a text.
fn part(cursor: &mut Cursor<'_>) -> Result<Part, Fault> {
    let opened = *cursor;
    let code = code(cursor, "}}")?;
    let inner = code.inner.trim();
    if code.signs != [None; 2] {
        let message = "whitespace control is not supported in a string: write `{{ .. }}` without `-` and `+`";
        return Err(opened.fault(message));
    }
    if inner.is_empty() {
        return Err(opened.fault("expected an expression between `{{` and `}}`"));
    }
    Ok(Part::Expression(inner.to_owned()))
}

/// Adds literal text to the parts.
fn add(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        Some(Part::Literal(literal)) => literal.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Literal(text.to_owned())),
    }
}

/// Parses an escape of JSON (RFC 8259, section 7): `\n`, `\u0061`, or two of those for a surrogate pair.
fn escape(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    for length in [2, 6, 12] {
        let escape = cursor.rest().get(..length).unwrap_or_default();
        let text = serde_json::from_str::<String>(&format!("\"{escape}\"")).unwrap_or_default();
        if !text.is_empty() {
            cursor.advance(length);
            return Ok(text);
        }
    }
    Err(cursor.fault(match cursor.is_at("\\u") {
        true => "expected four hexadecimal digits after `\\u`, and a second escape for a surrogate pair",
        false => "invalid escape: write a backslash as `\\\\`",
    }))
}

//! Scans minijinja code for its end, and for characters that minijinja does not accept.

use crate::cursor::Cursor;
use crate::fault::Fault;
use crate::words::{is_word, quoted_length};

/// The text between an opening and a closing brace.
pub(crate) struct Code<'t> {
    /// Without the signs that control white space.
    pub(crate) inner: &'t str,
    /// `-` or `+` before the end.
    pub(crate) end_sign: Option<u8>,
}

/// Returns the code up to the end of `{{` or `{%`: `}}`, `%}`, as minijinja sees it, past strings and brackets. The
/// cursor starts after the opening braces. If the end is missing, the cursor moves to the end of the text.
pub(crate) fn code<'t>(cursor: &mut Cursor<'t>, opened: &Cursor<'t>, end: &str) -> Result<Code<'t>, Fault> {
    let opener = opened.rest().get(..2).unwrap_or_default();
    let unclosed = || opened.fault(format!("`{opener}` is not closed: write `{end}`"));
    let start = cursor.offset();
    let mut brackets = Vec::new();
    let mut fault = None;
    loop {
        let Some(byte) = cursor.byte(0) else { return Err(fault.unwrap_or_else(unclosed)) };
        if brackets.is_empty() {
            let sign = matches!(byte, b'-' | b'+') && cursor.rest().get(1..).is_some_and(|rest| rest.starts_with(end));
            if sign || cursor.is_at(end) {
                let inner = cursor.since(start);
                cursor.advance(end.len() + usize::from(sign));
                return fault.map_or(Ok(Code { inner, end_sign: sign.then_some(byte) }), Err);
            }
        }
        if let Err(first) = token(cursor, &mut brackets) {
            let Some(first) = first else { return Err(fault.unwrap_or_else(unclosed)) };
            fault.get_or_insert(first);
        }
    }
}

/// Parses an expression in an argument, up to a comma or an unmatched bracket.
pub(crate) fn expression<'t>(cursor: &mut Cursor<'t>, slot: &Cursor<'t>) -> Result<&'t str, Fault> {
    let start = cursor.offset();
    let mut brackets = Vec::new();
    while let Some(byte) = cursor.byte(0) {
        if brackets.is_empty() {
            match byte {
                b',' | b']' | b')' | b'}' => break,
                b'=' | b'!' | b'<' | b'>' if cursor.byte(1) == Some(b'=') => {
                    cursor.advance(2);
                    continue;
                }
                b'=' => return Err(cursor.fault("missing comma before this argument; use `==` to compare")),
                _ => {}
            }
        }
        token(cursor, &mut brackets).map_err(|fault| fault.unwrap_or_else(|| unclosed(slot)))?;
    }
    if cursor.is_at_end() {
        return Err(unclosed(slot));
    }
    Ok(cursor.since(start).trim_end())
}

/// Describes a slot that goes on to the end of the text.
pub(crate) fn unclosed(slot: &Cursor<'_>) -> Fault {
    slot.fault("`[[` is not closed: write `]]`, or `[[[[` for the characters `[[`")
}

/// Passes one token. `None` as the error: a text in it does not end.
fn token(cursor: &mut Cursor<'_>, brackets: &mut Vec<u8>) -> Result<(), Option<Fault>> {
    let Some(byte) = cursor.byte(0) else { return Ok(()) };
    match byte {
        b'"' | b'\'' => {
            let length = quoted_length(cursor.rest());
            cursor.advance(length.unwrap_or(cursor.rest().len()));
            return length.map(drop).ok_or(None);
        }
        b'[' if looks_like_slot(cursor.rest()) => {
            let fault = cursor.fault(
                "a slot is not allowed here: put it in the text and use its variable; a nested list is written `[ \
                 [..] ]`",
            );
            brackets.push(b']');
            cursor.advance(1);
            return Err(Some(fault));
        }
        b'[' => brackets.push(b']'),
        b'(' => brackets.push(b')'),
        b'{' => brackets.push(b'}'),
        b']' | b')' | b'}' if brackets.last() == Some(&byte) => drop(brackets.pop()),
        b']' | b')' | b'}' => {
            let wanted = brackets.last().map_or_else(String::new, |wanted| format!(": `{}` is open", opening(*wanted)));
            let fault = cursor.fault(format!("unexpected `{}`{wanted}", char::from(byte)));
            cursor.advance(1);
            return Err(Some(fault));
        }
        b'!' if cursor.byte(1) != Some(b'=') => return Err(Some(unexpected(cursor))),
        _ if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"_+-*/%.,:~|=><!".contains(&byte) => {}
        _ => return Err(Some(unexpected(cursor))),
    }
    cursor.advance(1);
    Ok(())
}

fn unexpected(cursor: &mut Cursor<'_>) -> Fault {
    let fault = cursor.fault(format!("unexpected {} in an expression", cursor.seen()));
    cursor.skip_char();
    fault
}

fn opening(closing: u8) -> char {
    match closing {
        b']' => '[',
        b')' => '(',
        _ => '{',
    }
}

/// Returns `true` if `[[` begins a slot rather than a list inside a list.
pub(crate) fn looks_like_slot(text: &str) -> bool {
    let Some(body) = text.strip_prefix("[[").map(str::trim_start) else { return false };
    let length = body.find(|c: char| !is_word(c)).unwrap_or(body.len());
    let Some((name, after)) = body.split_at_checked(length) else { return false };
    let after = after.trim_start();
    body.starts_with('@')
        || (name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && (after.starts_with("]]") || after.starts_with(':') || after.starts_with('|')))
}

//! Scans minijinja code for its end, and for characters that minijinja does not accept.

use crate::cursor::Cursor;
use crate::fault::Fault;
use crate::words::{is_word, quoted_length};

/// The text between an opening and a closing brace.
pub(crate) struct Code<'t> {
    /// With the braces.
    pub(crate) whole: &'t str,
    /// Without the braces and the signs that control white space.
    pub(crate) inner: &'t str,
    /// `-` or `+` after the opening braces, and before the closing ones.
    pub(crate) signs: [Option<u8>; 2],
}

/// Returns the code up to the end of `{{` or `{%`: `}}`, `%}`, as minijinja sees it, past strings and brackets. The
/// cursor starts at the opening braces. If the end is missing, the cursor moves to the end of the text.
pub(crate) fn code<'t>(cursor: &mut Cursor<'t>, end: &str) -> Result<Code<'t>, Fault> {
    let opened = *cursor;
    let opener = cursor.advance(2);
    let sign = |cursor: &Cursor<'t>| cursor.byte(0).filter(|byte| matches!(byte, b'-' | b'+'));
    let before = sign(cursor);
    cursor.advance(usize::from(before.is_some()));
    let start = cursor.offset();
    let (mut brackets, mut fault) = (Vec::new(), None);
    while !cursor.is_at_end() {
        if brackets.is_empty() {
            let after = sign(cursor).filter(|_| cursor.rest().get(1..).is_some_and(|rest| rest.starts_with(end)));
            if after.is_some() || cursor.is_at(end) {
                let inner = cursor.since(start);
                cursor.advance(end.len() + usize::from(after.is_some()));
                let code = Code { whole: cursor.since(opened.offset()), inner, signs: [before, after] };
                return fault.map_or(Ok(code), Err);
            }
        }
        if let Err(first) = token(cursor, &mut brackets) {
            fault.get_or_insert(first);
        }
    }
    Err(fault.unwrap_or_else(|| opened.fault(format!("`{opener}` is not closed: write `{end}`"))))
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
        token(cursor, &mut brackets)?;
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

/// Passes one token, and keeps the open `brackets`. A text that does not end goes on to the end of the cursor's text.
fn token(cursor: &mut Cursor<'_>, brackets: &mut Vec<u8>) -> Result<(), Fault> {
    let rest = cursor.rest();
    let Some(byte) = cursor.byte(0) else { return Ok(()) };
    let mut length = 1;
    let message = match byte {
        b'"' | b'\'' => {
            length = quoted_length(rest).unwrap_or(rest.len());
            None
        }
        b'[' | b'(' | b'{' => {
            brackets.push(byte);
            looks_like_slot(rest).then(|| {
                "a slot is not allowed here: put it in the text and use its variable; a nested list is written `[ \
                 [..] ]`"
                    .to_owned()
            })
        }
        b']' | b')' | b'}' => match brackets.last().copied() {
            Some(open) if matches!([open, byte], [b'[', b']'] | [b'(', b')'] | [b'{', b'}']) => {
                brackets.pop();
                None
            }
            open => {
                let open = open.map_or_else(String::new, |open| format!(": `{}` is open", char::from(open)));
                Some(format!("unexpected `{}`{open}", char::from(byte)))
            }
        },
        b'!' if cursor.byte(1) == Some(b'=') => None,
        _ if byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"_+-*/%.,:~|=><".contains(&byte) => None,
        _ => {
            length = cursor.char().map_or(1, char::len_utf8);
            Some(format!("unexpected {} in an expression", cursor.seen()))
        }
    };
    let fault = message.map(|message| cursor.fault(message));
    cursor.advance(length);
    fault.map_or(Ok(()), Err)
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

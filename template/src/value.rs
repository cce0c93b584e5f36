//! Values that are written down.

use serde_json::Value;

use crate::ast::Term;
use crate::code::{expression, unclosed};
use crate::cursor::Cursor;
use crate::fault::Fault;
use crate::text::quoted;
use crate::words::is_word;

/// Lists and objects in each other.
const DEEPEST: usize = 64;

/// Parses a value.
pub(crate) fn term<'t>(cursor: &mut Cursor<'t>, slot: &Cursor<'t>, depth: usize) -> Result<Term, Fault> {
    if depth > DEEPEST {
        return Err(cursor.fault(format!("lists and objects are nested more than {DEEPEST} levels deep")));
    }
    let value = match cursor.byte(0) {
        None => return Err(unclosed(slot)),
        Some(b'"') => Term::Text(quoted(cursor)?),
        Some(b'[') => {
            let mut items = Vec::new();
            members(cursor, slot, "]", |cursor| {
                items.push(term(cursor, slot, depth + 1)?);
                Ok(())
            })?;
            Term::List(items)
        }
        Some(b'{') if cursor.byte(1) == Some(b'{') => {
            return Err(cursor.fault(
                "remove the braces around the variable: write `key=name`, or `key=\"{{ name }}\"` for \
                              its text",
            ));
        }
        Some(b'{') => object(cursor, slot, depth)?,
        Some(b'0'..=b'9' | b'-' | b'+' | b'.') => number(cursor)?,
        Some(b'\'') => return Err(cursor.fault("use double quotes for strings")),
        Some(_) => return variable(cursor, slot),
    };
    let after = *cursor;
    cursor.skip_space();
    match cursor.byte(0) {
        Some(b'|' | b'~' | b'+' | b'-' | b'*' | b'/' | b'%' | b'.' | b'<' | b'>' | b'=' | b'!') => Err(cursor
            .fault("an expression cannot begin with a value: put it in parentheses, or in `{{ .. }}` in a string")),
        _ => {
            *cursor = after;
            Ok(value)
        }
    }
}

fn variable<'t>(cursor: &mut Cursor<'t>, slot: &Cursor<'t>) -> Result<Term, Fault> {
    let start = *cursor;
    let code = expression(cursor, slot)?;
    Ok(match code {
        "" => return Err(start.fault(format!("expected a value, found {}", start.seen()))),
        // The spellings of minijinja are accepted too.
        "true" | "True" => Term::Literal(Value::Bool(true)),
        "false" | "False" => Term::Literal(Value::Bool(false)),
        "null" | "none" | "None" => Term::Literal(Value::Null),
        _ => Term::Variable(code.to_owned()),
    })
}

/// Parses a number of JSON (RFC 8259, section 6).
fn number(cursor: &mut Cursor<'_>) -> Result<Term, Fault> {
    let start = *cursor;
    let rest = cursor.rest();
    let is_part = |(index, byte): (usize, u8)| {
        let before = index.checked_sub(1).and_then(|index| rest.as_bytes().get(index));
        let signs_exponent = matches!(byte, b'-' | b'+') && matches!(before, Some(b'e' | b'E'));
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_') || signs_exponent || index == 0
    };
    let length = rest.bytes().enumerate().take_while(|place| is_part(*place)).count();
    let digits = cursor.advance(length);
    let fault = |what: &str| Err(start.fault(format!("`{}` is {what}", mcp_bindgen_model::printable(digits))));
    // In JSON that is a double.
    if digits == "-0" {
        return Ok(Term::Literal(Value::from(0)));
    }
    match serde_json::from_str::<Value>(digits) {
        Ok(Value::Number(number)) => {
            let is_whole = !digits.contains(['.', 'e', 'E']);
            if is_whole && !number.is_i64() && !number.is_u64() {
                return fault(
                    "beyond 64 bits, and would not be sent as it is written: write it as a text, or with an exponent",
                );
            }
            // With serde_json's feature `arbitrary_precision`.
            if number.as_f64().is_none_or(f64::is_infinite) {
                return fault("larger than any number of 64 bits");
            }
            Ok(Term::Literal(Value::Number(number)))
        }
        _ => fault("no number of JSON: `-1`, `0.5`, `1e9` are; a text stands between double quotes"),
    }
}

fn object<'t>(cursor: &mut Cursor<'t>, slot: &Cursor<'t>, depth: usize) -> Result<Term, Fault> {
    let mut fields: Vec<(String, Term)> = Vec::new();
    let mut known = std::collections::HashSet::new();
    members(cursor, slot, "}", |cursor| {
        let at = *cursor;
        if cursor.byte(0) != Some(b'"') {
            return Err(cursor.fault(format!("expected a key in double quotes, found {}", cursor.seen())));
        }
        let key = key(cursor)?;
        if !known.insert(key.clone()) {
            return Err(at.fault(format!("duplicate `{key}`")));
        }
        cursor.skip_space();
        if !cursor.eat(":") {
            return Err(expected(cursor, slot, "`:`"));
        }
        cursor.skip_space();
        fields.push((key, term(cursor, slot, depth + 1)?));
        Ok(())
    })?;
    Ok(Term::Object(fields))
}

/// Reads the members between two brackets, with commas in between, and optionally after the last.
fn members<'t>(
    cursor: &mut Cursor<'t>,
    slot: &Cursor<'t>,
    end: &str,
    mut member: impl FnMut(&mut Cursor<'t>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    cursor.advance(1);
    loop {
        cursor.skip_space();
        if cursor.eat(end) {
            return Ok(());
        }
        member(cursor)?;
        cursor.skip_space();
        if !cursor.eat(",") && !cursor.is_at(end) {
            return Err(expected(cursor, slot, &format!("`,` or `{end}`")));
        }
    }
}

/// Parses a quoted key without expressions.
pub(crate) fn key(cursor: &mut Cursor<'_>) -> Result<String, Fault> {
    let at = *cursor;
    let text = quoted(cursor)?;
    text.plain().map(str::to_owned).ok_or_else(|| at.fault("a key cannot contain expressions"))
}

/// Describes the difference between the expected text and the text that was found.
pub(crate) fn expected(cursor: &Cursor<'_>, slot: &Cursor<'_>, what: &str) -> Fault {
    if cursor.is_at_end() {
        return unclosed(slot);
    }
    let word = cursor.rest();
    let length = word.find(|c| !is_word(c)).unwrap_or(word.len()).min(40);
    let seen =
        word.get(..length).filter(|word| !word.is_empty()).map_or_else(|| cursor.seen(), |word| format!("`{word}`"));
    cursor.fault(format!("expected {what}, found {seen}"))
}

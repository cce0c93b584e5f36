//! The text between `[[` and `]]`.

use std::collections::HashSet;

use crate::ast::{Action, Argument, Completion, OnError, Part, PieceKind, Target, Text};
use crate::code::unclosed;
use crate::cursor::Cursor;
use crate::fault::{Fault, meant};
use crate::text::name;
use crate::value::{expected, key, term};
use crate::vocabulary::{RESERVED, is_keyword, is_variable, taken};
use crate::words::is_word;

const ON_ERROR: [&str; 3] = ["propagate", "empty", "default"];

/// Parses a slot. The cursor moves from its opening brackets to after its closing ones, or to the error.
pub(crate) fn slot(cursor: &mut Cursor<'_>) -> Result<PieceKind, Fault> {
    let opened = *cursor;
    cursor.advance(2);
    cursor.skip_space();
    if cursor.is_at_end() {
        return Err(unclosed(&opened));
    }
    if cursor.is_at("@") {
        cursor.advance(1);
        action(cursor, &opened).map(PieceKind::Action)
    } else {
        completion(cursor, &opened).map(PieceKind::Completion)
    }
}

fn action<'t>(cursor: &mut Cursor<'t>, opened: &Cursor<'t>) -> Result<Action, Fault> {
    let at = *cursor;
    let called = cursor.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    if called.is_empty() {
        return Err(expected(cursor, opened, "the name of a tool or `mcp`"));
    }
    cursor.skip_space();
    let variable = if cursor.eat(":") { Some(variable(cursor, opened)?) } else { None };
    if variable.is_none() && called.starts_with(RESERVED) {
        return Err(at.fault(format!("the result needs a name of its own: write `[[@{called}:name|..]]`")));
    }
    let is_generic = called == "mcp";
    if is_generic && variable.is_none() {
        return Err(at.fault("the result needs a name: write `[[@mcp:name|server=\"..\", tool=\"..\"]]`"));
    }
    let (mut server, mut tool, mut on_error) = (None, None, None);
    let arguments = options(cursor, opened, |cursor, word| {
        let is_new = match word {
            "server" if is_generic => server.replace(literal(cursor, word)?).is_none(),
            "tool" if is_generic => tool.replace(literal(cursor, word)?).is_none(),
            "on_error" => on_error.replace(failure(cursor, opened)?).is_none(),
            _ => return Ok(false),
        };
        if is_new { Ok(true) } else { Err(cursor.fault(format!("duplicate `{word}`"))) }
    })?;
    let target = if is_generic {
        let missing = |word: &str| at.fault(format!("`@mcp` needs `{word}=\"..\"`"));
        Target::Tool { server: server.ok_or_else(|| missing("server"))?, tool: tool.ok_or_else(|| missing("tool"))? }
    } else {
        Target::Prefixed(called.to_owned())
    };
    Ok(Action { target, variable, arguments, on_error: on_error.unwrap_or_default() })
}

fn completion<'t>(cursor: &mut Cursor<'t>, opened: &Cursor<'t>) -> Result<Completion, Fault> {
    if matches!(cursor.byte(0), Some(b'!' | b'?')) {
        return Err(cursor.fault("`!` and `?` before a kind are not supported: write `[[kind:name]]`"));
    }
    if !cursor.char().is_some_and(|c| is_word(c) && !c.is_ascii_digit()) && !cursor.is_at("{{") {
        return Err(cursor.fault(format!(
            "expected `@` and a tool, or a name, found {}; for a literal `[[` write `[[[[`",
            cursor.seen()
        )));
    }
    let at = *cursor;
    let first = name(cursor)?;
    unquantified(cursor)?;
    cursor.skip_space();
    let (kind, variable) = if cursor.eat(":") {
        let kind = first.plain().map(str::to_owned).ok_or_else(|| at.fault("a kind cannot contain expressions"))?;
        (Some(kind), variable(cursor, opened)?)
    } else {
        (None, checked(first, &at)?)
    };
    unquantified(cursor)?;
    let options = options(cursor, opened, |cursor, word| match word {
        "on_error" => Err(cursor.fault("`on_error` is for actions: a completion that fails ends the template")),
        _ => Ok(false),
    })?;
    Ok(Completion { kind, variable, options })
}

fn unquantified(cursor: &Cursor<'_>) -> Result<(), Fault> {
    match cursor.byte(0) {
        Some(b'*' | b'+' | b'?' | b'{') => {
            Err(cursor.fault("quantifiers are not supported: ask for a list in `json:name`"))
        }
        _ => Ok(()),
    }
}

/// Reads the name of the result.
fn variable<'t>(cursor: &mut Cursor<'t>, opened: &Cursor<'t>) -> Result<Text, Fault> {
    cursor.skip_space();
    let at = *cursor;
    let text = name(cursor)?;
    if text.parts.is_empty() {
        return Err(expected(cursor, opened, "the name of the result"));
    }
    checked(text, &at)
}

fn checked(text: Text, at: &Cursor<'_>) -> Result<Text, Fault> {
    let Some(Part::Literal(beginning)) = text.parts.first() else {
        // It could be any name that the template uses.
        let help = "start it with letters, as in `item_{{ n }}`";
        return Err(at.fault(format!("the name of a result cannot begin with an expression: {help}")));
    };
    if beginning.starts_with(RESERVED) {
        return Err(at.fault(taken()));
    }
    match text.plain() {
        Some(name) if is_keyword(name) => Err(at.fault(format!("`{name}` is reserved by minijinja: use another name"))),
        Some(name) if is_variable(name) => Ok(text),
        None if beginning.starts_with(|c: char| !c.is_ascii_digit()) => Ok(text),
        _ => Err(at.fault(format!("invalid name `{beginning}`: it must begin with a letter"))),
    }
}

/// Parses the options after `|`, up to the end of the slot. `ours` is called at the value of each key without quotes,
/// and reads the keys of the language itself.
fn options<'t>(
    cursor: &mut Cursor<'t>,
    opened: &Cursor<'t>,
    mut ours: impl FnMut(&mut Cursor<'t>, &str) -> Result<bool, Fault>,
) -> Result<Vec<Argument>, Fault> {
    cursor.skip_space();
    let mut arguments: Vec<Argument> = Vec::new();
    if cursor.eat("]]") {
        return Ok(arguments);
    }
    if !cursor.eat("|") {
        return Err(expected(cursor, opened, "`|` or `]]`"));
    }
    let mut known = HashSet::new();
    loop {
        cursor.skip_space();
        if cursor.eat("]]") {
            return Ok(arguments);
        }
        let at = *cursor;
        let (name, is_quoted) = option_key(cursor, opened)?;
        cursor.skip_space();
        if !cursor.eat("=") {
            return Err(positional(cursor, opened, &at));
        }
        cursor.skip_space();
        if is_quoted || !ours(cursor, &name)? {
            if !known.insert(name.clone()) {
                return Err(at.fault(format!("duplicate `{name}`")));
            }
            arguments.push(Argument { place: at.place(), name, value: term(cursor, opened, 0)? });
        }
        cursor.skip_space();
        if !cursor.eat(",") && !cursor.is_at("]]") {
            return Err(expected(cursor, opened, "`]]` or `,` and the next argument"));
        }
    }
}

fn option_key(cursor: &mut Cursor<'_>, opened: &Cursor<'_>) -> Result<(String, bool), Fault> {
    if cursor.is_at("\"") {
        return Ok((key(cursor)?, true));
    }
    let at = *cursor;
    let word = cursor.take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$'));
    let begins = word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '$'));
    match word {
        _ if begins => Ok((word.to_owned(), false)),
        "" if !matches!(cursor.byte(0), Some(b'[' | b'{' | b'(' | b'\'')) => {
            Err(expected(cursor, opened, "`key=value`"))
        }
        _ => Err(positional(cursor, opened, &at)),
    }
}

fn positional(cursor: &Cursor<'_>, opened: &Cursor<'_>, at: &Cursor<'_>) -> Fault {
    if cursor.is_at_end() {
        return unclosed(opened);
    }
    at.fault("every value needs its name: write `key=value`")
}

/// Parses a literal string, whose value is known before any call.
fn literal(cursor: &mut Cursor<'_>, word: &str) -> Result<String, Fault> {
    let fault =
        cursor.fault(format!("`{word}` must be a literal in double quotes: it is checked before anything runs"));
    if !cursor.is_at("\"") {
        return Err(fault);
    }
    key(cursor).and_then(|text| if text.is_empty() { Err(fault) } else { Ok(text) })
}

fn failure<'t>(cursor: &mut Cursor<'t>, opened: &Cursor<'t>) -> Result<OnError, Fault> {
    let at = *cursor;
    match cursor.take_while(is_word) {
        "propagate" => Ok(OnError::Propagate),
        "empty" => Ok(OnError::Empty),
        "default" => {
            cursor.skip_space();
            if !cursor.eat("(") {
                return Err(expected(cursor, opened, "`(`, a value and `)`"));
            }
            cursor.skip_space();
            let value = term(cursor, opened, 0)?;
            cursor.skip_space();
            if cursor.eat(")") { Ok(OnError::Default(value)) } else { Err(expected(cursor, opened, "`)`")) }
        }
        "" if cursor.is_at_end() => Err(unclosed(opened)),
        word => Err(at.fault(format!(
            "`on_error` is `propagate`, `empty` or `default(..)`, without quotes{}",
            meant(word, ON_ERROR)
        ))),
    }
}

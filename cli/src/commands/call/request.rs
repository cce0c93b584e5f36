//! The arguments of a call: read from flags, and checked before anything is sent.

use std::io::Read;

use mcp_bindgen_model::{FileError, printable, read_text};
use mcp_bindgen_runtime::validate::Validator;
use mcp_bindgen_schema::flags::{FileRef, FlagFault, Flags};
use serde_json::{Map, Value};

use crate::exit::Failure;
use crate::output::Output;
use crate::terminal::apart;
use crate::text::command_line;

/// Reads the flags of a tool or prompt, and gives them back with the arguments; `of` is the command, the server, the name.
pub(in crate::commands) async fn read(
    flags: Flags,
    words: Vec<String>,
    of: [&str; 3],
) -> Result<(Flags, Map<String, Value>), Failure> {
    // The standard input may take its time, and is not to keep the program from ending meanwhile.
    let (flags, read) = apart(move || {
        let read = flags.parse(&words, &mut file);
        (flags, read)
    })
    .await?;
    match read {
        Ok(arguments) => Ok((flags, arguments)),
        Err(faults) => Err(usage(&faults, of)),
    }
}

/// Returns all that is wrong, at once.
fn usage(faults: &[FlagFault], [command, server, name]: [&str; 3]) -> Failure {
    let said: Vec<String> = faults.iter().map(|fault| in_words_of(command, fault.to_string())).collect();
    let help =
        command_line(["mcp-bindgen"].into_iter().chain(command.split(' ')).chain([server, &printable(name), "--help"]));
    Failure::usage(format!("{}\n  = help: `{help}` lists the flags", said.join("\nerror: ")))
}

/// Flags are made for tools, and speak of them.
fn in_words_of(command: &str, said: String) -> String {
    if command == "call" {
        return said;
    }
    said.replacen("the tool has no argument", "the prompt has no argument", 1).replacen(
        "the tool takes no arguments",
        "the prompt takes no arguments",
        1,
    )
}

pub(super) fn file(file: FileRef<'_>) -> Result<String, String> {
    match file {
        FileRef::Path(path) => read_text(path).map_err(|FileError { message, position, .. }| match position {
            Some((line, column)) => format!("{message} ({line}:{column})"),
            None => message,
        }),
        FileRef::Stdin => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
            Ok(text)
        }
        _ => Err("this program cannot do that".to_owned()),
    }
}

/// Returns the JSON object that a text is, `@FILE` holds, or `-` reads from stdin.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    let (text, origin) = match text.strip_prefix('@') {
        Some(path) => (read_text(path)?, path),
        None if text == "-" => (file(FileRef::Stdin).map_err(Failure::new)?, "stdin"),
        None => (text.to_owned(), "--args"),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::usage(format!("expected a JSON object for the arguments\n --> {origin}"))),
        Err(error) => Err(Failure::usage(format!("the arguments are not JSON: {error}\n --> {origin}"))),
    }
}

/// Holds arguments against the whole of the tool's schema.
pub(in crate::commands) fn check(
    schema: &Value,
    arguments: &Map<String, Value>,
    output: &mut Output,
) -> Result<(), Failure> {
    match Validator::new(schema) {
        Ok(validator) => validator
            .check(&Value::Object(arguments.clone()))
            .map_err(|violation| Failure::usage(format!("invalid arguments: {violation}"))),
        Err(unusable) => {
            output.warning(&format!("the arguments were not validated: unusable schema: {unusable}"));
            Ok(())
        }
    }
}

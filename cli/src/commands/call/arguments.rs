//! The arguments of a call: read from flags and from answers at the terminal, and checked before anything is sent.

use std::io::{self, BufRead, Write};

use mcp_bindgen_model::{FileError, printable, read_text};
use mcp_bindgen_runtime::validate::Validator;
use mcp_bindgen_schema::flags::{FileRef, Flag, FlagFault, FlagFaultKind, Flags};
use serde_json::{Map, Value};

use crate::exit::{Failure, Result};
use crate::output::Output;
use crate::terminal::{self, apart};
use crate::text::{command_line, cut, one_line, terminal_width};

/// Reads the flags of a tool or prompt, and gives them back with the arguments; `of` is the command, the server, the name.
pub(in crate::commands) async fn read(
    flags: Flags,
    words: Vec<String>,
    of: [&str; 3],
) -> Result<(Flags, Map<String, Value>)> {
    // The standard input may take its time, and is not to keep the program from ending meanwhile.
    let (flags, read) = apart(move || {
        let read = flags.parse(&words, &mut file);
        (flags, read)
    })
    .await?;
    Ok((flags, read.map_err(|faults| usage(&faults, of))?))
}

/// Returns the JSON object of `--args`: as text, in a file, or from stdin.
pub(in crate::commands) fn object(text: &str) -> Result<Map<String, Value>> {
    let words = [format!("--args={text}")];
    let fault = |faults: Vec<FlagFault>| Failure::usage(faults.first().map(FlagFault::to_string).unwrap_or_default());
    Flags::new(&Value::Null, []).parse(&words, &mut file).map_err(fault)
}

/// Returns all that is wrong, at once.
fn usage(faults: &[FlagFault], [command, server, name]: [&str; 3]) -> Failure {
    let words = ["mcp-bindgen"].into_iter().chain(command.split(' '));
    let help = command_line(words.chain([server, &printable(name), "--help"]));
    // Flags are made for tools, and speak of them.
    let in_our_words = |said: String| match said.strip_prefix("the tool ") {
        Some(rest) if command.starts_with("prompt") => format!("the prompt {rest}"),
        _ => said,
    };
    let said: Vec<String> = faults.iter().map(|fault| in_our_words(fault.to_string())).collect();
    Failure::usage(said.join("\nerror: ")).with_help(format!("`{help}` lists the flags"))
}

fn file(file: FileRef<'_>) -> Result<String, String> {
    match file {
        FileRef::Path(path) => read_text(path).map_err(|FileError { message, position, .. }| match position {
            Some((line, column)) => format!("{message} ({line}:{column})"),
            None => message,
        }),
        FileRef::Stdin => io::read_to_string(io::stdin()).map_err(|error| error.to_string()),
        _ => Err("this program cannot do that".to_owned()),
    }
}

/// Holds arguments against the whole of the tool's schema.
pub(in crate::commands) fn check(schema: &Value, arguments: &Map<String, Value>, output: &mut Output) -> Result<()> {
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

/// Runs the option `-i`: prompts for each missing argument on the terminal. Returns the words together with the user's
/// answers.
pub(super) async fn complete(flags: Flags, words: Vec<String>) -> Result<(Flags, Vec<String>)> {
    if !terminal::is_there() {
        return Err(Failure::usage("`-i` requires a terminal: pass the arguments as flags"));
    }
    apart(move || ask(&flags, words).map(|words| (flags, words))).await?
}

fn ask(flags: &Flags, mut words: Vec<String>) -> Result<Vec<String>> {
    let given = flags.given(&words);
    // Arguments that `--args` sets are not prompted for.
    let has_base = words.iter().any(|word| word.starts_with("--args"));
    let is_given = |flag: &Flag| given.iter().any(|path| path.first() == flag.path.first());
    say("Press Enter to skip an argument; start with `:=` for JSON.\n")?;
    if flags.list().iter().any(|flag| flag.repeats) {
        say("Enter an array element by element, or a whole JSON array first.\n")?;
    }
    for flag in flags.list().iter().filter(|flag| flag.path.len() == 1 && !is_given(flag)) {
        if let Some(description) = &flag.description {
            let line = printable(&one_line(description));
            say(&format!("  {}\n", cut(&line, terminal_width().saturating_sub(3))))?;
        }
        let is_required = flag.is_required && !has_base;
        let mut answered = Vec::new();
        while let Some(word) = answer(flags, flag, is_required && answered.is_empty(), &answered)? {
            let is_all = !flag.repeats || (answered.is_empty() && flags.is_whole(&word));
            answered.push(word);
            if is_all {
                break;
            }
        }
        words.extend(answered);
    }
    Ok(words)
}

/// Reads one answer as a word, which must fit after the elements in `before`. Returns `None` for an empty answer.
fn answer(flags: &Flags, flag: &Flag, is_required: bool, before: &[String]) -> Result<Option<String>> {
    let takes = match &flag.value {
        Some(_) if !flag.values.is_empty() => printable(&flag.values.join("|")),
        Some(value) => format!("<{value}>"),
        None => "true|false".to_owned(),
    };
    let mark = if is_required { ", required" } else { "" };
    let mut no_stdin = |from: FileRef<'_>| match from {
        FileRef::Stdin => Err("the answers are read from standard input".to_owned()),
        path => file(path),
    };
    loop {
        say(&format!("{} ({takes}{mark}): ", printable(&flag.path.concat())))?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(Failure::new("the input ended before all arguments were entered"));
        }
        let word = match line.trim_end_matches(['\n', '\r']) {
            "" if is_required => {
                say("  it is required\n")?;
                continue;
            }
            "" => return Ok(None),
            text => text.strip_prefix(":=").map_or_else(|| flag.with_text(text), |json| flag.with_json(json)),
        };
        let words = [before, std::slice::from_ref(&word)].concat();
        let faults = flags.parse(&words, &mut no_stdin).err().unwrap_or_default();
        match faults.iter().find(|fault| fault.kind != FlagFaultKind::Missing) {
            Some(fault) => say(&format!("  {fault}\n"))?,
            None => return Ok(Some(word)),
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

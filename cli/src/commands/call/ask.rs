//! The option `-i`: prompts for each missing argument on the terminal.

use std::io::{self, BufRead, Write};

use mcp_bindgen_model::printable;
use mcp_bindgen_schema::flags::{FileRef, Flag, FlagFaultKind, Flags};

use super::request::file;
use crate::exit::Failure;
use crate::terminal::{self, apart};
use crate::text::{cut, one_line, terminal_width};

/// Returns the words together with the user's answers.
pub(super) async fn complete(flags: Flags, words: Vec<String>) -> Result<(Flags, Vec<String>), Failure> {
    if !terminal::is_there() {
        return Err(Failure::usage("`-i` requires a terminal: pass the arguments as flags"));
    }
    let asked = apart(move || {
        let asked = ask(&flags, words);
        (flags, asked)
    });
    let (flags, words) = asked.await?;
    Ok((flags, words?))
}

fn ask(flags: &Flags, mut words: Vec<String>) -> Result<Vec<String>, Failure> {
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
fn answer(flags: &Flags, flag: &Flag, is_required: bool, before: &[String]) -> Result<Option<String>, Failure> {
    let name = printable(&flag.path.concat());
    let takes = match &flag.value {
        Some(_) if !flag.values.is_empty() => {
            flag.values.iter().map(|value| printable(value)).collect::<Vec<_>>().join("|")
        }
        Some(value) => format!("<{value}>"),
        None => "true|false".to_owned(),
    };
    loop {
        let mark = if is_required { ", required" } else { "" };
        say(&format!("{name} ({takes}{mark}): "))?;
        let mut line = String::new();
        if io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(Failure::new("the input ended before all arguments were entered"));
        }
        let line = line.trim_end_matches(['\n', '\r']);
        if line.is_empty() {
            if !is_required {
                return Ok(None);
            }
            say("  it is required\n")?;
            continue;
        }
        let word = match line.strip_prefix(":=") {
            Some(json) => flag.with_json(json),
            None => flag.with_text(line),
        };
        let mut read = |from: FileRef<'_>| match from {
            FileRef::Stdin => Err("the answers are read from standard input".to_owned()),
            path => file(path),
        };
        let words = [before, std::slice::from_ref(&word)].concat();
        let faults = flags.parse(&words, &mut read).err().unwrap_or_default();
        match faults.iter().find(|fault| fault.kind != FlagFaultKind::Missing) {
            Some(fault) => say(&format!("  {fault}\n"))?,
            None => return Ok(Some(word)),
        }
    }
}

fn say(text: &str) -> io::Result<()> {
    let mut terminal = io::stderr();
    terminal.write_all(text.as_bytes())?;
    terminal.flush()
}

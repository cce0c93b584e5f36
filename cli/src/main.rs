//! The command line of mcp-bindgen.

mod args;
mod changes;
mod commands;
mod completion;
mod config_file;
mod diagnostics;
mod doctor;
mod exit;
mod flags;
mod git;
mod import;
mod inventory;
mod live;
mod output;
mod plan;
mod project;
mod report;
mod signals;
mod source;
mod terminal;
mod text;
mod trace;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::{env, io};

use clap::{ColorChoice, CommandFactory, Error, FromArgMatches, ValueEnum};

use crate::args::Arguments;
use crate::exit::Exit;
use crate::output::{Output, failure_json};

fn main() -> ExitCode {
    // Shells ask here, and want an answer and nothing else.
    if let Some(exit) = completion::answer() {
        return exit;
    }
    let understood = Arguments::command().color(colours()).try_get_matches();
    let arguments = match understood.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return misunderstood(error),
    };
    let mut output = Output::standard(&arguments);
    trace::begin(arguments.verbose);
    let exit = commands::run(arguments, &mut output).unwrap_or_else(|failure| output.failure(&failure));
    output.end(exit);
    ExitCode::from(exit as u8)
}

/// Prints clap's message: the help, the version or an error, which is also printed as JSON if `--format json` was given.
fn misunderstood(error: Error) -> ExitCode {
    // Fails only if the reader has closed the pipe.
    drop(error.print());
    if error.exit_code() == 0 {
        return ExitCode::SUCCESS;
    }
    if has_option(env::args_os(), "--format", "json") {
        let said = error.to_string();
        let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end().to_owned();
        drop(writeln!(io::stdout(), "{:#}", failure_json(Exit::Usage, &[said])));
    }
    ExitCode::from(Exit::Usage as u8)
}

/// Returns the colours of errors of parsing.
fn colours() -> ColorChoice {
    let is_said = |choice: &&ColorChoice| has_option(env::args_os(), "--color", &choice.to_string());
    ColorChoice::value_variants().iter().find(is_said).copied().unwrap_or(ColorChoice::Auto)
}

/// Returns `true` if a command line that is not parsed yet, or cannot be, has this option with this value.
fn has_option(words: impl Iterator<Item = OsString>, option: &str, value: &str) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    words.windows(2).any(|pair| matches!(pair, [name, found] if name == option && found == value))
        || words.iter().any(|word| *word == *format!("{option}={value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_format_is_detected_on_invalid_command_lines() {
        let asks = |line: &str| has_option(line.split(' ').map(OsString::from), "--format", "json");
        assert!(asks("mcp-bindgen --format json chek") && asks("mcp-bindgen chek --format=json"));
        assert!(!asks("mcp-bindgen chek") && !asks("mcp-bindgen add x -- --format json"));
        assert!(!asks("mcp-bindgen --format text chek json"));
    }
}

//! A command line that cannot be understood, or asks for help or the version.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::{ColorChoice, Error};

use crate::exit::Exit;
use crate::output::failure_json;

/// Prints clap's message. An error is also printed as JSON if `--format json` was given.
pub(crate) fn ended(error: Error) -> ExitCode {
    // Fails only if the reader has closed the pipe.
    drop(error.print());
    if error.exit_code() == 0 {
        return ExitCode::SUCCESS;
    }
    if has_option(std::env::args_os(), "--format", "json") {
        let said = error.to_string();
        let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end().to_owned();
        drop(writeln!(io::stdout(), "{:#}", failure_json(Exit::Usage, &[said])));
    }
    Exit::Usage.into()
}

/// Returns the colours of errors of parsing.
pub(crate) fn colours() -> ColorChoice {
    let is_said = |when| has_option(std::env::args_os(), "--color", when);
    match () {
        () if is_said("always") => ColorChoice::Always,
        () if is_said("never") => ColorChoice::Never,
        () => ColorChoice::Auto,
    }
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

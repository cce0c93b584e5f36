//! A command line that cannot be understood, or asks for help or the version.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Error;
use clap::error::{ContextKind, ContextValue};

use mcp_bindgen_model::printable;

use crate::exit::Exit;
use crate::output::failure_json;

/// Prints clap's message. An error is also printed as JSON if `--format json` was given.
pub(crate) fn ended(mut error: Error) -> ExitCode {
    mend_tip(&mut error, std::env::args_os());
    // Fails only if the reader has closed the pipe.
    drop(error.print());
    if error.exit_code() == 0 {
        return ExitCode::SUCCESS;
    }
    if asks_for_json(std::env::args_os()) {
        let said = error.to_string();
        let said = said.strip_prefix("error: ").unwrap_or(&said).trim_end().to_owned();
        drop(writeln!(io::stdout(), "{:#}", failure_json(Exit::Usage, &[said])));
    }
    Exit::Usage.into()
}

/// Corrects the tip for a word of several letters, because clap only suggests its first letter as a value.
fn mend_tip(error: &mut Error, words: impl Iterator<Item = OsString>) {
    let Some(ContextValue::String(letter)) = error.get(ContextKind::InvalidArg) else { return };
    let is_letter = letter.len() == 2 && letter.starts_with('-') && letter != "--";
    let texts = words.filter_map(|word| word.into_string().ok());
    let word = texts.take_while(|word| word != "--").find(|word| is_letter && word.starts_with(letter.as_str()));
    if let (Some(word), true) = (word, error.get(ContextKind::Suggested).is_some()) {
        let tip = format!("to pass '{0}' as a value, use '-- {0}'", printable(&word));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
}

/// Returns `true` if a command line that nothing else can be made of has `--format json`.
fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    words.windows(2).any(|pair| matches!(pair, [name, value] if name == "--format" && value == "json"))
        || words.iter().any(|word| word == "--format=json")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn short_option_cluster_is_suggested_as_one_value() {
        let words = ["mcp-bindgen", "call", "s", "-dash"].map(OsString::from);
        let mut error = Arguments::command().try_get_matches_from(&words).unwrap_err();
        mend_tip(&mut error, words.into_iter());
        assert!(error.to_string().contains("to pass '-dash' as a value, use '-- -dash'"), "{error}");
    }

    #[test]
    fn json_format_is_detected_on_invalid_command_lines() {
        let asks = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asks("mcp-bindgen --format json chek") && asks("mcp-bindgen chek --format=json"));
        assert!(!asks("mcp-bindgen chek") && !asks("mcp-bindgen add x -- --format json"));
        assert!(!asks("mcp-bindgen --format text chek json"));
    }
}

//! A command line that cannot be understood, or asks for help or the version.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Error;

use crate::exit::Exit;
use crate::output::failure_json;

/// Says what clap has to say; where something is wrong, in JSON as well for who asks for JSON.
pub(crate) fn ended(error: &Error) -> ExitCode {
    // Whoever read it has seen enough.
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

/// Whether a command line that nothing else can be made of has `--format json`.
fn asks_for_json(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.take_while(|word| word != "--").collect();
    words.windows(2).any(|pair| matches!(pair, [name, value] if name == "--format" && value == "json"))
        || words.iter().any(|word| word == "--format=json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_json_gets_it_on_failure_too() {
        let asks = |line: &str| asks_for_json(line.split(' ').map(OsString::from));
        assert!(asks("mcp-bindgen --format json chek") && asks("mcp-bindgen chek --format=json"));
        assert!(!asks("mcp-bindgen chek") && !asks("mcp-bindgen add x -- --format json"));
        assert!(!asks("mcp-bindgen --format text chek json"));
    }
}

//! `log`: the log of calls of a proxy.

use mcp_bindgen_proxy::CallLog;
use serde_json::json;

use crate::args::LogCommand;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(command: &LogCommand, output: &mut Output) -> Result<Exit, Failure> {
    let LogCommand::Verify { file } = command;
    match CallLog::verify(file) {
        Ok(lines) => {
            output.status("Verified", &format!("{lines} lines of {}", file.display()));
            if output.json() {
                output.data_json(&json!({ "format": 1, "lines": lines }))?;
            }
            Ok(Exit::Done)
        }
        Err(error) => Err(Failure::new(error.to_string())),
    }
}

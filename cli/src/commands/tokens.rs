//! `auth token`: tokens for clients of a proxy.

use mcp_bindgen_model::write_private;
use mcp_bindgen_proxy::TokenFile;
use serde_json::json;

use crate::args;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(super) fn run(arguments: &args::Token, output: &mut Output) -> Result<Exit, Failure> {
    let args::Token { name, tokens, group, scope, revoke } = arguments;
    let failed = |error: mcp_bindgen_proxy::TokenFileError| Failure::new(error.to_string());
    if *revoke {
        let text = TokenFile::changed(tokens, name, None).map_err(failed)?;
        write_private(tokens, text.as_bytes())?;
        output.status("Removed", &format!("the token `{name}` of {}", tokens.display()));
        if output.json() {
            output.data_json(&json!({ "format": 1, "removed": [name] }))?;
        }
        return Ok(Exit::Done);
    }
    let token = TokenFile::new_token().ok_or_else(|| Failure::new("the operating system has no random numbers"))?;
    let text = TokenFile::changed(tokens, name, Some((&token, group, scope))).map_err(failed)?;
    write_private(tokens, text.as_bytes())?;
    output.status("Added", &format!("the token `{name}` to {}, which only has its digest", tokens.display()));
    if output.json() {
        output.data_json(&json!({ "format": 1, "name": name, "token": token }))?;
    } else {
        output.data(&token)?;
    }
    Ok(Exit::Done)
}

//! `expand`: the generated Rust, formatted.

use std::path::Path;

use mcp_codegen::Bindings;
use mcp_model::write_if_changed;
use serde_json::json;

use super::source::{self, Bound};
use crate::args;
use crate::diagnostics;
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(config: Option<&Path>, arguments: &args::Expand, output: &mut Output) -> Result<Exit, Failure> {
    if arguments.source.server.is_none() && arguments.source.snapshot.is_none() {
        return Err(Failure::usage("name a SERVER, or a snapshot with `--snapshot FILE --server NAME`"));
    }
    let mut denied = false;
    let mut source = String::new();
    for bound in source::read(config, &arguments.source, arguments.output.as_deref(), output)? {
        let (text, is_denied) = generate(&bound?, output)?;
        source.push_str(&text);
        denied |= is_denied;
    }
    if denied {
        return Ok(Exit::Failed);
    }
    match &arguments.output {
        Some(path) => {
            let word = if write_if_changed(path, source.as_bytes())? { "Wrote" } else { "Unchanged" };
            output.status(word, &path.display().to_string());
        }
        None if output.json() => output.data_json(&json!({ "source": source }))?,
        None => output.data(source.trim_end())?,
    }
    Ok(Exit::Done)
}

fn generate(bound: &Bound, output: &mut Output) -> Result<(String, bool), Failure> {
    let (tokens, said) = Bindings::generate(&bound.snapshot, &bound.options);
    let denied = diagnostics::show(&said, &bound.levels, &bound.texts(), output);
    let text = mcp_codegen::format(tokens)
        .map_err(|error| Failure::new(format!("the generated code cannot be formatted: {error}")))?;
    Ok((text, denied))
}

//! The command line of mcp-bindgen.

mod args;
mod commands;
mod diagnostics;
mod exit;
mod live;
mod output;
mod project;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Arguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::standard(arguments.format);
    match run(arguments, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.error(&failure.message);
            failure.exit
        }
    }
    .into()
}

fn run(arguments: Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            outcome = commands::run(arguments, output) => outcome,
            // The future is dropped, and with it the servers that it started.
            _ = tokio::signal::ctrl_c() => Ok(Exit::Interrupted),
        }
    })
}

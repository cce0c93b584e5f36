//! The command line of mcp-bindgen.

mod args;
mod commands;
mod diagnostics;
mod exit;
mod flags;
mod live;
mod output;
mod project;
mod signals;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Arguments;
use crate::output::Output;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut output = Output::standard(arguments.format);
    match commands::run(arguments, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.error(&failure.message);
            failure.exit
        }
    }
    .into()
}

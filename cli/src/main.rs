//! The command line of mcp-bindgen.

mod args;
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
mod side_by_side;
mod signals;
mod terminal;
mod trace;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::{Arguments, Colour};
use crate::output::Output;

fn main() -> ExitCode {
    // Shells ask here, and want an answer and nothing else.
    if let Some(exit) = completion::answer() {
        return exit;
    }
    let matches = Arguments::command().color(Colour::said()).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let mut output = Output::standard(&arguments);
    trace::begin(arguments.verbose);
    match commands::run(arguments, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.error(&failure.message);
            failure.exit
        }
    }
    .into()
}

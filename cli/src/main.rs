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
mod lock;
mod output;
mod plan;
mod project;
mod report;
mod sign_in;
mod signals;
mod source;
mod terminal;
mod text;
mod trace;
mod usage;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::args::Arguments;
use crate::output::Output;

fn main() -> ExitCode {
    // Shells ask here, and want an answer and nothing else.
    if let Some(exit) = completion::answer() {
        return exit;
    }
    let understood = Arguments::command().color(usage::colours()).try_get_matches();
    let arguments = match understood.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(error) => return usage::ended(error),
    };
    let mut output = Output::standard(&arguments);
    trace::begin(arguments.verbose);
    let exit = match commands::run(arguments, &mut output) {
        Ok(exit) => exit,
        Err(failure) => {
            output.error(&failure.message);
            failure.exit
        }
    };
    output.end(exit);
    exit.into()
}

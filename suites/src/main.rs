//! Test suites over thousands of real tools: `mcp-suites SUITE --corpus DIR`. Each prints its findings as a table, and
//! fails if a budget is exceeded or a rule is broken.

#[cfg(feature = "bindings")]
mod corpus;
#[cfg(feature = "bindings")]
mod differential;
mod drift;
mod flags;
mod providers;
#[cfg(feature = "bindings")]
mod scratch;
mod selection;
#[cfg(feature = "bindings")]
mod serde_users;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use mcp_samples::Fallible;

#[derive(Parser)]
#[command(about = "Test suites over thousands of real tools")]
enum Suite {
    #[cfg(feature = "bindings")]
    Corpus(corpus::Arguments),
    /// Compares the output of the two backends for values of real tools.
    #[cfg(feature = "bindings")]
    Differential(selection::Selection),
    Drift(drift::Arguments),
    Flags(flags::Arguments),
    Providers(providers::Arguments),
    /// Uses bindings with serde in every format, next to the same types written by hand.
    #[cfg(feature = "bindings")]
    SerdeUsers(selection::Selection),
}

impl Suite {
    /// Returns `true` if the suite passes.
    fn run(&self) -> Fallible<bool> {
        match self {
            #[cfg(feature = "bindings")]
            Self::Corpus(arguments) => corpus::run(arguments),
            #[cfg(feature = "bindings")]
            Self::Differential(selection) => differential::run(selection),
            Self::Drift(arguments) => drift::run(arguments),
            Self::Flags(arguments) => flags::run(arguments),
            Self::Providers(arguments) => providers::run(arguments),
            #[cfg(feature = "bindings")]
            Self::SerdeUsers(selection) => serde_users::run(selection),
        }
    }
}

fn main() -> ExitCode {
    match Suite::parse().run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

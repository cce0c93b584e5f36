//! The differential test: for each tool that typify takes, what both backends accept they print alike, or the difference
//! has a known reason. It prints a table of the reasons, and fails at a difference without one.

mod arguments;
mod bindings;
mod corpus;
mod difference;
mod place;
mod report;
mod scratch;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Arguments;
use report::Report;

type Fallible<T> = Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether every difference has a reason.
fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report::default();
    let mut bound = Vec::new();
    for list in corpus::lists(arguments)? {
        bound.push(bindings::bind(list, &mut report)?);
    }
    let programs = scratch::build(arguments, &bound)?;
    let mut samples = corpus::samples(arguments, &bound)?;
    for (program, lists) in &programs {
        let lines: Vec<String> = lists.iter().flat_map(|list| samples.remove(list).unwrap_or_default()).collect();
        for answer in scratch::run(program, lines)? {
            report.judge(&bound, &answer)?;
        }
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.is_clean())
}

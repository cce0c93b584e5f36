//! The differential test: for each tool that typify takes, what both backends accept they print alike, or the difference
//! has a known reason. It prints a table of the reasons, and fails at a difference without one.

mod arguments;
mod bindings;
mod difference;
mod report;
mod scratch;

use std::io::{self, Write};
use std::process::ExitCode;

use mcp_samples::Fallible;
use mcp_samples::corpus::{List, lists, sample_lines};

use arguments::Arguments;
use report::Report;

/// A default run takes no list with more tools.
const MOST_TOOLS: usize = 80;

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
    for list in selected(arguments)? {
        bound.push(bindings::bind(list, &mut report)?);
    }
    let programs = scratch::build(arguments, &bound)?;
    let mut samples = sample_lines(&arguments.corpus, |name| bound.iter().any(|bound| bound.list.name == name))?;
    for (program, lists) in &programs {
        let lines: Vec<String> = lists.iter().flat_map(|list| samples.remove(list).unwrap_or_default()).collect();
        for answer in scratch::run(program, lines)? {
            report.judge(&bound, &answer)?;
        }
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.is_clean())
}

fn selected(arguments: &Arguments) -> Fallible<Vec<List>> {
    let mut lists = lists(&arguments.corpus, |name| arguments.selects(name))?;
    let Some(most) = arguments.most else { return Ok(lists) };
    lists.retain(|list| list.snapshot.tools.len() <= MOST_TOOLS);
    let step = lists.len().div_ceil(most.max(1)).max(1);
    Ok(lists.into_iter().step_by(step).collect())
}

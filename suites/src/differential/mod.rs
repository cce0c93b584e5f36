//! The differential test: for each tool that typify takes, what both backends accept they print alike, or the difference
//! has a known reason. It prints a table of the reasons, and fails at a difference without one.

mod bindings;
mod difference;
mod programs;
mod report;

use std::io::{self, Write};

use mcp_samples::Fallible;
use mcp_samples::corpus::{lists, sample_lines};

use report::Report;

use crate::scratch::{MOST_TOOLS, answers};
use crate::selection::Selection;

/// Returns `true` if every difference has a reason.
pub(crate) fn run(selection: &Selection) -> Fallible<bool> {
    let mut report = Report::default();
    let mut lists = lists(&selection.corpus, |name| selection.selects(name))?;
    if selection.is_partial() {
        lists.retain(|list| list.snapshot.tools.len() <= MOST_TOOLS);
    }
    let lists = selection.sampled(lists);
    let bound = lists.into_iter().map(|list| bindings::bind(list, &mut report)).collect::<Fallible<Vec<_>>>()?;
    let samples = sample_lines(&selection.corpus, |name| bound.iter().any(|bound| bound.list.name == name))?;
    for (program, lists) in programs::build(&bound)? {
        let lines = lists.iter().filter_map(|list| samples.get(list)).flatten();
        if !answers(&program, lines, |answer| report.judge(&bound, &answer))? {
            return Err(format!("{} failed", program.display()).into());
        }
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.is_clean())
}

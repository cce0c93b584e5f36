//! Real tools' bindings beside the same types by hand, over the corpus' sample values: what both take they print alike,
//! or the difference is one that serde's derives cannot avoid; and what the bindings hold survives TOML, YAML and
//! messagepack. All of it once more with `serde_json`'s `arbitrary_precision`. It prints what was compared, and fails at a
//! difference without a reason.

mod bindings;
mod program;
mod report;

use std::io::{self, Write};

use mcp_samples::Fallible;
use mcp_samples::corpus::{lists, sample_lines};

use program::{Numbers, Program};
use report::Report;

use crate::scratch::MOST_TOOLS;
use crate::selection::Selection;

/// Returns `true` if every difference has a reason.
pub(crate) fn run(selection: &Selection) -> Fallible<bool> {
    let mut lists = lists(&selection.corpus, |name| selection.selects(name))?;
    lists.retain(|list| list.snapshot.tools.len() <= MOST_TOOLS);
    let bound = selection.sampled(lists).into_iter().map(bindings::bind).collect::<Fallible<Vec<_>>>()?;
    let program = Program::write(&bound)?;
    let samples = sample_lines(&selection.corpus, |name| bound.iter().any(|bound| bound.list.name == name))?;
    let lines = || bound.iter().filter_map(|bound| samples.get(&bound.list.name)).flatten();
    let (mut is_clean, mut passed, mut failed) = (true, 0, 0);
    let mut output = io::stdout();
    for numbers in [Numbers::OfSixtyFourBits, Numbers::ArbitraryPrecision] {
        let mut report = Report::new(numbers);
        program.run(numbers, lines(), |answer| report.judge(&bound, &answer))?;
        is_clean &= report.is_clean();
        let of_report = report.passed_and_failed();
        passed += of_report.0;
        failed += of_report.1;
        writeln!(output, "{}:\n{}", numbers.text(), report.to_text())?;
    }
    writeln!(output, "{passed} passed, {failed} failed")?;
    Ok(is_clean)
}

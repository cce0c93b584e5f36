//! Real tools' bindings beside the same types by hand, over the corpus' sample values: what both take they print alike,
//! or the difference is one that serde's derives cannot avoid; and what the bindings hold survives TOML, YAML and
//! messagepack. All of it once more with `serde_json`'s `arbitrary_precision`. It prints what was compared, and fails at a
//! difference without a reason.

mod arguments;
mod bindings;
mod report;
mod scratch;

use std::io::{self, Write};
use std::process::ExitCode;

use mcp_samples::Fallible;
use mcp_samples::corpus::{List, lists, sample_lines};

use arguments::Arguments;
use report::Report;
use scratch::{Numbers, Scratch};

/// No list with more tools is taken: what a list takes to compile grows with it.
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
    let bound = selected(arguments)?.into_iter().map(bindings::bind).collect::<Fallible<Vec<_>>>()?;
    let scratch = Scratch::write(arguments, &bound)?;
    let samples = sample_lines(&arguments.corpus, |name| bound.iter().any(|bound| bound.list.name == name))?;
    let lines: Vec<&String> = bound.iter().filter_map(|bound| samples.get(&bound.list.name)).flatten().collect();
    let (mut is_clean, mut passed, mut failed) = (true, 0, 0);
    let mut output = io::stdout();
    for numbers in [Numbers::OfSixtyFourBits, Numbers::ArbitraryPrecision] {
        let mut report = Report::new(numbers);
        for answer in scratch.run(numbers, &lines)? {
            report.judge(&bound, &answer)?;
        }
        is_clean &= report.is_clean();
        let of_report = report.passed_and_failed();
        passed += of_report.0;
        failed += of_report.1;
        writeln!(output, "{}:\n{}", numbers.text(), report.to_text())?;
    }
    writeln!(output, "{passed} passed, {failed} failed")?;
    Ok(is_clean)
}

/// About as many lists as asked for, evenly taken.
fn selected(arguments: &Arguments) -> Fallible<Vec<List>> {
    let mut lists = lists(&arguments.corpus, |name| arguments.selects(name))?;
    lists.retain(|list| list.snapshot.tools.len() <= MOST_TOOLS);
    let step = lists.len().div_ceil(arguments.most.max(1)).max(1);
    Ok(lists.into_iter().step_by(step).collect())
}

//! The corpus harness: real tool lists, and the official JSON Schema tests, through the generator, rustc and the
//! generated types. It prints what was found as a table, and fails where a budget of the project is missed.

mod arguments;
mod batches;
mod cargo;
mod compile;
mod exact;
mod exceptions;
mod generate;
mod learned;
mod plant;
mod report;
mod suites;
mod validate;
mod viewed;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use mcp_bindgen_model::UnknownKeys;
use mcp_samples::Fallible;
use mcp_samples::corpus::{Origin, lists_with_samples};

use arguments::Arguments;
use batches::Scratch;
use generate::Say;
use learned::Learned;
use report::Report;
use viewed::Viewed;

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            tell(&format!("error: {error}"));
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report::default();
    report.is_partial = arguments.is_partial();
    let mut lists = lists_with_samples(&arguments.corpus, |name| arguments.selects(name))?;
    if let Some(learned) = arguments.learned {
        report.only_counts = learned == Learned::Half;
        lists = lists.into_iter().map(|list| learned.apply(list)).collect::<Fallible<_>>()?;
        lists.retain(|list| !list.snapshot.tools.is_empty());
    } else if arguments.views {
        let mut viewed = Viewed::default();
        lists = lists.into_iter().map(|list| viewed.apply(list)).collect::<Fallible<_>>()?;
        lists.retain(|list| !list.snapshot.tools.is_empty());
        report.figure(Origin::Corpus, "tools with a fixed argument", viewed.tools);
        report.figure(Origin::Corpus, "tools without arguments", viewed.without);
        viewed.refused.into_iter().for_each(|refused| report.failure(format!("a view is refused: {refused}")));
    } else {
        lists.extend(suites::read(&arguments.suites, arguments)?);
    }
    lists = arguments.sampled(lists);
    if lists.is_empty() {
        return Err("no list matches".into());
    }

    let say = Say { unknown: arguments.unknown, switches: arguments.switches };
    let mut bound = timed("generate", &mut report, |report| Ok(generate::run(lists, say, report)))?;
    if arguments.unknown == UnknownKeys::Keep {
        timed("plant", &mut report, |report| plant::run(&mut bound, report))?;
    }
    let scratch = Scratch::new(arguments, &bound)?;
    timed("compile", &mut report, |report| compile::run(&scratch, &mut bound, report))?;
    timed("exact", &mut report, |report| exact::run(&scratch, &bound, report))?;
    timed("validate", &mut report, |report| validate::run(&bound, report))?;

    if !report.is_partial {
        report.require_that_something_ran(Origin::Corpus);
        report.require_that_something_ran(Origin::Suite);
    }
    report.settle(&exceptions::read(&arguments.exceptions)?, arguments.is_partial());
    if let Some(path) = &arguments.json {
        mcp_bindgen_model::write_if_changed(path, format!("{:#}\n", report.to_json()).as_bytes())?;
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.passed())
}

fn timed<T>(stage: &'static str, report: &mut Report, work: impl FnOnce(&mut Report) -> Fallible<T>) -> Fallible<T> {
    let started = Instant::now();
    let result = work(report)?;
    let seconds = started.elapsed().as_secs_f64();
    report.took(stage, seconds);
    tell(&format!("{stage}: {seconds:.1} s"));
    Ok(result)
}

/// Progress goes to standard error; where that is closed, nobody is waiting for it.
fn tell(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

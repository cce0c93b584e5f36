//! The corpus harness: real tool lists, and the official JSON Schema tests, through the generator, rustc and the
//! generated types. It prints what was found as a table, and fails where a budget of the project is missed.

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
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use mcp_bindgen_model::UnknownKeys;
use mcp_samples::corpus::Origin;
use mcp_samples::{Fallible, repository};

use batches::Batches;
use generate::Say;
use learned::Learned;
use report::Report;
use viewed::Viewed;

use crate::selection::Selection;

/// Runs real tool lists, and the official JSON Schema tests, through the generator, rustc and the generated types.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    selection: Selection,
    /// The folder with `json-schema-test-suite`, whose lists are named like draft7-allOf.
    #[arg(long, value_name = "DIR")]
    suites: PathBuf,
    /// Generates bindings that keep undeclared keys, and adds such keys to the sample values.
    #[arg(long)]
    keep_unknown: bool,
    /// Generates bindings with `setters`, `named` and `checked`.
    #[arg(long)]
    all_switches: bool,
    /// Types results by what is learned from sample values, without the official tests.
    #[arg(long, value_name = "WHICH")]
    learn: Option<Learned>,
    /// Fixes one argument of every tool by a view, without the official tests.
    #[arg(long, conflicts_with = "learn")]
    views: bool,
}

impl Arguments {
    /// The folder with the crates, one for each way of generating bindings.
    fn folder(&self) -> &'static str {
        match (self.views, self.learn, self.keep_unknown) {
            (true, ..) => "corpus-views",
            (_, Some(_), _) => "corpus-learned",
            (_, _, true) => "corpus-keep",
            _ => "corpus",
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report::default();
    report.is_partial = arguments.selection.is_partial() || arguments.learn.is_some() || arguments.views;
    let mut lists = arguments.selection.all()?;
    if let Some(learned) = arguments.learn {
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
        lists.extend(suites::read(&arguments.suites, &arguments.selection)?);
    }
    lists = arguments.selection.sampled(lists);
    if lists.is_empty() {
        return Err("no list matches".into());
    }

    let unknown = if arguments.keep_unknown { UnknownKeys::Keep } else { UnknownKeys::Ignore };
    let say = Say { unknown, switches: arguments.all_switches };
    let mut bound = timed("generate", &mut report, |report| Ok(generate::run(lists, say, report)))?;
    if arguments.keep_unknown {
        timed("plant", &mut report, |report| plant::run(&mut bound, report))?;
    }
    let batches = Batches::new(arguments.folder(), &bound)?;
    timed("compile", &mut report, |report| compile::run(&batches, &mut bound, report))?;
    timed("exact", &mut report, |report| exact::run(&batches, &bound, report))?;
    timed("validate", &mut report, |report| validate::run(&bound, report))?;

    if !report.is_partial {
        report.require_that_something_ran(Origin::Corpus);
        report.require_that_something_ran(Origin::Suite);
    }
    let exceptions = repository().join("suites/exceptions.txt");
    report.settle(&exceptions::read(&exceptions)?, report.is_partial);
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

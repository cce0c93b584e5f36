//! The suite that judges drift: thousands of changes to real tools, each judged by sample values and an independent
//! validator, against what drift calls it. It prints a table by kind of change, and fails where drift is wrong.

mod arguments;
mod called;
mod case;
mod judge;
mod kinds;
mod pairs;
mod random;
mod report;
mod site;
mod times;
mod tools;
mod whole;

use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

pub(crate) use arguments::Arguments;
use arguments::Changes;
use called::{Class, differences_in_time};
use case::{Case, Direction, case, directions, is_harmless, subjects};
use mcp_bindgen_model::matches_glob;
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::lists_with_samples;
use mcp_samples::{Fallible, Random};
use report::{Bounds, Fault, Finding, Report};
use serde_json::{Value, json};

pub(crate) fn run(arguments: &Arguments) -> Fallible<bool> {
    let mut report = Report::default();
    match &arguments.changes {
        Changes::Corpus { corpus, only } => of_corpus(corpus, only.as_deref(), arguments, &mut report)?,
        Changes::Pairs => pairs::judge(arguments, &mut report)?,
        Changes::Random => random::judge(arguments, &mut report)?,
        Changes::Times => return Ok(times::judge(arguments)?),
    }
    io::stdout().write_all(report.to_text().as_bytes())?;
    Ok(report.passed())
}

/// Judges changes to the tools of the corpus.
fn of_corpus(corpus: &Path, only: Option<&str>, arguments: &Arguments, report: &mut Report) -> Fallible<()> {
    let lists = lists_with_samples(corpus, |name| only.is_none_or(|pattern| matches_glob(pattern, name)))?;
    let subjects = subjects(&lists)?;
    let directions: Vec<Direction> =
        directions().into_iter().filter(|direction| arguments.selects_kind(direction.name())).collect();
    if subjects.is_empty() || directions.is_empty() {
        return Err("no list or no kind matches".into());
    }
    let started = Instant::now();
    directions.iter().enumerate().for_each(|(place, direction)| report.row(place, direction.name()));
    let mut random = Random::new(arguments.seed);
    let (mut judged, mut tries) = (0, 0);
    // Kinds that apply to few tools leave their share to the others.
    while judged < arguments.mutations && tries < arguments.mutations * 2 {
        let place = tries % directions.len();
        let role = if (tries / directions.len()).is_multiple_of(2) { Role::Input } else { Role::Output };
        tries += 1;
        let Some(direction) = directions.get(place).filter(|_| !report.is_endless(place)) else { continue };
        let found = case(direction, role, &subjects, &mut random);
        if let Some(finding) = found.and_then(|case| finding(&case, judge::samples(&case, arguments.samples))) {
            report.add(place, finding, arguments.show);
            judged += 1;
        }
    }
    report.line(format!("{judged} changes to {} schemas in {:.1} s", subjects.len(), started.elapsed().as_secs_f64()));
    if only.is_none() && arguments.kind.is_none() {
        tools::judge(&subjects, &mut random, report);
        whole::same(&lists, report);
        whole::one_change(&lists, report);
        // A quarter of an even share: no kind may silently not apply.
        let each = arguments.mutations / directions.len() / 4;
        report.settle(&Bounds { cases: arguments.mutations, each, unproven: 10, ..Bounds::default() });
    } else {
        report.settle(&Bounds::default());
    }
    Ok(())
}

/// Judges a case by values, and holds what drift calls it against that.
fn finding(case: &Case<'_>, values: Vec<Value>) -> Option<Finding> {
    let judgement = judge::judge(case, values)?;
    let (old, new) = case.snapshots();
    let started = Instant::now();
    let called = differences_in_time(old, new);
    let took = started.elapsed();
    let endless = called.is_none();
    let called = called.unwrap_or_default();
    let breaking: Vec<_> = called.iter().filter(|called| called.class == Class::Breaking).collect();
    let witnesses: Vec<&(Role, Value)> = called.iter().filter_map(|called| called.witness.as_ref()).collect();
    let details = |more: Value| {
        let texts: Vec<&String> = called.iter().map(|called| &called.text).collect();
        json!({ "case": case.to_json(), "called": texts, "value": more })
    };
    let mut faults = Vec::new();
    if endless {
        faults.push((Fault::Endless, case.to_json()));
    }
    let wrong: Vec<_> = witnesses.iter().filter(|(role, value)| !judge::is_witness(case, *role, value)).collect();
    faults.extend(wrong.iter().map(|(_, value)| (Fault::WrongWitness, details(value.clone()))));
    let is_proven = wrong.is_empty() && !witnesses.is_empty();
    if let (Some(value), true) = (&judgement.breaking, breaking.is_empty() && !endless) {
        faults.push((Fault::Missed, details(value.clone())));
    }
    if case.is_harmless && (is_proven || judgement.breaking.is_some()) {
        let value = judgement.breaking.as_ref().or_else(|| witnesses.first().map(|(_, value)| value));
        faults.push((Fault::Mislabelled, details(value.cloned().unwrap_or_default())));
    } else if case.is_harmless && !breaking.is_empty() {
        faults.push((Fault::FalseAlarm, details(Value::Null)));
    }
    let unproven: Vec<_> = breaking.iter().filter(|called| called.witness.is_none()).collect();
    if !unproven.is_empty() {
        faults.push((Fault::Unproven, details(unproven.iter().map(|called| called.text.as_str()).collect())));
    }
    if case.is_wording && called.iter().any(|called| called.class > Class::Wording) {
        faults.push((Fault::NotWording, details(Value::Null)));
    }
    Some(Finding {
        samples: judgement.samples,
        is_breaking: judgement.breaking.is_some(),
        is_called_breaking: !breaking.is_empty(),
        is_harmless: case.is_harmless,
        witnesses: witnesses.len(),
        is_proven,
        verdicts: breaking.len(),
        unproven: unproven.len(),
        took,
        faults,
    })
}

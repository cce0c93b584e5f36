//! The third stage: sample values through the compiled types, and what became of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Command, Stdio};
use std::thread;

use jsonschema::Validator;
use serde_json::Value;

use crate::Fallible;
use crate::batches::{Batch, Scratch};
use crate::cargo;
use crate::compile::{by_list, tool_at};
use crate::generate::Bound;
use crate::judge::{difference, without_needless_nulls};
use crate::lists::{List, Origin, Side};
use crate::report::{Fault, Report};
use crate::tell;

#[derive(Default)]
struct Figures {
    valid: usize,
    accepted: usize,
    unchanged: usize,
    invalid: usize,
    refused: usize,
    only_null: usize,
    panics: usize,
}

type AllFigures = BTreeMap<(Origin, Side), Figures>;

pub(crate) fn run(scratch: &Scratch, bound: &[Bound], report: &mut Report) -> Fallible<()> {
    build(scratch, bound, report)?;
    let mut figures = AllFigures::new();
    for batch in &scratch.batches {
        let lists: Vec<&Bound> = batch.lists.iter().filter_map(|place| bound.get(*place)).collect();
        send(scratch, batch, &lists, &mut figures, report)?;
    }
    for ((origin, side), figures) in &figures {
        figures.report(*origin, *side, report);
    }
    Ok(())
}

/// Builds the programs. In them the bindings are private, so that rustc also tells what looks unused.
fn build(scratch: &Scratch, bound: &[Bound], report: &mut Report) -> Fallible<()> {
    let outcome = cargo::run(scratch, &["build", "--workspace", "--bins"])?;
    if !outcome.succeeded {
        let first = outcome.complaints.iter().find(|complaint| complaint.rendered.starts_with("error"));
        let reason = first.map_or(outcome.log, |complaint| complaint.rendered.clone());
        return Err(format!("the programs that use the types do not compile:\n{reason}").into());
    }
    let mut warned = 0;
    for (place, complaints) in by_list(bound, outcome.complaints) {
        let Some(list) = bound.get(place) else { continue };
        for complaint in complaints {
            warned += 1;
            if let Some(index) = tool_at(list, complaint.line) {
                report.fault(&list.list, index, Fault::NotCompiled(complaint.rendered));
            }
        }
    }
    report.none_of(Origin::Corpus, "warnings in programs that use a part of the bindings", warned);
    Ok(())
}

fn send(
    scratch: &Scratch,
    batch: &Batch,
    lists: &[&Bound],
    figures: &mut AllFigures,
    report: &mut Report,
) -> Fallible<()> {
    let mut child = Command::new(scratch.program(batch)).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the program has no pipes".into());
    };
    let samples = || lists.iter().flat_map(|bound| bound.list.samples.iter().map(|line| (*bound, line)));
    let judged = thread::scope(|scope| -> Fallible<bool> {
        let writer = scope.spawn(|| {
            let mut input = BufWriter::new(input);
            samples().try_for_each(|(_, line)| writeln!(input, "{line}")).and_then(|()| input.flush())
        });
        let mut verdicts = BufReader::new(output).lines();
        for (bound, line) in samples() {
            let Some(verdict) = verdicts.next() else {
                report.failure(format!("{}: the program ended at {}", batch.name, bound.list.name));
                return Ok(false);
            };
            judge(&bound.list, &serde_json::from_str(line)?, &serde_json::from_str(&verdict?)?, figures, report)?;
        }
        let written = writer.join().map_err(|_| "the thread that sends samples panicked")?;
        written?;
        Ok(true)
    })?;
    if judged && !child.wait()?.success() {
        report.failure(format!("{}: the program failed", batch.name));
    }
    tell(&format!("exact: {}", batch.name));
    Ok(())
}

fn judge(
    list: &List,
    samples: &Value,
    verdicts: &Value,
    figures: &mut AllFigures,
    report: &mut Report,
) -> Fallible<()> {
    let side = if samples.get("side") == Some(&Value::from("input")) { Side::Input } else { Side::Output };
    let index = samples.get("index").and_then(Value::as_u64).ok_or("a sample has no index")?;
    let index = usize::try_from(index)?;
    let schema = list.schema(index, side).ok_or("a sample belongs to no schema")?;
    let figures = figures.entry((list.origin, side)).or_default();
    let items = |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();

    let valid = items(samples, "valid");
    figures.valid += valid.len();
    if verdicts.is_null() {
        // Where the whole tool was left out, that is its fault already.
        if !valid.is_empty() && !report.is_left_out(list, index) {
            report.fault(list, index, Fault::Untyped(side));
        }
        figures.invalid += items(samples, "invalid").len();
        return Ok(());
    }
    let labels = items(samples, "labels");
    for (place, (value, verdict)) in valid.iter().zip(items(verdicts, "valid")).enumerate() {
        let label = labels.get(place).and_then(Value::as_str);
        figures.judge_valid(list, index, side, label, schema, value, &verdict, report);
    }
    let mut validator = None;
    for (value, verdict) in items(samples, "invalid").iter().zip(items(verdicts, "invalid")) {
        figures.judge_invalid(list, index, side, schema, value, &verdict, &mut validator, report);
    }
    Ok(())
}

impl Figures {
    #[expect(clippy::too_many_arguments, reason = "what is judged, and where it belongs")]
    fn judge_valid(
        &mut self,
        list: &List,
        index: usize,
        side: Side,
        label: Option<&str>,
        schema: &Value,
        value: &Value,
        verdict: &Value,
        report: &mut Report,
    ) {
        let label = label.map(str::to_owned);
        if let Some(error) = verdict.get("error").and_then(Value::as_str) {
            self.panics += usize::from(error == "panic");
            report.fault(list, index, Fault::Refused { side, label, value: value.clone(), error: error.to_owned() });
            return;
        }
        self.accepted += 1;
        let found = verdict.get("printed").and_then(|printed| difference(schema, value, printed));
        match found {
            None => self.unchanged += 1,
            // The official tests are about validity: their schemas ask for keys that no type declares.
            Some(_) if list.origin == Origin::Suite => {}
            Some(difference) => report.fault(list, index, Fault::Changed { side, value: value.clone(), difference }),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what is judged, and where it belongs")]
    fn judge_invalid(
        &mut self,
        list: &List,
        index: usize,
        side: Side,
        schema: &Value,
        value: &Value,
        verdict: &Value,
        validator: &mut Option<Option<Validator>>,
        report: &mut Report,
    ) {
        self.invalid += 1;
        self.panics += usize::from(verdict == "panic");
        if verdict != &Value::Bool(false) {
            self.refused += 1;
        } else if side == Side::Input {
            let validator = validator.get_or_insert_with(|| jsonschema::validator_for(schema).ok());
            let only_null = without_needless_nulls(schema, value)
                .is_some_and(|pruned| validator.as_ref().is_some_and(|validator| validator.is_valid(&pruned)));
            if only_null {
                self.only_null += 1;
            } else {
                let error = validator.as_ref().and_then(|validator| validator.validate(value).err());
                let reason = error.map(|error| format!("{} ({error})", error.instance_path()));
                report.let_through(list, index, value, &reason.unwrap_or_default());
            }
        }
    }

    fn report(&self, origin: Origin, side: Side, report: &mut Report) {
        let name = side.name();
        report.share(origin, &format!("{name}: valid values accepted"), self.accepted, self.valid);
        match origin {
            Origin::Corpus => {
                report.share(origin, &format!("{name}: valid values unchanged"), self.unchanged, self.valid);
            }
            Origin::Suite => {
                report.figure(origin, &format!("{name}: valid values unchanged"), format!("{}", self.unchanged));
            }
        }
        report.none_of(origin, &format!("{name}: panics of the types"), self.panics);
        if (origin, side) == (Origin::Corpus, Side::Input) {
            report.budget(origin, "invalid arguments refused by the types", self.refused, self.invalid, 0.95);
            let without_null = self.invalid - self.only_null;
            report.budget(origin, "... not counting a needless null", self.refused, without_null, 0.995);
            report.figure(origin, "invalid arguments refused by validation", "n/a");
        } else if origin == Origin::Corpus {
            let text = format!("{} of {}", self.refused, self.invalid);
            report.figure(origin, "invalid results refused by the types", text);
        }
    }
}

//! The third stage: sample values through the compiled types, and what became of them.

use std::collections::BTreeMap;

use mcp_bindgen_runtime::validate::Validator;
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{List, Origin, Samples};
use mcp_samples::{Difference, Fallible, differences, role_name, without_needless_nulls};
use serde_json::Value;

use crate::corpus::batches::{Batch, Batches};
use crate::corpus::generate::Bound;
use crate::corpus::report::{Fault, Report};
use crate::corpus::tell;
use crate::scratch::answers;

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

type AllFigures = BTreeMap<(Origin, Role), Figures>;

pub(crate) fn run(batches: &Batches, bound: &[Bound], report: &mut Report) -> Fallible<()> {
    let mut figures = AllFigures::new();
    for Batch { name, lists } in &batches.batches {
        let samples = || {
            let lists = lists.iter().filter_map(|place| bound.get(*place));
            lists.flat_map(|bound| bound.list.samples.iter().map(|line| (&bound.list, line)))
        };
        let mut sent = samples();
        let succeeded = answers(&batches.scratch.program(name), samples().map(|(_, line)| line), |verdict| {
            let (list, line) = sent.next().ok_or("the program answers more than was sent")?;
            let samples = Samples::parse(line)?;
            let schema = list.schema(samples.index, samples.role).ok_or("a sample belongs to no schema")?;
            let figures = figures.entry((list.origin, samples.role)).or_default();
            Judge { list, schema, samples, figures, report }.verdicts(&verdict);
            Ok(())
        })?;
        if let Some((list, _)) = sent.next() {
            report.failure(format!("{name}: the program ended at {}", list.name));
        } else if !succeeded {
            report.failure(format!("{name}: the program failed"));
        }
        tell(&format!("exact: {name}"));
    }
    for ((origin, role), figures) in &figures {
        figures.report(*origin, *role, report);
    }
    Ok(())
}

/// The samples of one schema, and what the types made of them.
struct Judge<'a> {
    list: &'a List,
    schema: &'a Value,
    samples: Samples,
    figures: &'a mut Figures,
    report: &'a mut Report,
}

impl Judge<'_> {
    fn verdicts(&mut self, verdicts: &Value) {
        let items = |key: &str| verdicts.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        self.figures.valid += self.samples.valid.len();
        self.figures.invalid += self.samples.invalid.len();
        if verdicts.is_null() {
            // A tool that was left out already has a fault.
            if !self.report.is_left_out(self.list, self.samples.index) {
                let fault = Fault::Untyped(self.samples.role);
                self.report.fault(self.list, self.samples.index, fault);
            }
            return;
        }
        for (place, (value, verdict)) in std::mem::take(&mut self.samples.valid).iter().zip(items("valid")).enumerate()
        {
            self.valid(place, value, &verdict);
        }
        let mut validator = None;
        for (value, verdict) in std::mem::take(&mut self.samples.invalid).iter().zip(items("invalid")) {
            self.invalid(value, &verdict, &mut validator);
        }
    }

    fn valid(&mut self, place: usize, value: &Value, verdict: &Value) {
        let Samples { index, role, .. } = self.samples;
        if let Some(error) = verdict.get("error").and_then(Value::as_str) {
            self.figures.panics += usize::from(error == "panic");
            let (label, error) = (self.samples.valid_label(place), error.to_owned());
            self.report.fault(self.list, index, Fault::Refused { role, label, value: value.clone(), error });
            return;
        }
        self.figures.accepted += 1;
        let printed = verdict.get("printed");
        let found = printed.map(|printed| differences(self.schema, value, printed)).unwrap_or_default();
        match found.into_iter().find(|found| !found.is_licensed()) {
            None => self.figures.unchanged += 1,
            // The official tests are about validity: their values hold keys that no schema declares.
            Some(_) if self.list.origin == Origin::Suite => {}
            Some(Difference { pointer, left, right, .. }) => {
                let fault = Fault::Changed { role, value: value.clone(), pointer, given: left, printed: right };
                self.report.fault(self.list, index, fault);
            }
        }
    }

    fn invalid(&mut self, value: &Value, verdict: &Value, validator: &mut Option<Option<Validator>>) {
        self.figures.panics += usize::from(verdict == "panic");
        if verdict != &Value::Bool(false) {
            self.figures.refused += 1;
        } else if (self.list.origin, self.samples.role) == (Origin::Corpus, Role::Input) {
            let validator = validator.get_or_insert_with(|| Validator::new(self.schema).ok()).as_ref();
            let violation = |value: &Value| validator.and_then(|validator| validator.check(value).err());
            let pruned = without_needless_nulls(self.schema, value);
            if pruned.is_some_and(|pruned| violation(&pruned).is_none()) {
                self.figures.only_null += 1;
            } else {
                let reason = violation(value).map(|violation| violation.to_string()).unwrap_or_default();
                self.report.let_through(self.list, self.samples.index, value, &reason);
            }
        }
    }
}

impl Figures {
    fn report(&self, origin: Origin, role: Role, report: &mut Report) {
        let name = role_name(role);
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
        if (origin, role) == (Origin::Corpus, Role::Input) {
            // How many nulls are needless differs from list to list: the whole has a budget, a part of it not.
            let share = if report.is_partial { 0.0 } else { 0.95 };
            report.budget(origin, "invalid arguments refused by the types", self.refused, self.invalid, share);
            let without_null = self.invalid - self.only_null;
            report.budget(origin, "... not counting a needless null", self.refused, without_null, 0.995);
        } else if origin == Origin::Corpus {
            let text = format!("{} of {}", self.refused, self.invalid);
            report.figure(origin, "invalid results refused by the types", text);
        }
    }
}

//! The last stage: the same values checked against the whole schema, as feature `validate` of the runtime does.

use std::collections::BTreeMap;

use mcp_runtime::validate::Validator;

use crate::Fallible;
use crate::generate::Bound;
use crate::lists::{List, Origin, Samples, Side};
use crate::report::{Fault, Report};

#[derive(Default)]
struct Figures {
    schemas: usize,
    usable: usize,
    valid: usize,
    accepted: usize,
    invalid: usize,
    refused: usize,
    keywords_skipped: usize,
}

pub(crate) fn run(bound: &[Bound], report: &mut Report) -> Fallible<()> {
    let mut figures: BTreeMap<(Origin, Side), Figures> = BTreeMap::new();
    for Bound { list, .. } in bound {
        for line in &list.samples {
            let samples = Samples::parse(line)?;
            let figures = figures.entry((list.origin, samples.side)).or_default();
            figures.check(list, &samples, report)?;
        }
    }
    for ((origin, side), figures) in figures {
        figures.report(origin, side, report);
    }
    Ok(())
}

impl Figures {
    fn check(&mut self, list: &List, samples: &Samples, report: &mut Report) -> Fallible<()> {
        let Samples { index, side, .. } = *samples;
        self.schemas += 1;
        self.valid += samples.valid.len();
        self.invalid += samples.invalid.len();
        let validator = match Validator::new(list.schema(index, side).ok_or("a sample belongs to no schema")?) {
            Ok(validator) => validator,
            Err(error) => {
                report.fault(list, index, Fault::NotValidated { side, reason: error.to_string() });
                return Ok(());
            }
        };
        self.usable += 1;
        self.keywords_skipped += validator.skipped().len();
        for (place, value) in samples.valid.iter().enumerate() {
            match validator.check(value) {
                Ok(()) => self.accepted += 1,
                Err(violation) => {
                    let (label, error) = (samples.valid_label(place), format!("validation: {violation}"));
                    report.fault(list, index, Fault::Refused { side, label, value: value.clone(), error });
                }
            }
        }
        for (place, value) in samples.invalid.iter().enumerate() {
            if validator.check(value).is_err() {
                self.refused += 1;
            } else {
                let label = samples.invalid_label(place);
                report.fault(list, index, Fault::Accepted { side, label, value: value.clone() });
            }
        }
        Ok(())
    }

    fn report(&self, origin: Origin, side: Side, report: &mut Report) {
        let name = side.name();
        report.share(origin, &format!("{name}: schemas that validation can use"), self.usable, self.schemas);
        report.figure(origin, &format!("{name}: keywords that validation skips"), self.keywords_skipped);
        report.share(origin, &format!("{name}: valid values that pass validation"), self.accepted, self.valid);
        report.share(origin, &format!("{name}: invalid values refused by validation"), self.refused, self.invalid);
    }
}

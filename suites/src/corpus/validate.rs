//! The last stage: the same values checked against the whole schema, as feature `validate` of the runtime does.

use std::collections::BTreeMap;

use mcp_bindgen_runtime::validate::Validator;
use mcp_bindgen_schema::Role;
use mcp_samples::corpus::{List, Origin, Samples};
use mcp_samples::{Fallible, role_name};

use crate::corpus::generate::Bound;
use crate::corpus::report::{Fault, Report};

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
    let mut figures: BTreeMap<(Origin, Role), Figures> = BTreeMap::new();
    for Bound { list, .. } in bound {
        for line in &list.samples {
            let samples = Samples::parse(line)?;
            let figures = figures.entry((list.origin, samples.role)).or_default();
            figures.check(list, &samples, report)?;
        }
    }
    for ((origin, role), figures) in figures {
        figures.report(origin, role, report);
    }
    Ok(())
}

impl Figures {
    fn check(&mut self, list: &List, samples: &Samples, report: &mut Report) -> Fallible<()> {
        let Samples { index, role, .. } = *samples;
        self.schemas += 1;
        self.valid += samples.valid.len();
        self.invalid += samples.invalid.len();
        let validator = match Validator::new(list.schema(index, role).ok_or("a sample belongs to no schema")?) {
            Ok(validator) => validator,
            Err(error) => {
                report.fault(list, index, Fault::NotValidated { role, reason: error.to_string() });
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
                    report.fault(list, index, Fault::Refused { role, label, value: value.clone(), error });
                }
            }
        }
        for (place, value) in samples.invalid.iter().enumerate() {
            if validator.check(value).is_err() {
                self.refused += 1;
            } else {
                let label = samples.invalid_label(place);
                report.fault(list, index, Fault::Accepted { role, label, value: value.clone() });
            }
        }
        Ok(())
    }

    fn report(&self, origin: Origin, role: Role, report: &mut Report) {
        let name = role_name(role);
        report.share(origin, &format!("{name}: schemas that validation can use"), self.usable, self.schemas);
        report.figure(origin, &format!("{name}: keywords that validation skips"), self.keywords_skipped);
        report.share(origin, &format!("{name}: valid values that pass validation"), self.accepted, self.valid);
        // Learned results have none.
        if self.invalid > 0 || !report.is_partial {
            report.share(origin, &format!("{name}: invalid values refused by validation"), self.refused, self.invalid);
        }
    }
}

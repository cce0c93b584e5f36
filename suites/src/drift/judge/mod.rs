//! Judges whether a change breaks, with sample values and a third-party validator.

mod kinds;
mod relaxed;
mod sendable;
mod tags;
mod validator;

use mcp_bindgen_schema::Role;
use mcp_samples::values::{Generator, Hints};
use serde_json::Value;

use crate::drift::case::Case;
pub(crate) use relaxed::{Doubt, relaxed};
use sendable::{Sendable, sendable};
pub(crate) use validator::compile;
use validator::compile_with_formats;

/// Of the corpus' own values, so many are tried.
const MOST_INSTANCES: usize = 40;

/// The verdict of the samples.
#[derive(Default)]
pub(crate) struct Judgement {
    /// Values that were fine under the one schema, and tried against the other.
    pub(crate) samples: usize,
    /// One that was fine and is not any more.
    pub(crate) breaking: Option<Value>,
}

/// Values to judge a case by: of the corpus, and made up for what changed.
pub(crate) fn samples(case: &Case<'_>, most: usize) -> Vec<Value> {
    let mutation = &case.mutation;
    let (source, place) = match case.subject.role {
        Role::Input => (&mutation.old, &mutation.old_place),
        Role::Output => (&mutation.new, &mutation.new_place),
    };
    let mut hints = Hints::default();
    for (document, place) in [(&mutation.old, &mutation.old_place), (&mutation.new, &mutation.new_place)] {
        // The bounds of what is around, such as a union's other branches, matter too.
        let around = place.rsplit_once('/').map_or("", |(parent, _)| parent);
        for pointer in [place.as_str(), around] {
            document.pointer(pointer).into_iter().for_each(|schema| hints.read(schema));
        }
    }
    let values = Generator::new(source, most).hints(hints).focus(place).values();
    case.subject.instances.iter().take(MOST_INSTANCES).cloned().chain(values).collect()
}

/// Judges a case by values; `None` where the validator does not take what it has to.
pub(crate) fn judge(case: &Case<'_>, values: Vec<Value>) -> Option<Judgement> {
    let judge = Judge::new(case, Doubt::Reads)?;
    let mut judgement = Judgement::default();
    for value in values {
        if judge.is_fine(&value, Sendable::Yes) {
            judgement.samples += 1;
            if !judge.still_fine.is_valid(&value) {
                judgement.breaking = Some(value);
                break;
            }
        }
    }
    Some(judgement)
}

/// Returns `true` if a witness proves that a change breaks.
pub(crate) fn is_witness(case: &Case<'_>, role: Role, value: &Value) -> bool {
    let judge = Judge::new(case, Doubt::Refuses).filter(|_| role == case.subject.role);
    judge.is_some_and(|judge| judge.is_fine(value, Sendable::Perhaps) && !judge.still_fine.is_valid(value))
}

struct Judge<'c> {
    case: &'c Case<'c>,
    /// The schema that the values are made for.
    fine: jsonschema::Validator,
    /// The schema of the other party.
    still_fine: jsonschema::Validator,
}

impl<'c> Judge<'c> {
    fn new(case: &'c Case<'c>, doubt: Doubt) -> Option<Self> {
        let mutation = &case.mutation;
        let (fine, still_fine) = match case.subject.role {
            // A server may assert formats, or not.
            Role::Input if doubt == Doubt::Refuses => (compile(&mutation.old)?, compile_with_formats(&mutation.new)?),
            Role::Input => (compile(&mutation.old)?, compile(&mutation.new)?),
            Role::Output => (compile(&mutation.new)?, compile(&relaxed(&mutation.old, doubt))?),
        };
        Some(Self { case, fine, still_fine })
    }

    fn is_fine(&self, value: &Value, at_least: Sendable) -> bool {
        self.fine.is_valid(value)
            && (self.case.subject.role == Role::Output || sendable(&self.case.mutation.old, value) >= at_least)
    }
}

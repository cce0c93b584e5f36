//! Why values of one schema are not values of another.

use serde_json::{Map, Value};

use crate::normalize::Kinds;

/// A place at which something is not included, below the place that was asked about.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    /// The steps of the pointer, outermost last.
    pub(super) steps: Vec<String>,
    pub(super) reason: Reason,
    /// Values of the place that was asked about which may be the ones that fail.
    pub(super) candidates: Vec<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reason {
    /// Values of these kinds.
    Kind(Kinds),
    /// Values of every kind but these.
    Typed(Kinds),
    /// A listed value.
    Value(Value),
    /// Strings or numbers that are not listed.
    Unlisted,
    /// The demand of a keyword.
    Keyword(&'static str),
    /// A key is required; `declared` is `true` if the key is declared as optional elsewhere.
    Required { declared: bool },
    /// The key must not be there.
    Key,
    /// Keys that are not declared.
    OtherKeys,
    /// None of the alternatives takes all the values.
    NoAlternative,
    /// More than one alternative may take a value.
    SeveralAlternatives,
    /// The check is undecidable.
    Undecided,
}

impl Reason {
    /// Merges two reasons, if the result means the same.
    fn with(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Kind(kinds), Self::Kind(more)) => Some(Self::Kind(*kinds | *more)),
            _ => (self == other).then(|| self.clone()),
        }
    }
}

/// Names the remaining kinds of an untyped place, if most kinds are lost.
pub(super) fn of_untyped(failures: &mut [Failure]) {
    const MANY: usize = 4;
    for failure in failures.iter_mut().filter(|failure| failure.steps.is_empty()) {
        let Reason::Kind(gone) = failure.reason else { continue };
        let left = Kinds::ALL.without(gone);
        if gone.each().count() >= MANY && left != Kinds::NONE {
            failure.reason = Reason::Typed(left);
        }
    }
}

/// The maximum number of values that are tried as a witness.
pub(super) const MOST_CANDIDATES: usize = 24;
/// The maximum number of reported places of one schema.
pub(super) const MOST_FAILURES: usize = 32;

impl Failure {
    pub(super) fn new(reason: Reason, candidates: Vec<Value>) -> Self {
        Self { steps: Vec::new(), reason, candidates }
    }

    /// Moves the failure to a place below: `candidates` builds values from those that fail there.
    pub(super) fn below(mut self, steps: &[&str], candidates: &mut dyn FnMut(&Value) -> Vec<Value>) -> Self {
        self.steps.extend(steps.iter().rev().map(|step| (*step).to_owned()));
        for inner in std::mem::take(&mut self.candidates) {
            self.try_also(candidates(&inner));
        }
        self
    }

    /// Adds candidates that are tried before all others.
    pub(super) fn try_first(&mut self, mut candidates: Vec<Value>) {
        candidates.append(&mut self.candidates);
        self.candidates = candidates;
    }

    /// Adds candidates that are not yet known.
    fn try_also(&mut self, candidates: Vec<Value>) {
        for candidate in candidates {
            if self.candidates.len() < MOST_CANDIDATES && !self.candidates.contains(&candidate) {
                self.candidates.push(candidate);
            }
        }
    }

    /// Returns the steps as a JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.steps.iter().rev().for_each(|step| crate::bundle::push(&mut pointer, step));
        pointer
    }
}

/// Adds failures; a known failure only gets more candidates.
pub(super) fn add(failures: &mut Vec<Failure>, more: Vec<Failure>) {
    for failure in more {
        let is_same =
            |known: &&mut Failure| known.steps == failure.steps && known.reason.with(&failure.reason).is_some();
        if let Some(known) = failures.iter_mut().find(is_same) {
            known.reason = known.reason.with(&failure.reason).unwrap_or(failure.reason);
            known.try_also(failure.candidates);
        } else if failures.len() < MOST_FAILURES {
            failures.push(failure);
        }
    }
}

/// The maximum number of alternatives whose failing values are combined.
const MOST_TOGETHER: usize = 16;
/// The maximum number of failing values of one alternative that are combined.
const MOST_EACH: usize = 4;

/// Returns values that may fail all alternatives, by the failures of each: objects with what fails of one alternative
/// and of the next, and then all that fails.
pub(super) fn of_all(tried: &[Vec<Failure>]) -> Vec<Value> {
    let mut together: Vec<Map<String, Value>> = tried.iter().take(1).map(|_| Map::new()).collect();
    let mut alone = Vec::new();
    for (place, failures) in tried.iter().enumerate() {
        let mut values: Vec<&Value> = Vec::new();
        failures.iter().for_each(|failure| values.extend(&failure.candidates));
        values.truncate(MOST_EACH);
        let mut joined = Vec::new();
        for one in together.iter().filter(|_| place < MOST_TOGETHER) {
            for other in values.iter().filter_map(|value| value.as_object()) {
                let mut object = one.clone();
                object.extend(other.clone());
                joined.push(object);
            }
        }
        if place == 0 || !joined.is_empty() {
            joined.truncate(MOST_CANDIDATES / 2);
            together = joined;
        }
        let room = (MOST_CANDIDATES * 2).saturating_sub(alone.len());
        alone.extend(values.into_iter().take(room).cloned());
    }
    let mut all: Vec<Value> = together.into_iter().map(Value::Object).collect();
    all.append(&mut alone);
    all.truncate(MOST_CANDIDATES * 2);
    all
}

/// Moves the values to the front that come first.
pub(super) fn sorted(values: Vec<Value>, comes_first: &mut dyn FnMut(&Value) -> bool) -> Vec<Value> {
    let (mut first, mut others): (Vec<Value>, Vec<Value>) = values.into_iter().partition(comes_first);
    first.append(&mut others);
    first
}

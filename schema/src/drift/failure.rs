//! Why values of one schema are not values of another.

use serde_json::Value;

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
    /// Returns the reason for a failing value: the value, or its kind if it is the only value of that kind.
    pub(super) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Kind(Kinds::NULL),
            other => Self::Value(other.clone()),
        }
    }

    /// Merges two reasons, if the result means the same.
    fn with(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::Kind(kinds), Self::Kind(more)) => Some(Self::Kind(*kinds | *more)),
            _ => (self == other).then(|| self.clone()),
        }
    }
}

/// Names the remaining kinds of an untyped place, if most kinds are lost.
pub(super) fn of_untyped(failures: &mut [Failure], taken: impl Iterator<Item = Kinds>) {
    const MANY: usize = 4;
    if taken.fold(Kinds::NONE, |all, kinds| all | kinds) != Kinds::ALL {
        return;
    }
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
    pub(super) fn below(mut self, steps: &[&str], candidates: impl FnMut(&Value) -> Vec<Value>) -> Self {
        self.steps.extend(steps.iter().rev().map(|step| (*step).to_owned()));
        let mut wrapped: Vec<Value> = Vec::new();
        for candidate in self.candidates.iter().flat_map(candidates) {
            if wrapped.len() < MOST_CANDIDATES && !wrapped.contains(&candidate) {
                wrapped.push(candidate);
            }
        }
        self.candidates = wrapped;
        self
    }

    /// Returns the steps as a JSON pointer.
    pub(super) fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in self.steps.iter().rev() {
            crate::bundle::push(&mut pointer, step);
        }
        pointer
    }
}

/// Merges failures of `true` and `false` into one of booleans.
pub(super) fn of_both_booleans(failures: Vec<Failure>) -> Vec<Failure> {
    let is_boolean = |failure: &Failure| matches!(failure.reason, Reason::Value(Value::Bool(_)));
    if failures.len() != 2 || !failures.iter().all(is_boolean) {
        return failures;
    }
    let candidates = failures.into_iter().flat_map(|failure| failure.candidates).collect();
    vec![Failure::new(Reason::Kind(Kinds::BOOLEAN), candidates)]
}

/// Adds failures; a known failure only gets more candidates.
pub(super) fn add(failures: &mut Vec<Failure>, more: impl IntoIterator<Item = Failure>) {
    for failure in more {
        let is_same = |known: &Failure| known.steps == failure.steps && known.reason.with(&failure.reason).is_some();
        let known = failures.iter().position(is_same);
        match known {
            Some(index) => {
                let Some(known) = failures.get_mut(index) else { continue };
                known.reason = known.reason.with(&failure.reason).unwrap_or(failure.reason);
                for candidate in failure.candidates {
                    if known.candidates.len() < MOST_CANDIDATES && !known.candidates.contains(&candidate) {
                        known.candidates.push(candidate);
                    }
                }
            }
            None if failures.len() < MOST_FAILURES => failures.push(failure),
            None => {}
        }
    }
}

/// The maximum number of alternatives whose failing values are combined.
const MOST_TOGETHER: usize = 16;
/// The maximum number of failing values of one alternative that are combined.
const MOST_EACH: usize = 4;

/// Objects with what fails of one alternative and of the next.
fn together<'f>(mut each: impl Iterator<Item = impl Iterator<Item = &'f Value>>) -> Vec<Value> {
    let objects = |values: &mut dyn Iterator<Item = &'f Value>| values.filter_map(Value::as_object).cloned().collect();
    let mut all: Vec<serde_json::Map<String, Value>> =
        each.next().map(|mut first| objects(&mut first)).unwrap_or_default();
    for mut more in each {
        let more: Vec<_> = objects(&mut more);
        let joined =
            all.iter().flat_map(|one| more.iter().map(|other| one.clone().into_iter().chain(other.clone()).collect()));
        let joined: Vec<_> = joined.take(MOST_CANDIDATES / 2).collect();
        if !joined.is_empty() {
            all = joined;
        }
    }
    all.into_iter().map(Value::Object).collect()
}

/// Selects the failures to report if no alternative takes all values of a kind. If only one alternative has that kind,
/// its failures count. `whole` creates a failure of all values, with the values that fail one alternative.
pub(super) fn of_alternatives(
    tried: Vec<Vec<Failure>>,
    kind: Kinds,
    whole: impl FnOnce(Reason) -> Failure,
) -> Result<Vec<Failure>, Failure> {
    let each = || tried.iter().map(|failures| failures.iter().flat_map(|failure| &failure.candidates).take(MOST_EACH));
    let mut candidates = together(each().take(MOST_TOGETHER));
    candidates.extend(each().flatten().cloned());
    candidates.truncate(MOST_CANDIDATES * 2);
    let is_kind = |failure: &Failure| failure.steps.is_empty() && matches!(failure.reason, Reason::Kind(_));
    let all_of_other_kinds = tried.iter().all(|failures| failures.iter().any(is_kind));
    let mut meant: Vec<Vec<Failure>> = tried.into_iter().filter(|failures| !failures.iter().any(is_kind)).collect();
    if meant.len() == 1 {
        return Ok(meant.swap_remove(0));
    }
    let mut failure = whole(if all_of_other_kinds { Reason::Kind(kind) } else { Reason::NoAlternative });
    failure.candidates.extend(candidates);
    Err(failure)
}

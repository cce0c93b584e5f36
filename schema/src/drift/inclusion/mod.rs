//! Checks whether every value of one schema is valid under another. Results for pairs of positions are memoized, so
//! that recursion ends and the cost is about linear. Undecidable cases count as not included.

use std::rc::Rc;

use serde_json::{Map, Value};

use super::equality::Equality;
use super::failure::{self, Failure, MOST_FAILURES, Reason, add};
use super::memo::Memo;
use super::samples::Sampler;
use super::sent::Sent;
use super::validity::is_valid;
use super::version::{Case, Conjunction, Version};
use crate::normalize::{Kinds, SchemaId};

mod arrays;
mod cover;
mod disjoint;
mod objects;
mod scalars;

/// The maximum number of branches whose failing values are searched.
const MOST_TRIED: usize = 32;
/// Places and combinations nest at most this deep.
const DEEPEST: usize = 96;

/// A question: are all values of the `left` schema, as far as they can be sent, values of the `right` one?
pub(crate) struct Inclusion<'v> {
    left: &'v Version<'v>,
    right: &'v Version<'v>,
    /// `true` if `right` is the types that read results: an undeclared integer is one of 64 bits then, and failures are
    /// reported by the places of the types.
    is_read: bool,
    sampler: Sampler<'v>,
    /// Values that the right schema singles out: the left one often allows them.
    singled_out: Sampler<'v>,
    equality: Equality<'v>,
    known: Memo<Question, Rc<Vec<Failure>>>,
    steps: usize,
    /// The steps of the search for schemas without common values, which has a limit of its own.
    disjoint_steps: usize,
    most_steps: usize,
    depth: usize,
}

/// A question about a place, or about one kind of values in a case of one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    left: Conjunction,
    kind: Option<Kinds>,
    sent: Sent,
    right: SchemaId,
}

/// One kind of values in one case of a place, as far as they can be sent.
struct Part<'c> {
    case: &'c Case,
    kind: Kinds,
    sent: &'c Sent,
    /// The values, if they are listed.
    values: Option<Vec<Value>>,
}

impl<'v> Inclusion<'v> {
    pub(crate) fn of(left: &'v Version<'v>, right: &'v Version<'v>) -> Self {
        Self {
            left,
            right,
            is_read: false,
            sampler: Sampler::of(left),
            singled_out: Sampler::of(right),
            equality: Equality::of(left, right),
            known: Memo::new(),
            steps: 0,
            disjoint_steps: 0,
            most_steps: left.most_comparisons(right),
            depth: 0,
        }
    }

    /// Asks whether types read all values of a schema.
    pub(super) fn read_by(types: &'v Version<'v>, left: &'v Version<'v>) -> Self {
        Self { is_read: true, ..Self::of(left, types) }
    }

    /// Returns the places where values of these kinds are not included; empty if all are.
    pub(super) fn failures(mut self, kinds: Kinds, sent: &Sent) -> Vec<Failure> {
        let (left, right) = (vec![self.left.root], self.right.root);
        if self.equality.equal(self.left.root, right) {
            return Vec::new();
        }
        self.of_kinds(kinds, &left, sent, right)
    }

    /// Returns the places where values of `left` are invalid. If `right` has no values, `never` is the reason.
    fn place_or(&mut self, left: &Conjunction, sent: &Sent, right: SchemaId, never: Reason) -> Vec<Failure> {
        if self.right.node(right).never {
            vec![Failure::new(never, self.sampler.values(left).to_vec())]
        } else {
            self.place(left, sent, right).to_vec()
        }
    }

    /// Returns the places where values of `left` are invalid under `right`.
    fn place(&mut self, left: &Conjunction, sent: &Sent, right: SchemaId) -> Rc<Vec<Failure>> {
        // Types refer to each other everywhere; a type that holds itself is one question.
        let right = if self.is_read { self.right.followed(right) } else { right };
        let asked = Question { left: left.clone(), kind: None, sent: sent.clone(), right };
        if let Some(known) = self.known.get(&asked) {
            return known;
        }
        let opened = self.known.open(&asked, Some(Rc::new(Vec::new())));
        let failures = Rc::new(self.of_kinds(Kinds::ALL, left, sent, right));
        self.known.close(opened, asked, Rc::clone(&failures), failures.is_empty());
        failures
    }

    fn of_kinds(&mut self, kinds: Kinds, left: &Conjunction, sent: &Sent, right: SchemaId) -> Vec<Failure> {
        self.steps += 1;
        if self.steps > self.most_steps {
            return vec![Failure::new(Reason::Undecided, Vec::new())];
        }
        if left.iter().any(|id| self.equality.equal(*id, right)) {
            return Vec::new();
        }
        let is_sent = |kind: &Kinds| *kind != Kinds::NULL || sent.null(&self.left.document.shapes);
        let kinds: Vec<Kinds> = kinds.each().filter(is_sent).collect();
        let mut failures = Vec::new();
        let cases = self.left.cases(left);
        for case in cases.iter() {
            for kind in kinds.iter().copied().filter(|kind| case.kinds(self.left).has(*kind)) {
                let part = Part { case, kind, sent, values: case.listed(self.left, kind) };
                add(&mut failures, self.part(&part, right));
            }
        }
        failure::of_untyped(&mut failures, cases.iter().map(|case| case.kinds(self.left)));
        failures
    }

    fn part(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let left = part.case.schemas().to_vec();
        let asked = Question { left, kind: Some(part.kind), sent: part.sent.clone(), right };
        if let Some(known) = self.known.get(&asked) {
            return known.to_vec();
        }
        self.steps += 1;
        if self.steps > self.most_steps || self.depth > DEEPEST {
            return vec![Failure::new(Reason::Undecided, Vec::new())];
        }
        let opened = self.known.open(&asked, None);
        self.depth += 1;
        let failures = self.part_in(part, right);
        self.depth -= 1;
        self.known.close(opened, asked, Rc::new(failures.clone()), failures.is_empty());
        failures
    }

    fn part_in(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        if let Some(values) = &part.values {
            return self.listed_values(values, right);
        }
        let version = self.right;
        let (node, assertions) = (version.node(right), version.assertions(right));
        let schemas = part.case.schemas();
        if schemas.iter().any(|id| self.equality.equal(*id, right)) {
            return Vec::new();
        }
        if node.never || node.kinds.is_some_and(|kinds| !kinds.has(part.kind)) {
            return vec![self.failure(part, Reason::Kind(part.kind))];
        }
        let mut failures = Vec::new();
        if node.allowed.is_some() {
            failures.push(self.failure(part, Reason::Unlisted));
        }
        let own = match part.kind {
            Kinds::INTEGER | Kinds::FRACTION => self.numbers(part, right),
            Kinds::STRING => self.texts(part, right),
            Kinds::ARRAY => self.arrays(part, right),
            Kinds::OBJECT => self.objects(part, right),
            _ => Vec::new(),
        };
        add(&mut failures, own);
        if assertions.unresolved.is_some() {
            failures.push(self.failure(part, Reason::Keyword("$ref")));
        }
        if assertions.unevaluated.is_some() {
            failures.push(self.failure(part, Reason::Keyword("unevaluatedProperties")));
        }
        for schema in node.reference.iter().chain(&node.all_of) {
            // More would not be reported.
            if failures.len() >= MOST_FAILURES {
                break;
            }
            add(&mut failures, self.part(part, *schema));
        }
        if let Some(branches) = &node.any_of {
            add(&mut failures, self.any_of(part, branches));
        }
        if let Some(branches) = &node.one_of {
            add(&mut failures, self.one_of(part, right, branches));
        }
        add(&mut failures, self.negation(part, right));
        add(&mut failures, self.condition(part, right));
        failures
    }

    fn listed_values(&mut self, values: &[Value], right: SchemaId) -> Vec<Failure> {
        let mut failures = Vec::new();
        for value in values {
            let reason = match is_valid(self.right, right, value) {
                Some(true) => continue,
                Some(false) => Reason::of_value(value),
                None => Reason::Undecided,
            };
            add(&mut failures, [Failure::new(reason, vec![value.clone()])]);
        }
        failure::of_both_booleans(failures)
    }

    fn any_of(&mut self, part: &Part<'_>, branches: &[SchemaId]) -> Vec<Failure> {
        let Err(mut failures) = self.taken(part, branches, false) else { return Vec::new() };
        let version = self.right;
        if self.is_read && branches.iter().all(|branch| version.node(*branch).required_alone().is_some()) {
            failures.iter_mut().for_each(|failure| failure.reason = Reason::Keyword("required"));
        }
        failures
    }

    /// Returns the first branch that takes all values. Otherwise fails with the failures of all branches. The list is
    /// empty if the branches together take all values, each value by only one branch with `once`.
    fn taken(&mut self, part: &Part<'_>, branches: &[SchemaId], once: bool) -> Result<SchemaId, Vec<Failure>> {
        let mut tried = Vec::new();
        for branch in branches {
            let failures = self.part(part, *branch);
            if failures.is_empty() {
                return Ok(*branch);
            }
            tried.push(failures);
        }
        if self.covers(part, branches, &tried, once) {
            return Err(Vec::new());
        }
        let whole = |reason| self.sampler.failure(part.case, part.kind, reason);
        Err(failure::of_alternatives(tried, part.kind, whole).unwrap_or_else(|mut failure| {
            // A value may only fail one branch: those that fail all come first.
            failure.candidates.sort_by_cached_key(|value| {
                let fails = |branch: &SchemaId| is_valid(self.right, *branch, value) == Some(false);
                !branches.iter().take(MOST_TRIED).all(fails)
            });
            vec![failure]
        }))
    }

    fn one_of(&mut self, part: &Part<'_>, right: SchemaId, branches: &[SchemaId]) -> Vec<Failure> {
        let taken = match self.taken(part, branches, true) {
            Ok(taken) => taken,
            Err(failures) => return failures,
        };
        let mut others = branches.iter().filter(|branch| **branch != taken);
        if self.has_same_choice(part, right) || others.all(|branch| self.disjoint(part, *branch)) {
            return Vec::new();
        }
        vec![self.failure_at(part, Reason::SeveralAlternatives, branches)]
    }

    /// Returns `true` if one of the left schemas asks for exactly one of the same branches.
    fn has_same_choice(&mut self, part: &Part<'_>, right: SchemaId) -> bool {
        let (left, wanted) = (self.left, self.right.node(right).one_of.as_deref().unwrap_or_default());
        part.case.schemas().iter().any(|id| {
            let offered = left.node(*id).one_of.as_deref().unwrap_or_default();
            offered.len() == wanted.len()
                && offered.iter().zip(wanted).all(|(left, right)| self.equality.equal(*left, *right))
        })
    }

    fn negation(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let Some(negated) = self.right.assertions(right).not else { return Vec::new() };
        let left = self.left;
        let mut known = part.case.assertions(left).filter_map(|asserted| asserted.not);
        let says_so = known.any(|other| self.equality.equal(other, negated));
        if says_so || self.disjoint(part, negated) {
            Vec::new()
        } else {
            vec![self.failure_at(part, Reason::Keyword("not"), &[negated])]
        }
    }

    fn condition(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let version = self.right;
        let Some(condition) = &version.assertions(right).condition else { return Vec::new() };
        let left = self.left;
        let says_so = part.case.assertions(left).filter_map(|asserted| asserted.condition.as_ref()).any(|other| {
            let same =
                |left: Option<SchemaId>, right: Option<SchemaId>, equality: &mut Equality<'_>| match (left, right) {
                    (_, None) => true,
                    (Some(left), Some(right)) => equality.equal(left, right),
                    (None, Some(_)) => false,
                };
            self.equality.equal(other.test, condition.test)
                && same(other.then, condition.then, &mut self.equality)
                && same(other.otherwise, condition.otherwise, &mut self.equality)
        });
        if says_so {
            return Vec::new();
        }
        let mut failures = Vec::new();
        if let Some(then) = condition.then {
            let found = if self.disjoint(part, condition.test) { Vec::new() } else { self.part(part, then) };
            if !found.is_empty() {
                let also = self.failure_at(part, Reason::Keyword("then"), &[condition.test]);
                add(&mut failures, with_candidates(found, &also.candidates));
            }
        }
        if let Some(otherwise) = condition.otherwise {
            let found = self.part(part, otherwise);
            if !found.is_empty() && !self.part(part, condition.test).is_empty() {
                let also = self.failure(part, Reason::Keyword("else"));
                add(&mut failures, with_candidates(found, &also.candidates));
            }
        }
        failures
    }

    /// Returns a failure of the part as a whole, for values of these schemas of the right.
    fn failure_at(&mut self, part: &Part<'_>, reason: Reason, schemas: &[SchemaId]) -> Failure {
        let mut failure = self.failure(part, reason);
        for schema in schemas {
            let values = self.singled_out.values(&vec![*schema]);
            for value in values.iter() {
                // A discriminating object is completed with the properties that the left side requires.
                let filled = value.as_object().and_then(|given| self.sampler.object_with(part.case, given));
                let keyed = value.as_object().and_then(|given| self.with_keys_of(part, given));
                let objects = filled.into_iter().chain(keyed).map(Value::Object);
                failure.candidates.splice(0..0, objects.chain([value.clone()]));
            }
        }
        failure
    }

    /// Returns an object with the same keys, and values that the left asks for.
    fn with_keys_of(&mut self, part: &Part<'_>, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut own = Map::new();
        for key in given.keys() {
            own.insert(key.clone(), self.sampler.property(part.case, key)?.first()?.clone());
        }
        self.sampler.object_with(part.case, &own)
    }

    /// Returns a failure of the part as a whole.
    fn failure(&mut self, part: &Part<'_>, reason: Reason) -> Failure {
        self.sampler.failure(part.case, part.kind, reason)
    }
}

/// Failures at this place with more values to try.
fn with_candidates(failures: Vec<Failure>, candidates: &[Value]) -> Vec<Failure> {
    let more = |mut failure: Failure| {
        failure.candidates.extend(candidates.iter().cloned());
        failure
    };
    failures.into_iter().map(more).collect()
}

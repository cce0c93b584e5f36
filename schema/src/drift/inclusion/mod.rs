//! Checks whether every value of one schema is valid under another. Results for pairs of positions are memoized, so
//! that recursion ends and the cost is about linear. Undecidable cases count as not included.

use std::cell::OnceCell;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::failure::{self, Failure, MOST_FAILURES, Reason, add};
use super::memo::Memo;
use super::samples::Sampler;
use super::types::Sent;
use super::validity::is_valid;
use super::version::{Case, Conjunction, Equality, Version};
use crate::normalize::{Assertions, Choice, Kinds, SchemaId};

mod overlap;
mod parts;

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
    equality: OnceCell<Equality>,
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
            equality: OnceCell::new(),
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
        self.of_kinds(kinds, &vec![SchemaId::ROOT], sent, SchemaId::ROOT)
    }

    /// Returns the places where values of `left` are invalid under `right`. If `right` is `false`, `never` is the reason.
    fn place(&mut self, left: &Conjunction, sent: &Sent, right: SchemaId, never: Reason) -> Vec<Failure> {
        if self.right.node(right).never {
            return vec![Failure::new(never, self.sampler.values(left).to_vec())];
        }
        // Types refer to each other everywhere; a type that holds itself is one question.
        let right = if self.is_read { self.right.followed(right) } else { right };
        let asked = Question { left: left.clone(), kind: None, sent: sent.clone(), right };
        self.answer(asked, &mut |inclusion| inclusion.of_kinds(Kinds::ALL, left, sent, right))
    }

    fn part(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let left = part.case.schemas.clone();
        let asked = Question { left, kind: Some(part.kind), sent: part.sent.clone(), right };
        self.answer(asked, &mut |inclusion| inclusion.part_in(part, right))
    }

    /// Answers a question once. A place counts as fine inside of itself; a part does not, because it may recur for the
    /// same value.
    fn answer(&mut self, asked: Question, find: &mut dyn FnMut(&mut Self) -> Vec<Failure>) -> Vec<Failure> {
        if let Some(known) = self.known.get(&asked) {
            return known.to_vec();
        }
        self.steps += 1;
        if self.steps > self.most_steps || self.depth > DEEPEST {
            return vec![Failure::new(Reason::Undecided, Vec::new())];
        }
        let is_part = asked.kind.is_some();
        self.known.open(&asked, (!is_part).then(Rc::default));
        self.depth += usize::from(is_part);
        let failures = find(self);
        self.depth -= usize::from(is_part);
        self.known.close(asked, Rc::new(failures.clone()), failures.is_empty());
        failures
    }

    /// Returns `true` if two schemas are certainly equal.
    fn equal(&self, left: SchemaId, right: SchemaId) -> bool {
        // A version is compared with itself for each of its choices.
        let known = if std::ptr::eq(self.left, self.right) { &self.left.equal_to_itself } else { &self.equality };
        let equality = known.get_or_init(|| Equality::of(self.left, self.right));
        equality.equal(self.left.followed(left), self.right.followed(right))
    }

    fn of_kinds(&mut self, kinds: Kinds, left: &Conjunction, sent: &Sent, right: SchemaId) -> Vec<Failure> {
        if left.iter().any(|id| self.equal(*id, right)) {
            return Vec::new();
        }
        let kinds = if sent.may_be_null(&self.left.document.shapes) { kinds } else { kinds.without(Kinds::NULL) };
        let mut failures = Vec::new();
        let mut all = Kinds::NONE;
        for case in self.left.cases(left).iter() {
            let possible = case.kinds(self.left);
            all = all | possible;
            for kind in possible.intersection(kinds).each() {
                let part = Part { case, kind, sent, values: case.listed(self.left, kind) };
                add(&mut failures, self.part(&part, right));
            }
        }
        if all == Kinds::ALL {
            failure::of_untyped(&mut failures);
        }
        failures
    }

    fn part_in(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        if let Some(values) = &part.values {
            return self.listed_values(part.kind, values, right);
        }
        let (node, assertions) = (self.right.node(right), self.right.assertions(right));
        if part.case.schemas.iter().any(|id| self.equal(*id, right)) {
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
            failures.push(self.keyword(part, "$ref", Vec::new()));
        }
        if assertions.unevaluated.is_some() {
            failures.push(self.keyword(part, "unevaluatedProperties", Vec::new()));
        }
        for schema in &node.parts {
            // More would not be reported.
            if failures.len() >= MOST_FAILURES {
                break;
            }
            add(&mut failures, self.part(part, *schema));
        }
        for Choice { branches, is_exclusive } in &node.choices {
            let found = if *is_exclusive { self.one_of(part, branches) } else { self.any_of(part, branches) };
            add(&mut failures, found);
        }
        add(&mut failures, Vec::from_iter(self.negation(part, right)));
        add(&mut failures, self.condition(part, right));
        failures
    }

    fn listed_values(&mut self, kind: Kinds, values: &[Value], right: SchemaId) -> Vec<Failure> {
        let verdicts: Vec<_> = values.iter().map(|value| (value, is_valid(self.right, right, value))).collect();
        let is_refused = |value: bool| verdicts.contains(&(&value.into(), Some(false)));
        // `null` is the whole kind, and so are both booleans.
        let is_whole = kind == Kinds::NULL || (is_refused(true) && is_refused(false));
        let mut failures = Vec::new();
        for (value, verdict) in &verdicts {
            let reason = match verdict {
                Some(true) => continue,
                Some(false) if is_whole => Reason::Kind(kind),
                Some(false) => Reason::Value((*value).clone()),
                None => Reason::Undecided,
            };
            add(&mut failures, vec![Failure::new(reason, vec![(*value).clone()])]);
        }
        failures
    }

    fn any_of(&mut self, part: &Part<'_>, branches: &[SchemaId]) -> Vec<Failure> {
        let Err(mut failures) = self.taken(part, branches, false) else { return Vec::new() };
        if self.is_read && branches.iter().all(|branch| self.right.node(*branch).required_alone().is_some()) {
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
        let candidates = failure::of_all(&tried);
        let is_kind = |failure: &Failure| failure.steps.is_empty() && matches!(failure.reason, Reason::Kind(_));
        tried.retain(|failures| !failures.iter().any(is_kind));
        // If only one branch has values of the kind, it is the one that counts.
        if tried.len() == 1 {
            return Err(tried.swap_remove(0));
        }
        let reason = if tried.is_empty() { Reason::Kind(part.kind) } else { Reason::NoAlternative };
        let mut failure = self.failure(part, reason);
        failure.candidates.extend(candidates);
        // A value may only fail one branch: those that fail all come first.
        failure.candidates = failure::sorted(failure.candidates, &mut |value| {
            let fails = |branch: &SchemaId| is_valid(self.right, *branch, value) == Some(false);
            branches.iter().take(MOST_TRIED).all(fails)
        });
        Err(vec![failure])
    }

    fn one_of(&mut self, part: &Part<'_>, branches: &[SchemaId]) -> Vec<Failure> {
        let taken = match self.taken(part, branches, true) {
            Ok(taken) => taken,
            Err(failures) => return failures,
        };
        // One of the left schemas may ask for exactly one of the same branches.
        let is_same = |offered: &Choice| {
            let mut pairs = offered.branches.iter().zip(branches);
            offered.is_exclusive
                && offered.branches.len() == branches.len()
                && pairs.all(|(left, right)| self.equal(*left, *right))
        };
        let is_same = part.case.schemas.iter().any(|id| self.left.node(*id).choices.iter().any(is_same));
        let mut others = branches.iter().filter(|branch| **branch != taken);
        if is_same || others.all(|branch| self.is_disjoint(part, *branch, 0)) {
            return Vec::new();
        }
        vec![self.failure_at(part, Reason::SeveralAlternatives, branches)]
    }

    /// Returns `true` if one of the left schemas states a schema, in a place of its assertions, that equals this one.
    fn states(&self, part: &Part<'_>, wanted: SchemaId, stated: &dyn Fn(&Assertions) -> Option<SchemaId>) -> bool {
        let mut known = part.case.assertions(self.left);
        known.any(|asserted| stated(asserted).is_some_and(|known| self.equal(known, wanted)))
    }

    fn negation(&mut self, part: &Part<'_>, right: SchemaId) -> Option<Failure> {
        let negated = self.right.assertions(right).not?;
        let holds = self.states(part, negated, &|asserted| asserted.not) || self.is_disjoint(part, negated, 0);
        (!holds).then(|| self.failure_at(part, Reason::Keyword("not"), &[negated]))
    }

    fn condition(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let Some(condition) = &self.right.assertions(right).condition else { return Vec::new() };
        let mut failures = Vec::new();
        let equal = |known: Option<SchemaId>, wanted: Option<SchemaId>| {
            wanted.is_none_or(|wanted| known.is_some_and(|known| self.equal(known, wanted)))
        };
        if part.case.assertions(self.left).filter_map(|asserted| asserted.condition.as_ref()).any(|known| {
            let has_test = self.equal(known.test, condition.test);
            has_test && equal(known.then, condition.then) && equal(known.otherwise, condition.otherwise)
        }) {
            return failures;
        }
        let then = condition.then.filter(|_| !self.is_disjoint(part, condition.test, 0));
        for (branch, keyword, examples) in
            &[(then, "then", &[condition.test][..]), (condition.otherwise, "else", &[][..])]
        {
            let mut found = branch.map(|branch| self.part(part, branch)).unwrap_or_default();
            if found.is_empty() || (*keyword == "else" && self.part(part, condition.test).is_empty()) {
                continue;
            }
            let also = self.failure_at(part, Reason::Keyword(keyword), examples);
            found.iter_mut().for_each(|failure| failure.candidates.extend_from_slice(&also.candidates));
            add(&mut failures, found);
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
                failure.try_first(objects.chain([value.clone()]).collect());
            }
        }
        failure
    }

    /// Returns an object with the same keys, and values that the left asks for.
    fn with_keys_of(&mut self, part: &Part<'_>, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let mut own = Map::new();
        for key in given.keys() {
            own.insert(key.clone(), self.sampler.first(part.case, key)?);
        }
        self.sampler.object_with(part.case, &own)
    }

    /// Returns a failure of the part as a whole.
    fn failure(&mut self, part: &Part<'_>, reason: Reason) -> Failure {
        self.sampler.failure(part.case, part.kind, reason)
    }

    /// Returns a failure of the part at a keyword, with candidates that are tried before all others.
    fn keyword(&mut self, part: &Part<'_>, keyword: &'static str, first: Vec<Value>) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        failure.try_first(first);
        failure
    }

    /// Returns the schemas and the types of a property, or of all that are not declared; `None` if it is forbidden or
    /// never sent.
    fn property_of(&self, part: &Part<'_>, key: Option<&str>) -> Option<(Conjunction, Sent)> {
        let asked = match key {
            Some(key) => part.case.property(self.left, key),
            None => part.case.others(self.left),
        };
        Some((asked?, part.sent.property(&self.left.document.shapes, key)?))
    }
}

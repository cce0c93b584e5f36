//! Checks whether the types of the old schema can read every value of the new one. Types are tolerant about results:
//! bounds and patterns are ignored, enums are open, undeclared keys are skipped.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::cases::{Case, Cases};
use super::failure::{self, Failure, Reason, add};
use super::memo::Memo;
use super::pattern::{self, Patterns};
use super::samples::{Sampler, UNDECLARED};
use super::types::{is_open, printed_at};
use super::version::{Conjunction, Version};
use crate::normalize::Kinds;
use crate::number::ByValue;
use crate::shape::{Presence, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};
use crate::texts::text_or_json;

/// Places, and unions in unions, nest at most this deep.
const DEEPEST: usize = 64;

/// A check whether the old types read every possible answer of the server.
pub(super) struct Answers<'v> {
    /// The schema of the server's answers now.
    now: &'v Version<'v>,
    /// The version whose types read it.
    before: &'v Version<'v>,
    cases: Cases<'v>,
    sampler: Sampler<'v>,
    patterns: Patterns,
    known: Memo<Question, Rc<Vec<Failure>>>,
    steps: usize,
    most_steps: usize,
    depth: usize,
}

/// A question about a place, or about one kind of values in a case of one.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Question {
    now: Conjunction,
    kind: Option<Kinds>,
    slot: Slot,
}

impl<'v> Answers<'v> {
    pub(super) fn of(now: &'v Version<'v>, before: &'v Version<'v>) -> Self {
        Self {
            now,
            before,
            cases: Cases::of(now),
            sampler: Sampler::of(now),
            patterns: Patterns::default(),
            known: Memo::new(),
            steps: 0,
            most_steps: now.most_comparisons(before),
            depth: 0,
        }
    }

    /// Returns the places where an answer is not read; empty if all answers are read.
    pub(super) fn failures(mut self) -> Vec<Failure> {
        let root = Slot { shape: self.before.document.root, nullable: false };
        self.place(&vec![self.now.root], root).to_vec()
    }

    fn place(&mut self, now: &Conjunction, slot: Slot) -> Rc<Vec<Failure>> {
        let asked = Question { now: now.clone(), kind: None, slot };
        if let Some(known) = self.known.get(&asked) {
            return known;
        }
        if self.depth > DEEPEST {
            return Rc::new(vec![Failure::new(Reason::Undecided, Vec::new())]);
        }
        let opened = self.known.open(&asked, Some(Rc::new(Vec::new())));
        self.depth += 1;
        let mut failures = Vec::new();
        let cases = self.cases.cases(now);
        for case in cases.iter() {
            for kind in case.kinds(self.now).each() {
                if !(kind == Kinds::NULL && slot.nullable) {
                    add(&mut failures, self.part(case, kind, slot.shape, 0));
                }
            }
        }
        self.depth -= 1;
        failure::of_untyped(&mut failures, cases.iter().map(|case| case.kinds(self.now)));
        let failures = Rc::new(failures);
        self.known.close(opened, asked, Rc::clone(&failures), failures.is_empty());
        failures
    }

    fn part(&mut self, case: &Case, kind: Kinds, shape: ShapeId, depth: usize) -> Vec<Failure> {
        let slot = Slot { shape, nullable: false };
        let asked = Question { now: case.schemas().to_vec(), kind: Some(kind), slot };
        if let Some(known) = self.known.get(&asked) {
            return known.to_vec();
        }
        self.steps += 1;
        if self.steps > self.most_steps || depth > DEEPEST {
            return vec![Failure::new(Reason::Undecided, Vec::new())];
        }
        let opened = self.known.open(&asked, None);
        let failures = self.part_in(case, kind, shape, depth);
        self.known.close(opened, asked, Rc::new(failures.clone()), failures.is_empty());
        failures
    }

    fn part_in(&mut self, case: &Case, kind: Kinds, shape: ShapeId, depth: usize) -> Vec<Failure> {
        if let Some(values) = case.listed(self.now, kind, &mut self.patterns) {
            return self.listed_values(values, shape);
        }
        let before = self.before;
        let refused = |answers: &mut Self, reason| vec![answers.sampler.failure(case, kind, reason)];
        match (before.document.shapes.get(shape), kind) {
            (shape @ (Shape::Anything | Shape::AnyOf(_) | Shape::Number | Shape::Text | Shape::FreeMap), _)
                if shape.kinds().has(kind) =>
            {
                Vec::new()
            }
            (Shape::I64, Kinds::INTEGER) => self.integers(case, i64::MIN.into(), i64::MAX.into()),
            (Shape::U64, Kinds::INTEGER) => self.integers(case, 0, u64::MAX.into()),
            (Shape::TextEnum(values), Kinds::STRING) if is_open(before.document.role, values) => Vec::new(),
            (shape @ (Shape::TextEnum(_) | Shape::LiteralEnum(_)), _) if shape.kinds().has(kind) => {
                refused(self, Reason::Unlisted)
            }
            (shape, Kinds::ARRAY) if shape.is_array() => {
                let mut failures = self.items(case, |index| shape.item(index));
                if let Shape::Tuple(slots) = shape {
                    failures.extend(self.of_other_length(case, slots.len() as u64));
                }
                failures
            }
            (Shape::Map(slot), Kinds::OBJECT) => self.map(case, *slot),
            (Shape::Struct(object), Kinds::OBJECT) => self.object(case, object),
            (Shape::Union(union), _) => self.union_branches(case, kind, union, depth),
            (Shape::Named(inner), Kinds::NULL) if inner.nullable => Vec::new(),
            (Shape::Named(inner), _) => self.part(case, kind, inner.shape, depth + 1),
            _ => refused(self, Reason::Kind(kind)),
        }
    }

    fn listed_values(&mut self, values: Vec<Value>, shape: ShapeId) -> Vec<Failure> {
        let slot = Slot { shape, nullable: false };
        let before = &self.before.document;
        let listed: Option<HashSet<ByValue<'_>>> = match before.shapes.get(shape) {
            Shape::LiteralEnum(values) => Some(values.iter().map(ByValue).collect()),
            _ => None,
        };
        let is_read = |value: &Value| match &listed {
            Some(listed) => listed.contains(&ByValue(value)),
            None => printed_at(before, slot, value).is_some(),
        };
        let refused = values.into_iter().filter(|value| !is_read(value));
        let mut failures = Vec::new();
        add(&mut failures, refused.map(|value| Failure::new(Reason::of_value(&value), vec![value])));
        failure::of_both_booleans(failures)
    }

    /// Checks integers; without bounds, the default integer type must hold them.
    fn integers(&mut self, case: &Case, least: i128, most: i128) -> Vec<Failure> {
        let (low, high) = case.integers(self.now);
        let (implied_low, implied_high) =
            (i128::from(i64::MIN), if low.is_some_and(|low| low >= 0) { most } else { i64::MAX.into() });
        let mut failures = Vec::new();
        let (lowest, highest) =
            (low.unwrap_or(implied_low).max(implied_low), high.unwrap_or(implied_high).min(u64::MAX.into()));
        for (keyword, fails, end) in [("minimum", lowest < least, lowest), ("maximum", highest > most, highest)] {
            if fails {
                let mut failure = self.sampler.failure(case, Kinds::INTEGER, Reason::Keyword(keyword));
                failure.candidates.splice(0..0, serde_json::Number::from_i128(end).map(Value::Number));
                failures.push(failure);
            }
        }
        failures
    }

    fn items(&mut self, case: &Case, slot_of: impl Fn(usize) -> Option<Slot>) -> Vec<Failure> {
        let mut failures = Vec::new();
        let most = case.most_items(self.now);
        for index in 0..=case.prefix(self.now) {
            if most.is_some_and(|most| index as u64 >= most) {
                break;
            }
            let (Some(asked), Some(slot)) = (case.item(self.now, index), slot_of(index)) else { break };
            let found = self.place(&asked, slot).to_vec();
            add(&mut failures, self.sampler.at(case, found, index, case.prefix(self.now) > index));
        }
        failures
    }

    fn of_other_length(&mut self, case: &Case, length: u64) -> Option<Failure> {
        if (case.fewest_items(self.now), case.most_items(self.now)) == (length, Some(length)) {
            return None;
        }
        let mut failure = self.sampler.failure(case, Kinds::ARRAY, Reason::Keyword("items"));
        for other in [length.saturating_sub(1), length + 1, case.fewest_items(self.now)] {
            failure.candidates.extend(self.sampler.array_of(case, other));
        }
        Some(failure)
    }

    fn map(&mut self, case: &Case, slot: Slot) -> Vec<Failure> {
        let now = self.now;
        let keys = case.keys(now);
        let mut failures = Vec::new();
        for key in &keys {
            add(&mut failures, self.property(case, key, slot));
        }
        add(&mut failures, self.others(case, slot, &keys));
        failures
    }

    fn object(&mut self, case: &Case, object: &StructShape) -> Vec<Failure> {
        let now = self.now;
        let mut failures = Vec::new();
        for field in &object.fields {
            if field.presence == Presence::Required && !case.requires(now, &field.wire) {
                add(&mut failures, [self.sampler.missing(case, &field.wire, true)]);
            }
            let nullable = field.slot.nullable || field.presence == Presence::Optional;
            add(&mut failures, self.property(case, &field.wire, Slot { nullable, ..field.slot }));
        }
        if let Unknown::Keep(slot) = object.unknown {
            let is_known = |key: &str| object.tag.as_deref() == Some(key) || object.field(key).is_some();
            let keys = case.keys(now);
            for key in keys.iter().filter(|key| !is_known(key)) {
                add(&mut failures, self.property(case, key, slot));
            }
            add(&mut failures, self.others(case, slot, &keys));
        }
        for sets in &object.require_any {
            if !sets.iter().any(|set| set.iter().all(|key| case.requires(now, key))) {
                failures.push(self.sampler.failure(case, Kinds::OBJECT, Reason::Keyword("required")));
            }
        }
        failures
    }

    fn property(&mut self, case: &Case, key: &str, slot: Slot) -> Vec<Failure> {
        let Some(asked) = case.property(self.now, key, &mut self.patterns) else { return Vec::new() };
        let mut found = self.place(&asked, slot).to_vec();
        if asked.is_empty() {
            // The server does not declare it any more: one reason is enough.
            let candidates = found.iter().flat_map(|failure| failure.candidates.clone()).collect();
            found = found.first().map(|_| Failure::new(Reason::Key, candidates)).into_iter().collect();
        }
        self.sampler.under(case, found, key, &["properties", key])
    }

    fn others(&mut self, case: &Case, slot: Slot, known: &[&str]) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (pattern, asked) in case.patterns(self.now) {
            let Some(asked) = asked else { continue };
            let found = self.place(&asked, slot).to_vec();
            let key = pattern::sample(pattern).unwrap_or_default();
            add(&mut failures, self.sampler.under(case, found, &key, &["patternProperties", pattern]));
        }
        let Some(asked) = case.others(self.now) else { return failures };
        let key = UNDECLARED.into_iter().find(|key| !known.contains(key));
        let found = self.place(&asked, slot).to_vec();
        add(&mut failures, self.sampler.under(case, found, key.unwrap_or_default(), &["additionalProperties"]));
        failures
    }

    fn union_branches(&mut self, case: &Case, kind: Kinds, union: &UnionShape, depth: usize) -> Vec<Failure> {
        if let Some(tag) = &union.tag {
            if kind != Kinds::OBJECT {
                return vec![self.sampler.failure(case, kind, Reason::Kind(kind))];
            }
            return self.tagged(case, &tag.name, union, depth);
        }
        let mut tried = Vec::new();
        for branch in &union.branches {
            let failures = self.part(case, kind, branch.shape, depth + 1);
            if failures.is_empty() {
                return failures;
            }
            tried.push(failures);
        }
        let whole = |reason| self.sampler.failure(case, kind, reason);
        failure::of_alternatives(tried, kind, whole).unwrap_or_else(|failure| vec![failure])
    }

    /// Checks a tagged union: one property selects the branch, and unlisted tags are read as plain values.
    fn tagged(&mut self, case: &Case, tag: &str, union: &UnionShape, depth: usize) -> Vec<Failure> {
        let Some(asked) = case.property(self.now, tag, &mut self.patterns) else {
            return vec![self.sampler.missing(case, tag, true)];
        };
        let mut failures = Vec::new();
        if !case.requires(self.now, tag) {
            failures.push(self.sampler.missing(case, tag, true));
        }
        let is_text = union.tag.as_ref().is_some_and(|tag| tag.is_text);
        let cases = self.cases.cases(&asked);
        let mut branches: Vec<ShapeId> = Vec::new();
        for tags in cases.iter() {
            let is_wrong = |kind: Kinds| (kind == Kinds::STRING) != is_text;
            let wrong = match tags.values(self.now) {
                Some(values) => values.iter().map(Kinds::of).find(|kind| is_wrong(*kind)),
                None => tags.kinds(self.now).each().find(|kind| is_wrong(*kind)),
            };
            if let Some(kind) = wrong {
                let failure = self.sampler.failure(tags, kind, Reason::Kind(kind));
                add(&mut failures, self.sampler.under(case, vec![failure], tag, &["properties", tag]));
            }
            let listed: Option<Vec<String>> =
                tags.values(self.now).map(|values| values.iter().map(text_or_json).collect());
            let may_be = |known: &Option<String>| match (&listed, known) {
                (Some(listed), Some(known)) => listed.contains(known),
                _ => true,
            };
            branches.extend(union.branches.iter().filter(|branch| may_be(&branch.tag)).map(|branch| branch.shape));
        }
        branches.sort_unstable();
        branches.dedup();
        for branch in branches {
            add(&mut failures, self.part(case, Kinds::OBJECT, branch, depth + 1));
        }
        failures
    }
}

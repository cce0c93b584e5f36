//! Checks whether the types of the old schema can read every value of the new one. Types are tolerant about results:
//! bounds and patterns are ignored, enums are open, undeclared keys are skipped.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::cases::{Asked, Case, Cases};
use super::failure::{self, Failure, Reason, Unmeant, add};
use super::memo::Memo;
use super::pattern::{self, Patterns};
use super::samples::{Sampler, UNDECLARED};
use super::types::{is_open, printed_at};
use super::version::{Conjunction, Version};
use crate::normalize::Kinds;
use crate::number::ByValue;
use crate::shape::{Presence, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};

/// Places, and unions in unions, nest at most this deep.
const DEEPEST: usize = 64;

/// The question whether what the server may answer now is read by the types of before.
pub(super) struct Answers<'v, 'a, 'b> {
    /// The schema of the server's answers now.
    now: &'v Version<'a>,
    /// The version whose types read it.
    before: &'v Version<'b>,
    cases: Cases<'v, 'a>,
    sampler: Sampler<'v, 'a>,
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

impl<'v, 'a, 'b> Answers<'v, 'a, 'b> {
    pub(super) fn of(now: &'v Version<'a>, before: &'v Version<'b>) -> Self {
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

    /// Where an answer is not read; nowhere where all are.
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
                    let found = self.part(case, kind, slot.shape, 0);
                    add(&mut failures, found);
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
        let refused = |answers: &mut Self, reason| vec![answers.failure(case, kind, reason)];
        match (before.document.shapes.get(shape), kind) {
            (Shape::Anything, _)
            | (Shape::Text, Kinds::STRING)
            | (Shape::FreeMap, Kinds::OBJECT)
            | (Shape::Number, Kinds::INTEGER | Kinds::FRACTION) => Vec::new(),
            (Shape::AnyOf(kinds), kind) if kinds.has(kind) => Vec::new(),
            (Shape::I64, Kinds::INTEGER) => self.integers(case, i64::MIN.into(), i64::MAX.into()),
            (Shape::U64, Kinds::INTEGER) => self.integers(case, 0, u64::MAX.into()),
            (Shape::TextEnum(values), Kinds::STRING) if is_open(before.document.role, values) => Vec::new(),
            (Shape::TextEnum(_) | Shape::LiteralEnum(_), _) => {
                let takes_kind = match before.document.shapes.get(shape) {
                    Shape::LiteralEnum(values) => values.iter().any(|value| kind.intersects(Kinds::of(value))),
                    _ => kind == Kinds::STRING,
                };
                refused(self, if takes_kind { Reason::Unlisted } else { Reason::Kind(kind) })
            }
            (shape @ (Shape::List(_) | Shape::Prefixed(..)), Kinds::ARRAY) => {
                self.items(case, |index| shape.item(index))
            }
            (Shape::Tuple(slots), Kinds::ARRAY) => {
                let length = slots.len() as u64;
                let (least, most) = (case.fewest_items(self.now), case.most_items(self.now));
                let mut failures = self.items(case, |index| slots.get(index).copied());
                if least != length || most != Some(length) {
                    failures.push(self.of_other_length(case, length));
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

    fn failure(&mut self, case: &Case, kind: Kinds, reason: Reason) -> Failure {
        Failure::new(reason, self.sampler.of_case(case, kind).to_vec())
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

    /// Integers without a bound are what a type without one takes.
    fn integers(&mut self, case: &Case, least: i128, most: i128) -> Vec<Failure> {
        let (low, high) = case.integers(self.now);
        let (implied_low, implied_high) =
            (i128::from(i64::MIN), if low.is_some_and(|low| low >= 0) { most } else { i64::MAX.into() });
        let mut failures = Vec::new();
        let (lowest, highest) =
            (low.unwrap_or(implied_low).max(implied_low), high.unwrap_or(implied_high).min(u64::MAX.into()));
        for (keyword, fails, end) in [("minimum", lowest < least, lowest), ("maximum", highest > most, highest)] {
            if fails {
                let mut failure = self.failure(case, Kinds::INTEGER, Reason::Keyword(keyword));
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
            let (Asked::Of(asked), Some(slot)) = (case.item(self.now, index), slot_of(index)) else { break };
            let found = self.place(&asked, slot).to_vec();
            let step = index.to_string();
            let is_placed = case.prefix(self.now) > index;
            let steps: &[&str] = if is_placed { &["prefixItems", &step] } else { &["items"] };
            let least = usize::try_from(case.fewest_items(self.now)).unwrap_or(usize::MAX);
            let found: Vec<_> = found
                .into_iter()
                .map(|failure| {
                    failure.below(steps, |value| {
                        let length = least.max(index + 1);
                        let array = (length < 200).then(|| self.sampler.array(case, length, Some((index, value))));
                        array.flatten().into_iter().collect()
                    })
                })
                .collect();
            add(&mut failures, found);
        }
        failures
    }

    fn of_other_length(&mut self, case: &Case, length: u64) -> Failure {
        let mut failure = self.failure(case, Kinds::ARRAY, Reason::Keyword("items"));
        for other in [length.saturating_sub(1), length + 1, case.fewest_items(self.now)] {
            let other = usize::try_from(other).ok().filter(|other| *other < 200);
            failure.candidates.extend(other.and_then(|other| self.sampler.array(case, other, None)));
        }
        failure
    }

    fn map(&mut self, case: &Case, slot: Slot) -> Vec<Failure> {
        let keys: Vec<String> = case.keys(self.now).into_iter().map(str::to_owned).collect();
        let mut failures = Vec::new();
        for key in &keys {
            let found = self.property(case, key, slot);
            add(&mut failures, found);
        }
        let found = self.others(case, slot, &keys);
        add(&mut failures, found);
        failures
    }

    fn object(&mut self, case: &Case, object: &StructShape) -> Vec<Failure> {
        let mut failures = Vec::new();
        for field in &object.fields {
            let found = match field.presence {
                Presence::Required if !case.requires(self.now, &field.wire) => {
                    vec![self.missing(case, &field.wire)]
                }
                _ => Vec::new(),
            };
            add(&mut failures, found);
            let nullable = field.slot.nullable || field.presence == Presence::Optional;
            let found = self.property(case, &field.wire, Slot { nullable, ..field.slot });
            add(&mut failures, found);
        }
        if let Unknown::Keep(slot) = object.unknown {
            let is_known = |key: &&str| {
                object.tag.as_deref() == Some(*key) || object.fields.iter().any(|field| field.wire == **key)
            };
            let keys: Vec<String> = case.keys(self.now).into_iter().map(str::to_owned).collect();
            for key in keys.iter().filter(|key| !is_known(&key.as_str())) {
                let found = self.property(case, key, slot);
                add(&mut failures, found);
            }
            let found = self.others(case, slot, &keys);
            add(&mut failures, found);
        }
        for sets in &object.require_any {
            let now = self.now;
            if !sets.iter().any(|set| set.iter().all(|key| case.requires(now, key))) {
                failures.push(self.failure(case, Kinds::OBJECT, Reason::Keyword("required")));
            }
        }
        failures
    }

    fn missing(&mut self, case: &Case, key: &str) -> Failure {
        let mut failure = self.failure(case, Kinds::OBJECT, Reason::Required { declared: true });
        for candidate in failure.candidates.clone() {
            if let Value::Object(mut object) = candidate {
                object.remove(key);
                failure.candidates.push(Value::Object(object));
            }
        }
        failure.steps = vec![key.to_owned(), "properties".to_owned()];
        failure
    }

    fn property(&mut self, case: &Case, key: &str, slot: Slot) -> Vec<Failure> {
        let Asked::Of(asked) = case.property(self.now, key, &mut self.patterns) else { return Vec::new() };
        let mut found = self.place(&asked, slot).to_vec();
        if asked.is_empty() {
            // The server does not declare it any more: one reason is enough.
            let candidates = found.iter().flat_map(|failure| failure.candidates.clone()).collect();
            found = found.first().map(|_| Failure::new(Reason::Key, candidates)).into_iter().collect();
        }
        self.under(case, found, key, &["properties", key])
    }

    fn others(&mut self, case: &Case, slot: Slot, known: &[String]) -> Vec<Failure> {
        let mut failures = Vec::new();
        for (pattern, asked) in case.patterns(self.now) {
            let Asked::Of(asked) = asked else { continue };
            let found = self.place(&asked, slot).to_vec();
            let key = pattern::sample(pattern).unwrap_or_default();
            let found = self.under(case, found, &key, &["patternProperties", pattern]);
            add(&mut failures, found);
        }
        let Asked::Of(asked) = case.others(self.now) else { return failures };
        let key = UNDECLARED.into_iter().find(|key| !known.iter().any(|known| known == key));
        let found = self.place(&asked, slot).to_vec();
        let found = self.under(case, found, key.unwrap_or_default(), &["additionalProperties"]);
        add(&mut failures, found);
        failures
    }

    fn under(&mut self, case: &Case, found: Vec<Failure>, key: &str, steps: &[&str]) -> Vec<Failure> {
        let below = |failure: Failure| {
            failure.below(steps, |value| {
                let smallest = self.sampler.object(case, Some((key, value))).map(Value::Object);
                smallest.into_iter().chain(self.sampler.largest_with(case, key, value)).collect()
            })
        };
        found.into_iter().map(below).collect()
    }

    fn union_branches(&mut self, case: &Case, kind: Kinds, union: &UnionShape, depth: usize) -> Vec<Failure> {
        if let Some(tag) = &union.tag {
            if kind != Kinds::OBJECT {
                return vec![self.failure(case, kind, Reason::Kind(kind))];
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
        match failure::of_alternatives(tried) {
            Ok(meant) => meant,
            Err(Unmeant { all_of_other_kinds, candidates }) => {
                let reason = if all_of_other_kinds { Reason::Kind(kind) } else { Reason::NoAlternative };
                let mut failure = self.failure(case, kind, reason);
                failure.candidates.extend(candidates);
                vec![failure]
            }
        }
    }

    /// Which branch reads an object hangs on one property; tags that no branch has are read as they come.
    fn tagged(&mut self, case: &Case, tag: &str, union: &UnionShape, depth: usize) -> Vec<Failure> {
        let Asked::Of(asked) = case.property(self.now, tag, &mut self.patterns) else {
            return vec![self.missing(case, tag)];
        };
        let mut failures = Vec::new();
        if !case.requires(self.now, tag) {
            failures.push(self.missing(case, tag));
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
                let candidates = self.sampler.of_case(tags, kind).to_vec();
                let failure = Failure::new(Reason::Kind(kind), candidates);
                let found = self.under(case, vec![failure], tag, &["properties", tag]);
                add(&mut failures, found);
            }
            let listed: Option<Vec<String>> = tags.values(self.now).map(|values| {
                values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
            });
            let may_be = |known: &Option<String>| match (&listed, known) {
                (Some(listed), Some(known)) => listed.contains(known),
                _ => true,
            };
            branches.extend(union.branches.iter().filter(|branch| may_be(&branch.tag)).map(|branch| branch.shape));
        }
        branches.sort_unstable();
        branches.dedup();
        for branch in branches {
            let found = self.part(case, Kinds::OBJECT, branch, depth + 1);
            add(&mut failures, found);
        }
        failures
    }
}

//! Values that a schema allows: few, small, and at the edges.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::failure::{Failure, Reason, sorted};
use super::format;
use super::pattern;
use super::validity::may_be_valid;
use super::version::{Case, Conjunction, Version};
use crate::normalize::{Assertions, Kinds};
use crate::number::floor;

/// Keys that no schema is likely to declare.
pub(super) const UNDECLARED: [&str; 2] = ["zqUndeclared", "zq-undeclared-2"];
/// The maximum number of values of one place.
const MOST_VALUES: usize = 24;
/// The maximum number of additional objects with one optional property each.
const MOST_SINGLE: usize = 12;
/// Values of this many characters prove nothing that shorter ones do not.
const LONGEST: usize = 5000;
/// Arrays prove things with at most this many items.
pub(super) const MOST_ITEMS: usize = 200;

pub(super) struct Sampler<'v> {
    version: &'v Version<'v>,
    /// The values of cases by their kinds, and of places without.
    known: HashMap<(Conjunction, Option<Kinds>), Rc<Vec<Value>>>,
    places: usize,
    depth: usize,
    /// How much was judged.
    work: usize,
}

/// Larger values prove nothing that smaller ones do not.
const LARGEST_VALUE: usize = 2_000;
/// The work after which no more values are searched.
const MOST_WORK: usize = 200_000;

/// The number of other values that are tried for each property of an invalid object.
const MOST_OTHERS: usize = 4;

/// Values of more places are not looked for.
const MOST_PLACES: usize = 5_000;
/// Values nest at most this deep.
const DEEPEST: usize = 48;

impl<'v> Sampler<'v> {
    pub(super) fn of(version: &'v Version<'v>) -> Self {
        Self { version, known: HashMap::new(), places: 0, depth: 0, work: 0 }
    }

    /// Returns values of a place, the smallest first; empty if none is found.
    pub(super) fn values(&mut self, conjunction: &Conjunction) -> Rc<Vec<Value>> {
        let key = (conjunction.clone(), None);
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        // Recursive values are skipped.
        self.known.insert(key.clone(), Rc::default());
        self.places += 1;
        if self.depth > DEEPEST || self.places > MOST_PLACES {
            return Rc::default();
        }
        self.depth += 1;
        let cases = self.version.cases(conjunction);
        let mut values = Vec::new();
        for case in cases.iter() {
            for kind in case.kinds(self.version).each() {
                values.extend(self.of_kind(case, kind));
            }
        }
        self.depth -= 1;
        let values = Rc::new(self.valid(conjunction, values));
        self.known.insert(key, Rc::clone(&values));
        values
    }

    /// Returns values of a property, or `None` if it is forbidden.
    pub(super) fn property(&mut self, case: &Case, key: &str) -> Option<Rc<Vec<Value>>> {
        let asked = case.property(self.version, key)?;
        Some(self.values(&asked))
    }

    /// Returns the first value of a property.
    pub(super) fn first(&mut self, case: &Case, key: &str) -> Option<Value> {
        self.property(case, key)?.first().cloned()
    }

    /// Values of one case and kind.
    pub(super) fn of_case(&mut self, case: &Case, kind: Kinds) -> Rc<Vec<Value>> {
        let key = (case.schemas.clone(), Some(kind));
        if let Some(known) = self.known.get(&key) {
            return Rc::clone(known);
        }
        let values = self.of_kind(case, kind);
        let values = Rc::new(self.valid(&case.schemas, values));
        self.known.insert(key, Rc::clone(&values));
        values
    }

    /// Returns the largest object of a case with the given property. It may be valid if the smallest is not.
    pub(super) fn largest_with(&mut self, case: &Case, key: &str, value: &Value) -> Option<Value> {
        if !self.affords(size(value)) {
            return None;
        }
        let objects = self.of_case(case, Kinds::OBJECT);
        let mut object = objects.iter().filter_map(Value::as_object).max_by_key(|object| object.len())?.clone();
        object.insert(key.to_owned(), value.clone());
        Some(Value::Object(object))
    }

    /// Returns a failure of all values of one case and kind.
    pub(super) fn failure(&mut self, case: &Case, kind: Kinds, reason: Reason) -> Failure {
        Failure::new(reason, self.of_case(case, kind).to_vec())
    }

    /// Returns the failure of objects without a required key; `declared` is `true` if the key was declared before.
    pub(super) fn missing(&mut self, case: &Case, key: &str, declared: bool) -> Failure {
        let mut failure = self.failure(case, Kinds::OBJECT, Reason::Required { declared });
        for candidate in failure.candidates.clone() {
            if let Value::Object(mut object) = candidate {
                object.remove(key);
                failure.candidates.push(Value::Object(object));
            }
        }
        failure.steps = vec![key.to_owned(), "properties".to_owned()];
        failure
    }

    /// Failures under a key, as those of objects.
    pub(super) fn under(&mut self, case: &Case, found: Vec<Failure>, key: &str, steps: &[&str]) -> Vec<Failure> {
        let mut objects = |value: &Value| {
            let mut objects = Vec::from_iter(self.object(case, Some((key, value))).map(Value::Object));
            objects.extend(self.largest_with(case, key, value));
            objects
        };
        found.into_iter().map(|failure| failure.below(steps, &mut objects)).collect()
    }

    /// Failures of an item, as those of arrays; `has_place` is whether a schema is for items at that place.
    pub(super) fn at(&mut self, case: &Case, found: Vec<Failure>, index: usize, has_place: bool) -> Vec<Failure> {
        let step = index.to_string();
        let steps: &[&str] = if has_place { &["prefixItems", &step] } else { &["items"] };
        let least = usize::try_from(case.fewest_items(self.version)).unwrap_or(usize::MAX);
        let length = Some(least.max(index + 1)).filter(|length| *length <= MOST_ITEMS);
        let mut arrays = |value: &Value| {
            let array = length.and_then(|length| self.array(case, length, Some((index, value))));
            Vec::from_iter(array)
        };
        found.into_iter().map(|failure| failure.below(steps, &mut arrays)).collect()
    }

    /// Returns `true` if there is work left to build a value around parts of a size.
    fn affords(&mut self, size: usize) -> bool {
        self.work += 1 + size;
        size <= LARGEST_VALUE && self.work <= MOST_WORK
    }

    fn valid(&mut self, schemas: &[crate::SchemaId], values: Vec<Value>) -> Vec<Value> {
        let mut kept: Vec<Value> = Vec::new();
        for value in values {
            let size = size(&value);
            self.work += size * schemas.len();
            if size > LARGEST_VALUE || self.work > MOST_WORK {
                continue;
            }
            if kept.len() < MOST_VALUES && !kept.contains(&value) && may_be_valid(self.version, schemas, &value) {
                kept.push(value);
            }
        }
        kept
    }

    fn of_kind(&mut self, case: &Case, kind: Kinds) -> Vec<Value> {
        if let Some(values) = case.values(self.version) {
            return values.into_iter().filter(|value| kind.intersects(Kinds::of(value))).collect();
        }
        match kind {
            Kinds::NULL => vec![Value::Null],
            Kinds::BOOLEAN => vec![true.into(), false.into()],
            Kinds::INTEGER | Kinds::FRACTION => numbers(case, self.version, kind),
            Kinds::STRING => self.texts(case),
            Kinds::ARRAY => self.arrays(case),
            _ => self.objects(case),
        }
    }

    fn texts(&mut self, case: &Case) -> Vec<Value> {
        let version = self.version;
        let assertions: Vec<_> = case.assertions(version).collect();
        let formats = || case.schemas.iter().filter_map(move |id| format::named(version, *id));
        let mut texts: Vec<Value> = vec!["a".into(), "".into(), "a b/\u{e9}".into(), "0".into()];
        texts.extend(formats().filter_map(format::sample).map(Value::from));
        let least = assertions.iter().filter_map(|known| known.min_length).max().unwrap_or_default();
        let least = usize::try_from(least).unwrap_or(usize::MAX);
        for asserted in assertions {
            let samples = asserted.pattern.as_ref().map(|pattern| pattern::samples(pattern, least));
            texts.extend(samples.unwrap_or_default().into_iter().map(Value::from));
            for length in &[asserted.min_length, asserted.max_length] {
                let length = length.and_then(|length| usize::try_from(length).ok());
                let Some(length) = length.filter(|length| *length <= LONGEST) else { continue };
                texts.extend(formats().filter_map(|name| format::of_length(name, length)).map(Value::from));
                texts.push("a".repeat(length).into());
            }
        }
        for id in &case.schemas {
            let Some(source) = self.version.document.schemas.source(*id) else { continue };
            let examples = source.get("examples").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            texts.extend(examples.iter().filter(|example| example.is_string()).cloned());
            texts.extend(source.get("default").filter(|default| default.is_string()).cloned());
        }
        // If possible, a witness is also valid for validators that check formats.
        sorted(texts, &mut |text| {
            formats().all(|name| format::has(name, text.as_str().unwrap_or_default()) == Some(true))
        })
    }

    fn arrays(&mut self, case: &Case) -> Vec<Value> {
        let (least, most) = (case.fewest_items(self.version), case.most_items(self.version));
        let prefix = case.prefix(self.version) as u64;
        let mut arrays = Vec::new();
        let is_possible = |length: u64| length >= least && most.is_none_or(|most| length <= most);
        for length in &[least, least.max(1), most.unwrap_or(least), prefix] {
            if is_possible(*length) {
                arrays.extend(self.array_of(case, *length));
            }
        }
        if let Some(asked) = case.item(self.version, 0).filter(|_| is_possible(1)) {
            arrays.extend(self.values(&asked).iter().take(4).map(|item| json!([item])));
        }
        arrays
    }

    /// Returns an array of that length, unless it is too long for a witness.
    pub(super) fn array_of(&mut self, case: &Case, length: u64) -> Option<Value> {
        let length = usize::try_from(length).ok().filter(|length| *length <= MOST_ITEMS)?;
        self.array(case, length, None)
    }

    /// Returns an array of that length, with the value in `placed` at its index.
    fn array(&mut self, case: &Case, length: usize, placed: Option<(usize, &Value)>) -> Option<Value> {
        if !self.affords(placed.map_or(0, |(_, value)| size(value))) {
            return None;
        }
        let mut items = Vec::new();
        for index in 0..length {
            if let Some((_, value)) = placed.filter(|(place, _)| *place == index) {
                items.push(value.clone());
                continue;
            }
            let asked = case.item(self.version, index)?;
            let values = self.values(&asked);
            let unused = values.iter().find(|value| !items.contains(*value)).or_else(|| values.first());
            items.push(unused?.clone());
        }
        Some(Value::Array(items))
    }

    fn objects(&mut self, case: &Case) -> Vec<Value> {
        let Some(smallest) = self.smallest(case, &Map::new()) else { return Vec::new() };
        let mut full = smallest.clone();
        let mut single = Vec::new();
        for key in case.keys(self.version).into_iter().filter(|key| !smallest.contains_key(*key)) {
            let Some(value) = self.first(case, key) else { continue };
            if single.len() < MOST_SINGLE {
                single.extend(self.object(case, Some((key, &value))));
            }
            full.insert(key.to_owned(), value);
        }
        let mut objects = vec![smallest, full];
        objects.append(&mut single);
        objects.into_iter().map(Value::Object).collect()
    }

    /// Returns the smallest object, beside one property that is given.
    pub(super) fn object(&mut self, case: &Case, given: Option<(&str, &Value)>) -> Option<Map<String, Value>> {
        let given = given.map(|(key, value)| (key.to_owned(), value.clone()));
        self.object_with(case, &given.into_iter().collect())
    }

    /// Returns the smallest object that is valid, beside the properties that are given. If it violates a condition,
    /// another value for one of its properties is tried.
    pub(super) fn object_with(&mut self, case: &Case, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        let object = self.smallest(case, given)?;
        let is_conditional = |asserted: &Assertions| asserted.condition.is_some() || asserted.not.is_some();
        if !case.assertions(self.version).any(is_conditional) || self.satisfies(case, &object) {
            return Some(object);
        }
        for key in object.keys().filter(|key| !given.contains_key(*key)) {
            let Some(values) = self.property(case, key) else { break };
            for other in values.iter().skip(1).take(MOST_OTHERS) {
                let mut changed = object.clone();
                changed.insert(key.clone(), other.clone());
                if self.satisfies(case, &changed) {
                    return Some(changed);
                }
            }
        }
        Some(object)
    }

    /// Returns the required properties and those that present ones require, beside those that are given.
    fn smallest(&mut self, case: &Case, given: &Map<String, Value>) -> Option<Map<String, Value>> {
        if !self.affords(given.values().fold(0, |all, value| all + size(value))) {
            return None;
        }
        let version = self.version;
        let mut object = Map::new();
        for key in case.required(version).into_iter().filter(|key| !given.contains_key(*key)) {
            object.insert(key.to_owned(), self.first(case, key)?);
        }
        object.extend(given.clone());
        let mut pending: Vec<&String> = Vec::new();
        object.keys().for_each(|key| pending.append(&mut case.needed(version, key)));
        while let Some(key) = pending.pop() {
            if !object.contains_key(key) {
                object.insert(key.clone(), self.first(case, key)?);
                pending.append(&mut case.needed(version, key));
            }
        }
        Some(object)
    }

    fn satisfies(&mut self, case: &Case, object: &Map<String, Value>) -> bool {
        let value = Value::Object(object.clone());
        self.work += size(&value) * case.schemas.len();
        self.work > MOST_WORK || may_be_valid(self.version, &case.schemas, &value)
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().fold(1, |all, item| all + size(item)),
        Value::Object(map) => map.values().fold(1, |all, value| all + size(value)),
        _ => 1,
    }
}

/// Returns an integer, if 64 bits hold it.
pub(super) fn integer(value: i128) -> Option<Value> {
    i64::try_from(value).map(Value::from).or_else(|_| u64::try_from(value).map(Value::from)).ok()
}

/// Returns numbers of a kind: also the integers around each bound, the bound, and numbers beside it.
fn numbers(case: &Case, version: &Version<'_>, kind: Kinds) -> Vec<Value> {
    let mut values: Vec<Value> = vec![0.into(), 1.into(), (-1).into(), 7.into(), 0.5.into(), 1.5.into(), (-0.5).into()];
    let (lows, highs) = case.limits(version);
    for limit in lows.into_iter().chain(highs) {
        for step in -1..=1 {
            values.extend(integer(floor(&limit.value).saturating_add(step)));
        }
        values.push(Value::Number(limit.value.clone()));
        if let Some(value) = limit.value.as_f64() {
            values.push((value + 0.5).into());
            values.push((value - 0.5).into());
        }
    }
    values.extend(case.assertions(version).filter_map(|asserted| asserted.multiple_of.clone()).map(Value::Number));
    values.extend([Value::from(i64::MAX), i64::MIN.into(), u64::MAX.into()]);
    values.retain(|value| Kinds::of(value) == kind);
    values
}

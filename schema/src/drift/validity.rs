//! Whether a value is valid, as far as that can be told without guessing.

use serde_json::{Number, Value};

use super::pattern::Patterns;
use super::version::Version;
use crate::normalize::{Kinds, Limit, SchemaId};

/// Schemas that lead back to themselves are followed this far.
const DEEPEST: usize = 64;
/// Values are judged in at most this many steps.
const MOST_STEPS: usize = 50_000;

pub(super) struct Judge<'v, 'a> {
    version: &'v Version<'a>,
    patterns: &'v mut Patterns,
    steps: usize,
}

/// Whether a value is valid against a schema; `None` where that cannot be told.
pub(super) fn is_valid(
    version: &Version<'_>,
    schema: SchemaId,
    value: &Value,
    patterns: &mut Patterns,
) -> Option<bool> {
    Judge { version, patterns, steps: 0 }.schema(schema, value, 0)
}

/// False where one is false, true where all are true.
fn all(verdicts: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let mut all = Some(true);
    for verdict in verdicts {
        match verdict {
            Some(false) => return Some(false),
            None => all = None,
            Some(true) => {}
        }
    }
    all
}

fn count(verdicts: &[Option<bool>], wanted: bool) -> usize {
    verdicts.iter().filter(|verdict| **verdict == Some(wanted)).count()
}

fn any(verdicts: &[Option<bool>]) -> Option<bool> {
    if count(verdicts, true) > 0 {
        Some(true)
    } else if count(verdicts, false) == verdicts.len() {
        Some(false)
    } else {
        None
    }
}

fn one(verdicts: &[Option<bool>]) -> Option<bool> {
    match (count(verdicts, true), count(verdicts, false)) {
        (2.., _) => Some(false),
        (1, refused) if refused + 1 == verdicts.len() => Some(true),
        (0, refused) if refused == verdicts.len() => Some(false),
        _ => None,
    }
}

fn not(verdict: Option<bool>) -> Option<bool> {
    verdict.map(|verdict| !verdict)
}

impl Judge<'_, '_> {
    fn schema(&mut self, id: SchemaId, value: &Value, depth: usize) -> Option<bool> {
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS {
            return None;
        }
        let version = self.version;
        let node = version.node(id);
        if node.never {
            return Some(false);
        }
        if node.kinds.is_some_and(|kinds| !kinds.intersects(kind_of(value)))
            || node.allowed.as_ref().is_some_and(|allowed| !allowed.iter().any(|known| same(known, value)))
        {
            return Some(false);
        }
        let own = match value {
            Value::Null | Value::Bool(_) => Some(true),
            Value::Number(number) => Some(self.number(id, number)),
            Value::String(text) => self.text(id, text),
            Value::Array(items) => self.array(id, items, depth),
            Value::Object(map) => self.object(id, map, depth),
        };
        if own == Some(false) {
            return own;
        }
        all([own, self.combined(id, value, depth)])
    }

    fn combined(&mut self, id: SchemaId, value: &Value, depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let mut verdicts = Vec::new();
        if assertions.unresolved.is_some() || assertions.unevaluated.is_some() {
            verdicts.push(None);
        }
        for part in node.reference.iter().chain(&node.all_of) {
            verdicts.push(self.schema(*part, value, depth + 1));
            if verdicts.last() == Some(&Some(false)) {
                return Some(false);
            }
        }
        let each = |judge: &mut Self, branches: &[SchemaId]| {
            branches.iter().map(|branch| judge.schema(*branch, value, depth + 1)).collect::<Vec<_>>()
        };
        if let Some(branches) = &node.any_of {
            verdicts.push(any(&each(self, branches)));
        }
        if let Some(branches) = &node.one_of {
            verdicts.push(one(&each(self, branches)));
        }
        if let Some(negated) = assertions.not {
            verdicts.push(not(self.schema(negated, value, depth + 1)));
        }
        if let Some(condition) = &assertions.condition {
            let test = self.schema(condition.test, value, depth + 1);
            let mut held = |branch: Option<SchemaId>| branch.map_or(Some(true), |id| self.schema(id, value, depth + 1));
            verdicts.push(match test {
                Some(true) => held(condition.then),
                Some(false) => held(condition.otherwise),
                None => match (held(condition.then), held(condition.otherwise)) {
                    (then, otherwise) if then == otherwise => then,
                    _ => None,
                },
            });
        }
        all(verdicts)
    }

    fn number(&self, id: SchemaId, number: &Number) -> bool {
        let assertions = self.version.assertions(id);
        let multiple = assertions.multiple_of.as_ref().is_none_or(|step| is_multiple(number, step));
        multiple
            && assertions.minimum.iter().all(|limit| above(number, limit))
            && assertions.maximum.iter().all(|limit| below(number, limit))
    }

    fn text(&mut self, id: SchemaId, text: &str) -> Option<bool> {
        let version = self.version;
        let assertions = version.assertions(id);
        let length = text.chars().count() as u64;
        if assertions.min_length.is_some_and(|least| length < least)
            || assertions.max_length.is_some_and(|most| length > most)
        {
            return Some(false);
        }
        let pattern = assertions.pattern.as_ref().map_or(Some(true), |pattern| self.patterns.matches(pattern, text));
        let format = assertions.format.as_ref().map_or(Some(true), |format| has_format(format, text));
        all([pattern, format])
    }

    fn array(&mut self, id: SchemaId, items: &[Value], depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let length = items.len() as u64;
        let repeats = |(index, item): (usize, &Value)| items.iter().take(index).any(|other| same(other, item));
        if length < node.min_items
            || node.max_items.is_some_and(|most| length > most)
            || (assertions.unique_items && items.iter().enumerate().any(repeats))
        {
            return Some(false);
        }
        let mut verdicts = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = node.prefix_items.get(index).copied().or(node.items) {
                verdicts.push(self.schema(schema, item, depth + 1));
            }
        }
        if let Some(contains) = &assertions.contains {
            let found: Vec<_> = items.iter().map(|item| self.schema(contains.schema, item, depth + 1)).collect();
            let (sure, possible) = (count(&found, true) as u64, (found.len() - count(&found, false)) as u64);
            verdicts.push(if possible < contains.least || contains.most.is_some_and(|most| sure > most) {
                Some(false)
            } else if sure >= contains.least && contains.most.is_none_or(|most| possible <= most) {
                Some(true)
            } else {
                None
            });
        }
        all(verdicts)
    }

    fn object(&mut self, id: SchemaId, map: &serde_json::Map<String, Value>, depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let length = map.len() as u64;
        let together = |(key, needs): &(String, Vec<String>)| {
            !map.contains_key(key) || needs.iter().all(|key| map.contains_key(key))
        };
        if node.required.iter().any(|key| !map.contains_key(key))
            || assertions.min_properties.is_some_and(|least| length < least)
            || assertions.max_properties.is_some_and(|most| length > most)
            || !assertions.dependent_required.iter().all(together)
        {
            return Some(false);
        }
        let mut verdicts = Vec::new();
        for (key, value) in map {
            verdicts.extend(self.property(id, key, value, depth));
            if let Some(names) = assertions.property_names {
                verdicts.push(self.schema(names, &Value::from(key.as_str()), depth + 1));
            }
        }
        let whole = Value::Object(map.clone());
        for (key, schema) in &assertions.dependent_schemas {
            if map.contains_key(key) {
                verdicts.push(self.schema(*schema, &whole, depth + 1));
            }
        }
        all(verdicts)
    }

    fn property(&mut self, id: SchemaId, key: &str, value: &Value, depth: usize) -> Vec<Option<bool>> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let mut verdicts = Vec::new();
        let declared = node.properties.iter().find(|(name, _)| name == key).map(|(_, schema)| *schema);
        verdicts.extend(declared.map(|schema| self.schema(schema, value, depth + 1)));
        let mut known = declared.map(|_| true).or(Some(false));
        for (pattern, schema) in &assertions.patterns {
            match self.patterns.matches(pattern, key) {
                Some(true) => {
                    known = Some(true);
                    verdicts.push(self.schema(*schema, value, depth + 1));
                }
                Some(false) => {}
                None => {
                    known = known.filter(|known| *known);
                    verdicts.push(None);
                }
            }
        }
        match (node.additional, known) {
            (Some(schema), Some(false)) => verdicts.push(self.schema(schema, value, depth + 1)),
            (Some(_), None) => verdicts.push(None),
            _ => {}
        }
        verdicts
    }
}

/// The kind of a value; an integral number is an integer.
pub(super) fn kind_of(value: &Value) -> Kinds {
    match value {
        Value::Null => Kinds::NULL,
        Value::Bool(_) => Kinds::BOOLEAN,
        Value::Number(number) if is_integral(number) => Kinds::INTEGER,
        Value::Number(_) => Kinds::FRACTION,
        Value::String(_) => Kinds::STRING,
        Value::Array(_) => Kinds::ARRAY,
        Value::Object(_) => Kinds::OBJECT,
    }
}

pub(super) fn is_integral(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// How two numbers stand to each other, exactly where both are integers.
pub(super) fn order(left: &Number, right: &Number) -> Option<std::cmp::Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

fn above(number: &Number, limit: &Limit) -> bool {
    order(number, &limit.value).is_none_or(|order| order.is_gt() || (order.is_eq() && !limit.exclusive))
}

fn below(number: &Number, limit: &Limit) -> bool {
    order(number, &limit.value).is_none_or(|order| order.is_lt() || (order.is_eq() && !limit.exclusive))
}

pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    match (whole(number), whole(step)) {
        (Some(number), Some(step)) if step != 0 => number % step == 0,
        _ => match (number.as_f64(), step.as_f64()) {
            (Some(number), Some(step)) if step != 0.0 => {
                let times = number / step;
                (times - times.round()).abs() < 1e-9
            }
            _ => true,
        },
    }
}

/// Whether two values are the same JSON: numbers by value, objects whatever the order of their keys.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => order(left, right).is_some_and(std::cmp::Ordering::is_eq),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

/// A text of each format that is sure to have it.
pub(super) const FORMATS: &[(&str, &str)] = &[
    ("date-time", "2026-01-02T03:04:05Z"),
    ("date", "2026-01-02"),
    ("time", "03:04:05Z"),
    ("email", "a@example.com"),
    ("idn-email", "a@example.com"),
    ("hostname", "example.com"),
    ("idn-hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com/"),
    ("iri", "https://example.com/"),
    ("uuid", "12345678-1234-4234-8234-123456789abc"),
];

/// Only what is sure: an empty text has none of these formats, and its sample has it.
fn has_format(format: &str, text: &str) -> Option<bool> {
    let Some((_, sample)) = FORMATS.iter().find(|(name, _)| *name == format) else { return Some(true) };
    match text {
        "" => Some(false),
        _ if text == *sample => Some(true),
        _ => None,
    }
}

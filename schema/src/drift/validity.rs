//! Checks whether a value is valid, if that can be decided.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use serde_json::{Map, Number, Value};

use super::format;
use super::version::Version;
use crate::normalize::{Kinds, SchemaId};
use crate::number::{ByValue, is_multiple};

/// Schemas that lead back to themselves are followed this far.
const DEEPEST: usize = 64;
/// A value is judged in at most this many steps.
const MOST_STEPS: usize = 50_000;

struct Judge<'v> {
    version: &'v Version<'v>,
    steps: usize,
    /// `true` if a validator checks every format, and not only those that assert something in the schema's dialect.
    checks_formats: bool,
    /// The verdicts on parts of the value, by their place in memory; `None` while one is being judged.
    known: HashMap<(SchemaId, *const Value), Option<bool>>,
}

/// Returns whether a value is valid under a schema, or `None` if that is unknown.
pub(super) fn is_valid(version: &Version<'_>, schema: SchemaId, value: &Value) -> Option<bool> {
    is_valid_with(false, version, schema, value)
}

/// Returns `true` if a value is valid under a whole document for validators that check every format, too.
pub(super) fn is_valid_for_all(version: &Version<'_>, value: &Value) -> bool {
    is_valid_with(true, version, SchemaId::ROOT, value) == Some(true)
}

/// Returns `true` unless a value is invalid under one of these schemas.
pub(super) fn may_be_valid(version: &Version<'_>, schemas: &[SchemaId], value: &Value) -> bool {
    schemas.iter().all(|schema| is_valid(version, *schema, value) != Some(false))
}

fn is_valid_with(checks_formats: bool, version: &Version<'_>, schema: SchemaId, value: &Value) -> Option<bool> {
    Judge { version, steps: 0, checks_formats, known: HashMap::new() }.schema(schema, value, 0)
}

/// Returns `false` if a verdict is `false`, `true` if all are `true`, and otherwise `None`.
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
    not(all(verdicts.iter().copied().map(not)))
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

/// Returns `true` if a count is not within bounds.
fn is_beyond(count: usize, least: Option<u64>, most: Option<u64>) -> bool {
    let count = count as u64;
    least.is_some_and(|least| count < least) || most.is_some_and(|most| count > most)
}

impl Judge<'_> {
    fn schema(&mut self, id: SchemaId, value: &Value, depth: usize) -> Option<bool> {
        let version = self.version;
        let node = version.node(id);
        if node.never
            || node.kinds.is_some_and(|kinds| !kinds.intersects(Kinds::of(value)))
            || !version.lists(id, value)
        {
            return Some(false);
        }
        let key = (id, std::ptr::from_ref(value));
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        self.steps += 1;
        if depth > DEEPEST || self.steps > MOST_STEPS || !version.has_steps(1) {
            return None;
        }
        self.known.insert(key, None);
        let own = match value {
            Value::Null | Value::Bool(_) => Some(true),
            Value::Number(number) => self.number(id, number),
            Value::String(text) => self.text(id, text),
            Value::Array(items) => self.array(id, items, depth),
            Value::Object(map) => self.object(id, value, map, depth),
        };
        let verdict = if own == Some(false) { own } else { all([own, self.combined(id, value, depth)]) };
        self.known.insert(key, verdict);
        verdict
    }

    fn combined(&mut self, id: SchemaId, value: &Value, depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let mut verdicts = Vec::new();
        if assertions.unresolved.is_some() || assertions.unevaluated.is_some() {
            verdicts.push(None);
        }
        for part in &node.parts {
            verdicts.push(self.schema(*part, value, depth + 1));
            if verdicts.last() == Some(&Some(false)) {
                return Some(false);
            }
        }
        for choice in &node.choices {
            let found: Vec<_> = choice.branches.iter().map(|branch| self.schema(*branch, value, depth + 1)).collect();
            verdicts.push(if choice.is_exclusive { one(&found) } else { any(&found) });
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

    fn number(&self, id: SchemaId, number: &Number) -> Option<bool> {
        let assertions = self.version.assertions(id);
        let within = !assertions.minimum.iter().any(|limit| limit.refuses(number, Ordering::Less))
            && !assertions.maximum.iter().any(|limit| limit.refuses(number, Ordering::Greater));
        let multiple = assertions.multiple_of.as_ref().map_or(Some(true), |step| is_multiple(number, step));
        all([Some(within), multiple])
    }

    fn text(&self, id: SchemaId, text: &str) -> Option<bool> {
        let version = self.version;
        let assertions = version.assertions(id);
        if is_beyond(text.chars().count(), assertions.min_length, assertions.max_length) {
            return Some(false);
        }
        // A step costs about as much as this many automaton states at one character.
        const STATES_OF_A_STEP: usize = 64;
        let pattern = assertions.pattern.as_ref().map_or(Some(true), |pattern| {
            let mut patterns = version.patterns.borrow_mut();
            let steps = text.len().saturating_mul(patterns.states(pattern)) / STATES_OF_A_STEP;
            version.has_steps(steps).then(|| patterns.matches(pattern, text)).flatten()
        });
        let format = if self.checks_formats { format::named(version, id) } else { assertions.format.as_deref() };
        let format = format.map_or(Some(true), |name| format::has(name, text));
        all([pattern, format])
    }

    fn array(&mut self, id: SchemaId, items: &[Value], depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        if is_beyond(items.len(), Some(node.min_items), node.max_items)
            || (assertions.unique_items && items.iter().map(ByValue).collect::<HashSet<_>>().len() < items.len())
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

    fn object(&mut self, id: SchemaId, whole: &Value, map: &Map<String, Value>, depth: usize) -> Option<bool> {
        let version = self.version;
        let (node, assertions) = (version.node(id), version.assertions(id));
        let together = |(key, needs): &(String, Vec<String>)| {
            !map.contains_key(key) || needs.iter().all(|key| map.contains_key(key))
        };
        if node.required.iter().any(|key| !map.contains_key(key))
            || is_beyond(map.len(), assertions.min_properties, assertions.max_properties)
            || !assertions.dependent_required.iter().all(together)
        {
            return Some(false);
        }
        let mut verdicts = Vec::new();
        for (key, value) in map {
            for (schema, is_sure) in version.keyed(id, key) {
                verdicts.push(if is_sure { self.schema(schema, value, depth + 1) } else { None });
            }
            if let Some(names) = assertions.property_names {
                let key = Value::from(key.as_str());
                verdicts.push(is_valid_with(self.checks_formats, version, names, &key));
            }
        }
        for (key, schema) in &assertions.dependent_schemas {
            if map.contains_key(key) {
                verdicts.push(self.schema(*schema, whole, depth + 1));
            }
        }
        all(verdicts)
    }
}

//! Objects: required, optional and undeclared properties.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::failure::{Failure, MOST_FAILURES, Reason, add};
use super::super::pattern;
use super::super::samples::UNDECLARED;
use super::super::validity::is_valid;
use super::{Inclusion, Part};
use crate::normalize::SchemaId;
use crate::number::distinct;

impl Inclusion<'_> {
    pub(super) fn objects(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let version = self.right;
        let required = version.node(right).required.iter().map(String::as_str);
        let declared = version.node(right).properties.iter().map(|(key, _)| key.as_str());
        let mut keys = part.case.keys(self.left);
        let mut failures = Vec::new();
        if self.is_read {
            keys = declared.chain(keys).collect();
        } else {
            failures.extend(self.required(part, required));
            keys.extend(declared);
        }
        let keys = distinct(&keys, |key| *key);
        for key in &keys {
            if self.is_read && version.requires(right, key) {
                add(&mut failures, self.required(part, [*key]));
            }
            add(&mut failures, self.property(part, right, key));
        }
        add(&mut failures, self.others(part, right, &keys));
        add(&mut failures, self.counted(part, right, &keys));
        add(&mut failures, self.depending(part, right));
        failures
    }

    /// Returns a failure for each of these keys that the left does not require.
    fn required<'k>(&mut self, part: &Part<'_>, keys: impl IntoIterator<Item = &'k str>) -> Vec<Failure> {
        let left = self.left;
        let missing = keys.into_iter().filter(|key| !part.case.requires(left, key));
        let declared: HashSet<&str> = part.case.keys(left).into_iter().collect();
        // The rest would not be reported.
        let missing = missing.take(MOST_FAILURES);
        missing.map(|key| self.sampler.missing(part.case, key, declared.contains(key))).collect()
    }

    /// Returns the schemas that the right schema puts on a key.
    fn wanted_of(&mut self, right: SchemaId, key: &str) -> Vec<SchemaId> {
        let keyed = self.right.keyed(right, key);
        let additional = self.right.additional(right).filter(|_| !keyed.iter().any(|(_, is_sure)| *is_sure));
        // A pattern may match, and it may not: both have to hold.
        keyed.into_iter().map(|(schema, _)| schema).chain(additional).collect()
    }

    fn property(&mut self, part: &Part<'_>, right: SchemaId, key: &str) -> Vec<Failure> {
        let left = self.left;
        let Some(asked) = part.case.property(left, key) else { return Vec::new() };
        let Some(sent) = part.sent.property(&left.document.shapes, key) else { return Vec::new() };
        let mut failures = Vec::new();
        for wanted in self.wanted_of(right, key) {
            let mut found = self.place_or(&asked, &sent, wanted, Reason::Key);
            if self.is_read && asked.is_empty() {
                // The server does not declare it any more: one reason is enough.
                let candidates = found.iter().flat_map(|failure| failure.candidates.clone()).collect();
                found = found.first().map(|_| Failure::new(Reason::Key, candidates)).into_iter().collect();
            }
            add(&mut failures, self.sampler.under(part.case, found, key, &["properties", key]));
        }
        failures
    }

    /// Keys that neither side declares.
    fn others(&mut self, part: &Part<'_>, right: SchemaId, declared: &[&str]) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let Some(sent) = part.sent.others(&left.document.shapes) else { return Vec::new() };
        let asserted = version.assertions(right);
        let mut failures = Vec::new();
        let known = part.case.patterns(left);
        for (pattern, schema) in &asserted.patterns {
            let key = pattern::sample(pattern);
            let asked = match key.as_deref() {
                Some(key) => part.case.property(left, key),
                None => match known.iter().find(|(other, _)| other == pattern) {
                    Some((_, asked)) => asked.clone(),
                    None => part.case.others(left),
                },
            };
            let Some(asked) = asked else { continue };
            let found = self.place(&asked, &sent, *schema).to_vec();
            let key = key.unwrap_or_default();
            add(&mut failures, self.sampler.under(part.case, found, &key, &["patternProperties", pattern]));
        }
        // Keys of a pattern of the left that is not known on the right.
        for (pattern, _) in known.iter().filter(|(known, _)| !asserted.patterns.iter().any(|(other, _)| other == known))
        {
            let Some(key) = pattern::sample(pattern).filter(|key| !declared.contains(&key.as_str())) else {
                if version.additional(right).is_some() {
                    failures.push(self.failure(part, Reason::Undecided));
                }
                continue;
            };
            add(&mut failures, self.property(part, right, &key));
        }
        if let (Some(additional), Some(asked)) = (version.additional(right), part.case.others(left)) {
            let found = self.place_or(&asked, &sent, additional, Reason::OtherKeys);
            let key = UNDECLARED.into_iter().find(|key| !declared.contains(key)).unwrap_or_default();
            add(&mut failures, self.sampler.under(part.case, found, key, &["additionalProperties"]));
        }
        failures
    }

    fn counted(&mut self, part: &Part<'_>, right: SchemaId, declared: &[&str]) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let asserted = version.assertions(right);
        let known: Vec<_> = part.case.assertions(left).collect();
        let mut failures = Vec::new();
        if let Some(wanted) = asserted.min_properties {
            let least = known.iter().filter_map(|known| known.min_properties).max().unwrap_or_default();
            if least.max(part.case.required(left).len() as u64) < wanted {
                failures.push(self.failure(part, Reason::Keyword("minProperties")));
            }
        }
        if let Some(wanted) = asserted.max_properties {
            let stated = known.iter().filter_map(|known| known.max_properties).min();
            let is_closed = part.sent.others(&left.document.shapes).is_none() || part.case.others(left).is_none();
            let countable = is_closed.then_some(declared.len() as u64);
            if stated.into_iter().chain(countable).min().is_none_or(|most| most > wanted) {
                let mut failure = self.failure(part, Reason::Keyword("maxProperties"));
                failure.candidates.splice(0..0, self.of_many_keys(part, wanted));
                failures.push(failure);
            }
        }
        failures
    }

    /// Returns an object with more than `most` keys.
    fn of_many_keys(&mut self, part: &Part<'_>, most: u64) -> Option<Value> {
        const MOST_KEYS: u64 = 64;
        if most > MOST_KEYS {
            return None;
        }
        let mut object = self.sampler.object(part.case, None)?;
        let declared = part.case.keys(self.left).into_iter().map(str::to_owned);
        for key in declared.chain((0..=most).map(|number| format!("{}{number}", UNDECLARED[0]))) {
            if object.len() as u64 > most {
                break;
            }
            let values = self.sampler.property(part.case, &key);
            if let Some(value) = values.as_ref().and_then(|values| values.first()) {
                object.entry(key).or_insert_with(|| value.clone());
            }
        }
        Some(Value::Object(object))
    }

    fn depending(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let asserted = version.assertions(right);
        let mut failures = Vec::new();
        let source = version.document.schemas.source(right);
        let says = |keyword: &&str| source.is_some_and(|source| source.contains_key(*keyword));
        let keyword =
            ["dependentRequired", "dependentSchemas", "dependencies"].into_iter().find(says).unwrap_or("then");
        let mut needed: HashMap<&String, Vec<&String>> = HashMap::new();
        for (key, needs) in part.case.assertions(left).flat_map(|asserted| &asserted.dependent_required) {
            needed.entry(key).or_default().extend(needs);
        }
        for (key, needs) in &asserted.dependent_required {
            let known = needed.get(key).map(Vec::as_slice).unwrap_or_default();
            let holds = |need: &String| part.case.requires(left, need) || known.contains(&need) || need == key;
            if !needs.iter().all(holds) && self.can_have(part, key) {
                failures.push(self.with_key(part, key, keyword));
            }
        }
        for (key, schema) in &asserted.dependent_schemas {
            let mut known = part.case.assertions(left).flat_map(|asserted| &asserted.dependent_schemas);
            let says_so = known.any(|(other, known)| other == key && self.equality.equal(*known, *schema));
            if !says_so && self.can_have(part, key) && !self.part(part, *schema).is_empty() {
                failures.push(self.with_key(part, key, "dependentSchemas"));
            }
        }
        if let Some(names) = asserted.property_names {
            let mut known = part.case.assertions(left).filter_map(|asserted| asserted.property_names);
            if !known.any(|known| self.equality.equal(known, names)) {
                failures.extend(self.property_names(part, names));
            }
        }
        failures
    }

    fn property_names(&mut self, part: &Part<'_>, names: SchemaId) -> Option<Failure> {
        let left = self.left;
        let failing = part.case.keys(left).into_iter().find(|key| {
            let name = Value::from(*key);
            self.can_have(part, key) && is_valid(self.right, names, &name) != Some(true)
        });
        let is_open = part.sent.others(&left.document.shapes).is_some() && part.case.others(left).is_some();
        let failing = failing.or(is_open.then_some(UNDECLARED[0]))?;
        let mut failure = self.with_key(part, failing, "propertyNames");
        if is_open {
            for key in ["", "A", "0", "a b", "$"] {
                let object = self.sampler.object(part.case, Some((key, &Value::Null)));
                failure.candidates.extend(object.map(Value::Object));
            }
        }
        Some(failure)
    }

    fn can_have(&mut self, part: &Part<'_>, key: &str) -> bool {
        let left = self.left;
        part.sent.property(&left.document.shapes, key).is_some() && part.case.property(left, key).is_some()
    }

    fn with_key(&mut self, part: &Part<'_>, key: &str, keyword: &'static str) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        if let Some(values) = self.sampler.property(part.case, key) {
            let objects = values.iter().filter_map(|value| self.sampler.object(part.case, Some((key, value))));
            let objects: Vec<Value> = objects.map(Value::Object).collect();
            failure.candidates.splice(0..0, objects);
        }
        failure
    }
}

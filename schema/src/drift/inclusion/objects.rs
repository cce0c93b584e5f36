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
        let node = self.right.node(right);
        let required = node.required.iter().map(String::as_str);
        let declared = node.properties.iter().map(|(key, _)| key.as_str());
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
            if self.is_read && self.right.requires(right, key) {
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
        let missing = keys.into_iter().filter(|key| !part.case.requires(self.left, key));
        let declared: HashSet<&str> = part.case.keys(self.left).into_iter().collect();
        // The rest would not be reported.
        let missing: Vec<&str> = missing.take(MOST_FAILURES).collect();
        missing.into_iter().map(|key| self.sampler.missing(part.case, key, declared.contains(key))).collect()
    }

    fn property(&mut self, part: &Part<'_>, right: SchemaId, key: &str) -> Vec<Failure> {
        let Some((asked, sent)) = self.property_of(part, Some(key)) else { return Vec::new() };
        let mut failures = Vec::new();
        // A pattern may match, and it may not: both have to hold.
        for (wanted, _) in self.right.keyed(right, key) {
            let mut found = self.place_or(&asked, &sent, wanted, Reason::Key);
            if self.is_read && asked.is_empty() && !found.is_empty() {
                // The server does not declare it any more: one reason is enough.
                let candidates = found.into_iter().flat_map(|failure| failure.candidates).collect();
                found = vec![Failure::new(Reason::Key, candidates)];
            }
            add(&mut failures, self.sampler.under(part.case, found, key, &["properties", key]));
        }
        failures
    }

    /// Keys that neither side declares.
    fn others(&mut self, part: &Part<'_>, right: SchemaId, declared: &[&str]) -> Vec<Failure> {
        let Some(sent) = part.sent.property(&self.left.document.shapes, None) else { return Vec::new() };
        let asserted = self.right.assertions(right);
        let mut failures = Vec::new();
        let known = part.case.patterns(self.left);
        for (pattern, schema) in &asserted.patterns {
            let key = pattern::sample(pattern);
            let of_same = || known.iter().find(|(other, _)| other == pattern).map(|(_, asked)| asked.clone());
            let asked = match key.as_deref() {
                Some(key) => part.case.property(self.left, key),
                None => of_same().unwrap_or_else(|| part.case.others(self.left)),
            };
            let Some(asked) = asked else { continue };
            let found = self.place(&asked, &sent, *schema);
            let key = key.unwrap_or_default();
            add(&mut failures, self.sampler.under(part.case, found, &key, &["patternProperties", pattern]));
        }
        // Keys of a pattern of the left that is not known on the right.
        for (pattern, _) in known.iter().filter(|(known, _)| !asserted.patterns.iter().any(|(other, _)| other == known))
        {
            match pattern::sample(pattern).filter(|key| !declared.contains(&key.as_str())) {
                Some(key) => add(&mut failures, self.property(part, right, &key)),
                None if self.right.additional(right).is_some() => {
                    failures.push(self.failure(part, Reason::Undecided));
                }
                None => {}
            }
        }
        if let (Some(additional), Some(asked)) = (self.right.additional(right), part.case.others(self.left)) {
            let found = self.place_or(&asked, &sent, additional, Reason::OtherKeys);
            let key = UNDECLARED.into_iter().find(|key| !declared.contains(key)).unwrap_or_default();
            add(&mut failures, self.sampler.under(part.case, found, key, &["additionalProperties"]));
        }
        failures
    }

    fn counted(&mut self, part: &Part<'_>, right: SchemaId, declared: &[&str]) -> Vec<Failure> {
        let asserted = self.right.assertions(right);
        let known: Vec<_> = part.case.assertions(self.left).collect();
        let mut failures = Vec::new();
        if let Some(wanted) = asserted.min_properties {
            let least = known.iter().filter_map(|known| known.min_properties).max().unwrap_or_default();
            if least.max(part.case.required(self.left).len() as u64) < wanted {
                failures.push(self.keyword(part, "minProperties", None));
            }
        }
        if let Some(wanted) = asserted.max_properties {
            let stated = known.iter().filter_map(|known| known.max_properties);
            let countable = self.property_of(part, None).is_none().then_some(declared.len() as u64);
            if stated.chain(countable).min().is_none_or(|most| most > wanted) {
                let object = self.of_many_keys(part, wanted);
                failures.push(self.keyword(part, "maxProperties", object));
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
            if let Some(value) = self.sampler.first(part.case, &key) {
                object.entry(key).or_insert(value);
            }
        }
        Some(Value::Object(object))
    }

    fn depending(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let asserted = self.right.assertions(right);
        let mut failures = Vec::new();
        let source = self.right.document.schemas.source(right);
        let says = |keyword: &&str| source.is_some_and(|source| source.contains_key(*keyword));
        let keyword =
            ["dependentRequired", "dependentSchemas", "dependencies"].into_iter().find(says).unwrap_or("then");
        let mut needed: HashMap<&String, Vec<&String>> = HashMap::new();
        for (key, needs) in part.case.assertions(self.left).flat_map(|asserted| &asserted.dependent_required) {
            needed.entry(key).or_default().extend(needs);
        }
        for (key, needs) in &asserted.dependent_required {
            let known = needed.get(key).map(Vec::as_slice).unwrap_or_default();
            let holds = |need: &String| part.case.requires(self.left, need) || known.contains(&need) || need == key;
            if !needs.iter().all(holds) && self.property_of(part, Some(key)).is_some() {
                failures.push(self.with_key(part, key, keyword));
            }
        }
        for (key, schema) in &asserted.dependent_schemas {
            let states_it = self.states(part, *schema, |asserted| {
                asserted.dependent_schemas.iter().find(|(other, _)| other == key).map(|(_, known)| *known)
            });
            let can_have = !states_it && self.property_of(part, Some(key)).is_some();
            if can_have && !self.part(part, *schema).is_empty() {
                failures.push(self.with_key(part, key, "dependentSchemas"));
            }
        }
        if let Some(names) = asserted.property_names
            && !self.states(part, names, |asserted| asserted.property_names)
        {
            failures.extend(self.property_names(part, names));
        }
        failures
    }

    fn property_names(&mut self, part: &Part<'_>, names: SchemaId) -> Option<Failure> {
        let failing = part.case.keys(self.left).into_iter().find(|key| {
            let is_refused = is_valid(self.right, names, &Value::from(*key)) != Some(true);
            is_refused && self.property_of(part, Some(key)).is_some()
        });
        let is_open = self.property_of(part, None).is_some();
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

    fn with_key(&mut self, part: &Part<'_>, key: &str, keyword: &'static str) -> Failure {
        let values = self.sampler.property(part.case, key).unwrap_or_default();
        let objects = values.iter().filter_map(|value| self.sampler.object(part.case, Some((key, value))));
        let objects: Vec<Value> = objects.map(Value::Object).collect();
        self.keyword(part, keyword, objects)
    }
}

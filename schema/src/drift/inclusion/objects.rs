//! Objects: required, optional and undeclared properties.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::cases::Asked;
use super::super::failure::{Failure, MOST_FAILURES, Reason, add};
use super::super::pattern;
use super::super::samples::UNDECLARED;
use super::super::sent::Sent;
use super::super::version::Conjunction;
use super::{Inclusion, Part};
use crate::normalize::SchemaId;

impl Inclusion<'_, '_, '_> {
    pub(super) fn objects(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let mut failures = self.required(part, right);
        let left = self.left;
        let mut keys: Vec<String> = part.case.keys(left).into_iter().map(str::to_owned).collect();
        let known: HashSet<String> = keys.iter().cloned().collect();
        let wanted = self.right.node(right).properties.iter().map(|(key, _)| key.clone());
        keys.extend(wanted.filter(|key| !known.contains(key)));
        for key in &keys {
            let found = self.property(part, right, key);
            add(&mut failures, found);
        }
        let found = self.others(part, right, &keys);
        add(&mut failures, found);
        let found = self.counted(part, right, &keys);
        add(&mut failures, found);
        let found = self.depending(part, right);
        add(&mut failures, found);
        failures
    }

    fn required(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let missing = version.node(right).required.iter().filter(|key| !part.case.requires(left, key));
        let declared: HashSet<&str> = part.case.keys(left).into_iter().collect();
        let missing: Vec<&String> = missing.collect();
        missing
            .into_iter()
            // More would not be told.
            .take(MOST_FAILURES)
            .map(|key| {
                let declared = declared.contains(key.as_str());
                let mut failure = Failure::new(Reason::Required { declared }, Vec::new());
                failure.steps = vec![key.clone(), "properties".to_owned()];
                failure.candidates = self.sampler.of_case(part.case, part.kind).to_vec();
                for candidate in failure.candidates.clone() {
                    if let Value::Object(mut object) = candidate {
                        object.remove(key);
                        failure.candidates.push(Value::Object(object));
                    }
                }
                failure
            })
            .collect()
    }

    /// The schemas that the right schema puts on a key.
    fn wanted_of(&mut self, right: SchemaId, key: &str) -> Vec<SchemaId> {
        let version = self.right;
        let asserted = version.assertions(right);
        let mut wanted: Vec<SchemaId> = version.property(right, key).into_iter().collect();
        let mut is_known = !wanted.is_empty();
        for (pattern, schema) in &asserted.patterns {
            match self.patterns.matches(pattern, key) {
                Some(true) => {
                    is_known = true;
                    wanted.push(*schema);
                }
                Some(false) => {}
                // It may match, and it may not: both have to hold.
                None => wanted.push(*schema),
            }
        }
        if !is_known {
            wanted.extend(version.additional(right));
        }
        wanted
    }

    fn property(&mut self, part: &Part<'_>, right: SchemaId, key: &str) -> Vec<Failure> {
        let left = self.left;
        let Asked::Of(asked) = part.case.property(left, key, &mut self.patterns) else { return Vec::new() };
        let Some(sent) = part.sent.property(&left.document.shapes, key) else { return Vec::new() };
        let mut failures = Vec::new();
        for wanted in self.wanted_of(right, key) {
            let found = if self.right.node(wanted).never {
                vec![Failure::new(Reason::Key, self.sampler.values(&asked).to_vec())]
            } else {
                self.place(&asked, &sent, wanted).to_vec()
            };
            add(&mut failures, found.into_iter().map(|failure| self.under(part, failure, key, &["properties", key])));
        }
        failures
    }

    fn under(&mut self, part: &Part<'_>, failure: Failure, key: &str, steps: &[&str]) -> Failure {
        failure.below(steps, |value| {
            let smallest = self.sampler.object(part.case, Some((key, value))).map(Value::Object);
            smallest.into_iter().chain(self.sampler.largest_with(part.case, key, value)).collect()
        })
    }

    /// Keys that neither side declares.
    fn others(&mut self, part: &Part<'_>, right: SchemaId, declared: &[String]) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let Some(sent) = part.sent.others(&left.document.shapes) else { return Vec::new() };
        let asserted = version.assertions(right);
        let mut failures = Vec::new();
        let known = part.case.patterns(left);
        for (pattern, schema) in &asserted.patterns {
            let key = pattern::sample(pattern);
            let asked = match key.as_deref() {
                Some(key) => part.case.property(left, key, &mut self.patterns),
                None => match known.iter().find(|(other, _)| other == pattern) {
                    Some((_, asked)) => asked.clone(),
                    None => part.case.others(left),
                },
            };
            let Asked::Of(asked) = asked else { continue };
            let found = self.place(&asked, &sent, *schema).to_vec();
            let key = key.unwrap_or_default();
            let found =
                found.into_iter().map(|failure| self.under(part, failure, &key, &["patternProperties", pattern]));
            add(&mut failures, found);
        }
        // Keys of a pattern of the left that is not known on the right.
        for (pattern, _) in known.iter().filter(|(known, _)| !asserted.patterns.iter().any(|(other, _)| other == known))
        {
            let Some(key) = pattern::sample(pattern).filter(|key| !declared.contains(key)) else {
                if version.additional(right).is_some() {
                    failures.push(self.failure(part, Reason::Undecided));
                }
                continue;
            };
            let found = self.property(part, right, &key);
            add(&mut failures, found);
        }
        if let (Some(additional), Asked::Of(asked)) = (version.additional(right), part.case.others(left)) {
            let found = self.additional(part, additional, &asked, &sent, declared);
            add(&mut failures, found);
        }
        failures
    }

    fn additional(
        &mut self,
        part: &Part<'_>,
        additional: SchemaId,
        asked: &Conjunction,
        sent: &Sent,
        declared: &[String],
    ) -> Vec<Failure> {
        let found = if self.right.node(additional).never {
            vec![Failure::new(Reason::OtherKeys, self.sampler.values(asked).to_vec())]
        } else {
            self.place(asked, sent, additional).to_vec()
        };
        let key = UNDECLARED.into_iter().find(|key| !declared.iter().any(|known| known == key));
        let key = key.unwrap_or_default();
        found.into_iter().map(|failure| self.under(part, failure, key, &["additionalProperties"])).collect()
    }

    fn counted(&mut self, part: &Part<'_>, right: SchemaId, declared: &[String]) -> Vec<Failure> {
        let (left, version) = (self.left, self.right);
        let asserted = version.assertions(right);
        let known: Vec<_> = part.case.schemas().iter().map(|id| left.assertions(*id)).collect();
        let mut failures = Vec::new();
        if let Some(wanted) = asserted.min_properties {
            let least = known.iter().filter_map(|known| known.min_properties).max().unwrap_or_default();
            if least.max(part.case.required(left).len() as u64) < wanted {
                failures.push(self.failure(part, Reason::Keyword("minProperties")));
            }
        }
        if let Some(wanted) = asserted.max_properties {
            let stated = known.iter().filter_map(|known| known.max_properties).min();
            let is_closed =
                part.sent.others(&left.document.shapes).is_none() || part.case.others(left) == Asked::Nothing;
            let countable = is_closed.then_some(declared.len() as u64);
            if stated.into_iter().chain(countable).min().is_none_or(|most| most > wanted) {
                let mut failure = self.failure(part, Reason::Keyword("maxProperties"));
                failure.candidates.splice(0..0, self.of_many_keys(part, wanted));
                failures.push(failure);
            }
        }
        failures
    }

    /// An object with more than so many keys.
    fn of_many_keys(&mut self, part: &Part<'_>, most: u64) -> Option<Value> {
        const MOST_KEYS: u64 = 64;
        if most > MOST_KEYS {
            return None;
        }
        let mut object = self.sampler.object(part.case, None)?;
        let declared: Vec<String> = part.case.keys(self.left).into_iter().map(str::to_owned).collect();
        for key in declared.into_iter().chain((0..=most).map(|number| format!("{}{number}", UNDECLARED[0]))) {
            if object.len() as u64 > most {
                break;
            }
            if let Asked::Of(asked) = part.case.property(self.left, &key, &mut self.patterns)
                && let Some(value) = self.sampler.values(&asked).first()
            {
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
        for (key, needs) in part.case.schemas().iter().flat_map(|id| &left.assertions(*id).dependent_required) {
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
            let says_so = part
                .case
                .schemas()
                .iter()
                .flat_map(|id| &left.assertions(*id).dependent_schemas)
                .any(|(other, known)| other == key && self.equality.equal(*known, *schema));
            if says_so || !self.can_have(part, key) {
                continue;
            }
            if !self.part(part, *schema).is_empty() {
                failures.push(self.with_key(part, key, "dependentSchemas"));
            }
        }
        if let Some(names) = asserted.property_names {
            let says_so = part
                .case
                .schemas()
                .iter()
                .filter_map(|id| left.assertions(*id).property_names)
                .any(|known| self.equality.equal(known, names));
            if !says_so {
                failures.extend(self.property_names(part, names));
            }
        }
        failures
    }

    fn property_names(&mut self, part: &Part<'_>, names: SchemaId) -> Option<Failure> {
        let left = self.left;
        let keys = part.case.keys(left);
        let sendable: Vec<&str> = keys.into_iter().filter(|key| self.can_have(part, key)).collect();
        let refuses = |inclusion: &mut Self, key: &str| {
            let key = Value::from(key);
            super::is_valid(inclusion.right, names, &key, &mut inclusion.patterns) != Some(true)
        };
        let failing = sendable.into_iter().find(|key| refuses(self, key)).map(str::to_owned);
        let is_open = part.sent.others(&left.document.shapes).is_some() && part.case.others(left) != Asked::Nothing;
        let failing = failing.or_else(|| is_open.then(|| UNDECLARED[0].to_owned()))?;
        let mut failure = self.with_key(part, &failing, "propertyNames");
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
        part.sent.property(&left.document.shapes, key).is_some()
            && part.case.property(left, key, &mut self.patterns) != Asked::Nothing
    }

    fn with_key(&mut self, part: &Part<'_>, key: &str, keyword: &'static str) -> Failure {
        let mut failure = self.failure(part, Reason::Keyword(keyword));
        if let Asked::Of(asked) = part.case.property(self.left, key, &mut self.patterns) {
            let values = self.sampler.values(&asked);
            let objects = values.iter().filter_map(|value| self.sampler.object(part.case, Some((key, value))));
            let objects: Vec<Value> = objects.map(Value::Object).collect();
            failure.candidates.splice(0..0, objects);
        }
        failure
    }
}

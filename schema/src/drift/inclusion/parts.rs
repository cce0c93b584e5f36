//! Questions about one kind of values: the bounds of numbers, texts and arrays, items place by place, and required,
//! optional and undeclared properties of objects.

use std::cmp::Ordering;

use serde_json::{Number, Value, json};

use super::super::failure::{Failure, MOST_FAILURES, Reason, add};
use super::super::samples::{MOST_ITEMS, UNDECLARED, integer};
use super::super::types::Sent;
use super::super::validity::is_valid;
use super::super::{format, pattern};
use super::{Inclusion, Part};
use crate::normalize::{Kinds, Limit, SchemaId};
use crate::number::{distinct, floor, is_multiple, order};

/// Returns `true` if values above `limit` are above `asked` too; `towards` is the order of a tighter bound.
fn implies(limit: &Limit, asked: &Limit, towards: Ordering) -> bool {
    match order(&limit.value, &asked.value) {
        Ordering::Equal => limit.exclusive || !asked.exclusive,
        order => order == towards,
    }
}

impl Inclusion<'_> {
    pub(super) fn numbers(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, asked) = (self.left, self.right.assertions(right));
        let is_integer = part.kind == Kinds::INTEGER;
        let (lows, highs) = part.case.limits(left);
        // No integer beyond 64 bits is ever sent; the default type of integers holds those without bounds.
        let is_open = highs.is_empty() && self.is_read;
        let (mut least, mut greatest) =
            (i128::from(i64::MIN), if is_open { i64::MAX.into() } else { i128::from(u64::MAX) });
        lows.iter().for_each(|limit| least = least.max(limit.least()));
        highs.iter().for_each(|limit| greatest = greatest.min(limit.greatest()));
        let mut failures = Vec::new();
        for (keyword, limits) in &[("minimum", &asked.minimum), ("maximum", &asked.maximum)] {
            let is_low = *keyword == "minimum";
            for limit in *limits {
                let holds = match (is_integer, is_low) {
                    (true, true) => limit.least() <= least,
                    (true, false) => limit.greatest() >= greatest,
                    (false, true) => lows.iter().any(|known| implies(known, limit, Ordering::Greater)),
                    (false, false) => highs.iter().any(|known| implies(known, limit, Ordering::Less)),
                };
                if holds {
                    continue;
                }
                let mut beyond = around(&limit.value);
                for known in lows.iter().chain(&highs) {
                    if let (Some(known), Some(limit)) = (known.value.as_f64(), limit.value.as_f64()) {
                        beyond.push(f64::midpoint(known, limit).into());
                    }
                }
                beyond.retain(|value| Kinds::of(value) == part.kind);
                failures.push(self.keyword(part, keyword, beyond));
            }
        }
        if let Some(step) = &asked.multiple_of {
            let mut known = part.case.assertions(left).filter_map(|known| known.multiple_of.as_ref());
            let every_integer = is_integer && is_multiple(&Number::from(1), step) == Some(true);
            if !every_integer && !known.any(|known| is_multiple(known, step) == Some(true)) {
                let mut failure = self.keyword(part, "multipleOf", Vec::new());
                if let Some(step) = step.as_f64() {
                    failure.candidates.extend([step / 2.0, step + 1.0].map(Value::from));
                }
                failures.push(failure);
            }
        }
        failures
    }

    pub(super) fn texts(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (left, asked) = (self.left, self.right.assertions(right));
        let known: Vec<_> = part.case.assertions(left).collect();
        let formats = || part.case.schemas.iter().filter_map(move |id| format::named(left, *id));
        let mut failures = Vec::new();
        let least = known.iter().filter_map(|known| known.min_length).max().unwrap_or_default();
        let most = known.iter().filter_map(|known| known.max_length).min();
        let shorter = asked.min_length.filter(|wanted| *wanted > least);
        let longer = asked.max_length.filter(|wanted| most.is_none_or(|most| most > *wanted));
        for (keyword, length) in [
            ("minLength", shorter.map(|wanted| wanted.saturating_sub(1).min(5000))),
            ("maxLength", longer.map(|wanted| wanted.saturating_add(1).min(100_000))),
        ] {
            let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else { continue };
            let formatted = formats().filter_map(|name| format::of_length(name, length));
            let texts = formatted.chain(["a".repeat(length)]).map(Value::from).collect();
            failures.push(self.keyword(part, keyword, texts));
        }
        let has = |wanted: &&String| known.iter().any(|known| known.pattern.as_ref() == Some(wanted));
        if let Some(wanted) = asked.pattern.as_ref().filter(|wanted| !has(wanted) && !pattern::is_everywhere(wanted)) {
            let other = pattern::sample(wanted).map(|text| format!("\u{1}{text}\u{1}")).unwrap_or_default();
            let blank = " ".repeat(usize::try_from(least.clamp(1, 5000)).unwrap_or_default());
            failures.push(self.keyword(part, "pattern", vec![other.into(), blank.into()]));
        }
        // A format that is named in a dialect without formats is meant all the same.
        if asked.format.as_deref().is_some_and(|wanted| !formats().any(|known| known == wanted)) {
            failures.push(self.keyword(part, "format", vec!["".into()]));
        }
        failures
    }

    pub(super) fn arrays(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let (node, asked) = (self.right.node(right), self.right.assertions(right));
        let (least, most) = (part.case.fewest_items(self.left), part.case.most_items(self.left));
        let mut failures = Vec::new();
        // The length of a tuple is one demand.
        let (fewest, greatest) = if self.is_read { ("items", "items") } else { ("minItems", "maxItems") };
        if least < node.min_items {
            failures.push(self.of_length(part, fewest, least));
        }
        if let Some(wanted) = node.max_items.filter(|wanted| most.is_none_or(|most| most > *wanted)) {
            add(&mut failures, vec![self.of_length(part, greatest, wanted.saturating_add(1))]);
        }
        let is_unique = part.case.assertions(self.left).any(|asserted| asserted.unique_items);
        if asked.unique_items && !is_unique && most.is_none_or(|most| most > 1) {
            let mut failure = self.of_length(part, "uniqueItems", least.max(2));
            let items = failure.candidates.iter().filter_map(|array| array.as_array()?.first());
            let doubled: Vec<Value> = items.map(|item| json!([item, item])).collect();
            failure.try_first(doubled);
            failures.push(failure);
        }
        add(&mut failures, self.items(part, right, most));
        failures.extend(self.contains(part, right));
        failures
    }

    fn items(&mut self, part: &Part<'_>, right: SchemaId, most: Option<u64>) -> Vec<Failure> {
        let (left, node) = (self.left, self.right.node(right));
        // From here on, all items are alike on both sides.
        let alike = part.case.prefix(left).max(node.prefix_items.len());
        let mut failures = Vec::new();
        for index in (0..=alike).take_while(|index| most.is_none_or(|most| (*index as u64) < most)) {
            let Some(wanted) = node.prefix_items.get(index).copied().or(node.items) else { continue };
            let Some(asked) = part.case.item(left, index) else { break };
            let Some(sent) = part.sent.item(&left.document.shapes, index) else { continue };
            let found = self.place(&asked, &sent, wanted, Reason::Keyword("items"));
            let prefix = if self.is_read { part.case.prefix(left) } else { node.prefix_items.len() };
            add(&mut failures, self.sampler.at(part.case, found, index, prefix > index));
        }
        failures
    }

    fn of_length(&mut self, part: &Part<'_>, keyword: &'static str, length: u64) -> Failure {
        let array = self.sampler.array_of(part.case, length);
        self.keyword(part, keyword, Vec::from_iter(array))
    }

    fn contains(&mut self, part: &Part<'_>, right: SchemaId) -> Option<Failure> {
        let wanted = self.right.assertions(right).contains.as_ref()?;
        let states_it = self.states(part, wanted.schema, &|asserted| {
            let known = asserted.contains.as_ref()?;
            let has_most = wanted.most.is_none_or(|most| known.most.is_some_and(|known| known <= most));
            (known.least >= wanted.least && has_most).then_some(known.schema)
        });
        let is_long = part.case.fewest_items(self.left) >= wanted.least.max(1) && part.case.prefix(self.left) == 0;
        let mut are_all = || {
            let asked = part.case.item(self.left, 0).filter(|_| is_long);
            asked
                .is_some_and(|asked| self.place(&asked, &Sent::anything(), wanted.schema, Reason::Undecided).is_empty())
        };
        if states_it || (wanted.most.is_none() && (wanted.least == 0 || are_all())) {
            return None;
        }
        // Just more matches than allowed, and just fewer than required.
        let counts = [wanted.most.unwrap_or_default().saturating_add(1), wanted.least.saturating_sub(1)];
        let value = self.singled_out.values(&vec![wanted.schema]).first().cloned();
        let mut arrays = Vec::new();
        for count in counts.iter().filter_map(|count| usize::try_from(*count).ok()) {
            arrays.extend(value.clone().filter(|_| count <= MOST_ITEMS).map(|value| vec![value; count].into()));
        }
        Some(self.keyword(part, "contains", arrays))
    }

    pub(super) fn objects(&mut self, part: &Part<'_>, right: SchemaId) -> Vec<Failure> {
        let node = self.right.node(right);
        let (mut keys, mut failures) = (part.case.keys(self.left), Vec::new());
        let mut declared: Vec<&str> = node.properties.iter().map(|(key, _)| key.as_str()).collect();
        if self.is_read {
            std::mem::swap(&mut keys, &mut declared);
        } else {
            let required: Vec<&str> = node.required.iter().map(String::as_str).collect();
            failures = self.required(part, &required);
        }
        keys.append(&mut declared);
        let keys = distinct(&keys, |key| *key);
        for key in &keys {
            if self.is_read && self.right.requires(right, key) {
                add(&mut failures, self.required(part, &[*key]));
            }
            add(&mut failures, self.property(part, right, key));
        }
        add(&mut failures, self.others(part, right, &keys));
        add(&mut failures, self.counted(part, right, &keys));
        add(&mut failures, self.depending(part, right));
        failures
    }

    /// Returns a failure for each of these keys that the left does not require.
    fn required(&mut self, part: &Part<'_>, keys: &[&str]) -> Vec<Failure> {
        let missing = keys.iter().filter(|key| !part.case.requires(self.left, key));
        let (mut declared, mut failures) = (None, Vec::new());
        // The rest would not be reported.
        for key in missing.take(MOST_FAILURES) {
            let declared = declared.get_or_insert_with(|| part.case.keys(self.left));
            failures.push(self.sampler.missing(part.case, key, declared.contains(key)));
        }
        failures
    }

    fn property(&mut self, part: &Part<'_>, right: SchemaId, key: &str) -> Vec<Failure> {
        let Some((asked, sent)) = self.property_of(part, Some(key)) else { return Vec::new() };
        let mut failures = Vec::new();
        // A pattern may match, and it may not: both have to hold.
        for (wanted, _) in self.right.keyed(right, key) {
            let mut found = self.place(&asked, &sent, wanted, Reason::Key);
            if self.is_read && asked.is_empty() && !found.is_empty() {
                // The server does not declare it any more: one reason is enough.
                let mut one = Failure::new(Reason::Key, Vec::new());
                found.iter_mut().for_each(|failure| one.candidates.append(&mut failure.candidates));
                found = vec![one];
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
        for (pattern, schema) in &asserted.patterns {
            for asked in part.case.of_pattern(self.left, pattern) {
                let found = self.place(&asked, &sent, *schema, Reason::Key);
                add(&mut failures, self.under_pattern(part, &found, pattern, declared));
            }
        }
        if let Some(additional) = self.right.additional(right) {
            // Keys of a pattern of the left that no pattern of the right surely matches.
            for (pattern, asked) in part.case.patterns(self.left) {
                let is_known = asserted.patterns.iter().any(|(other, _)| other == pattern) || {
                    let prefix = self.left.patterns.borrow_mut().prefix(pattern).to_owned();
                    let mut patterns = self.right.patterns.borrow_mut();
                    asserted.patterns.iter().any(|(other, _)| patterns.covers(other, &prefix))
                };
                let Some(asked) = asked.filter(|_| !is_known) else { continue };
                let found = self.place(&asked, &sent, additional, Reason::Key);
                add(&mut failures, self.under_pattern(part, &found, pattern, declared));
            }
        }
        if let (Some(additional), Some(asked)) = (self.right.additional(right), part.case.others(self.left)) {
            let found = self.place(&asked, &sent, additional, Reason::OtherKeys);
            let key = UNDECLARED.into_iter().find(|key| !declared.contains(key)).unwrap_or_default();
            add(&mut failures, self.sampler.under(part.case, found, key, &["additionalProperties"]));
        }
        failures
    }

    /// Moves failures to the undeclared keys that a pattern matches.
    fn under_pattern(&mut self, part: &Part<'_>, found: &[Failure], pattern: &str, declared: &[&str]) -> Vec<Failure> {
        let mut failures = Vec::new();
        if found.is_empty() {
            return failures;
        }
        let mut keys = pattern::samples(pattern, 1);
        keys.retain(|key| !declared.contains(&key.as_str()));
        // The failures count without a sample, too.
        keys.push(String::new());
        for key in keys {
            let steps = ["patternProperties", pattern];
            add(&mut failures, self.sampler.under(part.case, found.to_vec(), &key, &steps));
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
                failures.push(self.keyword(part, "minProperties", Vec::new()));
            }
        }
        if let Some(wanted) = asserted.max_properties {
            let is_stated = known.iter().any(|known| known.max_properties.is_some_and(|most| most <= wanted));
            let is_open = self.property_of(part, None).is_some();
            if !is_stated && (is_open || declared.len() as u64 > wanted) {
                let object = self.of_many_keys(part, wanted);
                failures.push(self.keyword(part, "maxProperties", Vec::from_iter(object)));
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
        let mut keys: Vec<String> = part.case.keys(self.left).into_iter().map(str::to_owned).collect();
        keys.extend((0..=most).map(|number| format!("{}{number}", UNDECLARED[0])));
        for key in keys {
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
        let says = |keyword: &&&str| source.is_some_and(|source| source.contains_key(**keyword));
        let said = ["dependentRequired", "dependentSchemas", "dependencies"].iter().find(says);
        let keyword = said.copied().unwrap_or("then");
        for (key, needs) in &asserted.dependent_required {
            let known = part.case.needed(self.left, key);
            let holds = |need: &String| part.case.requires(self.left, need) || known.contains(&need) || need == key;
            if !needs.iter().all(holds) && self.property_of(part, Some(key)).is_some() {
                failures.push(self.with_key(part, key, keyword));
            }
        }
        for (key, schema) in &asserted.dependent_schemas {
            let states_it = self.states(part, *schema, &|asserted| {
                asserted.dependent_schemas.iter().find(|(other, _)| other == key).map(|(_, known)| *known)
            });
            let can_have = !states_it && self.property_of(part, Some(key)).is_some();
            if can_have && !self.part(part, *schema).is_empty() {
                failures.push(self.with_key(part, key, "dependentSchemas"));
            }
        }
        if let Some(names) = asserted.property_names
            && !self.states(part, names, &|asserted| asserted.property_names)
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
        let mut objects = Vec::new();
        for value in values.iter() {
            objects.extend(self.sampler.object(part.case, Some((key, value))).map(Value::Object));
        }
        self.keyword(part, keyword, objects)
    }
}

/// Numbers at and just beyond a bound.
fn around(number: &Number) -> Vec<Value> {
    let floor = floor(number);
    let mut values: Vec<Value> = [1, -1].iter().filter_map(|step| integer(floor.saturating_add(*step))).collect();
    values.push(Value::Number(number.clone()));
    if let Some(value) = number.as_f64() {
        values.extend([value - 0.5, value + 0.5, value.floor() - 1.0, value.ceil() + 1.0].map(Value::from));
    }
    values
}

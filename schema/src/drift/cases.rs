//! Splits schemas into cases: references and `allOf` are followed, and one branch of each `anyOf`, `oneOf` and `if`
//! is chosen. A case only consists of its schemas' own keywords. The cases together allow at least everything that
//! the schemas allow.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::Value;

use super::validity::may_be_valid;
use super::version::{Case, Conjunction, Version};
use crate::normalize::{Assertions, Kinds, Limit, SchemaId};
use crate::number::{distinct, is_integral};

/// The maximum number of distinguished cases.
const MOST_CASES: usize = 128;

/// The approximate limit on schemas of all cases together.
const MOST_SCHEMAS: usize = 32_768;

/// The budget for distinguishing cases in a document; the rest stays undistinguished.
const MOST_WORK: usize = 4_000_000;

impl Version<'_> {
    /// Returns the cases of schemas that all apply.
    pub(super) fn cases(&self, conjunction: &Conjunction) -> Rc<Vec<Case>> {
        if let Some(known) = self.known_cases.borrow().get(conjunction) {
            return Rc::clone(known);
        }
        let mut decided = Vec::new();
        let mut first = Partial::default();
        first.says(self, conjunction);
        let mut open = vec![first];
        while !open.is_empty() {
            let mut partial = open.remove(0);
            if partial.choices.is_empty() || self.work_of_cases.get() >= MOST_WORK {
                decided.push(partial.case);
                continue;
            }
            let choice = partial.choices.remove(0);
            let count = partial.case.schemas.len();
            let work = choice.len() * (1 + count + partial.choices.len());
            self.work_of_cases.update(|known| known + work);
            let mut chosen = partial.chosen(self, &choice);
            // If this choice would create too many cases, it stays open, and only the common part counts.
            let most = MOST_CASES.min(MOST_SCHEMAS / (1 + count));
            if chosen.len() + open.len() + decided.len() > most {
                open.insert(0, partial);
            } else {
                chosen.retain(|partial| !open.contains(partial));
                open.append(&mut chosen);
            }
        }
        let mut cases: Vec<Case> = Vec::new();
        for case in decided {
            if let Err(place) = cases.binary_search(&case)
                && case.is_possible(self)
                && !case.lacks_a_property(self)
            {
                cases.insert(place, case);
            }
        }
        let cases = Rc::new(cases);
        self.known_cases.borrow_mut().insert(conjunction.clone(), Rc::clone(&cases));
        cases
    }
}

/// A case of which not everything is decided.
#[derive(Clone, Default, PartialEq)]
struct Partial {
    /// The schemas that are decided, sorted.
    case: Case,
    choices: Vec<Choice>,
}

/// Ways of which one is taken: the schemas that each adds.
type Choice = Vec<Vec<SchemaId>>;

impl Partial {
    /// Adds schemas, and all that they lead to without a choice.
    fn says(&mut self, version: &Version<'_>, schemas: &[SchemaId]) {
        let mut pending = schemas.to_vec();
        let (mut added, mut seen) = (Vec::new(), HashSet::new());
        let said = &mut self.case.schemas;
        while let Some(id) = pending.pop() {
            // A schema that leads back to itself says nothing more.
            if said.binary_search(&id).is_ok() || !seen.insert(id) {
                continue;
            }
            added.push(id);
            let node = version.node(id);
            pending.extend_from_slice(&node.parts);
            for choice in &node.choices {
                self.choices.push(choice.branches.iter().map(|id| vec![*id]).collect());
            }
            if let Some(condition) = &version.assertions(id).condition {
                let mut held = vec![condition.test];
                held.extend(condition.then);
                self.choices.push(vec![held, Vec::from_iter(condition.otherwise)]);
            }
        }
        said.append(&mut added);
        said.sort_unstable();
    }

    /// Returns the possible cases of a choice, or this case if one of them adds nothing.
    fn chosen(&self, version: &Version<'_>, choice: &Choice) -> Vec<Self> {
        let mut chosen: Vec<Self> = Vec::new();
        for way in choice {
            let way: Vec<SchemaId> = way.iter().map(|id| version.followed(*id)).collect();
            if !way.is_empty() && way.iter().all(|id| self.case.schemas.binary_search(id).is_ok()) {
                return vec![self.clone()];
            }
            let mut more = self.clone();
            more.says(version, &way);
            if more.case.is_possible(version) && !chosen.contains(&more) {
                chosen.push(more);
            }
            if chosen.len() > MOST_CASES {
                break;
            }
        }
        chosen
    }
}

impl Case {
    /// Returns the assertions of the schemas.
    pub(super) fn assertions<'v>(&'v self, version: &'v Version<'_>) -> impl Iterator<Item = &'v Assertions> {
        self.schemas.iter().map(|id| version.assertions(*id))
    }

    fn is_possible(&self, version: &Version<'_>) -> bool {
        self.kinds(version) != Kinds::NONE && self.values(version).is_none_or(|values| !values.is_empty())
    }

    pub(super) fn kinds(&self, version: &Version<'_>) -> Kinds {
        let kinds = self.schemas.iter().fold(Kinds::ALL, |kinds, id| kinds.intersection(version.kinds(*id)));
        let whole = |asserted: &Assertions| asserted.multiple_of.as_ref().is_some_and(is_integral);
        let kinds = if self.assertions(version).any(whole) { kinds.without(Kinds::FRACTION) } else { kinds };
        let least = self.fewest_items(version);
        let is_too_long =
            least > 0 && kinds.has(Kinds::ARRAY) && self.most_items(version).is_some_and(|most| most < least);
        if is_too_long { kinds.without(Kinds::ARRAY) } else { kinds }
    }

    /// Returns `true` if only objects are possible, and a required property has no value.
    fn lacks_a_property(&self, version: &Version<'_>) -> bool {
        let is_impossible = |key: &&str| self.property(version, key).is_none();
        self.kinds(version) == Kinds::OBJECT && self.required(version).iter().any(is_impossible)
    }

    /// Returns the values, if they are listed.
    pub(super) fn values(&self, version: &Version<'_>) -> Option<Vec<Value>> {
        let mut listing = self.schemas.iter().filter(|id| version.node(**id).allowed.is_some());
        let kinds = self.kinds(version);
        let first = version.node(*listing.next()?).allowed.as_deref().unwrap_or_default().iter();
        let others: Vec<SchemaId> = listing.copied().collect();
        let is_value =
            |value: &&Value| kinds.intersects(Kinds::of(value)) && others.iter().all(|id| version.lists(*id, value));
        Some(first.filter(is_value).cloned().collect())
    }

    /// Returns the values of a kind, if they are listed or few.
    pub(super) fn listed(&self, version: &Version<'_>, kind: Kinds) -> Option<Vec<Value>> {
        let mut values = match kind {
            Kinds::NULL => vec![Value::Null],
            Kinds::BOOLEAN => self.values(version).unwrap_or_else(|| vec![true.into(), false.into()]),
            _ => self.values(version)?,
        };
        values.retain(|value| kind.intersects(Kinds::of(value)) && may_be_valid(version, &self.schemas, value));
        Some(values)
    }

    /// Returns the bounds of numbers from below and from above.
    pub(super) fn limits<'v>(&'v self, version: &'v Version<'_>) -> (Vec<&'v Limit>, Vec<&'v Limit>) {
        let (mut lows, mut highs) = (Vec::new(), Vec::new());
        for asserted in self.assertions(version) {
            lows.extend(&asserted.minimum);
            highs.extend(&asserted.maximum);
        }
        (lows, highs)
    }

    /// Returns the keys that objects need with a key.
    pub(super) fn needed<'v>(&self, version: &'v Version<'_>, key: &str) -> Vec<&'v String> {
        let mut needed = Vec::new();
        self.schemas.iter().for_each(|id| needed.extend(version.needed(*id, key)));
        needed
    }

    pub(super) fn requires(&self, version: &Version<'_>, key: &str) -> bool {
        self.schemas.iter().any(|id| version.requires(*id, key))
    }

    pub(super) fn required<'v>(&'v self, version: &'v Version<'_>) -> Vec<&'v str> {
        let mut keys: Vec<&str> = Vec::new();
        for id in &self.schemas {
            keys.extend(version.node(*id).required.iter().map(String::as_str));
        }
        distinct(&keys, |key| *key)
    }

    /// Returns the keys that are declared or named.
    pub(super) fn keys<'v>(&'v self, version: &'v Version<'_>) -> Vec<&'v str> {
        let mut keys = self.required(version);
        for id in &self.schemas {
            let (node, assertions) = (version.node(*id), version.assertions(*id));
            keys.extend(node.properties.iter().map(|(key, _)| key.as_str()));
            for (key, needs) in &assertions.dependent_required {
                keys.extend(needs.iter().map(String::as_str));
                keys.push(key);
            }
            keys.extend(assertions.dependent_schemas.iter().map(|(key, _)| key.as_str()));
        }
        distinct(&keys, |key| *key)
    }

    /// Returns the schemas for the value of a property, or `None` if the property is forbidden.
    pub(super) fn property(&self, version: &Version<'_>, key: &str) -> Option<Conjunction> {
        let mut asked = Vec::new();
        for id in &self.schemas {
            for (schema, is_sure) in version.keyed(*id, key) {
                asked.extend(is_sure.then_some(schema));
            }
        }
        Self::asked(version, asked)
    }

    /// Returns the schemas of properties that no schema declares and no pattern matches.
    pub(super) fn others(&self, version: &Version<'_>) -> Option<Conjunction> {
        Self::asked(version, self.schemas.iter().filter_map(|id| version.additional(*id)).collect())
    }

    /// Returns the patterns of keys, each with schemas that hold for every undeclared property that it matches.
    pub(super) fn patterns<'v>(&self, version: &'v Version<'_>) -> Vec<(&'v str, Option<Conjunction>)> {
        let mut all = Vec::new();
        for (pattern, _) in self.schemas.iter().flat_map(|id| &version.assertions(*id).patterns) {
            let mut asked = Vec::new();
            for id in &self.schemas {
                let patterns = &version.assertions(*id).patterns;
                let of_same = patterns.iter().find(|(other, _)| other == pattern).map(|(_, schema)| *schema);
                // A pattern of another text may match the same property.
                asked.extend(of_same.or(version.additional(*id).filter(|_| patterns.is_empty())));
            }
            all.push((pattern.as_str(), Self::asked(version, asked)));
        }
        all
    }

    /// Returns the schemas that may hold together for an undeclared property that a pattern matches: each schema states
    /// that pattern or one that surely matches, or else one of its patterns may match the property, or none.
    pub(super) fn of_pattern(&self, version: &Version<'_>, pattern: &str) -> Vec<Conjunction> {
        const MOST_WAYS: usize = 16;
        let prefix = version.patterns.borrow_mut().prefix(pattern).to_owned();
        let may_match = |other: &str| {
            let mut patterns = version.patterns.borrow_mut();
            let other = patterns.prefix(other);
            other.starts_with(&prefix) || prefix.starts_with(other)
        };
        let surely_matches = |other: &str| version.patterns.borrow_mut().covers(other, &prefix);
        let mut ways: Vec<Conjunction> = vec![Vec::new()];
        for id in &self.schemas {
            let patterns = &version.assertions(*id).patterns;
            let of_same = patterns.iter().find(|(other, _)| other == pattern);
            let sure = of_same.or_else(|| patterns.iter().find(|(other, _)| surely_matches(other)));
            let mut said: Vec<Option<SchemaId>> = Vec::new();
            if let Some((_, schema)) = sure {
                said.push(Some(*schema));
            } else {
                let matching = patterns.iter().filter(|(other, _)| may_match(other));
                said.extend(matching.map(|(_, schema)| Some(*schema)));
                said.push(version.additional(*id));
            }
            // A schema with too many ways says nothing.
            if ways.len() * said.len() <= MOST_WAYS {
                for way in std::mem::take(&mut ways) {
                    said.iter().for_each(|schema| ways.push([&way, schema.as_slice()].concat()));
                }
            }
        }
        ways.into_iter().filter_map(|way| Self::asked(version, way)).collect()
    }

    /// Returns the schemas for an item, or `None` if the item is forbidden.
    pub(super) fn item(&self, version: &Version<'_>, index: usize) -> Option<Conjunction> {
        let item = |id: &SchemaId| {
            let node = version.node(*id);
            node.prefix_items.get(index).copied().or(node.items)
        };
        Self::asked(version, self.schemas.iter().filter_map(item).collect())
    }

    /// Returns how many items the longest list of items by place has.
    pub(super) fn prefix(&self, version: &Version<'_>) -> usize {
        self.schemas.iter().map(|id| version.node(*id).prefix_items.len()).max().unwrap_or_default()
    }

    pub(super) fn fewest_items(&self, version: &Version<'_>) -> u64 {
        self.schemas.iter().map(|id| version.node(*id).min_items).max().unwrap_or_default()
    }

    pub(super) fn most_items(&self, version: &Version<'_>) -> Option<u64> {
        let stated = self.schemas.iter().filter_map(|id| version.node(*id).max_items);
        let possible = (0..=self.prefix(version)).find(|index| self.item(version, *index).is_none());
        stated.chain(possible.map(|length| length as u64)).min()
    }

    fn asked(version: &Version<'_>, mut asked: Conjunction) -> Option<Conjunction> {
        for id in &mut asked {
            *id = version.followed(*id);
        }
        asked.sort_unstable();
        asked.dedup();
        let kinds = asked.iter().fold(Kinds::ALL, |kinds, id| kinds.intersection(version.kinds(*id)));
        (kinds != Kinds::NONE).then_some(asked)
    }
}

//! The ways in which schemas that hold together can be satisfied: references and `allOf` followed, one branch of each
//! `anyOf`, `oneOf` and `if` chosen. What a case says kind by kind is what the own keywords of its schemas say. The cases
//! together are a superset of what the schemas allow.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::pattern::Patterns;
use super::validity::{is_valid, kind_of, same};
use super::version::{Conjunction, Version};
use crate::normalize::{Kinds, Limit, SchemaId};

/// More than this many are not told apart.
const MOST_CASES: usize = 128;
const DEEPEST: usize = 100;

/// The schemas whose own keywords hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Case(Conjunction);

pub(super) struct Cases<'v, 'a> {
    version: &'v Version<'a>,
    known: HashMap<Conjunction, Rc<Vec<Case>>>,
}

impl<'v, 'a> Cases<'v, 'a> {
    pub(super) fn of(version: &'v Version<'a>) -> Self {
        Self { version, known: HashMap::new() }
    }

    pub(super) fn cases(&mut self, conjunction: &Conjunction) -> Rc<Vec<Case>> {
        if let Some(known) = self.known.get(conjunction) {
            return Rc::clone(known);
        }
        let mut cases = vec![Case(Vec::new())];
        for id in conjunction {
            let more = self.expanded(*id, &mut Vec::new());
            cases = self.product(cases, &more);
        }
        cases.retain(|case| case.is_possible(self.version));
        cases.sort_unstable();
        cases.dedup();
        let cases = Rc::new(cases);
        self.known.insert(conjunction.clone(), Rc::clone(&cases));
        cases
    }

    fn expanded(&self, id: SchemaId, open: &mut Vec<SchemaId>) -> Vec<Case> {
        // A schema that leads back to itself says nothing more; what nests too deep is not looked at.
        if open.contains(&id) || open.len() > DEEPEST {
            return vec![Case(Vec::new())];
        }
        open.push(id);
        let node = self.version.node(id);
        let mut cases = vec![Case(vec![id])];
        for part in node.reference.iter().chain(&node.all_of) {
            cases = self.product(cases, &self.expanded(*part, open));
        }
        for branches in node.any_of.iter().chain(&node.one_of) {
            let any: Vec<Case> = branches.iter().flat_map(|branch| self.expanded(*branch, open)).collect();
            cases = self.product(cases, &any);
        }
        if let Some(condition) = &self.version.assertions(id).condition {
            let mut held = self.expanded(condition.test, open);
            if let Some(then) = condition.then {
                held = self.product(held, &self.expanded(then, open));
            }
            held.extend(condition.otherwise.map_or_else(|| vec![Case(Vec::new())], |other| self.expanded(other, open)));
            cases = self.product(cases, &held);
        }
        open.pop();
        cases
    }

    fn product(&self, left: Vec<Case>, right: &[Case]) -> Vec<Case> {
        if left.len().saturating_mul(right.len()) > MOST_CASES {
            return left;
        }
        let pairs = left.iter().flat_map(|left| right.iter().map(move |right| left.and(right)));
        let mut cases: Vec<Case> = pairs.filter(|case| case.is_possible(self.version)).collect();
        cases.sort_unstable();
        cases.dedup();
        cases
    }
}

/// What is asked of the value of a property, or of an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// There can be none.
    Nothing,
    Of(Conjunction),
}

impl Case {
    pub(super) fn schemas(&self) -> &[SchemaId] {
        &self.0
    }

    fn and(&self, other: &Self) -> Self {
        let mut all = self.0.clone();
        all.extend(other.0.iter().filter(|id| !self.0.contains(id)));
        all.sort_unstable();
        Self(all)
    }

    fn is_possible(&self, version: &Version<'_>) -> bool {
        self.kinds(version) != Kinds::NONE && self.values(version).is_none_or(|values| !values.is_empty())
    }

    pub(super) fn kinds(&self, version: &Version<'_>) -> Kinds {
        self.0.iter().fold(Kinds::ALL, |kinds, id| kinds.intersection(version.kinds(*id)))
    }

    /// The values, where they are listed.
    pub(super) fn values(&self, version: &Version<'_>) -> Option<Vec<Value>> {
        let mut lists = self.0.iter().filter_map(|id| version.node(*id).allowed.as_ref());
        let kinds = self.kinds(version);
        let first = lists.next()?.iter().filter(|value| kinds.intersects(kind_of(value)));
        let lists: Vec<&Vec<Value>> = lists.collect();
        let in_all = |value: &&Value| lists.iter().all(|list| list.iter().any(|known| same(known, value)));
        Some(first.filter(in_all).cloned().collect())
    }

    /// The values of a kind, where they are listed or few.
    pub(super) fn listed(&self, version: &Version<'_>, kind: Kinds, patterns: &mut Patterns) -> Option<Vec<Value>> {
        let values = match kind {
            Kinds::NULL => Some(vec![Value::Null]),
            Kinds::BOOLEAN => self.values(version).or_else(|| Some(vec![true.into(), false.into()])),
            _ => self.values(version),
        };
        let mut is_value = |value: &Value| {
            kind.intersects(kind_of(value))
                && self.0.iter().all(|id| is_valid(version, *id, value, patterns) != Some(false))
        };
        values.map(|values| values.into_iter().filter(|value| is_value(value)).collect())
    }

    pub(super) fn minimum<'v>(&'v self, version: &'v Version<'_>) -> impl Iterator<Item = &'v Limit> {
        self.0.iter().flat_map(|id| &version.assertions(*id).minimum)
    }

    pub(super) fn maximum<'v>(&'v self, version: &'v Version<'_>) -> impl Iterator<Item = &'v Limit> {
        self.0.iter().flat_map(|id| &version.assertions(*id).maximum)
    }

    pub(super) fn requires(&self, version: &Version<'_>, key: &str) -> bool {
        self.0.iter().any(|id| version.node(*id).required.iter().any(|name| name == key))
    }

    pub(super) fn required<'v>(&'v self, version: &'v Version<'_>) -> Vec<&'v str> {
        let mut keys: Vec<&str> = Vec::new();
        for key in self.0.iter().flat_map(|id| &version.node(*id).required) {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        keys
    }

    /// The keys that are declared or named.
    pub(super) fn keys<'v>(&'v self, version: &'v Version<'_>) -> Vec<&'v str> {
        let mut keys = self.required(version);
        for id in &self.0 {
            let (node, assertions) = (version.node(*id), version.assertions(*id));
            let declared = node.properties.iter().map(|(key, _)| key);
            let together = assertions.dependent_required.iter().flat_map(|(key, needs)| needs.iter().chain([key]));
            let depending = assertions.dependent_schemas.iter().map(|(key, _)| key);
            for key in declared.chain(together).chain(depending) {
                if !keys.contains(&key.as_str()) {
                    keys.push(key);
                }
            }
        }
        keys
    }

    pub(super) fn property(&self, version: &Version<'_>, key: &str, patterns: &mut Patterns) -> Asked {
        let mut asked = Conjunction::new();
        for id in &self.0 {
            let (node, assertions) = (version.node(*id), version.assertions(*id));
            let before = asked.len();
            asked.extend(node.properties.iter().filter(|(name, _)| name == key).map(|(_, schema)| *schema));
            let mut is_known = asked.len() > before;
            for (pattern, schema) in &assertions.patterns {
                match patterns.matches(pattern, key) {
                    Some(true) => asked.push(*schema),
                    Some(false) => continue,
                    None => {}
                }
                is_known = true;
            }
            asked.extend(node.additional.filter(|_| !is_known));
        }
        Self::asked(version, asked)
    }

    /// What is asked of properties that no schema declares.
    pub(super) fn others(&self, version: &Version<'_>) -> Asked {
        let additional =
            |id: &SchemaId| version.node(*id).additional.filter(|_| version.assertions(*id).patterns.is_empty());
        Self::asked(version, self.0.iter().filter_map(additional).collect())
    }

    pub(super) fn item(&self, version: &Version<'_>, index: usize) -> Asked {
        let item = |id: &SchemaId| {
            let node = version.node(*id);
            node.prefix_items.get(index).copied().or(node.items)
        };
        Self::asked(version, self.0.iter().filter_map(item).collect())
    }

    /// How many items the longest list of items by place has.
    pub(super) fn prefix(&self, version: &Version<'_>) -> usize {
        self.0.iter().map(|id| version.node(*id).prefix_items.len()).max().unwrap_or_default()
    }

    pub(super) fn fewest_items(&self, version: &Version<'_>) -> u64 {
        self.0.iter().map(|id| version.node(*id).min_items).max().unwrap_or_default()
    }

    pub(super) fn most_items(&self, version: &Version<'_>) -> Option<u64> {
        let stated = self.0.iter().filter_map(|id| version.node(*id).max_items);
        let possible = (0..=self.prefix(version)).find(|index| self.item(version, *index) == Asked::Nothing);
        stated.chain(possible.map(|length| length as u64)).min()
    }

    fn asked(version: &Version<'_>, mut asked: Conjunction) -> Asked {
        for id in &mut asked {
            *id = version.followed(*id);
        }
        asked.sort_unstable();
        asked.dedup();
        if asked.iter().any(|id| version.node(*id).never) { Asked::Nothing } else { Asked::Of(asked) }
    }
}

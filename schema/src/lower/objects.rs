//! The ways to be an object.

use std::collections::{HashMap, HashSet};

use super::{Conjunction, both};
use crate::normalize::SchemaId;

/// One way to be an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectAlternative {
    /// Declared properties, in the order of their declaration.
    pub(super) properties: Vec<Property>,
    pub(super) required: Vec<String>,
    pub(super) additional: Additional,
    /// Each requirement lists sets of properties, and at least one set must be complete.
    pub(super) require_any: Vec<Vec<Vec<String>>>,
    /// Keys that are named elsewhere, such as in the requirements of a branch, and may be present.
    pub(super) named: Vec<String>,
    /// The schema that the alternative comes from, for its name and documentation.
    pub(super) origin: Option<SchemaId>,
}

/// A key, with the schemas of its value.
pub(super) type Property = (String, Conjunction);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Additional {
    /// The schema is silent: allowed, and not kept.
    #[default]
    Unsaid,
    Denied,
    /// Allowed and kept.
    Of(Conjunction),
}

impl PartialEq for ObjectAlternative {
    /// Returns `true` if both allow the same, wherever they come from.
    fn eq(&self, other: &Self) -> bool {
        self.required == other.required && self.named == other.named && self.same_properties(other)
    }
}

impl ObjectAlternative {
    fn same_properties(&self, other: &Self) -> bool {
        self.properties == other.properties
            && self.additional == other.additional
            && self.require_any == other.require_any
    }

    pub(super) fn is_open(&self) -> bool {
        self.required.is_empty() && self.same_properties(&Self::default())
    }

    /// Returns the properties by their keys.
    pub(super) fn index(&self) -> HashMap<&str, &Conjunction> {
        self.properties.iter().map(|(key, schemas)| (key.as_str(), schemas)).collect()
    }

    /// Returns the schemas of a property that is declared as `declared`, if any; `None` if the property is forbidden.
    fn asked_of<'s>(&'s self, declared: Option<&&'s Conjunction>) -> Option<&'s [SchemaId]> {
        match (declared, &self.additional) {
            (Some(schemas), _) => Some(schemas),
            (None, Additional::Of(schemas)) => Some(schemas),
            (None, Additional::Unsaid) => Some(&[]),
            (None, Additional::Denied) => None,
        }
    }

    /// Returns the intersection, or `None` if it is empty; `left` is the index of this object.
    pub(super) fn intersection(&self, left: &HashMap<&str, &Conjunction>, other: &Self) -> Option<Self> {
        let mut required = self.required.clone();
        extend(&mut required, &other.required);
        let right = other.index();
        let asked = |key: &str| Some(both(self.asked_of(left.get(key))?, other.asked_of(right.get(key))?));
        if required.iter().any(|key| asked(key).is_none()) {
            return None;
        }
        let new = other.properties.iter().filter(|(key, _)| !left.contains_key(key.as_str()));
        let keys = self.properties.iter().chain(new).map(|(key, _)| key);
        let properties = keys.filter_map(|key| Some((key.clone(), asked(key)?))).collect();
        let additional = match (&self.additional, &other.additional) {
            (Additional::Denied, _) | (_, Additional::Denied) => Additional::Denied,
            (Additional::Unsaid, said) | (said, Additional::Unsaid) => said.clone(),
            (Additional::Of(left), Additional::Of(right)) => Additional::Of(both(left, right)),
        };
        let mut require_any = self.require_any.clone();
        require_any.extend(other.require_any.iter().filter(|sets| !self.require_any.contains(sets)).cloned());
        let mut named = self.named.clone();
        extend(&mut named, &other.named);
        let origin =
            if other.properties.is_empty() { self.origin.or(other.origin) } else { other.origin.or(self.origin) };
        Self { properties, required, additional, require_any, named, origin }.without_denied_sets()
    }

    /// Removes sets that contain forbidden properties. Returns `None` if a requirement has no set left.
    fn without_denied_sets(mut self) -> Option<Self> {
        if self.additional != Additional::Denied {
            return Some(self);
        }
        let declared: HashSet<&String> = self.properties.iter().map(|(key, _)| key).collect();
        for mut sets in std::mem::take(&mut self.require_any) {
            sets.retain(|set| set.iter().all(|key| declared.contains(key)));
            match sets.as_slice() {
                [] => return None,
                [only] => extend(&mut self.required, only),
                _ => self.require_any.push(sets),
            }
        }
        Some(self)
    }

    /// Returns allowed but undeclared keys, the required ones first, with the schemas of their values.
    pub(super) fn undeclared(&self) -> Vec<Property> {
        let declared = self.index();
        let named = if self.additional == Additional::Denied { &[] } else { self.named.as_slice() };
        let asked = self.asked_of(None).unwrap_or_default();
        let mut seen = HashSet::new();
        let keys = self.required.iter().chain(named).filter(|key| !declared.contains_key(key.as_str()));
        let keys = keys.filter(|key| seen.insert(*key));
        keys.map(|key| (key.clone(), asked.to_vec())).collect()
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        let schemas: usize = self.properties.iter().map(|(_, schemas)| 1 + schemas.len()).sum();
        let sets: usize = self.require_any.iter().flatten().map(|set| 1 + set.len()).sum();
        1 + schemas + sets + self.required.len() + self.named.len()
    }
}

/// Merges alternatives that only differ in their required properties into one that requires any of the sets.
pub(super) fn merge_requirements(alternatives: Vec<ObjectAlternative>) -> Vec<ObjectAlternative> {
    let mut groups: Vec<Vec<ObjectAlternative>> = Vec::new();
    for alternative in alternatives {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.same_properties(&alternative))) {
            Some(group) => group.push(alternative),
            None => groups.push(vec![alternative]),
        }
    }
    groups.iter().filter_map(|group| merge_group(group)).collect()
}

fn merge_group(group: &[ObjectAlternative]) -> Option<ObjectAlternative> {
    let mut merged = group.first()?.clone();
    for alternative in group {
        let required: HashSet<&String> = alternative.required.iter().collect();
        merged.required.retain(|key| required.contains(key));
    }
    let common: HashSet<&String> = merged.required.iter().collect();
    let own = |one: &ObjectAlternative| one.required.iter().filter(|key| !common.contains(key)).cloned().collect();
    let sets: Vec<Vec<String>> = group.iter().map(own).collect();
    for (alternative, set) in group.iter().zip(&sets) {
        extend(&mut merged.named, &alternative.named);
        extend(&mut merged.named, set);
    }
    if sets.iter().all(|set| !set.is_empty()) {
        merged.require_any.push(sets);
    }
    Some(merged)
}

/// Appends the keys that are not there yet.
pub(super) fn extend(list: &mut Vec<String>, more: &[String]) {
    let known: HashSet<&String> = list.iter().collect();
    let new: Vec<String> = more.iter().filter(|key| !known.contains(key)).cloned().collect();
    list.extend(new);
}

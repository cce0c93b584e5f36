//! The ways to be an object.

use std::collections::{HashMap, HashSet};

use super::{Conjunction, both};
use crate::keys::{extend, places, set};
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

    /// Returns the places of properties by their keys.
    pub(super) fn index(&self) -> HashMap<&str, usize> {
        places(&self.properties.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>())
    }

    /// Returns the schemas of a declared property.
    pub(super) fn property(&self, index: &HashMap<&str, usize>, key: &str) -> Option<&[SchemaId]> {
        self.properties.get(*index.get(key)?).map(|(_, schemas)| schemas.as_slice())
    }

    /// Returns the schemas of undeclared properties, or `None` if they are forbidden.
    fn others(&self) -> Option<&[SchemaId]> {
        match &self.additional {
            Additional::Of(schemas) => Some(schemas),
            Additional::Unsaid => Some(&[]),
            Additional::Denied => None,
        }
    }

    /// Returns the intersection, or `None` if it is empty; `left` is the index of this object.
    pub(super) fn intersection(&self, left: &HashMap<&str, usize>, other: &Self) -> Option<Self> {
        let mut required = self.required.clone();
        extend(&mut required, &other.required);
        let right = other.index();
        let asked = |key: &str| {
            let own = self.property(left, key).or_else(|| self.others())?;
            Some(both(own, other.property(&right, key).or_else(|| other.others())?))
        };
        if required.iter().any(|key| asked(key).is_none()) {
            return None;
        }
        let new = other.properties.iter().filter(|(key, _)| !left.contains_key(key.as_str()));
        let mut properties = Vec::new();
        for (key, _) in self.properties.iter().chain(new) {
            if let Some(schemas) = asked(key) {
                properties.push((key.clone(), schemas));
            }
        }
        let additional = match (&self.additional, &other.additional) {
            (Additional::Denied, _) | (_, Additional::Denied) => Additional::Denied,
            (Additional::Unsaid, said) | (said, Additional::Unsaid) => said.clone(),
            (Additional::Of(left), Additional::Of(right)) => Additional::Of(both(left, right)),
        };
        let mut require_any = self.require_any.clone();
        let new = other.require_any.iter().filter(|sets| !self.require_any.contains(sets));
        new.for_each(|sets| require_any.push(sets.clone()));
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
        let declared = keys_of(&self.properties);
        for mut sets in std::mem::take(&mut self.require_any) {
            sets.retain(|set| set.iter().all(|key| declared.contains(key.as_str())));
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
        let others = self.others();
        let named = if others.is_none() { &[] } else { self.named.as_slice() };
        let (mut seen, mut undeclared) = (keys_of(&self.properties), Vec::new());
        for key in self.required.iter().chain(named) {
            if seen.insert(key) {
                undeclared.push((key.clone(), others.unwrap_or_default().to_vec()));
            }
        }
        undeclared
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        let schemas: usize = self.properties.iter().map(|(_, schemas)| 1 + schemas.len()).sum();
        let sets: usize = self.require_any.iter().flatten().map(|set| 1 + set.len()).sum();
        1 + schemas + sets + self.required.len() + self.named.len()
    }
}

/// Returns the keys of some properties.
fn keys_of(properties: &[Property]) -> HashSet<&str> {
    properties.iter().map(|(key, _)| key.as_str()).collect()
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
        let required = set(&alternative.required);
        merged.required.retain(|key| required.contains(key.as_str()));
    }
    let (common, mut sets) = (set(&merged.required), Vec::new());
    for alternative in group {
        let mut own = alternative.required.clone();
        own.retain(|key| !common.contains(key.as_str()));
        extend(&mut merged.named, &alternative.named);
        extend(&mut merged.named, &own);
        sets.push(own);
    }
    if sets.iter().all(|set| !set.is_empty()) {
        merged.require_any.push(sets);
    }
    Some(merged)
}

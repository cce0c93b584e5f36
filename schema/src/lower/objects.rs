use super::index::{Index, extend, keys};
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
        self.properties.is_empty()
            && self.required.is_empty()
            && self.additional == Additional::Unsaid
            && self.require_any.is_empty()
    }

    /// Returns the properties by their keys.
    pub(super) fn index(&self) -> Index<'_, Property> {
        Index::new(&self.properties, |(key, _)| key)
    }

    /// Returns the schemas of a property that is declared as `declared`, if any; `None` if the property is forbidden.
    fn asked_of<'s>(&'s self, declared: Option<&'s Property>) -> Option<&'s [SchemaId]> {
        match (declared, &self.additional) {
            (Some((_, schemas)), _) | (None, Additional::Of(schemas)) => Some(schemas),
            (None, Additional::Unsaid) => Some(&[]),
            (None, Additional::Denied) => None,
        }
    }

    /// Returns the intersection, or `None` if it is empty.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let mut required = self.required.clone();
        extend(&mut required, &other.required);
        let (left, right) = (self.index(), other.index());
        if required.iter().any(|key| self.asked_of(left.get(key)).is_none() || other.asked_of(right.get(key)).is_none())
        {
            return None;
        }
        let mut properties = Vec::with_capacity(self.properties.len() + other.properties.len());
        let keys = self.properties.iter().chain(other.properties.iter().filter(|(key, _)| !left.has(key)));
        for (key, _) in keys {
            if let (Some(left), Some(right)) = (self.asked_of(left.get(key)), other.asked_of(right.get(key))) {
                properties.push((key.clone(), both(left, right)));
            }
        }
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
        if self.additional != Additional::Denied || self.require_any.is_empty() {
            return Some(self);
        }
        let mut demands = std::mem::take(&mut self.require_any);
        let declared = Index::new(&self.properties, |(key, _)| key);
        for sets in &mut demands {
            sets.retain(|set| set.iter().all(|key| declared.has(key)));
        }
        for sets in demands {
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
        let mut undeclared: Vec<String> = self.required.iter().filter(|key| !declared.has(key)).cloned().collect();
        if self.additional != Additional::Denied {
            let named: Vec<String> = self.named.iter().filter(|key| !declared.has(key)).cloned().collect();
            extend(&mut undeclared, &named);
        }
        let asked = match &self.additional {
            Additional::Of(schemas) => schemas.clone(),
            Additional::Unsaid | Additional::Denied => Conjunction::new(),
        };
        undeclared.into_iter().map(|key| (key, asked.clone())).collect()
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
    if alternatives.len() < 2 {
        return alternatives;
    }
    let mut groups: Vec<Vec<ObjectAlternative>> = Vec::new();
    for alternative in alternatives {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.same_properties(&alternative))) {
            Some(group) => group.push(alternative),
            None => groups.push(vec![alternative]),
        }
    }
    groups.into_iter().filter_map(merge_group).collect()
}

fn merge_group(mut group: Vec<ObjectAlternative>) -> Option<ObjectAlternative> {
    if group.len() < 2 {
        return group.pop();
    }
    let mut merged = group.first()?.clone();
    for alternative in &group {
        let required = keys(&alternative.required);
        merged.required.retain(|key| required.has(key));
    }
    let common = keys(&merged.required);
    let sets: Vec<Vec<String>> = group
        .iter()
        .map(|alternative| alternative.required.iter().filter(|key| !common.has(key)).cloned().collect())
        .collect();
    for (alternative, set) in group.iter().zip(&sets) {
        extend(&mut merged.named, &alternative.named);
        extend(&mut merged.named, set);
    }
    if sets.iter().all(|set| !set.is_empty()) {
        merged.require_any.push(sets);
    }
    Some(merged)
}

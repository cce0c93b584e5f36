use super::alternatives::{Conjunction, both};
use crate::normalize::SchemaId;

/// One way to be an object.
#[derive(Clone, Debug, Default)]
pub(super) struct ObjectAlternative {
    /// Declared properties, in the order of their declaration.
    pub(super) properties: Vec<(String, Conjunction)>,
    pub(super) required: Vec<String>,
    pub(super) additional: Additional,
    /// Sets of properties, of which at least one has to be complete; several such demands.
    pub(super) require_any: Vec<Vec<Vec<String>>>,
    /// The schema that the alternative comes from, for its name and documentation.
    pub(super) origin: Option<SchemaId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Additional {
    /// Nothing is said: allowed, and not kept.
    #[default]
    Unsaid,
    Denied,
    /// Allowed and kept.
    Of(Conjunction),
}

impl PartialEq for ObjectAlternative {
    /// Whether both allow the same, wherever they come from.
    fn eq(&self, other: &Self) -> bool {
        self.required == other.required && self.same_properties(other)
    }
}

impl ObjectAlternative {
    fn same_properties(&self, other: &Self) -> bool {
        self.properties == other.properties
            && self.additional == other.additional
            && self.require_any == other.require_any
    }

    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn property(&self, key: &str) -> Option<&Conjunction> {
        self.properties.iter().find(|(name, _)| name == key).map(|(_, schemas)| schemas)
    }

    /// What is asked of the property `key`; `None` where it must not be there.
    fn asked_of(&self, key: &str) -> Option<Conjunction> {
        match (self.property(key), &self.additional) {
            (Some(schemas), _) | (None, Additional::Of(schemas)) => Some(schemas.clone()),
            (None, Additional::Unsaid) => Some(Conjunction::new()),
            (None, Additional::Denied) => None,
        }
    }

    /// `None` where no object can be both.
    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let mut required = self.required.clone();
        required.extend(other.required.iter().filter(|name| !self.required.contains(name)).cloned());
        let mut properties = Vec::new();
        let keys =
            self.properties.iter().chain(other.properties.iter().filter(|(key, _)| self.property(key).is_none()));
        for (key, _) in keys {
            match (self.asked_of(key), other.asked_of(key)) {
                (Some(left), Some(right)) => properties.push((key.clone(), both(&left, &right))),
                _ if required.contains(key) => return None,
                _ => {}
            }
        }
        if required.iter().any(|key| self.asked_of(key).is_none() || other.asked_of(key).is_none()) {
            return None;
        }
        let additional = match (&self.additional, &other.additional) {
            (Additional::Denied, _) | (_, Additional::Denied) => Additional::Denied,
            (Additional::Unsaid, said) | (said, Additional::Unsaid) => said.clone(),
            (Additional::Of(left), Additional::Of(right)) => Additional::Of(both(left, right)),
        };
        let mut require_any = self.require_any.clone();
        require_any.extend(other.require_any.iter().filter(|sets| !self.require_any.contains(sets)).cloned());
        let origin =
            if other.properties.is_empty() { self.origin.or(other.origin) } else { other.origin.or(self.origin) };
        Some(Self { properties, required, additional, require_any, origin })
    }
}

/// Alternatives that differ only in what they require become one, which asks for any of the sets.
pub(super) fn merge_requirements(alternatives: Vec<ObjectAlternative>) -> Vec<ObjectAlternative> {
    let mut groups: Vec<Vec<ObjectAlternative>> = Vec::new();
    for alternative in alternatives {
        match groups.iter_mut().find(|group| group.first().is_some_and(|first| first.same_properties(&alternative))) {
            Some(group) => group.push(alternative),
            None => groups.push(vec![alternative]),
        }
    }
    groups.into_iter().filter_map(merge_group).collect()
}

fn merge_group(group: Vec<ObjectAlternative>) -> Option<ObjectAlternative> {
    let mut merged = group.first()?.clone();
    merged.required.retain(|key| group.iter().all(|alternative| alternative.required.contains(key)));
    let sets: Vec<Vec<String>> = group
        .iter()
        .map(|alternative| alternative.required.iter().filter(|key| !merged.required.contains(key)).cloned().collect())
        .collect();
    if group.len() > 1 && sets.iter().all(|set| !set.is_empty()) {
        merged.require_any.push(sets);
    }
    Some(merged)
}

//! Finds the property that distinguishes the branches of a union.

use std::collections::HashSet;

use serde_json::Value;

use super::Conjunction;
use super::Lowering;
use super::alternatives::{Alternatives, Choice};
use super::index::{extend, keys};
use super::numbers::Numbers;
use super::objects::ObjectAlternative;
use crate::number::ByValue;
use crate::shape::TagKey;

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) key: TagKey,
    /// The value of each branch, in their order.
    pub(super) values: Vec<Value>,
}

impl Lowering<'_, '_> {
    /// Returns the first property that every branch requires and gives a constant of its own.
    pub(super) fn tag(&mut self, branches: &[ObjectAlternative]) -> Option<Tag> {
        let properties: Vec<_> = branches.iter().map(ObjectAlternative::index).collect();
        let required: Vec<_> = branches.iter().map(|branch| keys(&branch.required)).collect();
        for key in &branches.first()?.required {
            if !self.expander.affords(branches.len()) {
                return None;
            }
            let mut constants = properties.iter().zip(&required).map(|(properties, required)| {
                let (_, schemas) = properties.get(key).filter(|_| required.has(key))?;
                self.constant(schemas)
            });
            let Some(constants) = constants.by_ref().collect::<Option<Vec<Value>>>() else { continue };
            let are_texts = constants.iter().all(Value::is_string);
            if !are_texts && constants.iter().any(Value::is_string) {
                continue;
            }
            let distinct: HashSet<ByValue<'_>> = constants.iter().map(ByValue).collect();
            if distinct.len() == constants.len() {
                return Some(Tag { key: TagKey { name: key.clone(), is_text: are_texts }, values: constants });
            }
        }
        None
    }

    /// Returns the only value that schemas allow.
    fn constant(&mut self, schemas: &Conjunction) -> Option<Value> {
        let allowed = self.allowed(schemas);
        let Alternatives { null: false, booleans, numbers, strings, arrays, objects, literals, .. } = &*allowed else {
            return None;
        };
        if !(arrays.is_empty() && objects.is_empty() && literals.is_empty()) {
            return None;
        }
        let (Choice::Only(booleans), Numbers::Only(numbers), Choice::Only(strings)) = (booleans, numbers, strings)
        else {
            return None;
        };
        match (booleans.as_slice(), numbers.as_slice(), strings.as_slice()) {
            ([], [], [only]) => Some(only.clone().into()),
            ([], [only], []) if !only.is_f64() => Some(only.clone().into()),
            ([only], [], []) => Some((*only).into()),
            _ => None,
        }
    }
}

/// Keys that only some branch names are no property of another's; still they may be there.
pub(super) fn share_names(branches: &mut [ObjectAlternative]) {
    let declared: HashSet<&str> =
        branches.iter().flat_map(|branch| &branch.properties).map(|(key, _)| key.as_str()).collect();
    let mut named = HashSet::new();
    let shared: Vec<String> = branches
        .iter()
        .flat_map(|branch| branch.required.iter().chain(&branch.named))
        .filter(|key| !declared.contains(key.as_str()) && named.insert(*key))
        .cloned()
        .collect();
    for branch in branches {
        extend(&mut branch.named, &shared);
    }
}

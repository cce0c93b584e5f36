//! Constants that identify a branch of a union, if there is no tag for all of them.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::Value;

use super::Lowering;
use super::objects::ObjectAlternative;

/// A branch, and the value of a property that has only one there.
type Constant<'c> = (usize, &'c Value);

impl Lowering<'_, '_> {
    /// Names each branch after a constant that no other branch has. All look at one property: the one that names
    /// most of them, then the first of those that are required, then the least.
    pub(super) fn named_by_constants(&self, branches: &[&ObjectAlternative]) -> Vec<Option<String>> {
        let mut constants: HashMap<&str, Vec<Constant<'_>>> = HashMap::new();
        for (place, branch) in branches.iter().enumerate() {
            for (key, schemas) in &branch.properties {
                let mut listed = schemas.iter().filter_map(|id| self.schemas.get(*id).allowed.as_deref());
                let only = listed.find_map(|values| match values {
                    [only @ (Value::String(_) | Value::Number(_) | Value::Bool(_))] => Some(only),
                    _ => None,
                });
                if let Some(only) = only {
                    constants.entry(key).or_default().push((place, only));
                }
            }
        }
        let place_in_required = |key: &str| {
            let places =
                branches.iter().filter_map(|branch| branch.required.iter().position(|required| required == key));
            places.min().unwrap_or(usize::MAX)
        };
        let own = constants.into_iter().map(|(key, constants)| (key, without_twins(constants)));
        let best = own.max_by_key(|(key, own)| (own.len(), Reverse(place_in_required(key)), Reverse(*key)));
        let mut names = vec![None; branches.len()];
        for (key, place, value) in
            best.into_iter().flat_map(|(key, own)| own.into_iter().map(move |(p, v)| (key, p, v)))
        {
            if let (Some(name), Some(branch)) = (names.get_mut(place), branches.get(place)) {
                *name = self.name_by_constant(branch, key, value);
            }
        }
        names
    }

    /// A text says by itself what a branch is. `true` and `1` do not: a name of the branch says more.
    pub(super) fn name_by_constant(&self, branch: &ObjectAlternative, key: &str, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            other if branch.origin.is_none_or(|id| self.given_name(id).is_none()) => Some(format!("{key} {other}")),
            _ => None,
        }
    }
}

/// The constants that one branch alone has.
fn without_twins(constants: Vec<Constant<'_>>) -> Vec<Constant<'_>> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (_, value) in &constants {
        *counts.entry(value.to_string()).or_default() += 1;
    }
    constants.into_iter().filter(|(_, value)| counts.get(&value.to_string()) == Some(&1)).collect()
}

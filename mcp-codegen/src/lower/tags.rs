//! The property that tells the branches of a union apart.

use super::Lowering;
use super::alternatives::{Alternatives, Choice};
use super::objects::ObjectAlternative;

#[derive(Debug)]
pub(super) struct Tag {
    pub(super) key: String,
    /// The value of each branch, in their order.
    pub(super) values: Vec<String>,
}

impl Lowering<'_, '_> {
    /// The first property that every branch requires and gives a constant string of its own.
    pub(super) fn tag(&mut self, branches: &[ObjectAlternative]) -> Option<Tag> {
        let candidates = branches.first()?.required.clone();
        candidates.into_iter().find_map(|key| {
            let mut values: Vec<String> = Vec::new();
            for branch in branches {
                let value = self.constant(branch, &key)?;
                if values.contains(&value) {
                    return None;
                }
                values.push(value);
            }
            Some(Tag { key, values })
        })
    }

    fn constant(&mut self, branch: &ObjectAlternative, key: &str) -> Option<String> {
        let property = branch.property(key).filter(|_| branch.required.iter().any(|name| name == key))?;
        let allowed = self.expander.all(self.schemas, property, self.reporter);
        match &allowed.strings {
            Choice::Only(values)
                if allowed == (Alternatives { strings: allowed.strings.clone(), ..Alternatives::nothing() }) =>
            {
                match values.as_slice() {
                    [only] => Some(only.clone()),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

//! Which branch of a union is tried first: the one that asks for more.

use std::cmp::Reverse;

use super::Lowering;
use super::alternatives::{Choice, Numbers};
use super::objects::{Additional, ObjectAlternative};

/// Sorts the most specific first. Equal ones are sorted by where they stand in the document, never by chance.
pub(super) type Specificity = (Reverse<usize>, Reverse<usize>, bool, Reverse<usize>, String);

impl Lowering<'_, '_> {
    pub(super) fn specificity(&mut self, object: &ObjectAlternative) -> Specificity {
        let listed = object.properties.iter().filter(|(_, schemas)| {
            let allowed = self.expander.all(self.schemas, schemas, self.reporter);
            matches!(&allowed.strings, Choice::Only(values) if !values.is_empty())
                || matches!(&allowed.numbers, Numbers::Only(values) if !values.is_empty())
        });
        let listed = listed.count();
        let place = object.origin.map(|id| self.schemas.get(id).pointer.clone()).unwrap_or_default();
        (
            Reverse(object.required.len()),
            Reverse(listed),
            object.additional != Additional::Denied,
            Reverse(object.properties.len()),
            place,
        )
    }
}

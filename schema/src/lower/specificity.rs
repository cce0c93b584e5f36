//! Orders the branches of a union, the most specific first.

use std::cmp::Reverse;

use super::Lowering;
use super::alternatives::Choice;
use super::arrays::{ArrayAlternative, Rest};
use super::numbers::Numbers;
use super::objects::{Additional, ObjectAlternative};
use super::openness::is_anything;

/// Sorts the most specific first: those that say nothing of any value come last, for they would take what others are
/// for. Equal ones are sorted by where they stand in the document, never by chance.
pub(super) type Specificity = (bool, Reverse<usize>, Reverse<usize>, u8, Reverse<usize>, Reverse<usize>, String);

impl Lowering<'_, '_> {
    pub(super) fn specificity(&mut self, object: &ObjectAlternative) -> Specificity {
        let (mut listed, mut typed) = (0, 0);
        for (_, schemas) in &object.properties {
            let allowed = self.expander.all(self.schemas, schemas, self.reporter);
            let is_listed = matches!(&allowed.strings, Choice::Only(values) if !values.is_empty())
                || matches!(&allowed.numbers, Numbers::Only(values) if !values.is_empty());
            listed += usize::from(is_listed);
            typed += usize::from(!is_anything(&allowed));
        }
        let openness = match &object.additional {
            Additional::Denied => 0,
            Additional::Of(schemas) if !self.is_untyped(schemas) => 1,
            Additional::Unsaid => 2,
            Additional::Of(_) => 3,
        };
        let place = object.origin.map(|id| self.schemas.get(id).pointer.clone()).unwrap_or_default();
        (
            typed == 0 && openness > 1,
            Reverse(object.required.len()),
            Reverse(listed),
            openness,
            Reverse(typed),
            Reverse(object.properties.len()),
            place,
        )
    }

    /// How many items, by how many schemas, an array says nothing of: the fewer, the more specific.
    pub(super) fn untyped_items(&mut self, array: &ArrayAlternative) -> (bool, usize) {
        let rest = match &array.rest {
            Rest::Of(rest) => self.is_untyped(rest),
            Rest::Closed => false,
        };
        (rest, array.prefix.iter().filter(|item| self.is_untyped(item)).count())
    }

    fn is_untyped(&mut self, schemas: &[crate::normalize::SchemaId]) -> bool {
        schemas.is_empty() || is_anything(&self.expander.all(self.schemas, schemas, self.reporter))
    }
}

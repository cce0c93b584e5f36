//! How much of everything a set allows.

use super::alternatives::{Alternatives, Choice};
use super::arrays::ArrayAlternative;
use super::objects::ObjectAlternative;
use crate::normalize::Kinds;

/// From this many kinds on, those that allow everything are one branch.
const MANY_KINDS: usize = 4;

/// The kinds of which every value is allowed, leaving out `null`.
pub(super) fn open_kinds(alternatives: &Alternatives) -> Vec<Kinds> {
    [
        (Kinds::BOOLEAN, alternatives.booleans == Choice::Any),
        (Kinds::NUMBER, alternatives.numbers.is_any()),
        (Kinds::STRING, alternatives.strings == Choice::Any),
        (Kinds::ARRAY, alternatives.arrays.iter().any(ArrayAlternative::is_open)),
        (Kinds::OBJECT, alternatives.objects.iter().any(ObjectAlternative::is_open)),
    ]
    .into_iter()
    .filter_map(|(kind, open)| open.then_some(kind))
    .collect()
}

pub(super) fn is_anything(alternatives: &Alternatives) -> bool {
    alternatives.null && open_kinds(alternatives).len() == 5
}

/// Returns `true` if the type takes `null` by itself, in a branch for everything that is not told apart.
pub(super) fn takes_null(alternatives: &Alternatives) -> bool {
    alternatives.null && open_kinds(alternatives).len() >= MANY_KINDS
}

/// How many ways there are, leaving out `null` and literals.
pub(super) fn count(alternatives: &Alternatives) -> usize {
    usize::from(!alternatives.booleans.is_none())
        + usize::from(!alternatives.numbers.is_none())
        + usize::from(!alternatives.strings.is_none())
        + alternatives.arrays.len()
        + alternatives.objects.len()
}

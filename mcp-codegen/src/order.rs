//! The order of lists.

use std::cmp::Ordering;

/// Returns the places of a list's items in the order of `compare`, which takes two places; equal items keep their order.
/// The compiler builds another sort for each type of items; lists that are sorted by this function share one.
pub(crate) fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|left, right| compare(*left, *right));
    places
}

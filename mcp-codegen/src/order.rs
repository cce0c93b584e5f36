//! The order of lists.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Returns the places of a list's items in the order of `compare`, which takes two places; equal items keep their order.
/// The compiler builds another sort for each type of items; lists that are sorted by this function share one.
pub(crate) fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|left, right| compare(*left, *right));
    places
}

/// Returns texts in their order, each once.
pub(crate) fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut distinct = Map::new();
    texts.into_iter().for_each(|text| drop(distinct.insert(text, Value::Null)));
    distinct.sort_keys();
    distinct.into_iter().map(|(text, _)| text).collect()
}

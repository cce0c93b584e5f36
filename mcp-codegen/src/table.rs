//! Lists: their order, and values by small numbers.

use std::cmp::Ordering;

use serde_json::{Map, Value};

/// Values by the number of a shape, a class or a place in a list. Unlike a map, it uses memory for every number up to the
/// largest. Its loops are plain, because the compiler writes each chain of iterators again for each type of values.
#[derive(Clone, Debug)]
pub(crate) struct Table<T>(Vec<Option<T>>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Table<T> {
    pub(crate) fn get(&self, number: impl Into<usize>) -> Option<&T> {
        self.0.get(number.into())?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: impl Into<usize>) -> Option<&mut T> {
        self.0.get_mut(number.into())?.as_mut()
    }

    pub(crate) fn insert(&mut self, number: impl Into<usize>, value: T) {
        let number = number.into();
        while self.0.len() <= number {
            self.0.push(None);
        }
        if let Some(slot) = self.0.get_mut(number) {
            *slot = Some(value);
        }
    }

    pub(crate) fn remove(&mut self, number: impl Into<usize>) -> Option<T> {
        self.0.get_mut(number.into())?.take()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns the values, sorted by their numbers.
    pub(crate) fn values(self) -> Vec<T> {
        let mut values = Vec::new();
        self.0.into_iter().for_each(|value| values.extend(value));
        values
    }
}

impl<T> Table<Vec<T>> {
    /// Appends a value to the list of a number.
    pub(crate) fn push(&mut self, number: impl Into<usize>, value: T) {
        let number = number.into();
        match self.get_mut(number) {
            Some(values) => values.push(value),
            None => self.insert(number, vec![value]),
        }
    }
}

/// Returns the places of a list's items in the order of `compare`, which takes two places; equal items keep their order.
/// The compiler builds another sort for each type of items; lists that are sorted by this function share one.
pub(crate) fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|left, right| compare(*left, *right));
    places
}

/// Returns texts in their order, each once. It uses a `Map`, whose code serde_json has, and no `BTreeSet`, whose code the
/// compiler would add.
pub(crate) fn distinct(texts: Vec<String>) -> Vec<String> {
    let mut distinct = Map::new();
    texts.into_iter().for_each(|text| drop(distinct.insert(text, Value::Null)));
    distinct.sort_keys();
    distinct.into_iter().map(|(text, _)| text).collect()
}

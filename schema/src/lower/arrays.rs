//! The ways to be an array, and their shapes.

use super::{Conjunction, LAYER, LIST_LAYER, Lowering, both};
use crate::normalize::SchemaId;
use crate::shape::Shape;

/// Tuples longer than this are lists.
const LONGEST_TUPLE: usize = 8;

/// One way to be an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArrayAlternative {
    pub(super) prefix: Vec<Conjunction>,
    /// The items after the prefix, if they are allowed.
    pub(super) rest: Option<Conjunction>,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

impl Default for ArrayAlternative {
    /// Creates the way that allows every array.
    fn default() -> Self {
        Self { prefix: Vec::new(), rest: Some(Conjunction::new()), least: 0, most: None }
    }
}

impl ArrayAlternative {
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    fn item(&self, index: usize) -> Option<&Conjunction> {
        self.prefix.get(index).or(self.rest.as_ref())
    }

    /// Returns the greatest length, if it is limited.
    pub(super) fn longest(&self) -> Option<u64> {
        let prefix = if self.rest.is_none() { u64::try_from(self.prefix.len()).ok() } else { None };
        self.most.into_iter().chain(prefix).min()
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let length = self.prefix.len().max(other.prefix.len());
        let prefix: Vec<_> = (0..length).map_while(|index| Some(both(self.item(index)?, other.item(index)?))).collect();
        let rest = self.rest.as_ref().zip(other.rest.as_ref()).filter(|_| prefix.len() == length);
        let rest = rest.map(|(left, right)| both(left, right));
        let least = self.least.max(other.least);
        let most = self.most.into_iter().chain(other.most).min();
        let array = Self { prefix, rest, least, most };
        array.longest().is_none_or(|most| least <= most).then_some(array)
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        1 + self.rest.as_ref().map_or(0, Vec::len) + self.prefix.iter().map(|item| 1 + item.len()).sum::<usize>()
    }

    /// Returns the length, if it is fixed.
    fn fixed_length(&self) -> Option<usize> {
        let prefix = u64::try_from(self.prefix.len()).ok()?;
        (prefix > 0 && self.least == prefix && self.longest() == Some(prefix)).then_some(self.prefix.len())
    }
}

impl Lowering<'_, '_> {
    /// Returns an array whose first items have separate types, if a single item type would be weaker.
    fn prefixed(&mut self, array: &ArrayAlternative, depth: usize) -> Option<Shape> {
        let most = array.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let prefix: Vec<Conjunction> = array.prefix.iter().take(most).cloned().collect();
        let rest = array.rest.as_ref().filter(|_| prefix.len() < most);
        if prefix.is_empty() || prefix.len() > LONGEST_TUPLE {
            return None;
        }
        let mut all = prefix.iter().chain(rest).map(|item| self.allowed(item));
        let first = all.next()?;
        if all.all(|other| other == first) {
            return None;
        }
        let prefix = prefix.iter().map(|item| self.slot(item, depth + LAYER)).collect();
        Some(Shape::Prefixed(prefix, rest.map(|rest| self.slot(rest, depth + LIST_LAYER))))
    }

    pub(super) fn array(&mut self, array: &ArrayAlternative, depth: usize) -> Shape {
        if array.fixed_length().is_some_and(|length| length <= LONGEST_TUPLE) {
            return Shape::Tuple(array.prefix.iter().map(|item| self.slot(item, depth + LAYER)).collect());
        }
        if let Some(shape) = self.prefixed(array, depth) {
            return shape;
        }
        let mut items: Vec<Conjunction> = array.prefix.iter().chain(&array.rest).cloned().collect();
        items.dedup();
        let item = match items.as_slice() {
            [item] => item.clone(),
            several if several.is_empty() || several.iter().any(Vec::is_empty) => Conjunction::new(),
            several => {
                let pointer = several.first().map(|item| self.place(item)).unwrap_or_default();
                let branches: Vec<SchemaId> = several
                    .iter()
                    .map(|item| match item.as_slice() {
                        [only] => *only,
                        all => self.schemas.all_of(pointer.clone(), all.to_vec()),
                    })
                    .collect();
                vec![self.schemas.any_of(pointer, branches)]
            }
        };
        Shape::List(self.slot(&item, depth + LIST_LAYER))
    }
}

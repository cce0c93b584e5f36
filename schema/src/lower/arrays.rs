//! The ways to be an array, and their shapes.

use super::{Conjunction, LAYER, LIST_LAYER, Lowering, both};
use crate::number::smaller;
use crate::shape::{Shape, Slot};

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
        smaller(self.most, prefix)
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let length = self.prefix.len().max(other.prefix.len());
        let mut prefix = Vec::new();
        for index in 0..length {
            let (Some(left), Some(right)) = (self.item(index), other.item(index)) else { break };
            prefix.push(both(left, right));
        }
        let rest = match (&self.rest, &other.rest) {
            (Some(left), Some(right)) if prefix.len() == length => Some(both(left, right)),
            _ => None,
        };
        let (least, most) = (self.least.max(other.least), smaller(self.most, other.most));
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
        let prefix = array.prefix.get(..most.min(array.prefix.len())).unwrap_or_default();
        let rest = array.rest.as_ref().filter(|_| prefix.len() < most);
        if prefix.len() > LONGEST_TUPLE {
            return None;
        }
        let (first, others) = prefix.split_first()?;
        let first = self.allowed(first);
        let mut is_same = |item: &Conjunction| self.allowed(item) == first;
        if others.iter().all(&mut is_same) && rest.is_none_or(is_same) {
            return None;
        }
        Some(Shape::Prefixed(self.slots(prefix, depth), rest.map(|rest| self.slot(rest, depth + LIST_LAYER))))
    }

    fn slots(&mut self, items: &[Conjunction], depth: usize) -> Vec<Slot> {
        items.iter().map(|item| self.slot(item, depth + LAYER)).collect()
    }

    pub(super) fn array(&mut self, array: &ArrayAlternative, depth: usize) -> Shape {
        if array.fixed_length().is_some_and(|length| length <= LONGEST_TUPLE) {
            return Shape::Tuple(self.slots(&array.prefix, depth));
        }
        if let Some(shape) = self.prefixed(array, depth) {
            return shape;
        }
        let mut items = [array.prefix.as_slice(), array.rest.as_slice()].concat();
        items.dedup();
        let item = match items.as_slice() {
            [item] => item.clone(),
            several if several.is_empty() || several.iter().any(Vec::is_empty) => Conjunction::new(),
            several => {
                let pointer = several.first().map(|item| self.place(item)).unwrap_or_default();
                let mut branches = Vec::new();
                for item in several {
                    branches.push(match item.as_slice() {
                        [only] => *only,
                        all => self.schemas.all_of(pointer.clone(), all.to_vec()),
                    });
                }
                vec![self.schemas.any_of(pointer, branches)]
            }
        };
        Shape::List(self.slot(&item, depth + LIST_LAYER))
    }
}

//! The ways to be an array, and their shapes.

use super::{Conjunction, LAYER, LIST_LAYER, Lowering, both};
use crate::normalize::SchemaId;
use crate::shape::Shape;

/// Tuples longer than this are lists.
const LONGEST_TUPLE: usize = 8;

/// One way to be an array.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ArrayAlternative {
    pub(super) prefix: Vec<Conjunction>,
    /// The items after the prefix, if they are allowed.
    pub(super) rest: Rest,
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Rest {
    Closed,
    Of(Conjunction),
}

impl Default for Rest {
    fn default() -> Self {
        Self::Of(Conjunction::new())
    }
}

impl ArrayAlternative {
    pub(super) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    fn item(&self, index: usize) -> Option<&Conjunction> {
        match (self.prefix.get(index), &self.rest) {
            (Some(item), _) => Some(item),
            (None, Rest::Of(item)) => Some(item),
            (None, Rest::Closed) => None,
        }
    }

    pub(super) fn intersection(&self, other: &Self) -> Option<Self> {
        let length = self.prefix.len().max(other.prefix.len());
        let prefix: Vec<_> = (0..length).map_while(|index| Some(both(self.item(index)?, other.item(index)?))).collect();
        let rest = match (&self.rest, &other.rest) {
            (Rest::Of(left), Rest::Of(right)) if prefix.len() == length => Rest::Of(both(left, right)),
            _ => Rest::Closed,
        };
        let least = self.least.max(other.least);
        let most = self.most.into_iter().chain(other.most).min();
        let longest = if rest == Rest::Closed { u64::try_from(prefix.len()).ok() } else { None };
        let fits = most.into_iter().chain(longest).all(|most| least <= most);
        fits.then_some(Self { prefix, rest, least, most })
    }

    /// Estimates the cost of comparing or copying.
    pub(super) fn weight(&self) -> usize {
        let rest = if let Rest::Of(rest) = &self.rest { rest.len() } else { 0 };
        1 + rest + self.prefix.iter().map(|item| 1 + item.len()).sum::<usize>()
    }

    /// Returns the length, if it is fixed.
    pub(super) fn fixed_length(&self) -> Option<usize> {
        let prefix = u64::try_from(self.prefix.len()).ok()?;
        let most = match (&self.rest, self.most) {
            (Rest::Closed, most) => most.map_or(prefix, |most| most.min(prefix)),
            (Rest::Of(_), most) => most?,
        };
        (most == self.least && most == prefix && prefix > 0).then_some(self.prefix.len())
    }
}

impl Lowering<'_, '_> {
    /// Returns an array whose first items have separate types, if a single item type would be weaker.
    fn prefixed(&mut self, array: &ArrayAlternative, depth: usize) -> Option<Shape> {
        let most = array.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let prefix: Vec<Conjunction> = array.prefix.iter().take(most).cloned().collect();
        let rest = if let Rest::Of(rest) = &array.rest { Some(rest).filter(|_| prefix.len() < most) } else { None };
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
        if let Some(length) = array.fixed_length().filter(|length| *length <= LONGEST_TUPLE) {
            return Shape::Tuple(array.prefix.iter().take(length).map(|item| self.slot(item, depth + LAYER)).collect());
        }
        if let Some(shape) = self.prefixed(array, depth) {
            return shape;
        }
        let mut items: Vec<Conjunction> = array.prefix.clone();
        if let Rest::Of(rest) = &array.rest {
            items.push(rest.clone());
        }
        items.dedup();
        let item = match items.as_slice() {
            [item] => item.clone(),
            several if several.is_empty() || several.iter().any(Vec::is_empty) => Conjunction::new(),
            _ => {
                let pointer = items.first().map(|item| self.place(item)).unwrap_or_default();
                let branches: Vec<SchemaId> = items
                    .into_iter()
                    .map(|item| match item.as_slice() {
                        [only] => *only,
                        _ => self.schemas.all_of(pointer.clone(), item),
                    })
                    .collect();
                vec![self.schemas.any_of(pointer, branches)]
            }
        };
        Shape::List(self.slot(&item, depth + LIST_LAYER))
    }
}

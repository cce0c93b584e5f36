//! Finds the values to box in recursive types.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::shape::{Shape, ShapeId, Shapes};

impl Shapes {
    /// Returns the pairs of shapes on a cycle of directly nested values; the first must box the second.
    #[must_use]
    pub fn boxed(&self) -> HashSet<(ShapeId, ShapeId)> {
        // Nearly always each shape holds later ones alone.
        if self.ids().all(|id| self.get(id).inline().into_iter().all(|held| id < held)) {
            return HashSet::new();
        }
        let mut group: HashMap<ShapeId, usize> = HashMap::new();
        let mut order = Vec::new();
        let mut seen = HashSet::new();
        for start in self.ids() {
            let mut stack = vec![(start, false)];
            while let Some((id, done)) = stack.pop() {
                if done {
                    order.push(id);
                } else if seen.insert(id) {
                    stack.push((id, true));
                    stack.extend(self.get(id).inline().into_iter().map(|held| (held, false)));
                }
            }
        }
        let mut holders: HashMap<ShapeId, Vec<ShapeId>> = HashMap::new();
        for id in self.ids() {
            for held in self.get(id).inline() {
                holders.entry(held).or_default().push(id);
            }
        }
        for (number, start) in order.into_iter().rev().enumerate() {
            let mut stack = vec![start];
            while let Some(id) = stack.pop() {
                if let Entry::Vacant(vacant) = group.entry(id) {
                    vacant.insert(number);
                    stack.extend(holders.get(&id).into_iter().flatten().copied());
                }
            }
        }
        let mut boxed = HashSet::new();
        for id in self.ids() {
            for held in self.get(id).inline() {
                // A union boxes the contents of its branches, if they refer to it.
                let is_branch = matches!(self.get(id), Shape::Union(_)) && matches!(self.get(held), Shape::Struct(_));
                if !is_branch && group.get(&id) == group.get(&held) {
                    boxed.insert((id, held));
                }
            }
        }
        boxed
    }
}

//! Finds the values to box in recursive types.

use std::collections::HashSet;

use crate::shape::{Shape, ShapeId, Shapes};

impl Shapes {
    /// Returns the pairs of shapes on a cycle of directly nested values; the first must box the second.
    #[must_use]
    pub fn boxed(&self) -> HashSet<(ShapeId, ShapeId)> {
        let holders = self.holders(Shape::inline);
        // Shapes that reach each other are a group, by Kosaraju's algorithm.
        let (mut order, mut seen, mut stack) = (Vec::new(), HashSet::new(), Vec::new());
        self.ids().for_each(|id| stack.push((id, false)));
        while let Some((id, done)) = stack.pop() {
            if done {
                // The second id is the group: a shape that is not in one yet begins its own.
                order.push((id, id));
            } else if seen.insert(id) {
                stack.push((id, true));
                for held in self.get(id).inline() {
                    stack.push((held, false));
                }
            }
        }
        let mut groups = vec![None; holders.len()];
        while let Some((id, group)) = order.pop() {
            if let (Some(own @ None), Some(holders)) = (groups.get_mut(id.index()), holders.get(id.index())) {
                *own = Some(group);
                for holder in holders {
                    order.push((*holder, group));
                }
            }
        }
        let mut boxed = HashSet::new();
        for id in self.ids() {
            for held in self.get(id).inline() {
                // A union boxes the contents of its branches, if they refer to it.
                let is_branch = matches!((self.get(id), self.get(held)), (Shape::Union(_), Shape::Struct(_)));
                if !is_branch && groups.get(id.index()) == groups.get(held.index()) {
                    boxed.insert((id, held));
                }
            }
        }
        boxed
    }
}

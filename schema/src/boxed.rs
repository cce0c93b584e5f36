//! Finds the values to box in recursive types.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use crate::shape::{Shape, ShapeId, Shapes};

impl Shapes {
    /// Returns the pairs of shapes on a cycle of directly nested values; the first must box the second.
    #[must_use]
    pub fn boxed(&self) -> HashSet<(ShapeId, ShapeId)> {
        let held = |id: ShapeId| self.get(id).inline().into_iter();
        let pairs: Vec<(ShapeId, ShapeId)> = self.ids().flat_map(|id| held(id).map(move |held| (id, held))).collect();
        let mut holders: HashMap<ShapeId, Vec<ShapeId>> = HashMap::new();
        pairs.iter().for_each(|(id, held)| holders.entry(*held).or_default().push(*id));
        // Shapes that reach each other are a group, by Kosaraju's algorithm.
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let mut stack: Vec<(ShapeId, bool)> = self.ids().map(|id| (id, false)).collect();
        while let Some((id, done)) = stack.pop() {
            if done {
                // The second id is the group: a shape that is not in one yet begins its own.
                order.push((id, id));
            } else if seen.insert(id) {
                stack.push((id, true));
                stack.extend(held(id).map(|held| (held, false)));
            }
        }
        let mut groups: HashMap<ShapeId, ShapeId> = HashMap::new();
        while let Some((id, group)) = order.pop() {
            if let Entry::Vacant(vacant) = groups.entry(id) {
                vacant.insert(group);
                order.extend(holders.get(&id).into_iter().flatten().map(|holder| (*holder, group)));
            }
        }
        // A union boxes the contents of its branches, if they refer to it.
        let is_branch = |id, held| matches!((self.get(id), self.get(held)), (Shape::Union(_), Shape::Struct(_)));
        pairs.into_iter().filter(|(id, held)| groups.get(id) == groups.get(held) && !is_branch(*id, *held)).collect()
    }
}

//! Properties that the branches of a union declare at the same place.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::shape::{Shape, ShapeId, Shapes, StructShape, Unknown};

/// The budget for comparing shapes, plus a part for each of them. Beyond it, every struct counts.
const COST: usize = 200_000;
const COST_OF_SHAPE: usize = 500;

/// Returns the structs that ignore a property which another branch of a union around them declares there.
pub(crate) fn losing_structs(shapes: &Shapes) -> BTreeSet<ShapeId> {
    let mut walk = Walk {
        shapes,
        keys: HashMap::new(),
        seen: HashSet::new(),
        pending: Vec::new(),
        losing: BTreeSet::new(),
        left: COST + COST_OF_SHAPE * shapes.ids().count(),
    };
    for id in shapes.ids() {
        let Shape::Union(union) = shapes.get(id) else { continue };
        for (place, branch) in union.branches.iter().enumerate() {
            for other in union.branches.iter().skip(place + 1) {
                walk.beside(branch.shape, other.shape);
            }
            if !walk.finish() {
                let ignores = |id: &ShapeId| matches!(shapes.get(*id), Shape::Struct(object) if object.unknown == Unknown::Ignore);
                return shapes.ids().filter(ignores).collect();
            }
        }
    }
    walk.losing
}

struct Walk<'s> {
    shapes: &'s Shapes,
    /// The shapes of a struct's properties; the tag has none.
    keys: HashMap<ShapeId, HashMap<&'s str, Option<ShapeId>>>,
    seen: HashSet<(ShapeId, ShapeId)>,
    /// Pairs of shapes of one place.
    pending: Vec<(ShapeId, ShapeId)>,
    losing: BTreeSet<ShapeId>,
    left: usize,
}

impl<'s> Walk<'s> {
    fn beside(&mut self, left: ShapeId, right: ShapeId) {
        let has_more = |id| {
            let shape = self.shapes.get(id);
            matches!(shape, Shape::Struct(_)) || !shape.children().is_empty()
        };
        if left != right && has_more(left) && has_more(right) {
            let pair = (left.min(right), left.max(right));
            if self.seen.insert(pair) {
                self.pending.push(pair);
            }
        }
    }

    /// Compares the pending pairs; returns `false` if the budget is exhausted.
    fn finish(&mut self) -> bool {
        while let Some((left, right)) = self.pending.pop() {
            let cost = 1 + self.shapes.get(left).children().len() + self.shapes.get(right).children().len();
            let Some(rest) = self.left.checked_sub(cost) else { return false };
            self.left = rest;
            self.compare(left, right);
        }
        true
    }

    fn compare(&mut self, left: ShapeId, right: ShapeId) {
        let shapes = self.shapes;
        match (shapes.get(left), shapes.get(right)) {
            (Shape::Named(slot), _) => self.beside(slot.shape, right),
            (_, Shape::Named(slot)) => self.beside(left, slot.shape),
            (Shape::Union(union), _) => union.branches.iter().for_each(|branch| self.beside(branch.shape, right)),
            (_, Shape::Union(union)) => union.branches.iter().for_each(|branch| self.beside(left, branch.shape)),
            (one, other) if one.is_array() && other.is_array() => {
                for index in 0..=one.inline().len().max(other.inline().len()) {
                    if let (Some(one), Some(other)) = (one.item(index), other.item(index)) {
                        self.beside(one.shape, other.shape);
                    }
                }
            }
            (Shape::Map(value), Shape::Map(other)) => self.beside(value.shape, other.shape),
            (Shape::Map(value), Shape::Struct(_)) => {
                shapes.get(right).children().into_iter().for_each(|child| self.beside(value.shape, child));
            }
            (Shape::Struct(_), Shape::Map(value)) => {
                shapes.get(left).children().into_iter().for_each(|child| self.beside(value.shape, child));
            }
            (Shape::Struct(one), Shape::Struct(other)) => {
                self.declared((left, one), (right, other));
                self.declared((right, other), (left, one));
            }
            _ => {}
        }
    }

    /// Adds to a struct the properties that another one declares.
    fn declared(&mut self, own: (ShapeId, &'s StructShape), other: (ShapeId, &'s StructShape)) {
        let keys = |object: &'s StructShape| {
            let fields = object.fields.iter().map(|field| (field.wire.as_str(), Some(field.slot.shape)));
            fields.chain(object.tag.iter().map(|tag| (tag.as_str(), None))).collect()
        };
        let known = self.keys.entry(own.0).or_insert_with(|| keys(own.1));
        let mut below = Vec::new();
        for field in &other.1.fields {
            match (known.get(field.wire.as_str()), own.1.unknown) {
                (Some(Some(shape)), _) => below.push((*shape, field.slot.shape)),
                (None, Unknown::Keep(slot)) => below.push((slot.shape, field.slot.shape)),
                (None, Unknown::Ignore) => drop(self.losing.insert(own.0)),
                (None, Unknown::Deny) | (Some(None), _) => {}
            }
        }
        if let Some(tag) = other.1.tag.as_deref()
            && own.1.unknown == Unknown::Ignore
            && !known.contains_key(tag)
        {
            self.losing.insert(own.0);
        }
        for (one, other) in below {
            self.beside(one, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnostics::Reporter;
    use crate::{Document, Role};

    #[test]
    fn items_of_tuples_and_of_longer_arrays_are_compared() {
        let item = |key: &str| json!({ "type": "object", "properties": { key: { "type": "integer" } } });
        let pair =
            json!({ "type": "array", "prefixItems": [item("x"), { "type": "string" }], "minItems": 2, "maxItems": 2 });
        let longer = json!({ "type": "array", "prefixItems": [item("y"), { "type": "string" }] });
        let schema = json!({ "anyOf": [pair, longer] });
        let document = Document::read(&schema, Role::Output, &mut Reporter::new("t", 0, ""));
        assert!(document.shapes.ids().any(|id| matches!(document.shapes.get(id), Shape::Tuple(_))));
        assert!(document.shapes.ids().any(|id| matches!(document.shapes.get(id), Shape::Prefixed(..))));
        assert_eq!(losing_structs(&document.shapes).len(), 2);
    }
}

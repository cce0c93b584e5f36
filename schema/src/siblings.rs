//! Properties that the branches of a union declare at the same place.

use std::collections::HashSet;

use crate::keys::places;
use crate::shape::{Shape, ShapeId, Shapes, StructShape, Unknown};

/// The budget for comparing shapes, plus a part for each of them. Beyond it, every struct counts.
const COST: usize = 200_000;
const COST_OF_SHAPE: usize = 500;

/// Returns the structs that ignore a property which another branch of a union around them declares there.
pub(crate) fn losing_structs(shapes: &Shapes) -> Vec<ShapeId> {
    let mut walk = Walk {
        shapes,
        seen: HashSet::new(),
        pending: Vec::new(),
        losing: HashSet::new(),
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
    shapes.ids().filter(|id| walk.losing.contains(id)).collect()
}

struct Walk<'s> {
    shapes: &'s Shapes,
    seen: HashSet<(ShapeId, ShapeId)>,
    /// Pairs of shapes of one place.
    pending: Vec<(ShapeId, ShapeId)>,
    losing: HashSet<ShapeId>,
    left: usize,
}

impl Walk<'_> {
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
            (one @ (Shape::Named(_) | Shape::Union(_)), _) => {
                one.inline().into_iter().for_each(|part| self.beside(part, right));
            }
            (_, other @ (Shape::Named(_) | Shape::Union(_))) => {
                other.inline().into_iter().for_each(|part| self.beside(left, part));
            }
            (one, other) if one.is_array() && other.is_array() => {
                for index in 0..=one.inline().len().max(other.inline().len()) {
                    if let (Some(one), Some(other)) = (one.item(index), other.item(index)) {
                        self.beside(one.shape, other.shape);
                    }
                }
            }
            (Shape::Map(value), Shape::Map(other)) => self.beside(value.shape, other.shape),
            (Shape::Map(value), object @ Shape::Struct(_)) | (object @ Shape::Struct(_), Shape::Map(value)) => {
                object.children().into_iter().for_each(|child| self.beside(value.shape, child));
            }
            (Shape::Struct(one), Shape::Struct(other)) => {
                self.declared(left, one, other);
                self.declared(right, other, one);
            }
            _ => {}
        }
    }

    /// Adds to a struct the properties that another one declares.
    fn declared(&mut self, id: ShapeId, own: &StructShape, other: &StructShape) {
        let known = places(&own.wires());
        let fields = other.fields.iter().map(|field| (field.wire.as_str(), Some(field.slot.shape)));
        // The tag has no shape.
        for (key, shape) in fields.chain(other.tag.as_deref().map(|tag| (tag, None))) {
            let field = known.get(key).and_then(|place| own.fields.get(*place));
            match (field, shape, own.unknown) {
                (Some(field), Some(shape), _) => self.beside(field.slot.shape, shape),
                (None, ..) if own.tag.as_deref() == Some(key) => {}
                (None, Some(shape), Unknown::Keep(slot)) => self.beside(slot.shape, shape),
                (None, _, Unknown::Ignore) => drop(self.losing.insert(id)),
                _ => {}
            }
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

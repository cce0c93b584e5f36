//! The values that generated types can send: they leave out the keys that they have no field for.

use crate::shape::{Presence, Shape, ShapeId, Shapes, Slot};
use crate::{Document, Kinds};

/// The types of a place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sent {
    /// Any JSON.
    Anything,
    /// The values that these shapes print, and `null` if `null` is set.
    Shapes { shapes: Vec<ShapeId>, null: bool },
}

impl Sent {
    /// Returns all that a document's types print.
    pub(super) fn by(document: &Document<'_>) -> Self {
        Self::Shapes { shapes: vec![document.root], null: false }
    }

    /// Returns `true` if `null` may be sent.
    pub(super) fn null(&self, shapes: &Shapes) -> bool {
        let Self::Shapes { shapes: ids, null } = self else { return true };
        *null || ids.iter().any(|shape| shapes.takes_null(Slot { shape: *shape, nullable: false }))
    }

    /// Returns the types under a key, or under all undeclared keys; `None` if nothing is ever sent there.
    pub(super) fn property(&self, shapes: &Shapes, key: Option<&str>) -> Option<Self> {
        self.below(shapes, |shape| match shape {
            Shape::Struct(object) if key.is_some() && object.tag.as_deref() == key => Some(Below::Anything),
            Shape::Struct(object) => match key.and_then(|key| object.field(key)) {
                // If `null` means absence, it is sent as absence.
                Some(field) => {
                    let nullable = field.slot.nullable && field.presence != Presence::Optional;
                    Some(Below::Slot(Slot { nullable, ..field.slot }))
                }
                None => object.unknown.kept().map(Below::Slot),
            },
            Shape::Map(slot) => Some(Below::Slot(*slot)),
            shape => anything(shape, Kinds::OBJECT),
        })
    }

    /// Returns the types at an index.
    pub(super) fn item(&self, shapes: &Shapes, index: usize) -> Option<Self> {
        self.below(shapes, |shape| shape.item(index).map(Below::Slot).or_else(|| anything(shape, Kinds::ARRAY)))
    }

    fn below(&self, shapes: &Shapes, step: impl Fn(&Shape) -> Option<Below>) -> Option<Self> {
        let Self::Shapes { shapes: ids, .. } = self else { return Some(Self::Anything) };
        let mut found = Vec::new();
        let mut null = false;
        for below in shapes.leaves(ids.iter().copied()).filter_map(|id| step(shapes.get(id))) {
            let Below::Slot(slot) = below else { return Some(Self::Anything) };
            found.push(slot.shape);
            null |= slot.nullable;
        }
        found.sort_unstable();
        found.dedup();
        (!found.is_empty()).then_some(Self::Shapes { shapes: found, null })
    }
}

enum Below {
    Anything,
    Slot(Slot),
}

fn anything(shape: &Shape, kind: Kinds) -> Option<Below> {
    let is_anything = match shape {
        Shape::Anything | Shape::LiteralEnum(_) => true,
        Shape::FreeMap => kind == Kinds::OBJECT,
        Shape::AnyOf(kinds) => kinds.has(kind),
        _ => false,
    };
    is_anything.then_some(Below::Anything)
}

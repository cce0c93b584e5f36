//! The values that generated types can send: they leave out the keys that they have no field for.

use crate::shape::{Presence, Shape, ShapeId, Shapes, Slot, Unknown};
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

    /// Returns the types under a key, or `None` if the key is never sent.
    pub(super) fn property(&self, shapes: &Shapes, key: &str) -> Option<Self> {
        self.below(shapes, |shape| match shape {
            Shape::Struct(object) if object.tag.as_deref() == Some(key) => Below::Anything,
            Shape::Struct(object) => match object.field(key) {
                // If `null` means absence, it is sent as absence.
                Some(field) => Below::Slot(Slot {
                    nullable: field.slot.nullable && field.presence != Presence::Optional,
                    ..field.slot
                }),
                None => kept(object.unknown),
            },
            Shape::Map(slot) => Below::Slot(*slot),
            shape => anything(shape, Kinds::OBJECT),
        })
    }

    /// Returns the types under undeclared keys, or `None` if there are none.
    pub(super) fn others(&self, shapes: &Shapes) -> Option<Self> {
        self.below(shapes, |shape| match shape {
            Shape::Struct(object) => kept(object.unknown),
            Shape::Map(slot) => Below::Slot(*slot),
            shape => anything(shape, Kinds::OBJECT),
        })
    }

    /// Returns the types at an index.
    pub(super) fn item(&self, shapes: &Shapes, index: usize) -> Option<Self> {
        self.below(shapes, |shape| shape.item(index).map_or_else(|| anything(shape, Kinds::ARRAY), Below::Slot))
    }

    fn below(&self, shapes: &Shapes, step: impl Fn(&Shape) -> Below) -> Option<Self> {
        let Self::Shapes { shapes: ids, .. } = self else { return Some(Self::Anything) };
        let mut found = Vec::new();
        let mut null = false;
        for id in shapes.leaves(ids.iter().copied()) {
            match step(shapes.get(id)) {
                Below::Nothing => {}
                Below::Anything => return Some(Self::Anything),
                Below::Slot(slot) => {
                    found.push(slot.shape);
                    null |= slot.nullable;
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        (!found.is_empty()).then_some(Self::Shapes { shapes: found, null })
    }
}

enum Below {
    Nothing,
    Anything,
    Slot(Slot),
}

fn kept(unknown: Unknown) -> Below {
    match unknown {
        Unknown::Keep(slot) => Below::Slot(slot),
        Unknown::Ignore | Unknown::Deny => Below::Nothing,
    }
}

fn anything(shape: &Shape, kind: Kinds) -> Below {
    match shape {
        Shape::Anything | Shape::LiteralEnum(_) => Below::Anything,
        Shape::FreeMap if kind == Kinds::OBJECT => Below::Anything,
        Shape::AnyOf(kinds) if kinds.has(kind) => Below::Anything,
        _ => Below::Nothing,
    }
}

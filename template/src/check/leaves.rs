//! The shapes at a place of a tool's arguments, without the names and choices around them.

use mcp_bindgen_schema::{Shape, ShapeId, Shapes, Slot};

/// The shapes of one tool's arguments.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) shapes: Shapes,
    pub(super) root: ShapeId,
}

impl Arguments {
    /// Returns each possible shape of a value at one of these places, without unions and names.
    pub(super) fn leaves(&self, slots: &[Slot]) -> Vec<ShapeId> {
        self.shapes.leaves(slots.iter().map(|slot| slot.shape)).collect()
    }

    /// Returns the slot of all arguments.
    pub(super) fn whole(&self) -> Slot {
        Slot { shape: self.root, nullable: false }
    }

    /// Returns the slots of a member of an object at one of these places, or `None` if any value is allowed.
    pub(super) fn members(&self, slots: &[Slot], key: &str) -> Option<Vec<Slot>> {
        let mut members = Vec::new();
        for id in self.leaves(slots) {
            match self.shapes.get(id) {
                Shape::Struct(object) => members.extend(object.slot(key)),
                Shape::Map(slot) => members.push(*slot),
                Shape::Anything | Shape::AnyOf(_) | Shape::FreeMap | Shape::Opaque => return None,
                _ => {}
            }
        }
        Some(members)
    }

    /// Returns the slots of an item of a list at one of these places, or `None` if any value is allowed.
    pub(super) fn items(&self, slots: &[Slot], index: usize) -> Option<Vec<Slot>> {
        let mut items = Vec::new();
        for id in self.leaves(slots) {
            match self.shapes.get(id) {
                Shape::Anything | Shape::AnyOf(_) | Shape::Opaque => return None,
                shape => items.extend(shape.item(index)),
            }
        }
        Some(items)
    }
}

//! Which shapes are printed once, as definitions.

use std::collections::{HashMap, HashSet};

use super::names;
use crate::drift::version::Version;
use crate::shape::{Shape, ShapeId};

/// The number of values from which an enumeration becomes a definition.
const LONG_ENUM: usize = 12;

#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// By their shapes; the root has none.
    names: HashMap<ShapeId, String>,
    /// A shape that leads back to itself.
    pub(super) circle: Option<ShapeId>,
    pending: Vec<ShapeId>,
    asked: HashSet<ShapeId>,
}

impl Definitions {
    pub(super) fn of(reading: &Version<'_>, root: ShapeId) -> Self {
        let mut counts: HashMap<ShapeId, usize> = HashMap::new();
        let mut circular: HashSet<ShapeId> = HashSet::new();
        let (mut open, mut order) = (HashSet::from([root]), Vec::new());
        // Shapes on the way, with those of their children that are still to be looked at.
        let mut way = vec![(root, reading.shape(root).children())];
        while let Some((id, left)) = way.last_mut() {
            let Some(child) = left.pop() else {
                open.remove(id);
                way.pop();
                continue;
            };
            let count = counts.entry(child).or_default();
            *count += 1;
            if open.contains(&child) {
                circular.insert(child);
            } else if *count == 1 {
                order.push(child);
                open.insert(child);
                way.push((child, reading.shape(child).children()));
            }
        }
        let mut definitions = Self { circle: circular.iter().min().copied(), ..Self::default() };
        let mut taken = HashSet::new();
        order.retain(|id| {
            let is_shared = counts.get(id).is_some_and(|count| *count > 1) && is_large(reading, *id);
            *id != root && (is_shared || circular.contains(id))
        });
        order.sort_unstable();
        for id in order {
            let given = reading.origin(id).first().and_then(|schema| reading.document.schemas.definition(*schema));
            definitions.names.insert(id, names::definition(&given.unwrap_or_default(), &mut taken));
        }
        definitions
    }

    /// Returns the reference to a shape that is printed as a definition.
    pub(super) fn reference(&self, id: ShapeId, root: ShapeId) -> Option<String> {
        if id == root {
            return Some("#".to_owned());
        }
        let name = self.names.get(&id)?;
        Some(format!("#/$defs/{name}"))
    }

    /// Asks for a definition to be printed.
    pub(super) fn ask(&mut self, id: ShapeId) {
        if self.names.contains_key(&id) && self.asked.insert(id) {
            self.pending.push(id);
        }
    }

    /// Returns a requested definition that is not yet printed.
    pub(super) fn next(&mut self) -> Option<(ShapeId, String)> {
        let id = self.pending.pop()?;
        Some((id, self.names.get(&id)?.clone()))
    }
}

fn is_large(reading: &Version<'_>, id: ShapeId) -> bool {
    match reading.shape(id) {
        Shape::TextEnum(values) => values.len() > LONG_ENUM,
        Shape::LiteralEnum(values) => values.len() > LONG_ENUM,
        Shape::List(item) | Shape::Map(item) => {
            matches!(reading.shape(item.shape), Shape::TextEnum(values) if values.len() > LONG_ENUM)
                || !reading.shape(item.shape).children().is_empty()
        }
        shape => !shape.children().is_empty(),
    }
}

//! Types without a name that would contain themselves, or nest too deep to read, get one.

use std::collections::HashSet;

use crate::shape::{Shape, ShapeId, Shapes, Slot};

/// `Vec<Vec<Vec<...>>>` is readable up to here.
const DEEPEST: usize = 3;

/// Returns the shapes inside a shape, sorted by key. Thus the order of properties does not decide which list in a cycle
/// gets a name.
fn ordered_children(shape: &Shape) -> Vec<ShapeId> {
    let Shape::Struct(object) = shape else { return shape.children() };
    let mut children = Vec::new();
    object.fields_by_name().into_iter().for_each(|field| children.push(field.slot.shape));
    children.extend(object.unknown.kept().map(|slot| slot.shape));
    children
}

pub(super) fn name_deep_types(shapes: &mut Shapes, root: ShapeId) {
    let (mut deep, mut seen, mut roots) = (HashSet::new(), HashSet::new(), vec![root]);
    seen.insert(root);
    // The depth restarts at every named type, including types that are named here.
    while let Some(root) = roots.pop() {
        let mut below = vec![(root, Vec::new())];
        while let Some((id, mut path)) = below.pop() {
            let shape = shapes.get(id);
            if !path.is_empty() {
                let is_deep = path.contains(&id) || path.len() > DEEPEST;
                if !shape.is_named() && is_deep && !shape.children().is_empty() {
                    deep.insert(id);
                }
                if shape.is_named() || deep.contains(&id) {
                    if seen.insert(id) {
                        roots.push(id);
                    }
                    continue;
                }
            }
            path.push(id);
            for child in ordered_children(shape) {
                below.push((child, path.clone()));
            }
        }
    }
    for id in shapes.ids().filter(|id| deep.contains(id)) {
        let inner = shapes.add(shapes.get(id).clone(), shapes.origin(id).to_vec());
        shapes.set(id, Shape::Named(Slot { shape: inner, nullable: false }));
    }
}

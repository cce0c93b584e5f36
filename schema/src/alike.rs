//! Finds equal shapes of several documents.

use std::collections::HashMap;

use serde_json::Value;

use crate::Role;
use crate::document::Document;
use crate::shape::{Shape, ShapeId, Unknown};

/// Compares shapes by what affects their types: fields, variants and branches. The order of properties or values,
/// descriptions, bounds, patterns, and whether undeclared properties are allowed do not count (many servers declare
/// the same object without `additionalProperties` in inputs and with `false` in outputs).
///
/// ```
/// use mcp_bindgen_schema::diagnostics::Reporter;
/// use mcp_bindgen_schema::{Alike, Document, Role};
///
/// let entities = serde_json::json!({"type": "object", "properties": {"entities": {"type": "array", "items": {
///     "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}}});
/// let read = |role| Document::read(&entities, role, &mut Reporter::new("entities", 0, ""));
/// let documents = [read(Role::Input), read(Role::Output)];
/// let alike = Alike::new(&documents.each_ref());
/// let entity = |place: usize| documents[place].shapes.ids().find_map(|id| {
///     let is_inner = documents[place].shapes.get(id).is_named() && id != documents[place].root;
///     is_inner.then(|| alike.class(place, id))
/// });
/// assert_eq!(entity(0), entity(1));
/// ```
#[derive(Debug)]
pub struct Alike {
    /// The class of each shape, by the place of its document.
    classes: HashMap<(usize, ShapeId), Class>,
}

/// A class of equal shapes: they have the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class(usize);

/// A shape without the shapes that it holds.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Label<'d> {
    /// The document of the arguments of a tool: they are a type of their own, whatever they look like.
    arguments: Option<usize>,
    /// The pointer of a definition that is not looked into.
    definition: &'d str,
    shape: Shape,
}

impl Alike {
    /// Compares the shapes of these documents.
    #[must_use]
    pub fn new(documents: &[&Document<'_>]) -> Self {
        let mut labels: HashMap<Label<'_>, usize> = HashMap::new();
        let mut classes = Vec::new();
        let mut children: Vec<Vec<usize>> = Vec::new();
        let mut shapes = Vec::new();
        for (place, document) in documents.iter().enumerate() {
            let start = classes.len();
            for id in document.shapes.ids() {
                let (shape, held) = label(document.shapes.get(id));
                let is_arguments = document.role == Role::Input && id == document.root;
                let definition = document.shapes.origin(id).first().filter(|_| matches!(shape, Shape::Opaque));
                let definition = definition.map_or("", |definition| document.schemas.pointer(*definition));
                let label = Label { arguments: is_arguments.then_some(place), definition, shape };
                let next = labels.len();
                shapes.push((place, id));
                classes.push(*labels.entry(label).or_insert(next));
                children.push(held.into_iter().map(|id| start + id.index()).collect());
            }
        }
        let classes = refined(classes, &children).into_iter().map(Class);
        Self { classes: shapes.into_iter().zip(classes).collect() }
    }

    /// Returns the class of a shape of the document at this place of the list.
    #[must_use]
    pub fn class(&self, document: usize, shape: ShapeId) -> Option<Class> {
        self.classes.get(&(document, shape)).copied()
    }
}

/// Returns a shape without the shapes that it holds, and those, in an order that its content decides.
fn label(shape: &Shape) -> (Shape, Vec<ShapeId>) {
    let mut shape = shape.clone();
    match &mut shape {
        Shape::TextEnum(values) => values.sort_unstable(),
        Shape::LiteralEnum(values) => {
            let mut texts: Vec<String> = values.iter().map(ToString::to_string).collect();
            texts.sort_unstable();
            *values = texts.into_iter().map(Value::from).collect();
        }
        Shape::Struct(object) => {
            object.fields.sort_unstable_by(|left, right| left.wire.cmp(&right.wire));
            object.fields.iter_mut().for_each(|field| field.schemas.clear());
            object.required.clear();
            object.unknown = object.unknown.kept().map_or(Unknown::Ignore, Unknown::Keep);
            for sets in &mut object.require_any {
                sets.iter_mut().for_each(|set| set.sort_unstable());
                sets.sort_unstable();
            }
            object.require_any.sort_unstable();
        }
        // Without a tag the order of branches matters: the first matching branch is chosen.
        Shape::Union(union) if union.tag.is_some() => union.branches.sort_by(|left, right| left.tag.cmp(&right.tag)),
        _ => {}
    }
    let held = shape.children();
    shape.children_mut().into_iter().for_each(|child| *child = ShapeId::default());
    (shape, held)
}

/// Splits classes until the members of each class have children of equal classes at each position. Types that stay in
/// one class are equal at any depth, even if they refer to themselves.
fn refined(mut classes: Vec<usize>, children: &[Vec<usize>]) -> Vec<usize> {
    // Each round compares one level more. The types of real servers differ within far fewer levels.
    const MOST_ROUNDS: usize = 200;
    let mut count = 0;
    for _ in 0..MOST_ROUNDS {
        let mut split: HashMap<(usize, Vec<usize>), usize> = HashMap::new();
        let of_children = |held: &Vec<usize>| held.iter().filter_map(|child| classes.get(*child).copied()).collect();
        let next = classes.iter().zip(children).map(|(class, held)| {
            let next = split.len();
            *split.entry((*class, of_children(held))).or_insert(next)
        });
        let next = next.collect();
        if split.len() == count {
            return classes;
        }
        (classes, count) = (next, split.len());
    }
    (0..classes.len()).collect()
}

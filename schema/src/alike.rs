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
    /// The class of each shape, by document.
    classes: Vec<Vec<Class>>,
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
        let mut starts = Vec::with_capacity(documents.len());
        for (place, document) in documents.iter().enumerate() {
            let start = classes.len();
            starts.push(start);
            for id in document.shapes.ids() {
                let (shape, held) = label(document.shapes.get(id));
                let is_arguments = document.role == Role::Input && id == document.root;
                let definition = document.shapes.origin(id).first().filter(|_| matches!(shape, Shape::Opaque));
                let definition = definition.map_or("", |definition| document.schemas.pointer(*definition));
                let label = Label { arguments: is_arguments.then_some(place), definition, shape };
                let next = labels.len();
                classes.push(*labels.entry(label).or_insert(next));
                children.push(held.into_iter().map(|id| start + id.index()).collect());
            }
        }
        refine(&mut classes, labels.len(), &children);
        let ends = starts.iter().skip(1).copied().chain([classes.len()]);
        let of_document = |(start, end): (&usize, usize)| classes.get(*start..end).unwrap_or_default();
        let classes = starts.iter().zip(ends).map(of_document);
        Self { classes: classes.map(|classes| classes.iter().copied().map(Class).collect()).collect() }
    }

    /// Returns the class of a shape of the document at this place of the list.
    #[must_use]
    pub fn class(&self, document: usize, shape: ShapeId) -> Option<Class> {
        self.classes.get(document)?.get(shape.index()).copied()
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
fn refine(classes: &mut [usize], mut next: usize, children: &[Vec<usize>]) {
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); children.len()];
    for (parent, held) in children.iter().enumerate() {
        for child in held {
            if let Some(parents) = parents.get_mut(*child) {
                parents.push(parent);
            }
        }
    }
    let mut sizes: Vec<usize> = vec![0; next];
    for class in &*classes {
        add(&mut sizes, *class, 1);
    }
    let holds = |parent: &usize| children.get(*parent).is_some_and(|held| !held.is_empty());
    let mut changed: Vec<usize> = (0..classes.len()).filter(holds).collect();
    while !changed.is_empty() {
        let mut groups: HashMap<(usize, Vec<usize>), Vec<usize>> = HashMap::new();
        for node in &changed {
            let class = |node: &usize| classes.get(*node).copied().unwrap_or_default();
            let held = children.get(*node).map(|held| held.iter().map(class).collect()).unwrap_or_default();
            groups.entry((class(node), held)).or_default().push(*node);
        }
        let mut by_class: HashMap<usize, Vec<Vec<usize>>> = HashMap::new();
        for ((class, _), members) in groups {
            by_class.entry(class).or_default().push(members);
        }
        let mut moved: Vec<usize> = Vec::new();
        for (class, mut groups) in by_class {
            let members: usize = groups.iter().map(Vec::len).sum();
            // Members that hold nothing new are not in any group, and keep the class; else the largest group does.
            if sizes.get(class) == Some(&members) {
                let largest = groups.iter().enumerate().max_by_key(|(_, group)| group.len()).map(|(place, _)| place);
                largest.map(|place| groups.remove(place));
            }
            for group in groups {
                add(&mut sizes, class, group.len().wrapping_neg());
                add(&mut sizes, next, group.len());
                for node in &group {
                    if let Some(class) = classes.get_mut(*node) {
                        *class = next;
                    }
                }
                next += 1;
                moved.extend(group);
            }
        }
        changed = moved.iter().filter_map(|node| parents.get(*node)).flatten().copied().collect();
        changed.sort_unstable();
        changed.dedup();
    }
}

fn add(sizes: &mut Vec<usize>, class: usize, count: usize) {
    if class >= sizes.len() {
        sizes.resize(class + 1, 0);
    }
    if let Some(size) = sizes.get_mut(class) {
        *size = size.wrapping_add(count);
    }
}

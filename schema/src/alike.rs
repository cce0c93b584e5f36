//! Finds equal shapes of several documents.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use crate::Role;
use crate::document::Document;
use crate::keys::sorted;
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
    /// The classes of the shapes of all documents.
    classes: Vec<usize>,
    /// Those of each document.
    documents: Vec<Range<usize>>,
}

/// A class of equal shapes: they have the same type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Class(usize);

impl From<Class> for usize {
    /// Returns the number of the class; the first is 0, and no number is larger than the number of shapes.
    fn from(class: Class) -> Self {
        class.0
    }
}

impl Alike {
    /// Compares the shapes of these documents.
    #[must_use]
    pub fn new(documents: &[&Document<'_>]) -> Self {
        let mut labels: HashMap<String, usize> = HashMap::new();
        let (mut classes, mut children, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for (place, document) in documents.iter().enumerate() {
            let start = classes.len();
            for id in document.shapes.ids() {
                let (shape, held) = label(document.shapes.get(id));
                // The arguments of a tool are a type of their own, whatever they look like.
                let is_arguments = document.role == Role::Input && id == document.root;
                // A definition that is not looked into is known by its pointer.
                let definition = document.shapes.origin(id).first().filter(|_| matches!(shape, Shape::Opaque));
                let definition = definition.map(|definition| document.schemas.pointer(*definition));
                let label = format!("{:?}", (is_arguments.then_some(place), definition, shape));
                let next = labels.len();
                classes.push(*labels.entry(label).or_insert(next));
                children.push(held.into_iter().map(|id| start + id.index()).collect());
            }
            ranges.push(start..classes.len());
        }
        Self { classes: refined(classes, &children, usize::MAX), documents: ranges }
    }

    /// Returns the class of a shape of the document at this place of the list.
    #[must_use]
    pub fn class(&self, document: usize, shape: ShapeId) -> Option<Class> {
        let classes = self.classes.get(self.documents.get(document)?.clone())?;
        classes.get(shape.index()).copied().map(Class)
    }
}

/// Returns a shape without the shapes that it holds, and those, in an order that its content decides.
fn label(shape: &Shape) -> (Shape, Vec<ShapeId>) {
    let mut shape = shape.clone();
    match &mut shape {
        Shape::TextEnum(values) => *values = in_order(values),
        Shape::LiteralEnum(values) => {
            let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
            *values = in_order(&texts).into_iter().map(Value::from).collect();
        }
        Shape::Struct(object) => {
            object.fields = object.fields_by_name().into_iter().cloned().collect();
            object.fields.iter_mut().for_each(|field| field.schemas.clear());
            object.required.clear();
            object.unknown = object.unknown.kept().map_or(Unknown::Ignore, Unknown::Keep);
            let mut demands = Vec::new();
            for sets in &object.require_any {
                let sets: Vec<String> = sets.iter().map(|set| format!("{:?}", in_order(set))).collect();
                demands.push(format!("{:?}", in_order(&sets)));
            }
            object.require_any = vec![vec![in_order(&demands)]];
        }
        // Without a tag the order of branches matters: the first matching branch is chosen.
        Shape::Union(union) if union.tag.is_some() => {
            let branches = sorted(&union.branches, |branch| branch.tag.as_deref().unwrap_or_default());
            union.branches = branches.into_iter().cloned().collect();
        }
        _ => {}
    }
    let held = shape.children();
    shape.change_children(&mut |child| *child = ShapeId::default());
    (shape, held)
}

fn in_order(texts: &[String]) -> Vec<String> {
    sorted(texts, |text| text).into_iter().cloned().collect()
}

/// Splits classes until the members of each class have children of equal classes at each position. Those that stay in
/// one class are equal at any depth, even if they refer to themselves.
///
/// Stops after 200 rounds, or sooner if they exceed `most_work`. Then each member of a class that split in the last
/// round gets its own class, and so does everything that contains it.
pub(crate) fn refined(mut classes: Vec<usize>, children: &[Vec<usize>], most_work: usize) -> Vec<usize> {
    // Each round compares one level more. The types of real servers differ within far fewer levels.
    const MOST_ROUNDS: usize = 200;
    let work: usize = children.iter().map(|held| 1 + held.len()).sum();
    let rounds = MOST_ROUNDS.min(most_work / (1 + work));
    let (mut count, mut before) = (0, Vec::new());
    for _ in 0..rounds {
        let (mut split, mut next) = (HashMap::new(), Vec::new());
        for (class, held) in classes.iter().zip(children) {
            let mut key = vec![*class];
            held.iter().for_each(|child| key.extend(classes.get(*child)));
            let class = split.len();
            next.push(*split.entry(key).or_insert(class));
        }
        if split.len() == count {
            return classes;
        }
        count = split.len();
        before = std::mem::replace(&mut classes, next);
    }
    // The part of each class; `usize::MAX` if it split in the last round.
    let mut parts = HashMap::new();
    for (class, part) in before.iter().zip(&classes) {
        let known = parts.entry(*class).or_insert(*part);
        *known = if known == part { *part } else { usize::MAX };
    }
    let mut settled: Vec<bool> = before.iter().map(|class| parts.get(class) != Some(&usize::MAX)).collect();
    settled.resize(classes.len(), false);
    for _ in 0..rounds {
        let mut is_stable = true;
        for (place, held) in children.iter().enumerate().rev() {
            let holds_open = held.iter().any(|child| settled.get(*child) == Some(&false));
            if let Some(settled) = settled.get_mut(place).filter(|settled| holds_open && **settled) {
                (*settled, is_stable) = (false, false);
            }
        }
        if is_stable {
            parts.clear();
            for (place, (class, is_settled)) in classes.iter_mut().zip(&settled).enumerate() {
                *class = if *is_settled { *parts.entry(*class).or_insert(place) } else { place };
            }
            return classes;
        }
    }
    (0..classes.len()).collect()
}

//! Finds equal shapes of several documents.

use std::collections::HashMap;

use crate::Role;
use crate::document::Document;
use crate::normalize::Kinds;
use crate::shape::{Presence, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};

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

/// A shape without what it holds.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Label<'s> {
    /// The arguments of a tool: a type of its own, whatever it looks like.
    Arguments(usize),
    Anything,
    AnyOf(Kinds),
    Null,
    Boolean,
    I64,
    U64,
    Number,
    Text,
    TextEnum(Vec<&'s str>),
    LiteralEnum(Vec<String>),
    /// Whether the items may be `null`.
    List(bool),
    Tuple(Vec<bool>),
    Prefixed(Vec<bool>, Option<bool>),
    Map(bool),
    FreeMap,
    Struct {
        fields: Vec<(&'s str, Presence, bool)>,
        tag: Option<&'s str>,
        /// Whether unknown properties are kept, and then whether their values may be `null`.
        extra: Option<bool>,
        require_any: Vec<Vec<Vec<&'s str>>>,
    },
    Union {
        tag: Option<(&'s str, bool)>,
        branches: Vec<(Option<&'s str>, &'s str)>,
    },
    Named(bool),
    /// The pointer of the definition.
    Opaque(&'s str),
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
                let is_arguments = document.role == Role::Input && id == document.root;
                let (label, held) = label(document, id);
                let label = if is_arguments { Label::Arguments(place) } else { label };
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

/// A shape's label, and what it holds, in an order that its content decides.
fn label<'d>(document: &'d Document<'_>, id: ShapeId) -> (Label<'d>, Vec<ShapeId>) {
    let one = |label: fn(bool) -> Label<'static>, slot: &Slot| (label(slot.nullable), vec![slot.shape]);
    let leaf = |label| (label, Vec::new());
    match document.shapes.get(id) {
        Shape::Anything => leaf(Label::Anything),
        Shape::AnyOf(kinds) => leaf(Label::AnyOf(*kinds)),
        Shape::Null => leaf(Label::Null),
        Shape::Boolean => leaf(Label::Boolean),
        Shape::I64 => leaf(Label::I64),
        Shape::U64 => leaf(Label::U64),
        Shape::Number => leaf(Label::Number),
        Shape::Text => leaf(Label::Text),
        Shape::TextEnum(values) => leaf(Label::TextEnum(sorted(values.iter().map(String::as_str)))),
        Shape::LiteralEnum(values) => leaf(Label::LiteralEnum(sorted(values.iter().map(ToString::to_string)))),
        Shape::List(item) => one(Label::List, item),
        Shape::Map(value) => one(Label::Map, value),
        Shape::Named(inner) => one(Label::Named, inner),
        Shape::Tuple(items) => (
            Label::Tuple(items.iter().map(|item| item.nullable).collect()),
            items.iter().map(|item| item.shape).collect(),
        ),
        Shape::Prefixed(items, rest) => (
            Label::Prefixed(items.iter().map(|item| item.nullable).collect(), rest.map(|rest| rest.nullable)),
            items.iter().chain(rest).map(|item| item.shape).collect(),
        ),
        Shape::FreeMap => leaf(Label::FreeMap),
        Shape::Opaque => {
            let definition = document.shapes.origin(id).first();
            leaf(Label::Opaque(definition.map_or("", |definition| document.schemas.pointer(*definition))))
        }
        Shape::Struct(object) => struct_label(object),
        Shape::Union(union) => union_label(union),
    }
}

fn struct_label(object: &StructShape) -> (Label<'_>, Vec<ShapeId>) {
    let fields = object.fields_by_name();
    let mut held: Vec<ShapeId> = fields.iter().map(|field| field.slot.shape).collect();
    let extra = match object.unknown {
        Unknown::Ignore | Unknown::Deny => None,
        Unknown::Keep(slot) => {
            held.push(slot.shape);
            Some(slot.nullable)
        }
    };
    let set = |set| sorted(Iterator::map(<[String]>::iter(set), String::as_str));
    let require_any = sorted(object.require_any.iter().map(|sets| sorted(sets.iter().map(|keys| set(keys)))));
    let fields = fields.iter().map(|field| (field.wire.as_str(), field.presence, field.slot.nullable)).collect();
    (Label::Struct { fields, tag: object.tag.as_deref(), extra, require_any }, held)
}

/// The order of branches matters where no tag tells them apart: the first of several that fit is meant.
fn union_label(union: &UnionShape) -> (Label<'_>, Vec<ShapeId>) {
    let mut branches: Vec<_> = union.branches.iter().collect();
    if union.tag.is_some() {
        branches.sort_by(|left, right| left.tag.cmp(&right.tag));
    }
    let tag = union.tag.as_ref().map(|tag| (tag.name.as_str(), tag.is_text));
    let held = branches.iter().map(|branch| branch.shape).collect();
    let branches = branches.iter().map(|branch| (branch.tag.as_deref(), branch.name.as_str())).collect();
    (Label::Union { tag, branches }, held)
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort_unstable();
    items
}

/// Splits classes until the members of each hold, place by place, members of the same classes. What starts out as one
/// class and is never split is the same however deep one looks, also where types refer to themselves.
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

//! The intermediate representation: possible values, independent of Rust.

use std::collections::HashSet;

use serde_json::Value;

use crate::keys::sorted;
use crate::normalize::{Kinds, SchemaId};

/// Which of a tool's two schemas a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The arguments that callers send: always an object, and a type with a name.
    Input,
    /// The structured result that the server answers: any value.
    Output,
}

/// A shape of a [`Shapes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(usize);

impl ShapeId {
    /// The id of no shape, whose values are anything.
    pub(crate) const ANYTHING: Self = Self(usize::MAX);

    pub(crate) fn index(self) -> usize {
        self.0
    }
}

impl From<ShapeId> for usize {
    /// Returns the place of the shape in [`Shapes::ids`].
    fn from(id: ShapeId) -> Self {
        id.0
    }
}

/// A shape, and whether `null` is allowed too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The shape.
    pub shape: ShapeId,
    /// `true` if `null` is allowed too.
    pub nullable: bool,
}

impl Slot {
    /// The slot of any value.
    pub(crate) const ANYTHING: Self = Self { shape: ShapeId::ANYTHING, nullable: false };
}

/// The values at a position, without `null`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Anything, `null` too.
    #[default]
    Anything,
    /// Anything of these kinds.
    AnyOf(Kinds),
    /// `null` alone.
    Null,
    /// `true` or `false`.
    Boolean,
    /// An integer of 64 bits.
    I64,
    /// An integer of 64 bits that is not negative.
    U64,
    /// A number that a double holds.
    Number,
    /// A string.
    Text,
    /// One of several strings.
    TextEnum(Vec<String>),
    /// One of several values, not all strings.
    LiteralEnum(Vec<Value>),
    /// An array of items of one shape.
    List(Slot),
    /// An array of a fixed length, each item of its own shape.
    Tuple(Vec<Slot>),
    /// An array whose first items have separate shapes, and which may be shorter. The items after them have the other
    /// shape, or are forbidden.
    Prefixed(Vec<Slot>, Option<Slot>),
    /// An object with values of one shape under any key.
    Map(Slot),
    /// Any object.
    FreeMap,
    /// An object with declared properties.
    Struct(StructShape),
    /// One of several shapes.
    Union(UnionShape),
    /// A named list, tuple or map, if its type would otherwise contain itself or nest too deep.
    Named(Slot),
    /// A definition whose values are not looked into: see [`Document::read_around`](crate::Document::read_around). Its
    /// origin is the definition.
    Opaque,
}

/// An object with declared properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StructShape {
    /// The properties that have a field.
    pub fields: Vec<Field>,
    /// The names of the required properties, in the order of the schema.
    pub required: Vec<String>,
    /// The property that the surrounding union handles.
    pub tag: Option<String>,
    /// The handling of properties without a field.
    pub unknown: Unknown,
    /// Groups of sets of properties; of each group at least one set must be present.
    pub require_any: Vec<Vec<Vec<String>>>,
}

impl StructShape {
    /// Returns the field of a property.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.wire == key)
    }

    /// Returns the slot of a property: of its field, or that of all properties without one.
    #[must_use]
    pub fn slot(&self, key: &str) -> Option<Slot> {
        self.field(key).map(|field| field.slot).or(self.unknown.kept())
    }

    /// Returns the properties that have a field.
    pub(crate) fn wires(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.wire.as_str()).collect()
    }

    /// Returns the fields sorted by property, for results that must not depend on the order of the schema.
    pub fn fields_by_name(&self) -> Vec<&Field> {
        sorted(&self.fields, |field| &field.wire)
    }
}

/// The handling of properties without a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unknown {
    /// They are allowed, and not kept.
    #[default]
    Ignore,
    /// They are refused.
    Deny,
    /// They are kept, with values of this shape.
    Keep(Slot),
}

impl Unknown {
    /// Returns the slot of the values that are kept.
    #[must_use]
    pub fn kept(self) -> Option<Slot> {
        if let Self::Keep(slot) = self { Some(slot) } else { None }
    }
}

/// A declared property.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    /// The key in JSON.
    pub wire: String,
    /// The shape of the value.
    pub slot: Slot,
    /// The presence: required or optional.
    pub presence: Presence,
    /// The schemas that describe it, for its documentation.
    pub schemas: Vec<SchemaId>,
}

/// The presence of a property, and the meaning of its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// The property is required.
    Required,
    /// Absent, or a value; `null` reads as absent.
    Optional,
    /// Absent, `null`, or a value: three different things.
    OptionalOrNull,
}

/// One of several shapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnionShape {
    /// The property that distinguishes the branches.
    pub tag: Option<TagKey>,
    /// The shapes; untagged ones from the most to the least specific.
    pub branches: Vec<Branch>,
}

/// The property that distinguishes the branches of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagKey {
    /// The key in JSON.
    pub name: String,
    /// `true` if the tag values are strings.
    pub is_text: bool,
}

impl TagKey {
    /// Returns the value that a branch with this tag has.
    pub(crate) fn value(&self, tag: &str) -> Value {
        if self.is_text { tag.into() } else { serde_json::from_str(tag).unwrap_or_default() }
    }
}

/// A branch of a union.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Branch {
    /// The value of the tag: its text, or its JSON if it is not a string.
    pub tag: Option<String>,
    /// Its name.
    pub name: String,
    /// The shape of the branch.
    pub shape: ShapeId,
}

/// The shapes of one schema document.
#[derive(Debug, Default)]
pub struct Shapes {
    shapes: Vec<Shape>,
    /// The schemas that a shape was made of, for its documentation and its name.
    origins: Vec<Vec<SchemaId>>,
}

impl Shapes {
    pub(crate) fn add(&mut self, shape: Shape, origin: Vec<SchemaId>) -> ShapeId {
        self.shapes.push(shape);
        self.origins.push(origin);
        ShapeId(self.shapes.len() - 1)
    }

    pub(crate) fn set(&mut self, id: ShapeId, shape: Shape) {
        if let Some(slot) = self.shapes.get_mut(id.0) {
            *slot = shape;
        }
    }

    /// Adds other shapes, and returns the new id of one of them.
    #[cfg(feature = "provider")]
    pub(crate) fn append(&mut self, mut other: Self, id: ShapeId) -> ShapeId {
        let offset = self.shapes.len();
        other.shapes.iter_mut().for_each(|shape| shape.change_children(&mut |id| id.0 += offset));
        self.shapes.append(&mut other.shapes);
        self.origins.append(&mut other.origins);
        ShapeId(id.0 + offset)
    }

    /// Returns a shape.
    #[must_use]
    pub fn get(&self, id: ShapeId) -> &Shape {
        self.shapes.get(id.0).unwrap_or(&Shape::Anything)
    }

    /// Returns the schemas of a shape.
    #[must_use]
    pub fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.origins.get(id.0).map_or(&[], Vec::as_slice)
    }

    /// Returns `true` if `test` does for one of some shapes and all that `next` leads to from there, each visited once.
    /// Visits no more after that one.
    pub(crate) fn any_reached(
        &self,
        shapes: &[ShapeId],
        next: fn(&Shape) -> Vec<ShapeId>,
        test: &mut dyn FnMut(ShapeId) -> bool,
    ) -> bool {
        let mut seen = HashSet::new();
        let mut pending = shapes.to_vec();
        pending.reverse();
        while let Some(id) = pending.pop() {
            if seen.insert(id) {
                if test(id) {
                    return true;
                }
                let mut below = next(self.get(id));
                below.reverse();
                pending.append(&mut below);
            }
        }
        false
    }

    /// Returns the shapes of possible values: names are resolved, unions are split, and each shape occurs once.
    #[must_use]
    pub fn leaves(&self, shapes: &[ShapeId]) -> Vec<ShapeId> {
        self.leaves_at_most(shapes, usize::MAX)
    }

    /// Returns the first of these, and visits no others.
    pub(crate) fn leaves_at_most(&self, shapes: &[ShapeId], most: usize) -> Vec<ShapeId> {
        let mut leaves = Vec::new();
        self.any_reached(shapes, Shape::parts, &mut |id| {
            if !matches!(self.get(id), Shape::Union(_) | Shape::Named(_)) {
                leaves.push(id);
            }
            leaves.len() >= most
        });
        leaves
    }

    /// Returns `true` if a value in this place may be `null`.
    #[must_use]
    pub fn takes_null(&self, slot: Slot) -> bool {
        let mut takes_null = |id| match self.get(id) {
            Shape::Named(inner) => inner.nullable,
            Shape::Union(_) => false,
            shape => shape.kinds().has(Kinds::NULL),
        };
        slot.nullable || self.any_reached(&[slot.shape], Shape::parts, &mut takes_null)
    }

    /// Returns the shapes that hold each shape, of those that `next` leads to.
    pub(crate) fn holders(&self, next: fn(&Shape) -> Vec<ShapeId>) -> Vec<Vec<ShapeId>> {
        let mut holders = vec![Vec::new(); self.shapes.len()];
        for id in self.ids() {
            for held in next(self.get(id)) {
                if let Some(holders) = holders.get_mut(held.index()) {
                    holders.push(id);
                }
            }
        }
        holders
    }

    /// Returns the pairs of shapes on a cycle of directly nested values; the first must box the second.
    #[must_use]
    pub fn boxed(&self) -> HashSet<(ShapeId, ShapeId)> {
        let holders = self.holders(Shape::inline);
        // Shapes that reach each other are a group, by Kosaraju's algorithm.
        let (mut order, mut seen, mut stack) = (Vec::new(), HashSet::new(), Vec::new());
        self.ids().for_each(|id| stack.push((id, false)));
        while let Some((id, done)) = stack.pop() {
            if done {
                // The second id is the group: a shape that is not in one yet begins its own.
                order.push((id, id));
            } else if seen.insert(id) {
                stack.push((id, true));
                for held in self.get(id).inline() {
                    stack.push((held, false));
                }
            }
        }
        let mut groups = vec![None; holders.len()];
        while let Some((id, group)) = order.pop() {
            if let (Some(own @ None), Some(holders)) = (groups.get_mut(id.index()), holders.get(id.index())) {
                *own = Some(group);
                for holder in holders {
                    order.push((*holder, group));
                }
            }
        }
        let mut boxed = HashSet::new();
        for id in self.ids() {
            for held in self.get(id).inline() {
                // A union boxes the contents of its branches, if they refer to it.
                let is_branch = matches!((self.get(id), self.get(held)), (Shape::Union(_), Shape::Struct(_)));
                if !is_branch && groups.get(id.index()) == groups.get(held.index()) {
                    boxed.insert((id, held));
                }
            }
        }
        boxed
    }

    /// Returns all shapes.
    pub fn ids(&self) -> impl Iterator<Item = ShapeId> + use<> {
        (0..self.shapes.len()).map(ShapeId)
    }
}

impl Shape {
    /// Returns `true` if the shape is a type with a name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        matches!(self, Self::TextEnum(_) | Self::LiteralEnum(_) | Self::Struct(_) | Self::Union(_) | Self::Named(_))
    }

    /// Returns the kinds of the values; all kinds for a name or a choice, whose values are those of other shapes.
    #[must_use]
    pub fn kinds(&self) -> Kinds {
        match self {
            Self::Anything | Self::Opaque | Self::Named(_) | Self::Union(_) => Kinds::ALL,
            Self::AnyOf(kinds) => *kinds,
            Self::Null => Kinds::NULL,
            Self::Boolean => Kinds::BOOLEAN,
            Self::I64 | Self::U64 => Kinds::INTEGER,
            Self::Number => Kinds::NUMBER,
            Self::Text | Self::TextEnum(_) => Kinds::STRING,
            Self::LiteralEnum(values) => Kinds::of_all(values),
            Self::List(_) | Self::Tuple(_) | Self::Prefixed(..) => Kinds::ARRAY,
            Self::Map(_) | Self::FreeMap | Self::Struct(_) => Kinds::OBJECT,
        }
    }

    /// Returns the shape of an item of an array.
    #[must_use]
    pub fn item(&self, index: usize) -> Option<Slot> {
        match self {
            Self::List(item) => Some(*item),
            Self::Tuple(items) => items.get(index).copied(),
            Self::Prefixed(items, rest) => items.get(index).copied().or(*rest),
            _ => None,
        }
    }

    /// Returns `true` if arrays of this length match the shape.
    #[must_use]
    pub fn has_length(&self, length: usize) -> bool {
        match self {
            Self::Tuple(items) => items.len() == length,
            Self::Prefixed(items, None) => items.len() >= length,
            shape => shape.is_array(),
        }
    }

    /// Returns `true` if the values of the shape are arrays.
    #[must_use]
    pub fn is_array(&self) -> bool {
        matches!(self, Self::List(_) | Self::Tuple(_) | Self::Prefixed(..))
    }

    /// Returns the shapes that a value holds directly; a cycle through these needs a `Box`.
    #[must_use]
    pub fn inline(&self) -> Vec<ShapeId> {
        let mut inline = Vec::new();
        match self {
            Self::Tuple(items) | Self::Prefixed(items, _) => items.iter().for_each(|slot| inline.push(slot.shape)),
            Self::Struct(object) => object.fields.iter().for_each(|field| inline.push(field.slot.shape)),
            Self::Union(union) => union.branches.iter().for_each(|branch| inline.push(branch.shape)),
            Self::Named(inner) => inline.push(inner.shape),
            _ => {}
        }
        inline
    }

    /// Returns the shapes whose values are those of a name or a choice.
    pub(crate) fn parts(&self) -> Vec<ShapeId> {
        if matches!(self, Self::Union(_) | Self::Named(_)) { self.inline() } else { Vec::new() }
    }

    /// Returns every shape that this one refers to.
    #[must_use]
    pub fn children(&self) -> Vec<ShapeId> {
        let mut children = self.inline();
        match self {
            Self::List(item) | Self::Map(item) | Self::Prefixed(_, Some(item)) => children.push(item.shape),
            Self::Struct(StructShape { unknown: Unknown::Keep(kept), .. }) => children.push(kept.shape),
            _ => {}
        }
        children
    }

    /// Changes the ids of all these.
    pub(crate) fn change_children(&mut self, change: &mut dyn FnMut(&mut ShapeId)) {
        match self {
            Self::List(item) | Self::Map(item) | Self::Named(item) => change(&mut item.shape),
            Self::Tuple(items) => items.iter_mut().for_each(|item| change(&mut item.shape)),
            Self::Prefixed(items, rest) => {
                items.iter_mut().for_each(|item| change(&mut item.shape));
                rest.iter_mut().for_each(|item| change(&mut item.shape));
            }
            Self::Struct(object) => {
                object.fields.iter_mut().for_each(|field| change(&mut field.slot.shape));
                if let Unknown::Keep(slot) = &mut object.unknown {
                    change(&mut slot.shape);
                }
            }
            Self::Union(union) => union.branches.iter_mut().for_each(|branch| change(&mut branch.shape)),
            _ => {}
        }
    }
}

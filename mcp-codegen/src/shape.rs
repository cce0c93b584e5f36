//! The intermediate representation: what a value can be. It knows nothing of Rust's tokens or names.

use serde_json::Value;

use crate::normalize::{Kinds, SchemaId};

/// A shape of a [`Shapes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ShapeId(pub(crate) usize);

/// A shape and whether `null` may stand in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) shape: ShapeId,
    pub(crate) nullable: bool,
}

/// What a value can be, leaving out `null`.
#[derive(Clone, Debug, Default)]
pub(crate) enum Shape {
    /// Anything, `null` too.
    #[default]
    Anything,
    /// Anything of these kinds.
    AnyOf(Kinds),
    Null,
    Boolean,
    I64,
    U64,
    Number,
    Text,
    /// One of several strings.
    TextEnum(Vec<String>),
    /// One of several values, not all strings.
    LiteralEnum(Vec<Value>),
    List(Slot),
    Tuple(Vec<Slot>),
    Map(Slot),
    FreeMap,
    Struct(StructShape),
    Union(UnionShape),
    /// A list, tuple or map with a name, where its type would otherwise contain itself or nest too deep.
    Named(Slot),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct StructShape {
    pub(crate) fields: Vec<Field>,
    /// The names of the required properties, in the order of the schema.
    pub(crate) required: Vec<String>,
    /// The property that the union around it reads and prints.
    pub(crate) tag: Option<String>,
    pub(crate) unknown: Unknown,
    /// Sets of properties, of which at least one has to be complete; several such demands.
    pub(crate) require_any: Vec<Vec<Vec<String>>>,
}

/// What happens to properties without a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unknown {
    #[default]
    Ignore,
    Deny,
    Keep(Slot),
}

#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) wire: String,
    pub(crate) slot: Slot,
    pub(crate) presence: Presence,
    /// The schemas that describe it, for its documentation.
    pub(crate) schemas: Vec<SchemaId>,
}

/// Whether a property has to be there, and what its absence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Required,
    /// Absent, or a value; `null` reads as absent.
    Optional,
    /// Absent, `null`, or a value: three different things.
    OptionalOrNull,
}

#[derive(Clone, Debug)]
pub(crate) struct UnionShape {
    /// The property that tells the branches apart.
    pub(crate) tag: Option<TagKey>,
    /// Untagged branches stand most specific first.
    pub(crate) branches: Vec<Branch>,
}

#[derive(Clone, Debug)]
pub(crate) struct TagKey {
    pub(crate) name: String,
    /// Whether its values are strings.
    pub(crate) is_text: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Branch {
    /// The value of the tag: its text, or JSON text where it is no string.
    pub(crate) tag: Option<String>,
    /// What to call it.
    pub(crate) name: String,
    pub(crate) shape: ShapeId,
}

/// The shapes of one schema document.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
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

    pub(crate) fn get(&self, id: ShapeId) -> &Shape {
        self.shapes.get(id.0).unwrap_or(&Shape::Anything)
    }

    pub(crate) fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.origins.get(id.0).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ShapeId> + use<> {
        (0..self.shapes.len()).map(ShapeId)
    }
}

impl Shape {
    /// Whether the shape is a type with a name of its own.
    pub(crate) fn is_named(&self) -> bool {
        matches!(self, Self::TextEnum(_) | Self::LiteralEnum(_) | Self::Struct(_) | Self::Union(_) | Self::Named(_))
    }

    /// The shapes that a value of this one holds directly, so that a cycle through them needs a `Box`.
    pub(crate) fn inline(&self) -> Vec<ShapeId> {
        match self {
            Self::Tuple(items) => items.iter().map(|slot| slot.shape).collect(),
            Self::Struct(object) => object.fields.iter().map(|field| field.slot.shape).collect(),
            Self::Union(union) => union.branches.iter().map(|branch| branch.shape).collect(),
            Self::Named(inner) => vec![inner.shape],
            _ => Vec::new(),
        }
    }

    /// Every shape that this one mentions.
    pub(crate) fn children(&self) -> Vec<ShapeId> {
        let mut children = self.inline();
        match self {
            Self::List(item) | Self::Map(item) => children.push(item.shape),
            Self::Struct(StructShape { unknown: Unknown::Keep(slot), .. }) => children.push(slot.shape),
            _ => {}
        }
        children
    }
}

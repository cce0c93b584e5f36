use std::collections::HashSet;

use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::keys::places;
use crate::lower::lower;
use crate::normalize::{SchemaId, Schemas};
use crate::shape::{Role, Shape, ShapeId, Shapes, Slot, StructShape, Unknown};

/// A parsed schema document: its schemas, and the shapes of its values.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The schemas, normalized to 2020-12.
    pub schemas: Schemas<'a>,
    /// The shapes of the values.
    pub shapes: Shapes,
    /// The shape of the whole value, which has a name.
    pub root: ShapeId,
    /// Which schema of its tool it is.
    pub role: Role,
}

impl<'a> Document<'a> {
    /// Reads a schema. Never fails: the smallest possible part without a shape is
    /// [`Shape::Anything`](crate::Shape::Anything), with a diagnostic.
    #[must_use]
    pub fn read(schema: &'a Value, role: Role, reporter: &mut Reporter) -> Self {
        Self::read_around(schema, role, &[], reporter)
    }

    /// Like [`read`](Self::read), without reading the definitions at these JSON pointers: plain references to them
    /// are [`Shape::Opaque`](crate::Shape::Opaque). Schemas that restrict or combine them are read as usual.
    #[must_use]
    pub fn read_around(schema: &'a Value, role: Role, definitions: &[&str], reporter: &mut Reporter) -> Self {
        let (mut schemas, root) = Schemas::new(schema, reporter);
        let opaque: Vec<SchemaId> = definitions.iter().filter_map(|pointer| schemas.referred(pointer)).collect();
        let (shapes, root) = lower(&mut schemas, root, role, opaque, reporter);
        Self { schemas, shapes, root, role }
    }

    /// Adds the shapes of a schema of the document that no shape leads to, such as that of keys of a pattern.
    #[cfg(feature = "provider")]
    pub(crate) fn add_shapes(&mut self, schema: SchemaId) -> ShapeId {
        let mut unheard = Reporter::new("", 0, "");
        let (shapes, root) = lower(&mut self.schemas, schema, Role::Output, Vec::new(), &mut unheard);
        self.shapes.append(shapes, root)
    }

    /// Keeps undeclared properties in structs inside a union if another branch declares one that they lack: a value
    /// may match both branches.
    ///
    /// ```
    /// use mcp_bindgen_schema::diagnostics::Reporter;
    /// use mcp_bindgen_schema::{Document, Role, Shape, Unknown};
    ///
    /// let branch = |key: &str| {
    ///     let inner = serde_json::json!({"type": "object", "properties": {key: {"type": "integer"}}});
    ///     serde_json::json!({"type": "object", "properties": {"inner": inner}})
    /// };
    /// let schema = serde_json::json!({"anyOf": [branch("x"), branch("y")]});
    /// let mut document = Document::read(&schema, Role::Output, &mut Reporter::new("get_place", 0, "/outputSchema"));
    /// document.keep_declared();
    /// let loses = |shape: &Shape| matches!(shape, Shape::Struct(object) if object.unknown == Unknown::Ignore);
    /// assert!(!document.shapes.ids().any(|id| loses(document.shapes.get(id))));
    /// ```
    pub fn keep_declared(&mut self) {
        self.keep(&losing_structs(&self.shapes));
    }

    /// Keeps properties in structs that would otherwise be ignored: undeclared ones and, unless the struct is strict,
    /// also those that the schema forbids. Results of servers are not read strictly.
    ///
    /// ```
    /// use mcp_bindgen_schema::diagnostics::Reporter;
    /// use mcp_bindgen_schema::{Document, Role, Shape, Unknown};
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {"owner": {"type": "string"}}});
    /// let mut document = Document::read(&schema, Role::Input, &mut Reporter::new("create_issue", 0, "/inputSchema"));
    /// document.keep_unknown(|_| true);
    /// let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("an object with properties") };
    /// assert!(matches!(object.unknown, Unknown::Keep(_)));
    /// ```
    pub fn keep_unknown(&mut self, is_strict: impl Fn(ShapeId) -> bool) {
        let ignores = |id: &ShapeId| {
            matches!(self.shapes.get(*id), Shape::Struct(object)
                if object.unknown == Unknown::Ignore || (object.unknown == Unknown::Deny && !is_strict(*id)))
        };
        let ignoring: Vec<ShapeId> = self.shapes.ids().filter(ignores).collect();
        self.keep(&ignoring);
    }

    /// Makes structs keep properties of any value.
    fn keep(&mut self, structs: &[ShapeId]) {
        let mut anything = None;
        for id in structs {
            let Shape::Struct(mut object) = self.shapes.get(*id).clone() else { continue };
            let shape = *anything.get_or_insert_with(|| self.shapes.add(Shape::Anything, Vec::new()));
            object.unknown = Unknown::Keep(Slot { shape, nullable: false });
            self.shapes.set(*id, Shape::Struct(object));
        }
    }
}

/// The budget for comparing shapes, plus a part for each of them. Beyond it, every struct counts.
const COST: usize = 200_000;
const COST_OF_SHAPE: usize = 500;

/// Returns the structs that ignore a property which another branch of a union around them declares there.
fn losing_structs(shapes: &Shapes) -> Vec<ShapeId> {
    let mut walk = Walk {
        shapes,
        seen: HashSet::new(),
        pending: Vec::new(),
        losing: HashSet::new(),
        left: COST + COST_OF_SHAPE * shapes.ids().count(),
    };
    for id in shapes.ids() {
        let Shape::Union(union) = shapes.get(id) else { continue };
        for (place, branch) in union.branches.iter().enumerate() {
            for other in union.branches.iter().skip(place + 1) {
                walk.beside(branch.shape, other.shape);
            }
            if !walk.finish() {
                let ignores = |shape: &Shape| matches!(shape, Shape::Struct(it) if it.unknown == Unknown::Ignore);
                return shapes.ids().filter(|id| ignores(shapes.get(*id))).collect();
            }
        }
    }
    shapes.ids().filter(|id| walk.losing.contains(id)).collect()
}

struct Walk<'s> {
    shapes: &'s Shapes,
    seen: HashSet<(ShapeId, ShapeId)>,
    /// Pairs of shapes of one place.
    pending: Vec<(ShapeId, ShapeId)>,
    losing: HashSet<ShapeId>,
    left: usize,
}

impl Walk<'_> {
    fn beside(&mut self, left: ShapeId, right: ShapeId) {
        let has_more = |id| {
            let shape = self.shapes.get(id);
            matches!(shape, Shape::Struct(_)) || !shape.children().is_empty()
        };
        if left != right && has_more(left) && has_more(right) {
            let pair = (left.min(right), left.max(right));
            if self.seen.insert(pair) {
                self.pending.push(pair);
            }
        }
    }

    /// Compares the pending pairs; returns `false` if the budget is exhausted.
    fn finish(&mut self) -> bool {
        while let Some((left, right)) = self.pending.pop() {
            let cost = 1 + self.shapes.get(left).children().len() + self.shapes.get(right).children().len();
            let Some(rest) = self.left.checked_sub(cost) else { return false };
            self.left = rest;
            self.compare(left, right);
        }
        true
    }

    fn compare(&mut self, left: ShapeId, right: ShapeId) {
        let shapes = self.shapes;
        match (shapes.get(left), shapes.get(right)) {
            (one @ (Shape::Named(_) | Shape::Union(_)), _) => {
                one.inline().into_iter().for_each(|part| self.beside(part, right));
            }
            (_, other @ (Shape::Named(_) | Shape::Union(_))) => {
                other.inline().into_iter().for_each(|part| self.beside(left, part));
            }
            (one, other) if one.is_array() && other.is_array() => {
                for index in 0..=one.inline().len().max(other.inline().len()) {
                    if let (Some(one), Some(other)) = (one.item(index), other.item(index)) {
                        self.beside(one.shape, other.shape);
                    }
                }
            }
            (Shape::Map(value), Shape::Map(other)) => self.beside(value.shape, other.shape),
            (Shape::Map(value), object @ Shape::Struct(_)) | (object @ Shape::Struct(_), Shape::Map(value)) => {
                object.children().into_iter().for_each(|child| self.beside(value.shape, child));
            }
            (Shape::Struct(one), Shape::Struct(other)) => {
                self.declared(left, one, other);
                self.declared(right, other, one);
            }
            _ => {}
        }
    }

    /// Adds to a struct the properties that another one declares.
    fn declared(&mut self, id: ShapeId, own: &StructShape, other: &StructShape) {
        let known = places(&own.wires());
        let fields = other.fields.iter().map(|field| (field.wire.as_str(), Some(field.slot.shape)));
        // The tag has no shape.
        for (key, shape) in fields.chain(other.tag.as_deref().map(|tag| (tag, None))) {
            let field = known.get(key).and_then(|place| own.fields.get(*place));
            match (field, shape, own.unknown) {
                (Some(field), Some(shape), _) => self.beside(field.slot.shape, shape),
                (None, ..) if own.tag.as_deref() == Some(key) => {}
                (None, Some(shape), Unknown::Keep(slot)) => self.beside(slot.shape, shape),
                (None, _, Unknown::Ignore) => drop(self.losing.insert(id)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_of_tuples_and_of_longer_arrays_are_compared() {
        let item = |key: &str| json!({ "type": "object", "properties": { key: { "type": "integer" } } });
        let pair =
            json!({ "type": "array", "prefixItems": [item("x"), { "type": "string" }], "minItems": 2, "maxItems": 2 });
        let longer = json!({ "type": "array", "prefixItems": [item("y"), { "type": "string" }] });
        let schema = json!({ "anyOf": [pair, longer] });
        let document = Document::read(&schema, Role::Output, &mut Reporter::new("t", 0, ""));
        assert!(document.shapes.ids().any(|id| matches!(document.shapes.get(id), Shape::Tuple(_))));
        assert!(document.shapes.ids().any(|id| matches!(document.shapes.get(id), Shape::Prefixed(..))));
        assert_eq!(losing_structs(&document.shapes).len(), 2);
    }
}

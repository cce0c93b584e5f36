use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::lower::lower;
use crate::normalize::{SchemaId, Schemas};
use crate::shape::{Role, Shape, ShapeId, Shapes, Slot, Unknown};
use crate::siblings::losing_structs;

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

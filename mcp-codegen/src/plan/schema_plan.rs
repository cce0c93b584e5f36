use std::collections::{HashMap, HashSet};

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, SchemaId, Shape, ShapeId, StructShape};
use serde_json::Value;

use super::naming::{NamedType, named_types};
use crate::names;
use crate::table::Table;

/// One of a tool's two schemas, translated.
#[derive(Debug)]
pub(crate) struct SchemaPlan<'s> {
    pub(crate) document: Document<'s>,
    /// The shapes that have a name.
    pub(crate) types: Table<NamedType>,
    /// The same, outermost first.
    pub(crate) order: Vec<ShapeId>,
    /// Pairs of shapes that hold each other, so that the first has to box the second.
    pub(super) boxed: HashSet<(ShapeId, ShapeId)>,
    /// Which ways the values of shared types go; those of others go the way of the document.
    pub(super) uses: Table<Uses>,
    /// `true` if the schema of the root type is this document. A type shared by several results has the schema of one.
    pub(crate) is_described: bool,
    /// The strings and numbers that become newtypes, with the schemas that they check.
    pub(crate) checks: Table<Value>,
    /// The names of builders, by the struct that they make.
    pub(crate) builders: Table<String>,
    /// The user's names of fields: a struct's, by their places.
    pub(super) renamed: HashMap<(ShapeId, usize), String>,
}

/// The ways that the values of a shared type go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Values are sent somewhere.
    pub(super) sent: bool,
    /// Values come from the server somewhere.
    pub(super) answered: bool,
    /// Somewhere undeclared properties are not refused.
    pub(super) lenient: bool,
    /// The type is generated for an equal one.
    pub(super) elsewhere: bool,
}

impl<'s> SchemaPlan<'s> {
    /// Reads a schema around the definitions at these pointers. Its types want names that begin with `root_name`.
    pub(crate) fn new(
        schema: &'s Value,
        role: Role,
        root_name: &str,
        definitions: &[&str],
        checked: bool,
        reporter: &mut Reporter,
    ) -> Self {
        let mut document = Document::read_around(schema, role, definitions, reporter);
        document.keep_declared();
        let mut checks = Table::default();
        if checked {
            document.checks(reporter).into_iter().for_each(|(id, schema)| checks.insert(id, schema));
        }
        let (types, order) = named_types(&document, &checks, root_name);
        Self {
            types,
            order,
            boxed: document.shapes.boxed(),
            uses: Table::default(),
            is_described: true,
            checks,
            builders: Table::default(),
            renamed: HashMap::new(),
            document,
        }
    }

    pub(crate) fn is_boxed(&self, holder: ShapeId, held: ShapeId) -> bool {
        self.boxed.contains(&(holder, held))
    }

    /// Returns `true` if values of a type come from the server, which may say more than it declared.
    pub(crate) fn is_answered(&self, id: ShapeId) -> bool {
        self.uses.get(id).map_or(self.document.role == Role::Output, |uses| uses.answered)
    }

    /// Returns `true` if a closed type refuses unknown properties. Values from a server are read leniently.
    pub(crate) fn is_strict(&self, id: ShapeId) -> bool {
        self.uses.get(id).map_or(self.document.role == Role::Input, |uses| !uses.lenient)
    }

    /// Returns `true` if values of a type are sent.
    pub(crate) fn is_sent(&self, id: ShapeId) -> bool {
        self.uses.get(id).map_or(self.document.role == Role::Input, |uses| uses.sent)
    }

    /// Makes structs keep unknown properties that they would ignore.
    pub(super) fn keep_unknown(&mut self) {
        let is_input = self.document.role == Role::Input;
        self.document.keep_unknown(|id| self.uses.get(id).map_or(is_input, |uses| !uses.lenient));
    }

    /// Removes the checks of all types inside a type, because they also occur in results, which are not checked.
    pub(super) fn uncheck_below(&mut self, id: ShapeId) {
        if self.checks.is_empty() {
            return;
        }
        for id in self.reached(id, Shape::children).collect::<Vec<_>>() {
            if self.checks.remove(id).is_some() {
                self.types.remove(id);
                self.order.retain(|other| *other != id);
            }
        }
    }

    /// Returns a shape and all those below it, each once.
    pub(super) fn reached(&self, id: ShapeId, below: fn(&Shape) -> Vec<ShapeId>) -> impl Iterator<Item = ShapeId> {
        let (mut pending, mut seen) = (vec![id], HashSet::from([id]));
        std::iter::from_fn(move || {
            let id = pending.pop()?;
            let below = below(self.document.shapes.get(id)).into_iter();
            pending.extend(below.filter(|child| seen.insert(*child)));
            Some(id)
        })
    }

    /// Returns the name of a shape that has one.
    pub(crate) fn name(&self, id: ShapeId) -> Option<&str> {
        self.types.get(id).map(|named| named.name.as_str())
    }

    /// Returns the names of all shapes that have one.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.document.shapes.ids().filter_map(|id| self.name(id)).collect()
    }

    /// Returns the identifiers of a struct's fields.
    pub(crate) fn field_names(&self, id: ShapeId, object: &StructShape) -> Vec<String> {
        let wires: Vec<&str> = object.fields.iter().map(|field| field.wire.as_str()).collect();
        if self.renamed.is_empty() {
            return names::fields(&wires);
        }
        let given: Vec<Option<String>> =
            (0..wires.len()).map(|index| self.renamed.get(&(id, index)).cloned()).collect();
        names::fields_or(&wires, &given)
    }

    /// Returns the name of the whole value's type.
    pub(super) fn root_name(&self) -> &str {
        self.name(self.document.root).unwrap_or_default()
    }

    /// Returns the schemas that document a shape.
    pub(crate) fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.document.shapes.origin(id)
    }
}

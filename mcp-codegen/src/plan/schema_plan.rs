//! The translation of a schema, and the preferred names of its types: from their definition, or their place. A type in
//! several places is named after one that its content determines, whatever the order of properties.

use std::collections::{HashMap, HashSet};

use mcp_bindgen_model::pointer_segment;
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, SchemaId, Shape, ShapeId, Slot, StructShape, Unknown};
use serde_json::Value;

use crate::names::{self, Style, branch_labels};
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

/// A type of a schema, and its name.
#[derive(Debug)]
pub(crate) struct NamedType {
    /// The wanted name; in a finished plan, the name.
    pub(crate) name: String,
    /// The pointer of the definition that it is.
    definition: Option<String>,
    /// The position of the type; the root has none.
    pub(crate) spot: Option<Spot>,
}

impl NamedType {
    /// Creates a type with a fixed name, regardless of its position.
    pub(super) fn of_name(name: String) -> Self {
        Self { name, definition: None, spot: None }
    }

    /// Marks a type, or one at this path inside it, as shared under the user's name, like a definition.
    pub(super) fn share_as(&mut self, name: &str, path: &str) {
        self.definition = Some(format!("shared/{name}{path}"));
    }
}

/// The place of a type in the one that holds it.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) holder: ShapeId,
    /// The property, or the branch.
    pub(crate) label: String,
    /// The way there. `~` precedes `0` or `1` in a key, so a key never looks like the other steps.
    path: String,
    /// The number of its steps.
    depth: usize,
    /// The end of the names of types here: of the lists, maps and tuples in between.
    ending: String,
}

/// The wire keys that lead to a type, from the root or from its definition: how many, and as text.
pub(crate) type WirePath = (usize, String);

/// The beginning of the path of a branch.
const BRANCH: &str = "/~or/";

impl Spot {
    fn new(holder: ShapeId, label: &str, path: String) -> Self {
        Self { holder, label: label.to_owned(), path, depth: 1, ending: String::new() }
    }

    /// Returns the spot inside a list, a map or a tuple here.
    fn inside(&self, step: &str, ending: &str) -> Self {
        let (path, ending) = (format!("{}{step}", self.path), format!("{}{ending}", self.ending));
        Self { path, ending, depth: self.depth + 1, ..self.clone() }
    }

    /// Returns the name of a type here, in a holder of this name.
    fn name(&self, holder: &str) -> String {
        format!("{holder}{}{}", Style::Pascal.apply(&self.label), self.ending)
    }
}

/// Returns the named types of a schema, as they want to be called, and their order: outermost first.
fn named_types(document: &Document<'_>, checks: &Checks, root_name: &str) -> (Table<NamedType>, Vec<ShapeId>) {
    let name = Style::Pascal.within_limit(root_name.to_owned(), root_name);
    let mut types = Table::default();
    types.insert(document.root, NamedType::of_name(name));
    named_below(document, checks, types, document.root, root_name)
}

/// Names the types inside a type, recursively. Types in `types` keep their names and are not entered.
pub(super) fn named_below(
    document: &Document<'_>,
    checks: &Checks,
    types: Table<NamedType>,
    root: ShapeId,
    root_name: &str,
) -> (Table<NamedType>, Vec<ShapeId>) {
    let mut naming = Naming { document, checks, types, level: Vec::new(), spots: Table::default() };
    let mut order = vec![root];
    let mut level = vec![root];
    while !level.is_empty() {
        for holder in level {
            naming.below(holder);
        }
        level = std::mem::take(&mut naming.level);
        for id in &level {
            naming.settle(*id, root_name);
        }
        order.extend(&level);
    }
    (naming.types, order)
}

/// Returns the path to a type in a map of named types.
pub(super) fn wire_path(types: &Table<NamedType>, id: ShapeId) -> WirePath {
    let mut spots = Vec::new();
    let mut text = String::new();
    let mut named = types.get(id);
    while let Some(NamedType { definition, spot, .. }) = named {
        if let Some(pointer) = definition {
            text = format!("#{pointer}");
            break;
        }
        let Some(spot) = spot else { break };
        spots.push(spot);
        named = types.get(spot.holder);
    }
    let mut depth = usize::from(!text.is_empty());
    for spot in spots.iter().rev() {
        depth += spot.depth;
        text.push_str(&spot.path);
    }
    (depth, text)
}

/// The strings, numbers and lists that are types of their own.
type Checks = Table<Value>;

struct Naming<'n, 's> {
    document: &'n Document<'s>,
    checks: &'n Checks,
    types: Table<NamedType>,
    /// The types that the last ones hold, and that have no name yet.
    level: Vec<ShapeId>,
    /// The spots of the types, each with its schemas.
    spots: Table<(Spot, &'n [SchemaId])>,
}

impl<'n> Naming<'n, '_> {
    /// Gives a type the name that its spot asks for.
    fn settle(&mut self, id: ShapeId, root_name: &str) {
        let Some((spot, _)) = self.spots.remove(id) else { return };
        // A branch is a type of its own beside the definition that it comes from.
        let is_branch = spot.path.starts_with(BRANCH) && spot.depth == 1;
        let definition = if is_branch { None } else { definition(self.document, id) };
        let (name, definition) = match definition {
            Some((name, pointer)) => (format!("{root_name}{}", Style::Pascal.apply(&name)), Some(pointer.to_owned())),
            None => (spot.name(self.types.get(spot.holder).map_or("", |holder| holder.name.as_str())), None),
        };
        let whole = name.clone();
        let name = Style::Pascal.within_limit(name, &whole);
        self.types.insert(id, NamedType { name, definition, spot: Some(spot) });
    }

    fn below(&mut self, holder: ShapeId) {
        let document = self.document;
        let own = document.shapes.origin(holder);
        match document.shapes.get(holder) {
            Shape::Struct(object) => {
                for field in &object.fields {
                    if self.needs_name(field.slot) {
                        let path = format!("/{}", pointer_segment(&field.wire));
                        self.place(field.slot.shape, &Spot::new(holder, &field.wire, path), &field.schemas);
                    }
                }
                if let Unknown::Keep(slot) = object.unknown {
                    self.place(slot.shape, &Spot::new(holder, "extra", "/~extra".to_owned()), own);
                }
            }
            Shape::List(item) => {
                let spot = Spot::new(holder, "", "/~value".to_owned());
                self.place(item.shape, &spot.inside("/~item", "Item"), own);
            }
            Shape::Union(union) => {
                for (branch, label) in union.branches.iter().zip(branch_labels(union)) {
                    let path = format!("{BRANCH}{}", pointer_segment(&label));
                    self.place(branch.shape, &Spot::new(holder, &label, path), own);
                }
            }
            Shape::Named(inner) => self.place(inner.shape, &Spot::new(holder, "value", "/~value".to_owned()), own),
            _ => {}
        }
    }

    /// Returns `true` if a type in this place has, or holds, a name of its own.
    fn needs_name(&self, slot: Slot) -> bool {
        let shape = self.document.shapes.get(slot.shape);
        shape.is_named() || self.checks.get(slot.shape).is_some() || shape.is_array() || matches!(shape, Shape::Map(_))
    }

    /// Records the types in a spot: the type itself, or those inside an unnamed container.
    fn place(&mut self, id: ShapeId, spot: &Spot, schemas: &'n [SchemaId]) {
        match self.document.shapes.get(id) {
            shape if shape.is_named() || self.checks.get(id).is_some() => self.find(id, spot.clone(), schemas),
            Shape::List(Slot { shape, .. }) => self.place(*shape, &spot.inside("/~item", "Item"), schemas),
            Shape::Map(Slot { shape, .. }) => self.place(*shape, &spot.inside("/~any", "Value"), schemas),
            Shape::Tuple(items) | Shape::Prefixed(items, _) => {
                for (index, item) in items.iter().enumerate() {
                    let spot = spot.inside(&format!("/~at/{index}"), &(index + 1).to_string());
                    self.place(item.shape, &spot, schemas);
                }
                if let Shape::Prefixed(_, Some(rest)) = self.document.shapes.get(id) {
                    self.place(rest.shape, &spot.inside("/~item", "Item"), schemas);
                }
            }
            _ => {}
        }
    }

    fn find(&mut self, id: ShapeId, spot: Spot, schemas: &'n [SchemaId]) {
        if self.types.get(id).is_some() {
            return;
        }
        let rank = |spot: &Spot, schemas: &[SchemaId]| rank(self.document, &self.types, id, spot, schemas);
        match self.spots.get(id) {
            Some((known, described)) if rank(&spot, schemas) >= rank(known, described) => return,
            Some(_) => {}
            None => self.level.push(id),
        }
        self.spots.insert(id, (spot, schemas));
    }
}

/// Returns the name and the pointer of the definition that a shape is.
pub(super) fn definition<'d>(document: &'d Document<'_>, id: ShapeId) -> Option<(String, &'d str)> {
    let [only] = document.shapes.origin(id) else { return None };
    Some((document.schemas.definition(*only)?, document.schemas.pointer(*only)))
}

/// Ranks the spots of one level; the type takes its name from the lowest. Spots of the schema itself precede references
/// to it, then the shortest path wins, then the smallest.
fn rank(
    document: &Document<'_>,
    types: &Table<NamedType>,
    id: ShapeId,
    spot: &Spot,
    schemas: &[SchemaId],
) -> (bool, WirePath) {
    let pointer = |id: &SchemaId| document.schemas.pointer(*id);
    let is_below = |place: &str| {
        document.shapes.origin(id).iter().any(|origin| {
            pointer(origin).strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let is_reference = !schemas.iter().any(|schema| is_below(pointer(schema)));
    let (depth, mut path) = wire_path(types, spot.holder);
    path.push_str(&spot.path);
    (is_reference, (depth + spot.depth, path))
}

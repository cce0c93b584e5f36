use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use mcp_schema::diagnostics::Reporter;
use mcp_schema::{Document, Role, SchemaId, Shape, ShapeId, Shapes, Slot, Unknown};
use serde_json::Value;

use crate::names::Style;

/// One of a tool's two schemas, translated.
#[derive(Debug)]
pub(crate) struct SchemaPlan<'s> {
    pub(crate) document: Document<'s>,
    /// The names of the shapes that have one.
    pub(crate) type_names: HashMap<ShapeId, String>,
    /// The named shapes, outermost first.
    pub(crate) order: Vec<ShapeId>,
    /// Where a named shape was first met: in which other, and as what.
    pub(crate) holders: HashMap<ShapeId, (ShapeId, String)>,
    /// Pairs of shapes that hold each other, so that the first has to box the second.
    boxed: HashSet<(ShapeId, ShapeId)>,
}

impl<'s> SchemaPlan<'s> {
    pub(crate) fn new(schema: &'s Value, role: Role, reporter: &mut Reporter) -> Self {
        let document = Document::read(schema, role, reporter);
        let boxed = cycles(&document.shapes);
        Self { document, type_names: HashMap::new(), order: Vec::new(), holders: HashMap::new(), boxed }
    }

    pub(crate) fn is_boxed(&self, holder: ShapeId, held: ShapeId) -> bool {
        self.boxed.contains(&(holder, held))
    }

    /// The type names that the root and everything in it ask for.
    pub(crate) fn wanted_names(&mut self, root: &str) -> Vec<(ShapeId, String, bool)> {
        let mut naming =
            Naming { schema: self, root, wanted: Vec::new(), holders: HashMap::new(), pending: VecDeque::new() };
        let spot = Spot { holder: naming.schema.document.root, label: String::new(), name: root.to_owned() };
        naming.name(naming.schema.document.root, spot);
        while let Some((id, name)) = naming.pending.pop_front() {
            naming.below(id, &name);
        }
        let Naming { wanted, holders, .. } = naming;
        self.holders = holders;
        self.order = wanted.iter().map(|(id, _)| *id).collect();
        let root = self.document.root;
        wanted.into_iter().map(|(id, name)| (id, name, id == root)).collect()
    }

    /// How many fields have a schema with a `type`, and how many of those are untyped.
    pub(crate) fn coverage(&self) -> (usize, usize) {
        let mut counts = (0, 0);
        for id in &self.order {
            let Shape::Struct(object) = self.document.shapes.get(*id) else { continue };
            for field in &object.fields {
                let declares =
                    |id: &SchemaId| self.document.schemas.source(*id).is_some_and(|source| source.contains_key("type"));
                if field.schemas.iter().any(declares) {
                    counts.0 += 1;
                    counts.1 += usize::from(matches!(self.document.shapes.get(field.slot.shape), Shape::Anything));
                }
            }
        }
        counts
    }

    /// Whether a type in this place has, or holds, a name of its own.
    fn needs_name(&self, slot: Slot) -> bool {
        let shape = self.document.shapes.get(slot.shape);
        shape.is_named() || matches!(shape, Shape::List(_) | Shape::Map(_) | Shape::Tuple(_))
    }

    fn definition(&self, id: ShapeId) -> Option<String> {
        let [only] = self.document.shapes.origin(id) else { return None };
        self.document.schemas.definition(*only)
    }

    /// The schemas that document a shape.
    pub(crate) fn origin(&self, id: ShapeId) -> &[SchemaId] {
        self.document.shapes.origin(id)
    }
}

struct Naming<'n, 's> {
    schema: &'n SchemaPlan<'s>,
    root: &'n str,
    wanted: Vec<(ShapeId, String)>,
    holders: HashMap<ShapeId, (ShapeId, String)>,
    pending: VecDeque<(ShapeId, String)>,
}

/// A place that may hold a named shape.
#[derive(Clone)]
struct Spot {
    holder: ShapeId,
    label: String,
    name: String,
}

impl Spot {
    fn inside(&self, step: &str) -> Self {
        Self { name: format!("{}{step}", self.name), ..self.clone() }
    }
}

impl Naming<'_, '_> {
    fn name(&mut self, id: ShapeId, spot: Spot) {
        if let Entry::Vacant(vacant) = self.holders.entry(id) {
            vacant.insert((spot.holder, spot.label));
            let name = Style::Pascal.within_limit(spot.name);
            self.wanted.push((id, name.clone()));
            self.pending.push_back((id, name));
        }
    }

    fn place(&mut self, slot: Slot, spot: Spot) {
        let id = slot.shape;
        let shape = self.schema.document.shapes.get(id);
        if shape.is_named() {
            let name = match self.schema.definition(id) {
                Some(definition) => format!("{}{}", self.root, Style::Pascal.apply(&definition)),
                None => spot.name,
            };
            self.name(id, Spot { name, ..spot });
            return;
        }
        match shape {
            Shape::List(item) => self.place(*item, spot.inside("Item")),
            Shape::Map(value) => self.place(*value, spot.inside("Value")),
            Shape::Tuple(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.place(*item, spot.inside(&(index + 1).to_string()));
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, id: ShapeId, name: &str) {
        let spot = |label: &str, step: &str| Spot {
            holder: id,
            label: label.to_owned(),
            name: format!("{name}{}", Style::Pascal.apply(step)),
        };
        match self.schema.document.shapes.get(id) {
            Shape::Struct(object) => {
                for field in object.fields.iter().filter(|field| self.schema.needs_name(field.slot)) {
                    self.place(field.slot, spot(&field.wire, &field.wire));
                }
                if let Unknown::Keep(slot) = object.unknown {
                    self.place(slot, spot("extra", "extra"));
                }
            }
            Shape::Union(union) => {
                for branch in &union.branches {
                    let spot = spot(&branch.name, &branch.name);
                    if self.schema.document.shapes.get(branch.shape).is_named() {
                        self.name(branch.shape, spot);
                    } else {
                        self.place(Slot { shape: branch.shape, nullable: false }, spot);
                    }
                }
            }
            Shape::Named(inner) => self.place(*inner, spot("value", "value")),
            _ => {}
        }
    }
}

/// Finds the pairs of shapes on a cycle of values that hold each other directly.
fn cycles(shapes: &Shapes) -> HashSet<(ShapeId, ShapeId)> {
    let mut group: HashMap<ShapeId, usize> = HashMap::new();
    let mut order = Vec::new();
    let mut seen = HashSet::new();
    for start in shapes.ids() {
        let mut stack = vec![(start, false)];
        while let Some((id, done)) = stack.pop() {
            if done {
                order.push(id);
            } else if seen.insert(id) {
                stack.push((id, true));
                stack.extend(shapes.get(id).inline().into_iter().map(|held| (held, false)));
            }
        }
    }
    let mut holders: HashMap<ShapeId, Vec<ShapeId>> = HashMap::new();
    for id in shapes.ids() {
        for held in shapes.get(id).inline() {
            holders.entry(held).or_default().push(id);
        }
    }
    for (number, start) in order.into_iter().rev().enumerate() {
        let mut stack = vec![start];
        while let Some(id) = stack.pop() {
            if let Entry::Vacant(vacant) = group.entry(id) {
                vacant.insert(number);
                stack.extend(holders.get(&id).into_iter().flatten().copied());
            }
        }
    }
    let mut boxed = HashSet::new();
    for id in shapes.ids() {
        for held in shapes.get(id).inline() {
            // The branches of a union are boxed inside, where they refer to it.
            let is_branch = matches!(shapes.get(id), Shape::Union(_)) && matches!(shapes.get(held), Shape::Struct(_));
            if !is_branch && group.get(&id) == group.get(&held) {
                boxed.insert((id, held));
            }
        }
    }
    boxed
}

//! The Rust interface of a schema as text: types, fields and the arguments of `new`; and the names of items, of which a
//! new one may take that of another, so that code for the old bindings changes its meaning.

use std::collections::{HashMap, HashSet};

use mcp_bindgen_model::printable;

use super::change::{Change, ChangeKind, Class, Signatures};
use crate::keys::places;
use crate::names::{self, Style};
use crate::shape::{Field, Presence, Shape, ShapeId, Slot, StructShape, UnionShape};
use crate::{Document, Role};

/// The type of an argument for a string.
pub(super) const TEXT: &str = "impl Into<String>";

/// The Rust interface of one schema.
pub(super) struct Rust<'d> {
    pub(super) document: &'d Document<'d>,
    /// The pairs of shapes of which the first boxes the second.
    boxed: HashSet<(ShapeId, ShapeId)>,
    /// The types without `Eq` and `Hash`: numbers, and what holds one.
    partial: HashSet<ShapeId>,
}

/// An argument of `new`.
pub(super) struct Argument {
    /// The key on the wire.
    pub(super) wire: String,
    name: String,
    ty: String,
    /// The shape. It is one type at each of its positions in a document.
    shape: Option<Slot>,
}

impl Argument {
    pub(super) fn new(wire: &str, name: &str, ty: impl Into<String>) -> Self {
        Self { wire: wire.to_owned(), name: name.to_owned(), ty: ty.into(), shape: None }
    }
}

/// Returns `true` if an expression may have either type: literals fit both integer types.
pub(super) fn is_interchangeable(old: &str, new: &str) -> bool {
    old == new || old.replace("u64", "i64") == new.replace("u64", "i64")
}

/// Returns `true` if calls with the old arguments compile with the new ones.
pub(super) fn takes_calls(old: &[Argument], new: &[Argument]) -> bool {
    let fits = |(before, now): (&Argument, &Argument)| {
        let twin = new.iter().find(|argument| argument.wire == before.wire);
        let is_shared = twin.is_some_and(|twin| twin.shape.is_some() && twin.shape == now.shape && twin.ty == now.ty);
        is_interchangeable(&before.ty, &now.ty) || is_shared
    };
    old.len() == new.len() && old.iter().zip(new).all(fits)
}

/// Returns how calls of `new` that compile with both lists of arguments are misread, if they are: what the new one
/// does, `takes ..`, and both.
pub(super) fn misread(old: &[Argument], new: &[Argument]) -> Option<(String, Signatures)> {
    if !takes_calls(old, new) {
        return None;
    }
    let (before, now) = old.iter().zip(new).find(|(before, now)| before.wire != now.wire)?;
    let is_reordered = old.iter().all(|before| new.iter().any(|now| now.wire == before.wire));
    let detail = if is_reordered {
        "takes its arguments in another order, and calls still compile".to_owned()
    } else {
        let [before, now] = [before, now].map(|argument| printable(&argument.wire));
        format!("takes `{now}` in place of `{before}`, and calls still compile")
    };
    Some((detail, Signatures { old: signature(old), new: signature(new) }))
}

fn signature(arguments: &[Argument]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|Argument { name, ty, .. }| format!("{name}: {ty}")).collect();
    format!("new({})", arguments.join(", "))
}

/// An item that has another name in Rust now, or one that is gone and whose name stands for another item.
pub(super) struct Renamed<'w> {
    pub(super) wire: &'w str,
    detail: String,
    /// Both meanings of the old name, if code with it compiles.
    pub(super) signatures: Option<Signatures>,
}

impl Renamed<'_> {
    /// Returns the change; `lead` begins its description: "prompt `a` is ".
    pub(super) fn change(&self, tool: &str, pointer: &str, lead: &str) -> Change {
        let (class, kind) = match self.signatures {
            Some(_) => (Class::Silent, ChangeKind::NameTaken),
            None => (Class::Source, ChangeKind::Renamed),
        };
        let change = Change::new(tool, class, kind, pointer, format!("{lead}{}", self.detail));
        Change { signatures: self.signatures.clone(), ..change }
    }
}

/// Returns the renamed items of a list. `named` returns the names of the old list or, with `true`, of the new one; `of`
/// is the kind of items: `"tool"`; `behind` returns the types of an old item and of the new one that takes its name.
pub(super) fn renamed<'w>(
    old: &[&'w str],
    new: &[&'w str],
    of: &str,
    named: &dyn Fn(bool, &[&str]) -> Vec<String>,
    behind: &dyn Fn(&str, &str) -> Option<[String; 2]>,
) -> Vec<Renamed<'w>> {
    let (before, now) = (named(false, old), named(true, new));
    let spelled: Vec<&str> = now.iter().map(String::as_str).collect();
    let (names, takers) = (places(new), places(&spelled));
    let mut renamed = Vec::new();
    for (wire, before) in old.iter().copied().zip(&before) {
        let taker = takers.get(before.as_str()).and_then(|place| new.get(*place).copied());
        let taker = taker.filter(|taker| *taker != wire);
        let taken = taker.map(|taker| format!("{of} `{}` takes that name", printable(taker)));
        let signatures = taker.and_then(|taker| {
            let [was, is] = behind(wire, taker).filter(|[was, is]| is_interchangeable(was, is))?;
            let meaning = |behind: &str, wire: &str| format!("{before}{behind} for {wire:?}");
            Some(Signatures { old: meaning(&was, wire), new: meaning(&is, taker) })
        });
        let detail = match (names.get(wire).and_then(|place| now.get(*place)), taken) {
            (Some(name), _) if name == before => continue,
            (Some(name), taken) => {
                let taken = taken.map_or_else(String::new, |taken| format!(": {taken}"));
                format!("called `{name}` in Rust now, and not `{before}`{taken}")
            }
            (None, Some(taken)) if signatures.is_some() => format!("gone, and was called `{before}` in Rust: {taken}"),
            (None, _) => continue,
        };
        renamed.push(Renamed { wire, detail, signatures });
    }
    renamed
}

impl<'d> Rust<'d> {
    pub(super) fn of(document: &'d Document<'d>) -> Self {
        let shapes = &document.shapes;
        let holders = shapes.holders(Shape::children);
        let mut pending: Vec<ShapeId> = shapes.ids().filter(|id| matches!(shapes.get(*id), Shape::Number)).collect();
        let mut partial = HashSet::new();
        while let Some(id) = pending.pop() {
            if partial.insert(id) {
                pending.extend_from_slice(holders.get(id.index()).map(Vec::as_slice).unwrap_or_default());
            }
        }
        Self { document, boxed: shapes.boxed(), partial }
    }

    /// Returns `true` if a type has `Eq` and `Hash`.
    pub(super) fn has_eq(&self, id: ShapeId) -> bool {
        !self.partial.contains(&id)
    }

    /// Returns the types that the branches of a union hold, each with how many hold it. A union can be made by `From` of
    /// those of one branch.
    pub(super) fn held(&self, union: &UnionShape) -> HashMap<String, usize> {
        let mut held: HashMap<String, usize> = HashMap::new();
        for (branch, label) in union.branches.iter().zip(names::branch_labels(union)) {
            *held.entry(self.shape(branch.shape, &label)).or_default() += 1;
        }
        // The variant for alternatives that the schema does not list holds one, too.
        if self.document.role == Role::Output && union.tag.is_some() {
            held.remove("Value");
        }
        held
    }

    pub(super) fn boxes(&self, holder: ShapeId, held: ShapeId) -> bool {
        self.boxed.contains(&(holder, held))
    }

    /// Returns the type of a shape. A type without a definition is called after its `label`.
    pub(super) fn shape(&self, id: ShapeId, label: &str) -> String {
        match self.document.shapes.get(id) {
            Shape::Anything | Shape::AnyOf(_) | Shape::Opaque => "Value".to_owned(),
            Shape::Null => "()".to_owned(),
            Shape::Boolean => "bool".to_owned(),
            Shape::I64 => "i64".to_owned(),
            Shape::U64 => "u64".to_owned(),
            Shape::Number => "f64".to_owned(),
            Shape::Text => "String".to_owned(),
            Shape::List(item) => format!("Vec<{}>", self.slot(*item, label)),
            Shape::Map(value) => format!("BTreeMap<String, {}>", self.slot(*value, label)),
            Shape::FreeMap => "Map<String, Value>".to_owned(),
            Shape::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|item| self.slot(*item, label)).collect();
                format!("({},)", items.join(", "))
            }
            Shape::Prefixed(items, rest) => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("Option<{}>", self.slot(*item, label))).collect();
                let rest = rest.map(|rest| format!(", {}", self.slot(rest, label))).unwrap_or_default();
                format!("Prefixed<({},){rest}>", items.join(", "))
            }
            Shape::Struct(_) | Shape::Union(_) | Shape::TextEnum(_) | Shape::LiteralEnum(_) | Shape::Named(_) => {
                Style::Pascal.apply(self.definition(id).as_deref().unwrap_or(label))
            }
        }
    }

    /// Returns the name of the definition that a type is.
    pub(super) fn definition(&self, id: ShapeId) -> Option<String> {
        match self.document.shapes.origin(id) {
            [only] if id != self.document.root => self.document.schemas.definition(*only),
            _ => None,
        }
    }

    fn slot(&self, slot: Slot, label: &str) -> String {
        let shape = self.shape(slot.shape, label);
        if slot.nullable { format!("Option<{shape}>") } else { shape }
    }

    pub(super) fn field(&self, holder: ShapeId, field: &Field) -> String {
        let shape = self.shape(field.slot.shape, &field.wire);
        let held = if self.boxes(holder, field.slot.shape) { format!("Box<{shape}>") } else { shape };
        match (field.presence, field.slot.nullable) {
            (Presence::Required, false) => held,
            (Presence::OptionalOrNull, true) => format!("Option<Nullable<{held}>>"),
            _ => format!("Option<{held}>"),
        }
    }

    /// Returns the arguments of `new`, or `None` if the type has no `new`.
    pub(super) fn arguments(&self, id: ShapeId, object: &StructShape) -> Option<Vec<Argument>> {
        let is_asked_for = |field: &Field| field.presence == Presence::Required && !self.is_constant(field.slot);
        let (wires, mut arguments) = (object.wires(), Vec::new());
        let (names, places) = (names::fields(&wires), places(&wires));
        for place in object.required.iter().filter_map(|key| places.get(key.as_str())) {
            let (Some(field), Some(name)) = (object.fields.get(*place), names.get(*place)) else { continue };
            let is_text = matches!(self.document.shapes.get(field.slot.shape), Shape::Text);
            if is_asked_for(field) && is_text && !field.slot.nullable {
                arguments.push(Argument::new(&field.wire, name, TEXT));
            } else if is_asked_for(field) {
                let argument = Argument::new(&field.wire, name, self.field(id, field));
                arguments.push(Argument { shape: Some(field.slot), ..argument });
            }
        }
        (!arguments.is_empty() || self.document.role == Role::Input).then_some(arguments)
    }

    /// Returns `true` if a place can hold one value alone.
    fn is_constant(&self, slot: Slot) -> bool {
        match self.document.shapes.get(slot.shape) {
            Shape::Null => true,
            Shape::TextEnum(values) => values.len() == 1 && !slot.nullable,
            Shape::LiteralEnum(values) => values.len() == 1 && !slot.nullable,
            _ => false,
        }
    }
}

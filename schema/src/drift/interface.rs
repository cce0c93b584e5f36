//! Whether regenerated code would have another Rust interface: shapes are compared as types, two by two.

use std::collections::{HashMap, HashSet};

use super::change::{ChangeKind, Class};
use super::renamed::{Renamed, renamed};
use crate::bundle::push;
use crate::names::{self, Enumeration};
use crate::shape::{Field, Presence, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};
use crate::{Document, Role};

const DEEPEST: usize = 200;

/// A difference between the types.
pub(super) struct Difference {
    pub(super) pointer: String,
    pub(super) class: Class,
    pub(super) kind: ChangeKind,
    pub(super) detail: String,
}

pub(super) fn differences(old: &Document<'_>, new: &Document<'_>) -> Vec<Difference> {
    let boxed = [old.shapes.boxed(), new.shapes.boxed()];
    let mut interface = Interface { old, new, boxed, seen: HashSet::new(), depth: 0, found: Vec::new() };
    interface.shapes(old.root, new.root, String::new());
    interface.found
}

struct Interface<'d, 'a, 'b> {
    old: &'d Document<'a>,
    new: &'d Document<'b>,
    /// What boxes what, before and now.
    boxed: [HashSet<(ShapeId, ShapeId)>; 2],
    seen: HashSet<(ShapeId, ShapeId)>,
    depth: usize,
    found: Vec<Difference>,
}

impl Interface<'_, '_, '_> {
    fn say(&mut self, pointer: &str, class: Class, kind: ChangeKind, detail: impl Into<String>) {
        self.found.push(Difference { pointer: pointer.to_owned(), class, kind, detail: detail.into() });
    }

    fn source(&mut self, pointer: &str, kind: ChangeKind, detail: impl Into<String>) {
        self.say(pointer, Class::Source, kind, detail);
    }

    fn slots(&mut self, old: Slot, new: Slot, pointer: String) {
        if old.nullable != new.nullable {
            let (kind, detail) = nullability(new.nullable);
            self.source(&pointer, kind, detail);
        }
        self.shapes(old.shape, new.shape, pointer);
    }

    fn shapes(&mut self, old: ShapeId, new: ShapeId, pointer: String) {
        // The lowering has bounded how deep types nest.
        if self.depth > DEEPEST || !self.seen.insert((old, new)) {
            return;
        }
        self.depth += 1;
        self.types(old, new, &pointer);
        self.depth -= 1;
    }

    fn types(&mut self, old: ShapeId, new: ShapeId, pointer: &str) {
        let (before, now) = (self.old, self.new);
        if before.shapes.get(old).is_named() && now.shapes.get(new).is_named() {
            let name = |document: &Document<'_>, id: ShapeId| match document.shapes.origin(id) {
                [only] if id != document.root => document.schemas.definition(*only),
                _ => None,
            };
            if name(before, old) != name(now, new) {
                self.source(pointer, ChangeKind::TypeRenamed, "its type has another name");
            }
        }
        let (left, right) = (before.shapes.get(old), now.shapes.get(new));
        if let (Shape::Struct(left), Shape::Struct(right)) = (left, right) {
            self.boxes((old, left), (new, right), pointer);
        }
        match (left, right) {
            (Shape::Struct(left), Shape::Struct(right)) => self.structs(left, right, pointer),
            (Shape::Union(left), Shape::Union(right)) => self.unions(left, right, pointer),
            (Shape::TextEnum(left), Shape::TextEnum(right)) => {
                let is_open = |values: &[String]| super::types::is_open(before.role, values);
                let quoted = |values: &[String]| values.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>();
                self.lists(&quoted(left), &quoted(right), pointer);
                let kind = |values| if is_open(values) { Enumeration::Open } else { Enumeration::Closed };
                self.variants((left, kind(left)), (right, kind(right)), pointer);
            }
            (Shape::LiteralEnum(left), Shape::LiteralEnum(right)) => {
                let texts = |values: &[serde_json::Value]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
                let (left, right) = (texts(left), texts(right));
                self.lists(&left, &right, pointer);
                self.variants((&left, Enumeration::Closed), (&right, Enumeration::Closed), pointer);
            }
            (Shape::List(left), Shape::List(right)) => self.slots(*left, *right, format!("{pointer}/items")),
            (Shape::Map(left), Shape::Map(right)) => {
                self.slots(*left, *right, format!("{pointer}/additionalProperties"));
            }
            (Shape::Named(left), Shape::Named(right)) => self.slots(*left, *right, pointer.to_owned()),
            (Shape::Tuple(left), Shape::Tuple(right)) if left.len() == right.len() => {
                for (index, (left, right)) in left.iter().zip(right).enumerate() {
                    self.slots(*left, *right, format!("{pointer}/prefixItems/{index}"));
                }
            }
            (Shape::AnyOf(left), Shape::AnyOf(right)) if left == right => {}
            (left, right) => {
                let same = std::mem::discriminant(left) == std::mem::discriminant(right)
                    && !matches!(left, Shape::Tuple(_) | Shape::AnyOf(_));
                // What is untyped looks alike, however it came to be.
                let untyped = |shape: &Shape| matches!(shape, Shape::Anything | Shape::AnyOf(_));
                let both_untyped = untyped(left) && untyped(right);
                if !same && !both_untyped {
                    self.source(pointer, ChangeKind::Retyped, format!("{} became {}", word(left), word(right)));
                }
            }
        }
    }

    fn structs(&mut self, old: &StructShape, new: &StructShape, pointer: &str) {
        let at = |key: &str| {
            let mut pointer = format!("{pointer}/properties");
            push(&mut pointer, key);
            pointer
        };
        let [before, after] = [old, new].map(by_wire);
        for field in &old.fields {
            let Some(now) = after.get(field.wire.as_str()) else {
                self.source(&at(&field.wire), ChangeKind::Removed, "the property is gone");
                continue;
            };
            let place = at(&field.wire);
            match (field.presence, now.presence) {
                (Presence::Required, Presence::Required) => {}
                (Presence::Required, _) => self.source(&place, ChangeKind::FieldOptional, "optional now"),
                (_, Presence::Required) => self.source(&place, ChangeKind::FieldRequired, "required now"),
                // A nullable property without a default of `null` tells absent from `null`.
                (left, right) if left != right && field.slot.nullable == now.slot.nullable => {
                    self.source(&place, ChangeKind::Absence, "absent and `null` are told apart in another way");
                }
                _ => {}
            }
            self.slots(field.slot, now.slot, place);
        }
        for field in new.fields.iter().filter(|field| !before.contains_key(field.wire.as_str())) {
            let is_argument = field.presence == Presence::Required && self.new.role == Role::Input;
            let (class, detail) = if is_argument {
                (Class::Source, "new required property")
            } else {
                (Class::Compatible, "new property")
            };
            self.say(&at(&field.wire), class, ChangeKind::Added, detail);
        }
        self.fields(old, new, pointer);
        let of_both = |list: &[String], other: &[String]| {
            let other: HashSet<&String> = other.iter().collect();
            list.iter().filter(|key| other.contains(key)).cloned().collect::<Vec<_>>()
        };
        if of_both(&old.required, &new.required) != of_both(&new.required, &old.required) {
            let place = format!("{pointer}/required");
            self.source(&place, ChangeKind::ArgumentOrder, "another order, in which `new` takes its arguments");
        }
        match (old.unknown, new.unknown) {
            (Unknown::Keep(left), Unknown::Keep(right)) => {
                self.slots(left, right, format!("{pointer}/additionalProperties"));
            }
            (Unknown::Keep(_), _) => {
                let place = format!("{pointer}/additionalProperties");
                self.source(&place, ChangeKind::OtherKeysDropped, "other keys are not kept any more");
            }
            (_, Unknown::Keep(_)) => {
                let place = format!("{pointer}/additionalProperties");
                self.source(&place, ChangeKind::OtherKeysKept, "other keys are kept now");
            }
            _ => {}
        }
    }

    /// Which fields are boxed: a type that leads back to its holder now is.
    fn boxes(&mut self, (old, before): (ShapeId, &StructShape), (new, now): (ShapeId, &StructShape), pointer: &str) {
        if self.boxed.iter().all(HashSet::is_empty) {
            return;
        }
        let after = by_wire(now);
        for field in &before.fields {
            let Some(twin) = after.get(field.wire.as_str()) else { continue };
            let [was, is] = &self.boxed;
            let (was, is) = (was.contains(&(old, field.slot.shape)), is.contains(&(new, twin.slot.shape)));
            if was != is {
                let mut place = format!("{pointer}/properties");
                push(&mut place, &field.wire);
                let detail = if is { "its field holds a `Box` now" } else { "its field holds no `Box` any more" };
                self.source(&place, ChangeKind::Retyped, detail);
            }
        }
    }

    /// What the fields are called.
    fn fields(&mut self, old: &StructShape, new: &StructShape, pointer: &str) {
        let wires = |object: &StructShape| object.fields.iter().map(|field| field.wire.clone()).collect::<Vec<_>>();
        let (before, now) = (wires(old), wires(new));
        if before == now {
            return;
        }
        let [before, now] = [&before, &now].map(|wires| wires.iter().map(String::as_str).collect::<Vec<_>>());
        for Renamed { wire, detail } in renamed(&before, &now, "property", |_, wires| names::fields(wires)) {
            let mut place = format!("{pointer}/properties");
            push(&mut place, wire);
            self.source(&place, ChangeKind::Renamed, detail);
        }
        if let (Unknown::Keep(_), Unknown::Keep(_)) = (old.unknown, new.unknown) {
            let [before, now] = [before, now].map(|wires| names::extra(&names::fields(&wires)));
            if before != now {
                let detail = format!("other keys are in the field `{now}` now, and not in `{before}`");
                self.source(&format!("{pointer}/additionalProperties"), ChangeKind::Renamed, detail);
            }
        }
    }

    /// What the variants of listed values are called, and whether there is a choice.
    fn variants(
        &mut self,
        (old, of_old): (&[String], Enumeration),
        (new, of_new): (&[String], Enumeration),
        pointer: &str,
    ) {
        if (old.len() == 1) != (new.len() == 1) {
            // What is always the same needs no argument of `new`.
            self.source(pointer, ChangeKind::Retyped, "a constant and a choice are different types");
        }
        if old == new {
            return;
        }
        let [before, now] = [old, new].map(|values| values.iter().map(String::as_str).collect::<Vec<_>>());
        let called = |is_new, wires: &[&str]| names::variants(wires, if is_new { of_new } else { of_old });
        for Renamed { wire, detail } in renamed(&before, &now, "value", called) {
            self.source(pointer, ChangeKind::Renamed, format!("`{}` is {detail}", mcp_model::printable(wire)));
        }
    }

    fn unions(&mut self, old: &UnionShape, new: &UnionShape, pointer: &str) {
        let key = |union: &UnionShape| union.tag.as_ref().map(|tag| tag.name.clone());
        if key(old) != key(new) {
            self.source(pointer, ChangeKind::Retyped, "the alternatives are told apart in another way");
            return;
        }
        // Branches of one name are told apart by their order.
        let number = |union: &UnionShape, index: usize| {
            let name = union.branches.get(index).map(|branch| &branch.name);
            union.branches.iter().take(index).filter(|branch| Some(&branch.name) == name).count()
        };
        for (index, branch) in old.branches.iter().enumerate() {
            let twins = new.branches.iter().enumerate().filter(|(_, other)| other.name == branch.name);
            let twin = twins.into_iter().find(|(place, _)| number(new, *place) == number(old, index));
            match twin {
                Some((_, other)) => self.shapes(branch.shape, other.shape, pointer.to_owned()),
                None => self.source(
                    pointer,
                    ChangeKind::AlternativeRemoved,
                    format!("the alternative {} is gone", mcp_model::printable(&branch.name)),
                ),
            }
        }
        let labels = [old, new].map(names::branch_labels);
        let [before, now] = labels.each_ref().map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
        // A tagged union from the server has a variant for what it does not list.
        let called = |is_new: bool, labels: &[&str]| {
            let (union, role) = if is_new { (new, self.new.role) } else { (old, self.old.role) };
            names::branches(labels, role == Role::Output && union.tag.is_some())
        };
        for Renamed { wire, detail } in renamed(&before, &now, "alternative", called) {
            let detail = format!("the alternative {} is {detail}", mcp_model::printable(wire));
            self.source(pointer, ChangeKind::Renamed, detail);
        }
        let old_names: Vec<&String> = old.branches.iter().map(|branch| &branch.name).collect();
        for branch in new.branches.iter().filter(|branch| !old_names.contains(&&branch.name)) {
            let detail = format!("the alternative {} is new", mcp_model::printable(&branch.name));
            self.say(pointer, Class::Compatible, ChangeKind::AlternativeAdded, detail);
        }
    }

    /// Listed values, as text.
    fn lists(&mut self, old: &[String], new: &[String], pointer: &str) {
        let [before, now] = [old, new].map(|values| values.iter().collect::<HashSet<_>>());
        for value in old.iter().filter(|value| !now.contains(value)) {
            let detail = format!("{} is not listed any more", mcp_model::printable(value));
            self.source(pointer, ChangeKind::ValueRemoved, detail);
        }
        for value in new.iter().filter(|value| !before.contains(value)) {
            let detail = format!("{} is listed now", mcp_model::printable(value));
            self.say(pointer, Class::Compatible, ChangeKind::ValueAdded, detail);
        }
    }
}

/// The fields by their keys.
fn by_wire(object: &StructShape) -> HashMap<&str, &Field> {
    object.fields.iter().map(|field| (field.wire.as_str(), field)).collect()
}

fn nullability(nullable: bool) -> (ChangeKind, &'static str) {
    if nullable {
        (ChangeKind::FieldNullable, "`null` is valid now")
    } else {
        (ChangeKind::FieldNotNullable, "`null` is no longer valid")
    }
}

/// What a shape is, in the words of JSON.
fn word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Anything | Shape::AnyOf(_) => "any value",
        Shape::Null => "`null`",
        Shape::Boolean => "a boolean",
        Shape::I64 => "an integer",
        Shape::U64 => "an integer that is not negative",
        Shape::Number => "a number",
        Shape::Text => "a string",
        Shape::TextEnum(_) => "one of several strings",
        Shape::LiteralEnum(_) => "one of several values",
        Shape::List(_) => "an array",
        Shape::Tuple(_) => "an array of a fixed length",
        Shape::Map(_) | Shape::FreeMap => "an object with any keys",
        Shape::Struct(_) => "an object with declared properties",
        Shape::Union(_) => "one of several alternatives",
        Shape::Named(_) => "a named value",
        Shape::Opaque => "a value of a definition",
    }
}

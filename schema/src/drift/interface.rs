//! Whether regenerated code would have another Rust interface: shapes are compared as types, two by two.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::change::{ChangeKind, Class, Signatures};
use super::renamed::renamed;
use super::rust::{self, Argument, Misread, Rust, is_interchangeable, misread};
use super::version::Version;
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
    pub(super) signatures: Option<Signatures>,
}

pub(super) fn differences(old: &Document<'_>, new: &Document<'_>) -> Vec<Difference> {
    let [old_root, new_root] = [old.root, new.root];
    let (old, new) = (Rust::of(old), Rust::of(new));
    let mut interface = Interface { old, new, seen: HashSet::new(), depth: 0, found: Vec::new() };
    interface.shapes(old_root, new_root, String::new());
    interface.found
}

/// Returns `true` where code that calls one tool compiles as calls of another.
pub(super) fn takes_calls(old: &Value, new: &Value) -> bool {
    let [old, new] = [old, new].map(|schema| Version::read(schema, Role::Input).document);
    match (old.shapes.get(old.root), new.shapes.get(new.root)) {
        (Shape::Struct(before), Shape::Struct(now)) => {
            let [before, now] = [(&old, before), (&new, now)]
                .map(|(document, object)| Rust::of(document).arguments(document.root, object).unwrap_or_default());
            rust::takes_calls(&before, &now)
        }
        (before, now) => std::mem::discriminant(before) == std::mem::discriminant(now),
    }
}

struct Interface<'d, 'a, 'b> {
    old: Rust<'d, 'a>,
    new: Rust<'d, 'b>,
    seen: HashSet<(ShapeId, ShapeId)>,
    depth: usize,
    found: Vec<Difference>,
}

impl Interface<'_, '_, '_> {
    fn say(&mut self, pointer: &str, class: Class, kind: ChangeKind, detail: impl Into<String>) {
        let (pointer, detail) = (pointer.to_owned(), detail.into());
        self.found.push(Difference { pointer, class, kind, detail, signatures: None });
    }

    fn silent(&mut self, pointer: &str, kind: ChangeKind, detail: impl Into<String>, signatures: Signatures) {
        let (pointer, detail) = (pointer.to_owned(), detail.into());
        self.found.push(Difference { pointer, class: Class::Silent, kind, detail, signatures: Some(signatures) });
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
        let (before, now) = (self.old.document, self.new.document);
        let are_named = before.shapes.get(old).is_named() && now.shapes.get(new).is_named();
        if are_named && self.old.definition(old) != self.new.definition(new) {
            self.source(pointer, ChangeKind::TypeRenamed, "its type has another name");
        }
        let (left, right) = (before.shapes.get(old), now.shapes.get(new));
        match (left, right) {
            (Shape::Struct(left), Shape::Struct(right)) => self.structs((old, left), (new, right), pointer),
            (Shape::Union(left), Shape::Union(right)) => self.unions(left, right, pointer),
            (Shape::TextEnum(left), Shape::TextEnum(right)) => {
                let is_open = |values: &[String]| super::types::is_open(before.role, values);
                let kind = |values| if is_open(values) { Enumeration::Open } else { Enumeration::Closed };
                let misread = self.variants((left, kind(left)), (right, kind(right)), pointer);
                self.lists(left, right, &misread, |text| format!("{text:?}"), pointer);
            }
            (Shape::LiteralEnum(left), Shape::LiteralEnum(right)) => {
                let texts = |values: &[serde_json::Value]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
                let (left, right) = (texts(left), texts(right));
                let misread = self.variants((&left, Enumeration::Closed), (&right, Enumeration::Closed), pointer);
                self.lists(&left, &right, &misread, str::to_owned, pointer);
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

    fn structs(&mut self, old: (ShapeId, &StructShape), new: (ShapeId, &StructShape), pointer: &str) {
        self.boxes(old, new, pointer);
        self.constructors(old, new, pointer);
        let misread = self.fields(old, new, pointer);
        let (old, new) = (old.1, new.1);
        let at = |key: &str| {
            let mut pointer = format!("{pointer}/properties");
            push(&mut pointer, key);
            pointer
        };
        let [before, after] = [old, new].map(by_wire);
        for field in &old.fields {
            let Some(now) = after.get(field.wire.as_str()) else {
                if !misread.contains(field.wire.as_str()) {
                    self.source(&at(&field.wire), ChangeKind::Removed, "the property is gone");
                }
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
            let is_argument = field.presence == Presence::Required && self.new.document.role == Role::Input;
            let (class, detail) = if is_argument {
                (Class::Source, "new required property")
            } else {
                (Class::Compatible, "new property")
            };
            self.say(&at(&field.wire), class, ChangeKind::Added, detail);
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
        if !self.old.has_boxes() && !self.new.has_boxes() {
            return;
        }
        let after = by_wire(now);
        for field in &before.fields {
            let Some(twin) = after.get(field.wire.as_str()) else { continue };
            let (was, is) = (self.old.boxes(old, field.slot.shape), self.new.boxes(new, twin.slot.shape));
            if was != is {
                let mut place = format!("{pointer}/properties");
                push(&mut place, &field.wire);
                let detail = if is { "its field holds a `Box` now" } else { "its field holds no `Box` any more" };
                self.source(&place, ChangeKind::Retyped, detail);
            }
        }
    }

    /// Compares the arguments of `new`.
    fn constructors(&mut self, old: (ShapeId, &StructShape), new: (ShapeId, &StructShape), pointer: &str) {
        let [Some(before), Some(now)] = [self.old.arguments(old.0, old.1), self.new.arguments(new.0, new.1)] else {
            return;
        };
        let place = format!("{pointer}/required");
        if let Some(Misread { detail, signatures }) = misread(&before, &now) {
            self.silent(&place, ChangeKind::ArgumentMeaning, format!("`new` {detail}"), signatures);
            return;
        }
        let of_both = |list: &[Argument], other: &[Argument]| -> Vec<String> {
            let other: HashSet<&str> = other.iter().map(|argument| argument.wire.as_str()).collect();
            list.iter().map(|argument| argument.wire.clone()).filter(|wire| other.contains(wire.as_str())).collect()
        };
        if of_both(&before, &now) != of_both(&now, &before) {
            self.source(&place, ChangeKind::ArgumentOrder, "another order, in which `new` takes its arguments");
        }
    }

    /// Compares the names of fields. Returns the properties that are gone and whose fields are another's of the same type.
    fn fields<'o>(
        &mut self,
        (old, before): (ShapeId, &'o StructShape),
        (new, now): (ShapeId, &'o StructShape),
        pointer: &str,
    ) -> HashSet<&'o str> {
        let mut misread = HashSet::new();
        let [was, is] =
            [before, now].map(|object| object.fields.iter().map(|field| field.wire.as_str()).collect::<Vec<_>>());
        if was == is {
            return misread;
        }
        let [of_old, of_new] = [before, now].map(by_wire);
        for renamed in renamed(&was, &is, "property", |_, wires| names::fields(wires)) {
            let mut place = format!("{pointer}/properties");
            push(&mut place, renamed.wire);
            let types = renamed.taker.and_then(|taker| {
                let left = of_old.get(renamed.wire).map(|field| self.old.field(old, field))?;
                Some((left, of_new.get(taker).map(|field| self.new.field(new, field))?))
            });
            match types.filter(|(left, right)| is_interchangeable(left, right)) {
                Some((left, right)) => {
                    let signatures = renamed.signatures(&format!(": {left}"), &format!(": {right}"));
                    self.silent(&place, ChangeKind::NameTaken, renamed.detail, signatures);
                    misread.extend(of_old.get_key_value(renamed.wire).map(|(wire, _)| *wire));
                }
                None if is.contains(&renamed.wire) => self.source(&place, ChangeKind::Renamed, renamed.detail),
                None => {}
            }
        }
        if let (Unknown::Keep(_), Unknown::Keep(_)) = (before.unknown, now.unknown) {
            let [before, now] = [was, is].map(|wires| names::extra(&names::fields(&wires)));
            if before != now {
                let detail = format!("other keys are in the field `{now}` now, and not in `{before}`");
                self.source(&format!("{pointer}/additionalProperties"), ChangeKind::Renamed, detail);
            }
        }
        misread
    }

    /// Compares the variants of listed values. Returns the values that are gone and whose variants are others'.
    fn variants<'o>(
        &mut self,
        (old, of_old): (&'o [String], Enumeration),
        (new, of_new): (&'o [String], Enumeration),
        pointer: &str,
    ) -> HashSet<&'o str> {
        if (old.len() == 1) != (new.len() == 1) {
            // What is always the same needs no argument of `new`.
            self.source(pointer, ChangeKind::Retyped, "a constant and a choice are different types");
        }
        let mut misread = HashSet::new();
        if old == new {
            return misread;
        }
        let [before, now] = [old, new].map(|values| values.iter().map(String::as_str).collect::<Vec<_>>());
        let called = |is_new, wires: &[&str]| names::variants(wires, if is_new { of_new } else { of_old });
        for renamed in renamed(&before, &now, "value", called) {
            let detail = format!("`{}` is {}", mcp_model::printable(renamed.wire), renamed.detail);
            match renamed.taker {
                Some(_) => {
                    misread.insert(renamed.wire);
                    self.silent(pointer, ChangeKind::NameTaken, detail, renamed.signatures("", ""));
                }
                None => self.source(pointer, ChangeKind::Renamed, detail),
            }
        }
        misread
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
        let mut gone = Vec::new();
        for (index, branch) in old.branches.iter().enumerate() {
            let twins = new.branches.iter().enumerate().filter(|(_, other)| other.name == branch.name);
            let twin = twins.into_iter().find(|(place, _)| number(new, *place) == number(old, index));
            match twin {
                Some((_, other)) => self.shapes(branch.shape, other.shape, pointer.to_owned()),
                None => gone.push(index),
            }
        }
        let labels = [old, new].map(names::branch_labels);
        let [before, now] = labels.each_ref().map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
        // A tagged union from the server has a variant for what it does not list.
        let called = |is_new: bool, labels: &[&str]| {
            let (union, role) = if is_new { (new, self.new.document.role) } else { (old, self.old.document.role) };
            names::branches(labels, role == Role::Output && union.tag.is_some())
        };
        let held = |rust: &Rust<'_, '_>, union: &UnionShape, labels: &[&str], label: &str| {
            let branch = union.branches.get(labels.iter().position(|known| *known == label)?)?;
            Some(rust.shape(branch.shape, label))
        };
        for renamed in renamed(&before, &now, "alternative", called) {
            let detail = format!("the alternative {} is {}", mcp_model::printable(renamed.wire), renamed.detail);
            let taken = renamed.taker.and_then(|taker| {
                let left = held(&self.old, old, &before, renamed.wire)?;
                Some((left, held(&self.new, new, &now, taker)?))
            });
            let is_gone = !now.contains(&renamed.wire);
            match taken {
                Some((left, right)) if is_interchangeable(&left, &right) => {
                    gone.retain(|index| before.get(*index) != Some(&renamed.wire));
                    let signatures = renamed.signatures(&format!("({left})"), &format!("({right})"));
                    self.silent(pointer, ChangeKind::NameTaken, detail, signatures);
                }
                _ if !is_gone => self.source(pointer, ChangeKind::Renamed, detail),
                _ => {}
            }
        }
        for branch in gone.into_iter().filter_map(|index| old.branches.get(index)) {
            let detail = format!("the alternative {} is gone", mcp_model::printable(&branch.name));
            self.source(pointer, ChangeKind::AlternativeRemoved, detail);
        }
        let old_names: Vec<&String> = old.branches.iter().map(|branch| &branch.name).collect();
        for branch in new.branches.iter().filter(|branch| !old_names.contains(&&branch.name)) {
            let detail = format!("the alternative {} is new", mcp_model::printable(&branch.name));
            self.say(pointer, Class::Compatible, ChangeKind::AlternativeAdded, detail);
        }
    }

    /// Compares listed values, but for those of which more is told.
    fn lists(
        &mut self,
        old: &[String],
        new: &[String],
        told: &HashSet<&str>,
        shown: impl Fn(&str) -> String,
        pointer: &str,
    ) {
        let [before, now] = [old, new].map(|values| values.iter().collect::<HashSet<_>>());
        for value in old.iter().filter(|value| !now.contains(value) && !told.contains(value.as_str())) {
            let detail = format!("{} is not listed any more", mcp_model::printable(&shown(value)));
            self.source(pointer, ChangeKind::ValueRemoved, detail);
        }
        for value in new.iter().filter(|value| !before.contains(value)) {
            let detail = format!("{} is listed now", mcp_model::printable(&shown(value)));
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

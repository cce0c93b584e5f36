//! Checks whether regenerated code would have another Rust interface. Shapes are compared in pairs, as types.

use std::collections::{HashMap, HashSet};

use mcp_bindgen_model::printable;
use serde_json::Value;

use super::change::{Change, ChangeKind, Class, Signatures};
use super::renamed::{Renamed, renamed};
use super::rust::{self, Argument, Misread, Rust, is_interchangeable, misread};
use super::version::Version;
use crate::bundle::below;
use crate::names::{self, Enumeration};
use crate::normalize::SchemaId;
use crate::shape::{Branch, Field, Presence, Shape, ShapeId, Slot, StructShape, UnionShape, Unknown};
use crate::{Document, Role};

const DEEPEST: usize = 200;

/// Returns the differences between the types: changes without a tool, by pointers in the schema.
pub(super) fn differences(old: &Document<'_>, new: &Document<'_>) -> Vec<Change> {
    let [old_root, new_root] = [old.root, new.root];
    let (old, new) = (Rust::of(old), Rust::of(new));
    let mut interface = Interface { old, new, seen: HashSet::new(), depth: 0, found: Vec::new() };
    interface.shapes(old_root, new_root, String::new());
    interface.found
}

/// Returns `true` if code that calls one tool also compiles with another.
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

struct Interface<'d> {
    old: Rust<'d>,
    new: Rust<'d>,
    seen: HashSet<(ShapeId, ShapeId)>,
    depth: usize,
    found: Vec<Change>,
}

impl Interface<'_> {
    fn silent(&mut self, pointer: &str, kind: ChangeKind, detail: impl Into<String>, signatures: Signatures) {
        let change = Change::new("", Class::Silent, kind, pointer, detail);
        self.found.push(Change { signatures: Some(signatures), ..change });
    }

    fn source(&mut self, pointer: &str, kind: ChangeKind, detail: impl Into<String>) {
        self.found.push(Change::new("", Class::Source, kind, pointer, detail));
    }

    /// Returns `true` if regenerated code has a type without `Eq` and `Hash` for one that had them.
    fn loses_eq(&self, old: ShapeId, new: ShapeId) -> bool {
        self.old.has_eq(old) && !self.new.has_eq(new)
    }

    /// Compares the `#[deprecated]` attribute of an item; each place is reported once.
    fn deprecated(&mut self, old: &[SchemaId], new: &[SchemaId], item: &str, pointer: &str) {
        let is_told = |found: &Change| found.kind == ChangeKind::Deprecated && found.pointer == pointer;
        let is_new = self.new.document.schemas.is_deprecated(new) && !self.old.document.schemas.is_deprecated(old);
        if is_new && !self.found.iter().any(is_told) {
            let detail = format!("deprecated now: {item} warn, by `#[deprecated]`");
            self.source(pointer, ChangeKind::Deprecated, detail);
        }
    }

    fn slots(&mut self, old: Slot, new: Slot, pointer: String) {
        match (old.nullable, new.nullable) {
            (false, true) => self.source(&pointer, ChangeKind::FieldNullable, "`null` is valid now"),
            (true, false) => self.source(&pointer, ChangeKind::FieldNotNullable, "`null` is no longer valid"),
            _ => {}
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
        if are_named {
            let item = if new == now.root { "its calls" } else { "uses of its type" };
            self.deprecated(before.shapes.origin(old), now.shapes.origin(new), item, pointer);
        }
        let (left, right) = (before.shapes.get(old), now.shapes.get(new));
        match (left, right) {
            (Shape::Struct(left), Shape::Struct(right)) => self.structs((old, left), (new, right), pointer),
            (Shape::Union(left), Shape::Union(right)) => self.unions(left, right, pointer),
            (Shape::TextEnum(left), Shape::TextEnum(right)) => {
                let is_open = |values: &[String]| super::types::is_open(before.role, values);
                let kind = |values| if is_open(values) { Enumeration::Open } else { Enumeration::Closed };
                let shown = |text: &str| format!("{text:?}");
                self.listed((left, kind(left)), (right, kind(right)), shown, pointer);
            }
            (Shape::LiteralEnum(left), Shape::LiteralEnum(right)) => {
                let texts = |values: &[Value]| values.iter().map(ToString::to_string).collect::<Vec<_>>();
                let (left, right) = (texts(left), texts(right));
                let closed = Enumeration::Closed;
                self.listed((&left, closed), (&right, closed), str::to_owned, pointer);
            }
            (Shape::List(left), Shape::List(right)) => self.slots(*left, *right, format!("{pointer}/items")),
            (Shape::Prefixed(left, left_rest), Shape::Prefixed(right, right_rest))
                if left.len() == right.len() && left_rest.is_some() == right_rest.is_some() =>
            {
                self.items(left, right, pointer);
                if let Some((left, right)) = left_rest.zip(*right_rest) {
                    self.slots(left, right, format!("{pointer}/items"));
                }
            }
            (Shape::Map(left), Shape::Map(right)) => {
                self.slots(*left, *right, format!("{pointer}/additionalProperties"));
            }
            (Shape::Named(left), Shape::Named(right)) => self.slots(*left, *right, pointer.to_owned()),
            (Shape::Tuple(left), Shape::Tuple(right)) if left.len() == right.len() => self.items(left, right, pointer),
            (Shape::AnyOf(left), Shape::AnyOf(right)) if left == right => {}
            (left, right) => {
                let same = std::mem::discriminant(left) == std::mem::discriminant(right)
                    && !matches!(left, Shape::Tuple(_) | Shape::Prefixed(..) | Shape::AnyOf(_));
                // All untyped shapes are the same type.
                let untyped = |shape: &Shape| matches!(shape, Shape::Anything | Shape::AnyOf(_));
                let both_untyped = untyped(left) && untyped(right);
                if !same && !both_untyped {
                    let lost = if self.loses_eq(old, new) { ", without `Eq` and `Hash`" } else { "" };
                    self.source(pointer, ChangeKind::Retyped, format!("{} became {}{lost}", word(left), word(right)));
                }
            }
        }
    }

    fn items(&mut self, old: &[Slot], new: &[Slot], pointer: &str) {
        for (index, (old, new)) in old.iter().zip(new).enumerate() {
            self.slots(*old, *new, format!("{pointer}/prefixItems/{index}"));
        }
    }

    fn structs(&mut self, old: (ShapeId, &StructShape), new: (ShapeId, &StructShape), pointer: &str) {
        self.constructors(old, new, pointer);
        let misread = self.fields(old, new, pointer);
        let ((holder, old), (new_holder, new)) = (old, new);
        let [before, after] = [old, new].map(by_wire);
        for field in &old.fields {
            let place = property_at(pointer, &field.wire);
            let Some(now) = after.get(field.wire.as_str()) else {
                if !misread.contains(field.wire.as_str()) {
                    self.source(&place, ChangeKind::Removed, "the property was removed");
                }
                continue;
            };
            match (field.presence, now.presence) {
                (Presence::Required, Presence::Required) => {}
                (Presence::Required, _) => self.source(&place, ChangeKind::FieldOptional, "optional now"),
                (_, Presence::Required) => self.source(&place, ChangeKind::FieldRequired, "required now"),
                // A nullable property without a default of `null` distinguishes absent from `null`.
                (left, right) if left != right && field.slot.nullable == now.slot.nullable => {
                    self.source(&place, ChangeKind::Absence, "absent and `null` are distinguished differently");
                }
                _ => {}
            }
            // A type that refers back to its holder is boxed.
            match (self.old.boxes(holder, field.slot.shape), self.new.boxes(new_holder, now.slot.shape)) {
                (false, true) => self.source(&place, ChangeKind::Retyped, "its field holds a `Box` now"),
                (true, false) => self.source(&place, ChangeKind::Retyped, "its field holds no `Box` any more"),
                _ => {}
            }
            self.deprecated(&field.schemas, &now.schemas, "uses of its field", &place);
            self.slots(field.slot, now.slot, place);
        }
        for field in new.fields.iter().filter(|field| !before.contains_key(field.wire.as_str())) {
            let is_argument = field.presence == Presence::Required && self.new.document.role == Role::Input;
            let (class, kind, detail) = if is_argument {
                (Class::Source, ChangeKind::Added, "new required property")
            } else if self.old.has_eq(holder) && !self.new.has_eq(field.slot.shape) {
                let detail = "new property: the types that hold it lose `Eq` and `Hash`";
                (Class::Source, ChangeKind::TraitsLost, detail)
            } else {
                (Class::Compatible, ChangeKind::Added, "new property")
            };
            self.found.push(Change::new("", class, kind, property_at(pointer, &field.wire), detail));
        }
        let place = format!("{pointer}/additionalProperties");
        match (old.unknown.kept(), new.unknown.kept()) {
            (Some(left), Some(right)) => self.slots(left, right, place),
            (Some(_), None) => self.source(&place, ChangeKind::OtherKeysDropped, "other keys are not kept any more"),
            (None, Some(_)) => self.source(&place, ChangeKind::OtherKeysKept, "other keys are kept now"),
            (None, None) => {}
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

    /// Compares Rust names, as paired by [`renamed`]. If the types behind an old and a new name match, code with it
    /// compiles, but means something else. Returns the items to which this happens.
    fn renames<'w>(
        &mut self,
        renamed: Vec<Renamed<'w>>,
        pointer: impl Fn(&str) -> String,
        detail: impl Fn(&Renamed<'_>) -> String,
        behind: impl Fn(&Self, &str, &str) -> Option<[String; 2]>,
    ) -> HashSet<&'w str> {
        let mut misread = HashSet::new();
        for renamed in renamed {
            let (place, detail) = (pointer(renamed.wire), detail(&renamed));
            let behind = renamed.taker.and_then(|taker| behind(self, renamed.wire, taker));
            if let Some([old, new]) = behind.filter(|[old, new]| is_interchangeable(old, new)) {
                misread.insert(renamed.wire);
                self.silent(&place, ChangeKind::NameTaken, detail, renamed.signatures(&old, &new));
            } else if !renamed.is_gone {
                self.source(&place, ChangeKind::Renamed, detail);
            }
        }
        misread
    }

    /// Compares the names of fields. Returns the properties that are gone and whose fields are another's of the same type.
    fn fields<'o>(
        &mut self,
        (old, before): (ShapeId, &'o StructShape),
        (new, now): (ShapeId, &'o StructShape),
        pointer: &str,
    ) -> HashSet<&'o str> {
        let [was, is] =
            [before, now].map(|object| object.fields.iter().map(|field| field.wire.as_str()).collect::<Vec<_>>());
        if was == is {
            return HashSet::new();
        }
        let [of_old, of_new] = [before, now].map(by_wire);
        let renamed = renamed(&was, &is, "property", |_, wires| names::fields(wires));
        let place = |wire: &str| property_at(pointer, wire);
        let misread = self.renames(
            renamed,
            place,
            |renamed| renamed.detail.clone(),
            |interface, wire, taker| {
                let left = interface.old.field(old, of_old.get(wire)?);
                Some([format!(": {left}"), format!(": {}", interface.new.field(new, of_new.get(taker)?))])
            },
        );
        if let (Unknown::Keep(_), Unknown::Keep(_)) = (before.unknown, now.unknown) {
            let [before, now] = [was, is].map(|wires| names::extra(&names::fields(&wires)));
            if before != now {
                let detail = format!("other keys are in the field `{now}` now, and not in `{before}`");
                self.source(&format!("{pointer}/additionalProperties"), ChangeKind::Renamed, detail);
            }
        }
        misread
    }

    /// Compares listed values and their variants.
    fn listed(
        &mut self,
        (old, of_old): (&[String], Enumeration),
        (new, of_new): (&[String], Enumeration),
        shown: impl Fn(&str) -> String,
        pointer: &str,
    ) {
        if (old.len() == 1) != (new.len() == 1) {
            // Constants are no parameters of `new`.
            let lost = match (old.len(), of_new) {
                (1, Enumeration::Open) => ": `Default` and `Copy` are gone",
                (1, Enumeration::Closed) => ": `Default` is gone",
                _ => "",
            };
            let detail = format!("a constant and a choice are different types{lost}");
            self.source(pointer, ChangeKind::Retyped, detail);
        }
        if old == new {
            return;
        }
        let [before, now] = [old, new].map(|values| values.iter().map(String::as_str).collect::<Vec<_>>());
        let called = |is_new, wires: &[&str]| names::variants(wires, if is_new { of_new } else { of_old });
        let detail = |renamed: &Renamed<'_>| format!("`{}` is {}", printable(renamed.wire), renamed.detail);
        let renamed = renamed(&before, &now, "value", called);
        let misread =
            self.renames(renamed, |_| pointer.to_owned(), detail, |_, _, _| Some([String::new(), String::new()]));
        let (left, right): (HashSet<&str>, HashSet<&str>) =
            (before.iter().copied().collect(), now.iter().copied().collect());
        for value in before.iter().filter(|value| !right.contains(*value) && !misread.contains(*value)) {
            let detail = format!("{} is not listed any more", printable(&shown(value)));
            self.source(pointer, ChangeKind::ValueRemoved, detail);
        }
        for (value, variant) in now.iter().zip(called(true, &now)).filter(|(value, _)| !left.contains(*value)) {
            let detail = format!("{} is listed now: a `match` needs the variant `{variant}`", printable(&shown(value)));
            self.source(pointer, ChangeKind::ValueAdded, detail);
        }
    }

    fn unions(&mut self, old: &UnionShape, new: &UnionShape, pointer: &str) {
        let key = |union: &UnionShape| union.tag.as_ref().map(|tag| tag.name.clone());
        if key(old) != key(new) {
            self.source(pointer, ChangeKind::Retyped, "the alternatives are distinguished differently");
            return;
        }
        let labels = [old, new].map(names::branch_labels);
        let [before, now] = labels.each_ref().map(|labels| labels.iter().map(String::as_str).collect::<Vec<_>>());
        let after: HashMap<&str, &Branch> = now.iter().copied().zip(&new.branches).collect();
        let of_old: HashMap<&str, &Branch> = before.iter().copied().zip(&old.branches).collect();
        for (label, branch) in before.iter().zip(&old.branches) {
            if let Some(twin) = after.get(label) {
                self.shapes(branch.shape, twin.shape, pointer.to_owned());
            }
        }
        let roles = [self.old.document.role, self.new.document.role];
        // A tagged union from the server has a variant for unlisted tags.
        let called = |is_new: bool, labels: &[&str]| {
            let (union, role) = if is_new { (new, roles[1]) } else { (old, roles[0]) };
            names::branches(labels, role == Role::Output && union.tag.is_some())
        };
        let detail =
            |renamed: &Renamed<'_>| format!("the alternative {} is {}", printable(renamed.wire), renamed.detail);
        let renamed = renamed(&before, &now, "alternative", called);
        let misread = self.renames(
            renamed,
            |_| pointer.to_owned(),
            detail,
            |interface, wire, taker| {
                let left = interface.old.shape(of_old.get(wire)?.shape, wire);
                Some([format!("({left})"), format!("({})", interface.new.shape(after.get(taker)?.shape, taker))])
            },
        );
        for label in before.iter().filter(|label| !after.contains_key(*label) && !misread.contains(*label)) {
            let detail = format!("the alternative {} was removed", printable(label));
            self.source(pointer, ChangeKind::AlternativeRemoved, detail);
        }
        let had_eq = old.branches.iter().all(|branch| self.old.has_eq(branch.shape));
        for ((label, branch), variant) in now.iter().zip(&new.branches).zip(called(true, &now)) {
            if of_old.contains_key(label) {
                continue;
            }
            let lost = if had_eq && !self.new.has_eq(branch.shape) { "; it has no `Eq` and `Hash`" } else { "" };
            let detail =
                format!("the alternative {} is new: a `match` needs the variant `{variant}`{lost}", printable(label));
            self.source(pointer, ChangeKind::AlternativeAdded, detail);
        }
        let (left, right) = (self.old.conversions(old), self.new.conversions(new));
        let held = |label: &str| after.get(label).map(|branch| self.new.shape(branch.shape, label));
        let lost = before.iter().filter_map(|label| left.get(*label).filter(|ty| held(label).as_ref() == Some(*ty)));
        let lost: Vec<&String> = lost.filter(|ty| !right.values().any(|known| known == *ty)).collect();
        for ty in lost {
            let detail = format!("no `From<{ty}>` any more: two alternatives hold it");
            self.source(pointer, ChangeKind::ConversionLost, detail);
        }
    }
}

/// Returns the pointer of a property.
fn property_at(pointer: &str, key: &str) -> String {
    below(&format!("{pointer}/properties"), key)
}

/// Returns the fields by their keys.
fn by_wire(object: &StructShape) -> HashMap<&str, &Field> {
    object.fields.iter().map(|field| (field.wire.as_str(), field)).collect()
}

/// Returns the JSON name of a shape's type.
fn word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Anything | Shape::AnyOf(_) => "any value",
        Shape::Null => "`null`",
        Shape::Boolean => "a boolean",
        Shape::I64 => "an integer",
        Shape::U64 => "a non-negative integer",
        Shape::Number => "a number",
        Shape::Text => "a string",
        Shape::TextEnum(_) => "one of several strings",
        Shape::LiteralEnum(_) => "one of several values",
        Shape::List(_) => "an array",
        Shape::Tuple(_) => "an array of a fixed length",
        Shape::Prefixed(..) => "an array whose first items have types of their own",
        Shape::Map(_) | Shape::FreeMap => "an object with any keys",
        Shape::Struct(_) => "an object with declared properties",
        Shape::Union(_) => "one of several alternatives",
        Shape::Named(_) => "a named value",
        Shape::Opaque => "a value of a definition",
    }
}

//! Checks whether regenerated code would have another Rust interface. Shapes are compared in pairs, as types.

use std::collections::HashSet;
use std::mem::discriminant;

use mcp_bindgen_model::printable;
use serde_json::Value;

use super::change::{Change, ChangeKind, Class};
use super::rust::{self, Argument, Renamed, Rust, misread, renamed};
use super::types::enumeration;
use super::version::Version;
use crate::bundle::below;
use crate::keys::places;
use crate::names::{self, Enumeration};
use crate::normalize::SchemaId;
use crate::shape::{Presence, Shape, ShapeId, Slot, StructShape, UnionShape};
use crate::{Document, Role};

/// The lowering has bounded how deep types nest.
const DEEPEST: usize = 200;

/// Returns the differences between the types of a tool's schema; `pointer` is that of the schema.
pub(super) fn differences(tool: &str, pointer: &str, old: &Document<'_>, new: &Document<'_>) -> Vec<Change> {
    let (before, now) = (Rust::of(old), Rust::of(new));
    let mut interface = Interface { tool, old: before, new: now, seen: HashSet::new(), depth: 0, found: Vec::new() };
    interface.shapes(old.root, new.root, pointer.to_owned());
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
        (before, now) => discriminant(before) == discriminant(now),
    }
}

struct Interface<'d> {
    tool: &'d str,
    old: Rust<'d>,
    new: Rust<'d>,
    seen: HashSet<(ShapeId, ShapeId)>,
    depth: usize,
    found: Vec<Change>,
}

/// Listed values, and what their type has besides a variant for each.
type Listed<'v> = (&'v [String], Enumeration);

impl Interface<'_> {
    fn source(&mut self, pointer: &str, kind: ChangeKind, detail: impl Into<String>) {
        self.found.push(Change::new(self.tool, Class::Source, kind, pointer, detail));
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
        if self.depth > DEEPEST || !self.seen.insert((old, new)) {
            return;
        }
        self.depth += 1;
        self.types(old, new, &pointer);
        self.depth -= 1;
    }

    fn types(&mut self, old: ShapeId, new: ShapeId, pointer: &str) {
        let (before, now) = (self.old.document, self.new.document);
        let (left, right) = (before.shapes.get(old), now.shapes.get(new));
        if left.is_named() && right.is_named() {
            if self.old.definition(old) != self.new.definition(new) {
                self.source(pointer, ChangeKind::TypeRenamed, "its type has another name");
            }
            let item = if new == now.root { "its calls" } else { "uses of its type" };
            self.deprecated(before.shapes.origin(old), now.shapes.origin(new), item, pointer);
        }
        match (left, right) {
            (Shape::Struct(left), Shape::Struct(right)) => self.structs((old, left), (new, right), pointer),
            (Shape::Union(left), Shape::Union(right)) => self.unions(left, right, pointer),
            (Shape::TextEnum(left), Shape::TextEnum(right)) => {
                let (of_left, of_right) = (enumeration(before.role, left), enumeration(now.role, right));
                self.listed((left, of_left), (right, of_right), |text| format!("{text:?}"), pointer);
            }
            (Shape::LiteralEnum(left), Shape::LiteralEnum(right)) => {
                let texts = |list: &[Value]| -> Vec<String> { list.iter().map(Value::to_string).collect() };
                let closed = Enumeration::Closed;
                self.listed((&texts(left), closed), (&texts(right), closed), str::to_owned, pointer);
            }
            // All untyped shapes are the same type.
            (Shape::Anything | Shape::AnyOf(_), Shape::Anything | Shape::AnyOf(_)) => {}
            (left, right) => {
                let (before, now) = (held(left), held(right));
                let has_same_steps =
                    before.len() == now.len() && before.iter().zip(&now).all(|(left, right)| left.0 == right.0);
                if discriminant(left) != discriminant(right) || !has_same_steps {
                    let lost = if self.loses_eq(old, new) { ", without `Eq` and `Hash`" } else { "" };
                    self.source(pointer, ChangeKind::Retyped, format!("{} became {}{lost}", word(left), word(right)));
                    return;
                }
                for ((step, left), (_, right)) in before.into_iter().zip(now) {
                    self.slots(left, right, format!("{pointer}{step}"));
                }
            }
        }
    }

    fn structs(&mut self, (old, before): (ShapeId, &StructShape), (new, now): (ShapeId, &StructShape), pointer: &str) {
        self.constructors((old, before), (new, now), pointer);
        let place = |key: &str| below(&format!("{pointer}/properties"), key);
        let (old_wires, new_wires) = (before.wires(), now.wires());
        let is_same = old_wires == new_wires;
        let (was, is) = (places(&old_wires), places(&new_wires));
        let behind = |wire: &str, taker: &str| {
            let was = format!(": {}", self.old.field(old, before.fields.get(*was.get(wire)?)?));
            Some([was, format!(": {}", self.new.field(new, now.fields.get(*is.get(taker)?)?))])
        };
        let renamed = match is_same {
            true => Vec::new(),
            false => renamed(&old_wires, &new_wires, "property", &|_, wires| names::fields(wires), &behind),
        };
        let misread = self.renames(&renamed, &place, &|_| String::new());
        for field in &before.fields {
            let place = place(&field.wire);
            let Some(after) = is.get(field.wire.as_str()).and_then(|place| now.fields.get(*place)) else {
                if !misread.contains(field.wire.as_str()) {
                    self.source(&place, ChangeKind::Removed, "the property was removed");
                }
                continue;
            };
            match (field.presence, after.presence) {
                (Presence::Required, Presence::Required) => {}
                (Presence::Required, _) => self.source(&place, ChangeKind::FieldOptional, "optional now"),
                (_, Presence::Required) => self.source(&place, ChangeKind::FieldRequired, "required now"),
                // A nullable property without a default of `null` distinguishes absent from `null`.
                (left, right) if left != right && field.slot.nullable == after.slot.nullable => {
                    self.source(&place, ChangeKind::Absence, "absent and `null` are distinguished differently");
                }
                _ => {}
            }
            // A type that refers back to its holder is boxed.
            match (self.old.boxes(old, field.slot.shape), self.new.boxes(new, after.slot.shape)) {
                (false, true) => self.source(&place, ChangeKind::Retyped, "its field holds a `Box` now"),
                (true, false) => self.source(&place, ChangeKind::Retyped, "its field holds no `Box` any more"),
                _ => {}
            }
            self.deprecated(&field.schemas, &after.schemas, "uses of its field", &place);
            self.slots(field.slot, after.slot, place);
        }
        for field in now.fields.iter().filter(|field| !was.contains_key(field.wire.as_str())) {
            let is_argument = field.presence == Presence::Required && self.new.document.role == Role::Input;
            let (class, kind, detail) = if is_argument {
                (Class::Source, ChangeKind::Added, "new required property")
            } else if self.old.has_eq(old) && !self.new.has_eq(field.slot.shape) {
                let detail = "new property: the types that hold it lose `Eq` and `Hash`";
                (Class::Source, ChangeKind::TraitsLost, detail)
            } else {
                (Class::Compatible, ChangeKind::Added, "new property")
            };
            self.found.push(Change::new(self.tool, class, kind, place(&field.wire), detail));
        }
        let place = format!("{pointer}/additionalProperties");
        match (before.unknown.kept(), now.unknown.kept()) {
            (Some(left), Some(right)) => {
                if !is_same {
                    let extra = |wires: &[&str]| names::extra(&names::fields(wires));
                    let (was, is) = (extra(&old_wires), extra(&new_wires));
                    if was != is {
                        let detail = format!("other keys are in the field `{is}` now, and not in `{was}`");
                        self.source(&place, ChangeKind::Renamed, detail);
                    }
                }
                self.slots(left, right, place);
            }
            (Some(_), None) => self.source(&place, ChangeKind::OtherKeysDropped, "other keys are not kept any more"),
            (None, Some(_)) => self.source(&place, ChangeKind::OtherKeysKept, "other keys are kept now"),
            (None, None) => {}
        }
    }

    /// Compares the arguments of `new`.
    fn constructors(&mut self, old: (ShapeId, &StructShape), new: (ShapeId, &StructShape), pointer: &str) {
        let arguments = (self.old.arguments(old.0, old.1), self.new.arguments(new.0, new.1));
        let (Some(before), Some(now)) = arguments else { return };
        let place = format!("{pointer}/required");
        if let Some((detail, signatures)) = misread(&before, &now) {
            let detail = format!("`new` {detail}");
            let change = Change::new(self.tool, Class::Silent, ChangeKind::ArgumentMeaning, place, detail);
            self.found.push(Change { signatures: Some(signatures), ..change });
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

    /// Adds renamed items. Returns those for whose name code compiles, but means another item.
    fn renames<'w>(
        &mut self,
        renamed: &[Renamed<'w>],
        place: &dyn Fn(&str) -> String,
        lead: &dyn Fn(&str) -> String,
    ) -> HashSet<&'w str> {
        self.found.extend(renamed.iter().map(|item| item.change(self.tool, &place(item.wire), &lead(item.wire))));
        renamed.iter().filter(|item| item.signatures.is_some()).map(|item| item.wire).collect()
    }

    /// Compares listed values and their variants.
    fn listed(
        &mut self,
        (old, of_old): Listed<'_>,
        (new, of_new): Listed<'_>,
        shown: fn(&str) -> String,
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
        let before: Vec<&str> = old.iter().map(String::as_str).collect();
        let now: Vec<&str> = new.iter().map(String::as_str).collect();
        let called = |is_new, wires: &[&str]| names::variants(wires, if is_new { of_new } else { of_old });
        let renamed = renamed(&before, &now, "value", &called, &|_, _| Some([String::new(), String::new()]));
        let lead = |wire: &str| format!("`{}` is ", printable(wire));
        let misread = self.renames(&renamed, &|_| pointer.to_owned(), &lead);
        let (left, right) = (places(&before), places(&now));
        for value in before.into_iter().filter(|value| !right.contains_key(value) && !misread.contains(value)) {
            let detail = format!("{} is not listed any more", printable(&shown(value)));
            self.source(pointer, ChangeKind::ValueRemoved, detail);
        }
        for (value, variant) in now.iter().zip(called(true, &now)).filter(|(value, _)| !left.contains_key(*value)) {
            let detail = format!("{} is listed now: a `match` needs the variant `{variant}`", printable(&shown(value)));
            self.source(pointer, ChangeKind::ValueAdded, detail);
        }
    }

    fn unions(&mut self, old: &UnionShape, new: &UnionShape, pointer: &str) {
        if old.tag.as_ref().map(|tag| &tag.name) != new.tag.as_ref().map(|tag| &tag.name) {
            self.source(pointer, ChangeKind::Retyped, "the alternatives are distinguished differently");
            return;
        }
        let (old_labels, new_labels) = (names::branch_labels(old), names::branch_labels(new));
        let before: Vec<&str> = old_labels.iter().map(String::as_str).collect();
        let now: Vec<&str> = new_labels.iter().map(String::as_str).collect();
        let (of_old, of_new) = (places(&before), places(&now));
        let twin = |label: &str| new.branches.get(*of_new.get(label)?).map(|branch| branch.shape);
        for (label, branch) in before.iter().zip(&old.branches) {
            if let Some(twin) = twin(label) {
                self.shapes(branch.shape, twin, pointer.to_owned());
            }
        }
        // A tagged union from the server has a variant for unlisted tags.
        let has_other = self.new.document.role == Role::Output && new.tag.is_some();
        let called = |_: bool, labels: &[&str]| names::branches(labels, has_other);
        let behind = |wire: &str, taker: &str| {
            let was = format!("({})", self.old.shape(old.branches.get(*of_old.get(wire)?)?.shape, wire));
            Some([was, format!("({})", self.new.shape(twin(taker)?, taker))])
        };
        let renamed = renamed(&before, &now, "alternative", &called, &behind);
        let lead = |wire: &str| format!("the alternative {} is ", printable(wire));
        let misread = self.renames(&renamed, &|_| pointer.to_owned(), &lead);
        for label in before.iter().filter(|label| !of_new.contains_key(*label) && !misread.contains(*label)) {
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
        let (left, right) = (self.old.held(old), self.new.held(new));
        for (label, branch) in before.iter().zip(&old.branches) {
            let Some(twin) = twin(label) else { continue };
            let ty = self.new.shape(twin, label);
            let is_same = self.old.shape(branch.shape, label) == ty;
            if is_same && left.get(&ty) == Some(&1) && right.get(&ty) != Some(&1) {
                let detail = format!("no `From<{ty}>` any more: two alternatives hold it");
                self.source(pointer, ChangeKind::ConversionLost, detail);
            }
        }
    }
}

/// Returns the slots that a type without fields and variants consists of, each with its steps in the schema.
fn held(shape: &Shape) -> Vec<(String, Slot)> {
    let (items, step, rest): (&[Slot], _, _) = match shape {
        Shape::Tuple(items) => (items, "", None),
        Shape::Prefixed(items, rest) => (items, "/items", *rest),
        Shape::List(item) => (&[], "/items", Some(*item)),
        Shape::Map(value) => (&[], "/additionalProperties", Some(*value)),
        Shape::Named(inner) => (&[], "", Some(*inner)),
        _ => (&[], "", None),
    };
    let items = items.iter().enumerate().map(|(index, item)| (format!("/prefixItems/{index}"), *item));
    let mut held: Vec<(String, Slot)> = items.collect();
    held.extend(rest.map(|rest| (step.to_owned(), rest)));
    held
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

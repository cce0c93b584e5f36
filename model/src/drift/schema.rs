//! Two schemas of the same thing.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::keywords::{LOWER_BOUNDS, RESTRICTIONS, UPPER_BOUNDS, WORDING, covers, types, values, without_wording};
use super::union::{Core, branches};
use super::{Change, ChangeKind, escaped, keys_of_both};
use crate::printable;

/// References may nest further than any text: past this depth the rest is compared as a whole.
const MAX_DEPTH: usize = 100;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// What callers send: accepting less breaks them.
    Input,
    /// What callers receive: sending something else breaks them.
    Output,
}

/// A comparison of two schemas, with what it has found so far.
pub(super) struct Comparison<'a> {
    pub(super) side: Side,
    tool: &'a str,
    roots: (&'a Value, &'a Value),
    /// The pairs of references that were followed: each is compared once, and recursion ends.
    followed: BTreeSet<(String, String)>,
    depth: usize,
    changes: &'a mut Vec<Change>,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(side: Side, tool: &'a str, old: &'a Value, new: &'a Value, changes: &'a mut Vec<Change>) -> Self {
        Self { side, tool, roots: (old, new), followed: BTreeSet::new(), depth: 0, changes }
    }

    pub(super) fn run(mut self) {
        let (old, new) = self.roots;
        let pointer = match self.side {
            Side::Input => "/inputSchema",
            Side::Output => "/outputSchema",
        };
        let before = self.changes.len();
        self.compare(old, new, pointer);
        if self.changes.len() == before {
            self.report(pointer, ChangeKind::Other, false, "written differently".to_owned());
        }
    }

    pub(super) fn report(&mut self, pointer: &str, kind: ChangeKind, breaking: bool, detail: String) {
        self.changes.push(Change { tool: self.tool.to_owned(), kind, breaking, pointer: pointer.to_owned(), detail });
    }

    /// Reports that fewer values are valid, or more.
    fn narrowed(&mut self, pointer: &str, detail: String) {
        self.report(pointer, ChangeKind::Tightened, self.side == Side::Input, detail);
    }

    fn widened(&mut self, pointer: &str, detail: String) {
        self.report(pointer, ChangeKind::Loosened, self.side == Side::Output, detail);
    }

    pub(super) fn compare(&mut self, old: &Value, new: &Value, pointer: &str) {
        if let (Some(old), Some(new)) = (reference(old), reference(new))
            && !self.followed.insert((old.to_owned(), new.to_owned()))
        {
            return;
        }
        let old = followed(old, self.roots.0);
        let new = followed(new, self.roots.1);
        let (Some(old), Some(new)) = (as_schema(&old), as_schema(&new)) else {
            if old != new {
                self.report(pointer, ChangeKind::Retyped, true, "another schema".to_owned());
            }
            return;
        };
        if self.depth >= MAX_DEPTH {
            if old != new {
                self.report(pointer, ChangeKind::Retyped, true, "another schema, too deep to compare".to_owned());
            }
            return;
        }
        self.depth += 1;
        self.compare_objects(&old, &new, pointer);
        self.depth -= 1;
    }

    fn compare_objects(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        self.compare_wording(old, new, pointer);
        let plain = !old.contains_key("$ref") && !new.contains_key("$ref");
        let (old, new) = (Core::of(old), Core::of(new));
        match (old.nullable, new.nullable) {
            (true, false) => self.narrowed(pointer, "`null` is no longer valid".to_owned()),
            (false, true) => self.widened(pointer, "`null` is valid now".to_owned()),
            _ => {}
        }
        let (old, new) = (old.schema, new.schema);
        if plain && (old.contains_key("$ref") || new.contains_key("$ref")) {
            return self.compare(&Value::Object(old), &Value::Object(new), pointer);
        }
        if branches(&old).is_some() || branches(&new).is_some() {
            let both = branches(&old).is_some() && branches(&new).is_some();
            self.compare_branches(&old, &new, pointer);
            if !both {
                return;
            }
        }
        if self.compare_types(&old, &new, pointer) {
            return;
        }
        self.compare_values(&old, &new, pointer);
        self.compare_bounds(&old, &new, pointer);
        self.compare_properties(&old, &new, pointer);
        self.compare_additional(&old, &new, pointer);
        self.compare_items(&old, &new, pointer);
        self.compare_restrictions(&old, &new, pointer);
    }

    fn compare_wording(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let changed: Vec<&str> = WORDING.into_iter().filter(|key| old.get(*key) != new.get(*key)).collect();
        if !changed.is_empty() {
            self.report(pointer, ChangeKind::Wording, false, format!("another {}", changed.join(", ")));
        }
    }

    /// Whether nothing more can be said, as the types have nothing in common.
    fn compare_types(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) -> bool {
        let (old, new) = (types(old), types(new));
        let name = |types: &Option<Vec<&str>>| {
            types.as_ref().map_or("any type".to_owned(), |types| printable(&types.join(" or ")))
        };
        let covered_by_new = covers(new.as_deref(), old.as_deref());
        let covered_by_old = covers(old.as_deref(), new.as_deref());
        let breaking = match self.side {
            _ if covered_by_new && covered_by_old => return false,
            Side::Input => !covered_by_new,
            Side::Output => !covered_by_old,
        };
        let kind = match (breaking, covered_by_new) {
            (true, _) => ChangeKind::Retyped,
            (false, true) => ChangeKind::Loosened,
            (false, false) => ChangeKind::Tightened,
        };
        self.report(pointer, kind, breaking, format!("{} became {}", name(&old), name(&new)));
        !covered_by_new && !covered_by_old
    }

    fn compare_values(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        match (values(old), values(new)) {
            (Some(old), Some(new)) => {
                for value in old.iter().filter(|value| !new.contains(value)) {
                    self.narrowed(pointer, format!("{} is no longer valid", shown(value)));
                }
                for value in new.iter().filter(|value| !old.contains(value)) {
                    // Bindings keep the strings of an output that they do not know.
                    let breaking = self.side == Side::Output && !value.is_string();
                    self.report(pointer, ChangeKind::Loosened, breaking, format!("{} is valid now", shown(value)));
                }
            }
            (None, Some(_)) => self.narrowed(pointer, "only certain values are valid now".to_owned()),
            (Some(_), None) => self.widened(pointer, "no longer limited to certain values".to_owned()),
            (None, None) => {}
        }
    }

    fn compare_bounds(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let directions = LOWER_BOUNDS.map(|key| (key, 1.0)).into_iter().chain(UPPER_BOUNDS.map(|key| (key, -1.0)));
        for (key, direction) in directions {
            let (before, after) = (old.get(key), new.get(key));
            if before == after {
                continue;
            }
            let number = |value: &Value| value.as_f64().map(|number| number * direction);
            let tighter = match (before.map(number), after.map(number)) {
                (_, None) => false,
                (Some(Some(before)), Some(Some(after))) => after > before,
                _ => true,
            };
            let detail = format!("`{key}` {}", transition(before, after));
            let kind = if tighter { ChangeKind::Tightened } else { ChangeKind::Loosened };
            self.report(pointer, kind, tighter && self.side == Side::Input, detail);
        }
    }

    fn compare_properties(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let none = Map::new();
        let properties = |schema: &'_ Map<String, Value>| schema.get("properties").and_then(Value::as_object).cloned();
        let (old_properties, new_properties) = (properties(old), properties(new));
        let (before, after) = (old_properties.as_ref().unwrap_or(&none), new_properties.as_ref().unwrap_or(&none));
        let (was_required, is_required) = (required(old), required(new));
        for name in keys_of_both(before, after) {
            let at = format!("{pointer}/properties/{}", escaped(name));
            let input = self.side == Side::Input;
            let (was_required, is_required) = (was_required.contains(name), is_required.contains(name));
            match (before.get(name), after.get(name)) {
                (Some(_), None) => self.report(&at, ChangeKind::Removed, true, "the property is gone".to_owned()),
                (None, Some(_)) if input && is_required => {
                    self.report(&at, ChangeKind::NowRequired, true, "new required property".to_owned());
                }
                (None, Some(_)) => self.report(&at, ChangeKind::Added, false, "new property".to_owned()),
                (Some(old), Some(new)) => {
                    match (was_required, is_required) {
                        (false, true) => self.report(&at, ChangeKind::NowRequired, input, "required now".to_owned()),
                        (true, false) => self.report(&at, ChangeKind::NowOptional, !input, "optional now".to_owned()),
                        _ => {}
                    }
                    self.compare(old, new, &at);
                }
                (None, None) => {}
            }
        }
        let undeclared = |name: &&&str| !before.contains_key(**name) && !after.contains_key(**name);
        for name in is_required.difference(&was_required).filter(undeclared) {
            let detail = format!("`{}` is required now", printable(name));
            self.report(&format!("{pointer}/required"), ChangeKind::NowRequired, self.side == Side::Input, detail);
        }
    }

    fn compare_additional(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        let at = format!("{pointer}/additionalProperties");
        let (before, after) = (old.get("additionalProperties"), new.get("additionalProperties"));
        let closed = |schema: Option<&Value>| schema == Some(&Value::Bool(false));
        match (before, after) {
            (Some(before @ Value::Object(_)), Some(after @ Value::Object(_))) => self.compare(before, after, &at),
            _ if before == after => {}
            _ if closed(after) => {
                // Bindings send other keys only where the schema spoke of them.
                let breaking = self.side == Side::Input && before.is_some();
                self.report(&at, ChangeKind::Tightened, breaking, "other keys are no longer valid".to_owned());
            }
            _ if closed(before) => {
                self.report(&at, ChangeKind::Loosened, false, "other keys are valid now".to_owned());
            }
            (_, Some(Value::Object(_))) => self.narrowed(&at, "other keys have a schema now".to_owned()),
            (Some(Value::Object(_)), _) => self.widened(&at, "other keys have no schema any more".to_owned()),
            _ => self.report(&at, ChangeKind::Other, false, "written differently".to_owned()),
        }
    }

    fn compare_items(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        for key in ["items", "prefixItems"] {
            let at = format!("{pointer}/{key}");
            match (old.get(key), new.get(key)) {
                (Some(Value::Array(old)), Some(Value::Array(new))) => {
                    if old.len() != new.len() {
                        self.report(&at, ChangeKind::Retyped, true, "another number of elements".to_owned());
                    }
                    for (index, (old, new)) in old.iter().zip(new).enumerate() {
                        self.compare(old, new, &format!("{at}/{index}"));
                    }
                }
                (Some(old), Some(new)) => self.compare(old, new, &at),
                (None, Some(_)) => self.narrowed(&at, "elements have a schema now".to_owned()),
                (Some(_), None) => self.widened(&at, "elements have no schema any more".to_owned()),
                (None, None) => {}
            }
        }
    }

    fn compare_restrictions(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, pointer: &str) {
        for key in RESTRICTIONS {
            let (before, after) = (old.get(key).map(without_wording), new.get(key).map(without_wording));
            if before == after {
                continue;
            }
            let detail = format!("`{key}` {}", super::changed(before.as_ref(), after.as_ref()).unwrap_or_default());
            if after.is_none() {
                self.report(pointer, ChangeKind::Loosened, false, detail);
            } else {
                self.narrowed(pointer, detail);
            }
        }
        let reference = |schema: &Map<String, Value>| schema.get("$ref").cloned();
        if reference(old) != reference(new) {
            self.report(pointer, ChangeKind::Retyped, true, "another `$ref`".to_owned());
        }
    }
}

fn required(schema: &Map<String, Value>) -> BTreeSet<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn shown(value: &Value) -> String {
    let text = printable(&value.to_string());
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn transition(before: Option<&Value>, after: Option<&Value>) -> String {
    match (before, after) {
        (Some(before), Some(after)) => format!("{} became {}", shown(before), shown(after)),
        (None, Some(after)) => format!("{} is new", shown(after)),
        (Some(before), None) => format!("{} is gone", shown(before)),
        (None, None) => String::new(),
    }
}

fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str)
}

/// The schema with its local reference replaced by what it refers to; other references stay.
fn followed(schema: &Value, root: &Value) -> Value {
    let mut current = schema.clone();
    let mut seen = BTreeSet::new();
    while let Some(target) = reference(&current).map(str::to_owned) {
        let Some(found) = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer)) else {
            break;
        };
        if !seen.insert(target) {
            break;
        }
        let mut merged = match found {
            Value::Object(members) => members.clone(),
            _ => return found.clone(),
        };
        if let Value::Object(beside) = current {
            merged.extend(beside.into_iter().filter(|(key, _)| key != "$ref"));
        }
        current = Value::Object(merged);
    }
    current
}

/// `true` is the schema that says nothing, `false` the one that refuses all; anything else is no schema.
fn as_schema(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(members) => Some(members.clone()),
        Value::Bool(true) => Some(Map::new()),
        Value::Bool(false) => Some(Map::from_iter([("not".to_owned(), Value::Object(Map::new()))])),
        _ => None,
    }
}

//! Finds conditions of policies that no arguments of a tool meet, by the shapes of its schema. What they leave open can
//! be met.

use mcp_bindgen_model::{Condition, nearest, pointer_key, pointer_segment, printable};
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Kinds, Role, Shape, ShapeId, Slot, Unknown, declared_arguments, listed};
use serde_json::Value;

use crate::table::distinct;

/// The maximum number of names or values in help.
const MOST_NAMED: usize = 12;

/// The arguments of a tool.
pub(crate) struct Arguments<'t> {
    /// The names of the arguments. A tool without any takes any, unless it forbids them.
    declared: Vec<String>,
    document: Document<'t>,
}

/// The reason why no arguments meet a condition.
#[derive(Default)]
pub(crate) struct Unmet {
    /// The number of steps of its pointer that lead to a value.
    followed: usize,
    /// The operator that no value at its place meets; `None` if there is no such place.
    pub(crate) operator: Option<&'static str>,
    /// The names that there are instead of the next step, or the types or values at the place.
    known: Vec<String>,
    /// The types of the values that have no such next step, or of those at the place.
    kinds: Vec<&'static str>,
}

/// The values that a step leads to.
enum Below {
    Nothing,
    Anything,
    Shape(ShapeId),
}

impl<'t> Arguments<'t> {
    /// Reads the arguments of a tool with this `inputSchema`.
    pub(crate) fn new(schema: &'t Value) -> Self {
        Self {
            declared: schema.as_object().map(declared_arguments).unwrap_or_default(),
            document: Document::read(schema, Role::Input, &mut Reporter::new("", 0, "")),
        }
    }

    /// Returns why no arguments meet a condition on an argument, which is a name or a JSON pointer.
    pub(crate) fn unmet(&self, argument: &str, condition: &Condition) -> Option<Unmet> {
        let shapes = &self.document.shapes;
        let mut here = shapes.leaves(&[self.document.root]);
        for (followed, step) in steps(argument).into_iter().enumerate() {
            let key = if argument.starts_with('/') { pointer_key(step) } else { step.to_owned() };
            let is_declared = followed == 0 && self.declared.contains(&key);
            if followed == 0 && !is_declared && !self.declared.is_empty() {
                return Some(Unmet { known: self.declared.clone(), ..Unmet::default() });
            }
            let mut next = Vec::new();
            for shape in here.iter().map(|id| shapes.get(*id)) {
                match below(shape, &key) {
                    Below::Anything => return None,
                    Below::Shape(id) => next.push(id),
                    Below::Nothing => {}
                }
            }
            if next.is_empty() {
                let forbids =
                    |id: &ShapeId| matches!(shapes.get(*id), Shape::Struct(object) if object.unknown == Unknown::Deny);
                if is_declared || followed == 0 && !here.iter().all(forbids) {
                    return None;
                }
                return Some(Unmet { followed, operator: None, known: self.names(&here), kinds: self.kinds(&here) });
            }
            here = shapes.leaves(&next);
            if here.is_empty() {
                return None;
            }
        }
        let is_unmet = |one: &Condition| !here.iter().any(|id| takes(shapes.get(*id), one));
        let (operator, _) = operators(condition).into_iter().find(|(_, one)| is_unmet(one))?;
        let values: Option<Vec<Vec<String>>> = here.iter().map(|id| listed_values(shapes.get(*id))).collect();
        let known = values.map(|values| values.concat()).unwrap_or_default();
        Some(Unmet { followed: usize::MAX, operator: Some(operator), known, kinds: self.kinds(&here) })
    }

    /// Returns the names of the declared members of some shapes.
    fn names(&self, shapes: &[ShapeId]) -> Vec<String> {
        let mut names = Vec::new();
        for shape in shapes {
            if let Shape::Struct(object) = self.document.shapes.get(*shape) {
                names.extend(object.tag.clone());
                names.extend(object.fields.iter().map(|field| field.wire.clone()));
            }
        }
        names
    }

    /// Returns the types of the values of some shapes.
    fn kinds(&self, shapes: &[ShapeId]) -> Vec<&'static str> {
        shapes.iter().flat_map(|shape| self.document.shapes.get(*shape).kinds().names()).collect()
    }
}

impl Unmet {
    /// Adds why the arguments of another tool do not meet the condition either. The one that is nearer to it counts.
    pub(crate) fn add(&mut self, other: Self) {
        let nearness = |unmet: &Self| (unmet.operator.is_some(), unmet.followed);
        if nearness(&other) > nearness(self) {
            *self = other;
        } else if nearness(&other) == nearness(self) {
            // The values of one tool are not all, if those of another are not listed.
            if self.operator.is_some() && self.known.is_empty() != other.known.is_empty() {
                self.known.clear();
            } else {
                self.known.extend(other.known);
            }
            self.kinds.extend(other.kinds);
        }
    }

    /// Returns the next step for a condition on this argument.
    pub(crate) fn help(&self, argument: &str) -> String {
        if let Some(operator) = self.operator {
            return self.help_for(operator);
        }
        let all = steps(argument);
        let (before, rest) = all.split_at(self.followed.min(all.len()));
        let Some((step, rest)) = rest.split_first() else { return String::new() };
        let is_pointer = argument.starts_with('/');
        let mark = if is_pointer { "/" } else { "" };
        let with = |name: &str| {
            let path = [before, &[name], rest].concat().join("/");
            printable(&format!("{mark}{path}"))
        };
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        let near = nearest(&pointer_key(step), known.iter().copied());
        if !near.is_empty() {
            let written = |name: &&str| if is_pointer { with(&pointer_segment(name)) } else { with(name) };
            return format!("did you mean `{}`?", near.iter().map(written).collect::<Vec<_>>().join("`, `"));
        }
        if before.is_empty() {
            return "`mcp-bindgen list` shows the tools of a snapshot".to_owned();
        }
        let parent = printable(&format!("/{}", before.join("/")));
        if !known.is_empty() {
            return format!("`{parent}` has {}", listed(quoted(&self.known), MOST_NAMED));
        }
        if !self.kinds.contains(&"array") {
            return format!("`{parent}` has no members");
        }
        if index(step).is_some() {
            return format!("`{parent}` has fewer elements");
        }
        let example = with("0");
        format!("`{parent}` is an array: name one element, as in `{example}`; a rule cannot look at every element")
    }

    fn help_for(&self, operator: &str) -> String {
        if !self.known.is_empty() {
            return format!("it is {}", alternatives(&quoted(&self.known)));
        }
        let types = format!("its type is {}", alternatives(&quoted(&self.kinds)));
        if operator == "equals" {
            return types;
        }
        let has = |names: &[&str]| names.iter().any(|name| self.kinds.contains(name));
        let mut usable = vec!["equals"];
        if has(&["string"]) {
            usable.extend(["prefix", "pattern"]);
        }
        if has(&["integer", "number"]) {
            usable.extend(["min", "max"]);
        }
        let pointer = if has(&["array", "object"]) { ", or a pointer to a value in it" } else { "" };
        let usable: Vec<String> = usable.into_iter().map(|name| format!("`{name}`")).collect();
        format!("{types}: use {}{pointer}", alternatives(&usable))
    }
}

/// Returns each name once, as it is shown, sorted.
fn quoted<S: AsRef<str>>(names: &[S]) -> Vec<String> {
    distinct(names.iter().map(|name| format!("`{}`", printable(name.as_ref()))).collect())
}

/// Joins names with `or`.
fn alternatives(names: &[String]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() && names.len() <= MOST_NAMED => {
            format!("{} or {last}", first.join(", "))
        }
        names => listed(names.iter().cloned(), MOST_NAMED),
    }
}

/// Returns the steps to an argument, as they are written.
fn steps(argument: &str) -> Vec<&str> {
    argument.strip_prefix('/').map_or_else(|| vec![argument], |pointer| pointer.split('/').collect())
}

/// Returns the element of an array that a step of a JSON pointer means.
fn index(step: &str) -> Option<usize> {
    let is_number = step == "0" || step.starts_with(|first: char| matches!(first, '1'..='9'));
    step.parse().ok().filter(|_| is_number)
}

/// Returns the values that a step leads to from a value.
fn below(shape: &Shape, key: &str) -> Below {
    let of_slot = |slot: Option<Slot>| slot.map_or(Below::Nothing, |slot| Below::Shape(slot.shape));
    let is_open = match shape {
        Shape::Map(slot) => return Below::Shape(slot.shape),
        Shape::Struct(object) if object.tag.as_deref() != Some(key) => {
            let declares_none = object.fields.is_empty() && object.tag.is_none();
            match object.slot(key) {
                None => object.unknown == Unknown::Ignore && declares_none,
                slot => return of_slot(slot),
            }
        }
        Shape::List(_) | Shape::Tuple(_) | Shape::Prefixed(..) => {
            return of_slot(index(key).and_then(|index| shape.item(index)));
        }
        shape => {
            let kinds = shape.kinds();
            kinds.has(Kinds::OBJECT) || kinds.has(Kinds::ARRAY) && index(key).is_some()
        }
    };
    if is_open { Below::Anything } else { Below::Nothing }
}

/// Returns the parts of a condition, each as a condition of its own. Every value may be there, or not.
fn operators(condition: &Condition) -> Vec<(&'static str, Condition)> {
    let mut operators = Vec::new();
    let mut add = |name, set: &dyn Fn(&mut Condition)| {
        let mut one = Condition::default();
        set(&mut one);
        if one != Condition::default() {
            operators.push((name, one));
        }
    };
    add("equals", &|one| one.equals.clone_from(&condition.equals));
    add("prefix", &|one| one.prefix.clone_from(&condition.prefix));
    add("pattern", &|one| one.pattern.clone_from(&condition.pattern));
    add("min", &|one| one.min.clone_from(&condition.min));
    add("max", &|one| one.max.clone_from(&condition.max));
    operators
}

/// Returns `true` if a value of the shape may meet a condition with one operator.
fn takes(shape: &Shape, one: &Condition) -> bool {
    let kinds = shape.kinds();
    let is_listed = match shape {
        Shape::TextEnum(texts) => texts.iter().any(|text| one.holds(Some(&text.as_str().into()))),
        Shape::LiteralEnum(values) => values.iter().any(|value| one.holds(Some(value))),
        _ if one.prefix.is_some() || one.pattern.is_some() => kinds.has(Kinds::STRING),
        _ if one.equals.is_none() => kinds.has(Kinds::INTEGER),
        _ => one.equals.as_ref().is_some_and(|value| kinds.has(Kinds::of(value))),
    };
    let is_accepted_instead = match &one.equals {
        // Some servers take `null` for an absent value.
        Some(Value::Null) => true,
        // Some servers take text for the value in it.
        Some(Value::String(text)) => serde_json::from_str(text).is_ok_and(|value| kinds.has(Kinds::of(&value))),
        _ => false,
    };
    is_listed || is_accepted_instead
}

/// Returns the values of an enumeration, or `None` for other shapes.
fn listed_values(shape: &Shape) -> Option<Vec<String>> {
    match shape {
        Shape::TextEnum(texts) => Some(texts.clone()),
        Shape::LiteralEnum(values) => {
            Some(values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect())
        }
        _ => None,
    }
}

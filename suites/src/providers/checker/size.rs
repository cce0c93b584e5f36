//! The limits of one strict schema.

use std::collections::HashMap;

use serde_json::Value;

use super::{Provider, below};

/// Returns the limits that a strict schema exceeds.
pub(super) fn beyond(schema: &Value, provider: Provider) -> Vec<String> {
    if !provider.is_openai() {
        return Vec::new();
    }
    let mut total = Total::default();
    total.add(schema);
    let (levels, _) = levels(schema, schema, &mut HashMap::new(), &mut Vec::new());
    let found = [
        (total.properties > 5_000, "more than 5,000 properties"),
        (levels > 10, "more than 10 levels"),
        (total.chars > 120_000, "more than 120,000 characters of names and values"),
        (total.values > 1_000, "more than 1,000 values in enums"),
        (total.long, "an enum of more than 250 values and 15,000 characters"),
    ];
    found.into_iter().filter(|(is_beyond, _)| *is_beyond).map(|(_, why)| why.to_owned()).collect()
}

#[derive(Default)]
struct Total {
    properties: usize,
    chars: usize,
    values: usize,
    long: bool,
}

impl Total {
    fn add(&mut self, schema: &Value) {
        let Value::Object(map) = schema else { return };
        for keyword in ["properties", "$defs", "definitions"] {
            for name in map.get(keyword).and_then(Value::as_object).into_iter().flat_map(|it| it.keys()) {
                self.properties += usize::from(keyword == "properties");
                self.chars += name.chars().count();
            }
        }
        let length = |value: &Value| match value {
            Value::String(text) => text.chars().count(),
            other => other.to_string().chars().count(),
        };
        self.chars += map.get("const").map_or(0, length);
        if let Some(Value::Array(values)) = map.get("enum") {
            let chars: usize = values.iter().map(length).sum();
            self.chars += chars;
            self.values += values.len();
            self.long |= values.len() > 250 && chars > 15_000 && values.iter().all(|it| it.is_string() || it.is_null());
        }
        below(map).into_iter().for_each(|(_, schema, _)| self.add(schema));
    }
}

/// How many objects and lists stand in each other, references followed until they lead back.
/// Only those that do not lead back are kept: for the others it matters where a circle begins. Also returns the outermost
/// open reference that the schema leads back to.
fn levels(root: &Value, schema: &Value, known: &mut HashMap<String, usize>, open: &mut Vec<String>) -> (usize, usize) {
    const NONE: usize = usize::MAX;
    let Value::Object(map) = schema else { return (0, NONE) };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let Some(target) = reference.strip_prefix('#').and_then(|place| root.pointer(place)) else { return (0, NONE) };
        if reference == "#" {
            return (0, NONE);
        }
        if let Some(known) = known.get(reference) {
            return (*known, NONE);
        }
        if let Some(position) = open.iter().position(|open| open == reference) {
            return (0, position);
        }
        open.push(reference.to_owned());
        let (deepest, back) = levels(root, target, known, open);
        open.pop();
        if back > open.len() {
            known.insert(reference.to_owned(), deepest);
        }
        return (deepest, if back < open.len() { back } else { NONE });
    }
    let own = usize::from(map.contains_key("properties") || map.contains_key("items"));
    let definitions = |name: &str| name.starts_with("$defs/") || name.starts_with("definitions/");
    let inner = below(map)
        .into_iter()
        .filter(|(name, ..)| !definitions(name))
        .map(|(_, schema, _)| levels(root, schema, known, open));
    let (deepest, back) =
        inner.fold((0, NONE), |(deepest, back), (inner, leads)| (deepest.max(inner), back.min(leads)));
    (own + deepest, back)
}

/// Returns `true` if a reference leads back to itself.
pub(super) fn leads_back(root: &Value, reference: &str) -> bool {
    let mut seen: Vec<String> = Vec::new();
    let mut pending = vec![reference.to_owned()];
    let mut is_first = true;
    while let Some(reference_here) = pending.pop() {
        if !is_first && reference_here == reference {
            return true;
        }
        is_first = false;
        if seen.contains(&reference_here) {
            continue;
        }
        if let Some(target) = reference_here.strip_prefix('#').and_then(|place| root.pointer(place)) {
            references(target, &mut pending);
        }
        seen.push(reference_here);
    }
    false
}

fn references(schema: &Value, found: &mut Vec<String>) {
    let Value::Object(map) = schema else { return };
    found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
    below(map).into_iter().for_each(|(_, schema, _)| references(schema, found));
}

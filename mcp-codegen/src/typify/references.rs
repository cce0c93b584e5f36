//! The targets of references, and cycles that typify would follow forever.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::prepare::{DEFINITIONS, Definitions};

/// Through lists, rustc sees four types for each level, and it follows 128; rustdoc follows fewer.
const DEEPEST: usize = 16;

/// Fails at references that typify panics at, and at those that it would follow without end, in a prepared document.
pub(super) fn check(definitions: &Definitions) -> Result<(), String> {
    let mut bare = HashMap::new();
    for (name, definition) in definitions {
        let mut found = Vec::new();
        references(definition, true, &mut found);
        if found.iter().any(|reference| !definitions.contains_key(reference.to)) {
            return Err("a `$ref` points to no definition".to_owned());
        }
        let targets = found.into_iter().filter(|reference| reference.is_bare).map(|reference| reference.to);
        bare.insert(name.as_str(), targets.collect::<Vec<_>>());
    }
    if bare.keys().any(|name| leads_back(name, &bare)) {
        return Err("a `$ref` only points to itself".to_owned());
    }
    let mut nesting = HashMap::new();
    if definitions.values().any(|schema| levels(schema, definitions, &mut nesting) > DEEPEST) {
        return Err("its types would nest too deep".to_owned());
    }
    Ok(())
}

struct Reference<'d> {
    to: &'d str,
    /// `true` if the reference leads to the value itself, not to a part of it.
    is_bare: bool,
}

fn references<'d>(schema: &'d Value, is_bare: bool, found: &mut Vec<Reference<'d>>) {
    let Value::Object(map) = schema else { return };
    found.extend(map.get("$ref").and_then(definition).map(|to| Reference { to, is_bare }));
    branches(map).for_each(|branch| references(branch, is_bare, found));
    parts(map).for_each(|part| references(part, false, found));
}

/// Returns `true` if these references lead from a definition back to it.
fn leads_back(start: &str, targets: &HashMap<&str, Vec<&str>>) -> bool {
    let (mut seen, mut pending) = (HashSet::new(), vec![start]);
    while let Some(from) = pending.pop() {
        let next = targets.get(from).into_iter().flatten();
        pending.extend(next.filter(|to| seen.insert(**to)));
    }
    seen.contains(start)
}

/// Returns the depth of a schema's types; recursion counts once.
fn levels<'d>(schema: &'d Value, definitions: &'d Definitions, known: &mut HashMap<&'d str, usize>) -> usize {
    let Value::Object(map) = schema else { return 1 };
    if let Some(name) = map.get("$ref").and_then(definition) {
        if let Some(known) = known.get(name) {
            return *known;
        }
        known.insert(name, 0);
        let levels = definitions.get(name).map_or(1, |schema| levels(schema, definitions, known));
        known.insert(name, levels);
        return levels;
    }
    parts(map).chain(branches(map)).map(|schema| levels(schema, definitions, known)).max().unwrap_or_default() + 1
}

/// Returns the schemas of the parts of a value.
fn parts(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    properties.chain(map.get("items")).chain(map.get("additionalProperties"))
}

/// Returns the schemas of which a value has one.
fn branches(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten()
}

/// Returns the name of the definition that a reference leads to.
fn definition(reference: &Value) -> Option<&str> {
    reference.as_str()?.strip_prefix(DEFINITIONS)
}

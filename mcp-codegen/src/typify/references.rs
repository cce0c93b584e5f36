//! The targets of references, and cycles that typify would follow forever.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::prepare::{DEFINITIONS, Definitions};

/// More than this, and merging `allOf` takes too long.
const MOST_COMBINATIONS: usize = 64;
const LARGEST: usize = 2000;
/// Through lists, rustc sees four types for each level, and it follows 128; rustdoc follows fewer.
const DEEPEST: usize = 16;

/// Fails at references that typify panics at, and at those that it would follow without end, in a prepared document.
pub(super) fn check(definitions: &Definitions) -> Result<(), String> {
    let mut references = References { targets: HashMap::new(), all_of: false };
    for (name, definition) in definitions {
        references.collect(definition, name, true);
    }
    if references.targets.values().flatten().any(|reference| !definitions.contains_key(&reference.to)) {
        return Err("a `$ref` points to no definition".to_owned());
    }
    if references.has_cycle(true) {
        return Err("a `$ref` only points to itself".to_owned());
    }
    if references.all_of && references.has_cycle(false) {
        return Err("it would merge a recursive `allOf` without end".to_owned());
    }
    let mut nesting = HashMap::new();
    if definitions.values().any(|schema| levels(schema, definitions, &mut nesting) > DEEPEST) {
        return Err("its types would nest too deep".to_owned());
    }
    let mut merging = Merging { definitions, known: HashMap::new() };
    if references.all_of && definitions.values().any(|schema| merging.is_too_much(schema)) {
        return Err("it would merge too much by `allOf`".to_owned());
    }
    Ok(())
}

struct Reference {
    to: String,
    /// `true` if the reference leads to the value itself, not to a part of it.
    bare: bool,
}

struct References {
    /// The references of each definition.
    targets: HashMap<String, Vec<Reference>>,
    all_of: bool,
}

impl References {
    fn collect(&mut self, schema: &Value, from: &str, bare: bool) {
        let Value::Object(map) = schema else { return };
        if let Some(to) = map.get("$ref").and_then(definition) {
            self.targets.entry(from.to_owned()).or_default().push(Reference { to: to.to_owned(), bare });
        }
        for (key, value) in map {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for schema in properties.values() {
                        self.collect(schema, from, false);
                    }
                }
                ("items" | "additionalProperties", schema) => self.collect(schema, from, false),
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                    self.all_of |= key == "allOf";
                    for branch in branches {
                        self.collect(branch, from, bare);
                    }
                }
                _ => {}
            }
        }
    }

    fn has_cycle(&self, bare_only: bool) -> bool {
        let reaches_itself = |start: &String| {
            let mut seen = HashSet::new();
            let mut pending = vec![start];
            while let Some(from) = pending.pop() {
                for reference in self.targets.get(from).into_iter().flatten() {
                    if bare_only && !reference.bare {
                        continue;
                    }
                    if reference.to == *start {
                        return true;
                    }
                    if seen.insert(&reference.to) {
                        pending.push(&reference.to);
                    }
                }
            }
            false
        };
        self.targets.keys().any(reaches_itself)
    }
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
    inside(map).map(|schema| levels(schema, definitions, known)).max().unwrap_or_default() + 1
}

/// Returns the schemas that a schema holds.
fn inside(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let named = map.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let listed = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
    named.chain(listed).chain(map.get("items")).chain(map.get("additionalProperties"))
}

/// The cost of merging schemas: `allOf` multiplies the branches of unions, and copies the targets of references. It is
/// only for documents without cycles.
struct Merging<'d> {
    definitions: &'d Definitions,
    known: HashMap<&'d str, Weight>,
}

#[derive(Clone, Copy)]
struct Weight {
    combinations: usize,
    size: usize,
}

impl<'d> Merging<'d> {
    fn weigh(&mut self, schema: &'d Value) -> Weight {
        let mut weight = Weight { combinations: 1, size: 1 };
        let Value::Object(map) = schema else { return weight };
        if let Some(name) = map.get("$ref").and_then(definition) {
            return self.weigh_definition(name);
        }
        let list = |key: &str| map.get(key).and_then(Value::as_array).into_iter().flatten();
        let mut added: usize = 0;
        for branch in list("anyOf").chain(list("oneOf")) {
            let branch = self.weigh(branch);
            added = added.saturating_add(branch.combinations);
            weight.size = weight.size.saturating_add(branch.size);
        }
        weight.combinations = added.max(1);
        for part in list("allOf") {
            let part = self.weigh(part);
            weight.combinations = weight.combinations.saturating_mul(part.combinations);
            weight.size = weight.size.saturating_add(part.size);
        }
        weight
    }

    fn weigh_definition(&mut self, name: &'d str) -> Weight {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let schema = self.definitions.get(name);
        let weight = schema.map_or(Weight { combinations: 1, size: 1 }, |schema| self.weigh(schema));
        self.known.insert(name, weight);
        weight
    }

    /// Returns `true` if a schema, or one inside it, is too much.
    fn is_too_much(&mut self, schema: &'d Value) -> bool {
        let Value::Object(map) = schema else { return false };
        let Weight { combinations, size } = self.weigh(schema);
        combinations > MOST_COMBINATIONS || size > LARGEST || inside(map).any(|inner| self.is_too_much(inner))
    }
}

/// Returns the name of the definition that a reference leads to.
fn definition(reference: &Value) -> Option<&str> {
    reference.as_str()?.strip_prefix(DEFINITIONS)
}

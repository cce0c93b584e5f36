//! Where references lead, and what typify would follow without end.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

/// More than this, and merging `allOf` takes too long.
const MOST_COMBINATIONS: usize = 64;
const LARGEST: usize = 2000;
const ROOT: &str = "#";

/// Fails at references that typify panics at, and at those that it would follow without end, in a prepared document.
pub(super) fn check(document: &Value) -> Result<(), String> {
    let mut references = References { targets: HashMap::new(), all_of: false };
    references.targets.insert(ROOT.to_owned(), Vec::new());
    let definitions = document.get("definitions").and_then(Value::as_object);
    let names: HashSet<&str> = definitions.into_iter().flat_map(|all| all.keys()).map(String::as_str).collect();
    references.collect(document, ROOT, true, &names)?;
    for (name, definition) in definitions.into_iter().flatten() {
        references.collect(definition, name, true, &names)?;
    }
    if references.has_cycle(true) {
        return Err("a `$ref` only leads back to itself".to_owned());
    }
    if references.all_of && references.has_cycle(false) {
        return Err("it would merge a recursive `allOf` without end".to_owned());
    }
    let mut merging = Merging { definitions, known: HashMap::new() };
    let mut all = std::iter::once(document).chain(definitions.into_iter().flat_map(Map::values));
    if references.all_of && all.any(|schema| merging.is_too_much(schema)) {
        return Err("it would merge too much by `allOf`".to_owned());
    }
    Ok(())
}

struct Reference {
    to: String,
    /// The value itself is what the reference leads to, not something inside it.
    bare: bool,
}

struct References {
    /// What each definition refers to.
    targets: HashMap<String, Vec<Reference>>,
    all_of: bool,
}

impl References {
    fn collect(&mut self, schema: &Value, from: &str, bare: bool, names: &HashSet<&str>) -> Result<(), String> {
        let Value::Object(map) = schema else { return Ok(()) };
        if let Some(reference) = map.get("$ref") {
            let to = target(reference, names)?;
            self.targets.entry(from.to_owned()).or_default().push(Reference { to, bare });
        }
        for (key, value) in map {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for schema in properties.values() {
                        self.collect(schema, from, false, names)?;
                    }
                }
                ("items" | "additionalProperties", schema) => self.collect(schema, from, false, names)?,
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                    self.all_of |= key == "allOf";
                    for branch in branches {
                        self.collect(branch, from, bare, names)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
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

fn target(reference: &Value, names: &HashSet<&str>) -> Result<String, String> {
    let text = reference.as_str().ok_or("a `$ref` is not a string")?;
    if text == ROOT {
        return Ok(ROOT.to_owned());
    }
    match definition(text) {
        Some(name) if names.contains(name) && !name.contains(['/', '%', '~']) => Ok(name.to_owned()),
        _ => Err("a `$ref` leads elsewhere than to a definition".to_owned()),
    }
}

/// What merging makes of schemas: `allOf` multiplies what unions add, and copies what it refers to. Only for documents
/// without cycles.
struct Merging<'d> {
    definitions: Option<&'d Map<String, Value>>,
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
        if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(definition) {
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
        let schema = self.definitions.and_then(|all| all.get(name));
        let weight = schema.map_or(Weight { combinations: 1, size: 1 }, |schema| self.weigh(schema));
        self.known.insert(name, weight);
        weight
    }

    /// Whether a schema, or one inside it, is too much.
    fn is_too_much(&mut self, schema: &'d Value) -> bool {
        let Value::Object(map) = schema else { return false };
        let Weight { combinations, size } = self.weigh(schema);
        let named = map.get("properties").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
        let listed = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array()).flatten();
        let inside = named.chain(listed).chain(map.get("items")).chain(map.get("additionalProperties"));
        combinations > MOST_COMBINATIONS || size > LARGEST || inside.into_iter().any(|inner| self.is_too_much(inner))
    }
}

/// The name of the definition that a reference leads to.
fn definition(reference: &str) -> Option<&str> {
    reference.strip_prefix("#/definitions/").or_else(|| reference.strip_prefix("#/$defs/"))
}

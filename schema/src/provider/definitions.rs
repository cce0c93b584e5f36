//! Definitions that are printed once: of shapes in several places, and of subschemas that a printed schema repeats.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value, json};

use crate::drift::version::Version;
use crate::shape::{Shape, ShapeId, Shapes};

/// The number of values from which an enumeration becomes a definition.
const LONG_ENUM: usize = 12;
/// A definition of a repeated subschema has to save more bytes than this.
const WORTH_IT: usize = 60;
/// Shorter subschemas are not compared.
const SHORTEST: usize = 60;
/// The maximum number of definitions of repeated subschemas.
const MOST: usize = 64;

/// The shapes that are printed once.
pub(super) struct Definitions {
    /// The references to the root and to definitions.
    pub(super) references: HashMap<ShapeId, String>,
    /// A shape that leads back to itself.
    pub(super) circle: Option<ShapeId>,
    pending: Vec<ShapeId>,
    asked: HashSet<ShapeId>,
}

impl Definitions {
    pub(super) fn of(reading: &Version<'_>) -> Self {
        let (shapes, root) = (&reading.document.shapes, reading.document.root);
        let (mut counts, mut circular) = (BTreeMap::new(), BTreeSet::new());
        let mut open = HashSet::from([root]);
        // Shapes on the way, with those of their children that are still to be looked at.
        let mut way = vec![(root, shapes.get(root).children())];
        while let Some((id, left)) = way.last_mut() {
            let Some(child) = left.pop() else {
                open.remove(id);
                way.pop();
                continue;
            };
            let count = counts.entry(child).or_insert(0);
            *count += 1;
            if open.contains(&child) {
                circular.insert(child);
            } else if *count == 1 {
                open.insert(child);
                way.push((child, shapes.get(child).children()));
            }
        }
        let (mut references, mut taken) = (HashMap::from([(root, "#".to_owned())]), HashSet::new());
        for (id, count) in counts {
            if id != root && (circular.contains(&id) || (count > 1 && is_large(shapes, id))) {
                let schema = shapes.origin(id).first();
                let given = schema.and_then(|schema| reading.document.schemas.definition(*schema));
                references.insert(id, format!("#/$defs/{}", unique(&given.unwrap_or_default(), &mut taken)));
            }
        }
        Self { references, circle: circular.first().copied(), pending: Vec::new(), asked: HashSet::from([root]) }
    }

    /// Asks for a definition to be printed.
    pub(super) fn ask(&mut self, id: ShapeId) {
        if self.asked.insert(id) {
            self.pending.push(id);
        }
    }

    /// Returns a requested definition that is not yet printed, and its name.
    pub(super) fn next(&mut self) -> Option<(ShapeId, String)> {
        let id = self.pending.pop()?;
        Some((id, self.references.get(&id)?.strip_prefix("#/$defs/")?.to_owned()))
    }
}

fn is_large(shapes: &Shapes, id: ShapeId) -> bool {
    let is_long = |id| matches!(shapes.get(id), Shape::TextEnum(values) if values.len() > LONG_ENUM);
    let is_large = |id| is_long(id) || !shapes.get(id).children().is_empty();
    match shapes.get(id) {
        Shape::LiteralEnum(values) => values.len() > LONG_ENUM,
        Shape::List(item) | Shape::Map(item) => is_large(item.shape),
        _ => is_large(id),
    }
}

/// Returns a unique name for a definition, based on its name in the document.
fn unique(wish: &str, taken: &mut HashSet<String>) -> String {
    const LONGEST: usize = 40;
    let mut plain: String =
        wish.chars().filter(|char| char.is_ascii_alphanumeric() || *char == '_').take(LONGEST).collect();
    if plain.chars().next().is_none_or(|first| first.is_ascii_digit()) {
        plain.insert(0, 'T');
    }
    let mut name = plain.clone();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        number += 1;
        name = format!("{plain}_{number}");
    }
    name
}

/// Moves repeated subschemas to `$defs`, the largest first.
pub(super) fn hoist(schema: &mut Value) {
    let known = schema.get("$defs").and_then(Value::as_object);
    let mut taken: HashSet<String> = known.into_iter().flat_map(Map::keys).cloned().collect();
    for _ in 0..MOST {
        let mut found: HashMap<String, Repeated> = HashMap::new();
        each(schema, "", &mut |subschema, name| {
            let text = subschema.to_string();
            if text.len() >= SHORTEST {
                found.entry(text).or_insert_with(|| Repeated { name: name.to_owned(), count: 0 }).count += 1;
            }
            true
        });
        // Sorted by text, which decides between equal savings.
        let by_text: BTreeMap<&String, &Repeated> = found.iter().filter(|(_, found)| found.count > 1).collect();
        let best = by_text.into_iter().max_by_key(|(text, found)| found.saved(text.len()));
        let Some((text, found)) = best.filter(|(text, found)| found.saved(text.len()) > WORTH_IT) else { return };
        let Ok(definition) = serde_json::from_str::<Value>(text) else { return };
        let name = unique(&found.name, &mut taken);
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        each(schema, "", &mut |subschema, _| {
            let is_other = *subschema != definition;
            if !is_other {
                subschema.clone_from(&reference);
            }
            is_other
        });
        let Value::Object(root) = schema else { return };
        if let Value::Object(definitions) = root.entry("$defs").or_insert_with(|| Map::new().into()) {
            definitions.insert(name, definition);
            definitions.sort_keys();
        }
    }
}

/// A subschema that may be repeated.
struct Repeated {
    /// The property of the first occurrence.
    name: String,
    count: usize,
}

impl Repeated {
    /// Returns how many bytes a definition saves.
    fn saved(&self, length: usize) -> usize {
        let reference = r##"{"$ref":"#/$defs/"}"##.len() + self.name.len();
        let definition = length + r#""":,"#.len() + self.name.len();
        (self.count * length).saturating_sub(self.count * reference + definition)
    }
}

/// Visits the subschemas of a printed schema, each with the name of the property that it is in. Those within a
/// subschema follow if `visit` returns `true`.
fn each(schema: &mut Value, name: &str, visit: &mut impl FnMut(&mut Value, &str) -> bool) {
    let Value::Object(keywords) = schema else { return };
    for (keyword, value) in keywords {
        let inner: Vec<(&str, &mut Value)> = match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => {
                named.iter_mut().map(|(name, schema)| (name.as_str(), schema)).collect()
            }
            ("anyOf", Value::Array(branches)) => branches.iter_mut().map(|schema| (name, schema)).collect(),
            ("items" | "additionalProperties", schema) => vec![(name, schema)],
            _ => continue,
        };
        for (name, schema) in inner {
            if visit(schema, name) {
                each(schema, name, visit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_schemas_become_one_definition() {
        let person = json!({ "type": "object", "properties": {
            "name": { "type": "string", "description": "The name of the person" }, "email": { "type": "string" } } });
        let mut schema = json!({ "type": "object", "properties": {
            "from": person, "to": { "type": "array", "items": person }, "name": { "enum": [person] },
            "cc": { "anyOf": [person, { "type": "null" }] } } });
        hoist(&mut schema);
        let reference = json!({ "$ref": "#/$defs/from" });
        assert_eq!(
            schema,
            json!({ "type": "object", "properties": {
            "from": reference, "to": { "type": "array", "items": reference }, "name": { "enum": [person] },
            "cc": { "anyOf": [reference, { "type": "null" }] } }, "$defs": { "from": person } })
        );
    }

    #[test]
    fn small_repeated_schemas_stay_inline() {
        let short = json!({ "type": "string", "description": "A word." });
        let schema = json!({ "type": "object", "properties": { "a": short, "b": short, "c": short } });
        let mut same = schema.clone();
        hoist(&mut same);
        assert_eq!(same, schema);
    }

    #[test]
    fn definition_names_do_not_conflict() {
        let long = |word: &str| json!({ "type": "string", "description": format!("{word} {}", "x".repeat(200)) });
        let mut schema = json!({ "type": "object",
            "properties": { "a": long("one"), "b": long("one"), "c": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "type": "object", "properties": { "a": long("two"), "b": long("two") } } } });
        hoist(&mut schema);
        let definitions = schema["$defs"].as_object().unwrap();
        assert_eq!(definitions.len(), 3);
        assert_eq!(definitions["a"]["properties"]["a"], definitions["a"]["properties"]["b"]);
        assert_ne!(schema["properties"]["a"], schema["properties"]["c"]);
    }
}

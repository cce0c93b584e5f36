//! Says subschemas that a printed schema repeats once, as definitions.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::names;

/// A definition has to save more bytes than this.
const WORTH_IT: usize = 60;
/// Nothing shorter is looked at.
const SHORTEST: usize = 60;
/// The maximum number of such definitions in a schema.
const MOST: usize = 64;

/// Moves repeated subschemas to `$defs`, the largest first.
pub(super) fn moved_to_definitions(schema: &mut Value) {
    let known = schema.get("$defs").and_then(Value::as_object);
    let mut taken: HashSet<String> = known.into_iter().flat_map(Map::keys).cloned().collect();
    for _ in 0..MOST {
        let mut found: HashMap<String, Found> = HashMap::new();
        each(schema, "", true, &mut |subschema, name| {
            if subschema.len() >= SHORTEST {
                let found = found.entry(subschema).or_insert_with(|| Found { name: name.to_owned(), count: 0 });
                found.count += 1;
            }
        });
        // Sorted by text, which decides between equal savings.
        let by_text: BTreeMap<&String, &Found> = found.iter().filter(|(_, found)| found.count > 1).collect();
        let best = by_text.into_iter().max_by_key(|(text, found)| found.saved(text.len()));
        let Some((text, found)) = best.filter(|(text, found)| found.saved(text.len()) > WORTH_IT) else { return };
        let Ok(definition) = serde_json::from_str::<Value>(text) else { return };
        let name = names::definition(&found.name, &mut taken);
        replace(schema, &definition, &json!({ "$ref": format!("#/$defs/{name}") }));
        let Value::Object(root) = schema else { return };
        if let Value::Object(definitions) = root.entry("$defs").or_insert_with(|| Map::new().into()) {
            definitions.insert(name, definition);
            definitions.sort_keys();
        }
    }
}

struct Found {
    /// The property of the first occurrence.
    name: String,
    count: usize,
}

impl Found {
    /// Returns how many bytes a definition saves.
    fn saved(&self, length: usize) -> usize {
        let reference = r##"{"$ref":"#/$defs/"}"##.len() + self.name.len();
        let definition = length + r#""":,"#.len() + self.name.len();
        (self.count * length).saturating_sub(self.count * reference + definition)
    }
}

/// Returns the subschemas in the keywords of a printed schema, with the properties that they are in.
fn inner<'s>(schema: &'s mut Map<String, Value>, name: &'s str) -> Vec<(&'s mut Value, String)> {
    let mut all = Vec::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties" | "$defs", Value::Object(named)) => {
                all.extend(named.iter_mut().map(|(key, value)| (value, key.clone())));
            }
            ("items" | "additionalProperties", value) => all.push((value, name.to_owned())),
            ("anyOf", Value::Array(branches)) => all.extend(branches.iter_mut().map(|value| (value, name.to_owned()))),
            _ => {}
        }
    }
    all
}

/// Gives the text of every subschema, the largest before those within it.
fn each(schema: &mut Value, name: &str, is_root: bool, see: &mut impl FnMut(String, &str)) {
    let Value::Object(keywords) = schema else { return };
    if !is_root {
        see(Value::Object(keywords.clone()).to_string(), name);
    }
    for (subschema, name) in inner(keywords, name) {
        each(subschema, &name, false, see);
    }
}

fn replace(schema: &mut Value, definition: &Value, reference: &Value) {
    let Value::Object(keywords) = schema else { return };
    for (subschema, _) in inner(keywords, "") {
        if subschema == definition {
            subschema.clone_from(reference);
        } else {
            replace(subschema, definition, reference);
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
        moved_to_definitions(&mut schema);
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
        moved_to_definitions(&mut same);
        assert_eq!(same, schema);
    }

    #[test]
    fn definition_names_do_not_conflict() {
        let long = |word: &str| json!({ "type": "string", "description": format!("{word} {}", "x".repeat(200)) });
        let mut schema = json!({ "type": "object",
            "properties": { "a": long("one"), "b": long("one"), "c": { "$ref": "#/$defs/a" } },
            "$defs": { "a": { "type": "object", "properties": { "a": long("two"), "b": long("two") } } } });
        moved_to_definitions(&mut schema);
        let definitions = schema["$defs"].as_object().unwrap();
        assert_eq!(definitions.len(), 3);
        assert_eq!(definitions["a"]["properties"]["a"], definitions["a"]["properties"]["b"]);
        assert_ne!(schema["properties"]["a"], schema["properties"]["c"]);
    }
}

//! Limits on the size of schemas.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::rewrite::{Dialect, Load, NotStrict};

/// The limits of a strict schema of OpenAI.
const MOST_PROPERTIES: usize = 5_000;
const MOST_LEVELS: usize = 10;
const MOST_CHARS: usize = 120_000;
const MOST_ENUM_VALUES: usize = 1_000;
const LONG_ENUM: usize = 250;
const MOST_CHARS_OF_LONG_ENUM: usize = 15_000;

/// Refuses a schema that exceeds the provider's limits.
pub(super) fn within(schema: &Value, dialect: Dialect) -> Result<(), NotStrict> {
    if dialect != Dialect::OpenAi {
        return Ok(());
    }
    let mut size = Size::default();
    size.add(schema, schema, 1, &mut Vec::new(), true);
    for (is_beyond, why) in [
        (size.properties > MOST_PROPERTIES, "more properties than are taken"),
        (size.levels > MOST_LEVELS, "more levels than are taken"),
        (size.enum_values > MOST_ENUM_VALUES || size.has_long_enum, "more listed values than are taken"),
        (size.chars > MOST_CHARS, "longer names and values than are taken"),
    ] {
        if is_beyond {
            return Err(NotStrict::new("", why));
        }
    }
    Ok(())
}

/// Returns the subschemas of a printed schema, its definitions aside.
fn below(schema: &Map<String, Value>) -> impl Iterator<Item = (&'static str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::values);
    let branches = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let items = ["items", "additionalProperties"].into_iter().filter_map(|keyword| schema.get(keyword));
    properties.chain(items).map(|schema| ("value", schema)).chain(branches.map(|schema| ("branch", schema)))
}

fn target<'s>(root: &'s Value, schema: &Value) -> Option<(&'s Value, String)> {
    let reference = schema.get("$ref")?.as_str()?;
    Some((root.pointer(reference.strip_prefix('#')?)?, reference.to_owned()))
}

#[derive(Debug, Default)]
struct Size {
    properties: usize,
    levels: usize,
    chars: usize,
    enum_values: usize,
    has_long_enum: bool,
    /// The references that were followed, and their levels.
    referred: HashSet<(String, usize)>,
}

impl Size {
    /// Adds a schema at a level. Referenced schemas add levels at each reference, and their other sizes once.
    fn add(&mut self, root: &Value, schema: &Value, level: usize, open: &mut Vec<String>, counts: bool) {
        let Some(map) = schema.as_object() else { return };
        let is_container = map.contains_key("properties") || map.contains_key("items");
        self.levels = self.levels.max(if is_container { level } else { level - 1 });
        if self.levels > MOST_LEVELS {
            return;
        }
        if counts {
            self.count(map);
        }
        if let Some((target, name)) = target(root, schema)
            && !open.contains(&name)
            && name != "#"
            && self.referred.insert((name.clone(), level))
        {
            open.push(name);
            self.add(root, target, level, open, false);
            open.pop();
        }
        for (how, schema) in below(map) {
            self.add(root, schema, level + usize::from(how == "value"), open, counts);
        }
        if let Some(definitions) = map.get("$defs").and_then(Value::as_object) {
            for (name, schema) in definitions {
                self.chars += name.chars().count();
                open.push(format!("#/$defs/{name}"));
                self.add(root, schema, 1, open, true);
                open.pop();
            }
        }
    }

    fn count(&mut self, map: &Map<String, Value>) {
        if let Some(Value::Object(properties)) = map.get("properties") {
            self.properties += properties.len();
            self.chars += properties.keys().map(|name| name.chars().count()).sum::<usize>();
        }
        if let Some(Value::Array(values)) = map.get("enum") {
            let lengths = values
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string().len(), |it| it.chars().count()));
            let chars: usize = lengths.sum();
            self.chars += chars;
            self.enum_values += values.len();
            self.has_long_enum |= values.len() > LONG_ENUM && chars > MOST_CHARS_OF_LONG_ENUM;
        }
    }
}

/// Counts a schema against the limits of a request.
pub(super) fn load(schema: &Value) -> Load {
    load_of(schema, schema, &mut HashMap::new())
}

fn load_of(root: &Value, schema: &Value, known: &mut HashMap<String, Option<Load>>) -> Load {
    let Some(map) = schema.as_object() else { return Load::default() };
    let mut load = Load::default();
    if let Some((target, name)) = target(root, schema).filter(|(_, name)| name != "#") {
        // A recursive schema counts once.
        load = match known.get(&name) {
            Some(load) => load.unwrap_or_default(),
            None => {
                known.insert(name.clone(), None);
                let load = load_of(root, target, known);
                known.insert(name, Some(load));
                load
            }
        };
    }
    if let Some(Value::Object(properties)) = map.get("properties") {
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
        let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
        load.optional += properties.keys().filter(|name| !required.contains(name.as_str())).count();
    }
    load.unions += usize::from(map.contains_key("anyOf") || map.get("type").is_some_and(Value::is_array));
    for (_, schema) in below(map) {
        let inner = load_of(root, schema, known);
        load.optional = load.optional.saturating_add(inner.optional);
        load.unions = load.unions.saturating_add(inner.unions);
    }
    load
}

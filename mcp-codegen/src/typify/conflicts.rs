//! Finds what typify would get wrong in a prepared document: references that it panics at or would follow forever, types
//! that nest too deep, and different schemas that would get the same name, which it would treat as one type.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::prepare::{DEFINITIONS, Definitions, UNIONS, reduced};

/// Through lists, rustc sees four types for each level, and it follows 128; rustdoc follows fewer.
const DEEPEST: usize = 16;
/// Schemas are followed this far, through references too.
const DEEPEST_WALK: usize = 4 * DEEPEST;
const TOO_DEEP: &str = "its types would nest too deep";

/// Fails if typify would panic, not end, or confuse two types.
pub(super) fn check(definitions: &Definitions) -> Result<(), String> {
    let mut walk = Walk { definitions, levels: HashMap::new(), names: HashMap::new(), bare: HashMap::new() };
    for (name, definition) in definitions {
        if walk.schema(definition, &reduced(name), Some(name), 0)? > DEEPEST {
            return Err(TOO_DEEP.to_owned());
        }
    }
    if definitions.keys().any(|name| walk.leads_back(name)) {
        return Err("a `$ref` only points to itself".to_owned());
    }
    Ok(())
}

struct Walk<'d> {
    definitions: &'d Definitions,
    /// The depth of the types of each definition that is referred to; recursion counts once.
    levels: HashMap<&'d str, usize>,
    /// The schemas of which typify may make a type, by its name.
    names: HashMap<String, &'d Value>,
    /// The definitions whose values are those of a definition, and not a part of them.
    bare: HashMap<&'d str, Vec<&'d str>>,
}

impl<'d> Walk<'d> {
    /// Visits a schema that would have this name, and returns the depth of its types. `value_of` is the definition
    /// whose value it describes, if it does not describe a part of it.
    fn schema(
        &mut self,
        schema: &'d Value,
        name: &str,
        value_of: Option<&'d str>,
        depth: usize,
    ) -> Result<usize, String> {
        let Value::Object(map) = schema else { return Ok(1) };
        if depth > DEEPEST_WALK {
            return Err(TOO_DEEP.to_owned());
        }
        if let Some(to) = map.get("$ref").and_then(|reference| reference.as_str()?.strip_prefix(DEFINITIONS)) {
            value_of.into_iter().for_each(|from| self.bare.entry(from).or_default().push(to));
            return self.referred(to, depth + 1);
        }
        if is_named(map) && self.names.insert(name.to_owned(), schema).is_some_and(|other| other != schema) {
            return Err(format!("it would take two types for one, `{name}`"));
        }
        let mut levels = 0;
        for (property, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
            levels = levels.max(self.schema(schema, &format!("{name}{}", reduced(property)), None, depth + 1)?);
        }
        for (key, step) in [("items", "item"), ("additionalProperties", "value")] {
            if let Some(schema) = map.get(key) {
                levels = levels.max(self.schema(schema, &format!("{name}{step}"), None, depth + 1)?);
            }
        }
        for branches in unions(map) {
            let is_nullable = others(branches) == 1;
            for (number, branch) in branches.iter().enumerate() {
                let name = if is_nullable { name.to_owned() } else { format!("{name}variant{number}") };
                levels = levels.max(self.schema(branch, &name, value_of, depth + 1)?);
            }
        }
        Ok(levels + 1)
    }

    fn referred(&mut self, name: &'d str, depth: usize) -> Result<usize, String> {
        if let Some(known) = self.levels.get(name) {
            return Ok(*known);
        }
        let definition = self.definitions.get(name).ok_or("a `$ref` points to no definition")?;
        self.levels.insert(name, 0);
        let levels = self.schema(definition, &reduced(name), Some(name), depth)?;
        self.levels.insert(name, levels);
        Ok(levels)
    }

    /// Returns `true` if the value of a definition is again the value of this definition.
    fn leads_back(&self, start: &str) -> bool {
        let (mut seen, mut pending) = (HashSet::new(), vec![start]);
        while let Some(from) = pending.pop() {
            let next = self.bare.get(from).into_iter().flatten();
            pending.extend(next.filter(|to| seen.insert(**to)));
        }
        seen.contains(start)
    }
}

/// Returns the lists of schemas of which a value has one.
fn unions(map: &Map<String, Value>) -> impl Iterator<Item = &Vec<Value>> {
    UNIONS.into_iter().filter_map(|key| map.get(key)?.as_array())
}

/// Returns the number of branches that are not `null`.
fn others(branches: &[Value]) -> usize {
    branches.iter().filter(|branch| branch.get("type").and_then(Value::as_str) != Some("null")).count()
}

/// Returns `true` if typify may give the schema a type with a name.
fn is_named(map: &Map<String, Value>) -> bool {
    ["properties", "enum", "pattern", "minLength", "maxLength"].iter().any(|key| map.contains_key(*key))
        || map.get("type").is_some_and(Value::is_array)
        || unions(map).any(|branches| others(branches) > 1)
}

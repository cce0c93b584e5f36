//! Prepares a schema for typify: one dialect, without anything that would lose values or panic later, and within its
//! limits. Keywords without a type in Rust are removed, as the generator's own types ignore them.

use std::collections::{HashMap, HashSet};

use regress::Regex;
use serde_json::{Map, Value};

use crate::markdown::sanitized;

/// typify's recursion is deep, and inside a macro the stack is the compiler's.
const DEEPEST: usize = 40;
const MOST_SCHEMAS: usize = 2000;
/// `serde` reads arrays up to this length.
const LONGEST_ARRAY: u64 = 32;

/// The prefix of references in a prepared document.
pub(super) const DEFINITIONS: &str = "#/definitions/";

/// Keywords that mean something for types, and that typify or schemars 0.8 does not know, or panics at.
const BEYOND_TYPIFY: &[&str] = &[
    "prefixItems",
    "patternProperties",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "not",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$recursiveRef",
    "$recursiveAnchor",
];
/// Keywords that typify makes types of, and the types without which it panics at them.
const CARRIED: &[(&str, &[&str])] = &[
    ("type", &[]),
    ("required", &[]),
    ("minimum", NUMBERS),
    ("maximum", NUMBERS),
    ("exclusiveMinimum", NUMBERS),
    ("exclusiveMaximum", NUMBERS),
    ("minLength", TEXTS),
    ("maxLength", TEXTS),
];
const NUMBERS: &[&str] = &["integer", "number"];
const TEXTS: &[&str] = &["string"];
/// Beside a union, these have typify multiply the branches out.
const ASSERTIONS: &[&str] =
    &["properties", "required", "additionalProperties", "allOf", "enum", "const", "items", "minLength", "pattern"];
const UNIONS: [&str; 2] = ["anyOf", "oneOf"];

/// The definitions of a document by name; the root is one of them.
type Definitions = Map<String, Value>;

/// Returns the document as definitions, the root among them under the name of its type.
pub(super) fn prepared(schema: &Value, name: &str) -> Result<Definitions, String> {
    let Value::Object(root) = schema else { return Err("the schema is not an object".to_owned()) };
    let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let ref_stands_alone = ["draft-04", "draft-06", "draft-07"].iter().any(|draft| dialect.contains(draft));
    let mut preparing = Preparing { ref_stands_alone, schemas: 0, root: name };
    let prepared = preparing.object(root, 0)?;
    let mut definitions = Definitions::from_iter([(name.to_owned(), Value::Object(prepared))]);
    for key in ["definitions", "$defs"] {
        let Some(named) = root.get(key) else { continue };
        let Value::Object(named) = named else { return Err(format!("`{key}` is not an object")) };
        for (name, definition) in named {
            if definitions.insert(name.clone(), preparing.schema(definition, 1)?).is_some() {
                return Err(format!("duplicate definition `{name}`"));
            }
        }
    }
    Ok(definitions)
}

struct Preparing<'n> {
    /// The name of the root's type.
    root: &'n str,
    ref_stands_alone: bool,
    schemas: usize,
}

impl Preparing<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, String> {
        match schema {
            Value::Object(map) => self.object(map, depth).map(Value::Object),
            Value::Bool(_) => Ok(schema.clone()),
            _ => Err("a schema is neither an object nor a boolean".to_owned()),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, depth: usize) -> Result<Map<String, Value>, String> {
        self.schemas += 1;
        if depth > DEEPEST || self.schemas > MOST_SCHEMAS {
            return Err("the schema is too deep or too large".to_owned());
        }
        let mut prepared = Map::new();
        if let Some(lines) = map.get("description").and_then(Value::as_str).map(sanitized) {
            prepared.insert("description".to_owned(), lines.join("\n").into());
        }
        if let Some(reference) = map.get("$ref") {
            prepared.insert("$ref".to_owned(), self.reference(reference)?.into());
            if self.ref_stands_alone {
                return Ok(prepared);
            }
            if let Some(sibling) = map.keys().find(|key| matters(key)) {
                return Err(format!("`{sibling}` is next to `$ref`"));
            }
        }
        Self::refuse(map, depth)?;
        if let Some(parts) = map.get("allOf") {
            let Some([Value::Object(only)]) = parts.as_array().map(Vec::as_slice) else {
                return Err("it would merge the parts of an `allOf`".to_owned());
            };
            if let Some(sibling) = map.keys().find(|key| *key != "allOf" && matters(key)) {
                return Err(format!("`{sibling}` is next to `allOf`"));
            }
            for (key, value) in self.object(only, depth + 1)? {
                prepared.entry(key).or_insert(value);
            }
            return Ok(prepared);
        }
        for (key, kinds) in CARRIED {
            if let Some(value) = map.get(*key).filter(|_| kinds.is_empty() || is_of(map, kinds)) {
                prepared.insert((*key).to_owned(), value.clone());
            }
        }
        Self::values(map, &mut prepared)?;
        self.nested(map, depth, &mut prepared)?;
        Ok(prepared)
    }

    fn reference(&self, reference: &Value) -> Result<String, String> {
        let text = reference.as_str().ok_or("a `$ref` is not a string")?;
        let name = text.strip_prefix("#/definitions/").or_else(|| text.strip_prefix("#/$defs/"));
        match name {
            None if text == "#" => Ok(format!("{DEFINITIONS}{}", self.root)),
            Some(name) if !name.contains(['/', '%', '~']) => Ok(format!("{DEFINITIONS}{name}")),
            _ => Err("a `$ref` does not point to a definition".to_owned()),
        }
    }

    fn refuse(map: &Map<String, Value>, depth: usize) -> Result<(), String> {
        if let Some(key) = BEYOND_TYPIFY.iter().find(|key| map.contains_key(**key)) {
            return Err(format!("it does not support `{key}`"));
        }
        if depth > 0 && ["$id", "id"].iter().any(|key| map.get(*key).is_some_and(Value::is_string)) {
            return Err("a schema inside has an `$id`".to_owned());
        }
        if map.get("items").is_some_and(Value::is_array) {
            return Err("it does not support tuples of this kind".to_owned());
        }
        if map.get("nullable") == Some(&Value::Bool(true)) {
            return Err("it does not support `nullable`".to_owned());
        }
        if map.get("dependencies").and_then(Value::as_object).is_some_and(|all| all.values().any(|one| !one.is_array()))
        {
            return Err("it does not support `dependencies`".to_owned());
        }
        let unions = UNIONS.iter().filter(|key| map.contains_key(**key)).count();
        if unions == 2 || (unions == 1 && ASSERTIONS.iter().any(|key| map.contains_key(*key))) {
            return Err("it multiplies out a union that is next to other keywords".to_owned());
        }
        Ok(())
    }

    /// Keywords whose value says which values there are.
    fn values(map: &Map<String, Value>, prepared: &mut Map<String, Value>) -> Result<(), String> {
        if let Some(pattern) = map.get("pattern").filter(|_| is_of(map, TEXTS)) {
            let text = pattern.as_str().ok_or("`pattern` is not a string")?;
            Regex::new(text).map_err(|_| "its regular expressions do not take a `pattern`")?;
            prepared.insert("pattern".to_owned(), pattern.clone());
        }
        prepared.extend(map.get("const").map(|only| match only {
            Value::String(text) => ("enum".to_owned(), vec![text.as_str()].into()),
            other => ("const".to_owned(), other.clone()),
        }));
        if let Some(values) = map.get("enum") {
            let listed = values.as_array().filter(|values| !values.is_empty());
            check_enum(listed.ok_or("an `enum` is not an array of values")?)?;
            prepared.insert("enum".to_owned(), values.clone());
        }
        Ok(())
    }

    /// Keywords with schemas, and the length of a list.
    fn nested(
        &mut self,
        map: &Map<String, Value>,
        depth: usize,
        prepared: &mut Map<String, Value>,
    ) -> Result<(), String> {
        for key in ["items", "additionalProperties"] {
            if let Some(schema) = map.get(key) {
                prepared.insert(key.to_owned(), self.schema(schema, depth + 1)?);
            }
        }
        let length =
            map.get("minItems").filter(|least| map.contains_key("items") && map.get("maxItems") == Some(least));
        if let Some(length) = length.and_then(Value::as_u64).filter(|length| (1..=LONGEST_ARRAY).contains(length)) {
            prepared.extend(["minItems", "maxItems"].map(|key| (key.to_owned(), length.into())));
        }
        if let Some(properties) = map.get("properties") {
            let properties = properties.as_object().ok_or("`properties` is not an object")?;
            let mut each = Map::new();
            for (name, schema) in properties {
                if schema == &Value::Bool(false) {
                    return Err(format!("the property {name:?} can have no value"));
                }
                each.insert(name.clone(), self.schema(schema, depth + 1)?);
            }
            prepared.insert("properties".to_owned(), Value::Object(each));
        }
        for key in UNIONS {
            let Some(branches) = map.get(key) else { continue };
            let branches = branches.as_array().filter(|branches| !branches.is_empty());
            let branches = branches.ok_or_else(|| format!("`{key}` is not an array of schemas"))?.iter();
            let branches: Result<Value, String> = branches.map(|branch| self.schema(branch, depth + 1)).collect();
            prepared.insert(key.to_owned(), branches?);
        }
        Ok(())
    }
}

/// Returns `true` if a schema declares one of these types.
fn is_of(map: &Map<String, Value>, kinds: &[&str]) -> bool {
    let is_one = |kind: &Value| kind.as_str().is_some_and(|kind| kinds.contains(&kind));
    match map.get("type") {
        Some(Value::Array(several)) => several.iter().any(is_one),
        Some(kind) => is_one(kind),
        None => false,
    }
}

/// Returns `true` if a keyword beside `$ref` says more than the reference.
fn matters(key: &str) -> bool {
    CARRIED.iter().any(|(carried, _)| *carried == key)
        || [BEYOND_TYPIFY, ASSERTIONS, &UNIONS].iter().any(|keywords| keywords.contains(&key))
}

/// Checks an enum. typify takes enums of strings and `null`, and panics if two values have no distinct names.
fn check_enum(values: &[Value]) -> Result<(), String> {
    if !values.iter().all(|value| value.is_string() || value.is_null()) {
        return Err("an `enum` has values that are not strings".to_owned());
    }
    let mut names = HashSet::new();
    let mut texts = values.iter().filter_map(Value::as_str).map(reduced);
    if !texts.all(|name| !name.is_empty() && names.insert(name)) {
        return Err("it has no names for the values of an `enum`".to_owned());
    }
    Ok(())
}

/// Returns a name without all that case conversion may lose.
fn reduced(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Through lists, rustc sees four types for each level, and it follows 128; rustdoc follows fewer.
const DEEPEST_TYPES: usize = 16;
/// Schemas are followed this far, through references too.
const DEEPEST_WALK: usize = 4 * DEEPEST_TYPES;
const TOO_DEEP: &str = "its types would nest too deep";

/// Fails if typify would get a prepared document wrong: if it would panic at references or follow them forever, if types
/// nest too deep, or if different schemas would get the same name, which it would treat as one type.
pub(super) fn check_conflicts(definitions: &Definitions) -> Result<(), String> {
    let mut walk = Walk { definitions, levels: HashMap::new(), names: HashMap::new(), bare: HashMap::new() };
    for (name, definition) in definitions {
        if walk.schema(definition, &reduced(name), Some(name), 0)? > DEEPEST_TYPES {
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

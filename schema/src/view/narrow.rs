//! Schemas without an argument: the schema of the other arguments, for calls that always or never have it.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::values::check;

/// References within a schema are followed this far.
const DEEPEST: usize = 16;
/// The keywords whose schemas all apply to the same value.
const ALL: &str = "allOf";
const CHOICES: [&str; 2] = ["anyOf", "oneOf"];
const COMBINATIONS: [&str; 3] = [ALL, "anyOf", "oneOf"];

/// A change of a schema; an error says why no value is valid then.
type SchemaChange<'c> = &'c dyn Fn(&mut Map<String, Value>) -> Result<(), String>;

/// The whole `inputSchema`, for references.
pub(super) struct Narrowing<'s> {
    pub(super) whole: &'s Map<String, Value>,
    pub(super) argument: &'s str,
    /// The value that every call has; `None` if no call has the argument.
    pub(super) sent: Option<&'s Value>,
}

impl Narrowing<'_> {
    /// Takes the argument out of a schema of arguments.
    ///
    /// # Errors
    /// Fails if no call is valid then, with the reason.
    pub(super) fn take_out_of(&self, schema: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        if let Some(Value::Object(properties)) = schema.get_mut("properties")
            && let Some(declared) = properties.shift_remove(self.argument)
            && let Some(value) = self.sent
        {
            self.check(declared, value)?;
        }
        self.required(schema)?;
        self.dependent(schema, depth)?;
        if self.sent.is_some() {
            for bound in ["minProperties", "maxProperties"] {
                if let Some(count) = schema.get(bound).and_then(Value::as_u64) {
                    schema.insert(bound.to_owned(), count.saturating_sub(1).into());
                }
            }
        }
        if depth < DEEPEST {
            self.applied(schema, depth + 1)?;
        }
        Ok(())
    }

    /// Checks the value against a declaration, beside the definitions of the whole schema.
    fn check(&self, declared: Value, value: &Value) -> Result<(), String> {
        let mut alone = self.whole.clone();
        for keyword in [ALL, "anyOf", "oneOf", "not", "if", "then", "else", "$ref", "required"] {
            alone.shift_remove(keyword);
        }
        alone.insert("type".to_owned(), "object".into());
        if let Value::Object(properties) = alone.entry("properties").or_insert_with(|| Map::new().into()) {
            properties.insert(self.argument.to_owned(), declared);
        }
        check(&Value::Object(alone), self.argument, value)
    }

    fn required(&self, schema: &mut Map<String, Value>) -> Result<(), String> {
        let Some(Value::Array(required)) = schema.get_mut("required") else { return Ok(()) };
        let before = required.len();
        required.retain(|key| key.as_str() != Some(self.argument));
        if before == required.len() {
            return Ok(());
        }
        if required.is_empty() {
            schema.shift_remove("required");
        }
        self.sent.map(drop).ok_or_else(|| "it is required".to_owned())
    }

    /// Handles `dependentRequired`, `dependentSchemas`, and `dependencies`, which combines both.
    fn dependent(&self, schema: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        let mut entries = Vec::new();
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            if let Some(Value::Object(table)) = schema.shift_remove(keyword) {
                entries.extend(table);
            }
        }
        for (key, mut needs) in entries {
            let is_own = key == self.argument;
            if is_own && self.sent.is_none() {
                continue;
            }
            match &mut needs {
                Value::Array(names) => {
                    let before = names.len();
                    names.retain(|name| name.as_str() != Some(self.argument));
                    if is_own {
                        require(schema, names);
                    } else if self.sent.is_none() && names.len() < before {
                        // A property that needs an unsendable argument is unsendable too.
                        needs = Value::Bool(false);
                    }
                }
                Value::Object(inner) => {
                    let outcome = self.take_out_of(inner, depth + 1);
                    if is_own {
                        outcome?;
                        add(schema, std::mem::take(inner));
                    } else if outcome.is_err() {
                        needs = Value::Bool(false);
                    }
                }
                _ => {}
            }
            if is_own {
                continue;
            }
            let keyword = if needs.is_array() { "dependentRequired" } else { "dependentSchemas" };
            let table = schema.entry(keyword).or_insert_with(|| Map::new().into());
            // An unsendable property stays one, whatever another table says.
            if let Value::Object(table) = table
                && table.get(&key) != Some(&Value::Bool(false))
            {
                table.insert(key, needs);
            }
        }
        Ok(())
    }

    /// Removes the argument from the schemas that apply to the same value.
    fn applied(&self, schema: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        if let Some(Value::Array(all)) = schema.get_mut(ALL) {
            for part in all.iter_mut().filter_map(Value::as_object_mut) {
                self.take_out_of(part, depth)?;
            }
        }
        for keyword in CHOICES {
            let Some(Value::Array(branches)) = schema.get_mut(keyword) else { continue };
            let mut reason = Ok(());
            branches.retain_mut(|branch| {
                let outcome = branch.as_object_mut().map_or(Ok(()), |branch| self.take_out_of(branch, depth));
                let is_possible = outcome.is_ok();
                // The first error is kept.
                if reason.is_ok() {
                    reason = outcome;
                }
                is_possible
            });
            if branches.is_empty() {
                reason?;
            }
        }
        if let Some(Value::Object(negated)) = schema.get_mut("not")
            && self.take_out_of(negated, depth).is_err()
        {
            schema.shift_remove("not");
        }
        for keyword in ["if", "then", "else"] {
            if let Some(Value::Object(branch)) = schema.get_mut(keyword)
                && self.take_out_of(branch, depth).is_err()
            {
                schema.insert(keyword.to_owned(), Value::Bool(false));
            }
        }
        self.reference(schema, &|inner| self.take_out_of(inner, depth))
    }

    /// Puts a definition that speaks of the argument in the place of its reference, changed.
    fn reference(&self, schema: &mut Map<String, Value>, change: SchemaChange<'_>) -> Result<(), String> {
        let Some(target) = self.target(schema) else { return Ok(()) };
        let mut inner = target.clone();
        change(&mut inner)?;
        if inner != *target {
            schema.shift_remove("$ref");
            add(schema, inner);
        }
        Ok(())
    }

    /// Returns the schema that another one refers to.
    fn target(&self, schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
        let target = schema.get("$ref")?.as_str()?;
        let mut segments = target.strip_prefix("#/")?.split('/').map(|part| part.replace("~1", "/").replace("~0", "~"));
        let first = self.whole.get(&segments.next()?)?;
        segments.try_fold(first, |value, segment| value.get(segment))?.as_object()
    }

    /// Adds the names of declared arguments. Each schema is visited once, because they can refer to each other.
    fn names(
        &self,
        schema: &Map<String, Value>,
        depth: usize,
        seen: &mut HashSet<*const Map<String, Value>>,
        names: &mut Vec<String>,
    ) {
        if !seen.insert(std::ptr::from_ref(schema)) {
            return;
        }
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for key in properties.keys() {
                if !names.contains(key) {
                    names.push(key.clone());
                }
            }
        }
        if depth == DEEPEST {
            return;
        }
        let mut parts = Vec::new();
        for keyword in COMBINATIONS {
            if let Some(Value::Array(list)) = schema.get(keyword) {
                parts.extend(list);
            }
        }
        parts.extend(schema.get("then"));
        parts.extend(schema.get("else"));
        if let Some(Value::Object(dependent)) = schema.get("dependentSchemas") {
            parts.extend(dependent.values());
        }
        for inner in parts.into_iter().filter_map(Value::as_object) {
            self.names(inner, depth + 1, seen, names);
        }
        if let Some(target) = self.target(schema) {
            self.names(target, depth + 1, seen, names);
        }
    }

    /// Takes the argument out of `required` wherever the arguments are described: there is a default for it.
    pub(super) fn relax(&self, schema: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        self.required(schema)?;
        if depth == DEEPEST {
            return Ok(());
        }
        for keyword in COMBINATIONS {
            let Some(Value::Array(parts)) = schema.get_mut(keyword) else { continue };
            for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                self.relax(part, depth + 1)?;
            }
        }
        self.reference(schema, &|inner| self.relax(inner, depth + 1))
    }
}

/// Requires some properties.
fn require(schema: &mut Map<String, Value>, names: &[Value]) {
    if let Value::Array(required) = schema.entry("required").or_insert_with(|| Value::Array(Vec::new())) {
        let mut new = names.to_vec();
        new.retain(|name| !required.contains(name));
        required.append(&mut new);
    }
}

/// Adds a schema that holds too.
fn add(schema: &mut Map<String, Value>, more: Map<String, Value>) {
    if more.is_empty() {
        return;
    }
    if let Value::Array(all) = schema.entry(ALL).or_insert_with(|| Value::Array(Vec::new())) {
        all.push(more.into());
    }
}

/// Returns the arguments that a schema declares, in its own properties and in those of the schemas that apply beside it.
///
/// ```
/// let schema = serde_json::json!({ "properties": { "owner": {} }, "allOf": [{ "properties": { "repo": {} } }] });
/// let schema = schema.as_object().cloned().unwrap_or_default();
/// assert_eq!(mcp_bindgen_schema::declared_arguments(&schema), ["owner", "repo"]);
/// ```
#[must_use]
pub fn declared_arguments(whole: &Map<String, Value>) -> Vec<String> {
    let mut names = Vec::new();
    let reading = Narrowing { whole, argument: "", sent: None };
    reading.names(whole, 0, &mut HashSet::new(), &mut names);
    names
}

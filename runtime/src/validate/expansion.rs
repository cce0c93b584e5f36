//! How often a schema is applied to one place of a value. Every `allOf` of two references doubles it, so that a small
//! hostile schema would keep a validator busy for years.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use super::UnusableSchema;
use super::mend::Reference;

const MOST_APPLICATIONS: u64 = 100_000;
const LONGEST_CHAIN: usize = 1_000;

/// Refuses a schema that is applied too often to one place, or by way of too many references.
pub(super) fn check(root: &Value, references: &[Reference]) -> Result<(), UnusableSchema> {
    let mut counter = Counter { root, counted: HashMap::new() };
    let targets = references.iter().filter_map(|reference| root.pointer(&reference.local_pointer()?));
    for schema in targets.chain([root]) {
        if counter.applications(schema, 0) > MOST_APPLICATIONS {
            return Err(UnusableSchema::new(
                "",
                format!("the schema applies to one value more than {MOST_APPLICATIONS} times"),
            ));
        }
    }
    Ok(())
}

struct Counter<'a> {
    root: &'a Value,
    /// By where a schema lies; nothing while it is being counted.
    counted: HashMap<*const Value, Option<u64>>,
}

impl<'a> Counter<'a> {
    fn applications(&mut self, schema: &'a Value, depth: usize) -> u64 {
        if depth > LONGEST_CHAIN {
            return u64::MAX;
        }
        match self.counted.get(&ptr::from_ref(schema)) {
            Some(Some(count)) => return *count,
            // A schema that leads back to itself is not applied again.
            Some(None) => return 0,
            None => self.counted.insert(ptr::from_ref(schema), None),
        };
        let count = self
            .applied_beside(schema)
            .into_iter()
            .fold(1, |count: u64, inner| count.saturating_add(self.applications(inner, depth + 1)));
        self.counted.insert(ptr::from_ref(schema), Some(count));
        count
    }

    /// The schemas that are applied to the same value.
    fn applied_beside(&self, schema: &'a Value) -> Vec<&'a Value> {
        let Value::Object(map) = schema else { return Vec::new() };
        let mut beside = Vec::new();
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => beside.extend(branches),
                ("not" | "if" | "then" | "else", branch) => beside.push(branch),
                ("dependentSchemas" | "dependencies", Value::Object(branches)) => beside.extend(branches.values()),
                ("$ref", Value::String(target)) => {
                    beside.extend(Reference::local(target).and_then(|to| self.root.pointer(&to)))
                }
                _ => {}
            }
        }
        beside
    }
}

//! The schemas of a place in a value, as far as the comparison of values needs them.

use serde_json::{Map, Value};

use crate::references::resolve;

/// Deep enough for real schemas; a `$ref` that leads back to itself ends here.
const DEEPEST: usize = 24;

/// The subschemas that a place in a value is under: one, or several through `anyOf` and the like.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    root: &'a Value,
    schemas: Vec<&'a Value>,
}

impl<'a> Place<'a> {
    /// The whole value.
    #[must_use]
    pub fn root(schema: &'a Value) -> Self {
        Self { root: schema, schemas: vec![schema] }
    }

    /// A place under other schemas of the same document.
    #[must_use]
    pub fn beside(&self, schemas: &[&'a Value]) -> Self {
        Self { root: self.root, schemas: schemas.to_vec() }
    }

    /// The declared property of that name, where there is one.
    #[must_use]
    pub fn declared(&self, key: &str) -> Option<Self> {
        let schemas: Vec<_> = self
            .alternatives()
            .into_iter()
            .filter_map(|schema| schema.get("properties")?.as_object()?.get(key))
            .collect();
        (!schemas.is_empty()).then_some(Self { root: self.root, schemas })
    }

    /// The property of that name, declared or not.
    #[must_use]
    pub fn property(&self, key: &str) -> Self {
        self.declared(key).unwrap_or_else(|| self.under(&["additionalProperties"]))
    }

    /// The item at that index.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        let mut tuples = self.under(&["prefixItems", "items"]);
        tuples.schemas = tuples.schemas.iter().filter_map(|tuple| tuple.as_array()?.get(index)).collect();
        if tuples.schemas.is_empty() { self.under(&["items", "additionalItems"]) } else { tuples }
    }

    /// Returns `true` if `null` is allowed here.
    #[must_use]
    pub fn allows_null(&self) -> bool {
        self.schemas.iter().any(|schema| allows_null(self.root, schema, DEEPEST))
    }

    /// Returns `true` if null means the same as absent: nullable, with null as its default.
    #[must_use]
    pub fn defaults_to_null(&self) -> bool {
        let defaults = |schema: &&Value| schema.get("default") == Some(&Value::Null);
        self.schemas.iter().any(defaults) && self.allows_null()
    }

    /// Returns `true` if a value here is one of several alternatives.
    #[must_use]
    pub fn is_union(&self) -> bool {
        self.alternatives().iter().any(|schema| ["anyOf", "oneOf"].iter().any(|key| schema.get(key).is_some()))
    }

    fn under(&self, keywords: &[&str]) -> Self {
        let find = |schema: &'a Value| keywords.iter().filter_map(move |keyword| schema.get(keyword));
        Self { root: self.root, schemas: self.alternatives().into_iter().flat_map(find).collect() }
    }

    /// The schemas and all that they refer to, combine or choose from.
    #[must_use]
    pub fn alternatives(&self) -> Vec<&'a Value> {
        let mut found = Vec::new();
        for schema in &self.schemas {
            collect(self.root, schema, DEEPEST, &mut found);
        }
        found
    }
}

fn collect<'a>(root: &'a Value, schema: &'a Value, depth: usize, found: &mut Vec<&'a Value>) {
    if depth == 0 || found.iter().any(|known| std::ptr::eq(*known, schema)) {
        return;
    }
    found.push(schema);
    let Value::Object(members) = schema else { return };
    if let Some(target) = reference(root, members) {
        collect(root, target, depth - 1, found);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in members.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            collect(root, branch, depth - 1, found);
        }
    }
}

fn reference<'a>(root: &'a Value, members: &Map<String, Value>) -> Option<&'a Value> {
    Some(resolve(root, members.get("$ref")?.as_str()?)?.1)
}

fn allows_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let Value::Object(members) = schema else { return schema == &Value::Bool(true) };
    if depth == 0 {
        return false;
    }
    let branches = |keyword: &str| members.get(keyword).and_then(Value::as_array);
    let allows = |branch: &Value| allows_null(root, branch, depth - 1);
    let by_type = match members.get("type") {
        Some(Value::String(kind)) => kind == "null" || members.get("nullable") == Some(&Value::Bool(true)),
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
        _ => true,
    };
    by_type
        && members.get("const").is_none_or(Value::is_null)
        && branches("enum").is_none_or(|values| values.contains(&Value::Null))
        && branches("anyOf").is_none_or(|branches| branches.iter().any(allows))
        && branches("oneOf").is_none_or(|branches| branches.iter().any(allows))
        && branches("allOf").is_none_or(|branches| branches.iter().all(allows))
        && reference(root, members).is_none_or(allows)
}

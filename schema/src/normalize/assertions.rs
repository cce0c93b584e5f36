//! The assertions of a schema beyond its [`Node`](super::Node): keywords that types do not express. They are read on
//! demand, because only comparisons need them.

use serde_json::{Map, Value};

use super::scalars::{Scalars, whole};
use super::{SchemaId, Schemas};
use crate::bundle::{Draft, below, lookup};
use crate::diagnostics::Reporter;

/// The assertions of one schema.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Assertions {
    pub(crate) scalars: Scalars,
    /// Only in the dialects in which `format` asserts something.
    pub(crate) format: Option<String>,
    pub(crate) unique_items: bool,
    pub(crate) contains: Option<Contains>,
    pub(crate) min_properties: Option<u64>,
    pub(crate) max_properties: Option<u64>,
    pub(crate) patterns: Vec<(String, SchemaId)>,
    pub(crate) property_names: Option<SchemaId>,
    pub(crate) dependent_required: Vec<(String, Vec<String>)>,
    pub(crate) dependent_schemas: Vec<(String, SchemaId)>,
    pub(crate) not: Option<SchemaId>,
    pub(crate) condition: Option<Condition>,
    /// `unevaluatedProperties`, if only the schema's own keywords evaluate properties.
    pub(crate) others: Option<SchemaId>,
    /// `unevaluatedProperties` and `unevaluatedItems`, which depend on everything beside them, as JSON text.
    pub(crate) unevaluated: Option<String>,
    /// A reference that is not followed.
    pub(crate) unresolved: Option<String>,
}

/// `contains`, with how many items have to match.
#[derive(Debug, PartialEq)]
pub(crate) struct Contains {
    pub(crate) schema: SchemaId,
    pub(crate) least: u64,
    pub(crate) most: Option<u64>,
}

/// `if`, `then` and `else`.
#[derive(Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) test: SchemaId,
    pub(crate) then: Option<SchemaId>,
    pub(crate) otherwise: Option<SchemaId>,
}

impl<'a> Schemas<'a> {
    /// Returns the assertions of every schema, in the order of their numbers. Schemas that only assertions hold get
    /// their numbers now.
    pub(crate) fn assertions(&mut self) -> Vec<Assertions> {
        let mut all = Vec::new();
        while let Some(node) = self.nodes.get(all.len()) {
            let pointer = node.pointer.clone();
            let id = SchemaId(all.len());
            let assertions = match self.source(id) {
                Some(map) => self.assertions_of(id, map, &pointer),
                None => Assertions::default(),
            };
            all.push(assertions);
        }
        all
    }

    fn assertions_of(&mut self, id: SchemaId, map: &'a Map<String, Value>, pointer: &str) -> Assertions {
        let mut found = Assertions::default();
        let draft = self.bundle.draft;
        let mut references = ["$ref", "$dynamicRef", "$recursiveRef"].iter().filter(|key| draft.refers_by(key));
        let is_reference = references.find_map(|key| lookup(map, key));
        if let (Some(reference), None) = (is_reference, self.get(id).reference) {
            found.unresolved = Some(reference.to_string());
        }
        if draft.ref_stands_alone() && lookup(map, "$ref").is_some_and(Value::is_string) {
            return found;
        }
        let count = |key: &str| lookup(map, key).and_then(whole);
        found.scalars = Scalars::of(map, draft);
        (found.min_properties, found.max_properties) = (count("minProperties"), count("maxProperties"));
        let text = |key: &str| lookup(map, key).and_then(Value::as_str).map(str::to_owned);
        found.format = text("format").filter(|_| draft.ref_stands_alone());
        found.unique_items = lookup(map, "uniqueItems") == Some(&Value::Bool(true));
        // Validators of older dialects do not know the keywords that came after draft 7.
        let is_newer = !draft.ref_stands_alone();
        found.dependent_required = dependent_required(map, is_newer);
        if draft >= Draft::D6 {
            found.contains = self.child(map, pointer, "contains").map(|schema| Contains {
                schema,
                least: count("minContains").filter(|_| is_newer).unwrap_or(1),
                most: count("maxContains").filter(|_| is_newer),
            });
            found.property_names = self.child(map, pointer, "propertyNames");
        }
        if let Some(test) = self.child(map, pointer, "if").filter(|_| draft >= Draft::D7) {
            let (then, otherwise) = (self.child(map, pointer, "then"), self.child(map, pointer, "else"));
            found.condition = Some(Condition { test, then, otherwise });
        }
        found.patterns = self.children_named(map, pointer, "patternProperties");
        // Draft 2019-09 split `dependencies` into `dependentSchemas` and `dependentRequired`.
        let dependent = if is_newer { "dependentSchemas" } else { "dependencies" };
        found.dependent_schemas = self.children_named(map, pointer, dependent);
        found.not = self.child(map, pointer, "not");
        let unevaluated: Map<String, Value> = ["unevaluatedProperties", "unevaluatedItems"]
            .into_iter()
            .filter(|_| is_newer)
            .filter_map(|key| Some((key.to_owned(), lookup(map, key)?.clone())))
            .collect();
        if unevaluated.len() == 1 && self.get(id).stands_alone() {
            found.others = self.child(map, pointer, "unevaluatedProperties");
        }
        let unevaluated = if found.others.is_some() { Map::new() } else { unevaluated };
        found.unevaluated = (!unevaluated.is_empty()).then(|| Value::Object(unevaluated).to_string());
        found
    }

    fn child(&mut self, map: &'a Map<String, Value>, pointer: &str, keyword: &str) -> Option<SchemaId> {
        let value = lookup(map, keyword).filter(|value| value.is_object() || value.is_boolean())?;
        Some(self.at(format!("{pointer}/{keyword}"), value))
    }

    fn children_named(&mut self, map: &'a Map<String, Value>, pointer: &str, keyword: &str) -> Vec<(String, SchemaId)> {
        let Some(Value::Object(entries)) = lookup(map, keyword) else { return Vec::new() };
        let schemas = entries.iter().filter(|(_, schema)| schema.is_object() || schema.is_boolean());
        let place = below(pointer, keyword);
        schemas.map(|(name, schema)| (name.clone(), self.at(below(&place, name), schema))).collect()
    }

    /// Normalizes the schema at a pointer, and all schemas below it.
    fn at(&mut self, pointer: String, value: &'a Value) -> SchemaId {
        // Errors in the document were already reported.
        let mut unheard = Reporter::new("", 0, "");
        let id = self.reserve(pointer, value, &mut unheard);
        self.normalize_pending(&mut unheard);
        id
    }
}

fn dependent_required(map: &Map<String, Value>, is_newer: bool) -> Vec<(String, Vec<String>)> {
    let table = lookup(map, if is_newer { "dependentRequired" } else { "dependencies" }).and_then(Value::as_object);
    let entries = table.into_iter().flatten().filter_map(|(key, names)| {
        let names = names.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned);
        Some((key.clone(), names.collect()))
    });
    entries.collect()
}

impl Assertions {
    /// Returns `true` if there are no assertions.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::Deref for Assertions {
    type Target = Scalars;

    fn deref(&self) -> &Scalars {
        &self.scalars
    }
}

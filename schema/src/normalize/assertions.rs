//! The assertions of a schema beyond its [`Node`](super::Node): keywords that types do not express. They are read on
//! demand, because only comparisons need them.

use serde_json::{Map, Value};

use super::keywords::texts_in;
use super::scalars::{Scalars, whole};
use super::{Kinds, Node, Reading, SchemaId, Schemas};
use crate::bundle::{Draft, lookup};
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

impl Schemas<'_> {
    /// Returns the assertions of every schema, in the order of their numbers. Schemas that only assertions hold get
    /// their numbers now.
    pub(crate) fn assertions(&mut self) -> Vec<Assertions> {
        // Errors in the document were already reported.
        let mut unheard = Reporter::new("", 0, "");
        let mut all = Vec::new();
        while let Some(node) = self.nodes.get(all.len()) {
            let (id, pointer) = (SchemaId(all.len()), node.pointer.clone());
            all.push(match self.source(id) {
                Some(map) => Reading { schemas: self, map, pointer: &pointer, reporter: &mut unheard }.assertions(id),
                None => Assertions::default(),
            });
            self.normalize_pending(&mut unheard);
        }
        all
    }
}

impl Reading<'_, '_> {
    fn assertions(mut self, id: SchemaId) -> Assertions {
        let (map, draft) = (self.map, self.draft());
        let mut references = ["$ref", "$dynamicRef", "$recursiveRef"].iter().filter(|key| draft.refers_by(key));
        let reference = references.find_map(|key| lookup(map, key));
        let unresolved = reference.filter(|_| !self.schemas.get(id).has_reference).map(Value::to_string);
        if draft.hides_siblings(map) {
            return Assertions { unresolved, ..Assertions::default() };
        }
        let count = |key: &str| lookup(map, key).and_then(whole);
        // Validators of older dialects do not know the keywords that came after draft 7.
        let is_newer = !draft.ref_stands_alone();
        let mut found = Assertions {
            scalars: Scalars::of(map, draft),
            format: lookup(map, "format").and_then(Value::as_str).filter(|_| !is_newer).map(str::to_owned),
            unique_items: lookup(map, "uniqueItems") == Some(&Value::Bool(true)),
            contains: self.since(Draft::D6, "contains").map(|schema| Contains {
                schema,
                least: count("minContains").filter(|_| is_newer).unwrap_or(1),
                most: count("maxContains").filter(|_| is_newer),
            }),
            min_properties: count("minProperties"),
            max_properties: count("maxProperties"),
            property_names: self.since(Draft::D6, "propertyNames"),
            condition: self.since(Draft::D7, "if").map(|test| Condition {
                test,
                then: self.one("then"),
                otherwise: self.one("else"),
            }),
            patterns: self.named("patternProperties"),
            // Draft 2019-09 split `dependencies` into `dependentSchemas` and `dependentRequired`.
            dependent_schemas: self.named(if is_newer { "dependentSchemas" } else { "dependencies" }),
            dependent_required: dependent_required(map, is_newer),
            not: self.one("not"),
            others: None,
            unevaluated: None,
            unresolved,
        };
        let keywords = ["unevaluatedProperties", "unevaluatedItems"].into_iter().filter(|_| is_newer);
        let unevaluated: Map<String, Value> =
            keywords.filter_map(|key| Some((key.to_owned(), lookup(map, key)?.clone()))).collect();
        if unevaluated.len() == 1 && self.schemas.get(id).stands_alone() {
            found.others = self.one("unevaluatedProperties");
        }
        if found.others.is_none() && !unevaluated.is_empty() {
            found.unevaluated = Some(Value::Object(unevaluated).to_string());
        }
        found
    }
}

fn dependent_required(map: &Map<String, Value>, is_newer: bool) -> Vec<(String, Vec<String>)> {
    let mut entries = Vec::new();
    if let Some(Value::Object(table)) = lookup(map, if is_newer { "dependentRequired" } else { "dependencies" }) {
        for (key, names) in table {
            if let Value::Array(names) = names {
                entries.push((key.clone(), texts_in(names).into_iter().map(str::to_owned).collect()));
            }
        }
    }
    entries
}

impl Assertions {
    /// Returns assertions on numbers, strings, arrays and objects that hold no schemas, under their names in 2020-12,
    /// each with the kinds that it restricts. Each entry of `dependentRequired` is a pair of its key and the keys that
    /// it requires.
    pub(crate) fn keywords(&self, node: &Node) -> Vec<(Kinds, &'static str, Value)> {
        let mut said = Vec::new();
        for (keyword, value) in self.of_numbers() {
            said.push((Kinds::NUMBER, keyword, value));
        }
        for (keyword, value) in self.of_texts() {
            said.push((Kinds::STRING, keyword, value));
        }
        for (keyword, count) in node.of_lists() {
            said.push((Kinds::ARRAY, keyword, count));
        }
        said.extend(self.unique_items.then(|| (Kinds::ARRAY, "uniqueItems", true.into())));
        let least = self.min_properties.filter(|least| *least > 0);
        said.extend(least.map(|least| (Kinds::OBJECT, "minProperties", least.into())));
        said.extend(self.max_properties.map(|most| (Kinds::OBJECT, "maxProperties", most.into())));
        for (key, needs) in &self.dependent_required {
            let value = Value::Array(vec![key.as_str().into(), needs.clone().into()]);
            said.push((Kinds::OBJECT, "dependentRequired", value));
        }
        said
    }

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

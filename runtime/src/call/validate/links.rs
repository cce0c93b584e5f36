//! The schemas of a document that can apply to a value, and the targets of their references.

use std::collections::{HashMap, HashSet};
use std::ptr;

use mcp_bindgen_schema::{Bundle, Draft, Target, below, subschemas};
use serde_json::Value;

use super::UnusableSchema;

const DEEPEST: usize = 256;
/// The beginnings of the documents that a validator knows.
const META_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];
/// The keywords whose schemas apply to the same value.
const BESIDE: [&str; 9] = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// A schema of a document. Other schemas are named by their indexes.
pub(super) struct Schema<'a> {
    pub(super) value: &'a Value,
    pub(super) pointer: String,
    /// The keyword and the target of each reference.
    pub(super) references: Vec<(&'static str, usize)>,
    /// The schemas that apply to the same value, those behind references too.
    pub(super) beside: Vec<usize>,
}

pub(super) struct Links<'a> {
    pub(super) draft: Draft,
    /// The root, and every schema that it leads to.
    pub(super) schemas: Vec<Schema<'a>>,
    /// The indexes of the schemas, by their addresses.
    indexes: HashMap<*const Value, usize>,
    /// The schemas that others refer to.
    pub(super) targets: HashSet<usize>,
    /// `true` if the target of a reference depends on the path that leads to the reference.
    pub(super) are_dynamic: bool,
}

impl<'a> Links<'a> {
    /// Follows every reference of a document, except in definitions that nothing refers to.
    ///
    /// # Errors
    /// Fails if a reference leads nowhere or out of the document, or the document is too deep.
    pub(super) fn of(root: &'a Value) -> Result<Self, UnusableSchema> {
        let bundle = Bundle::new(root);
        let (schemas, indexes, targets) = (Vec::new(), HashMap::new(), HashSet::new());
        let mut links = Self { draft: bundle.draft, schemas, indexes, targets, are_dynamic: false };
        links.add(root, String::new());
        let mut next = 0;
        while let Some(schema) = links.schemas.get(next) {
            let (value, pointer) = (schema.value, schema.pointer.clone());
            let followed = links.follow(&bundle, value, pointer)?;
            links.targets.extend(followed.references.iter().map(|(_, target)| *target));
            if let Some(schema) = links.schemas.get_mut(next) {
                *schema = followed;
            }
            next += 1;
        }
        Ok(links)
    }

    /// Returns the index of a schema, and what is known about it.
    pub(super) fn find(&self, value: &Value) -> Option<(usize, &Schema<'a>)> {
        let index = *self.indexes.get(&ptr::from_ref(value))?;
        Some((index, self.schemas.get(index)?))
    }

    /// Returns `true` if a schema is only its `$ref`, as up to draft 7.
    pub(super) fn is_reference(&self, schema: &Value) -> bool {
        self.draft.ref_stands_alone() && schema.get("$ref").is_some_and(Value::is_string)
    }

    fn add(&mut self, value: &'a Value, pointer: String) -> usize {
        let next = self.schemas.len();
        let index = *self.indexes.entry(ptr::from_ref(value)).or_insert(next);
        if index == next {
            let (references, beside) = (Vec::new(), Vec::new());
            self.schemas.push(Schema { value, pointer, references, beside });
        }
        index
    }

    /// Adds the schemas that a schema holds or refers to, and returns it with their indexes.
    fn follow(
        &mut self,
        bundle: &Bundle<'a>,
        value: &'a Value,
        mut pointer: String,
    ) -> Result<Schema<'a>, UnusableSchema> {
        let (mut references, mut beside) = (Vec::new(), Vec::new());
        let Value::Object(map) = value else { return Ok(Schema { value, pointer, references, beside }) };
        if pointer.matches('/').count() > DEEPEST {
            return Err(UnusableSchema::new(pointer, format!("the schema is more than {DEEPEST} levels deep")));
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let reference = map.get(keyword).and_then(Value::as_str).filter(|_| self.draft.refers_by(keyword));
            let Some(reference) = reference else { continue };
            let target = match keyword {
                "$ref" => Some(bundle.resolve(&pointer, reference)),
                "$dynamicRef" => bundle.resolve_dynamic(&pointer, reference),
                _ => None,
            };
            match target {
                Some(Target::Here(target)) => {
                    let target = bundle.at(&target).map(|value| self.add(value, target));
                    references.extend(target.map(|target| (keyword, target)));
                    beside.extend(target);
                }
                Some(Target::Elsewhere) if META_SCHEMAS.iter().any(|known| reference.starts_with(known)) => {}
                Some(_) => {
                    let message =
                        format!("`{reference}` does not exist in this document, and other documents are never fetched");
                    return Err(UnusableSchema::new(below(&pointer, keyword), message));
                }
                None => {
                    self.are_dynamic = true;
                    let candidates = bundle.candidates(&pointer, reference).into_iter();
                    beside.extend(candidates.filter_map(|target| Some(self.add(bundle.at(&target)?, target))));
                }
            }
        }
        if !self.is_reference(value) {
            subschemas(map, &mut pointer, &mut |keyword, inner, pointer| {
                if !["$defs", "definitions"].contains(&keyword) {
                    let inner = self.add(inner, pointer.clone());
                    beside.extend(BESIDE.contains(&keyword).then_some(inner));
                }
            });
        }
        Ok(Schema { value, pointer, references, beside })
    }
}

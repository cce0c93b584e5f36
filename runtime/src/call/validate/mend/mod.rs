//! Repairs schemas of servers so that a validator accepts them: invalid keywords are removed and reported, and
//! keywords of other versions of JSON Schema are translated.

mod keywords;

use std::collections::HashSet;

use jsonschema::Draft;
use serde_json::{Map, Value, json};

pub(super) use self::keywords::{Form, form};
use super::violation::brief;
use super::{Skipped, UnusableSchema, dialect};
use crate::ground::percent;

const DEEPEST: usize = 256;
const LONGEST_VALUE: usize = 80;

/// A function that returns `true` if a validator accepts a schema.
pub(super) type Probe = fn(Draft, &Value) -> bool;

/// A schema that a validator may take.
#[derive(Debug)]
pub(super) struct Mended {
    pub(super) schema: Value,
    pub(super) skipped: Vec<Skipped>,
    pub(super) references: Vec<Reference>,
}

/// Mends a schema. With a probe, every keyword is tried separately; without one, only the form of the schema is
/// checked.
pub(super) fn mend(schema: &Value, draft: Draft, probe: Option<Probe>) -> Result<Mended, UnusableSchema> {
    let mut mender = Mender { probe, skipped: Vec::new(), references: Vec::new(), seen: HashSet::new() };
    let mut root = mender.schema(schema, &Place { pointer: String::new(), draft, depth: 0 })?;
    let mut followed = 0;
    while let Some(reference) = mender.references.get(followed) {
        followed += 1;
        let Some(pointer) = reference.local_pointer().filter(|pointer| !mender.seen.contains(pointer)) else {
            continue;
        };
        // A reference may lead to a place at which no keyword expects a schema.
        if let Some(target) = root.pointer(&pointer).cloned() {
            let depth = pointer.matches('/').count();
            let mended = mender.schema(&target, &Place { pointer: pointer.clone(), draft, depth })?;
            if let Some(place) = root.pointer_mut(&pointer) {
                *place = mended;
            }
        }
    }
    if let Value::Object(map) = &mut root {
        map.insert("$schema".to_owned(), dialect::uri(draft).into());
    }
    Ok(Mended { schema: root, skipped: mender.skipped, references: mender.references })
}

struct Mender {
    probe: Option<Probe>,
    skipped: Vec<Skipped>,
    references: Vec<Reference>,
    seen: HashSet<String>,
}

struct Place {
    pointer: String,
    draft: Draft,
    depth: usize,
}

impl Place {
    fn child(&self, step: &str) -> Self {
        let step = mcp_bindgen_model::pointer_segment(step);
        Self { pointer: format!("{}/{step}", self.pointer), draft: self.draft, depth: self.depth + 1 }
    }
}

impl Mender {
    fn schema(&mut self, value: &Value, place: &Place) -> Result<Value, UnusableSchema> {
        if place.depth > DEEPEST {
            return Err(UnusableSchema::new(&place.pointer, format!("the schema is more than {DEEPEST} levels deep")));
        }
        self.seen.insert(place.pointer.clone());
        match value {
            Value::Object(map) => self.object(map, place).map(Value::Object),
            Value::Bool(true) if place.draft == Draft::Draft4 => Ok(json!({})),
            Value::Bool(false) if place.draft == Draft::Draft4 => Ok(json!({ "not": {} })),
            Value::Bool(_) => Ok(value.clone()),
            _ => {
                self.skip(place, value, "a schema is an object, `true` or `false`");
                Ok(json!({}))
            }
        }
    }

    fn object(&mut self, map: &Map<String, Value>, place: &Place) -> Result<Map<String, Value>, UnusableSchema> {
        let own = if place.depth == 0 { None } else { dialect::named(map).filter(|_| map.contains_key("$id")) };
        let place = &Place { pointer: place.pointer.clone(), draft: own.unwrap_or(place.draft), depth: place.depth };
        let mut mended = Map::new();
        for (keyword, value) in map {
            if let Some(value) = self.keyword(map, keyword, value, place)? {
                mended.insert(keyword.clone(), value);
            }
        }
        if let Some(draft) = own {
            mended.insert("$schema".to_owned(), dialect::uri(draft).into());
        }
        keywords::translate(&mut mended, place.draft);
        self.loosen(map, &mut mended, place);
        Ok(mended)
    }

    fn keyword(
        &mut self,
        map: &Map<String, Value>,
        keyword: &str,
        value: &Value,
        place: &Place,
    ) -> Result<Option<Value>, UnusableSchema> {
        let here = place.child(keyword);
        let mended = match form(keyword) {
            // The keyword is added again where it is valid.
            Form::Dialect => return Ok(None),
            Form::Other => Some(value.clone()),
            Form::Value => return Ok(self.value(map, keyword, value, &here)),
            // The keyword does not restrict values, so removing it loses nothing.
            Form::Annotation => return Ok(self.is_taken(here.draft, json!({ keyword: value })).then(|| value.clone())),
            Form::Reference => value.as_str().map(|target| {
                self.references.push(Reference { pointer: here.pointer.clone(), target: target.to_owned() });
                value.clone()
            }),
            Form::Schema => match value {
                Value::Bool(_) if keyword.starts_with("additional") => Some(value.clone()),
                Value::Object(_) | Value::Bool(_) => Some(self.schema(value, &here)?),
                Value::Array(items) if keyword == "items" => Some(self.list(items, &here)?),
                _ => None,
            },
            Form::List => match value {
                Value::Array(items) if !items.is_empty() && !branches_are_malformed(keyword, items) => {
                    Some(self.list(items, &here)?)
                }
                _ => None,
            },
            Form::Named => match value {
                Value::Object(entries) => Some(self.named(keyword, entries, &here)?),
                _ => None,
            },
        };
        if mended.is_none() {
            self.skip(&here, value, "the keyword's value is malformed");
        }
        Ok(mended)
    }

    fn value(&mut self, map: &Map<String, Value>, keyword: &str, value: &Value, here: &Place) -> Option<Value> {
        if keywords::is_draft4_bound(map, keyword) {
            return Some(value.clone());
        }
        let salvaged = keywords::salvage(keyword, value);
        if self.is_taken(here.draft, json!({ keyword: salvaged })) {
            return Some(salvaged);
        }
        let reason = match (keyword, value) {
            ("pattern", Value::String(_)) => "the regex engine does not support the pattern",
            _ => "the keyword's value is malformed",
        };
        self.skip(here, value, reason);
        None
    }

    fn list(&mut self, items: &[Value], here: &Place) -> Result<Value, UnusableSchema> {
        let items = items.iter().enumerate().map(|(index, item)| self.schema(item, &here.child(&index.to_string())));
        items.collect()
    }

    fn named(&mut self, keyword: &str, entries: &Map<String, Value>, here: &Place) -> Result<Value, UnusableSchema> {
        let mut mended = Map::new();
        for (name, entry) in entries {
            let place = here.child(name);
            let is_list_of_names = keyword == "dependencies" && entry.is_array();
            let tried = if is_list_of_names { entry.clone() } else { json!({}) };
            if (is_list_of_names || keyword == "patternProperties")
                && !self.is_taken(here.draft, json!({ keyword: { name: tried } }))
            {
                let reason = if is_list_of_names {
                    "a dependency is a schema or a list of names"
                } else {
                    "the regex engine does not support the pattern"
                };
                self.skip(&place, &Value::String(name.clone()), reason);
                continue;
            }
            let entry = if is_list_of_names { entry.clone() } else { self.schema(entry, &place)? };
            mended.insert(name.clone(), entry);
        }
        Ok(Value::Object(mended))
    }

    /// Keywords that would refuse more because something beside or inside them was left out go too.
    fn loosen(&mut self, original: &Map<String, Value>, mended: &mut Map<String, Value>, place: &Place) {
        let lost = |mender: &Self, keyword: &str| mender.has_skipped_inside(&place.child(keyword).pointer);
        let drop = |mender: &mut Self, mended: &mut Map<String, Value>, keyword: &str| {
            if let Some(value) = mended.remove(keyword) {
                mender.skip(&place.child(keyword), &value, "it depends on a part that is not validated");
            }
        };
        if lost(self, "not") {
            drop(self, mended, "not");
        }
        if lost(self, "if") {
            for keyword in ["if", "then", "else"] {
                drop(self, mended, keyword);
            }
        }
        if lost(self, "contains") {
            drop(self, mended, "maxContains");
        }
        if lost(self, "oneOf") {
            match mended.remove("oneOf") {
                Some(branches) if !mended.contains_key("anyOf") => {
                    mended.insert("anyOf".to_owned(), branches);
                }
                Some(branches) => {
                    self.skip(&place.child("oneOf"), &branches, "it depends on a part that is not validated")
                }
                None => {}
            }
        }
        let size = |value: &Value| value.as_object().map_or(1, Map::len);
        let is_smaller = |keyword: &str| original.get(keyword).map(size) != mended.get(keyword).map(size);
        if is_smaller("properties") || is_smaller("patternProperties") {
            drop(self, mended, "additionalProperties");
            drop(self, mended, "unevaluatedProperties");
        }
    }

    fn has_skipped_inside(&self, pointer: &str) -> bool {
        self.skipped
            .iter()
            .any(|skipped| skipped.pointer.strip_prefix(pointer).is_some_and(|rest| rest.starts_with('/')))
    }

    fn is_taken(&self, draft: Draft, mut schema: Value) -> bool {
        self.probe.is_none_or(|probe| {
            if let Value::Object(map) = &mut schema {
                map.insert("$schema".to_owned(), dialect::uri(draft).into());
            }
            probe(draft, &schema)
        })
    }

    fn skip(&mut self, place: &Place, value: &Value, reason: &str) {
        self.skipped.push(Skipped {
            pointer: place.pointer.clone(),
            value: brief(&value.to_string(), LONGEST_VALUE),
            reason: reason.to_owned(),
        });
    }
}

/// Returns `true` if a branch is not a schema. It could then match anything, and the other branches have no meaning.
fn branches_are_malformed(keyword: &str, branches: &[Value]) -> bool {
    matches!(keyword, "anyOf" | "oneOf") && !branches.iter().all(|branch| branch.is_object() || branch.is_boolean())
}

/// A `$ref`.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// The pointer of the reference in the schema.
    pub(super) pointer: String,
    /// The target of the reference.
    pub(super) target: String,
}

impl Reference {
    /// Returns the target in the same document, if the reference is a JSON pointer.
    pub(super) fn local_pointer(&self) -> Option<String> {
        let pointer = self.target.strip_prefix('#')?;
        (pointer.is_empty() || pointer.starts_with('/'))
            .then(|| percent::decode(pointer).unwrap_or_else(|| pointer.to_owned()))
    }

    /// Returns `true` if the complaint of a validator names this reference.
    pub(super) fn explains(&self, complaint: &str) -> bool {
        let target = self.target.trim_start_matches('#');
        let decoded = percent::decode(target);
        !target.is_empty() && [Some(target), decoded.as_deref()].iter().flatten().any(|form| complaint.contains(form))
    }
}

//! The targets of references in a schema, from the validator's own resolver.

use std::collections::{HashMap, HashSet};
use std::ptr;

use jsonschema::{Draft, ReferencingError, Registry, uri};
use mcp_bindgen_model::pointer_segment;
use serde_json::Value;

use super::mend::{Form, form};
use crate::ground::percent;

/// The base of a document that has none.
const NO_BASE: &str = "json-schema:///";
/// The characters that are not encoded when a pointer is the fragment of a URI.
const IN_FRAGMENTS: &str = "/~-_.$";

/// The schemas of a document, with the targets of their references.
pub(super) struct Links<'a> {
    root: &'a Value,
    /// Every value that may be a schema, by its address, with its pointer.
    places: HashMap<*const Value, (&'a Value, String)>,
    /// Every schema.
    pub(super) schemas: Vec<&'a Value>,
    /// The possible targets of each schema's references, by address of the schema.
    pub(super) targets: HashMap<*const Value, Vec<&'a Value>>,
    /// The pointers of each schema whose `$ref` has one target, and of the target.
    fixed: Vec<(String, String)>,
    /// `true` if every reference has one target, inside this document.
    pub(super) are_fixed: bool,
    /// `true` if a schema below the root has its own base.
    pub(super) has_resources: bool,
}

/// Schemas that dynamic references may select, by anchor name.
type Dynamic<'a> = HashMap<&'a str, Vec<&'a Value>>;

impl<'a> Links<'a> {
    /// Follows every reference of a document.
    ///
    /// # Errors
    /// Fails if the document's own names cannot be read.
    pub(super) fn of(root: &'a Value, draft: Draft) -> Result<Self, ReferencingError> {
        let resource = draft.create_resource_ref(root);
        let base = resource.id().unwrap_or(NO_BASE).to_owned();
        let registry = Registry::new().draft(draft).add(&base, resource)?.prepare()?;
        let mut links = Self::without_targets(root);
        let dynamic = links.dynamic();
        let mut left = vec![(root, registry.resolver(uri::from_str(base.trim_end_matches('#'))?), draft)];
        let mut seen = HashSet::from([ptr::from_ref(root)]);
        while let Some((schema, resolver, draft)) = left.pop() {
            links.schemas.push(schema);
            for (keyword, reference) in references(schema) {
                let found = resolver.lookup(reference);
                let target = found.ok().and_then(|found| {
                    let (target, _) = links.places.get(&ptr::from_ref(found.contents()))?;
                    let (_, resolver, draft) = found.into_inner();
                    Some((*target, resolver, draft))
                });
                links.link(schema, (keyword, reference), target.as_ref().map(|(target, ..)| *target), &dynamic);
                left.extend(target.filter(|(target, ..)| seen.insert(ptr::from_ref(*target))));
            }
            for inner in subschemas(schema).filter(|inner| seen.insert(ptr::from_ref(*inner))) {
                let own = draft.detect(inner);
                links.are_fixed &= inner.get("$schema").is_none();
                let resource = own.create_resource_ref(inner);
                links.has_resources |= resource.id().is_some();
                left.push((inner, resolver.in_subresource(resource)?, own));
            }
        }
        Ok(links)
    }

    fn without_targets(root: &'a Value) -> Self {
        let mut places = HashMap::new();
        let mut left = vec![(root, String::new())];
        while let Some((value, pointer)) = left.pop() {
            match value {
                Value::Object(map) => {
                    left.extend(map.iter().map(|(key, value)| (value, format!("{pointer}/{}", pointer_segment(key)))));
                }
                Value::Array(items) => {
                    left.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{pointer}/{index}"))));
                }
                Value::Bool(_) => {}
                _ => continue,
            }
            places.insert(ptr::from_ref(value), (value, pointer));
        }
        let (schemas, targets, fixed) = (Vec::new(), HashMap::new(), Vec::new());
        Self { root, places, schemas, targets, fixed, are_fixed: true, has_resources: false }
    }

    fn dynamic(&self) -> Dynamic<'a> {
        let mut dynamic = Dynamic::new();
        for (place, _) in self.places.values() {
            if let Some(name) = place.get("$dynamicAnchor").and_then(Value::as_str) {
                dynamic.entry(name).or_default().push(*place);
            }
            if place.get("$recursiveAnchor") == Some(&Value::Bool(true)) {
                dynamic.entry("").or_default().push(*place);
            }
        }
        dynamic
    }

    fn link(
        &mut self,
        schema: &'a Value,
        (keyword, reference): (&str, &str),
        target: Option<&'a Value>,
        dynamic: &Dynamic<'a>,
    ) {
        let targets = self.targets.entry(ptr::from_ref(schema)).or_default();
        targets.extend(target);
        if keyword != "$ref" {
            let name = reference.rsplit_once('#').map_or("", |(_, name)| name);
            targets.extend(dynamic.get(name).into_iter().flatten());
            self.are_fixed = false;
            return;
        }
        let pointer = |value: &Value| self.places.get(&ptr::from_ref(value)).map(|(_, pointer)| pointer.clone());
        match (pointer(schema), target.and_then(pointer)) {
            (Some(schema), Some(target)) => self.fixed.push((schema, target)),
            _ => self.are_fixed = false,
        }
    }

    /// Returns the document with a JSON pointer for each reference and without unused names. A validator otherwise
    /// compiles a schema again for every path of names that reaches it.
    pub(super) fn by_pointers(&self, draft: Draft) -> Value {
        let mut document = self.root.clone();
        for schema in &self.schemas {
            let place = self.places.get(&ptr::from_ref(*schema));
            if let Some(Value::Object(map)) = place.and_then(|(_, pointer)| document.pointer_mut(pointer)) {
                for name in [draft.id_keyword(), "$anchor", "$dynamicAnchor"] {
                    // Other values are invalid, and reported later.
                    if map.get(name).is_some_and(Value::is_string) {
                        map.shift_remove(name);
                    }
                }
            }
        }
        for (schema, target) in &self.fixed {
            if let Some(Value::Object(map)) = document.pointer_mut(schema) {
                map.insert("$ref".to_owned(), format!("#{}", percent::encode(target, IN_FRAGMENTS)).into());
            }
        }
        document
    }
}

/// Returns the references of a schema: each with its keyword.
fn references(schema: &Value) -> impl Iterator<Item = (&str, &str)> {
    let keywords = schema.as_object().into_iter().flatten();
    keywords.filter_map(|(keyword, value)| match (form(keyword), value) {
        (Form::Reference, Value::String(target)) => Some((keyword.as_str(), target.as_str())),
        _ => None,
    })
}

/// Returns the schemas that a schema holds.
pub(super) fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let keywords = schema.as_object().into_iter().flatten();
    let inside = keywords.flat_map(|(keyword, value)| -> Vec<&Value> {
        match (form(keyword), value) {
            (Form::Schema, Value::Array(items)) | (Form::List, Value::Array(items)) => items.iter().collect(),
            (Form::Named, Value::Object(named)) => named.values().collect(),
            (Form::Schema, value) => vec![value],
            _ => Vec::new(),
        }
    });
    inside.filter(|inner| inner.is_object() || inner.is_boolean())
}

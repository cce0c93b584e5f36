//! The kinds of changes: what server authors do to their schemas, at a place of a real one.

/// A kind that adds something, and whose reverse removes it.
macro_rules! added {
    ($what:literal, $apply:expr) => {
        $crate::drift::kinds::both(concat!($what, " added"), concat!($what, " removed"), $apply)
    };
}

/// A kind that removes something, and whose reverse adds it.
macro_rules! removed {
    ($what:literal, $apply:expr) => {
        $crate::drift::kinds::both(concat!($what, " removed"), concat!($what, " added"), $apply)
    };
}

/// A kind that converts one form to another, and whose reverse converts it back.
macro_rules! converted {
    ($from:literal, $to:literal, $apply:expr) => {
        $crate::drift::kinds::both(concat!($from, " to ", $to), concat!($to, " to ", $from), $apply)
    };
}

mod arrays;
mod bounds;
mod combine;
mod enums;
mod objects;
mod references;
mod types;
mod unions;
mod wording;

use mcp_samples::Random;
use serde_json::{Map, Value};

use crate::drift::site::{Holder, Site};

/// A kind of change.
#[derive(Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) apply: Apply,
    /// The name of the reverse change; `None` if the kind has none.
    pub(crate) back: Option<&'static str>,
}

/// Changes a schema; `None` where the kind has nothing to change there.
pub(crate) type Apply = fn(&mut Spot<'_>) -> Option<Mutation>;

/// The known effect of a change, by its construction: the relation between the sets of valid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing is known.
    Any,
    /// The same values are valid.
    Equivalent,
    /// Every old value is valid.
    Loosens,
    /// Every new value was valid.
    Tightens,
    /// Every new value was valid, and only values with undeclared keys no longer are.
    TightensUndeclared,
    /// Only what people read differs.
    Wording,
}

/// A document before and after.
pub(crate) struct Mutation {
    pub(crate) old: Value,
    pub(crate) new: Value,
    /// The place in each document, as a JSON pointer.
    pub(crate) old_place: String,
    pub(crate) new_place: String,
    pub(crate) effect: Effect,
}

/// A place to change.
pub(crate) struct Spot<'a> {
    pub(crate) document: &'a Value,
    pub(crate) site: &'a Site,
    /// The schema that stands there.
    pub(crate) schema: &'a Map<String, Value>,
    pub(crate) random: &'a mut Random,
}

impl Spot<'_> {
    pub(crate) fn is_root(&self) -> bool {
        self.site.holder == Holder::Root
    }

    pub(crate) fn get(&self, keyword: &str) -> Option<&Value> {
        self.schema.get(keyword)
    }

    pub(crate) fn has(&self, keyword: &str) -> bool {
        self.schema.contains_key(keyword)
    }

    pub(crate) fn has_any(&self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.has(keyword))
    }

    /// The type, where there is one.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.get("type")?.as_str()
    }

    pub(crate) fn is_a(&self, kind: &str) -> bool {
        self.kind() == Some(kind)
    }

    pub(crate) fn properties(&self) -> Option<&Map<String, Value>> {
        self.get("properties")?.as_object().filter(|properties| !properties.is_empty())
    }

    /// The name of a declared property.
    pub(crate) fn property(&mut self) -> Option<String> {
        let names: Vec<String> = self.properties()?.keys().cloned().collect();
        self.random.pick(&names).cloned()
    }

    pub(crate) fn required(&self) -> Vec<String> {
        let names = self.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The document with another schema here.
    pub(crate) fn replaced(&self, schema: Value) -> Option<Value> {
        let mut document = self.document.clone();
        *document.pointer_mut(&self.site.pointer)? = schema;
        Some(document)
    }

    /// The document with this schema edited.
    pub(crate) fn edited(&self, edit: impl FnOnce(&mut Map<String, Value>)) -> Option<Value> {
        self.replaced(self.with(edit))
    }

    /// The change that edits this schema.
    pub(crate) fn edit(&self, effect: Effect, edit: impl FnOnce(&mut Map<String, Value>)) -> Option<Mutation> {
        let new = self.edited(edit)?;
        Some(self.change(self.document.clone(), new, effect))
    }

    /// The change from one schema here to another, where neither is the real one.
    pub(crate) fn between(&self, effect: Effect, old: Value, new: Value) -> Option<Mutation> {
        Some(self.change(self.replaced(old)?, self.replaced(new)?, effect))
    }

    pub(crate) fn change(&self, old: Value, new: Value, effect: Effect) -> Mutation {
        let place = || self.site.pointer.clone();
        Mutation { old, new, old_place: place(), new_place: place(), effect }
    }

    /// This schema, edited.
    pub(crate) fn with(&self, edit: impl FnOnce(&mut Map<String, Value>)) -> Value {
        let mut schema = self.schema.clone();
        edit(&mut schema);
        Value::Object(schema)
    }
}

const fn kind(name: &'static str, apply: Apply) -> Kind {
    Kind { name, apply, back: None }
}

const fn both(name: &'static str, back: &'static str, apply: Apply) -> Kind {
    Kind { name, apply, back: Some(back) }
}

/// Every kind.
pub(crate) fn all() -> Vec<Kind> {
    [
        types::KINDS,
        enums::KINDS,
        bounds::KINDS,
        objects::KINDS,
        arrays::KINDS,
        combine::KINDS,
        unions::KINDS,
        references::KINDS,
        wording::KINDS,
    ]
    .concat()
}

/// Other ways to write the same: what a real schema may have been before it changed.
pub(crate) fn rewritings() -> Vec<Apply> {
    [combine::REWRITINGS, references::REWRITINGS].concat()
}

/// A schema of some simple type.
pub(crate) fn simple(random: &mut Random, but: Option<&str>) -> Value {
    let schemas = [
        serde_json::json!({ "type": "string" }),
        serde_json::json!({ "type": "integer" }),
        serde_json::json!({ "type": "boolean" }),
        serde_json::json!({ "type": "number" }),
        serde_json::json!({ "type": "array", "items": { "type": "string" } }),
        serde_json::json!({ "type": "object", "properties": { "inner": { "type": "integer" } } }),
    ];
    let others: Vec<_> =
        schemas.into_iter().filter(|schema| schema.get("type").and_then(Value::as_str) != but).collect();
    random.pick(&others).cloned().unwrap_or_default()
}

//! Assertions and annotations at a position, besides its shape.

use mcp_bindgen_model::is_beyond_doubles;
use serde_json::{Map, Number, Value, json};

use super::reading::Reading;
use crate::bundle::lookup;
use crate::normalize::{Kinds, SchemaId};

/// An assertion that is no part of a shape.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) schema: SchemaId,
    pub(super) keyword: &'static str,
    pub(super) value: Value,
}

impl Reading<'_> {
    /// Returns the assertions of schemas about values of these kinds.
    pub(super) fn constraints(&self, schemas: &[SchemaId], kinds: Kinds) -> Vec<Constraint> {
        let mut found = Vec::new();
        for schema in schemas {
            let mut say = |keyword, value| found.push(Constraint { schema: *schema, keyword, value });
            if kinds.intersects(Kinds::NUMBER) {
                self.of_numbers(*schema, &mut say);
            }
            if kinds.has(Kinds::STRING) {
                self.of_texts(*schema, &mut say);
            }
            if kinds.has(Kinds::ARRAY) {
                self.of_arrays(*schema, &mut say);
            }
            if kinds.has(Kinds::OBJECT) {
                self.of_objects(*schema, &mut say);
            }
            self.of_all(*schema, &mut say);
        }
        found
    }

    fn of_numbers(&self, schema: SchemaId, say: &mut impl FnMut(&'static str, Value)) {
        let assertions = self.assertions(schema);
        let mut number = |keyword, number: &Number| {
            let value = Value::Number(number.clone());
            if !is_beyond_doubles(&value) {
                say(keyword, value);
            }
        };
        for limit in &assertions.minimum {
            number(if limit.exclusive { "exclusiveMinimum" } else { "minimum" }, &limit.value);
        }
        for limit in &assertions.maximum {
            number(if limit.exclusive { "exclusiveMaximum" } else { "maximum" }, &limit.value);
        }
        if let Some(step) = &assertions.multiple_of {
            number("multipleOf", step);
        }
    }

    fn of_texts(&self, schema: SchemaId, say: &mut impl FnMut(&'static str, Value)) {
        const LONGEST_FORMAT: usize = 40;
        let assertions = self.assertions(schema);
        if let Some(least) = assertions.min_length.filter(|least| *least > 0) {
            say("minLength", least.into());
        }
        if let Some(most) = assertions.max_length {
            say("maxLength", most.into());
        }
        if let Some(pattern) = &assertions.pattern {
            say("pattern", pattern.as_str().into());
        }
        let text = |keyword| self.source(schema).and_then(|source| lookup(source, keyword)?.as_str());
        let is_word = |text: &&str| {
            text.len() <= LONGEST_FORMAT
                && text.chars().all(|char| char.is_ascii_alphanumeric() || "-_/.+".contains(char))
        };
        for keyword in ["format", "contentEncoding"] {
            if let Some(word) = text(keyword).filter(|text| !text.is_empty()).filter(is_word) {
                say(keyword, word.into());
            }
        }
    }

    fn of_arrays(&self, schema: SchemaId, say: &mut impl FnMut(&'static str, Value)) {
        let (node, assertions) = (self.node(schema), self.assertions(schema));
        if node.min_items > 0 {
            say("minItems", node.min_items.into());
        }
        if let Some(most) = node.max_items {
            say("maxItems", most.into());
        }
        if assertions.unique_items {
            say("uniqueItems", true.into());
        }
        if let Some(contains) = &assertions.contains {
            say("contains", json!([contains.least, contains.most]));
        }
    }

    fn of_objects(&self, schema: SchemaId, say: &mut impl FnMut(&'static str, Value)) {
        let assertions = self.assertions(schema);
        if let Some(least) = assertions.min_properties.filter(|least| *least > 0) {
            say("minProperties", least.into());
        }
        if let Some(most) = assertions.max_properties {
            say("maxProperties", most.into());
        }
        for (key, needs) in &assertions.dependent_required {
            say("dependentRequired", json!([key, needs]));
        }
        for (keyword, said) in [
            ("propertyNames", assertions.property_names.is_some()),
            ("patternProperties", !assertions.patterns.is_empty()),
            ("dependentSchemas", !assertions.dependent_schemas.is_empty()),
        ] {
            if said {
                say(keyword, Value::Null);
            }
        }
    }

    fn of_all(&self, schema: SchemaId, say: &mut impl FnMut(&'static str, Value)) {
        let assertions = self.assertions(schema);
        if assertions.not.is_some() {
            let negated = self.source(schema).and_then(|source| lookup(source, "not"));
            say("not", negated.cloned().unwrap_or_default());
        }
        if assertions.condition.as_ref().is_some_and(|condition| condition.then.or(condition.otherwise).is_some()) {
            say("if", Value::Null);
        }
        if assertions.unevaluated.is_some() {
            say("unevaluated", Value::Null);
        }
        if assertions.unresolved.is_some() {
            say("$ref", Value::Null);
        }
    }

    /// The first description of schemas, or a title that says more than the name.
    pub(super) fn description(&self, schemas: &[SchemaId], name: &str) -> Option<&str> {
        let text = |keyword| {
            let texts = schemas.iter().filter_map(move |id| lookup(self.source(*id)?, keyword)?.as_str());
            texts.into_iter().find(|text: &&str| !text.trim().is_empty())
        };
        let plain = |text: &str| {
            text.chars().filter(|char| char.is_alphanumeric()).flat_map(char::to_lowercase).collect::<String>()
        };
        // Generators of schemas make titles of names, and of the names of their types.
        text("description").or_else(|| {
            text("title").filter(|title| !name.is_empty() && title.contains(' ') && plain(title) != plain(name))
        })
    }

    /// The default, where it is a plain value that is valid by its kind and says more than absence.
    pub(super) fn default(&self, schemas: &[SchemaId]) -> Option<Value> {
        let kinds = self.kinds(schemas);
        let default = schemas.iter().find_map(|id| lookup(self.source(*id)?, "default"))?;
        let is_plain = !default.is_null() && !default.is_array() && !default.is_object() && !is_beyond_doubles(default);
        let is_listed =
            schemas.iter().filter_map(|id| self.node(*id).allowed.as_ref()).all(|values| values.contains(default));
        (is_plain && is_listed && kinds.intersects(Kinds::of(default))).then(|| default.clone())
    }

    /// Returns the texts for people.
    pub(super) fn hints(&self, schemas: &[SchemaId]) -> Vec<Constraint> {
        const MOST_EXAMPLES: usize = 3;
        let found = |keyword| schemas.iter().find_map(|id| Some((*id, lookup(self.source(*id)?, keyword)?)));
        let mut hints = Vec::new();
        if let Some((schema, Value::Array(examples))) = found("examples") {
            let few: Vec<Value> = examples.iter().take(MOST_EXAMPLES).cloned().collect();
            if !few.is_empty() {
                hints.push(Constraint { schema, keyword: "examples", value: few.into() });
            }
        }
        if let Some((schema, Value::Bool(true))) = found("deprecated") {
            hints.push(Constraint { schema, keyword: "deprecated", value: true.into() });
        }
        hints
    }
}

/// Puts a bound beside others: of two of the same keyword the tighter one; false where that cannot be told.
pub(super) fn tighten(schema: &mut Map<String, Value>, keyword: &str, value: &Value) -> bool {
    let Some(known) = schema.get(keyword).cloned() else {
        schema.insert(keyword.to_owned(), value.clone());
        return true;
    };
    let tighter = match (keyword, known.as_f64(), value.as_f64()) {
        ("minimum" | "exclusiveMinimum" | "minItems" | "minLength" | "minProperties", Some(old), Some(new)) => {
            new > old
        }
        ("maximum" | "exclusiveMaximum" | "maxItems" | "maxLength" | "maxProperties", Some(old), Some(new)) => {
            new < old
        }
        _ => return known == *value,
    };
    if tighter {
        schema.insert(keyword.to_owned(), value.clone());
    }
    true
}

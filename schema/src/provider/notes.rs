//! Assertions and annotations at a position, besides its shape.

use mcp_bindgen_model::is_beyond_doubles;
use serde_json::{Map, Value, json};

use crate::bundle::lookup;
use crate::drift::version::Version;
use crate::normalize::{Condition, Kinds, SchemaId};

/// An assertion that shapes do not contain.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) schema: SchemaId,
    pub(super) keyword: &'static str,
    pub(super) value: Value,
}

impl Version<'_> {
    /// Returns the assertions of schemas about values of these kinds.
    pub(super) fn constraints(&self, schemas: &[SchemaId], kinds: Kinds) -> Vec<Constraint> {
        let mut found = Vec::new();
        for schema in schemas {
            let said = self.said(*schema).into_iter().filter(|(of, ..)| *of == Kinds::ALL || kinds.intersects(*of));
            found.extend(
                said.filter_map(|(_, keyword, value)| Some(Constraint { schema: *schema, keyword, value: value? })),
            );
        }
        found
    }

    /// Returns the assertions of a schema, each with the kinds of values that it restricts. Assertions without a value
    /// have no effect.
    fn said(&self, schema: SchemaId) -> Vec<(Kinds, &'static str, Option<Value>)> {
        use Kinds as Of;
        let (node, assertions) = (self.node(schema), self.assertions(schema));
        let count = |count: Option<u64>| count.map(Value::from);
        let above_none = |least: Option<u64>| count(least.filter(|least| *least > 0));
        let mark = |is_said: bool| is_said.then_some(Value::Null);
        let has_branch = |condition: &Condition| condition.then.or(condition.otherwise).is_some();
        let negated = self.source(schema).and_then(|source| lookup(source, "not"));
        let mut said = Vec::new();
        for (keyword, value) in assertions.of_numbers() {
            said.push((Of::NUMBER, keyword, Some(value).filter(|value| !is_beyond_doubles(value))));
        }
        said.extend(assertions.of_texts().map(|(keyword, value)| (Of::STRING, keyword, Some(value))));
        said.extend([
            (Of::STRING, "format", self.word(schema, "format")),
            (Of::STRING, "contentEncoding", self.word(schema, "contentEncoding")),
            (Of::ARRAY, "minItems", above_none(Some(node.min_items))),
            (Of::ARRAY, "maxItems", count(node.max_items)),
            (Of::ARRAY, "uniqueItems", assertions.unique_items.then(|| true.into())),
            (
                Of::ARRAY,
                "contains",
                assertions.contains.as_ref().map(|contains| json!([contains.least, contains.most])),
            ),
            (Of::OBJECT, "minProperties", above_none(assertions.min_properties)),
            (Of::OBJECT, "maxProperties", count(assertions.max_properties)),
        ]);
        let together = assertions.dependent_required.iter();
        said.extend(together.map(|(key, needs)| (Of::OBJECT, "dependentRequired", Some(json!([key, needs])))));
        said.extend([
            (Of::OBJECT, "propertyNames", mark(assertions.property_names.is_some())),
            (Of::OBJECT, "patternProperties", mark(!assertions.patterns.is_empty())),
            (Of::OBJECT, "dependentSchemas", mark(!assertions.dependent_schemas.is_empty())),
            (Of::ALL, "not", assertions.not.map(|_| negated.cloned().unwrap_or_default())),
            (Of::ALL, "if", mark(assertions.condition.as_ref().is_some_and(has_branch))),
            (Of::ALL, "unevaluated", mark(assertions.unevaluated.is_some())),
            (Of::ALL, "$ref", mark(assertions.unresolved.is_some())),
        ]);
        said
    }

    /// Returns the value of a string keyword, if it is a single word.
    fn word(&self, schema: SchemaId, keyword: &str) -> Option<Value> {
        const LONGEST: usize = 40;
        let word = lookup(self.source(schema)?, keyword)?.as_str()?;
        let is_part = |char: char| char.is_ascii_alphanumeric() || "-_/.+".contains(char);
        (!word.is_empty() && word.len() <= LONGEST && word.chars().all(is_part)).then(|| word.into())
    }

    /// Returns the first description of schemas, or a title that says more than the name.
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

    /// Returns the default, if it is a plain valid value that differs from absence.
    pub(super) fn default(&self, schemas: &[SchemaId]) -> Option<Value> {
        let kinds = self.kinds_of(schemas);
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

/// Adds a bound to a schema, and keeps the tighter of two bounds. Returns `false` if they cannot be compared.
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

//! Converts a sample to a schema of 2020-12, with keywords that have types.

use serde_json::{Map, Value, json};

use super::sample::{DEEPEST, Field, Object, Sample};

/// A schema with more places is cut below some level.
const MOST_PLACES: usize = 2_000;
/// The description of a place about which nothing is known.
pub(super) const ONLY_NULL: &str = "`null` in every result so far";
const REQUIRED: &str = "required";
/// The keyword for properties of every object so far, if there are too few objects to require them.
pub(super) const IN_EVERY_RESULT: &str = "x-in-every-result";

impl Sample {
    /// Returns the JSON Schema of the results. Its keys are sorted, so that the order of the results does not matter,
    /// and it contains no values.
    #[must_use]
    pub fn schema(&self) -> Value {
        self.print(REQUIRED)
    }

    /// Returns the schema without `required`: from so few results, properties cannot be promised. Those in every
    /// result are listed in `x-in-every-result`, for when more is learned.
    ///
    /// ```
    /// use mcp_bindgen_schema::infer::Sample;
    /// use serde_json::json;
    ///
    /// let seen = Sample::of(&json!({ "HOME": "/root" }));
    /// assert_eq!(seen.schema_of_few(), json!({
    ///     "type": "object",
    ///     "properties": { "HOME": { "type": "string" } },
    ///     "x-in-every-result": ["HOME"],
    /// }));
    /// ```
    #[must_use]
    pub fn schema_of_few(&self) -> Value {
        self.print(IN_EVERY_RESULT)
    }

    /// `always` is the keyword for what every object had.
    fn print(&self, always: &str) -> Value {
        let fits = |levels: &usize| self.places(*levels) <= MOST_PLACES;
        self.to_json(always, (0..=DEEPEST).rev().find(fits).unwrap_or_default())
    }

    /// Returns how many schemas there are down to some level.
    fn places(&self, levels: usize) -> usize {
        let Some(below) = levels.checked_sub(1) else { return 1 };
        let items = self.array.as_ref().map_or(0, |items| items.places(below));
        let values = match &self.object {
            None => 0,
            Some(Object::Map(values)) => values.places(below),
            Some(Object::Fields(fields)) => fields.values().map(|field| field.sample.places(below)).sum(),
        };
        1 + items + values
    }

    fn to_json(&self, always: &str, levels: usize) -> Value {
        if self.anything || self.is_empty() {
            return json!({});
        }
        let mut kinds = Vec::new();
        if self.boolean {
            kinds.push(of_type("boolean"));
        }
        if let Some(numbers) = self.numbers {
            let mut schema = of_type(if numbers.fraction { "number" } else { "integer" });
            if numbers.large {
                schema.insert("minimum".to_owned(), i64::MIN.into());
                schema.insert("maximum".to_owned(), i64::MAX.into());
            }
            kinds.push(schema);
        }
        if self.string {
            kinds.push(of_type("string"));
        }
        if self.array.is_some() || self.object.is_some() {
            let Some(below) = levels.checked_sub(1) else { return json!({}) };
            kinds.extend(self.array.as_ref().map(|items| array(items, always, below)));
            kinds.extend(self.object.as_ref().map(|object| object.to_json(always, below)));
        }
        match (kinds.len(), self.null) {
            (0, _) => json!({ "description": ONLY_NULL }),
            (1, true) => {
                let mut only = kinds.pop().unwrap_or_default();
                if let Some(kind) = only.get_mut("type") {
                    *kind = json!([kind.take(), "null"]);
                }
                Value::Object(only)
            }
            (1, false) => Value::Object(kinds.pop().unwrap_or_default()),
            (_, null) => {
                kinds.extend(null.then(|| of_type("null")));
                json!({ "anyOf": kinds })
            }
        }
    }
}

impl Object {
    fn to_json(&self, always: &str, levels: usize) -> Map<String, Value> {
        let mut schema = of_type("object");
        match self {
            Self::Map(values) => drop(schema.insert("additionalProperties".to_owned(), values.to_json(always, levels))),
            Self::Fields(fields) if fields.is_empty() => {}
            Self::Fields(fields) => {
                let property = |(key, field): (&String, &Field)| (key.clone(), field.sample.to_json(always, levels));
                let properties: Map<String, Value> = fields.iter().map(property).collect();
                schema.insert("properties".to_owned(), properties.into());
                let keys: Vec<&String> = fields.iter().filter(|(_, field)| field.always).map(|(key, _)| key).collect();
                if !keys.is_empty() {
                    schema.insert(always.to_owned(), json!(keys));
                }
            }
        }
        schema
    }
}

fn array(items: &Sample, always: &str, levels: usize) -> Map<String, Value> {
    let mut schema = of_type("array");
    if !items.is_empty() {
        schema.insert("items".to_owned(), items.to_json(always, levels));
    }
    schema
}

fn of_type(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

//! Converts a sample to a schema of 2020-12, with keywords that have types, and back.

use std::iter::once;
use std::slice::from_ref;

use serde_json::{Map, Value, json};

use super::sample::{DEEPEST, Field, Object, Sample};
use crate::normalize::Kinds;

/// A schema with more places is cut below some level.
const MOST_PLACES: usize = 2_000;
/// The description of a place about which nothing is known.
const ONLY_NULL: &str = "`null` in every result so far";
const REQUIRED: &str = "required";
/// The keyword for properties of every object so far, if there are too few objects to require them.
const IN_EVERY_RESULT: &str = "x-in-every-result";

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

    /// Returns the sample whose [`schema`](Self::schema) or [`schema_of_few`](Self::schema_of_few) is this one;
    /// `None` for any other, such as one that was edited.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Option<Self> {
        let sample = read(schema)?;
        (sample.schema() == *schema || sample.schema_of_few() == *schema).then_some(sample)
    }

    /// `always` is the keyword for what every object had.
    fn print(&self, always: &str) -> Value {
        let fits = |levels: &usize| self.places(*levels) <= MOST_PLACES;
        self.to_json(always, (0..=DEEPEST).rev().find(fits).unwrap_or_default())
    }

    /// Returns how many schemas there are down to some level.
    fn places(&self, levels: usize) -> usize {
        let Some(below) = levels.checked_sub(1) else { return 1 };
        let values = self.object.iter().flat_map(Object::samples);
        1 + self.array.as_deref().into_iter().chain(values).map(|inner| inner.places(below)).sum::<usize>()
    }

    fn to_json(&self, always: &str, levels: usize) -> Value {
        let is_cut = levels == 0 && (self.array.is_some() || self.object.is_some());
        if *self == Self::anything() || self.is_empty() || is_cut {
            return json!({});
        }
        let bound = |limit: i64| self.large.then(|| limit.into());
        let scalar = |name| match name {
            "null" => None,
            "integer" => Some(of_type(name, [("minimum", bound(i64::MIN)), ("maximum", bound(i64::MAX))])),
            name => Some(of_type(name, [])),
        };
        let mut kinds: Vec<Value> = self.kinds.names().into_iter().filter_map(scalar).collect();
        kinds.extend(self.array.as_ref().map(|items| {
            let items = (!items.is_empty()).then(|| items.to_json(always, levels - 1));
            of_type("array", [("items", items)])
        }));
        kinds.extend(self.object.as_ref().map(|object| object.to_json(always, levels - 1)));
        let null = self.kinds.has(Kinds::NULL);
        match (kinds.as_mut_slice(), null) {
            ([], _) => json!({ "description": ONLY_NULL }),
            ([only], _) => {
                if let Some(kind) = only.get_mut("type").filter(|_| null) {
                    *kind = json!([kind.take(), "null"]);
                }
                only.take()
            }
            (_, null) => {
                kinds.extend(null.then(|| of_type("null", [])));
                json!({ "anyOf": kinds })
            }
        }
    }
}

impl Object {
    fn to_json(&self, always: &str, levels: usize) -> Value {
        let fields = match self {
            Self::Map(values) => {
                return of_type("object", [("additionalProperties", Some(values.to_json(always, levels)))]);
            }
            Self::Fields(fields) => fields,
        };
        let property = |(key, field): (&String, &Field)| (key.clone(), field.sample.to_json(always, levels));
        let properties: Map<String, Value> = fields.iter().map(property).collect();
        let keys: Vec<&String> = fields.iter().filter(|(_, field)| field.always).map(|(key, _)| key).collect();
        let keys = (!keys.is_empty()).then(|| json!(keys));
        of_type("object", [("properties", (!fields.is_empty()).then(|| properties.into())), (always, keys)])
    }
}

/// Returns the schema of a type with more keywords.
fn of_type<const N: usize>(name: &str, more: [(&str, Option<Value>); N]) -> Value {
    let more = more.into_iter().filter_map(|(keyword, value)| Some((keyword.to_owned(), value?)));
    Value::Object(once(("type".to_owned(), name.into())).chain(more).collect())
}

/// Reads a schema, and ignores unknown keywords.
fn read(schema: &Value) -> Option<Sample> {
    let schema = schema.as_object()?;
    let mut sample = Sample::default();
    if schema.get("description").and_then(Value::as_str) == Some(ONLY_NULL) {
        sample.kinds = Kinds::NULL;
    } else if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        for branch in branches {
            sample.merge(&read(branch)?);
        }
    } else {
        let kinds = match schema.get("type") {
            None => return Some(Sample::anything()),
            Some(Value::Array(kinds)) => kinds.as_slice(),
            Some(kind) => from_ref(kind),
        };
        for kind in kinds {
            match kind.as_str()? {
                "array" => sample.array = Some(Box::new(schema.get("items").map_or(Some(Sample::default()), read)?)),
                "object" => sample.object = Some(object(schema)?),
                name => sample.kinds = sample.kinds | Kinds::named(name)?,
            }
        }
        sample.large = schema.contains_key("minimum");
    }
    Some(sample)
}

fn object(schema: &Map<String, Value>) -> Option<Object> {
    if let Some(values) = schema.get("additionalProperties") {
        return Some(Object::Map(Box::new(read(values)?)));
    }
    let always = schema.get(REQUIRED).or_else(|| schema.get(IN_EVERY_RESULT)).and_then(Value::as_array);
    let always = always.map(Vec::as_slice).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(key, schema): (&String, &Value)| {
        let always = always.iter().any(|name| name.as_str() == Some(key));
        Some((key.clone(), Field { sample: read(schema)?, always }))
    };
    Some(Object::Fields(properties.into_iter().flatten().map(field).collect::<Option<_>>()?))
}

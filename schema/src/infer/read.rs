//! Converts a learned schema back to its sample.

use serde_json::{Map, Value};

use super::print::{IN_EVERY_RESULT, ONLY_NULL};
use super::sample::{Field, Numbers, Object, Sample};

impl Sample {
    /// Returns the sample whose [`schema`](Self::schema) or [`schema_of_few`](Self::schema_of_few) is this one;
    /// `None` for any other, such as one that was edited.
    #[must_use]
    pub fn of_schema(schema: &Value) -> Option<Self> {
        let sample = read(schema)?;
        (sample.schema() == *schema || sample.schema_of_few() == *schema).then_some(sample)
    }
}

/// Reads a schema, and ignores unknown keywords.
fn read(schema: &Value) -> Option<Sample> {
    let schema = schema.as_object()?;
    if schema.get("description").and_then(Value::as_str) == Some(ONLY_NULL) {
        return Some(Sample { null: true, ..Sample::default() });
    }
    let mut sample = Sample::default();
    if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
        for branch in branches {
            sample.merge(&read(branch)?);
        }
        return Some(sample);
    }
    match schema.get("type") {
        None => return Some(Sample::anything()),
        Some(Value::Array(kinds)) => {
            for kind in kinds {
                add(&mut sample, kind, schema)?;
            }
        }
        Some(kind) => add(&mut sample, kind, schema)?,
    }
    Some(sample)
}

/// Adds one kind of values.
fn add(sample: &mut Sample, kind: &Value, schema: &Map<String, Value>) -> Option<()> {
    match kind.as_str()? {
        "null" => sample.null = true,
        "boolean" => sample.boolean = true,
        "string" => sample.string = true,
        "integer" => sample.numbers = Some(Numbers { fraction: false, large: schema.contains_key("minimum") }),
        "number" => sample.numbers = Some(Numbers { fraction: true, large: false }),
        "array" => sample.array = Some(Box::new(schema.get("items").map_or_else(|| Some(Sample::default()), read)?)),
        "object" => sample.object = Some(object(schema)?),
        _ => return None,
    }
    Some(())
}

fn object(schema: &Map<String, Value>) -> Option<Object> {
    if let Some(values) = schema.get("additionalProperties") {
        return Some(Object::Map(Box::new(read(values)?)));
    }
    let always = schema.get("required").or_else(|| schema.get(IN_EVERY_RESULT)).and_then(Value::as_array);
    let always = always.map(Vec::as_slice).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    let field = |(key, schema): (&String, &Value)| {
        let always = always.iter().any(|name| name.as_str() == Some(key));
        Some((key.clone(), Field { sample: read(schema)?, always }))
    };
    Some(Object::Fields(properties.into_iter().flatten().map(field).collect::<Option<_>>()?))
}

//! Objects printed as schemas of a provider.

use serde_json::{Map, Value, json};

use super::notes::Constraint;
use super::print::{Place, Printed, Printer, typed};
use super::rewrite::{Dialect, Renamed};
use super::words;
use crate::normalize::{Kinds, SchemaId};
use crate::shape::{Field, Presence, ShapeId, StructShape, Unknown};

/// Properties with their schemas, and the names of some of them.
type Properties = (Vec<(String, Value)>, Vec<String>);

impl Printer<'_, '_> {
    pub(super) fn object(&mut self, id: ShapeId, object: &StructShape, place: Place<'_>) -> Printed {
        let (properties, required) = self.properties(id, object)?;
        let mut schema = typed("object");
        schema.insert("properties".to_owned(), Value::Object(properties.into_iter().collect()));
        if !required.is_empty() || self.must_send_all() {
            schema.insert("required".to_owned(), required.into());
        }
        self.close(&mut schema, id, object, place)?;
        let mut said = Vec::new();
        for demand in &object.require_any {
            let constraint = |schema| Constraint { schema, keyword: "anyOf", value: json!(demand) };
            let words = place.schemas.first().and_then(|first| self.lose(constraint(*first)));
            said.extend(words);
        }
        if !said.is_empty() {
            schema.insert("description".to_owned(), said.join("; ").into());
        }
        Ok(schema)
    }

    /// Returns the schemas of an object's properties, and the names of the required ones.
    pub(super) fn properties(&mut self, id: ShapeId, object: &StructShape) -> Result<Properties, super::NotStrict> {
        let (mut properties, mut required) = (Vec::new(), Vec::new());
        if let Some(tag) = &object.tag {
            let (sent, schema) = self.tag(id, tag);
            required.push(sent.clone());
            properties.push((sent, schema));
        }
        for field in &object.fields {
            let (sent, schema) = self.field(id, field)?;
            if field.presence == Presence::Required || self.must_send_all() {
                required.push(sent.clone());
            }
            properties.push((sent, Value::Object(schema)));
        }
        Ok((properties, required))
    }

    /// Returns `true` for strict schemas of OpenAI, which have no optional properties.
    fn must_send_all(&self) -> bool {
        self.is_strict && self.dialect == Dialect::OpenAi
    }

    fn field(&mut self, id: ShapeId, field: &Field) -> Result<(String, Map<String, Value>), super::NotStrict> {
        let place = Place { schemas: &field.schemas, name: &field.wire };
        let is_optional = field.presence != Presence::Required;
        let mut schema = self.slot(field.slot, place, is_optional && self.must_send_all())?;
        if field.presence == Presence::OptionalOrNull && self.must_send_all() {
            self.refuse(&field.schemas, "absent and `null` are two things, of which only one can be sent")?;
        }
        let sent = self.name(id, &field.wire, &mut schema);
        Ok((sent, schema))
    }

    /// Names a property of a schema, and adds its real name to the description if the names differ.
    fn name(&mut self, id: ShapeId, wire: &str, schema: &mut Map<String, Value>) -> String {
        let sent = self.aliases.told(self.dialect, wire).to_owned();
        if sent == wire {
            return sent;
        }
        let said = [format!("named {}", Value::from(wire))];
        if schema.contains_key("$ref") {
            *schema = Map::from_iter([("anyOf".to_owned(), json!([schema]))]);
        }
        let known = schema.remove("description");
        if let Some(text) = words::described(known.as_ref().and_then(Value::as_str), &said) {
            schema.insert("description".to_owned(), text.into());
        }
        self.renamed.push(Renamed { pointer: self.reading.pointer(id), wire: wire.to_owned(), sent: sent.clone() });
        sent
    }

    /// Returns the tag property of a union's branch, with its sent name.
    fn tag(&mut self, id: ShapeId, name: &str) -> (String, Value) {
        let value = self.tags.get(&id).cloned().unwrap_or_default();
        let kind = match Kinds::of(&value) {
            Kinds::STRING => "string",
            Kinds::BOOLEAN => "boolean",
            Kinds::NULL => "null",
            Kinds::INTEGER => "integer",
            _ => "number",
        };
        let mut schema = typed(kind);
        schema.insert("enum".to_owned(), json!([value]));
        let reading = self.reading;
        let holding = reading.holding(reading.origin(id), Kinds::OBJECT);
        let declared: Vec<SchemaId> = holding
            .iter()
            .flat_map(|id| {
                reading.node(*id).properties.iter().filter(|(key, _)| key == name).map(|(_, schema)| *schema)
            })
            .collect();
        if let Some(description) = reading.description(&reading.holding(&declared, Kinds::ALL), name) {
            schema.insert("description".to_owned(), description.into());
        }
        let sent = self.name(id, name, &mut schema);
        (sent, Value::Object(schema))
    }

    /// Declares undeclared keys like the schema, as far as the provider allows.
    fn close(
        &mut self,
        schema: &mut Map<String, Value>,
        id: ShapeId,
        object: &StructShape,
        place: Place<'_>,
    ) -> Result<(), super::NotStrict> {
        let is_free = object.fields.is_empty() && object.tag.is_none() && object.unknown != Unknown::Deny;
        if is_free && id != self.root {
            // A closed object could only be `{}`. Arguments without properties are common and intended.
            self.refuse(place.schemas, "an object of any keys")?;
        }
        let is_open = self.reading.is_open(id, object.unknown);
        let additional = match object.unknown {
            Unknown::Keep(slot) if is_open => {
                if self.dialect != Dialect::Gemini || self.reading.is_anything(slot.shape) {
                    self.refuse(place.schemas, "an object of any keys beside those that it declares")?;
                }
                if self.reading.is_anything(slot.shape) {
                    Some(true.into())
                } else {
                    Some(Value::Object(self.slot(slot, Place::default(), false)?))
                }
            }
            Unknown::Deny => Some(false.into()),
            Unknown::Ignore | Unknown::Keep(_) => self.is_strict.then(|| false.into()),
        };
        schema.extend(additional.map(|additional| ("additionalProperties".to_owned(), additional)));
        Ok(())
    }
}

/// Returns a schema of either of two.
pub(super) fn either(left: Value, right: Value) -> Value {
    if left == right {
        return left;
    }
    let branches = |value: Value| match value {
        Value::Object(mut map) if map.len() == 1 && map.contains_key("anyOf") => match map.remove("anyOf") {
            Some(Value::Array(branches)) => branches,
            _ => Vec::new(),
        },
        value => vec![value],
    };
    let mut all = branches(left);
    for branch in branches(right) {
        if !all.contains(&branch) {
            all.push(branch);
        }
    }
    json!({ "anyOf": all })
}

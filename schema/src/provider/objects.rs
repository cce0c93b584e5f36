//! Objects printed as schemas of a provider, and the arguments as a whole.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::print::{Keywords, Place, Printer, alternatives, keyword, typed, typed_as};
use super::reading::declared;
use super::words::describe;
use super::{Dialect, Renamed};
use crate::normalize::{Kinds, SchemaId};
use crate::number::distinct;
use crate::shape::{Presence, Shape, ShapeId, StructShape, Unknown};

/// The maximum number of alternatives whose required properties are described.
const MOST_TOLD: usize = 8;

impl Printer<'_> {
    /// Prints the arguments as a whole: always an object with `properties`, because every provider refuses other roots.
    pub(super) fn whole(&mut self) -> Keywords {
        let (reading, root) = (self.reading, self.reading.document.root);
        let place = Place { schemas: reading.origin(root), name: "" };
        let mut objects = reading.document.shapes.leaves(&[root]);
        let count = objects.len();
        objects.retain(|id| matches!(reading.shape(*id), Shape::Struct(_)));
        let mut schema = if let [only] = objects.as_slice() {
            self.shape(*only, place, true)
        } else {
            self.refuse(place.schemas, "alternatives of the arguments as a whole");
            // A map or a value of any kind may be among the alternatives.
            self.flattened(&objects, objects.len() == count, place)
        };
        schema.entry("properties").or_insert_with(|| json!({}));
        schema
    }

    /// Merges all alternatives into one object, which allows more: a property is required only if all alternatives
    /// require it.
    fn flattened(&mut self, objects: &[ShapeId], is_whole: bool, place: Place<'_>) -> Keywords {
        let reading = self.reading;
        let mut properties: Map<String, Value> = Map::new();
        let mut required: Option<Vec<String>> = None;
        let (mut told, mut is_closed, mut others) = (Vec::new(), is_whole, Vec::new());
        for id in objects {
            let Shape::Struct(object) = reading.shape(*id) else { continue };
            let (schemas, own) = self.properties(*id, object);
            if let Some(slot) = reading.kept(*id, object) {
                let names: HashSet<String> = schemas.keys().cloned().collect();
                others.push((names, Value::Object(self.slot(slot, Place::default(), false))));
            }
            for (name, schema) in schemas {
                match properties.get_mut(&name) {
                    Some(known) => *known = either(known.take(), schema),
                    None => drop(properties.insert(name, schema)),
                }
            }
            told.push(self.told(*id, object));
            match &mut required {
                None => required = Some(own),
                Some(known) => {
                    let own: HashSet<String> = own.into_iter().collect();
                    known.retain(|name| own.contains(name));
                }
            }
            is_closed &= object.unknown == Unknown::Deny;
        }
        for (declared, other) in others {
            for (_, schema) in properties.iter_mut().filter(|(name, _)| !declared.contains(*name)) {
                *schema = either(schema.take(), other.clone());
            }
        }
        for schema in properties.values_mut() {
            if let Some(merged) = merged_enums(schema) {
                *schema = merged;
            }
        }
        let mut schema = typed("object", "properties", properties);
        if let Some(required) = required.filter(|required| is_whole && !required.is_empty()) {
            schema.insert("required".to_owned(), required.into());
        }
        if is_closed {
            schema.insert("additionalProperties".to_owned(), false.into());
        }
        let mut told = distinct(&told, |words| words);
        told.truncate(MOST_TOLD);
        let holding = reading.holding(place.schemas, Kinds::OBJECT);
        let said = if told.len() > 1 { vec![format!("either {}", told.join(", or "))] } else { Vec::new() };
        describe(&mut schema, reading.description(&holding, ""), &said);
        schema
    }

    /// Returns an alternative in words.
    fn told(&self, id: ShapeId, object: &StructShape) -> String {
        const MOST_KEYS: usize = 6;
        let told = |wire| self.aliases.told(self.dialect, wire);
        let tag = object.tag.as_deref().zip(self.tags.get(&id)).map(|(name, value)| format!("{} {value}", told(name)));
        let mut keys: Vec<&str> = object.required.iter().map(String::as_str).collect();
        if keys.is_empty() {
            keys = declared(object).collect();
            keys.sort_unstable();
        }
        keys.retain(|key| object.tag.as_deref() != Some(*key) && !key.is_empty() && !key.chars().any(char::is_control));
        let keys = keys.into_iter().take(MOST_KEYS).map(told).collect::<Vec<_>>().join(" and ");
        tag.into_iter().chain(Some(keys).filter(|keys| !keys.is_empty())).collect::<Vec<_>>().join(" with ")
    }

    pub(super) fn object(&mut self, id: ShapeId, object: &StructShape, place: Place<'_>) -> Keywords {
        let (properties, required) = self.properties(id, object);
        let mut schema = typed("object", "properties", properties);
        if !required.is_empty() || self.must_send_all() {
            schema.insert("required".to_owned(), required.into());
        }
        let additional = self.additional(id, object, place);
        schema.extend(additional.map(|additional| ("additionalProperties".to_owned(), additional)));
        let demands = object.require_any.iter();
        let said: Vec<String> =
            demands.filter_map(|demand| self.lose(place.schemas, "anyOf", &json!(demand))).collect();
        if !said.is_empty() {
            schema.insert("description".to_owned(), said.join("; ").into());
        }
        schema
    }

    /// Returns the schemas of an object's properties, and the names of the required ones.
    fn properties(&mut self, id: ShapeId, object: &StructShape) -> (Map<String, Value>, Vec<String>) {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        if let Some(tag) = &object.tag {
            let (sent, schema) = self.tag(id, tag);
            required.push(sent.clone());
            properties.insert(sent, schema.into());
        }
        for field in &object.fields {
            let is_required = field.presence == Presence::Required;
            let place = Place { schemas: &field.schemas, name: &field.wire };
            let mut schema = self.slot(field.slot, place, !is_required && self.must_send_all());
            if field.presence == Presence::OptionalOrNull && self.must_send_all() {
                self.refuse(&field.schemas, "absent and `null` are two things, of which only one can be sent");
            }
            let sent = self.name(id, &field.wire, &mut schema);
            if is_required || self.must_send_all() {
                required.push(sent.clone());
            }
            properties.insert(sent, schema.into());
        }
        (properties, required)
    }

    /// Returns the tag property of a union's branch, with its sent name.
    fn tag(&mut self, id: ShapeId, name: &str) -> (String, Keywords) {
        let value = self.tags.get(&id).cloned().unwrap_or_default();
        let mut schema = typed_as(Kinds::of(&value));
        schema.insert("enum".to_owned(), json!([value]));
        let reading = self.reading;
        let holding = reading.holding(reading.origin(id), Kinds::OBJECT);
        let properties = holding.iter().flat_map(|id| &reading.node(*id).properties);
        let declared: Vec<SchemaId> = properties.filter(|(key, _)| key == name).map(|(_, schema)| *schema).collect();
        describe(&mut schema, reading.description(&reading.holding(&declared, Kinds::ALL), name), &[]);
        (self.name(id, name, &mut schema), schema)
    }

    /// Names a property of a schema, and adds its real name to the description if the names differ.
    fn name(&mut self, id: ShapeId, wire: &str, schema: &mut Keywords) -> String {
        let sent = self.aliases.told(self.dialect, wire).to_owned();
        if sent != wire {
            if schema.contains_key("$ref") {
                *schema = keyword("anyOf", json!([schema]));
            }
            let known = schema.remove("description");
            let said = [format!("named {}", Value::from(wire))];
            describe(schema, known.as_ref().and_then(Value::as_str), &said);
            let pointer = self.reading.pointer(self.reading.origin(id));
            self.renamed.push(Renamed { pointer, wire: wire.to_owned(), sent: sent.clone() });
        }
        sent
    }

    /// Returns the schema of undeclared keys, as far as the provider allows.
    fn additional(&mut self, id: ShapeId, object: &StructShape, place: Place<'_>) -> Option<Value> {
        let is_free = declared(object).next().is_none() && object.unknown != Unknown::Deny;
        if is_free && id != self.reading.document.root {
            // A closed object could only be `{}`. Arguments without properties are common and intended.
            self.refuse(place.schemas, "an object of any keys");
        }
        let Some(slot) = self.reading.kept(id, object) else {
            return (self.is_strict || object.unknown == Unknown::Deny).then(|| false.into());
        };
        let is_anything = self.reading.is_anything(slot.shape);
        if self.dialect != Dialect::Gemini || is_anything {
            self.refuse(place.schemas, "an object of any keys beside those that it declares");
        }
        Some(if is_anything { true.into() } else { self.slot(slot, Place::default(), false).into() })
    }
}

/// Returns a schema of either of two.
fn either(left: Value, right: Value) -> Value {
    if left == right {
        return left;
    }
    let mut all = alternatives(left);
    for branch in alternatives(right) {
        if !all.contains(&branch) {
            all.push(branch);
        }
    }
    json!({ "anyOf": all })
}

/// Returns one enumeration in place of several of one type that are alternatives of each other.
fn merged_enums(schema: &Value) -> Option<Value> {
    let branches = schema.as_object().filter(|keywords| keywords.len() == 1)?.get("anyOf")?.as_array()?;
    let kind = branches.first()?.get("type")?;
    let mut values = Vec::new();
    for branch in branches {
        let listed = branch.get("enum")?.as_array()?;
        if branch.get("type") != Some(kind) || branch.as_object()?.len() > 2 {
            return None;
        }
        values.extend_from_slice(listed);
    }
    Some(json!({"type": kind, "enum": distinct(&values, ToString::to_string)}))
}

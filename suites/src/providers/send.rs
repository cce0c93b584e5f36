//! Simulates the value that a model sends under a schema.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Values as a model sends them under one schema.
pub(crate) struct Sender<'s> {
    root: &'s Value,
    /// The names that a property may have instead of its own.
    names: HashMap<&'s str, Vec<&'s str>>,
    left: usize,
}

/// A value as it is sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) value: Value,
    /// How many keys there was no place for: those of which the schema says nothing.
    pub(crate) dropped: usize,
}

impl<'s> Sender<'s> {
    pub(crate) fn new(root: &'s Value, renamed: impl Iterator<Item = (&'s str, &'s str)>) -> Self {
        let mut names: HashMap<&str, Vec<&str>> = HashMap::new();
        for (wire, sent) in renamed {
            names.entry(wire).or_default().push(sent);
        }
        Self { root, names, left: 200_000 }
    }

    /// The value as a model sends it; none where the schema has no place for it.
    pub(crate) fn send(&mut self, value: &Value) -> Option<Sent> {
        self.under(self.root, value)
    }

    fn under(&mut self, schema: &'s Value, value: &Value) -> Option<Sent> {
        self.left = self.left.checked_sub(1)?;
        let Value::Object(map) = schema else { return (schema == &Value::Bool(true)).then(|| whole(value)) };
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(reference.strip_prefix('#')?)?;
            return self.under(target, value);
        }
        if let Some(Value::Array(branches)) = map.get("anyOf") {
            let sent: Vec<Sent> = branches.iter().filter_map(|branch| self.under(branch, value)).collect();
            return sent.into_iter().min_by_key(|sent| sent.dropped);
        }
        if !is_of_type(map.get("type"), value) {
            return None;
        }
        if let Some(Value::Array(listed)) = map.get("enum") {
            return listed.iter().any(|known| same(known, value)).then(|| whole(value));
        }
        match value {
            Value::Object(members) => self.object(map, members),
            Value::Array(items) => {
                let Some(schema) = map.get("items") else { return Some(whole(value)) };
                let sent: Option<Vec<Sent>> = items.iter().map(|item| self.under(schema, item)).collect();
                let sent = sent?;
                let dropped = sent.iter().map(|sent| sent.dropped).sum();
                Some(Sent { value: sent.into_iter().map(|sent| sent.value).collect(), dropped })
            }
            _ => Some(whole(value)),
        }
    }

    fn object(&mut self, schema: &'s Map<String, Value>, members: &Map<String, Value>) -> Option<Sent> {
        let none = Map::new();
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => Some(properties),
            _ => None,
        };
        let additional = schema.get("additionalProperties");
        let is_whole = self.root.as_object().is_some_and(|root| std::ptr::eq(root, schema));
        let mut sent = Sent { value: Value::Null, dropped: 0 };
        let mut found = Map::new();
        for (key, value) in members {
            let names = self.names.get(key.as_str()).cloned().unwrap_or_default();
            let name = std::iter::once(key.as_str())
                .chain(names)
                .find(|name| properties.is_some_and(|it| it.contains_key(*name)));
            let declared = name.and_then(|name| Some((name.to_owned(), properties?.get(name)?)));
            let (name, schema) = match (declared, additional) {
                (Some((name, schema)), _) => (name, schema),
                // A closed object without properties has no room for the key, except for the arguments of a tool
                // without parameters.
                (None, Some(Value::Bool(false))) if properties.is_none_or(Map::is_empty) && !is_whole => {
                    return None;
                }
                (None, Some(Value::Bool(false))) => {
                    sent.dropped += 1;
                    continue;
                }
                (None, None) => {
                    found.insert(key.clone(), value.clone());
                    continue;
                }
                (None, Some(schema)) => (key.clone(), schema),
            };
            let inner = self.under(schema, value)?;
            sent.dropped += inner.dropped;
            found.insert(name, inner.value);
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for name in required {
            if !found.contains_key(name) {
                let place = properties.unwrap_or(&none).get(name);
                let place = place.and_then(|_| properties?.get(name))?;
                self.under(place, &Value::Null)?;
                found.insert(name.to_owned(), Value::Null);
            }
        }
        sent.value = Value::Object(found);
        Some(sent)
    }
}

fn whole(value: &Value) -> Sent {
    Sent { value: value.clone(), dropped: 0 }
}

fn is_of_type(names: Option<&Value>, value: &Value) -> bool {
    let is = |name: &Value| match (name.as_str().unwrap_or_default(), value) {
        ("integer", Value::Number(number)) => !number.is_f64() || number.as_f64().is_some_and(|it| it.fract() == 0.0),
        (name, value) => {
            name == match value {
                Value::Null => "null",
                Value::Bool(_) => "boolean",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                Value::Array(_) => "array",
                Value::Object(_) => "object",
            }
        }
    };
    match names {
        None => true,
        Some(Value::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        _ => left == right,
    }
}

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Input, Mismatch, Wire};

/// Reads the properties of an object.
#[derive(Clone, Copy, Debug)]
pub struct ObjectReader<'a> {
    input: Input<'a>,
    map: &'a Map<String, Value>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(input: Input<'a>) -> Result<Self, Mismatch> {
        Ok(Self { input, map: input.members()? })
    }

    /// A property that has to be there.
    ///
    /// # Errors
    /// Where it is missing or does not fit.
    pub fn required<T: Wire>(self, key: &str) -> Result<T, Mismatch> {
        match self.map.get(key) {
            Some(value) => self.read(key, value),
            None => Err(Mismatch::new(format!("missing property `{}`", key.escape_debug()))),
        }
    }

    /// A property that may be absent; `null` reads as absent, because models in strict mode send it.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn optional<T: Wire>(self, key: &str) -> Result<Option<T>, Mismatch> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => self.read(key, value).map(Some),
        }
    }

    /// A property that may be absent and may be `null`, which is not the same.
    ///
    /// # Errors
    /// Where it does not fit.
    pub fn present<T: Wire>(self, key: &str) -> Result<Option<T>, Mismatch> {
        self.map.get(key).map(|value| self.read(key, value)).transpose()
    }

    /// Every property but the `known` ones.
    ///
    /// # Errors
    /// Where one does not fit.
    pub fn extra<T: Wire>(self, known: &[&str]) -> Result<BTreeMap<String, T>, Mismatch> {
        self.unknown(known).map(|(key, value)| Ok((key.clone(), self.read(key, value)?))).collect()
    }

    /// Refuses every property but the `known` ones.
    ///
    /// # Errors
    /// Where there is another.
    pub fn deny_unknown(self, known: &[&str]) -> Result<(), Mismatch> {
        match self.unknown(known).next() {
            None => Ok(()),
            Some((key, _)) => Err(Mismatch::new("no such property").within(key.clone())),
        }
    }

    /// Asks for at least one of several sets of properties.
    ///
    /// # Errors
    /// Where none of the sets is complete.
    pub fn require_any(self, sets: &[&[&str]]) -> Result<(), Mismatch> {
        if sets.iter().any(|set| set.iter().all(|key| self.map.contains_key(*key))) {
            return Ok(());
        }
        let sets: Vec<_> = sets.iter().map(|set| format!("`{}`", set.join("`, `"))).collect();
        Err(Mismatch::new(format!("missing one of: {}", sets.join(" or "))))
    }

    /// The property that says which branch of a tagged union this is.
    ///
    /// # Errors
    /// Where it is missing or not a string.
    pub fn tag(self, key: &str) -> Result<&'a str, Mismatch> {
        match self.map.get(key) {
            Some(Value::String(tag)) => Ok(tag),
            Some(other) => Err(Mismatch::expected("a string", other).within(key)),
            None => Err(Mismatch::new(format!("missing property `{}`", key.escape_debug()))),
        }
    }

    /// The property that says which branch of a tagged union this is, where the tags are no strings: as JSON text.
    ///
    /// # Errors
    /// Where it is missing or a string.
    pub fn tag_json(self, key: &str) -> Result<String, Mismatch> {
        match self.map.get(key) {
            Some(text @ Value::String(_)) => Err(Mismatch::expected("a number or a boolean", text).within(key)),
            // `1.0` is the tag `1`.
            Some(Value::Number(number)) if number.is_f64() => {
                Ok(number.as_f64().unwrap_or_default().write()?.to_string())
            }
            Some(other) => Ok(other.to_string()),
            None => Err(Mismatch::new(format!("missing property `{}`", key.escape_debug()))),
        }
    }

    /// The mismatch of a tag that names no branch.
    #[must_use]
    pub fn unknown_tag(self, key: &str, known: &[&str]) -> Mismatch {
        Mismatch::new(format!("expected one of `{}`", known.join("`, `"))).within(key)
    }

    fn unknown(self, known: &[&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.map.iter().filter(move |(key, _)| !known.contains(&key.as_str()))
    }

    fn read<T: Wire>(self, key: &str, value: &'a Value) -> Result<T, Mismatch> {
        T::read(self.input.at(value)).map_err(|error| error.within(key))
    }
}

/// Prints the properties of an object, in the order of the calls.
#[derive(Debug, Default)]
pub struct ObjectWriter(Map<String, Value>);

impl ObjectWriter {
    /// An object without properties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An object that starts with the tag of a union's branch.
    ///
    /// # Errors
    /// Never; the signature is that of [`tagged_json`](Self::tagged_json).
    pub fn tagged(key: &str, tag: &str) -> Result<Self, Mismatch> {
        Ok(Self(Map::from_iter([(key.to_owned(), Value::from(tag))])))
    }

    /// An object that starts with the tag of a union's branch, given as JSON text.
    ///
    /// # Errors
    /// Where the text is not JSON, which generated code never contains.
    pub fn tagged_json(key: &str, tag: &str) -> Result<Self, Mismatch> {
        Ok(Self(Map::from_iter([(key.to_owned(), super::write_literal(tag)?)])))
    }

    /// A property that is always printed.
    ///
    /// # Errors
    /// Where the value has no JSON form.
    pub fn required<T: Wire>(&mut self, key: &str, value: &T) -> Result<(), Mismatch> {
        let value = value.write().map_err(|error| error.within(key))?;
        self.0.insert(key.to_owned(), value);
        Ok(())
    }

    /// A property that is printed if there is a value.
    ///
    /// # Errors
    /// Where the value has no JSON form.
    pub fn optional<T: Wire>(&mut self, key: &str, value: &Option<T>) -> Result<(), Mismatch> {
        value.as_ref().map_or(Ok(()), |value| self.required(key, value))
    }

    /// The properties that have no field; a field's own property is never overwritten.
    ///
    /// # Errors
    /// Where a value has no JSON form.
    pub fn extra<T: Wire>(&mut self, extra: &BTreeMap<String, T>) -> Result<(), Mismatch> {
        for (key, value) in extra {
            if !self.0.contains_key(key) {
                self.required(key, value)?;
            }
        }
        Ok(())
    }

    /// The properties of a union's branch, after its tag.
    ///
    /// # Errors
    /// Where the branch has no JSON form.
    pub fn flatten<T: Wire>(mut self, branch: &T) -> Result<Value, Mismatch> {
        if let Value::Object(properties) = branch.write()? {
            for (key, value) in properties {
                self.0.entry(key).or_insert(value);
            }
        }
        Ok(self.finish())
    }

    /// The object.
    #[must_use]
    pub fn finish(self) -> Value {
        Value::Object(self.0)
    }
}

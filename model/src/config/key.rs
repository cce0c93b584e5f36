//! A key of `mcp.toml`: its name, the form of its value, its default and its help.

use serde_json::{Map, Value, json};

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The servers that it is for.
    pub(crate) reach: Reach,
    /// `true` if the key restricts calls. A configuration that only changes the connection keeps such a key.
    pub(crate) is_demand: bool,
    /// `true` if bindings embed its value, because it is used at run time.
    pub(crate) is_embedded: bool,
    /// The default as JSON, or in words; empty if the key has no default.
    pub(crate) default: &'static str,
    /// Its effect, in Markdown without links.
    pub(crate) help: &'static str,
    /// The page of the book about it.
    pub(crate) page: &'static str,
}

/// The form of a value, from which its JSON Schema follows.
pub(crate) enum Form {
    /// A value that this JSON Schema describes.
    Plain(&'static str),
    Words(fn() -> Vec<&'static str>),
    List(&'static Self),
    /// Values by names.
    Map(&'static Self),
    Either(&'static Self, &'static Self),
    Table(&'static [Key]),
}

/// The servers that a key is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Any,
    /// Only child processes.
    Child,
    /// Only servers with a `url`.
    Remote,
}

pub(crate) const fn key(name: &'static str, form: Form, default: &'static str, help: &'static str) -> Key {
    Key { name, form, reach: Reach::Any, is_demand: false, is_embedded: true, default, help, page: "" }
}

/// Returns `true` if one of the keys has a name.
pub(crate) fn has(keys: &[Key], name: &str) -> bool {
    keys.iter().any(|key| key.name == name)
}

impl Key {
    pub(crate) const fn child(self) -> Self {
        Self { reach: Reach::Child, ..self }
    }

    pub(crate) const fn remote(self) -> Self {
        Self { reach: Reach::Remote, ..self }
    }

    pub(crate) const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    pub(crate) const fn demand(self) -> Self {
        Self { is_demand: true, ..self }
    }

    pub(crate) const fn not_embedded(self) -> Self {
        Self { is_embedded: false, ..self }
    }

    pub(crate) const fn page(self, page: &'static str) -> Self {
        Self { page, ..self }
    }

    /// Returns the JSON Schema of its value, with its default, its help and its page.
    fn schema(&self) -> Value {
        let mut schema = self.form.schema();
        if let Value::Object(members) = &mut schema {
            let mut description = self.help.to_owned();
            match serde_json::from_str(self.default) {
                Ok(default) => drop(members.insert("default".to_owned(), default)),
                Err(_) if self.default.is_empty() => {}
                Err(_) => description.push_str(&format!("; default: {}", self.default)),
            }
            members.insert("description".to_owned(), description.into());
            if !self.page.is_empty() {
                members.insert("$comment".to_owned(), self.page.into());
            }
        }
        schema
    }
}

impl Form {
    pub(crate) const TEXT: Self = Self::Plain(r#"{"type":"string"}"#);
    pub(crate) const TEXTS: Self = Self::List(&Self::TEXT);
    pub(crate) const BOOLEAN: Self = Self::Plain(r#"{"type":"boolean"}"#);

    /// Returns the JSON Schema of such a value.
    pub(crate) fn schema(&self) -> Value {
        match self {
            Self::Plain(schema) => serde_json::from_str(schema).unwrap_or_default(),
            Self::Words(words) => json!({ "enum": words() }),
            Self::List(form) => json!({ "type": "array", "items": form.schema() }),
            Self::Map(form) => json!({ "type": "object", "additionalProperties": form.schema() }),
            Self::Either(one, other) => json!({ "anyOf": [one.schema(), other.schema()] }),
            Self::Table(keys) => {
                let properties: Map<String, Value> =
                    keys.iter().map(|key| (key.name.to_owned(), key.schema())).collect();
                json!({ "type": "object", "properties": properties, "additionalProperties": false })
            }
        }
    }
}

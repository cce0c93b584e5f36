//! A key of `mcp.toml`: its name, the form of its value, its default and its help.

use serde_json::Value;

use crate::json_text::object;

/// A key of a table.
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// The servers that it is for.
    pub(crate) reach: Reach,
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
    Words(&'static [&'static str]),
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
    Key { name, form, reach: Reach::Any, is_embedded: true, default, help, page: "" }
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
            match self.default.parse() {
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
        let of_type =
            |name: &str, key: &'static str, value: Value| vec![("type", Some(name.into())), (key, Some(value))];
        object(match self {
            Self::Plain(schema) => return schema.parse().unwrap_or_default(),
            Self::Words(words) => vec![("enum", Some(words.iter().copied().map(Value::from).collect()))],
            Self::List(form) => of_type("array", "items", form.schema()),
            Self::Map(form) => of_type("object", "additionalProperties", form.schema()),
            Self::Either(one, other) => vec![("anyOf", Some(vec![one.schema(), other.schema()].into()))],
            Self::Table(keys) => {
                let properties = keys.iter().map(|key| (key.name, Some(key.schema()))).collect();
                let mut members = of_type("object", "properties", object(properties).into());
                members.push(("additionalProperties", Some(false.into())));
                members
            }
        })
        .into()
    }
}

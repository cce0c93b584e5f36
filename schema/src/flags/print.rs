//! From arguments to words.

use serde_json::{Map, Value};

use super::Flags;
use super::names::Meaning;
use super::typed::{typed, whole_array};
use super::view::View;
use super::words::{Given, name_and_value};
use crate::normalize::Kinds;
use crate::texts::text_or_json;

/// How a property is named.
#[derive(Clone, Debug)]
pub(super) enum Name {
    /// `--NAME`.
    Flag(String),
    /// `--arg NAME`.
    Argument(String),
}

impl Name {
    fn with(&self, text: &str) -> Vec<String> {
        match self {
            Self::Flag(name) if text.is_empty() || text.starts_with('-') => vec![format!("--{name}={text}")],
            Self::Flag(name) => vec![format!("--{name}"), text.to_owned()],
            Self::Argument(name) => Self::argument(&format!("{name}={text}")),
        }
    }

    fn with_json(&self, value: &Value) -> Vec<String> {
        match self {
            Self::Flag(name) => vec![format!("--{name}:={value}")],
            Self::Argument(name) => Self::argument(&format!("{name}:={value}")),
        }
    }

    fn argument(text: &str) -> Vec<String> {
        // A text that begins with `--` would be parsed as a flag.
        if text.starts_with("--") { vec![format!("--arg={text}")] } else { vec!["--arg".to_owned(), text.to_owned()] }
    }
}

impl Flags {
    /// Returns the arguments that [`parse`](Self::parse) reads as exactly this object: a flag for each property, as
    /// short as possible. They are not quoted for a shell.
    ///
    /// ```
    /// use mcp_bindgen_schema::flags::Flags;
    ///
    /// let schema = serde_json::json!({"type": "object", "properties": {
    ///     "title": {"type": "string"}, "state": {"type": ["string", "null"]}, "env": {"type": "object", "additionalProperties": {"type": "string"}},
    /// }});
    /// let flags = Flags::new(&schema, []);
    /// let arguments = serde_json::json!({"title": "a b", "state": null, "env": {"HOME": "/root"}});
    /// let words = flags.print(arguments.as_object().unwrap());
    /// assert_eq!(words, ["--title", "a b", "--state:=null", "--env.HOME", "/root"]);
    /// ```
    #[must_use]
    pub fn print(&self, arguments: &Map<String, Value>) -> Vec<String> {
        let mut words = Vec::new();
        let mut rest = Map::new();
        for (name, value) in arguments {
            match self.print_property(name, value) {
                Some(printed) => words.extend(printed),
                None => {
                    rest.insert(name.clone(), value.clone());
                }
            }
        }
        if !rest.is_empty() {
            words.splice(0..0, ["--args".to_owned(), Value::Object(rest).to_string()]);
        }
        words
    }

    fn print_property(&self, name: &str, value: &Value) -> Option<Vec<String>> {
        let path = [name.to_owned()];
        let (name, view) = match self.flag_of(name, &path) {
            Some(view) => (Name::Flag(name.to_owned()), view),
            None => self.argument_of(name)?,
        };
        if let (Name::Flag(name), Value::Object(members)) = (&name, value)
            && let Some(words) = self.print_members(name, &path, members)
        {
            return Some(words);
        }
        Some(self.print_plain(&name, &view, value).unwrap_or_else(|| name.with_json(value)))
    }

    /// Returns the values of the flag `--NAME`, if the name selects this property.
    pub(super) fn flag_of(&self, name: &str, path: &[String]) -> Option<View<'_>> {
        if name.is_empty() || name_and_value(name).1 != Given::Nothing || name.ends_with(':') || self.is_own(name) {
            return None;
        }
        match self.meaning(name) {
            Meaning::Property(found) if found.path == path => Some(found.view),
            _ => None,
        }
    }

    pub(super) fn argument_of(&self, name: &str) -> Option<(Name, View<'_>)> {
        let is_plain = !name.is_empty() && !name.contains('=') && !name.ends_with(':') && !name.starts_with('"');
        for is_quoted in [false, true] {
            if (is_plain || is_quoted)
                && let Meaning::Property(found) = self.argument(name, is_quoted)
                && found.path == [name]
            {
                let name = if is_quoted { Value::from(name).to_string() } else { name.to_owned() };
                return Some((Name::Argument(name), found.view));
            }
        }
        None
    }

    /// Prints the members of an object as dotted flags, or returns `None` if a member has no plain form.
    fn print_members(&self, above: &str, path: &[String], members: &Map<String, Value>) -> Option<Vec<String>> {
        if members.is_empty() {
            return None;
        }
        let mut words = Vec::new();
        for (key, value) in members {
            let name = format!("{above}.{key}");
            let path: Vec<String> = path.iter().chain([key]).cloned().collect();
            let view = self.flag_of(&name, &path)?;
            let printed = match value {
                Value::Object(members) => self.print_members(&name, &path, members),
                value => self.print_plain(&Name::Flag(name), &view, value),
            };
            words.extend(printed?);
        }
        Some(words)
    }

    fn print_plain(&self, name: &Name, view: &View<'_>, value: &Value) -> Option<Vec<String>> {
        if let (Name::Flag(flag), Value::Bool(value), true) = (name, value, view.is_switch()) {
            let is_taken = view.has(Kinds::BOOLEAN) || view.literals.contains(&(*value).into());
            let negated = format!("no-{flag}");
            let means_this = || match (self.meaning(flag), self.meaning(&negated)) {
                (Meaning::Property(found), Meaning::Negated(negated)) => found.path == negated.path,
                _ => false,
            };
            if is_taken && (*value || (!self.is_own(&negated) && means_this())) {
                return Some(vec![if *value { format!("--{flag}") } else { format!("--{negated}") }]);
            }
        }
        match value {
            Value::Array(items) if view.repeats() => {
                let text = |(index, item)| text_of(&view.item(index), item);
                let texts: Vec<String> = items.iter().enumerate().map(text).collect::<Option<_>>()?;
                // One that would be read as the whole array is not an element.
                let is_whole = matches!(texts.as_slice(), [only] if whole_array(view, only).is_some());
                let words: Vec<String> = texts.iter().flat_map(|text| name.with(text)).collect();
                (!words.is_empty() && !is_whole).then_some(words)
            }
            _ if view.repeats() => None,
            // The whole value is printed as JSON.
            Value::Array(_) | Value::Object(_) => None,
            value => {
                let text = text_of(view, value)?;
                // A switch takes no word.
                Some(match name {
                    Name::Flag(flag) if view.is_switch() => vec![format!("--{flag}={text}")],
                    name => name.with(&text),
                })
            }
        }
    }
}

/// Returns the word that is read as this value.
fn text_of(view: &View<'_>, value: &Value) -> Option<String> {
    let text = text_or_json(value);
    if view.has(Kinds::STRING) && text.starts_with('@') {
        return value.is_string().then(|| format!("@{text}"));
    }
    typed(view, &text).is_ok_and(|read| read == *value).then_some(text)
}

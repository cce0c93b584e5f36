//! From arguments to words.

use std::slice::from_ref;

use serde_json::{Map, Value};

use super::Flags;
use super::typed::{typed, whole_array};
use super::view::View;
use crate::normalize::Kinds;
use crate::texts::text_or_json;

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
            let path = from_ref(name);
            let as_json = || Some(vec![format!("{}:={value}", one_word(&self.flag_of(path)?.0))]);
            match self.print_plain(path, value).or_else(as_json) {
                Some(printed) => words.extend(printed),
                None => drop(rest.insert(name.clone(), value.clone())),
            }
        }
        if !rest.is_empty() {
            words.splice(0..0, ["--args".to_owned(), Value::Object(rest).to_string()]);
        }
        words
    }

    /// Returns the flag of a property, `--NAME` or `--arg NAME`, and its values.
    pub(super) fn flag_of(&self, path: &[String]) -> Option<(String, View<'_>)> {
        let name = path.join(".");
        if let Some(view) = self.by_name(&name, path) {
            return Some((format!("--{name}"), view));
        }
        let found = |is_quoted| self.argument(&name, is_quoted).property().filter(|found| found.path == path);
        match found(false).filter(|_| is_plain(&name) && !name.starts_with('"')) {
            Some(found) => Some((format!("--arg {name}"), found.view)),
            None => Some((format!("--arg {}", Value::from(name.as_str())), found(true)?.view)),
        }
    }

    /// Returns the values of the flag `--NAME`, if the name selects this property.
    pub(super) fn by_name(&self, name: &str, path: &[String]) -> Option<View<'_>> {
        // Flags by `--arg` begin like this.
        if !is_plain(name) || name.starts_with("arg ") || self.is_own(name) {
            return None;
        }
        let found = self.meaning(name).property().filter(|found| found.path == path && !found.is_negated)?;
        Some(found.view)
    }

    /// Returns the words that set a property without JSON, those of members for an object.
    fn print_plain(&self, path: &[String], value: &Value) -> Option<Vec<String>> {
        let (flag, view) = self.flag_of(path)?;
        let is_switch = view.is_switch();
        let switch = match value {
            Value::Bool(true) if is_switch => Some(flag.clone()),
            Value::Bool(false) if is_switch => self.negation(path),
            _ => None,
        };
        match value {
            Value::Bool(_) if switch.is_some() && view.takes(value) && !flag.starts_with("--arg ") => {
                Some(Vec::from_iter(switch))
            }
            Value::Object(members) if !members.is_empty() => {
                let member = |(key, value)| self.print_plain(&[path, from_ref(key)].concat(), value);
                Some(members.iter().map(member).collect::<Option<Vec<_>>>()?.concat())
            }
            Value::Array(items) if view.repeats() => {
                let text = |(index, item)| text_of(&view.item(index), item);
                let texts: Vec<String> = items.iter().enumerate().map(text).collect::<Option<_>>()?;
                // One that would be read as the whole array is not an element.
                let is_whole = matches!(texts.as_slice(), [only] if whole_array(&view, only).is_some());
                let words: Vec<String> = texts.iter().flat_map(|text| written(&flag, text, false)).collect();
                (!words.is_empty() && !is_whole).then_some(words)
            }
            // The whole value is printed as JSON.
            value if value.is_array() || value.is_object() || view.repeats() => None,
            value => Some(written(&flag, &text_of(&view, value)?, is_switch)),
        }
    }
}

/// Returns `true` if the end of a name is visible before a value.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains('=') && !name.ends_with(':')
}

/// Returns the beginning of the one word that sets a flag: `--NAME`, or `--arg=NAME`.
pub(super) fn one_word(flag: &str) -> String {
    match flag.strip_prefix("--arg ") {
        Some(name) => format!("--arg={name}"),
        None => flag.to_owned(),
    }
}

/// Returns a flag with its value: in one word, if that has to be or the second would not look like a value.
fn written(flag: &str, text: &str, in_one: bool) -> Vec<String> {
    if in_one || flag.starts_with("--arg ") || text.is_empty() || text.starts_with('-') {
        vec![format!("{}={text}", one_word(flag))]
    } else {
        vec![flag.to_owned(), text.to_owned()]
    }
}

/// Returns the word that is read as this value.
fn text_of(view: &View<'_>, value: &Value) -> Option<String> {
    let text = text_or_json(value);
    if view.kinds().has(Kinds::STRING) && text.starts_with('@') {
        return value.is_string().then(|| format!("@{text}"));
    }
    typed(view, &text).is_ok_and(|read| read == *value).then_some(text)
}

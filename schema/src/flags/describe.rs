//! The help of each flag.

use std::collections::HashSet;

use serde_json::Value;

use super::Flags;
use super::kebab::kebab;
use super::names::Meaning;
use super::print::Name;
use super::view::View;
use crate::normalize::{Kinds, Schemas};
use crate::shape::ShapeId;
use crate::texts::text_or_json;

/// Flags listed of a tool, and how deep inside objects.
const MOST_FLAGS: usize = 1000;
const DEEPEST: usize = 4;

/// A flag of a tool. Names, values and descriptions are untrusted: sanitize them before printing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Flag {
    /// The keys of the property; `KEY` means any key of a map.
    pub path: Vec<String>,
    /// The flag: `--owner`, or `--arg format` if the name is an option of the program.
    pub name: String,
    /// Alternative spellings: kebab case, `--no-NAME`.
    pub also: Vec<String>,
    /// The placeholder of its value, such as `STRING`, if it takes one.
    pub value: Option<String>,
    /// `true` if the flag can be repeated, for each element of an array.
    pub repeats: bool,
    /// `true` if the flag is required.
    pub is_required: bool,
    /// The possible values, as they are written.
    pub values: Vec<String>,
    /// The description in the schema.
    pub description: Option<String>,
    /// The default in the schema.
    pub default: Option<Value>,
}

impl Flag {
    /// Returns the argument that sets the property to this text: `--owner=rust-lang`.
    #[must_use]
    pub fn with_text(&self, text: &str) -> String {
        format!("{}={text}", self.as_word())
    }

    /// Returns the argument that sets the property to this JSON: `--labels:=[]`.
    #[must_use]
    pub fn with_json(&self, json: &str) -> String {
        format!("{}:={json}", self.as_word())
    }

    fn as_word(&self) -> String {
        match self.name.strip_prefix("--arg ") {
            Some(name) => format!("--arg={name}"),
            None => self.name.clone(),
        }
    }

    /// Returns the flag with the placeholder of its value: `--owner <STRING>`, `--draft`, `--arg format=<STRING>`.
    #[must_use]
    pub fn usage(&self) -> String {
        let by_arg = self.name.starts_with("--arg ");
        match &self.value {
            Some(value) if by_arg => format!("{}=<{value}>", self.name),
            Some(value) => format!("{} <{value}>", self.name),
            None if by_arg => format!("{}=true", self.name),
            None => self.name.clone(),
        }
    }
}

/// The flags above one that is described.
struct Above {
    path: Vec<String>,
    is_required: bool,
    seen: HashSet<ShapeId>,
}

impl Flags {
    pub(super) fn describe(&self, schemas: &Schemas<'_>) -> Vec<Flag> {
        let mut flags = Vec::new();
        let above = Above { path: Vec::new(), is_required: true, seen: HashSet::new() };
        self.describe_below(schemas, &self.root_view(), &above, &mut flags);
        flags
    }

    fn describe_below(&self, schemas: &Schemas<'_>, view: &View<'_>, above: &Above, flags: &mut Vec<Flag>) {
        let required = view.required(|_| None);
        let properties = view.properties();
        // With this many names, other forms of a name are not searched.
        let has_forms = properties.len() <= MOST_FLAGS;
        if !has_forms && !above.path.is_empty() {
            return;
        }
        for name in properties {
            let Some(inner) = view.property(name).filter(|_| flags.len() < MOST_FLAGS) else { continue };
            let mut path = above.path.clone();
            path.push(name.to_owned());
            let is_required = above.is_required && required.contains(&name);
            // The exact name of another property may hide a nested property.
            if path.len() > 1 && !self.leads_to(&path.join("."), &path) {
                continue;
            }
            let mut flag = self.flag(&path, &inner, is_required, has_forms);
            let described = view.objects.iter().flat_map(|object| &object.declared.fields);
            let described = described.filter(|field| field.wire == name).flat_map(|field| &field.schemas);
            for source in described.flat_map(|schema| schemas.described_by(*schema)) {
                let description = source.get("description").and_then(Value::as_str).map(str::to_owned);
                flag.description = flag.description.or(description);
                flag.default = flag.default.or_else(|| source.get("default").filter(|value| !value.is_null()).cloned());
            }
            flags.push(flag);
            let shapes: Vec<ShapeId> = inner.objects.iter().map(|object| object.shape).collect();
            if path.len() >= DEEPEST || shapes.iter().any(|shape| above.seen.contains(shape)) {
                continue;
            }
            let seen = above.seen.iter().copied().chain(shapes).collect();
            let below = Above { path, is_required, seen };
            self.describe_map(&inner, &below, flags);
            self.describe_below(schemas, &inner, &below, flags);
        }
    }

    /// Adds the flag for any key of a map.
    fn describe_map(&self, view: &View<'_>, above: &Above, flags: &mut Vec<Flag>) {
        let Some(values) = view.map_values() else { return };
        if view.has(Kinds::STRING) || !view.objects.is_empty() {
            return;
        }
        let mut path = above.path.clone();
        path.push("KEY".to_owned());
        flags.push(self.flag(&path, &values, false, false));
    }

    fn leads_to(&self, name: &str, path: &[String]) -> bool {
        matches!(self.meaning(name), Meaning::Property(found) if found.path == path)
    }

    fn flag(&self, path: &[String], view: &View<'_>, is_required: bool, has_forms: bool) -> Flag {
        let joined = path.join(".");
        let is_whole = path.len() == 1;
        let by_arg = self.is_own(&joined) || (is_whole && self.flag_of(&joined, path).is_none());
        let name = match self.argument_of(&joined).filter(|_| by_arg && is_whole) {
            Some((Name::Argument(name), _)) => format!("--arg {name}"),
            _ if by_arg => format!("--arg {joined}"),
            _ => format!("--{joined}"),
        };
        let mut also = Vec::new();
        if has_forms
            && let Some(last) = path.last()
            && let Some(form) = kebab(last)
        {
            let parents = path.iter().rev().skip(1).rev().cloned();
            let form = parents.chain([form]).collect::<Vec<_>>().join(".");
            if !self.is_own(&form) && self.leads_to(&form, path) {
                also.push(format!("--{form}"));
            }
        }
        let repeats = view.repeats();
        let item = view.item(0);
        let taken = if repeats { &item } else { view };
        let is_switch = view.is_switch();
        if is_switch && !by_arg && has_forms {
            let negated = format!("no-{joined}");
            if !self.is_own(&negated) && matches!(self.meaning(&negated), Meaning::Negated(found) if found.path == path)
            {
                also.push(format!("--{negated}"));
            }
        }
        Flag {
            path: path.to_vec(),
            name,
            also,
            value: (!is_switch).then(|| word(taken)),
            repeats,
            is_required,
            values: if is_switch || taken.has(Kinds::STRING) {
                Vec::new()
            } else {
                taken.literals.iter().map(text_or_json).collect()
            },
            description: None,
            default: None,
        }
    }
}

/// Returns the placeholder for a value's type.
fn word(view: &View<'_>) -> String {
    if view.is_anything() {
        return "VALUE".to_owned();
    }
    let mut words = Vec::new();
    if view.has(Kinds::STRING) || view.literals.iter().any(Value::is_string) {
        words.push("STRING");
    }
    if view.has(Kinds::NUMBER) {
        words.push("NUMBER");
    } else if view.has(Kinds::INTEGER) {
        words.push("INTEGER");
    } else if view.literals.iter().any(Value::is_number) {
        words.push("NUMBER");
    }
    if view.has(Kinds::BOOLEAN) || view.literals.iter().any(Value::is_boolean) {
        words.push("BOOLEAN");
    }
    if view.is_array() || view.is_object() {
        words.push("JSON");
    }
    if words.is_empty() { "VALUE".to_owned() } else { words.join("|") }
}

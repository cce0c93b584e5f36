//! The help of each flag.

use std::sync::atomic::Ordering;

use serde_json::{Map, Value};

use super::Flags;
use super::print::one_word;
use super::typed::placeholder;
use super::view::{View, kebab};
use crate::normalize::{Kinds, Schemas};
use crate::shape::ShapeId;
use crate::texts::text_or_json;

/// Flags listed of a tool, and how deep inside objects.
const MOST_FLAGS: usize = 1000;
const DEEPEST: usize = 4;
/// The maximum number of ways to split the names of a tool at their dots that are tried for its list.
const MOST_SPLITS: usize = 65_536;

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
    fn new(path: Vec<String>, name: String, view: &View<'_>) -> Self {
        let (repeats, is_switch) = (view.repeats(), view.is_switch());
        let item = view.item(0);
        let taken = if repeats { &item } else { view };
        let is_listed = !is_switch && !taken.kinds().has(Kinds::STRING);
        let values = taken.literals.iter().filter(|_| is_listed).map(text_or_json).collect();
        let value = (!is_switch).then(|| placeholder(taken));
        let (also, is_required, description, default) = (Vec::new(), false, None, None);
        Self { path, name, also, value, repeats, is_required, values, description, default }
    }

    /// Returns the argument that sets the property to this text: `--owner=rust-lang`.
    #[must_use]
    pub fn with_text(&self, text: &str) -> String {
        format!("{}={text}", one_word(&self.name))
    }

    /// Returns the argument that sets the property to this JSON: `--labels:=[]`.
    #[must_use]
    pub fn with_json(&self, json: &str) -> String {
        format!("{}:={json}", one_word(&self.name))
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

impl Flags {
    /// Adds the flags of the properties below one, or of the whole object. `seen` are the objects around them.
    pub(super) fn describe(
        &self,
        schemas: &Schemas<'_>,
        view: &View<'_>,
        above: Option<&Flag>,
        seen: &[ShapeId],
        flags: &mut Vec<Flag>,
    ) {
        let required = view.required(&Map::new());
        let properties = view.properties();
        // With this many names, other forms of a name are not searched.
        let has_forms = properties.len() <= MOST_FLAGS;
        if !has_forms && above.is_some() {
            return;
        }
        for name in properties {
            if flags.len() >= MOST_FLAGS || self.splits.load(Ordering::Relaxed) > MOST_SPLITS {
                return;
            }
            let path = path_below(above, name);
            // The exact name of another property may hide a nested property.
            let Some((flag, inner)) = self.flag_of(&path) else { continue };
            let also = if has_forms { self.other_forms(&path, &flag) } else { Vec::new() };
            let fields = view.objects.iter().filter_map(|object| object.declared.field(name));
            let described = fields.flat_map(|field| &field.schemas);
            let described: Vec<_> = described.flat_map(|schema| schemas.described_by(*schema)).collect();
            let texts = described.iter().filter_map(|schema| schema.get("description")?.as_str());
            let mut defaults = described.iter().filter_map(|schema| schema.get("default"));
            let flag = Flag {
                also,
                is_required: required.contains(&name) && above.is_none_or(|above| above.is_required),
                description: texts.map(str::to_owned).next(),
                default: defaults.find(|value| !value.is_null()).cloned(),
                ..Flag::new(path, flag, &inner)
            };
            flags.push(flag.clone());
            let shapes: Vec<ShapeId> = inner.objects.iter().map(|object| object.shape).collect();
            if flag.path.len() >= DEEPEST || shapes.iter().any(|shape| seen.contains(shape)) {
                continue;
            }
            // Any key of a map.
            if let Some(values) = inner.map_values()
                && inner.objects.is_empty()
                && !inner.kinds().has(Kinds::STRING)
            {
                let path = path_below(Some(&flag), "KEY");
                let name = format!("--{}", path.join("."));
                flags.push(Flag::new(path, name, &values));
            }
            self.describe(schemas, &inner, Some(&flag), &[seen, &shapes].concat(), flags);
        }
    }

    /// Returns the other spellings of a flag: its kebab case, and `--no-NAME`.
    fn other_forms(&self, path: &[String], flag: &str) -> Vec<String> {
        let form = path.split_last().and_then(|(last, above)| {
            let form = [above, &[kebab(last)?]].concat().join(".");
            self.by_name(&form, path).map(|_| format!("--{form}"))
        });
        let negation = self.negation(path).filter(|_| !flag.starts_with("--arg "));
        form.into_iter().chain(negation).collect()
    }
}

fn path_below(above: Option<&Flag>, name: &str) -> Vec<String> {
    let above = above.map(|above| above.path.clone()).unwrap_or_default();
    [above, vec![name.to_owned()]].concat()
}

//! Parameters of sections: values by their types, which templates see as data.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use super::RenderError;

const DEEPEST_SCHEMA: usize = 16;

/// A value that can be the parameters of a section: printable for its template, with names that are known before there is a
/// value.
/// Implemented for all types with [`Serialize`] and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a section",
    note = "parameters derive `serde::Serialize` and `schemars::JsonSchema`, and hold no references"
)]
pub trait SectionParams: Serialize + JsonSchema + Any + Send + Sync {}

impl<T: Serialize + JsonSchema + Any + Send + Sync> SectionParams for T {}

/// A value of some type.
#[derive(Clone)]
pub(super) struct Held {
    value: Arc<dyn Any + Send + Sync>,
    print: fn(&dyn Any) -> Result<Value, String>,
    kind: Kind,
}

/// A type of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    id: TypeId,
    pub(super) name: &'static str,
}

impl Kind {
    pub(super) fn of<P: SectionParams>() -> Self {
        Self { id: TypeId::of::<P>(), name: type_name::<P>() }
    }

    /// Returns `true` if there is but one value of it, so that none need be given.
    pub(super) fn is_unit(self) -> bool {
        self.id == TypeId::of::<()>()
    }
}

impl Held {
    pub(super) fn new<P: SectionParams>(value: P) -> Self {
        Self { value: Arc::new(value), print: print::<P>, kind: Kind::of::<P>() }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn get(&self) -> &dyn Any {
        &*self.value
    }

    /// Returns the value for a template.
    pub(super) fn printed(&self) -> Result<Value, String> {
        match (self.print)(self.get())? {
            Value::Null => Ok(Value::Object(serde_json::Map::new())),
            value @ Value::Object(_) => Ok(value),
            _ => Err(format!("`{}` does not serialize as an object", self.kind.name)),
        }
    }
}

fn print<P: SectionParams>(value: &dyn Any) -> Result<Value, String> {
    let value = value.downcast_ref::<P>().ok_or_else(|| format!("a value that is not a `{}`", type_name::<P>()))?;
    serde_json::to_value(value).map_err(|error| format!("failed to serialize `{}`: {error}", type_name::<P>()))
}

/// The parameters of a prompt's sections: at most one value of each type, shared by all sections with parameters of
/// that type.
///
/// They are data: templates print them, and never evaluate them. `Debug` shows only their types.
///
/// ```
/// use mcp_bindgen_agents::PromptParams;
/// use schemars::JsonSchema;
/// use serde::Serialize;
///
/// #[derive(Serialize, JsonSchema)]
/// struct Repo { owner: String }
///
/// let params = PromptParams::new().with(Repo { owner: "rust-lang".to_owned() });
/// # let _ = params;
/// ```
#[derive(Clone, Default)]
pub struct PromptParams {
    values: Vec<Held>,
}

impl PromptParams {
    /// Creates empty parameters.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. A second value of the same type makes rendering fail.
    #[must_use]
    pub fn with<P: SectionParams>(mut self, value: P) -> Self {
        self.values.push(Held::new(value));
        self
    }

    /// Refuses a second value of a type, and types that no section wants.
    pub(super) fn check(&self, wanted: &BTreeSet<Kind>) -> Result<(), RenderError> {
        let mut seen = BTreeSet::new();
        for held in &self.values {
            let kind = held.kind();
            if !wanted.contains(&kind) {
                return Err(RenderError::UnknownParams { type_name: kind.name });
            }
            if !seen.insert(kind) {
                return Err(RenderError::RepeatedParams { type_name: kind.name });
            }
        }
        Ok(())
    }

    pub(super) fn get(&self, kind: Kind) -> Option<&Held> {
        self.values.iter().find(|held| held.kind() == kind)
    }
}

impl fmt::Debug for PromptParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.iter().map(|held| held.kind().name)).finish()
    }
}

/// The names that a template may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Any names: a map.
    Any,
    These(BTreeSet<String>),
}

impl Names {
    /// Returns the parameters that a type's schema declares.
    pub(super) fn of<P: SectionParams>() -> Self {
        let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<P>();
        let schema = schema.to_value();
        let mut names = BTreeSet::new();
        if collect(&schema, &schema, &mut names, DEEPEST_SCHEMA) { Self::Any } else { Self::These(names) }
    }

    pub(super) fn these<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::These(names.into_iter().map(str::to_owned).collect())
    }
}

/// Gathers the properties of a schema; says whether there may be others.
fn collect(schema: &Value, root: &Value, names: &mut BTreeSet<String>, depth: usize) -> bool {
    let Value::Object(schema) = schema else { return schema != &Value::Bool(false) };
    if depth == 0 {
        return true;
    }
    let mut is_open = schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false))
        || schema.contains_key("patternProperties");
    if let Some(Value::Object(properties)) = schema.get("properties") {
        names.extend(properties.keys().cloned());
    }
    if let Some(Value::String(reference)) = schema.get("$ref") {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        is_open |= target.is_none_or(|target| collect(target, root, names, depth - 1));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
            is_open |= collect(branch, root, names, depth - 1);
        }
    }
    let says_something = ["type", "properties", "$ref", "allOf", "anyOf", "oneOf", "const", "enum"];
    is_open || !says_something.iter().any(|keyword| schema.contains_key(*keyword))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn parameter_names_are_known_from_the_type() {
        assert_eq!(Names::of::<()>(), Names::these([]));
        assert_eq!(Names::of::<BTreeMap<String, u8>>(), Names::Any);
        assert_eq!(Names::of::<Value>(), Names::Any);
        let schema = serde_json::json!({
            "$defs": { "B": { "type": "object", "properties": { "b": {} } } },
            "type": "object", "properties": { "a": {} }, "anyOf": [{ "$ref": "#/$defs/B" }],
        });
        let mut names = BTreeSet::new();
        assert!(!collect(&schema, &schema, &mut names, DEEPEST_SCHEMA));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["a", "b"]);
        let circle = serde_json::json!({ "$ref": "#" });
        assert!(collect(&circle, &circle, &mut BTreeSet::new(), DEEPEST_SCHEMA));
    }

    #[test]
    fn debug_output_hides_bound_values() {
        let params = PromptParams::new().with(BTreeMap::from([("token".to_owned(), "s3cret".to_owned())]));
        let shown = format!("{params:?}");
        assert!(shown.contains("BTreeMap") && !shown.contains("s3cret"), "{shown}");
    }
}

//! Parameters of sections: values by their types, which templates see as data.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, Shape, Unknown};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

use super::RenderError;

/// A value that can be the parameters of a section: printable for its template, with names that are known before there is a
/// value.
/// Implemented for all types with [`Serialize`] and [`JsonSchema`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the parameters of a section",
    note = "parameters derive `serde::Serialize` and `schemars::JsonSchema`, and hold no references"
)]
pub trait SectionParams: Serialize + JsonSchema + Any + Send + Sync {}

impl<T: Serialize + JsonSchema + Any + Send + Sync> SectionParams for T {}

/// Parameters of any type.
trait AnyParams: Any + Send + Sync {
    fn print(&self) -> serde_json::Result<Value>;
}

impl<P: SectionParams> AnyParams for P {
    fn print(&self) -> serde_json::Result<Value> {
        serde_json::to_value(self)
    }
}

/// A value of some type.
#[derive(Clone)]
pub(super) struct Held {
    value: Arc<dyn AnyParams>,
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
        self == Self::default()
    }
}

impl Default for Kind {
    fn default() -> Self {
        Self::of::<()>()
    }
}

impl Held {
    pub(super) fn new<P: SectionParams>(value: P) -> Self {
        Self { value: Arc::new(value), kind: Kind::of::<P>() }
    }

    pub(super) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn get(&self) -> &dyn Any {
        &*self.value
    }

    /// Returns the value for a template.
    pub(super) fn printed(&self) -> Result<Value, String> {
        match self.value.print() {
            Ok(Value::Null) => Ok(Value::Object(serde_json::Map::new())),
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err(format!("`{}` does not serialize as an object", self.kind.name)),
            Err(error) => Err(format!("failed to serialize `{}`: {error}", self.kind.name)),
        }
    }
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
    pub(super) fn check(&self, is_wanted: impl Fn(Kind) -> bool) -> Result<(), RenderError> {
        let mut seen = BTreeSet::new();
        self.values.iter().map(Held::kind).try_for_each(|kind| match kind.name {
            type_name if !is_wanted(kind) => Err(RenderError::UnknownParams { type_name }),
            type_name if !seen.insert(kind) => Err(RenderError::RepeatedParams { type_name }),
            _ => Ok(()),
        })
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Names {
    /// Any names: a map.
    #[default]
    Any,
    These(BTreeSet<String>),
}

impl Names {
    /// Returns the parameters that a type's schema declares.
    pub(super) fn of<P: SectionParams>() -> Self {
        let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<P>();
        Self::in_schema(&schema.to_value())
    }

    fn in_schema(schema: &Value) -> Self {
        let Document { shapes, root, .. } = Document::read(schema, Role::Output, &mut Reporter::new("", 0, ""));
        let mut names = BTreeSet::new();
        for shape in shapes.leaves(&[root]) {
            match shapes.get(shape) {
                Shape::Null => {}
                Shape::Struct(object) if !matches!(object.unknown, Unknown::Keep(_)) => {
                    names.extend(object.fields.iter().map(|field| &field.wire).chain(&object.tag).cloned());
                }
                _ => return Self::Any,
            }
        }
        Self::These(names)
    }

    pub(super) fn these<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        Self::These(names.into_iter().map(str::to_owned).collect())
    }
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
        assert_eq!(Names::in_schema(&schema), Names::these(["a", "b"]));
        assert_eq!(Names::in_schema(&serde_json::json!({ "$ref": "#" })), Names::Any);
        let branches = ["x", "y"].map(|kind| {
            let properties = serde_json::json!({ "kind": { "const": kind }, kind: {} });
            serde_json::json!({ "type": "object", "required": ["kind"], "properties": properties })
        });
        let tagged = serde_json::json!({ "oneOf": branches });
        assert_eq!(Names::in_schema(&tagged), Names::these(["kind", "x", "y"]));
    }

    #[test]
    fn debug_output_hides_bound_values() {
        let params = PromptParams::new().with(BTreeMap::from([("token".to_owned(), "s3cret".to_owned())]));
        let shown = format!("{params:?}");
        assert!(shown.contains("BTreeMap") && !shown.contains("s3cret"), "{shown}");
    }
}

//! The names of the builders that `named` asks for. Types keep their names, and builders make way.

use mcp_bindgen_schema::{Presence, Shape, ShapeId};

use super::alike::TypeAt;
use super::{SchemaPlan, ToolPlan, renamed};
use crate::names::Wanted;

/// The end of a builder's name.
pub(super) const BUILDER: &str = "Builder";
/// The maximum number of required properties of a builder, which has a type parameter for each and a method for each
/// with all of them. Larger structs are written field by field.
const MOST_REQUIRED: usize = 32;

/// Names the builders of the types of tools.
pub(super) fn name(tools: &mut [ToolPlan<'_>], own: &[&str]) {
    let (mut built, mut names, mut taken) = (Vec::new(), Vec::new(), own.to_vec());
    for at in TypeAt::all(tools) {
        let name = at.name(tools);
        taken.push(name);
        if at.schema(tools).is_some_and(|schema| schema.has_builder(at.shape)) {
            names.push(format!("{name}{BUILDER}"));
            built.push(at);
        }
    }
    taken.retain(|name| name.contains(BUILDER));
    let wanted: Vec<Wanted<'_>> = names.iter().map(|name| Wanted { name, is_root: false }).collect();
    let mut renamed = renamed(tools, &built, &wanted, &taken);
    for (place, (at, name)) in built.iter().zip(names).enumerate() {
        let name = renamed.remove(place).unwrap_or(name);
        if let Some(schema) = at.schema_mut(tools) {
            schema.builders.insert(at.shape, name);
        }
    }
}

impl SchemaPlan<'_> {
    /// Returns `true` if a struct asks for values, and not for too many.
    pub(crate) fn has_builder(&self, id: ShapeId) -> bool {
        let Shape::Struct(object) = self.document.shapes.get(id) else { return false };
        let required = object.fields.iter().filter(|field| field.presence == Presence::Required);
        (1..=MOST_REQUIRED).contains(&required.count())
    }
}

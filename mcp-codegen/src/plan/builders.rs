//! The names of the builders that `named` asks for. Types keep their names, and builders make way.

use std::collections::HashSet;

use mcp_bindgen_schema::{Presence, Role, Shape, ShapeId};

use super::{SchemaPlan, ToolPlan};
use crate::names::{Identity, Wanted, renamed_types};

/// The end of a builder's name.
pub(super) const BUILDER: &str = "Builder";
/// The maximum number of required properties of a builder, which has a type parameter for each and a method for each
/// with all of them. Larger structs are written field by field.
const MOST_REQUIRED: usize = 32;

/// Names the builders of the types of tools.
pub(super) fn name(tools: &mut [ToolPlan<'_>], own: &[&str]) {
    let mut built: Vec<(usize, Role, ShapeId, String, Identity)> = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        for schema in tool.schemas() {
            let role = schema.document.role;
            let word = if role == Role::Input { "input" } else { "output" };
            for id in schema.order.iter().filter(|id| schema.has_builder(**id)) {
                let (depth, path) = schema.path(*id);
                let name = format!("{}{BUILDER}", schema.name(*id).unwrap_or_default());
                built.push((place, role, *id, name, (depth, format!("{} {word} {path}", tool.key))));
            }
        }
    }
    let wanted: Vec<Wanted<'_>> = built.iter().map(|(.., name, _)| Wanted { name, is_root: false }).collect();
    let taken = taken(tools, own);
    let identity = |place: usize| built.get(place).map(|(.., identity)| identity.clone()).unwrap_or_default();
    let mut names: Vec<String> = built.iter().map(|(.., name, _)| name.clone()).collect();
    for (place, renamed) in renamed_types(&wanted, &taken.iter().map(String::as_str).collect::<Vec<_>>(), identity) {
        if let Some(name) = names.get_mut(place) {
            *name = renamed;
        }
    }
    for ((place, role, id, ..), name) in built.into_iter().zip(names) {
        let Some(tool) = tools.get_mut(place) else { continue };
        let schema = if role == Role::Input { Some(&mut tool.input) } else { tool.output.as_mut() };
        if let Some(schema) = schema {
            schema.builders.insert(id, name);
        }
    }
}

/// Returns the names of types that a builder might have.
fn taken(tools: &[ToolPlan<'_>], own: &[&str]) -> HashSet<String> {
    let types = tools.iter().flat_map(ToolPlan::schemas);
    let types = types.flat_map(|schema| schema.order.iter().filter_map(|id| schema.name(*id)));
    types.chain(own.iter().copied()).filter(|name| name.contains(BUILDER)).map(str::to_owned).collect()
}

impl SchemaPlan<'_> {
    /// Returns `true` if a struct asks for values, and not for too many.
    pub(crate) fn has_builder(&self, id: ShapeId) -> bool {
        let Shape::Struct(object) = self.document.shapes.get(id) else { return false };
        let required = object.fields.iter().filter(|field| field.presence == Presence::Required);
        (1..=MOST_REQUIRED).contains(&required.count())
    }
}

//! The names of the builders that `named` asks for. Types keep their names, and builders make way.

use std::collections::HashSet;

use mcp_bindgen_schema::{Presence, Shape, ShapeId};

use super::alike::TypeAt;
use super::{SchemaPlan, ToolPlan};
use crate::names::{Wanted, renamed_types};

/// The end of a builder's name.
pub(super) const BUILDER: &str = "Builder";
/// The maximum number of required properties of a builder, which has a type parameter for each and a method for each
/// with all of them. Larger structs are written field by field.
const MOST_REQUIRED: usize = 32;

/// Names the builders of the types of tools.
pub(super) fn name(tools: &mut [ToolPlan<'_>], own: &[&str]) {
    let is_built = |at: &TypeAt| at.schema(tools).is_some_and(|schema| schema.has_builder(at.shape));
    let built: Vec<TypeAt> = TypeAt::all(tools).filter(is_built).collect();
    let mut names: Vec<String> = built.iter().map(|at| format!("{}{BUILDER}", at.name(tools))).collect();
    let wanted: Vec<Wanted<'_>> = names.iter().map(|name| Wanted { name, is_root: false }).collect();
    let types = TypeAt::all(tools).map(|at| at.name(tools)).chain(own.iter().copied());
    let taken: HashSet<&str> = types.filter(|name| name.contains(BUILDER)).collect();
    let taken: Vec<&str> = taken.into_iter().collect();
    let identity = |place: usize| built.get(place).map(|at| at.identity(tools)).unwrap_or_default();
    for (place, renamed) in renamed_types(&wanted, &taken, &identity) {
        if let Some(name) = names.get_mut(place) {
            *name = renamed;
        }
    }
    for (at, name) in built.into_iter().zip(names) {
        at.schema_mut(tools).map(|schema| schema.builders.insert(at.shape, name));
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

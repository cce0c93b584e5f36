//! Finds equal types of a server, and their places.

use std::collections::HashMap;

use mcp_bindgen_schema::{Alike, Class, Role, Shape, ShapeId};

use super::{SchemaPlan, ToolPlan};
use crate::names::Identity;

/// A type of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeAt {
    /// The place of its tool in the plan.
    pub(super) tool: usize,
    pub(super) role: Role,
    pub(super) shape: ShapeId,
}

impl TypeAt {
    /// Returns every named type of a plan, in its order.
    pub(super) fn all<'p>(tools: &'p [ToolPlan<'_>]) -> impl Iterator<Item = Self> + 'p {
        tools.iter().enumerate().flat_map(|(tool, plan)| {
            plan.schemas().flat_map(move |schema| {
                schema.order.iter().map(move |shape| Self { tool, role: schema.document.role, shape: *shape })
            })
        })
    }

    pub(super) fn schema<'p, 's>(&self, tools: &'p [ToolPlan<'s>]) -> Option<&'p SchemaPlan<'s>> {
        tools.get(self.tool)?.schema(self.role)
    }

    pub(super) fn schema_mut<'p, 's>(&self, tools: &'p mut [ToolPlan<'s>]) -> Option<&'p mut SchemaPlan<'s>> {
        let tool = tools.get_mut(self.tool)?;
        match self.role {
            Role::Input => Some(&mut tool.input),
            Role::Output => tool.output.as_mut(),
        }
    }

    pub(super) fn name<'p>(&self, tools: &'p [ToolPlan<'_>]) -> &'p str {
        self.schema(tools).and_then(|schema| schema.name(self.shape)).unwrap_or_default()
    }

    pub(super) fn rename(&self, tools: &mut [ToolPlan<'_>], name: &str) {
        if let Some(found) = self.schema_mut(tools).and_then(|schema| schema.types.get_mut(&self.shape)) {
            name.clone_into(&mut found.name);
        }
    }

    /// Returns what tells the type from others of its name, whatever the order of the tools.
    pub(super) fn identity(&self, tools: &[ToolPlan<'_>]) -> Identity {
        let (Some(tool), Some(schema)) = (tools.get(self.tool), self.schema(tools)) else { return Identity::default() };
        let (depth, path) = schema.path(self.shape);
        let role = if self.role == Role::Input { "input" } else { "output" };
        (depth, format!("{} {role} {path}", tool.key))
    }

    /// Returns the properties of a struct, in the order of its fields.
    pub(super) fn properties<'p>(&self, tools: &'p [ToolPlan<'_>]) -> Vec<&'p str> {
        match self.schema(tools).map(|schema| schema.document.shapes.get(self.shape)) {
            Some(Shape::Struct(object)) => object.fields.iter().map(|field| field.wire.as_str()).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns `true` if it is the type of a whole value.
    pub(super) fn is_root(&self, tools: &[ToolPlan<'_>]) -> bool {
        self.schema(tools).is_some_and(|schema| schema.document.root == self.shape)
    }
}

/// The types of a plan, grouped by structure.
#[derive(Debug)]
pub(super) struct AlikeTypes {
    alike: Alike,
    /// The place of each document in the comparison.
    documents: HashMap<(usize, Role), usize>,
    members: HashMap<Class, Vec<TypeAt>>,
}

impl AlikeTypes {
    pub(super) fn new(tools: &[ToolPlan<'_>]) -> Self {
        let plans = tools.iter().enumerate();
        let schemas = plans.flat_map(|(tool, plan)| plan.schemas().map(move |schema| (tool, schema)));
        let schemas: Vec<(usize, &SchemaPlan<'_>)> = schemas.collect();
        let documents: Vec<_> = schemas.iter().map(|(_, schema)| &schema.document).collect();
        let alike = Alike::new(&documents);
        let mut members: HashMap<Class, Vec<TypeAt>> = HashMap::new();
        let mut documents = HashMap::new();
        for (place, (tool, schema)) in schemas.into_iter().enumerate() {
            let role = schema.document.role;
            documents.insert((tool, role), place);
            for shape in schema.types.keys().filter(|id| !schema.checks.contains_key(id)) {
                if let Some(class) = alike.class(place, *shape) {
                    members.entry(class).or_default().push(TypeAt { tool, role, shape: *shape });
                }
            }
        }
        Self { alike, documents, members }
    }

    pub(super) fn class(&self, at: TypeAt) -> Option<Class> {
        self.alike.class(*self.documents.get(&(at.tool, at.role))?, at.shape)
    }

    /// Returns the types of one class, in the order of the plan.
    pub(super) fn members(&self, class: Class) -> &[TypeAt] {
        self.members.get(&class).map_or(&[], Vec::as_slice)
    }

    /// Returns every class, in no order.
    pub(super) fn classes(&self) -> impl Iterator<Item = (Class, &[TypeAt])> {
        self.members.iter().map(|(class, members)| (*class, members.as_slice()))
    }
}

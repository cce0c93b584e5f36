//! Finds equal types of a server, and their places.

use mcp_bindgen_schema::{Alike, Class, Role, Shape, ShapeId};

use super::naming::wire_path;
use super::{SchemaPlan, ToolPlan};
use crate::names::Identity;
use crate::table::Table;

/// A type of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypeAt {
    /// The place of its tool in the plan.
    pub(super) tool: usize,
    pub(super) role: Role,
    pub(super) shape: ShapeId,
}

impl TypeAt {
    /// Returns every named type of a plan, in its order.
    pub(super) fn all(tools: &[ToolPlan<'_>]) -> Vec<Self> {
        let schemas =
            tools.iter().enumerate().flat_map(|(tool, plan)| plan.schemas().map(move |schema| (tool, schema)));
        let types = schemas.flat_map(|(tool, schema)| {
            schema.order.iter().map(move |shape| Self { tool, role: schema.document.role, shape: *shape })
        });
        types.collect()
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
        if let Some(found) = self.schema_mut(tools).and_then(|schema| schema.types.get_mut(self.shape)) {
            name.clone_into(&mut found.name);
        }
    }

    /// Returns what tells the type from others of its name, whatever the order of the tools.
    pub(super) fn identity(&self, tools: &[ToolPlan<'_>]) -> Identity {
        let (Some(tool), Some(schema)) = (tools.get(self.tool), self.schema(tools)) else { return Identity::default() };
        let (depth, path) = wire_path(&schema.types, self.shape);
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

    /// Returns `true` for a newtype of checked values.
    pub(super) fn is_checked(&self, tools: &[ToolPlan<'_>]) -> bool {
        self.schema(tools).is_some_and(|schema| schema.checks.get(self.shape).is_some())
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
    /// The place of each tool's first document in the comparison; that of its result follows. The last is their number.
    documents: Vec<usize>,
    members: Table<Vec<TypeAt>>,
}

impl AlikeTypes {
    pub(super) fn new(tools: &[ToolPlan<'_>]) -> Self {
        let (mut places, mut documents) = (Vec::new(), Vec::new());
        for tool in tools {
            places.push(documents.len());
            for schema in tool.schemas() {
                documents.push(&schema.document);
            }
        }
        places.push(documents.len());
        let alike = Alike::new(&documents);
        let mut types = Self { alike, documents: places, members: Table::default() };
        for at in TypeAt::all(tools) {
            if let Some(class) = types.class(at).filter(|_| !at.is_checked(tools)) {
                types.members.push(class, at);
            }
        }
        types
    }

    /// Returns the class of a shape; `None` if its tool has no schema of this role.
    pub(super) fn class(&self, at: TypeAt) -> Option<Class> {
        let place = *self.documents.get(at.tool)? + usize::from(at.role == Role::Output);
        if place < *self.documents.get(at.tool + 1)? { self.alike.class(place, at.shape) } else { None }
    }

    /// Returns the types of one class, in the order of the plan.
    pub(super) fn members(&self, class: Class) -> &[TypeAt] {
        self.members.get(class).map_or(&[], Vec::as_slice)
    }
}

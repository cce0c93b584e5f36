//! Finds equal types of a server, and their places.

use std::collections::HashMap;

use mcp_bindgen_schema::{Alike, Class, Role, Shape, ShapeId};

use super::{SchemaPlan, ToolPlan};

/// A type of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TypeAt {
    /// The place of its tool in the plan.
    pub(super) tool: usize,
    pub(super) role: Role,
    pub(super) shape: ShapeId,
}

impl TypeAt {
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
        let schemas: Vec<(usize, &SchemaPlan<'_>)> = tools
            .iter()
            .enumerate()
            .flat_map(|(tool, plan)| plan.schemas().map(move |schema| (tool, schema)))
            .collect();
        let documents: Vec<_> = schemas.iter().map(|(_, schema)| &schema.document).collect();
        let alike = Alike::new(&documents);
        let mut members: HashMap<Class, Vec<TypeAt>> = HashMap::new();
        let mut documents = HashMap::new();
        for (place, (tool, schema)) in schemas.into_iter().enumerate() {
            let role = schema.document.role;
            documents.insert((tool, role), place);
            let types = schema.types.keys().filter(|id| !schema.checks.contains_key(id));
            let mut shapes: Vec<ShapeId> = types.copied().collect();
            shapes.sort_unstable();
            for shape in shapes {
                if let Some(class) = alike.class(place, shape) {
                    members.entry(class).or_default().push(TypeAt { tool, role, shape });
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

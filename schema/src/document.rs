use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::lower::lower;
use crate::normalize::Schemas;
use crate::role::Role;
use crate::shape::{ShapeId, Shapes};

/// A schema document that was read: its schemas, and the shapes of its values.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document<'a> {
    /// The schemas, each in the words of 2020-12.
    pub schemas: Schemas<'a>,
    /// What the values can be.
    pub shapes: Shapes,
    /// The shape of the whole value; one with a name.
    pub root: ShapeId,
    /// Which schema of its tool it is.
    pub role: Role,
}

impl<'a> Document<'a> {
    /// Reads a schema. Never fails: what has no shape of its own is [`Shape::Anything`](crate::Shape::Anything) at the
    /// smallest place, and the reporter hears of it.
    #[must_use]
    pub fn read(schema: &'a Value, role: Role, reporter: &mut Reporter) -> Self {
        Self::read_around(schema, role, &[], reporter)
    }

    /// As [`read`](Self::read), without looking into the definitions at these JSON pointers: what only refers to one is
    /// [`Shape::Opaque`](crate::Shape::Opaque). What narrows one, or combines it with others in one type, is read as ever.
    #[must_use]
    pub fn read_around(schema: &'a Value, role: Role, definitions: &[&str], reporter: &mut Reporter) -> Self {
        let (mut schemas, root) = Schemas::new(schema, reporter);
        let opaque = definitions.iter().filter_map(|pointer| schemas.referred(pointer)).collect();
        let (shapes, root) = lower(&mut schemas, root, role, opaque, reporter);
        Self { schemas, shapes, root, role }
    }
}

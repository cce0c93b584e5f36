//! One version of a schema document, with everything that a comparison asks about it.

use serde_json::Value;

use crate::diagnostics::Reporter;
use crate::normalize::{Assertions, Kinds, Node, SchemaId};
use crate::{Document, Role};

/// Schemas that hold together; none means anything.
pub(super) type Conjunction = Vec<SchemaId>;

pub(super) struct Version<'a> {
    pub(super) document: Document<'a>,
    assertions: Vec<Assertions>,
    /// The schema of the whole document.
    pub(super) root: SchemaId,
}

impl<'a> Version<'a> {
    pub(super) fn read(schema: &'a Value, role: Role) -> Self {
        let mut reporter = Reporter::new("", 0, "");
        let mut document = Document::read(schema, role, &mut reporter);
        let assertions = document.schemas.assertions();
        Self { document, assertions, root: SchemaId::ROOT }
    }

    pub(super) fn node(&self, id: SchemaId) -> &Node {
        self.document.schemas.get(id)
    }

    pub(super) fn assertions(&self, id: SchemaId) -> &Assertions {
        static NONE: std::sync::LazyLock<Assertions> = std::sync::LazyLock::new(Assertions::default);
        self.assertions.get(id.index()).unwrap_or(&NONE)
    }

    /// What a schema leads to that says nothing of its own.
    pub(super) fn followed(&self, mut id: SchemaId) -> SchemaId {
        const LONGEST_CHAIN: usize = 40;
        for _ in 0..LONGEST_CHAIN {
            match self.node(id).wraps() {
                crate::normalize::Wraps::One(target) if self.assertions(id).is_empty() => id = target,
                _ => break,
            }
        }
        id
    }

    /// The kinds that a schema's own keywords allow.
    pub(super) fn kinds(&self, id: SchemaId) -> Kinds {
        let node = self.node(id);
        if node.never { Kinds::NONE } else { node.kinds.unwrap_or(Kinds::ALL) }
    }
}

//! The servers and tools that a caller sees.

use std::sync::Arc;

use mcp_bindgen_model::Access;
use mcp_bindgen_runtime::Caller;

/// The servers and tools that a caller sees, by `[access]` of the configuration; all of them without it. A caller cannot use
/// the others.
#[derive(Clone, Debug, Default)]
pub(super) struct VisibleTools {
    access: Option<Arc<Access>>,
    entries: Vec<String>,
}

impl VisibleTools {
    pub(super) fn of(access: Option<&Arc<Access>>, caller: &Caller) -> Self {
        Self { access: access.cloned(), entries: caller.access.clone() }
    }

    /// Returns `true` if callers do not all see the same.
    pub(super) fn is_restricted(&self) -> bool {
        self.access.is_some()
    }

    /// Returns `true` if the caller sees a tool of a server.
    pub(super) fn tool(&self, server: &str, tool: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_tool(&self.entries, server, tool))
    }

    /// Returns `true` if the caller sees all of a server: its prompts and resources too.
    pub(super) fn server(&self, server: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_server(&self.entries, server))
    }

    /// Returns `true` if the caller sees anything of a server.
    pub(super) fn any_of(&self, server: &str) -> bool {
        self.access.as_ref().is_none_or(|access| access.shows_any_of(&self.entries, server))
    }
}

//! The tools that configurations and policies allow.

use mcp_bindgen_schema::names::PrefixedNames;

/// The tools of each server that are allowed by name, and their prefixed names.
pub(super) struct Admitted {
    pub(super) by_server: Vec<(String, Admits)>,
    pub(super) names: PrefixedNames,
}

pub(super) type Admits = Box<dyn Fn(&str) -> bool>;

impl Admitted {
    pub(super) fn admits(&self, server: &str, tool: &str) -> bool {
        let of_it = self.by_server.iter().find(|(name, _)| name == server);
        of_it.is_none_or(|(_, admits)| admits(tool))
    }
}

//! The servers and names of a proxy. They are replaced as a whole when its configuration is read again.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcp_bindgen_agents::NameStyle;
use mcp_bindgen_model::{Access, JoinedTool};
use mcp_bindgen_schema::names::PrefixedNames;

use super::upstream::Upstream;

/// The tools of `[tools]` by name, each with the servers and tools that it joins.
pub(super) type Wanted = Arc<BTreeMap<String, JoinedTool>>;

#[derive(Debug)]
pub(super) struct Setup {
    pub(super) upstreams: Vec<Arc<Upstream>>,
    pub(super) names: PrefixedNames,
    pub(super) style: NameStyle,
    pub(super) joined: Wanted,
    /// The servers and tools that callers see; `None` if all see everything.
    pub(super) access: Option<Arc<Access>>,
}

impl Setup {
    /// Keeps the unchanged servers of an earlier setup, with their connections.
    pub(super) fn after(mut self, before: &Self) -> Self {
        for upstream in &mut self.upstreams {
            if let Some(same) = before.upstreams.iter().find(|known| known.is_same(upstream)) {
                *upstream = same.clone();
            }
        }
        self
    }

    /// Returns the names of servers that are new, gone or changed.
    pub(super) fn changes(&self, before: &Self) -> Vec<String> {
        let has = |setup: &Self, upstream: &Arc<Upstream>| setup.upstreams.iter().any(|one| Arc::ptr_eq(one, upstream));
        let new = self.upstreams.iter().filter(|upstream| !has(before, upstream));
        let gone = before.upstreams.iter().filter(|upstream| !has(self, upstream));
        let mut names: Vec<String> = new.chain(gone).map(|upstream| upstream.name.to_string()).collect();
        names.sort();
        names.dedup();
        names
    }
}

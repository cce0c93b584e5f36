//! Which tools a layer is for.

use std::sync::Arc;

use mcp_bindgen_model::matches_glob;

/// Lists of globs of wire names; a tool that one of the lists selects is selected.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs(Arc<[Vec<String>]>);

impl Globs {
    pub(super) fn new(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Arc::new([globs.into_iter().map(Into::into).collect()]))
    }

    pub(super) fn name(&self, tool: &str) -> bool {
        self.0.iter().any(|globs| {
            let last = globs.iter().rev().find(|glob| names(glob.strip_prefix('!').unwrap_or(glob), tool));
            let selects = |glob: &String| !glob.starts_with('!');
            last.map_or_else(|| globs.first().is_some_and(|first| !selects(first)), selects)
        })
    }

    /// Returns the tools that either names.
    pub(super) fn or(&self, other: &Self) -> Self {
        let new = other.0.iter().filter(|globs| !self.0.contains(globs));
        Self(self.0.iter().chain(new).cloned().collect())
    }

    /// The globs as a sentence has them.
    pub(super) fn listed(&self) -> String {
        self.0.iter().flatten().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
    }
}

/// Returns `true` if a glob names a tool; what most globs are costs a call no more than a comparison.
pub(super) fn names(glob: &str, tool: &str) -> bool {
    match glob.find(['*', '?']) {
        None => glob == tool,
        Some(0) if glob == "*" => true,
        Some(_) => matches_glob(glob, tool),
    }
}

//! Which tools a layer is for.

use std::sync::Arc;

use mcp_bindgen_model::matches_globs;

/// Lists of globs of wire names; a tool that one of the lists selects is selected.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs(Arc<[Vec<String>]>);

impl Globs {
    pub(super) fn new(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Arc::new([globs.into_iter().map(Into::into).collect()]))
    }

    pub(super) fn name(&self, tool: &str) -> bool {
        self.0.iter().any(|globs| matches_globs(globs, tool))
    }

    /// Returns the tools that either names.
    pub(super) fn or(&self, other: &Self) -> Self {
        let new = other.0.iter().filter(|globs| !self.0.contains(globs));
        Self(self.0.iter().chain(new).cloned().collect())
    }

    /// Returns the globs as a sentence has them.
    pub(super) fn listed(&self) -> String {
        self.0.iter().flatten().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
    }
}

//! Which tools a layer is for.

use std::sync::Arc;

use mcp_bindgen_model::matches_globs;

/// Globs of wire names.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs(Arc<[String]>);

impl Globs {
    pub(super) fn new(globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(globs.into_iter().map(Into::into).collect())
    }

    pub(super) fn name(&self, tool: &str) -> bool {
        matches_globs(&self.0, tool)
    }

    /// Returns the globs as a sentence has them.
    pub(super) fn listed(&self) -> String {
        self.0.iter().map(|glob| format!("`{glob}`")).collect::<Vec<_>>().join(", ")
    }
}

//! The data that a program attaches to every call of a set.

use std::any::Any;
use std::sync::Arc;

use mcp_bindgen_runtime::ToolCall;
use serde_json::Map;

use super::Toolset;
use super::results::Results;

/// Values for calls, one of each type, and the limit of results.
#[derive(Clone, Default)]
pub(super) struct Carried {
    /// A call that is never made, with the values.
    values: Option<Arc<ToolCall>>,
    results: Option<Results>,
}

impl Carried {
    fn with<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        let values = self.values.as_deref().cloned().unwrap_or_else(|| ToolCall::new("", "", Map::new()));
        Self { values: Some(Arc::new(values.with_extension(value))), ..self.clone() }
    }

    pub(super) fn with_results(&self, results: Results) -> Self {
        Self { results: Some(results), ..self.clone() }
    }

    pub(super) const fn results(&self) -> Option<&Results> {
        self.results.as_ref()
    }

    pub(super) fn attached(&self, call: ToolCall) -> ToolCall {
        match &self.values {
            Some(values) => call.with_extensions_of(values),
            None => call,
        }
    }
}

impl Toolset {
    /// Returns the toolset with a value that all its calls carry for layers, such as the conversation or the user;
    /// one value of each type. See [`ToolCall::extension`](mcp_bindgen_runtime::ToolCall::extension). This is cheap,
    /// and does not change the original. Subsets, deferred toolsets and those built by [`extend`](Self::extend) carry
    /// the value too. It is never sent to a server or a model.
    ///
    /// Layers with state, such as [`SequentialDependency`](mcp_bindgen_runtime::middleware::SequentialDependency),
    /// share it between all callers. If several conversations use the same clients, distinguish them by a value and a
    /// scope: otherwise the actions of one user count for another.
    ///
    /// ```
    /// use mcp_bindgen_agents::Toolset;
    /// use mcp_bindgen_runtime::middleware::{SequentialDependency, Stack};
    ///
    /// #[derive(Clone)]
    /// struct Conversation(String);
    ///
    /// # fn run(client: mcp_bindgen_runtime::Client, tools: &[serde_json::Value]) -> Result<(), mcp_bindgen_agents::ToolsetError> {
    /// let governed = Stack::new(client).sequential(
    ///     SequentialDependency::new("publish", ["build"])
    ///         .scope(|call| call.extension().map(|Conversation(id)| id.clone()).unwrap_or_default()),
    /// );
    /// let toolset = Toolset::builder().server("releases", tools, governed).build()?;
    /// // For each conversation:
    /// let toolset = toolset.with_extension(Conversation("7f3a".to_owned()));
    /// # drop(toolset);
    /// # Ok(())
    /// # }
    /// # run(mcp_bindgen_runtime::Client::new(mcp_bindgen_model::ServerConfig::stdio("releases", "x")), &[]).unwrap();
    /// ```
    #[must_use]
    pub fn with_extension<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        Self { carried: self.carried.with(value), ..self.clone() }
    }
}

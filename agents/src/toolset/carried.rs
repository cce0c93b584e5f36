//! The data that a program attaches to every call of a set.

use std::any::{Any, TypeId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use mcp_bindgen_runtime::ToolCall;

use super::Toolset;

type Attach = dyn Fn(ToolCall) -> ToolCall + Send + Sync;

/// Values for calls, one of each type.
#[derive(Clone, Default)]
pub(super) struct Carried(Arc<BTreeMap<TypeId, Arc<Attach>>>);

impl Carried {
    fn with<T: Any + Clone + Send + Sync>(&self, value: T) -> Self {
        let mut all = BTreeMap::clone(&self.0);
        all.insert(TypeId::of::<T>(), Arc::new(move |call: ToolCall| call.with_extension(value.clone())));
        Self(Arc::new(all))
    }

    pub(super) fn attached(&self, call: ToolCall) -> ToolCall {
        self.0.values().fold(call, |call, attach| attach(call))
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} values", self.0.len())
    }
}

impl Toolset {
    /// The same tools for one conversation, user or the like: a value that all calls of this set carry, one of each type, for
    /// the layers around clients and functions ([`ToolCall::extension`](mcp_bindgen_runtime::ToolCall::extension)). It is cheap, and
    /// the set that it is asked of stays as it is. Subsets, deferred lists and what [`extend`](Self::extend) builds carry the
    /// value as well. It never goes to a server or a model.
    ///
    /// Layers that remember something, as a
    /// [`SequentialDependency`](mcp_bindgen_runtime::middleware::SequentialDependency) does, remember it for all who call through
    /// them. Where several conversations have the same clients, tell them apart by a value and a scope: otherwise what one
    /// user has done counts for another.
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

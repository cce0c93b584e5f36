//! Tools that may be called only after others.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use mcp_bindgen_model::matches_glob;

use super::CallFacts;
use super::layer::{Around, Called};
use crate::call::Place;
use crate::ground::contained::contained;
use crate::ground::recent::recent;
use crate::ground::sync::lock;
use crate::{CallError, ToolCall, ToolResult};

/// How many scopes are remembered.
const SCOPES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(9_999);

/// Denies calls of a tool until others of the same server have succeeded.
///
/// Only a successful result through this layer, or a clone of it, counts; a later failure does not revoke it. A call
/// is also denied while its prerequisite is still pending, because its outcome is unknown.
///
/// ```
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{SequentialDependency, Stack};
///
/// #[derive(Debug)]
/// struct Release(String);
///
/// let client = Client::new(ServerConfig::stdio("releases", "my-mcp-server"));
/// let stack = Stack::new(client).sequential(
///     SequentialDependency::new("publish", ["build", "test_*"])
///         // of the same release
///         .scope(|call| call.extension().map(|Release(name)| name.clone()).unwrap_or_default()),
/// );
/// # let _ = stack;
/// ```
#[derive(Clone)]
pub struct SequentialDependency {
    tool: String,
    after: Arc<[String]>,
    scope: Option<Arc<Scoping>>,
    seen: Arc<Mutex<Seen>>,
}

type Scoping = dyn Fn(&CallFacts<'_>) -> String + Send + Sync;

/// The progress of the tools that others depend on, by server and scope.
type Seen = LruCache<(String, String), Known>;
type Known = Arc<Mutex<Vec<Progress>>>;

#[derive(Clone, Copy, Default)]
struct Progress {
    running: usize,
    has_succeeded: bool,
}

impl SequentialDependency {
    /// Calls of the tools that a glob names come after a success of each of others, which may be globs too: of one of the
    /// tools that such a glob names.
    pub fn new(tool: impl Into<String>, after: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            tool: tool.into(),
            after: after.into_iter().map(Into::into).collect(),
            scope: None,
            seen: Arc::new(Mutex::new(recent(SCOPES))),
        }
    }

    /// Counts calls separately for each scope, such as a user; by default for each [`Caller`](crate::Caller) that a call is made for. A call is denied if the closure panics. The 10,000
    /// most recently used scopes are remembered; in a forgotten scope the prerequisites must succeed again.
    #[must_use]
    pub fn scope(mut self, scope: impl Fn(&CallFacts<'_>) -> String + Send + Sync + 'static) -> Self {
        self.scope = Some(Arc::new(scope));
        self
    }

    fn key(&self, call: &ToolCall) -> Result<(String, String), CallError> {
        let scope = match &self.scope {
            Some(scope) => contained(|| scope(&CallFacts::of(call))).map_err(|_| {
                let (server, tool) = (&*call.server, &*call.tool);
                tracing::error!(server, tool, "the scope of a sequential dependency panicked; the call is denied");
                CallError::denied(server, tool, "the scope of a sequential dependency panicked")
            })?,
            None => call.caller().map(|caller| caller.key()).unwrap_or_default(),
        };
        Ok((call.server.to_string(), scope))
    }

    fn check(&self, known: Option<&Known>, call: &ToolCall) -> Result<(), CallError> {
        let progress = known.map(|known| lock(known).clone()).unwrap_or_default();
        let missing = self.after.iter().enumerate().find_map(|(index, after)| {
            let progress = progress.get(index).copied().unwrap_or_default();
            (!progress.has_succeeded).then_some((after, progress.running > 0))
        });
        let Some((after, is_running)) = missing else { return Ok(()) };
        let state = if is_running { "it is still running" } else { "it has not run yet" };
        Err(CallError::denied(&*call.server, &*call.tool, format!("`{after}` must succeed first; {state}")))
    }

    /// Returns the indices in `after` that match this tool.
    fn waited_for(&self, tool: &str) -> Vec<usize> {
        let is_it = |(_, glob): &(usize, &String)| matches_glob(glob, tool);
        self.after.iter().enumerate().filter(is_it).map(|(index, _)| index).collect()
    }

    fn known(&self, key: &(String, String)) -> Option<Known> {
        lock(&self.seen).get(key).cloned()
    }

    /// Returns the progress of a key, and remembers it if it is new.
    fn remembered(&self, key: &(String, String), otherwise: impl FnOnce() -> Known) -> Known {
        lock(&self.seen).get_or_insert_ref(key, otherwise).clone()
    }
}

impl fmt::Debug for SequentialDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequentialDependency")
            .field("tool", &self.tool)
            .field("after", &self.after)
            .finish_non_exhaustive()
    }
}

/// A call that others wait for; over when it is dropped.
struct Running {
    known: Known,
    indices: Vec<usize>,
}

impl Running {
    fn begin(known: Known, indices: Vec<usize>) -> Self {
        let running = Self { known, indices };
        running.note(|progress| progress.running += 1);
        running
    }

    fn note(&self, of_each: impl Fn(&mut Progress)) {
        note(&self.known, &self.indices, of_each);
    }
}

fn note(known: &Known, indices: &[usize], of_each: impl Fn(&mut Progress)) {
    let mut known = lock(known);
    indices.iter().for_each(|index| known.get_mut(*index).map_or((), &of_each));
}

impl Drop for Running {
    fn drop(&mut self) {
        self.note(|progress| progress.running = progress.running.saturating_sub(1));
    }
}

impl Around for SequentialDependency {
    const PLACE: Option<Place> = Some(Place::SequentialDependency);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let (waits, indices) = (matches_glob(&self.tool, &call.tool), self.waited_for(&call.tool));
        if !waits && indices.is_empty() {
            return below.call(call).await;
        }
        let key = self.key(&call)?;
        if waits {
            self.check(self.known(&key).as_ref(), &call)?;
        }
        if indices.is_empty() {
            return below.call(call).await;
        }
        let new = || Arc::new(Mutex::new(vec![Progress::default(); self.after.len()]));
        let running = Running::begin(self.remembered(&key, new), indices);
        let outcome = below.call(call).await;
        if outcome.as_ref().is_ok_and(ToolResult::is_success) {
            running.note(|progress| progress.has_succeeded = true);
            // This entry was evicted for other scopes; a later call of this scope may have a new one.
            if Arc::strong_count(&running.known) == 1 {
                let current = self.remembered(&key, || running.known.clone());
                note(&current, &running.indices, |progress| progress.has_succeeded = true);
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::super::Stack;
    use super::*;
    use crate::CallTool;

    /// A client whose calls in the scope `slow` wait for a permit.
    struct Slow(Arc<Semaphore>);

    impl CallTool for Slow {
        async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
            if call.arguments.get("scope") == Some(&json!("slow")) {
                self.0.acquire().await.expect("it is open").forget();
            }
            Ok(ToolResult::new(call.server, call.tool))
        }
    }

    #[tokio::test]
    async fn success_counts_though_its_scope_was_forgotten_during_the_call() {
        let sequential = SequentialDependency::new("publish", ["build"])
            .scope(|call| call.arguments.get("scope").map(ToString::to_string).unwrap_or_default());
        let sequential = SequentialDependency { seen: Arc::new(Mutex::new(recent(NonZeroUsize::MIN))), ..sequential };
        let permits = Arc::new(Semaphore::new(0));
        let stack = Stack::new(Slow(permits.clone())).sequential(sequential);
        let call = async |tool: &'static str, scope: &str| {
            let arguments = [("scope".to_owned(), json!(scope))].into_iter().collect();
            stack.call_tool(ToolCall::new("s", tool, arguments)).await
        };
        let (built, other) = tokio::join!(call("build", "slow"), async {
            let other = call("build", "other").await;
            permits.add_permits(2);
            other
        });
        assert!(built.is_ok() && other.is_ok(), "{built:?} {other:?}");
        call("publish", "slow").await.expect("its prerequisite has succeeded");
    }
}

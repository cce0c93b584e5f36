//! Tools that may be called only after others.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use lru::LruCache;
use mcp_bindgen_model::matches_glob;

use super::CallFacts;
use super::layer::{Around, Called};
use crate::call::LayerKind;
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

    /// Counts calls separately for each scope, such as a user; by default for each [`Caller`](crate::Caller) that a
    /// call is made for. A call is denied if the closure panics. The 10,000 most recently used scopes are remembered;
    /// in a forgotten scope the prerequisites must succeed again.
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

    fn check(&self, known: &Known, call: &ToolCall) -> Result<(), CallError> {
        let known = lock(known);
        let missing = self.after.iter().zip(&*known).find(|(_, progress)| !progress.has_succeeded);
        let Some((after, progress)) = missing else { return Ok(()) };
        let state = if progress.running > 0 { "it is still running" } else { "it has not run yet" };
        Err(CallError::denied(&*call.server, &*call.tool, format!("`{after}` must succeed first; {state}")))
    }

    /// Returns the indices in `after` that match this tool.
    fn waited_for(&self, tool: &str) -> Vec<usize> {
        let is_it = |(_, glob): &(usize, &String)| matches_glob(glob, tool);
        self.after.iter().enumerate().filter(is_it).map(|(index, _)| index).collect()
    }

    /// Returns the progress in a new scope.
    fn beginning(&self) -> Known {
        Arc::new(Mutex::new(vec![Progress::default(); self.after.len()]))
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
        let mut known = lock(&self.known);
        self.indices.iter().for_each(|index| known.get_mut(*index).map_or((), &of_each));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.note(|progress| progress.running = progress.running.saturating_sub(1));
    }
}

impl Around for SequentialDependency {
    const KIND: Option<LayerKind> = Some(LayerKind::SequentialDependency);

    async fn around(self: Arc<Self>, call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let (waits, indices) = (matches_glob(&self.tool, &call.tool), self.waited_for(&call.tool));
        if !waits && indices.is_empty() {
            return below.call(call).await;
        }
        let key = self.key(&call)?;
        if waits {
            // A denied call must not evict another scope.
            let known = lock(&self.seen).get(&key).cloned();
            self.check(&known.unwrap_or_else(|| self.beginning()), &call)?;
        }
        if indices.is_empty() {
            return below.call(call).await;
        }
        let known = lock(&self.seen).get_or_insert(key, || self.beginning()).clone();
        let running = Running::begin(known, indices);
        let outcome = below.call(call).await;
        if outcome.as_ref().is_ok_and(ToolResult::is_success) {
            running.note(|progress| progress.has_succeeded = true);
        }
        outcome
    }
}

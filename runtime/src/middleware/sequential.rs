//! Tools that may be called only after others.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lru::LruCache;
use mcp_bindgen_model::matches_glob;

use super::CallFacts;
use super::layer::{Around, Below};
use crate::ground::contained::{Panicked, contained};
use crate::ground::on_drop::OnDrop;
use crate::ground::recent::recent;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::{CallError, ToolCall, ToolResult};

/// The number of scopes that are remembered.
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

/// The progress of the tools that others depend on, in their order, by server and scope.
type Seen = LruCache<(String, String), Arc<[Progress]>>;

#[derive(Default)]
struct Progress {
    running: AtomicUsize,
    has_succeeded: AtomicBool,
}

impl SequentialDependency {
    /// Creates a dependency: calls of the tools that match the glob `tool` require a success of each tool in `after`.
    /// For a glob in `after`, one success of a tool that matches it is enough.
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

    #[inline]
    fn scope_of(&self, call: &ToolCall) -> Result<String, CallError> {
        match &self.scope {
            Some(scope) => contained(|| scope(&CallFacts::of(call)))
                .map_err(|Panicked| call.panicked("the scope of a sequential dependency")),
            None => Ok(call.caller().map(|caller| caller.key()).unwrap_or_default()),
        }
    }

    /// Checks that all prerequisites have succeeded.
    #[inline]
    fn check(&self, progress: &[Progress], call: &ToolCall) -> Result<(), CallError> {
        let mut prerequisites = self.after.iter().zip(progress);
        let missing = prerequisites.find(|(_, progress)| !progress.has_succeeded.load(Ordering::Relaxed));
        let Some((after, progress)) = missing else { return Ok(()) };
        let is_running = progress.running.load(Ordering::Relaxed) > 0;
        let state = if is_running { "it is still running" } else { "it has not run yet" };
        Err(call.denied(format!("`{after}` must succeed first; {state}")))
    }
}

debug_as!(SequentialDependency, "SequentialDependency(..)");

impl Around for SequentialDependency {
    async fn around(&self, call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        let is_it = |(index, glob): (usize, &String)| matches_glob(glob, &call.tool).then_some(index);
        let indices: Vec<usize> = self.after.iter().enumerate().filter_map(is_it).collect();
        let waits = matches_glob(&self.tool, &call.tool);
        if !waits && indices.is_empty() {
            return below.call(call).await;
        }
        let scope = (call.server.to_string(), self.scope_of(&call)?);
        let known = lock(&self.seen).get(&scope).cloned();
        let progress = known.unwrap_or_else(|| self.after.iter().map(|_| Progress::default()).collect());
        if waits {
            self.check(&progress, &call)?;
        }
        if indices.is_empty() {
            return below.call(call).await;
        }
        // Only here, so that a denied call evicts no other scope.
        let progress = lock(&self.seen).get_or_insert(scope.clone(), || progress).clone();
        let own = || indices.iter().filter_map(|index| progress.get(*index));
        own().for_each(|own| _ = own.running.fetch_add(1, Ordering::Relaxed));
        let _running = OnDrop::new(|| own().for_each(|own| _ = own.running.fetch_sub(1, Ordering::Relaxed)));
        let outcome = below.call(call).await;
        if outcome.as_ref().is_ok_and(ToolResult::is_success) {
            // Others may have taken its place during a long call, and a further call may have begun it again.
            let kept = lock(&self.seen).get_or_insert(scope, || progress.clone()).clone();
            let succeeded = indices.iter().filter_map(|index| kept.get(*index));
            succeeded.for_each(|progress| progress.has_succeeded.store(true, Ordering::Relaxed));
        }
        outcome
    }
}

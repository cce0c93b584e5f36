//! Results that are cached for a while.

mod storage;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::canonical_json;
use serde_json::Value;

use self::storage::{Found, Key, Shared};
use super::layer::{Around, Called};
use super::tools::Globs;
use crate::call::{LayerKind, wait};
use crate::ground::deadline::Deadline;
use crate::ground::redact::debug_as;
use crate::{CallError, ToolCall, ToolResult};

/// The time that a call waits for an equal pending one.
const PATIENCE: Duration = Duration::from_secs(60);
const ENTRIES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
const BYTES: usize = 64 * 1024 * 1024;

/// Caches the results of read-only tools, and of tools that the program names.
///
/// Concurrent equal calls are made once: the others wait, each within its own time, and share the outcome. Errors and
/// error results are never cached. Any other call through the cache, or a clone of it, may change the server's data:
/// the cached results of that server are dropped when the call begins and when it ends, and results that are read in
/// between are not cached. So no caller reads data from before a finished write. Writes of others, and writes that
/// take effect after their call timed out or was dropped, are visible after the time to live at the latest.
///
/// A call with progress can be answered from the cache, and its result is cached; it does not wait for an equal
/// pending call, whose progress it would not receive. Calls with their own `_meta`, with input responses, or from
/// remote templates always go to the server, and are not cached. Calls with different client capabilities are
/// different calls. Extensions of a call do not distinguish it: if results depend on the user, use one cache for
/// each.
///
/// ```
/// use std::time::Duration;
/// use mcp_bindgen_model::ServerConfig;
/// use mcp_bindgen_runtime::Client;
/// use mcp_bindgen_runtime::middleware::{Cache, Stack};
///
/// let client = Client::new(ServerConfig::stdio("files", "my-mcp-server"));
/// let cache = Cache::new(Duration::from_secs(60)).tools(["list_*"]).max_entries(100);
/// let stack = Stack::new(client).cache(cache.clone());
/// cache.clear(); // somebody else changed the files
/// # let _ = stack;
/// ```
#[derive(Clone)]
#[must_use]
pub struct Cache {
    ttl: Duration,
    reads: Globs,
    writes: Globs,
    storage: Shared,
}

impl Cache {
    /// Creates a cache that keeps results for `ttl`, at most 1,024 of them with 64 MiB in total.
    pub fn new(ttl: Duration) -> Self {
        Self { ttl, reads: Globs::default(), writes: Globs::default(), storage: Shared::new(ENTRIES, BYTES) }
    }

    /// Treats the tools that match these globs as read-only, whatever their hints; also for calls by name.
    pub fn tools(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reads = Globs::new(globs);
        self
    }

    /// Treats the tools that match these globs as writing, whatever their hints. This takes precedence over
    /// [`tools`](Self::tools).
    pub fn invalidated_by(mut self, globs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.writes = Globs::new(globs);
        self
    }

    /// Sets how many results are cached, at least one; the least recently used are dropped.
    pub fn max_entries(self, entries: usize) -> Self {
        self.storage.resize(NonZeroUsize::new(entries).unwrap_or(NonZeroUsize::MIN));
        self
    }

    /// Sets about how many bytes the cached results and their arguments may use; the least recently used are dropped.
    /// A larger result is not cached.
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.storage.set_max_bytes(bytes);
        self
    }

    /// Drops all cached results, and those of pending calls.
    pub fn clear(&self) {
        self.storage.clear();
    }

    fn reads(&self, call: &ToolCall) -> bool {
        let is_read_only = call.annotations().read_only == Some(true) || self.reads.name(&call.tool);
        is_read_only && !self.writes.name(&call.tool)
    }

    async fn read(&self, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let key = key(&mut call);
        let lead = loop {
            match self.storage.find(&key) {
                Found::Cached(result) => return Ok((*result).clone()),
                // A joined call would receive no progress reports.
                Found::UnderWay(_) if call.options.given().progress.is_some() => return below.call(call).await,
                Found::UnderWay(mut outcome) => {
                    let landed =
                        async { outcome.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()) };
                    match wait::within(&mut call, PATIENCE, landed).await? {
                        Some(Some(outcome)) => return outcome,
                        // The leading call was dropped; another one must be sent.
                        Some(None) => {}
                        // It may be waiting for this very call.
                        None => return below.call(call).await,
                    }
                }
                Found::Nothing(lead) => break lead,
            }
        };
        let is_hurried = is_hurried(&call);
        let outcome = below.call(call).await;
        let is_own = outcome.as_ref().is_ok_and(ToolResult::needs_input)
            || matches!(&outcome, Err(CallError::Timeout { .. })) && is_hurried
            || matches!(&outcome, Err(CallError::Cancelled { .. }));
        lead.land(&outcome, self.ttl, !is_own);
        outcome
    }
}

/// Returns `true` if a call has a time limit that others may not have.
fn is_hurried(call: &ToolCall) -> bool {
    call.options.given_total().is_some() || call.passage.limit().end != Deadline::NEVER
}

fn key(call: &mut ToolCall) -> Key {
    let arguments = Value::Object(std::mem::take(&mut call.arguments));
    let mut text = canonical_json(&arguments);
    if let Some(asker) = call.options.asker() {
        text.push_str(&canonical_json(&asker));
    }
    if let Value::Object(arguments) = arguments {
        call.arguments = arguments;
    }
    Key::new(&call.server, &call.tool, text)
}

debug_as!(Cache, "Cache(..)");

impl Around for Cache {
    const KIND: Option<LayerKind> = Some(LayerKind::Cache);

    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        // Also inside a clone of this cache, which may take the call for a read.
        if !self.reads(&call) {
            let _writing = self.storage.write(&call.server);
            return below.call(call).await;
        }
        if !call.passage.enter_once(self.storage.id()) {
            return below.call(call).await;
        }
        if call.options.bypass_caches() { below.call(call).await } else { self.read(call, below).await }
    }
}

//! Results that are cached for a while. Functions with much code are `#[inline]`, so that only programs with a cache
//! compile it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lru::LruCache;
use mcp_bindgen_model::canonical_json;
use tokio::sync::SetOnce;

use super::layer::{Around, Below, Globs};
use crate::call::{Limit, wait};
use crate::ground::deadline::Deadline;
use crate::ground::on_drop::OnDrop;
use crate::ground::redact::debug_as;
use crate::ground::sync::lock;
use crate::{CallError, ToolCall, ToolResult};

/// The time that a call waits for an equal pending one.
const PATIENCE: Duration = Duration::from_secs(60);
const ENTRIES: usize = 1024;
const BYTES: usize = 64 * 1024 * 1024;

/// Caches the results of read-only tools, and of tools that the program names.
///
/// Concurrent equal calls are made once: the others wait, each within its own time, and share the outcome. Errors and
/// error results are never cached. Any other call through the cache, or a clone of it, may change the server's data:
/// the cached results of that server are no longer used once the call begins, and again once it ends, and results that
/// are read in between are not cached. So no caller reads data from before a finished write. Writes of others, and
/// writes that take effect after their call timed out or was dropped, are visible after the time to live at the latest.
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
    storage: Arc<Mutex<Storage>>,
}

impl Cache {
    /// Creates a cache that keeps results for `ttl`, at most 1,024 of them with 64 MiB in total.
    #[inline]
    pub fn new(ttl: Duration) -> Self {
        let storage = Storage {
            clock: 0,
            writes: HashMap::new(),
            reads: LruCache::unbounded(),
            cached: 0,
            bytes: 0,
            max_entries: ENTRIES,
            max_bytes: BYTES,
        };
        Self { ttl, reads: Globs::default(), writes: Globs::default(), storage: Arc::new(Mutex::new(storage)) }
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
    #[inline]
    pub fn max_entries(self, entries: usize) -> Self {
        self.bounded(|storage| storage.max_entries = entries.max(1))
    }

    /// Sets about how many bytes the cached results and their arguments may use; the least recently used are dropped.
    /// A larger result is not cached.
    #[inline]
    pub fn max_bytes(self, bytes: usize) -> Self {
        self.bounded(|storage| storage.max_bytes = bytes)
    }

    fn bounded(self, set: impl FnOnce(&mut Storage)) -> Self {
        let mut storage = lock(&self.storage);
        set(&mut storage);
        storage.shrink();
        drop(storage);
        self
    }

    /// Drops all cached results, and those of pending calls.
    #[inline]
    pub fn clear(&self) {
        let mut storage = lock(&self.storage);
        storage.reads.clear();
        (storage.cached, storage.bytes) = (0, 0);
    }

    fn is_read(&self, call: &ToolCall) -> bool {
        let is_read_only = call.annotations().read_only == Some(true) || self.reads.name(&call.tool);
        is_read_only && !self.writes.name(&call.tool)
    }

    #[inline]
    fn find(&self, server: &str, key: &Arc<str>) -> Found<'_> {
        let storage = &mut *lock(&self.storage);
        let written = storage.writes.get(server).map_or(0, |writes| writes.latest);
        if let Some(read) = storage.reads.get(key)
            && read.begun > written
            && !read.until.has_passed()
        {
            return Found::Read(read.outcome.clone());
        }
        storage.clock += 1;
        let (begun, outcome) = (storage.clock, Arc::default());
        let read = Read { begun, outcome: Arc::clone(&outcome), until: Deadline::NEVER, size: None };
        if let Some((_, outdated)) = storage.reads.push(key.clone(), read) {
            storage.forget(&outdated);
        }
        Found::Nothing(Lead { cache: self, server: server.to_owned(), key: key.clone(), begun, outcome, for_all: None })
    }

    /// Invalidates the cached results of a server, now and when the returned value is dropped. Nothing is cached in
    /// between.
    #[inline]
    fn write(&self, server: Cow<'static, str>) -> OnDrop<impl FnOnce()> {
        lock(&self.storage).note_write(&server, 1);
        OnDrop::new(move || lock(&self.storage).note_write(&server, -1))
    }

    async fn read(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        // The identity of the call, however its arguments are written.
        let asker = call.options.asker().map(|asker| canonical_json(&asker)).unwrap_or_default();
        let key = format!("{asker}\n{:?}\n{}", call.server, call.canonical()).into();
        let mut lead = loop {
            let read = match self.find(&call.server, &key) {
                Found::Read(outcome) => outcome,
                Found::Nothing(lead) => break lead,
            };
            let outcome = match read.get() {
                Some(outcome) => outcome,
                // A call that waits would receive no progress reports.
                None if call.options.given().progress.is_some() => return below.call(call).await,
                None => {
                    let waiting = Deadline::after(PATIENCE).bound(read.wait());
                    let Some(outcome) = wait::within(&mut call, Limit::default(), waiting).await? else {
                        // It may be waiting for this very call.
                        return below.call(call).await;
                    };
                    outcome
                }
            };
            if let Some(outcome) = outcome {
                return outcome.clone();
            }
            // The leading call was dropped, or its outcome is not for others: one of them must be sent.
        };
        // The call has a time limit that others may not have.
        let is_hurried = call.options.given_total().is_some() || call.passage.limit().end != Deadline::NEVER;
        let outcome = below.call(call).await;
        let is_own = outcome.as_ref().is_ok_and(ToolResult::needs_input)
            || matches!(&outcome, Err(CallError::Timeout { .. })) && is_hurried
            || matches!(&outcome, Err(CallError::Cancelled { .. }));
        lead.for_all = (!is_own).then(|| Box::new(outcome.clone()));
        outcome
    }
}

debug_as!(Cache, "Cache(..)");

impl Around for Cache {
    async fn around(&self, mut call: ToolCall, below: Below<'_>) -> Result<ToolResult, CallError> {
        // Also inside a clone of this cache, which may take the call for a read.
        if !self.is_read(&call) {
            let _writing = self.write(call.server.clone());
            return below.call(call).await;
        }
        if !call.passage.enter_once(Arc::as_ptr(&self.storage).addr()) || call.options.bypass_caches() {
            return below.call(call).await;
        }
        self.read(call, below).await
    }
}

type Outcome = Result<ToolResult, CallError>;

/// The outcome of a read once it has ended; `None` if it is not for other calls.
type Shared = Arc<SetOnce<Option<Outcome>>>;

struct Storage {
    /// The number of reads, and of starts and ends of writes, so far.
    clock: u64,
    /// By server.
    writes: HashMap<String, Writes>,
    /// By the identity of the call.
    reads: LruCache<Arc<str>, Read>,
    /// The number of reads in the map that have a result.
    cached: usize,
    /// About the sum of their sizes.
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
}

#[derive(Default)]
struct Writes {
    /// The time at which the latest one began or ended: no call joins an earlier read.
    latest: u64,
    pending: usize,
}

/// A read that is pending, or whose result is cached.
struct Read {
    /// The time at which it began, which no other read has.
    begun: u64,
    outcome: Shared,
    until: Deadline,
    /// `None` while it is pending.
    size: Option<usize>,
}

/// The state of a read.
enum Found<'c> {
    /// Its result is cached, or another call is already reading.
    Read(Shared),
    /// The caller must send the call.
    Nothing(Lead<'c>),
}

/// The call that reads for all others. If it is dropped without an outcome for all, another call takes over.
struct Lead<'c> {
    cache: &'c Cache,
    server: String,
    key: Arc<str>,
    begun: u64,
    outcome: Shared,
    for_all: Option<Box<Outcome>>,
}

/// Caches a result, unless there was a write since. Passes the outcome to all waiting calls at once.
impl Drop for Lead<'_> {
    #[inline]
    fn drop(&mut self) {
        let outcome = self.for_all.take().map(|outcome| *outcome);
        let result = outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).filter(|result| result.is_success());
        let size = result.map(|result| self.key.len() + serde_json::to_string(result).map_or(0, |text| text.len()));
        let mut guard = lock(&self.cache.storage);
        let storage = &mut *guard;
        let writes = storage.writes.get(&self.server);
        let may_cache = writes.is_none_or(|writes| writes.pending == 0 && writes.latest < self.begun);
        // A later read may have taken its place.
        if let Some(read) = storage.reads.get_mut(&self.key).filter(|read| read.begun == self.begun) {
            if let Some(size) = size.filter(|size| may_cache && *size <= storage.max_bytes) {
                (read.until, read.size) = (Deadline::after(self.cache.ttl), Some(size));
                storage.cached += 1;
                storage.bytes += size;
                storage.shrink();
            } else {
                storage.reads.pop(&self.key);
            }
        }
        drop(guard);
        let _ = self.outcome.set(outcome);
    }
}

impl Storage {
    /// Records that a write begins or ends, and changes the number of pending ones.
    #[inline]
    fn note_write(&mut self, server: &str, pending: isize) {
        self.clock += 1;
        let writes = self.writes.entry(server.to_owned()).or_default();
        writes.latest = self.clock;
        writes.pending = writes.pending.saturating_add_signed(pending);
    }

    /// Subtracts a read that was removed.
    fn forget(&mut self, read: &Read) {
        self.cached = self.cached.saturating_sub(usize::from(read.size.is_some()));
        self.bytes = self.bytes.saturating_sub(read.size.unwrap_or_default());
    }

    /// Drops the oldest results beyond the limits.
    #[inline]
    fn shrink(&mut self) {
        while self.cached > self.max_entries || self.bytes > self.max_bytes {
            let Some((key, read)) = self.reads.pop_lru() else { break };
            if read.size.is_some() {
                self.forget(&read);
            } else {
                // It is pending.
                self.reads.push(key, read);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    const TTL: Duration = Duration::from_secs(60);

    fn cache_of(entries: usize, bytes: usize) -> Cache {
        Cache::new(TTL).max_entries(entries).max_bytes(bytes)
    }

    fn find<'c>(cache: &'c Cache, arguments: &str) -> Found<'c> {
        cache.find("s", &arguments.into())
    }

    fn lead<'c>(cache: &'c Cache, arguments: &str) -> Lead<'c> {
        match find(cache, arguments) {
            Found::Nothing(lead) => lead,
            Found::Read(_) => panic!("it is cached or pending"),
        }
    }

    fn is_pending(cache: &Cache, arguments: &str) -> bool {
        matches!(find(cache, arguments), Found::Read(outcome) if outcome.get().is_none())
    }

    fn is_cached(cache: &Cache, arguments: &str) -> bool {
        matches!(find(cache, arguments), Found::Read(outcome) if outcome.get().is_some())
    }

    impl Lead<'_> {
        fn land(mut self, outcome: &Outcome) {
            self.for_all = Some(Box::new(outcome.clone()));
        }
    }

    fn answer() -> Result<ToolResult, CallError> {
        Ok(ToolResult::new("s", "t"))
    }

    #[test]
    fn read_overtaken_by_a_write_is_not_cached() {
        let cache = cache_of(1, usize::MAX);
        let before = lead(&cache, "1");
        drop(cache.write("s".into()));
        before.land(&answer());
        assert!(!is_cached(&cache, "1"));
        let writing = cache.write("s".into());
        lead(&cache, "1").land(&answer());
        assert!(!is_cached(&cache, "1"), "the write may take effect after it");
        drop(writing);
        lead(&cache, "1").land(&answer());
        assert!(is_cached(&cache, "1"));
        drop(cache.write("other".into()));
        assert!(is_cached(&cache, "1"), "another server changed");
        drop(cache.write("s".into()));
        assert!(!is_cached(&cache, "1"));
    }

    #[test]
    fn read_that_began_before_a_clear_is_not_kept() {
        let cache = cache_of(1, usize::MAX);
        let before = lead(&cache, "1");
        cache.clear();
        before.land(&answer());
        assert!(!is_cached(&cache, "1"));
    }

    #[test]
    fn read_started_before_a_write_is_not_joined() {
        let cache = cache_of(1, usize::MAX);
        let _before = lead(&cache, "1");
        assert!(is_pending(&cache, "1"));
        drop(cache.write("s".into()));
        let _after = lead(&cache, "1");
    }

    #[test]
    fn dropped_read_leaves_nothing() {
        let cache = cache_of(1, usize::MAX);
        drop(lead(&cache, "1"));
        assert!(lock(&cache.storage).reads.is_empty());
    }

    #[test]
    fn cache_entries_are_bounded_and_expire() {
        let cache = cache_of(2, usize::MAX);
        for arguments in ["1", "2", "3"] {
            lead(&cache, arguments).land(&answer());
        }
        assert!(!is_cached(&cache, "1") && is_cached(&cache, "3"));
        cache.clear();
        let expiring = Cache { ttl: Duration::ZERO, ..cache };
        lead(&expiring, "3").land(&answer());
        assert!(!is_cached(&expiring, "3"));
        assert!(lock(&expiring.storage).reads.is_empty());
    }

    #[test]
    fn cache_bytes_are_bounded_and_least_recently_used_are_evicted() {
        let of = |length: usize| {
            Ok(ToolResult { content: vec![Content::text("x".repeat(length))], ..ToolResult::default() })
        };
        let cache = cache_of(100, 1000);
        for arguments in ["1", "2", "3"] {
            lead(&cache, arguments).land(&of(300));
        }
        assert!(!is_cached(&cache, "1") && is_cached(&cache, "2") && is_cached(&cache, "3"));
        lead(&cache, "4").land(&of(1000));
        assert!(!is_cached(&cache, "4") && is_cached(&cache, "2"), "too large, and nothing goes for it");
        let cache = cache.max_bytes(500);
        assert!(!is_cached(&cache, "3") && is_cached(&cache, "2"), "`2` was used last");
        let cache = cache.max_entries(1);
        lead(&Cache { ttl: Duration::ZERO, ..cache.clone() }, "5").land(&of(10));
        assert!(!is_cached(&cache, "2") && !is_cached(&cache, "5"));
        assert_eq!(lock(&cache.storage).bytes, 0);
        assert!(lock(&cache.storage).reads.is_empty());
        lead(&cache, "6").land(&of(10));
        assert!(is_cached(&cache, "6") && lock(&cache.storage).bytes < 100);
        cache.clear();
        assert_eq!(lock(&cache.storage).bytes, 0);
    }

    #[test]
    fn entries_that_fill_the_byte_limit_exactly_stay_cached() {
        let cache = cache_of(100, usize::MAX);
        lead(&cache, "1").land(&answer());
        lead(&cache, "2").land(&answer());
        let bytes = lock(&cache.storage).bytes;
        let cache = cache.max_bytes(bytes);
        assert!(is_cached(&cache, "1") && is_cached(&cache, "2"));
    }

    #[test]
    fn errors_are_not_cached() {
        let cache = cache_of(1, usize::MAX);
        lead(&cache, "1").land(&Err(CallError::transport("s", "t", "gone")));
        lead(&cache, "1").land(&Ok(ToolResult::error("no")));
        assert!(!is_cached(&cache, "1"));
    }
}

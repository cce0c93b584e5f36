//! Results that are cached for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lru::LruCache;
use mcp_bindgen_model::canonical_json;
use tokio::sync::watch;

use super::layer::{Around, Called, Globs};
use crate::call::wait;
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
    storage: Arc<Mutex<Storage>>,
}

impl Cache {
    /// Creates a cache that keeps results for `ttl`, at most 1,024 of them with 64 MiB in total.
    pub fn new(ttl: Duration) -> Self {
        let storage = Storage {
            servers: HashMap::new(),
            entries: LruCache::unbounded(),
            bytes: 0,
            max_entries: ENTRIES,
            max_bytes: BYTES,
            flights: HashMap::new(),
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
    pub fn max_entries(self, entries: usize) -> Self {
        self.bounded(|storage| storage.max_entries = entries.max(1))
    }

    /// Sets about how many bytes the cached results and their arguments may use; the least recently used are dropped.
    /// A larger result is not cached.
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
    pub fn clear(&self) {
        let mut storage = lock(&self.storage);
        storage.entries.clear();
        storage.bytes = 0;
        storage.servers.values_mut().for_each(|server| server.generation += 1);
    }

    fn is_read(&self, call: &ToolCall) -> bool {
        let is_read_only = call.annotations().read_only == Some(true) || self.reads.name(&call.tool);
        is_read_only && !self.writes.name(&call.tool)
    }

    fn find(&self, key: &Key) -> Found<'_> {
        let storage = &mut *lock(&self.storage);
        let generation = storage.server(&key.server).generation;
        if let Some(entry) = storage.entries.get(key)
            && entry.generation == generation
            && !entry.until.has_passed()
        {
            return Found::Cached(entry.result.clone());
        }
        if let Some(outdated) = storage.entries.pop(key) {
            storage.bytes = storage.bytes.saturating_sub(outdated.size);
        }
        let flight = (key.clone(), generation);
        if let Some(settle) = storage.flights.get_mut(&flight) {
            return Found::Pending(settle.get_or_insert_with(|| watch::Sender::new(None)).subscribe());
        }
        storage.flights.insert(flight.clone(), None);
        Found::Nothing(Lead { cache: self, flight })
    }

    /// Drops the cached results of a server, now and when the returned value is dropped. Nothing is cached in between.
    fn write(&self, server: &str) -> OnDrop<impl FnOnce() + use<>> {
        let (storage, server) = (self.storage.clone(), Arc::from(server));
        lock(&storage).note_write(&server, 1);
        OnDrop::new(move || lock(&storage).note_write(&server, -1))
    }

    async fn read(&self, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        let key = Key::of(&call);
        let lead = loop {
            let mut pending = match self.find(&key) {
                Found::Cached(result) => return Ok((*result).clone()),
                // A call that waits would receive no progress reports.
                Found::Pending(_) if call.options.given().progress.is_some() => return below(call).await,
                Found::Pending(pending) => pending,
                Found::Nothing(lead) => break lead,
            };
            let landed = async { pending.wait_for(Option::is_some).await.ok().and_then(|outcome| outcome.clone()) };
            match wait::within(&mut call, Deadline::after(PATIENCE).bound(landed)).await? {
                Some(Some(outcome)) => return outcome,
                // The leading call was dropped, or its outcome is not for others: one of them must be sent.
                Some(None) => {}
                // It may be waiting for this very call.
                None => return below(call).await,
            }
        };
        // The call has a time limit that others may not have.
        let is_hurried = call.options.given_total().is_some() || call.passage.limit().end != Deadline::NEVER;
        let outcome = below(call).await;
        let is_own = outcome.as_ref().is_ok_and(ToolResult::needs_input)
            || matches!(&outcome, Err(CallError::Timeout { .. })) && is_hurried
            || matches!(&outcome, Err(CallError::Cancelled { .. }));
        lead.land(&outcome, !is_own);
        outcome
    }
}

debug_as!(Cache, "Cache(..)");

impl Around for Cache {
    async fn around(self: Arc<Self>, mut call: ToolCall, below: Called) -> Result<ToolResult, CallError> {
        // Also inside a clone of this cache, which may take the call for a read.
        if !self.is_read(&call) {
            let _writing = self.write(&call.server);
            return below(call).await;
        }
        if !call.passage.enter_once(Arc::as_ptr(&self.storage).addr()) || call.options.bypass_caches() {
            return below(call).await;
        }
        self.read(call, below).await
    }
}

/// The identity of a call, however its arguments are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    server: Arc<str>,
    call: Arc<str>,
}

impl Key {
    fn of(call: &ToolCall) -> Self {
        let mut text = call.canonical();
        if let Some(asker) = call.options.asker() {
            text.push_str(&canonical_json(&asker));
        }
        Self { server: (*call.server).into(), call: text.into() }
    }
}

type Outcome = Result<ToolResult, CallError>;

struct Storage {
    /// The servers of all calls.
    servers: HashMap<Arc<str>, Server>,
    entries: LruCache<Key, Entry>,
    /// About the sum of the sizes of the entries.
    bytes: usize,
    max_entries: usize,
    max_bytes: usize,
    /// The pending reads, with the generation in which they began: no call joins a read from before a write. The sender
    /// of the outcome exists only if a call has joined.
    flights: HashMap<Flight, Option<watch::Sender<Option<Outcome>>>>,
}

type Flight = (Key, u64);

#[derive(Default)]
struct Server {
    /// The number of begun writes, ended writes and clears.
    generation: u64,
    writing: usize,
}

struct Entry {
    generation: u64,
    until: Deadline,
    result: Arc<ToolResult>,
    size: usize,
}

/// The state of a read.
enum Found<'c> {
    Cached(Arc<ToolResult>),
    /// Another call is already reading; its outcome is `None` while it is pending.
    Pending(watch::Receiver<Option<Outcome>>),
    /// The caller must send the call.
    Nothing(Lead<'c>),
}

/// The call that reads for all others. If it is dropped without an outcome for all, another call takes over.
struct Lead<'c> {
    cache: &'c Cache,
    flight: Flight,
}

impl Lead<'_> {
    /// Caches a result, unless there was a write since. Passes the outcome to all waiting calls at once if it is valid
    /// for them.
    fn land(self, outcome: &Outcome, is_for_all: bool) {
        let (key, generation) = &self.flight;
        let result = outcome.as_ref().ok().filter(|result| result.is_success());
        let entry = result.map(|result| Entry {
            generation: *generation,
            until: Deadline::after(self.cache.ttl),
            result: Arc::new(result.clone()),
            size: key.server.len() + key.call.len() + result.size(),
        });
        let mut storage = lock(&self.cache.storage);
        // A call that joins from here on takes over.
        let settle = storage.flights.get_mut(&self.flight).and_then(Option::take);
        let Server { writing, generation } = *storage.server(&key.server);
        if let Some(entry) = entry.filter(|entry| writing == 0 && entry.generation == generation) {
            storage.keep(key.clone(), entry);
        }
        drop(storage);
        if let Some(settle) = settle.filter(|_| is_for_all) {
            settle.send_replace(Some(outcome.clone()));
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        lock(&self.cache.storage).flights.remove(&self.flight);
    }
}

impl Storage {
    fn server(&mut self, name: &Arc<str>) -> &mut Server {
        self.servers.entry(name.clone()).or_default()
    }

    /// Records that a write begins or ends, and changes the number of pending ones.
    fn note_write(&mut self, server: &Arc<str>, pending: isize) {
        let server = self.server(server);
        server.generation += 1;
        server.writing = server.writing.saturating_add_signed(pending);
    }

    /// Stores an entry, and drops the oldest ones that it leaves no room for. An entry that is too large is not stored.
    fn keep(&mut self, key: Key, entry: Entry) {
        if entry.size > self.max_bytes {
            return;
        }
        self.bytes += entry.size;
        if let Some((_, replaced)) = self.entries.push(key, entry) {
            self.bytes = self.bytes.saturating_sub(replaced.size);
        }
        self.shrink();
    }

    /// Drops the oldest entries beyond the limits.
    fn shrink(&mut self) {
        while self.entries.len() > self.max_entries || self.bytes > self.max_bytes {
            let Some((_, oldest)) = self.entries.pop_lru() else { break };
            self.bytes = self.bytes.saturating_sub(oldest.size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    const TTL: Duration = Duration::from_secs(60);

    fn key(arguments: &str) -> Key {
        Key { server: "s".into(), call: arguments.into() }
    }

    fn cache_of(entries: usize, bytes: usize) -> Cache {
        Cache::new(TTL).max_entries(entries).max_bytes(bytes)
    }

    fn lead<'c>(cache: &'c Cache, arguments: &str) -> Lead<'c> {
        match cache.find(&key(arguments)) {
            Found::Nothing(lead) => lead,
            Found::Cached(_) => panic!("it is cached"),
            Found::Pending(_) => panic!("it is pending"),
        }
    }

    fn is_cached(cache: &Cache, arguments: &str) -> bool {
        matches!(cache.find(&key(arguments)), Found::Cached(_))
    }

    fn answer() -> Result<ToolResult, CallError> {
        Ok(ToolResult::new("s", "t"))
    }

    #[test]
    fn read_overtaken_by_a_write_is_not_cached() {
        let cache = cache_of(1, usize::MAX);
        let before = lead(&cache, "1");
        drop(cache.write("s"));
        before.land(&answer(), true);
        assert!(!is_cached(&cache, "1"));
        let writing = cache.write("s");
        lead(&cache, "1").land(&answer(), true);
        assert!(!is_cached(&cache, "1"), "the write may take effect after it");
        drop(writing);
        lead(&cache, "1").land(&answer(), true);
        assert!(is_cached(&cache, "1"));
        drop(cache.write("other"));
        assert!(is_cached(&cache, "1"), "another server changed");
        drop(cache.write("s"));
        assert!(!is_cached(&cache, "1"));
    }

    #[test]
    fn read_that_began_before_a_clear_is_not_kept() {
        let cache = cache_of(1, usize::MAX);
        let before = lead(&cache, "1");
        cache.clear();
        before.land(&answer(), true);
        assert!(!is_cached(&cache, "1"));
    }

    #[test]
    fn read_started_before_a_write_is_not_joined() {
        let cache = cache_of(1, usize::MAX);
        let _before = lead(&cache, "1");
        assert!(matches!(cache.find(&key("1")), Found::Pending(_)));
        drop(cache.write("s"));
        let _after = lead(&cache, "1");
    }

    #[test]
    fn dropped_read_leaves_nothing() {
        let cache = cache_of(1, usize::MAX);
        drop(lead(&cache, "1"));
        assert!(lock(&cache.storage).flights.is_empty());
    }

    #[test]
    fn cache_entries_are_bounded_and_expire() {
        let cache = cache_of(2, usize::MAX);
        for arguments in ["1", "2", "3"] {
            lead(&cache, arguments).land(&answer(), true);
        }
        assert!(!is_cached(&cache, "1") && is_cached(&cache, "3"));
        cache.clear();
        let expiring = Cache { ttl: Duration::ZERO, ..cache };
        lead(&expiring, "3").land(&answer(), true);
        assert!(!is_cached(&expiring, "3"));
        assert!(lock(&expiring.storage).flights.is_empty());
    }

    #[test]
    fn cache_bytes_are_bounded_and_least_recently_used_are_evicted() {
        let of = |length: usize| {
            Ok(ToolResult { content: vec![Content::text("x".repeat(length))], ..ToolResult::default() })
        };
        let cache = cache_of(100, 1000);
        for arguments in ["1", "2", "3"] {
            lead(&cache, arguments).land(&of(300), true);
        }
        assert!(!is_cached(&cache, "1") && is_cached(&cache, "2") && is_cached(&cache, "3"));
        lead(&cache, "4").land(&of(1000), true);
        assert!(!is_cached(&cache, "4") && is_cached(&cache, "2"), "too large, and nothing goes for it");
        let cache = cache.max_bytes(500);
        assert!(!is_cached(&cache, "3") && is_cached(&cache, "2"), "`2` was used last");
        let cache = cache.max_entries(1);
        lead(&Cache { ttl: Duration::ZERO, ..cache.clone() }, "5").land(&of(10), true);
        assert!(!is_cached(&cache, "2") && !is_cached(&cache, "5"));
        assert_eq!(lock(&cache.storage).bytes, 0);
        assert!(lock(&cache.storage).entries.is_empty());
        lead(&cache, "6").land(&of(10), true);
        assert!(is_cached(&cache, "6") && lock(&cache.storage).bytes < 100);
        cache.clear();
        assert_eq!(lock(&cache.storage).bytes, 0);
    }

    #[test]
    fn entries_that_fill_the_byte_limit_exactly_stay_cached() {
        let cache = cache_of(100, usize::MAX);
        lead(&cache, "1").land(&answer(), true);
        lead(&cache, "2").land(&answer(), true);
        let bytes = lock(&cache.storage).bytes;
        let cache = cache.max_bytes(bytes);
        assert!(is_cached(&cache, "1") && is_cached(&cache, "2"));
    }

    #[test]
    fn errors_are_not_cached() {
        let cache = cache_of(1, usize::MAX);
        lead(&cache, "1").land(&Err(CallError::transport("s", "t", "gone")), true);
        lead(&cache, "1").land(&Ok(ToolResult::error("no")), true);
        assert!(!is_cached(&cache, "1"));
    }
}

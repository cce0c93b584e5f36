//! The entries of a cache, and their ages.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lru::LruCache;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ground::deadline::Deadline;
use crate::ground::recent::recent;
use crate::ground::sync::lock;
use crate::{CallError, ToolResult};

/// The identity of a call; its arguments are in one form, however they are written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    server: Arc<str>,
    tool: Arc<str>,
    arguments: Arc<str>,
}

impl Key {
    pub(super) fn new(server: &str, tool: &str, arguments: String) -> Self {
        Self { server: server.into(), tool: tool.into(), arguments: arguments.into() }
    }

    fn size(&self) -> usize {
        self.server.len() + self.tool.len() + self.arguments.len()
    }
}

/// The outcome of a call; `None` while it is pending.
pub(super) type Pending = watch::Receiver<Option<Result<ToolResult, CallError>>>;
type Settle = watch::Sender<Option<Result<ToolResult, CallError>>>;

pub(super) struct Storage {
    /// Those that were written to.
    servers: HashMap<String, Server>,
    /// How often everything was forgotten.
    cleared: u64,
    entries: LruCache<Key, Entry>,
    /// About the sum of the sizes of the entries, and how much it may be.
    bytes: usize,
    max_bytes: usize,
    /// The pending reads, with the generation in which they began: no call joins a read from before a write. The sender
    /// exists only if a call has joined.
    flights: HashMap<(Key, u64), Option<Settle>>,
}

#[derive(Clone, Copy, Default)]
struct Server {
    /// How often a write has begun or ended.
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
pub(super) enum Found {
    Cached(Arc<ToolResult>),
    /// Another call is already reading.
    UnderWay(Pending),
    /// The caller must send the call.
    Nothing(Lead),
}

#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Storage>>);

impl Shared {
    pub(super) fn new(entries: NonZeroUsize, max_bytes: usize) -> Self {
        Self(Arc::new(Mutex::new(Storage {
            servers: HashMap::new(),
            cleared: 0,
            entries: recent(entries),
            bytes: 0,
            max_bytes,
            flights: HashMap::new(),
        })))
    }

    pub(super) fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    pub(super) fn resize(&self, entries: NonZeroUsize) {
        let mut storage = lock(&self.0);
        storage.shrink(entries.get(), usize::MAX);
        storage.entries.resize(entries);
    }

    pub(super) fn set_max_bytes(&self, max_bytes: usize) {
        let mut storage = lock(&self.0);
        storage.max_bytes = max_bytes;
        storage.shrink(usize::MAX, max_bytes);
    }

    /// Forgets everything, also what reads under way will bring.
    pub(super) fn clear(&self) {
        let mut storage = lock(&self.0);
        storage.entries.clear();
        storage.bytes = 0;
        storage.cleared += 1;
    }

    pub(super) fn find(&self, key: &Key) -> Found {
        let mut storage = lock(&self.0);
        let generation = storage.of(&key.server).generation;
        match storage.entries.get(key) {
            Some(entry) if entry.generation == generation && !entry.until.has_passed() => {
                return Found::Cached(entry.result.clone());
            }
            Some(_) => {
                let old = storage.entries.pop(key);
                storage.forgot(old.as_ref());
            }
            None => {}
        }
        let flight = (key.clone(), generation);
        if let Some(settle) = storage.flights.get_mut(&flight) {
            return Found::UnderWay(settle.get_or_insert_with(|| watch::Sender::new(None)).subscribe());
        }
        storage.flights.insert(flight.clone(), None);
        Found::Nothing(Lead { shared: self.clone(), flight: Some(flight) })
    }

    /// Clears the cache of a server, now and when the returned value is dropped. Nothing is cached in between.
    pub(super) fn write(&self, server: &str) -> Writing {
        let mut storage = lock(&self.0);
        let of = storage.of_mut(server);
        of.generation += 1;
        of.writing += 1;
        Writing { shared: self.clone(), server: server.to_owned() }
    }
}

impl Storage {
    fn of(&self, server: &str) -> Server {
        let Server { generation, writing } = self.servers.get(server).copied().unwrap_or_default();
        Server { generation: generation + self.cleared, writing }
    }

    /// Keeps an entry, and forgets the oldest ones that it leaves no room for; one that is too large is not kept.
    fn keep(&mut self, key: Key, entry: Entry) {
        let Some(room) = self.max_bytes.checked_sub(entry.size) else { return };
        self.shrink(usize::MAX, room);
        self.bytes += entry.size;
        // The replaced entry, or the oldest of too many.
        let old = self.entries.push(key, entry).map(|(_, old)| old);
        self.forgot(old.as_ref());
    }

    /// Forgets the oldest entries beyond these bounds.
    fn shrink(&mut self, entries: usize, bytes: usize) {
        while self.entries.len() > entries || self.bytes > bytes {
            let old = self.entries.pop_lru().map(|(_, old)| old);
            self.forgot(old.as_ref());
        }
    }

    fn forgot(&mut self, entry: Option<&Entry>) {
        self.bytes = self.bytes.saturating_sub(entry.map_or(0, |entry| entry.size));
    }

    fn of_mut(&mut self, server: &str) -> &mut Server {
        self.servers.entry(server.to_owned()).or_default()
    }
}

/// A write under way.
pub(super) struct Writing {
    shared: Shared,
    server: String,
}

impl Drop for Writing {
    fn drop(&mut self) {
        let mut storage = lock(&self.shared.0);
        let of = storage.of_mut(&self.server);
        of.generation += 1;
        of.writing = of.writing.saturating_sub(1);
    }
}

/// The call that reads for all others. If it is dropped without an outcome, another call takes over.
pub(super) struct Lead {
    shared: Shared,
    flight: Option<(Key, u64)>,
}

impl Lead {
    /// Caches a result, unless there was a write since. Passes the outcome to waiting calls if it is valid for them.
    pub(super) fn land(mut self, outcome: &Result<ToolResult, CallError>, ttl: Duration, is_for_all: bool) {
        let Some((key, generation)) = self.flight.take() else { return };
        let size = key.size() + outcome.as_ref().map_or(0, ToolResult::size);
        let mut storage = lock(&self.shared.0);
        let flight = (key, generation);
        let settle = storage.flights.remove(&flight).flatten();
        let of = storage.of(&flight.0.server);
        if let Ok(result) = outcome
            && result.is_success()
            && of.writing == 0
            && of.generation == generation
        {
            let until = Deadline::since(Instant::now(), ttl);
            storage.keep(flight.0, Entry { generation, until, result: Arc::new(result.clone()), size });
        }
        drop(storage);
        // No more calls can join.
        if let Some(settle) = settle.filter(|_| is_for_all) {
            let _ = settle.send(Some(outcome.clone()));
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        if let Some(flight) = self.flight.take() {
            lock(&self.shared.0).flights.remove(&flight);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;

    const TTL: Duration = Duration::from_secs(60);

    fn key(arguments: &str) -> Key {
        Key::new("s", "t", arguments.to_owned())
    }

    fn lead(shared: &Shared, arguments: &str) -> Lead {
        match shared.find(&key(arguments)) {
            Found::Nothing(lead) => lead,
            Found::Cached(_) => panic!("it is cached"),
            Found::UnderWay(_) => panic!("it is under way"),
        }
    }

    fn is_cached(shared: &Shared, arguments: &str) -> bool {
        matches!(shared.find(&key(arguments)), Found::Cached(_))
    }

    fn answer() -> Result<ToolResult, CallError> {
        Ok(ToolResult::new("s", "t"))
    }

    #[test]
    fn read_overtaken_by_a_write_is_not_cached() {
        let shared = Shared::new(NonZeroUsize::MIN, usize::MAX);
        let before = lead(&shared, "1");
        drop(shared.write("s"));
        before.land(&answer(), TTL, true);
        assert!(!is_cached(&shared, "1"));
        let writing = shared.write("s");
        lead(&shared, "1").land(&answer(), TTL, true);
        assert!(!is_cached(&shared, "1"), "the write may take effect after it");
        drop(writing);
        lead(&shared, "1").land(&answer(), TTL, true);
        assert!(is_cached(&shared, "1"));
        drop(shared.write("other"));
        assert!(is_cached(&shared, "1"), "another server changed");
        drop(shared.write("s"));
        assert!(!is_cached(&shared, "1"));
    }

    #[test]
    fn read_that_began_before_a_clear_is_not_kept() {
        let shared = Shared::new(NonZeroUsize::MIN, usize::MAX);
        let before = lead(&shared, "1");
        shared.clear();
        before.land(&answer(), TTL, true);
        assert!(!is_cached(&shared, "1"));
    }

    #[test]
    fn read_started_before_a_write_is_not_joined() {
        let shared = Shared::new(NonZeroUsize::MIN, usize::MAX);
        let _before = lead(&shared, "1");
        assert!(matches!(shared.find(&key("1")), Found::UnderWay(_)));
        drop(shared.write("s"));
        let _after = lead(&shared, "1");
    }

    #[test]
    fn cache_entries_are_bounded_and_expire() {
        let shared = Shared::new(NonZeroUsize::new(2).expect("two"), usize::MAX);
        for arguments in ["1", "2", "3"] {
            lead(&shared, arguments).land(&answer(), TTL, true);
        }
        assert!(!is_cached(&shared, "1") && is_cached(&shared, "3"));
        shared.clear();
        lead(&shared, "3").land(&answer(), Duration::ZERO, true);
        assert!(!is_cached(&shared, "3"));
        assert_eq!(lock(&shared.0).flights.len(), 0);
    }

    #[test]
    fn cache_bytes_are_bounded_and_least_recently_used_are_evicted() {
        let of = |length: usize| {
            Ok(ToolResult { content: vec![Content::text("x".repeat(length))], ..ToolResult::default() })
        };
        let shared = Shared::new(NonZeroUsize::new(100).expect("a number"), 1000);
        for arguments in ["1", "2", "3"] {
            lead(&shared, arguments).land(&of(300), TTL, true);
        }
        assert!(!is_cached(&shared, "1") && is_cached(&shared, "2") && is_cached(&shared, "3"));
        lead(&shared, "4").land(&of(1000), TTL, true);
        assert!(!is_cached(&shared, "4") && is_cached(&shared, "2"), "too large, and nothing goes for it");
        shared.set_max_bytes(500);
        assert!(!is_cached(&shared, "3") && is_cached(&shared, "2"), "`2` was used last");
        shared.resize(NonZeroUsize::MIN);
        lead(&shared, "5").land(&of(10), Duration::ZERO, true);
        assert!(!is_cached(&shared, "2") && !is_cached(&shared, "5"));
        assert_eq!(lock(&shared.0).bytes, 0);
        assert!(lock(&shared.0).entries.is_empty());
        lead(&shared, "6").land(&of(10), TTL, true);
        assert!(is_cached(&shared, "6") && lock(&shared.0).bytes < 100);
        shared.clear();
        assert_eq!(lock(&shared.0).bytes, 0);
    }

    #[test]
    fn entries_that_fill_the_byte_limit_exactly_stay_cached() {
        let shared = Shared::new(NonZeroUsize::new(100).expect("a number"), usize::MAX);
        lead(&shared, "1").land(&answer(), TTL, true);
        lead(&shared, "2").land(&answer(), TTL, true);
        let bytes = lock(&shared.0).bytes;
        shared.set_max_bytes(bytes);
        assert!(is_cached(&shared, "1") && is_cached(&shared, "2"));
    }

    #[test]
    fn errors_are_not_cached() {
        let shared = Shared::new(NonZeroUsize::MIN, usize::MAX);
        lead(&shared, "1").land(&Err(CallError::transport("s", "t", "gone")), TTL, true);
        lead(&shared, "1").land(&Ok(ToolResult::error("no")), TTL, true);
        assert!(!is_cached(&shared, "1"));
    }
}

//! Bounded memory: the entries that were used last, the moments of a period.

use std::collections::VecDeque;
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::time::Duration;

use lru::LruCache;
use mcp_bindgen_model::Rate;
use tokio::time::Instant;

/// Creates a cache of the most recently used entries. Its memory grows with them, while `LruCache::new` allocates all
/// of it at once.
pub(crate) fn recent<K: Hash + Eq, V>(most: NonZeroUsize) -> LruCache<K, V> {
    let mut entries = LruCache::unbounded();
    entries.resize(most);
    entries
}

/// The moments of a period up to now.
#[derive(Debug, Default)]
pub(crate) struct Moments(VecDeque<Instant>);

impl Moments {
    /// Notes a moment, if a rate allows it.
    ///
    /// # Errors
    /// How long it takes until the rate allows it.
    pub(crate) fn note(&mut self, rate: Rate) -> Result<(), Duration> {
        self.note_within(usize::try_from(rate.calls()).unwrap_or(usize::MAX), rate.period())
    }

    /// Notes a moment, if there are fewer than `most` in `period`.
    ///
    /// # Errors
    /// How long it takes until there are fewer.
    pub(crate) fn note_within(&mut self, most: usize, period: Duration) -> Result<(), Duration> {
        let now = Instant::now();
        while self.0.front().is_some_and(|first| now.duration_since(*first) >= period) {
            self.0.pop_front();
        }
        if self.0.len() >= most {
            let first = self.0.front().map_or(Duration::ZERO, |first| now.duration_since(*first));
            return Err(period.saturating_sub(first));
        }
        self.0.push_back(now);
        Ok(())
    }
}

//! The entries of something that were used last.

use std::hash::Hash;
use std::num::NonZeroUsize;

use lru::LruCache;

/// Keeps so many entries, the ones that were used last. Its memory grows with them: `LruCache::new` takes all of it at once.
pub(crate) fn recent<K: Hash + Eq, V>(most: NonZeroUsize) -> LruCache<K, V> {
    let mut entries = LruCache::unbounded();
    entries.resize(most);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_that_were_used_last_are_kept() {
        let mut entries = recent(NonZeroUsize::MIN.saturating_add(1));
        for key in [1, 2, 1, 3] {
            entries.put(key, ());
        }
        assert!(entries.contains(&1) && entries.contains(&3) && entries.len() == 2);
    }
}

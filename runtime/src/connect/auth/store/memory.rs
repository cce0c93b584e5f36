//! Tokens that end with the program.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::{StoreLock, StoredTokens, TokenStore, TokenStoreError};
use crate::ground::sync::lock;

/// Stores tokens until the program ends; the default.
#[derive(Debug, Default)]
pub struct MemoryTokenStore {
    kept: Mutex<HashMap<String, StoredTokens>>,
    locked: Arc<Mutex<HashSet<String>>>,
}

impl MemoryTokenStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for MemoryTokenStore {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        Ok(lock(&self.kept).get(key).cloned())
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        lock(&self.kept).insert(key.to_owned(), tokens.clone());
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        lock(&self.kept).remove(key);
        Ok(())
    }

    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        let is_free = lock(&self.locked).insert(key.to_owned());
        Ok(is_free.then(|| StoreLock::new(Locked { keys: self.locked.clone(), key: key.to_owned() })))
    }
}

struct Locked {
    keys: Arc<Mutex<HashSet<String>>>,
    key: String,
}

impl Drop for Locked {
    fn drop(&mut self) {
        lock(&self.keys).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_lock_is_exclusive_per_key() {
        let store = MemoryTokenStore::new();
        let first = store.try_lock("key").expect("a lock").expect("free");
        assert!(store.try_lock("key").expect("an answer").is_none());
        assert!(store.try_lock("other").expect("a lock").is_some());
        drop(first);
        assert!(store.try_lock("key").expect("a lock").is_some());
    }
}

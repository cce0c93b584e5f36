//! Tokens in the keyring of the operating system.

use std::fmt;
use std::path::PathBuf;
use std::sync::LazyLock;

use super::{FileTokenStore, MemoryTokenStore, StoreLock, StoredTokens, TokenStore, TokenStoreError};
use crate::connect::keyring::{entry, existing};

/// The locks of this process: two stores of one service are one.
static LOCKS: LazyLock<MemoryTokenStore> = LazyLock::new(MemoryTokenStore::new);

/// Stores the tokens of each server in an entry of the operating system's keyring: the Secret Service, the macOS
/// keychain, the credential manager of Windows. The entry's service is given by the program; its user is the server's
/// URL with a hash.
///
/// A keyring has no locks. If several processes of a program may run at once, set a folder for lock files
/// ([`lock_in`](Self::lock_in)), so that they refresh tokens one after another. On Windows an entry may have 2,560
/// bytes; a larger one is an error, and the existing entry stays.
///
/// ```no_run
/// use mcp_bindgen_runtime::{KeyringTokenStore, OAuth};
///
/// let store = KeyringTokenStore::new("my-agent").lock_in("/home/me/.local/state/my-agent");
/// let oauth = OAuth::new().store(store);
/// ```
#[derive(Clone, Debug)]
pub struct KeyringTokenStore {
    service: String,
    locks: Option<FileTokenStore>,
}

impl KeyringTokenStore {
    /// Creates a store of the entries of this service: the program's name, so that no other program has the same.
    pub fn new(service: impl Into<String>) -> Self {
        Self { service: service.into(), locks: None }
    }

    /// Sets a folder with empty lock files for several processes. It is created if necessary, accessible to its owner
    /// only.
    #[must_use]
    pub fn lock_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { locks: Some(FileTokenStore::new(folder)), ..self }
    }

    /// Accesses the entry of one server; a missing entry is not an error.
    fn on_entry<T>(
        &self,
        key: &str,
        what: &str,
        act: impl FnOnce(keyring_core::Entry) -> keyring_core::Result<T>,
    ) -> Result<Option<T>, TokenStoreError> {
        existing(entry(&self.service, key).and_then(act)).map_err(|error| self.failed(key, what, error))
    }

    fn failed(&self, key: &str, what: &str, why: impl fmt::Display) -> TokenStoreError {
        let service = &self.service;
        TokenStoreError::new(format!(
            "the keyring's entry of service `{service}` and user `{key}` (tokens) could not be {what}: {why}"
        ))
    }
}

impl TokenStore for KeyringTokenStore {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        // The entry is stored as bytes: Windows stores passwords as UTF-16, and space is small.
        let Some(kept) = self.on_entry(key, "read", |entry| entry.get_secret())? else { return Ok(None) };
        let text = String::from_utf8(kept).map_err(|_| self.failed(key, "read", "it is not UTF-8"))?;
        Ok(Some(StoredTokens::new(text)))
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        let written = self.on_entry(key, "written", |entry| entry.set_secret(tokens.expose().as_bytes()))?;
        written.ok_or_else(|| self.failed(key, "written", "the keyring has no place for it"))
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        self.on_entry(key, "removed", |entry| entry.delete_credential()).map(drop)
    }

    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        match &self.locks {
            Some(files) => files.try_lock(key),
            None => LOCKS.try_lock(&format!("{}\n{key}", self.service)),
        }
    }
}

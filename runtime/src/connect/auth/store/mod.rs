//! Stores that keep tokens between connections.

mod file;
#[cfg(feature = "keyring")]
mod keyring;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::{env, fmt};

pub use file::FileTokenStore;
#[cfg(feature = "keyring")]
pub use keyring::KeyringTokenStore;

use crate::ground::redact::debug_as;
use crate::ground::sync::lock;

/// The service of the entries in the keyring, and the name of the folder.
const NAME: &str = "mcp-bindgen";

/// Stores tokens, and the dynamically registered clients.
///
/// A key identifies one account at one server: the server's URL without its query, and a hash of the query and the
/// configured client. The methods may block. This crate has [`MemoryTokenStore`], [`FileTokenStore`] and, with
/// feature `keyring`, a store in the keyring of the operating system. Implement this for a database or a vault:
///
/// ```
/// use mcp_bindgen_runtime::{StoredTokens, TokenStore, TokenStoreError};
/// # struct Vault;
/// # impl Vault {
/// #     fn get(&self, _: &str) -> std::io::Result<Option<String>> { Ok(None) }
/// #     fn put(&self, _: &str, _: &str) -> std::io::Result<()> { Ok(()) }
/// #     fn delete(&self, _: &str) -> std::io::Result<()> { Ok(()) }
/// # }
///
/// struct VaultStore(Vault);
///
/// impl TokenStore for VaultStore {
///     fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
///         Ok(self.0.get(key).map_err(TokenStoreError::new)?.map(StoredTokens::new))
///     }
///     fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
///         self.0.put(key, tokens.expose()).map_err(TokenStoreError::new)
///     }
///     fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
///         self.0.delete(key).map_err(TokenStoreError::new)
///     }
/// }
/// ```
pub trait TokenStore: Send + Sync {
    /// Returns the stored tokens of a server.
    ///
    /// # Errors
    /// Fails if the store cannot be read; a missing entry is not an error.
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError>;

    /// Stores the tokens of a server, in place of earlier ones.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError>;

    /// Removes the tokens of a server.
    ///
    /// # Errors
    /// Fails if the entry cannot be removed; a missing entry is not an error.
    fn remove(&self, key: &str) -> Result<(), TokenStoreError>;

    /// Acquires the right to refresh the tokens of a server, because a refresh token may be usable only once. Returns
    /// `None` while another program holds it; the client retries shortly. The default grants the right to every caller.
    ///
    /// # Errors
    /// Fails if the store cannot check the lock.
    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        let _ = key;
        Ok(Some(StoreLock::new(())))
    }
}

/// The tokens that a store keeps for a server: text that only this library reads. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredTokens(String);

impl StoredTokens {
    /// Wraps a stored text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text to keep. It holds secrets.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

debug_as!(StoredTokens, "StoredTokens([redacted])");

/// A right that ends when it is dropped.
pub struct StoreLock(#[expect(dead_code, reason = "it is there to be dropped")] Box<dyn Send>);

impl StoreLock {
    /// Creates a lock that lasts as long as `guard`.
    pub fn new(guard: impl Send + 'static) -> Self {
        Self(Box::new(guard))
    }
}

debug_as!(StoreLock, "StoreLock");

/// The error of a token store.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct TokenStoreError(String);

impl TokenStoreError {
    /// Creates an error with a message, which must not contain secrets.
    pub fn new(message: impl fmt::Display) -> Self {
        Self(message.to_string())
    }
}

/// Stores tokens until the program ends; the default.
#[derive(Debug, Default)]
pub struct MemoryTokenStore {
    kept: Mutex<HashMap<String, StoredTokens>>,
    locks: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
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
        let own = lock(&self.locks).entry(key.to_owned()).or_default().clone();
        Ok(own.try_lock_owned().ok().map(StoreLock::new))
    }
}

/// The token store of `mcp-bindgen auth login`, for the user who runs the program. With feature `keyring` it is the
/// keyring of the operating system, if available. Otherwise it consists of files that only the user can read (mode
/// 0600).
///
/// The folder is `mcp-bindgen/tokens` below `$XDG_STATE_HOME` or `~/.local/state`; on macOS below
/// `~/Library/Application Support`, on Windows below `%LOCALAPPDATA%`.
///
/// Servers with `auth` in their configuration use this store unless the program sets
/// [`ClientOptions::authorization`](crate::ClientOptions::authorization).
///
/// ```
/// use mcp_bindgen_runtime::{LocalTokenStore, OAuth};
///
/// let oauth = OAuth::new().store(LocalTokenStore::new());
/// # let _ = oauth;
/// ```
#[derive(Clone, Debug, Default)]
pub struct LocalTokenStore(());

impl LocalTokenStore {
    /// Creates the store of the current user.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl TokenStore for LocalTokenStore {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        // A machine without a keyring has the files alone.
        #[cfg(feature = "keyring")]
        if let Ok(Some(kept)) = keyring().load(key) {
            return Ok(Some(kept));
        }
        files()?.load(key)
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        #[cfg(feature = "keyring")]
        if keyring().save(key, tokens).is_ok() {
            // Programs without the feature would read an old file.
            return files().map_or(Ok(()), |files| files.remove(key));
        }
        files()?.save(key, tokens)?;
        // An entry that is too large for the keyring leaves an older one there.
        #[cfg(feature = "keyring")]
        let _ = keyring().remove(key);
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        #[cfg(feature = "keyring")]
        if let Err(error) = keyring().remove(key)
            && keyring().load(key).is_ok_and(|kept| kept.is_some())
        {
            return Err(error);
        }
        files()?.remove(key)
    }

    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        files()?.try_lock(key)
    }
}

#[cfg(feature = "keyring")]
fn keyring() -> KeyringTokenStore {
    KeyringTokenStore::new(NAME)
}

/// Returns the files of the user, who may have no home.
fn files() -> Result<FileTokenStore, TokenStoreError> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))
    };
    let state = state.ok_or_else(|| TokenStoreError::new("no folder for tokens: `HOME` is not set"))?;
    Ok(FileTokenStore::new(state.join(NAME).join("tokens")))
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

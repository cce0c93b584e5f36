//! The tokens of the user of this machine.

use std::env;
use std::path::PathBuf;

use super::{FileTokenStore, StoreLock, StoredTokens, TokenStore, TokenStoreError};

/// The service of the entries in the keyring, and the name of the folder.
const NAME: &str = "mcp-bindgen";

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
#[derive(Clone, Debug)]
pub struct LocalTokenStore {
    /// The file store, or `None` if the user has no home.
    files: Option<FileTokenStore>,
    #[cfg(feature = "keyring")]
    keyring: super::KeyringTokenStore,
}

impl Default for LocalTokenStore {
    fn default() -> Self {
        Self::new()
    }
}

impl LocalTokenStore {
    /// Creates the store of the current user.
    #[must_use]
    pub fn new() -> Self {
        Self {
            files: folder().map(FileTokenStore::new),
            #[cfg(feature = "keyring")]
            keyring: super::KeyringTokenStore::new(NAME),
        }
    }

    fn files(&self) -> Result<&FileTokenStore, TokenStoreError> {
        self.files.as_ref().ok_or_else(|| TokenStoreError::new("no folder for tokens: `HOME` is not set"))
    }
}

impl TokenStore for LocalTokenStore {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        // A machine without a keyring has the files alone.
        #[cfg(feature = "keyring")]
        if let Ok(Some(kept)) = self.keyring.load(key) {
            return Ok(Some(kept));
        }
        self.files()?.load(key)
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        #[cfg(feature = "keyring")]
        if self.keyring.save(key, tokens).is_ok() {
            // Programs without the feature would read an old file.
            return self.files.as_ref().map_or(Ok(()), |files| files.remove(key));
        }
        self.files()?.save(key, tokens)?;
        // An entry that is too large for the keyring leaves an older one there.
        #[cfg(feature = "keyring")]
        let _ = self.keyring.remove(key);
        Ok(())
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        #[cfg(feature = "keyring")]
        if let Err(error) = self.keyring.remove(key)
            && self.keyring.load(key).is_ok_and(|kept| kept.is_some())
        {
            return Err(error);
        }
        self.files()?.remove(key)
    }

    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        self.files()?.try_lock(key)
    }
}

fn folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        variable("HOME").map(|home| home.join("Library/Application Support"))
    } else {
        variable("XDG_STATE_HOME").or_else(|| variable("HOME").map(|home| home.join(".local/state")))
    };
    Some(state?.join(NAME).join("tokens"))
}

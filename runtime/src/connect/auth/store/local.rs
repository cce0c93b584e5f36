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
fn keyring() -> super::KeyringTokenStore {
    super::KeyringTokenStore::new(NAME)
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

//! Tokens in files that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use super::super::secret::hash;
use super::{StoreLock, StoredTokens, TokenStore, TokenStoreError};

/// Stores the tokens of each server in a file of a folder. The folder is created for its owner only (0700), and so are
/// the files (0600), which are replaced atomically. Processes that share the folder renew tokens one after the other.
///
/// ```no_run
/// use mcp_bindgen_runtime::{FileTokenStore, OAuth};
///
/// let store = FileTokenStore::new("/home/me/.local/state/my-agent/tokens");
/// let oauth = OAuth::new().store(store);
/// ```
#[derive(Clone, Debug)]
pub struct FileTokenStore {
    folder: PathBuf,
}

impl FileTokenStore {
    /// Creates a store in this folder, which is created when needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the path for a key, which is hashed because it is a URL.
    fn path(&self, key: &str, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", hash(key)))
    }

    fn make_folder(&self) -> Result<(), TokenStoreError> {
        if !self.folder.is_dir() {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&self.folder).map_err(|error| failed("made", &self.folder, &error))?;
        }
        // Others who can write to it could replace tokens.
        Self::owner_only(&self.folder, 0o022, "written by others; run `chmod 700` on it")
    }

    #[cfg_attr(not(unix), allow(unused_variables, reason = "there are no modes"))]
    fn owner_only(path: &Path, forbidden: u32, why: &str) -> Result<(), TokenStoreError> {
        #[cfg(unix)]
        {
            let found = fs::metadata(path).map_err(|error| failed("read", path, &error))?;
            if std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & forbidden != 0 {
                return Err(TokenStoreError::new(format!("`{}` (tokens) can be {why}", path.display())));
            }
        }
        Ok(())
    }
}

fn failed(what: &str, path: &Path, error: &io::Error) -> TokenStoreError {
    TokenStoreError::new(format!("`{}` (tokens) could not be {what}: {error}", path.display()))
}

impl TokenStore for FileTokenStore {
    fn load(&self, key: &str) -> Result<Option<StoredTokens>, TokenStoreError> {
        let path = self.path(key, "json");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            outcome => outcome.map_err(|error| failed("read", &path, &error))?,
        };
        Self::owner_only(&path, 0o077, "read by others; run `chmod 600` on it, and authorize again if it was")?;
        Ok(Some(StoredTokens::new(text)))
    }

    fn save(&self, key: &str, tokens: &StoredTokens) -> Result<(), TokenStoreError> {
        self.make_folder()?;
        let path = self.path(key, "json");
        // Its files are made with 0600.
        let written = tempfile::NamedTempFile::new_in(&self.folder).and_then(|mut file| {
            file.write_all(tokens.expose().as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(io::Error::from)
        });
        written.map(drop).map_err(|error| failed("written", &path, &error))
    }

    fn remove(&self, key: &str) -> Result<(), TokenStoreError> {
        let path = self.path(key, "json");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(failed("removed", &path, &error)),
            _ => Ok(()),
        }
    }

    fn try_lock(&self, key: &str) -> Result<Option<StoreLock>, TokenStoreError> {
        self.make_folder()?;
        // The lock has a separate file, because replacing the token file would replace a lock on it. The file stays,
        // because removing it would let two processes lock two files of one name.
        let path = self.path(key, "lock");
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file: File = options.open(&path).map_err(|error| failed("opened", &path, &error))?;
        match fs4::FileExt::try_lock(&file) {
            Ok(()) => Ok(Some(StoreLock::new(Locked(file)))),
            Err(fs4::TryLockError::WouldBlock) => Ok(None),
            Err(fs4::TryLockError::Error(error)) => Err(failed("locked", &path, &error)),
        }
    }
}

/// A locked file. Closing it alone would leave the lock to a process that is just being started and has the file open too.
struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        // Closing the file unlocks it at the latest.
        let _ = fs4::FileExt::unlock(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, FileTokenStore) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FileTokenStore::new(folder.path().join("deep/tokens"));
        (folder, store)
    }

    #[test]
    fn tokens_are_saved_replaced_and_removed() {
        let (_folder, store) = store();
        assert_eq!(store.load("https://a.example").expect("nothing"), None);
        store.remove("https://a.example").expect("nothing to remove");
        for text in ["one", "two"] {
            store.save("https://a.example", &StoredTokens::new(text)).expect("kept");
        }
        store.save("https://b.example", &StoredTokens::new("other")).expect("kept");
        assert_eq!(store.load("https://a.example").expect("read"), Some(StoredTokens::new("two")));
        store.remove("https://a.example").expect("removed");
        assert_eq!(store.load("https://a.example").expect("nothing"), None);
        assert_eq!(store.load("https://b.example").expect("read"), Some(StoredTokens::new("other")));
        let files = fs::read_dir(&store.folder).expect("the folder").count();
        assert_eq!(files, 1, "nothing half-written is left");
    }

    #[cfg(unix)]
    #[test]
    fn token_file_is_readable_only_by_its_owner() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, store) = store();
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        store.save("key", &StoredTokens::new("secret")).expect("kept");
        let path = store.path("key", "json");
        assert_eq!((mode(&store.folder), mode(&path)), (0o700, 0o600));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        let error = store.load("key").expect_err("others could read it").to_string();
        assert!(error.contains("chmod 600") && !error.contains("secret"), "{error}");
        fs::set_permissions(&store.folder, fs::Permissions::from_mode(0o777)).expect("changed");
        let error = store.save("key", &StoredTokens::new("x")).expect_err("others could write").to_string();
        assert!(error.contains("chmod 700"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn token_file_is_replaced_atomically() {
        use std::os::unix::fs::MetadataExt;
        let (_folder, store) = store();
        store.save("key", &StoredTokens::new("first")).expect("kept");
        let path = store.path("key", "json");
        let open = File::open(&path).expect("open");
        store.save("key", &StoredTokens::new("the second, and longer")).expect("kept");
        assert_eq!(io::read_to_string(open).expect("read"), "first", "a reader sees the one or the other");
        assert_eq!(fs::metadata(&path).expect("there").nlink(), 1);
    }

    #[test]
    fn refresh_lock_is_exclusive_per_key() {
        let (_folder, store) = store();
        // Each lock opens the file again, as another process would.
        let first = store.try_lock("key").expect("a lock").expect("free");
        assert!(store.try_lock("key").expect("an answer").is_none());
        assert!(store.try_lock("other").expect("a lock").is_some());
        drop(first);
        assert!(store.try_lock("key").expect("a lock").is_some());
    }

    #[test]
    fn lock_ends_with_its_owner_even_if_a_child_holds_the_file_open() {
        let (_folder, store) = store();
        drop(store.try_lock("key").expect("a lock").expect("free"));
        let file = File::options().write(true).open(store.path("key", "lock")).expect("the file");
        fs4::FileExt::try_lock(&file).expect("free");
        let copy = file.try_clone().expect("what a child of fork has");
        drop(Locked(file));
        assert!(store.try_lock("key").expect("an answer").is_some());
        drop(copy);
    }

    #[test]
    fn token_file_that_cannot_be_read_or_removed_is_an_error() {
        let (_folder, store) = store();
        fs::create_dir_all(store.path("key", "json")).expect("a folder in its place");
        let error = store.load("key").expect_err("it is a folder").to_string();
        assert!(error.contains("could not be read"), "{error}");
        let error = store.remove("key").expect_err("it is a folder").to_string();
        assert!(error.contains("could not be removed"), "{error}");
    }
}

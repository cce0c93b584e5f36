//! Stores the responses of servers in one build for its other processes: the first process asks each server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fs4::TryLockError;
use mcp_bindgen_model::{FileError, write_private};
use serde_json::{Value, json};

use super::build::Build;

const PAUSE: Duration = Duration::from_millis(20);

/// A folder of such answers.
#[derive(Debug)]
pub(super) struct Kept {
    folder: PathBuf,
    build: Build,
}

/// A locked question: other processes of the build cannot answer it meanwhile.
pub(super) struct Question<'k> {
    kept: &'k Kept,
    stem: String,
    /// Given back when it is closed, however this process ends.
    _lock: File,
}

impl Kept {
    pub(super) fn new(folder: PathBuf, build: Build) -> Self {
        Self { folder, build }
    }

    /// Waits for the lock on a question. Returns `None` if another process still holds it in the end.
    ///
    /// # Errors
    /// Fails if the folder is not writable.
    pub(super) fn take(&self, stem: &str, patience: Duration) -> Result<Option<Question<'_>>, FileError> {
        let path = self.folder.join(format!("{stem}.lock"));
        let wrong = |error: std::io::Error| FileError::new(format!("failed to store it: {error}")).in_file(&path);
        make_private(&self.folder).map_err(wrong)?;
        let lock = File::options().create(true).truncate(false).write(true).open(&path).map_err(wrong)?;
        let begun = Instant::now();
        loop {
            match fs4::FileExt::try_lock(&lock) {
                Ok(()) => return Ok(Some(Question { kept: self, stem: stem.to_owned(), _lock: lock })),
                Err(TryLockError::Error(error)) => return Err(wrong(error)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Ok(None),
            }
        }
    }
}

impl Question<'_> {
    /// Returns the answer that this build already has: a text, or an error.
    pub(super) fn answer(&self) -> Option<Result<String, String>> {
        let record: Value = serde_json::from_str(&fs::read_to_string(self.file("answer")).ok()?).ok()?;
        let age = now().saturating_sub(Duration::from_secs(record.get("at")?.as_u64()?));
        if !self.kept.build.did(record.get("build")?.as_str()?, age) {
            return None;
        }
        match record.get("failure").and_then(Value::as_str) {
            Some(failure) => Some(Err(failure.to_owned())),
            None => fs::read_to_string(self.text()).ok().map(Ok),
        }
    }

    /// Keeps the answer for the rest of the build, and gives the question back.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub(super) fn keep(self, answer: &Result<String, String>) -> Result<(), FileError> {
        // The record comes last: it vouches for the text.
        if let Ok(text) = answer {
            write_private(&self.text(), text.as_bytes())?;
        }
        let record = json!({ "build": self.kept.build.name, "at": now().as_secs(), "failure": answer.as_ref().err() });
        write_private(&self.file("answer"), format!("{record}\n").as_bytes())
    }

    /// Returns the file of the text.
    pub(super) fn text(&self) -> PathBuf {
        self.file("json")
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.kept.folder.join(format!("{}.{extension}", self.stem))
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Creates a folder that only its owner can read.
fn make_private(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Another process was quicker.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folder: &Path) -> Kept {
        Kept::new(folder.join("kept"), Build::current())
    }

    fn taken<'k>(kept: &'k Kept) -> Question<'k> {
        kept.take("x", Duration::from_secs(60)).unwrap().unwrap()
    }

    #[test]
    fn result_is_stored_for_its_build() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        assert_eq!(taken(&kept).answer(), None);
        for answer in [Ok("text".to_owned()), Err("why".to_owned()), Ok("other".to_owned())] {
            taken(&kept).keep(&answer).unwrap();
            assert_eq!(taken(&kept).answer(), Some(answer));
        }
        let other = Kept::new(kept.folder.clone(), Build::of_parent(1));
        assert_eq!(taken(&other).answer(), None, "of another build");
        mcp_bindgen_model::write_if_changed(&kept.folder.join("x.answer"), b"{\"build\":").unwrap();
        assert_eq!(taken(&kept).answer(), None, "half a record");
    }

    #[test]
    fn second_process_waits_for_the_result() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        let first = taken(&kept);
        assert!(kept.take("x", Duration::from_millis(30)).unwrap().is_none());
        assert!(kept.take("y", Duration::ZERO).unwrap().is_some(), "another question");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| taken(&kept).answer());
            std::thread::sleep(Duration::from_millis(30));
            // Before the one that asked is done with closing.
            first.keep(&Ok("text".to_owned())).unwrap();
            assert_eq!(second.join().unwrap(), Some(Ok("text".to_owned())));
        });
    }

    #[cfg(unix)]
    #[test]
    fn stored_results_are_readable_only_by_their_owner() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path());
        taken(&kept).keep(&Ok("text".to_owned())).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&kept.folder), 0o700);
        assert_eq!((mode(&kept.folder.join("x.json")), mode(&kept.folder.join("x.answer"))), (0o600, 0o600));
    }

    #[test]
    fn unusable_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        mcp_bindgen_model::write_if_changed(&folder.path().join("kept"), b"a file").unwrap();
        let error = kept(folder.path()).take("x", Duration::ZERO).err().unwrap();
        assert!(error.to_string().starts_with("failed to store it: "), "{error}");
    }
}

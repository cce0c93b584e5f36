//! Changes of files: one run at a time, and all or none.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use fs4::TryLockError;
use mcp_bindgen_model::{FileError, write_if_changed};

use crate::exit::{Failure, Result};
use crate::project;

/// Others read and write a file in less.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// A file with its new contents; `None` removes it.
type Change<'f> = (&'f Path, Option<Vec<u8>>);

/// Changes several files, in this order. If one fails, the earlier ones are restored.
///
/// # Errors
/// Fails with the first error, and with the files that could not be restored.
pub(crate) fn apply<'f>(changes: impl IntoIterator<Item = Change<'f>>) -> Result<(), FileError> {
    let mut undo: Vec<Change<'f>> = Vec::new();
    for change in changes {
        match read(change.0).and_then(|before| make(&change).map(|()| before)) {
            Ok(before) => undo.push((change.0, before)),
            Err(mut error) => {
                for change in undo.iter().rev().filter(|change| make(change).is_err()) {
                    error.message.push_str(&format!("; failed to restore {}", change.0.display()));
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Returns the contents of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    if project::is_missing(path)? {
        return Ok(None);
    }
    match fs::read(path) {
        Ok(contents) => Ok(Some(contents)),
        // Writing reports the file in the place of a folder.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(error) => Err(FileError::new(format!("failed to read the file: {error}")).in_file(path)),
    }
}

fn make((path, contents): &Change<'_>) -> Result<(), FileError> {
    match contents {
        Some(contents) => write_if_changed(path, contents).map(drop),
        None => match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FileError::new(format!("failed to delete the file: {error}")).in_file(path))
            }
            _ => Ok(()),
        },
    }
}

/// The lock of a folder, or `None` on file systems without locks, where concurrent runs are not synchronized. No other run
/// changes the files of the folder until this is dropped or its process ends.
pub(crate) type Lock = Option<File>;

/// Waits for the lock of a file's folder, after following links; a missing folder is created.
///
/// # Errors
/// Fails if another program keeps the lock.
pub(crate) fn lock(file: &Path) -> Result<Lock> {
    let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = project::folder_of(&file);
    // If the lock cannot be created or opened, the later write reports the error.
    let Ok(held) = fs::create_dir_all(folder).and_then(|()| opened(folder)) else { return Ok(None) };
    let begun = Instant::now();
    loop {
        match fs4::FileExt::try_lock(&held) {
            Ok(()) => return Ok(Some(held)),
            Err(TryLockError::Error(_)) => return Ok(None),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(format!(
                    "another process has locked the folder `{}` for {} seconds\n  = help: end it, and run this again\n  = \
                     note: nothing was written",
                    folder.display(),
                    PATIENCE.as_secs()
                )));
            }
        }
    }
}

/// Opens the folder itself for the lock, so that nothing new lies in it.
#[cfg(unix)]
fn opened(folder: &Path) -> io::Result<File> {
    File::open(folder)
}

/// Opens a file of the user's for the lock, for folders cannot be locked.
#[cfg(not(unix))]
fn opened(folder: &Path) -> io::Result<File> {
    let folder = fs::canonicalize(folder)?;
    let digest = mcp_bindgen_model::sha256(folder.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let path = std::env::temp_dir().join(format!("mcp-bindgen-{digest}.lock"));
    File::options().create(true).truncate(false).write(true).open(path)
}

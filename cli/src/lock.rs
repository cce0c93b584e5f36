//! One run at a time for files that are read, changed and written back.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, Instant};
use std::{io, thread};

use fs4::TryLockError;

use crate::exit::{Failure, Result};
use crate::project::folder_of;

/// Others read and write a file in less.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(10);

/// The files of a folder, which no other run changes until this is dropped or its process ends.
pub(crate) struct Lock {
    /// The lock, or `None` on file systems without locks, where concurrent runs are not synchronized.
    _held: Option<File>,
}

impl Lock {
    /// Waits for the lock of a file's folder, after following links; a missing folder is created.
    ///
    /// # Errors
    /// Fails if another program keeps the lock.
    pub(crate) fn of(file: &Path) -> Result<Self> {
        let file = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let folder = folder_of(&file);
        // If the lock cannot be created or opened, the later write reports the error.
        let Ok(held) = fs::create_dir_all(folder).and_then(|()| opened(folder)) else {
            return Ok(Self { _held: None });
        };
        let begun = Instant::now();
        loop {
            match fs4::FileExt::try_lock(&held) {
                Ok(()) => return Ok(Self { _held: Some(held) }),
                Err(TryLockError::Error(_)) => return Ok(Self { _held: None }),
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    return Err(Failure::new(format!(
                        "another process has locked the folder `{}` for {} seconds\n  = help: end it, and run this \
                         again\n  = note: nothing was written",
                        folder.display(),
                        PATIENCE.as_secs()
                    )));
                }
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

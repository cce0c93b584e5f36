//! Changes several files atomically: all or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, write_if_changed};

use crate::project;

/// Changes of several files, in the order in which they are made.
#[derive(Default)]
pub(crate) struct Changes(Vec<Change>);

/// A file with its new contents; `None` removes it.
type Change = (PathBuf, Option<Vec<u8>>);

impl Changes {
    pub(crate) fn write(&mut self, path: &Path, contents: impl Into<Vec<u8>>) {
        self.0.push((path.to_owned(), Some(contents.into())));
    }

    pub(crate) fn delete(&mut self, path: &Path) {
        self.0.push((path.to_owned(), None));
    }

    /// Makes the changes. If one fails, the earlier ones are undone.
    ///
    /// # Errors
    /// Fails with the first error, and with the files that could not be restored.
    pub(crate) fn apply(self) -> Result<(), FileError> {
        let mut undo: Vec<Change> = Vec::new();
        for change in self.0 {
            match read(&change.0).and_then(|before| make(&change).map(|()| before)) {
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
}

/// Returns the contents of a file, or `None` if it does not exist.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    if project::is_missing(path)? {
        return Ok(None);
    }
    let failed = |error| FileError::new(format!("failed to read the file: {error}")).in_file(path);
    fs::read(path).map(Some).map_err(failed)
}

fn make((path, contents): &Change) -> Result<(), FileError> {
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

//! Changes several files atomically: all or none.

use std::path::Path;
use std::{fs, io};

use mcp_bindgen_model::{FileError, write_if_changed};

use crate::project;

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

//! Writes files atomically, and leaves an unchanged file with its time stamp.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::FileError;
use crate::text::file_above;

/// Writes a file if its contents differ; returns whether they did. Creates missing folders and replaces the file
/// atomically: readers see either the old or the new contents.
///
/// # Errors
/// Fails if the folder cannot be made or the file cannot be written; the old file is then still there.
pub fn write_if_changed(path: &Path, contents: &[u8]) -> Result<bool, FileError> {
    if fs::read(path).is_ok_and(|current| current == contents) {
        return Ok(false);
    }
    replace(path, contents).map_err(|error| unwritten(&error, path))?;
    Ok(true)
}

/// Converts the error of a failed write, with the next step.
fn unwritten(error: &io::Error, path: &Path) -> FileError {
    let said = error.to_string();
    let (said, help) = match file_above(path) {
        Some(above) => {
            let said = format!("`{}` is a file, expected a directory", above.display());
            (said, Some("move it, or choose another output folder"))
        }
        // The rest of the message is the path of a temporary file, which does not help the user.
        None => (
            said.split(" at path \"").next().unwrap_or_default().to_owned(),
            matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
                .then_some("files are replaced as a whole, which requires write permission for the folder"),
        ),
    };
    let error = FileError::new(format!("failed to write the file: {said}")).in_file(path);
    FileError { help: help.map(str::to_owned), ..error }
}

fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    // A link stays a link: its target is replaced.
    let path = &match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) if path.is_symlink() => {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is a broken symbolic link"));
        }
        Err(_) => path.to_owned(),
    };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)
        .map_err(|error| io::Error::new(error.kind(), format!("failed to create its folder: {error}")))?;
    let permissions = fs::metadata(path).map(|current| current.permissions()).ok().or_else(new_file_permissions);
    put(folder, path, permissions, contents)
}

/// Writes a temporary file, which is private by default, and moves it to its path.
fn put(folder: &Path, path: &Path, permissions: Option<fs::Permissions>, contents: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mcp-bindgen-");
    if let Some(permissions) = permissions {
        builder.permissions(permissions);
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(contents)?;
    file.persist(path)?;
    Ok(())
}

/// Replaces a file atomically, readable by its owner only.
///
/// # Errors
/// Fails if the folder is not there or the file cannot be written; the old file is then still there.
pub fn write_private(path: &Path, contents: &[u8]) -> Result<(), FileError> {
    put(path.parent().unwrap_or(path), path, None, contents)
        .map_err(|error| FileError::new(format!("failed to write the file: {error}")).in_file(path))
}

/// Returns the permissions of an ordinary new file: temporary files are private otherwise.
fn new_file_permissions() -> Option<fs::Permissions> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        Some(fs::Permissions::from_mode(0o666))
    }
    #[cfg(not(unix))]
    None
}

//! Files that a build script would read if they were there.

use std::path::{Path, PathBuf};

/// Returns the paths that cargo has to watch to run the build script again once `file` exists.
///
/// Cargo takes a file that is missing for one that has changed, and would build the crate anew each time; the folder that
/// the file would be in changes with every other file of it. Of a folder that holds a link, cargo follows the link: one
/// that leads nowhere says nothing, and one that leads to a new file says that there is something new. `None` where
/// there are no such links.
#[cfg(unix)]
pub(crate) fn watch_absent(file: &Path, out_dir: &Path, server: &str) -> Option<PathBuf> {
    use std::fs::{self, File};
    use std::time::SystemTime;

    let folder = out_dir.join("absent").join(server);
    let link = folder.join("overrides.json");
    let file = std::path::absolute(file).ok()?;
    fs::create_dir_all(&folder).ok()?;
    if fs::read_link(&link).ok().as_ref() != Some(&file) {
        // Fails if it does not exist.
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&file, &link).ok()?;
    }
    // Cargo compares with the time at which the script began.
    File::open(&folder).ok()?.set_modified(SystemTime::UNIX_EPOCH).ok()?;
    Some(folder)
}

/// Links need a privilege.
#[cfg(not(unix))]
pub(crate) fn watch_absent(_: &Path, _: &Path, _: &str) -> Option<PathBuf> {
    None
}

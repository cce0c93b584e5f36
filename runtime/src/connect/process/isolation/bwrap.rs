//! Finds bubblewrap in the folders of the system. `PATH` may name folders that a server can write to, and a server
//! could replace its sandbox there.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::way::follow;
use super::{Refusal, path_text};
use crate::ConnectErrorKind as Kind;

const PATHS: [&str; 4] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const BUBBLEWRAP: Tool = Tool {
    key: "its `isolation`",
    name: "bubblewrap",
    install: "for example with `apt-get install bubblewrap` or `dnf install bubblewrap`",
};
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A system program that isolation requires.
pub(super) struct Tool {
    /// The demand that needs it.
    pub(super) key: &'static str,
    /// The package's name.
    pub(super) name: &'static str,
    /// How to install it.
    pub(super) install: &'static str,
}

/// Returns the first `bwrap` that only root can replace, outside of the folders that the server may write to.
///
/// # Errors
/// Fails with the reason why the first existing program is refused, or that none exists.
pub(super) fn find(writable: &[PathBuf]) -> Result<PathBuf, Refusal> {
    find_in(&PATHS.map(Path::new), &BUBBLEWRAP, writable)
}

/// Finds any such program in these paths.
pub(super) fn find_in(paths: &[&Path], tool: &Tool, writable: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let Tool { key, name, install } = tool;
    let mut refusal = None;
    for path in paths {
        match check(path, tool, writable) {
            Ok(real) => return Ok(real),
            Err((_, error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err((kind, error)) => {
                let message = format!("{key} cannot use `{}`: {error}", path_text(path));
                refusal.get_or_insert((kind, message));
            }
        }
    }
    Err(refusal.unwrap_or_else(|| {
        let folders = paths.iter().filter_map(|path| path.parent()).map(path_text).collect::<Vec<_>>().join(", ");
        let file = paths.first().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy();
        let message = format!("{key} requires {name}, and `{file}` was not found in {folders}; install it, {install}");
        (Kind::Unsupported, message)
    }))
}

/// Returns the real path of a program, if only root can replace it.
fn check(path: &Path, tool: &Tool, writable: &[PathBuf]) -> Result<PathBuf, (Kind, io::Error)> {
    let unsafe_at = |place: &Path, what: &str| {
        let message = format!("{what} `{}`; install {} as root, {}", path_text(place), tool.name, tool.install);
        (Kind::Unsupported, io::Error::other(message))
    };
    let way = follow(path).map_err(|error| (Kind::Unsupported, error))?;
    let passed = || way.links.iter().map(|(link, _)| link.as_path()).chain([way.real.as_path()]);
    if let Some(folder) = writable.iter().find(|folder| passed().any(|place| place.starts_with(folder))) {
        let message = format!("`write` lets the server replace it in `{}`; use a smaller folder", path_text(folder));
        return Err((Kind::Config, io::Error::other(message)));
    }
    for place in passed().flat_map(Path::ancestors) {
        let found = place.symlink_metadata().map_err(|error| (Kind::Unsupported, error))?;
        // In a folder with the sticky bit, such as /nix/store, other users cannot remove root's files. The mode of a
        // link has no meaning.
        let is_shared = found.is_dir() && found.mode() & STICKY != 0;
        if !found.is_symlink() && !is_shared && found.mode() & OTHERS_MAY_WRITE != 0 {
            return Err(unsafe_at(place, "users other than root can write to"));
        }
        if found.uid() != 0 {
            return Err(unsafe_at(place, "root does not own"));
        }
    }
    Ok(way.real)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const SHELL: &str = "/bin/sh";

    fn refused(path: &Path, writable: &[PathBuf]) -> (Kind, String) {
        find_in(&[path], &BUBBLEWRAP, writable).unwrap_err()
    }

    #[test]
    fn missing_bubblewrap_error_names_the_folders_and_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one/bwrap"), folder.path().join("two/bwrap"));
        let (kind, message) = find_in(&[&one, &two], &BUBBLEWRAP, &[]).unwrap_err();
        assert_eq!(kind, Kind::Unsupported);
        let folder = folder.path().display();
        assert_eq!(
            message,
            format!(
                "its `isolation` requires bubblewrap, and `bwrap` was not found in {folder}/one, {folder}/two; install it, for example with `apt-get install bubblewrap` or `dnf install bubblewrap`"
            )
        );
        assert!(PATHS.iter().all(|path| path.starts_with('/')), "none depends on the environment or the folder");
    }

    #[test]
    fn system_program_is_found_after_a_missing_one() {
        let real = Path::new(SHELL).canonicalize().unwrap();
        assert_eq!(find_in(&[Path::new("/gone/sh"), Path::new(SHELL)], &BUBBLEWRAP, &[]), Ok(real));
    }

    #[test]
    fn program_in_a_write_folder_is_refused() {
        let real = Path::new(SHELL).canonicalize().unwrap();
        for folder in [Path::new("/"), real.parent().unwrap()] {
            let (kind, message) = refused(Path::new(SHELL), &[folder.to_owned()]);
            assert_eq!(kind, Kind::Config);
            let expected = format!(
                "its `isolation` cannot use `/bin/sh`: `write` lets the server replace it in `{}`; use a smaller folder",
                folder.display()
            );
            assert_eq!(message, expected);
        }
        // Through a link that the server can replace.
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink(SHELL, root.join("bwrap")).unwrap();
        assert!(refused(&root.join("bwrap"), std::slice::from_ref(&root)).1.contains("`write` lets the server"));
    }

    #[test]
    fn program_writable_by_users_other_than_root_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let bin = root.join("bin");
        let bwrap = bin.join("bwrap");
        std::fs::create_dir(&bin).unwrap();
        std::fs::copy(SHELL, &bwrap).unwrap();
        let set = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        set(&bin, 0o755);
        for (path, mode) in [(&bwrap, 0o775), (&bwrap, 0o757), (&bin, 0o775), (&bin, 0o757)] {
            set(path, mode);
            let (kind, message) = refused(&bwrap, &[]);
            assert_eq!(kind, Kind::Unsupported);
            let named = format!(
                "cannot use `{}`: users other than root can write to `{}`; install bubblewrap as root, for example with",
                bwrap.display(),
                path.display()
            );
            assert!(message.contains(&named), "{message}");
            set(path, 0o755);
        }
        if rustix::process::getuid().is_root() {
            assert_eq!(find_in(&[&bwrap], &BUBBLEWRAP, &[]), Ok(bwrap.clone()));
            for path in [&bin, &bwrap] {
                chown(path, Some(65534), None).unwrap();
                let named = format!("root does not own `{}`", path.display());
                assert!(refused(&bwrap, &[]).1.contains(&named));
                chown(path, Some(0), None).unwrap();
            }
        } else {
            let named = format!("root does not own `{}`", bwrap.display());
            assert!(refused(&bwrap, &[]).1.contains(&named));
        }
    }
}

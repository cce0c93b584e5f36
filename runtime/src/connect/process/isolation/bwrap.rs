//! Finds bubblewrap and other programs of isolation in the folders of the system. `PATH` may name folders that a server
//! can write to, and a server could replace its sandbox there.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::Refusal;
use super::view::{follow, path_text};
use crate::ConnectErrorKind as Kind;

const FOLDERS: &str = "/usr/bin,/bin,/usr/local/bin,/run/current-system/sw/bin";
pub(super) const BUBBLEWRAP: Tool = Tool { key: "its `isolation`", package: "bubblewrap", program: "bwrap" };
const OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// A system program that isolation requires.
pub(super) struct Tool {
    /// The demand that needs it.
    pub(super) key: &'static str,
    /// The package that installs it.
    pub(super) package: &'static str,
    pub(super) program: &'static str,
}

impl Tool {
    /// Returns the first such program that only root can replace, outside of the folders that the server may write to.
    ///
    /// # Errors
    /// Fails with the reason why the first existing program is refused, or that none exists.
    pub(super) fn find(&self, writable: &[PathBuf]) -> Result<PathBuf, Refusal> {
        self.find_in(FOLDERS, writable)
    }

    fn find_in(&self, folders: &str, writable: &[PathBuf]) -> Result<PathBuf, Refusal> {
        let Self { key, package, program } = self;
        let mut refusal = None;
        for folder in folders.split(',') {
            let path = Path::new(folder).join(program);
            let (kind, fault) = match self.check(&path, writable) {
                Ok(Ok(real)) => return Ok(real),
                Ok(Err(refusal)) => refusal,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => (Kind::Unsupported, error.to_string()),
            };
            refusal.get_or_insert((kind, format!("{key} cannot use `{}`: {fault}", path_text(&path))));
        }
        Err(refusal.unwrap_or_else(|| {
            let (folders, install) = (folders.replace(',', ", "), self.how_to_install());
            let message =
                format!("{key} requires {package}, and `{program}` was not found in {folders}; install it, {install}");
            (Kind::Unsupported, message)
        }))
    }

    /// Returns a program's path without links, or the reason why users other than root could replace it.
    fn check(&self, path: &Path, writable: &[PathBuf]) -> io::Result<Result<PathBuf, Refusal>> {
        let way = follow(path)?;
        if let Some(folder) = way.passes(writable) {
            let folder = path_text(folder);
            let message = format!("`write` lets the server replace it in `{folder}`; use a smaller folder");
            return Ok(Err((Kind::Config, message)));
        }
        for place in way.places().into_iter().flat_map(Path::ancestors) {
            let found = place.symlink_metadata()?;
            // In a folder with the sticky bit, such as /nix/store, other users cannot remove root's files. The mode of a
            // link has no meaning.
            let is_shared = found.is_dir() && found.mode() & STICKY != 0;
            let fault = match found.uid() {
                _ if !found.is_symlink() && !is_shared && found.mode() & OTHERS_MAY_WRITE != 0 => {
                    "users other than root can write to"
                }
                0 => continue,
                _ => "root does not own",
            };
            let (place, package, install) = (path_text(place), self.package, self.how_to_install());
            return Ok(Err((Kind::Unsupported, format!("{fault} `{place}`; install {package} as root, {install}"))));
        }
        Ok(Ok(way.real))
    }

    fn how_to_install(&self) -> String {
        let package = self.package;
        format!("for example with `apt-get install {package}` or `dnf install {package}`")
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const SHELL: &str = "/bin/sh";
    const TOOL: Tool = Tool { program: "sh", ..BUBBLEWRAP };

    /// Returns the refusal of the `bwrap` in this folder.
    fn refused(folder: &Path, writable: &[PathBuf]) -> (Kind, String) {
        BUBBLEWRAP.find_in(folder.to_str().unwrap(), writable).unwrap_err()
    }

    #[test]
    fn missing_bubblewrap_error_names_the_folders_and_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().display();
        let (kind, message) = BUBBLEWRAP.find_in(&format!("{folder}/one,{folder}/two"), &[]).unwrap_err();
        assert_eq!(kind, Kind::Unsupported);
        assert_eq!(
            message,
            format!(
                "its `isolation` requires bubblewrap, and `bwrap` was not found in {folder}/one, {folder}/two; install it, for example with `apt-get install bubblewrap` or `dnf install bubblewrap`"
            )
        );
        assert!(FOLDERS.split(',').all(|path| path.starts_with('/')), "none depends on the environment or the folder");
    }

    #[test]
    fn program_that_cannot_be_followed_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let bwrap = folder.path().join("bwrap");
        symlink("bwrap", &bwrap).unwrap();
        let expected = format!("its `isolation` cannot use `{}`: too many symbolic links", bwrap.display());
        assert_eq!(refused(folder.path(), &[]), (Kind::Unsupported, expected));
    }

    #[test]
    fn system_program_is_found_after_a_missing_one() {
        let real = Path::new(SHELL).canonicalize().unwrap();
        assert_eq!(TOOL.find_in("/gone,/bin", &[]), Ok(real));
    }

    #[test]
    fn program_in_a_write_folder_is_refused() {
        let real = Path::new(SHELL).canonicalize().unwrap();
        for folder in [Path::new("/"), real.parent().unwrap()] {
            let (kind, message) = TOOL.find_in("/bin", &[folder.to_owned()]).unwrap_err();
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
        assert!(refused(&root, std::slice::from_ref(&root)).1.contains("`write` lets the server"));
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
            let (kind, message) = refused(&bin, &[]);
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
            assert_eq!(BUBBLEWRAP.find_in(bin.to_str().unwrap(), &[]), Ok(bwrap.clone()));
            for path in [&bin, &bwrap] {
                chown(path, Some(65534), None).unwrap();
                let named = format!("root does not own `{}`", path.display());
                assert!(refused(&bin, &[]).1.contains(&named));
                chown(path, Some(0), None).unwrap();
            }
        } else {
            let named = format!("root does not own `{}`", bwrap.display());
            assert!(refused(&bin, &[]).1.contains(&named));
        }
    }
}

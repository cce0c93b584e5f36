//! Finds the program that a command means, as a shell would: on Windows `npx` is `npx.cmd`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// Returns the path of the program. `PATH` is the child's own if the configuration sets it; a relative path starts at
/// `cwd`.
///
/// # Errors
/// Fails with [`io::ErrorKind::NotFound`] and the reason.
pub(super) fn program(command: &str, env: &BTreeMap<String, String>, cwd: Option<&str>) -> io::Result<PathBuf> {
    let folder = match cwd {
        Some(cwd) => std::path::absolute(cwd)?,
        None => std::env::current_dir()?,
    };
    let own = env.iter().find(|(name, _)| is_path(name)).map(|(_, path)| OsString::from(path));
    let is_own = own.is_some();
    let path = own.or_else(|| std::env::var_os("PATH"));
    which::which_in(command, path, folder).map_err(|_| {
        let hint = if command.contains(char::is_whitespace) { "; arguments belong in `args`" } else { "" };
        let where_to = if is_own { "on the PATH that its `env` sets" } else { "on PATH" };
        io::Error::new(io::ErrorKind::NotFound, format!("not found; is it installed, and {where_to}?{hint}"))
    })
}

/// Returns `true` for the name of the variable that lists the folders of programs.
pub(super) fn is_path(name: &str) -> bool {
    if cfg!(windows) { name.eq_ignore_ascii_case("PATH") } else { name == "PATH" }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn find(command: &str, cwd: Option<&str>, path: Option<&str>) -> Result<PathBuf, String> {
        let env: BTreeMap<String, String> = path.map(|path| ("PATH".to_owned(), path.to_owned())).into_iter().collect();
        program(command, &env, cwd).map_err(|error| error.to_string())
    }

    /// Returns a program in a separate folder.
    fn installed(name: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join(name);
        std::fs::File::create(&file).expect("a file");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        }
        (folder, file)
    }

    #[test]
    fn program_is_searched_on_the_path_of_the_child() {
        let name = if cfg!(windows) { "a-server.cmd" } else { "a-server" };
        let (folder, file) = installed(name);
        let folder = folder.path().to_str().expect("a path");
        assert_eq!(find("a-server", None, Some(folder)), Ok(file.clone()));
        assert_eq!(
            find(&format!("./{name}"), Some(folder), None).map(|path| path.canonicalize().ok()),
            Ok(file.canonicalize().ok())
        );
        let message = find("a-server", None, None).expect_err("it is not on ours");
        assert_eq!(message, "not found; is it installed, and on PATH?");
        let message = find("a-server --flag", None, Some(folder)).expect_err("it is a command line");
        assert_eq!(
            message,
            "not found; is it installed, and on the PATH that its `env` sets?; arguments belong in `args`"
        );
    }

    #[cfg(unix)]
    #[test]
    fn non_executable_file_is_not_found_as_a_program() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::File::create(folder.path().join("a-server")).expect("a file");
        assert!(find("a-server", None, folder.path().to_str()).is_err());
    }
}

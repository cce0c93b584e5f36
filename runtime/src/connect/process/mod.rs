//! Servers as child processes.

pub(crate) mod download;
pub(crate) mod environment;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod guard;
pub(crate) mod isolation;
pub(crate) mod tree;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Isolation, ServerConfig, Transport};
use tokio::io::{AsyncRead, AsyncReadExt};

use self::isolation::Refusal;
use crate::ConnectErrorKind as Kind;

/// The maximum length of what is read of a program that is not a server.
const LONGEST_OUTPUT: u64 = 1024 * 1024;

/// The program to start.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) command: &'a str,
    pub(crate) args: &'a [String],
    pub(crate) cwd: Option<&'a str>,
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) inherit_env: &'a [String],
    pub(crate) isolation: Option<&'a Isolation>,
}

impl<'a> Program<'a> {
    /// Returns the program of a server, if it is a child process.
    pub(crate) fn of(config: &'a ServerConfig) -> Option<Self> {
        let ServerConfig { transport: Transport::Stdio { command, args, cwd }, .. } = config else { return None };
        let (env, inherit_env, isolation) = (&config.env, &config.inherit_env, config.isolation.as_ref());
        Some(Self { command, args, cwd: cwd.as_deref(), env, inherit_env, isolation })
    }

    /// Returns the folders of programs: the child's own, if the configuration sets them.
    fn path(&self) -> Option<OsString> {
        let own = self.env.iter().find(|(name, _)| is_same(name, "PATH"));
        own.map_or_else(|| std::env::var_os("PATH"), |(_, path)| Some(path.into()))
    }

    /// Returns its path, as a shell would find it: on Windows `npx` is `npx.cmd`. A relative path starts at `cwd`.
    ///
    /// # Errors
    /// Fails with [`ErrorKind::NotFound`] and the reason.
    fn find(&self) -> io::Result<PathBuf> {
        let command = self.command;
        let folder = self.cwd.map_or_else(std::env::current_dir, std::path::absolute)?;
        which(command.as_ref(), self.path().as_deref(), &folder).ok_or_else(|| {
            let is_own = self.env.keys().any(|name| is_same(name, "PATH"));
            let place = if is_own { "on the PATH that its `env` sets" } else { "on PATH" };
            let hint = if command.contains(char::is_whitespace) { "; arguments belong in `args`" } else { "" };
            io::Error::new(ErrorKind::NotFound, format!("not found; is it installed, and {place}?{hint}"))
        })
    }

    /// Returns the reason why the system did not start it.
    fn not_started(&self, error: &io::Error) -> Refusal {
        let command = self.command;
        let message = match (error.kind(), self.cwd) {
            (ErrorKind::NotFound, Some(cwd)) if !Path::new(cwd).is_dir() => {
                format!("failed to start `{command}`: the folder `{cwd}` (cwd) does not exist")
            }
            _ => format!("failed to start `{command}`: {error}"),
        };
        (Kind::Spawn, message)
    }
}

/// Finds a program in the folders of `path`. Relative paths start at `folder`.
fn which(program: &OsStr, path: Option<&OsStr>, folder: &Path) -> Option<PathBuf> {
    which::which_in(program, path, folder).ok()
}

/// Adds the output of a program to a buffer, up to a limit. If the future is dropped, the output so far is there.
async fn read(stream: &mut (dyn AsyncRead + Send + Unpin), output: &mut Vec<u8>) {
    // The part before an error is used too.
    let _ = stream.take(LONGEST_OUTPUT).read_to_end(output).await;
}

/// Returns `true` if two names of environment variables are equal on this system.
fn is_same(one: &str, other: &str) -> bool {
    if cfg!(windows) { one.eq_ignore_ascii_case(other) } else { one == other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(command: &str, cwd: Option<&str>, path: Option<&str>) -> Result<PathBuf, String> {
        let env: BTreeMap<String, String> = path.map(|path| ("PATH".to_owned(), path.to_owned())).into_iter().collect();
        let program = Program { command, args: &[], cwd, env: &env, inherit_env: &[], isolation: None };
        program.find().map_err(|error| error.to_string())
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

    #[test]
    fn missing_working_directory_is_the_reason_that_a_program_did_not_start() {
        let env = BTreeMap::new();
        let program = Program { command: "x", args: &[], cwd: Some("/"), env: &env, inherit_env: &[], isolation: None };
        let gone = Program { cwd: Some("/no/such/folder"), ..program };
        let [missing, denied] = [ErrorKind::NotFound, ErrorKind::PermissionDenied].map(io::Error::from);
        let reason = |program: Program<'_>, error: &io::Error| program.not_started(error).1;
        let no_folder = "failed to start `x`: the folder `/no/such/folder` (cwd) does not exist";
        assert_eq!(reason(gone, &missing), no_folder);
        assert_eq!(reason(program, &missing), format!("failed to start `x`: {missing}"));
        assert_eq!(reason(gone, &denied), format!("failed to start `x`: {denied}"));
    }

    #[cfg(unix)]
    #[test]
    fn non_executable_file_is_not_found_as_a_program() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::File::create(folder.path().join("a-server")).expect("a file");
        assert!(find("a-server", None, folder.path().to_str()).is_err());
    }
}

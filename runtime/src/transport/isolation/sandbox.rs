//! How bubblewrap is asked to start a program, and what it says where it cannot.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::Stdio;

use mcp_model::Isolation;
use tokio::process::Command;

use super::refusal::{Refusal, shown};
use super::{folders, needs};
use crate::ConnectErrorKind as Kind;
use crate::transport::find;
use crate::transport::program::Program;

/// What the shell says that looks for the program, where it is not there.
const NOT_THERE: i32 = 77;

/// How a program is started in its bounds.
pub(crate) struct Sandbox {
    bwrap: PathBuf,
    options: Vec<OsString>,
    program: PathBuf,
    /// Variables that the child gets whatever this process has.
    env: Vec<(&'static str, OsString)>,
}

impl Sandbox {
    /// Prepares what is asked for.
    ///
    /// # Errors
    /// Where it contradicts itself, names what is not there, or cannot be enforced here.
    pub(crate) fn new(isolation: &Isolation, program: &Program<'_>) -> Result<Self, Refusal> {
        let found = find::program(program.command, program.env, program.cwd)
            .map_err(|error| (Kind::Spawn, format!("could not start `{}`: {error}", program.command)))?;
        let found = std::path::absolute(&found).unwrap_or(found);
        let mut plan = folders::plan(isolation, program)?;
        let path = program.env.get("PATH").map(OsString::from).or_else(|| std::env::var_os("PATH"));
        let shown = needs::show(&mut plan.view, &found, path.as_deref(), &plan.homes, &plan.writable);
        shown.map_err(|error| (Kind::Spawn, format!("could not start `{}`: {error}", program.command)))?;
        let cwd = plan.folder_to_start_in(program.cwd)?;
        let bwrap = which::which("bwrap").map_err(|_| {
            let missing = "its `isolation` needs bubblewrap, and there is no `bwrap` on PATH; install it, as with \
                           `apt-get install bubblewrap` or `dnf install bubblewrap`";
            (Kind::Unsupported, missing.to_owned())
        })?;
        let mut options: Vec<OsString> = ["--unshare-all", "--cap-drop", "ALL"].map(OsString::from).into();
        if !isolation.no_network {
            options.push("--share-net".into());
        }
        options.extend(plan.view.options());
        options.extend(["--chdir".into(), cwd.into_os_string(), "--".into()]);
        Ok(Self { bwrap, options, program: found, env: plan.env })
    }

    /// The command that starts it, without its arguments.
    pub(crate) fn command(&self) -> Command {
        self.wrapping(self.program.as_os_str())
    }

    /// What the child's environment says in any case.
    pub(crate) fn env(&self) -> impl Iterator<Item = (&str, &OsStr)> {
        self.env.iter().map(|(name, value)| (*name, value.as_os_str()))
    }

    /// Why nothing can run in these bounds, where that is so. It is asked when a server did not begin to speak, and
    /// tries it out with a program that ends at once.
    pub(crate) async fn refusal(&self) -> Option<Refusal> {
        let mut shell = self.wrapping("/bin/sh".as_ref());
        shell.args(["-c", &format!("[ -x \"$1\" ] || exit {NOT_THERE}"), "sh"]).arg(&self.program);
        shell.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let tried = shell.output().await.ok()?;
        if tried.status.success() {
            return None;
        }
        if tried.status.code() == Some(NOT_THERE) {
            let program = shown(&self.program);
            let message =
                format!("its `isolation` does not show it its own program `{program}`; name the folder in `read`");
            return Some((Kind::Config, message));
        }
        let said = String::from_utf8_lossy(&tried.stderr);
        Some((Kind::Unsupported, explained(said.trim())))
    }

    fn wrapping(&self, program: &OsStr) -> Command {
        let mut command = Command::new(&self.bwrap);
        command.args(&self.options).arg(program);
        command
    }
}

/// What bubblewrap says, and what can be done about it.
fn explained(said: &str) -> String {
    const FORBIDDEN: [&str; 6] =
        ["namespace", "uid map", "gid map", "RTM_NEWADDR", "Operation not permitted", "Permission denied"];
    let hint = if said.contains("Unknown option") {
        "; it is too old, 0.4 or newer is needed"
    } else if FORBIDDEN.iter().any(|part| said.contains(part)) {
        "; this system does not let programs make namespaces: allow it with `sysctl kernel.unprivileged_userns_clone=1` \
         (on Ubuntu `kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for bwrap; in a container options \
         such as `--security-opt seccomp=unconfined`)"
    } else {
        ""
    };
    let said = if said.is_empty() { "bwrap failed without a word" } else { said };
    format!("its `isolation` cannot be enforced here: {said}{hint}")
}

#[cfg(test)]
mod tests {
    use super::explained;

    #[test]
    fn what_bubblewrap_says_comes_with_what_to_do() {
        let says = |said: &str, hint: &str| {
            let explained = explained(said);
            assert!(explained.contains(said) && explained.contains(hint), "{explained}");
        };
        says("bwrap: Unknown option --unshare-all", "0.4 or newer");
        says("bwrap: setting up uid map: Permission denied", "kernel.apparmor_restrict_unprivileged_userns=0");
        says("bwrap: No permissions to create new namespace, likely because", "kernel.unprivileged_userns_clone=1");
        says("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "namespaces");
        assert!(!explained("bwrap: Can't mkdir /x: No space left on device").contains("namespaces"));
    }
}

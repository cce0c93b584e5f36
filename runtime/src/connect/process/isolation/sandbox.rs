//! The arguments of bubblewrap, and its errors.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use mcp_bindgen_model::Isolation;
use tokio::process::Command;

use super::bwrap::BUBBLEWRAP;
use super::network::{self, Gate};
use super::view::{list, path_text};
use super::{Refusal, folders};
use crate::ConnectErrorKind as Kind;
use crate::connect::process::{Program, environment, read};

/// The exit code of the shell if the program does not exist.
const NOT_THERE: i32 = 77;
/// Variables that make programs load libraries. Bubblewrap itself runs without isolation, so it must not load a library
/// that the server wrote.
const OF_LOADER: &str = "LD_";

/// An isolated program, ready to start in bubblewrap.
pub(crate) struct Sandbox {
    bwrap: PathBuf,
    options: Vec<OsString>,
    program: PathBuf,
    /// The variables of bubblewrap, which passes them on.
    env: Vec<(String, OsString)>,
    /// The proxy to the allowed domains, while the server runs.
    gate: Option<Gate>,
}

impl Sandbox {
    /// Prepares the isolation of a program.
    ///
    /// # Errors
    /// Fails if the isolation contradicts itself, names missing paths, or cannot be enforced on this system.
    pub(crate) fn new(isolation: &Isolation, program: &Program<'_>) -> Result<Self, Refusal> {
        Self::with(isolation, program, |writable| BUBBLEWRAP.find(writable))
    }

    fn with(
        isolation: &Isolation,
        program: &Program<'_>,
        find_bwrap: impl Fn(&[PathBuf]) -> Result<PathBuf, Refusal>,
    ) -> Result<Self, Refusal> {
        let not_started = |error| program.not_started(&error);
        let found = program.find().map_err(not_started)?;
        let found = std::path::absolute(&found).unwrap_or(found);
        let mut plan = folders::plan(isolation, program)?;
        plan.show_program(&found, program.path().as_deref()).map_err(not_started)?;
        let cwd = plan.folder_to_start_in(program.cwd)?;
        let bwrap = find_bwrap(&plan.writable)?;
        let gate = match isolation.domains.as_slice() {
            domains @ [_, ..] if !isolation.no_network => Some(Gate::open(domains, &mut plan)?),
            _ => None,
        };
        let mut options = list(&[&"--unshare-all", &"--cap-drop", &"ALL"]);
        if !isolation.restricts_network() {
            options.push("--share-net".into());
        }
        options.append(&mut plan.view.options());
        options.append(&mut gate.as_ref().map(Gate::options).unwrap_or_default());
        let mut env = environment::of(program);
        env.extend(plan.env.into_iter().map(|(name, value)| (name.to_owned(), value)));
        for (name, value) in env.extract_if(.., |(name, _)| name.starts_with(OF_LOADER)) {
            options.append(&mut list(&[&"--setenv", &name, &value]));
        }
        options.append(&mut list(&[&"--chdir", &cwd, &"--"]));
        Ok(Self { bwrap, options, program: found, env, gate })
    }

    /// Returns the path of the bubblewrap that would start a program.
    pub(super) fn enforced_by(isolation: &Isolation, program: &Program<'_>) -> Result<PathBuf, Refusal> {
        let writable = folders::plan(isolation, program)?.writable;
        if !isolation.domains.is_empty() {
            network::SOCAT.find(&writable)?;
        }
        BUBBLEWRAP.find(&writable)
    }

    /// Returns the command that starts it, without its arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.bubblewrap();
        command.args(self.gate.as_ref().map(Gate::start).unwrap_or_default()).arg(&self.program);
        command.env_clear().envs(self.env.iter().cloned());
        command
    }

    /// Returns the reason why no program can run in this sandbox, if that is so. It runs a program that ends at once,
    /// after a server failed to start speaking. Dropping the future kills that program.
    pub(crate) async fn refusal(&self) -> Option<Refusal> {
        let mut shell = self.bubblewrap();
        let script = format!("[ -x \"$1\" ] || exit {NOT_THERE}");
        shell.args(list(&[&"/bin/sh", &"-c", &script, &"sh", &self.program]));
        shell.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut tried = shell.spawn().ok()?;
        let mut stderr = Vec::new();
        read(&mut tried.stderr.take()?, &mut stderr).await;
        let status = tried.wait().await.ok()?;
        if status.success() {
            return None;
        }
        if status.code() == Some(NOT_THERE) {
            let program = path_text(&self.program);
            let message =
                format!("its `isolation` does not include its own program `{program}`; add the folder to `read`");
            return Some((Kind::Config, message));
        }
        let stderr = String::from_utf8_lossy(&stderr);
        Some((Kind::Unsupported, explained(stderr.trim())))
    }

    fn bubblewrap(&self) -> Command {
        let mut command = Command::new(&self.bwrap);
        command.args(&self.options);
        command
    }
}

/// Explains a message of bubblewrap, and adds the next step.
fn explained(message: &str) -> String {
    const FORBIDDEN: [&str; 6] =
        ["namespace", "uid map", "gid map", "RTM_NEWADDR", "Operation not permitted", "Permission denied"];
    let hint = if message.contains("Unknown option") {
        "; it is too old, 0.4 or newer is required"
    } else if FORBIDDEN.iter().any(|part| message.contains(part)) {
        "; this system does not allow user namespaces: enable them with `sysctl kernel.unprivileged_userns_clone=1` \
         (on Ubuntu `kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for bwrap; in a container, options \
         such as `--security-opt seccomp=unconfined`)"
    } else {
        ""
    };
    let message = if message.is_empty() { "bwrap failed without a message" } else { message };
    format!("its `isolation` cannot be enforced here: {message}{hint}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt;

    use mcp_bindgen_model::ServerConfig;

    use super::*;

    /// Returns the options of bubblewrap for a shell in these bounds.
    fn sandbox(isolation: &Isolation, env: &[(&str, &str)], bwrap: &str) -> Sandbox {
        let env: BTreeMap<String, String> = env.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let program = Program {
            command: "/bin/sh",
            args: &[],
            cwd: None,
            env: &env,
            inherit_env: &[],
            isolation: Some(isolation),
        };
        Sandbox::with(isolation, &program, |_| Ok(bwrap.into())).unwrap()
    }

    fn options(isolation: &Isolation) -> String {
        let command = sandbox(isolation, &[], "/usr/bin/bwrap").command();
        assert_eq!(command.as_std().get_program(), "/usr/bin/bwrap");
        let options: Vec<_> = command.as_std().get_args().collect();
        assert_eq!(options.last().unwrap(), &"/bin/sh");
        options.join(" ".as_ref()).into_string().unwrap()
    }

    #[test]
    fn each_isolation_key_changes_the_options() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap().to_str().unwrap().to_owned();
        let any = options(&Isolation::new());
        assert!(any.starts_with("--unshare-all --cap-drop ALL --share-net --bind / / "), "{any}");
        assert!(!options(&Isolation::new().no_network()).contains("--share-net"));
        let home = format!("--tmpfs {} ", std::env::home_dir().unwrap().canonicalize().unwrap().display());
        assert!(options(&Isolation::new().temp_home()).contains(&home) && !any.contains(&home), "{any}");
        let (bind, read) = (format!("--bind {folder} {folder} "), options(&Isolation::new().read([&folder])));
        assert!(read.contains(&format!("--ro-{}", &bind[2..])) && !read.contains("--bind / /"), "{read}");
        let write = options(&Isolation::new().write([&folder]));
        assert!(write.contains(&bind) && !read.contains(&bind) && !any.contains(&folder), "{write}");
    }

    #[test]
    fn network_of_none_needs_no_proxy_even_with_domains() {
        // A proxy is refused here, because the server could replace `socat`.
        let isolation = Isolation::new().domains(["x.org"]).write(["/"]);
        let shell = ServerConfig::stdio("shell", "/bin/sh");
        let program = Program::of(&shell).unwrap();
        let refusal = |isolation: &Isolation| Sandbox::with(isolation, &program, |_| Ok("/usr/bin/bwrap".into())).err();
        let (_, message) = refusal(&isolation).expect("a proxy");
        assert!(message.starts_with("`network` of its `isolation` "), "{message}");
        assert_eq!(refusal(&isolation.no_network()), None);
    }

    #[test]
    fn bubblewrap_does_not_load_libraries_of_the_server() {
        let library = ("LD_PRELOAD", "/srv/data/lib.so");
        let sandbox = sandbox(&Isolation::new(), &[library, ("KEY", "secret")], "/usr/bin/bwrap");
        let command = sandbox.command();
        let command = command.as_std();
        let env: Vec<_> = command.get_envs().filter_map(|(name, value)| Some((name, value?))).collect();
        assert!(env.contains(&("KEY".as_ref(), "secret".as_ref())), "{env:?}");
        assert!(!env.iter().any(|(name, _)| *name == library.0), "{env:?}");
        let options = command.get_args().collect::<Vec<_>>().join(" ".as_ref()).into_string().unwrap();
        assert!(options.contains("--setenv LD_PRELOAD /srv/data/lib.so --chdir "), "{options}");
        assert!(!options.contains("secret"), "arguments are public");
    }

    #[tokio::test]
    async fn refusal_by_bubblewrap_includes_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let bwrap = folder.path().join("bwrap");
        let script = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n";
        // Written by another process, or a child of another test would hold it open.
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", "printf %s \"$1\" >\"$2\"", "sh", script]).arg(&bwrap);
        assert!(shell.status().unwrap().success());
        std::fs::set_permissions(&bwrap, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (kind, message) = sandbox(&Isolation::new(), &[], bwrap.to_str().unwrap()).refusal().await.unwrap();
        assert_eq!(kind, Kind::Unsupported);
        assert!(message.contains("cannot be enforced here: bwrap: setting up uid map: Permission denied"), "{message}");
        assert!(message.contains("kernel.apparmor_restrict_unprivileged_userns=0"), "{message}");
    }

    #[test]
    fn known_bubblewrap_errors_have_hints() {
        let says = |message: &str, hint: &str| {
            let explained = explained(message);
            assert!(explained.contains(message) && explained.contains(hint), "{explained}");
        };
        says("bwrap: Unknown option --unshare-all", "0.4 or newer");
        says("bwrap: setting up uid map: Permission denied", "kernel.apparmor_restrict_unprivileged_userns=0");
        says("bwrap: No permissions to create new namespace, likely because", "kernel.unprivileged_userns_clone=1");
        says("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "namespaces");
        assert!(!explained("bwrap: Can't mkdir /x: No space left on device").contains("namespaces"));
    }
}

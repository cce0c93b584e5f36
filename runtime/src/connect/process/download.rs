//! Downloads the package of a server in a separate step, if that needs environment variables that the server must not
//! have.
//!
//! `npx -y PACKAGE` and `uvx PACKAGE` look into an index whenever they start, and the server is their child. So one run of
//! them, with the variables and without the server, puts the package into their cache and prints the `PATH` that the
//! server would have. The server's program is then found on it, and started as any other.

use std::path::{Component, Path};
use std::pin::pin;
use std::time::Duration;

use futures_util::future::join;
use mcp_bindgen_model::{Isolation, ServerConfig, Transport};
use serde_json::Value;
use tokio::time::timeout;

use super::environment::Manager;
use super::isolation::Refusal;
use super::tree::{ProcessTree, note_stderr};
use super::{Program, is_same, read, which};
use crate::ConnectErrorKind as Kind;
use crate::rpc::notes::Notes;

const PATIENCE_FOR_OUTPUT: Duration = Duration::from_millis(200);

/// A download that has to come before the server's start.
pub(crate) struct Download<'c> {
    config: &'c ServerConfig,
    /// The package manager's program.
    program: Program<'c>,
    manager: Manager,
    package: &'c str,
    args: &'c [String],
    /// The variables that it takes.
    variables: Vec<String>,
}

/// Returns `false` if isolation prevents a separate download: a hidden home hides the cache, and without a network
/// nothing downloads.
fn allows_download(isolation: &Isolation) -> bool {
    !(isolation.temp_home || isolation.restricts_network() || isolation.read.is_some() || isolation.write.is_some())
}

impl<'c> Download<'c> {
    /// Returns the download that this server needs, if any.
    pub(crate) fn before(config: &'c ServerConfig) -> Option<Self> {
        let (manager, package, args) = Manager::of(config)?;
        let program = Program::of(config).filter(|program| program.isolation.is_none_or(allows_download))?;
        let variables: Vec<String> = manager.withheld(config).into_iter().map(|(name, _)| name).collect();
        (!variables.is_empty()).then_some(Self { config, program, manager, package, args, variables })
    }

    /// Downloads the package, and returns how its server is started. Dropping the future ends all that was started.
    ///
    /// # Errors
    /// Fails if the package manager cannot be started or fails; `notes` has its stderr. Also fails if the server's
    /// program is not found, and the package manager cannot start it without the variables.
    pub(crate) async fn run(&self, notes: &Notes) -> Result<ServerConfig, Refusal> {
        let (args, inherit_env) = (self.step(), [self.program.inherit_env, &self.variables].concat());
        let program = Program { args: &args, inherit_env: &inherit_env, ..self.program };
        let (mut process, (stdin, mut stdout, stderr)) = ProcessTree::start(&program)?;
        drop(stdin);
        let mut printed = Vec::new();
        let status = {
            let mut reading = pin!(join(read(&mut stdout, &mut printed), note_stderr(stderr, notes.clone())));
            tokio::select! {
                _ = &mut reading => process.child.wait().await,
                // A grandchild may hold the pipes open forever.
                status = process.child.wait() => {
                    let _ = timeout(PATIENCE_FOR_OUTPUT, &mut reading).await;
                    status
                }
            }
        };
        let sandbox = process.sandbox.clone();
        drop(process);
        let how = match status {
            Ok(status) if status.success() => return self.started_as(&String::from_utf8_lossy(&printed)),
            Ok(status) => format!("failed ({status})"),
            Err(error) => format!("failed: {error}"),
        };
        let refusal = if let Some(sandbox) = sandbox { sandbox.refusal().await } else { None };
        Err(refusal.unwrap_or_else(|| (Kind::Spawn, self.failed(&how))))
    }

    /// Returns the message of a download that did not succeed.
    pub(crate) fn failed(&self, how: &str) -> String {
        let (command, package) = (self.command(), self.package);
        let variables = self.variables.join("`, `");
        format!(
            "the download of `{package}` with `{command}` {how}; check `{variables}`, or run `{command} {package}` in a shell"
        )
    }

    fn command(&self) -> &'static str {
        if self.manager == Manager::Npm { "npx -y" } else { "uvx" }
    }

    /// Returns the arguments that make the package manager install the package, run none of its programs, and print `PATH`.
    fn step(&self) -> Vec<String> {
        let words = match (self.manager, cfg!(windows)) {
            (Manager::Npm, false) => ["-y", "--package", self.package, "-c", "printf '%s' \"$PATH\""],
            (Manager::Npm, true) => ["-y", "--package", self.package, "-c", "echo %PATH%"],
            (Manager::Uv, false) => ["--from", self.package, "sh", "-c", "printf '%s' \"$PATH\""],
            (Manager::Uv, true) => ["--from", self.package, "cmd", "/c", "echo %PATH%"],
        };
        words.map(str::to_owned).into()
    }

    /// Returns the configuration that starts the server's own program, if it is found. Otherwise the package manager
    /// starts it from its cache. Only the variables that name the index let it find the cache of another index.
    fn started_as(&self, printed: &str) -> Result<ServerConfig, Refusal> {
        let path = printed.lines().next_back().unwrap_or_default().trim();
        let mut config = self.config.clone();
        let Transport::Stdio { command, args, .. } = &mut config.transport else { return Ok(config) };
        if let Some(found) = self.find_program(path) {
            *command = found;
            *args = self.args.to_vec();
            config.env.retain(|name, _| !is_same(name, "PATH"));
            config.env.insert("PATH".to_owned(), path.to_owned());
            return Ok(config);
        }
        let indexes = self.variables.iter().filter(|name| names_an_index(name));
        let indexes = indexes.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
        if !indexes.is_empty() {
            let (package, command) = (self.package, self.command());
            let message = format!(
                "cannot find the program of `{package}` after its download; to start it with `{command}`, write \
                 `inherit_env = [{indexes}]` in its configuration"
            );
            return Err((Kind::Config, message));
        }
        args.insert(0, "--offline".to_owned());
        Ok(config)
    }

    /// Finds the server's program in the first folder of `PATH`.
    fn find_program(&self, path: &str) -> Option<String> {
        let folder = std::env::split_paths(path).next()?;
        let name = match self.manager {
            Manager::Npm => program_of_npm(&folder, self.package)?,
            Manager::Uv => name_of_requirement(self.package)?.to_owned(),
        };
        which(name.as_ref(), Some(folder.as_os_str()), &folder)?.to_str().map(str::to_owned)
    }
}

/// Returns `true` for a variable that sets the source of packages.
fn names_an_index(variable: &str) -> bool {
    let variable = variable.to_ascii_lowercase();
    ["index", "registry", "find_links"].iter().any(|part| variable.contains(part))
}

/// Finds the program that `npx` runs of a package, by the rule of `npx`: the only one, or the one with the package's name.
fn program_of_npm(programs: &Path, package: &str) -> Option<String> {
    // `name@version` or `@scope/name@version`; anything else is no folder, or none that belongs to it.
    let version = package.match_indices('@').map(|(at, _)| at).find(|at| *at > 0);
    let package = package.get(..version.unwrap_or(package.len()))?;
    let folder = Path::new(package);
    if !folder.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let text = std::fs::read_to_string(programs.parent()?.join(folder).join("package.json")).ok()?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let name = folder.file_name()?.to_str()?;
    let programs = match manifest.get("bin")? {
        Value::String(_) => return Some(name.to_owned()),
        programs => programs.as_object()?,
    };
    let (first, file) = programs.iter().next()?;
    let only = programs.values().all(|other| other == file).then_some(first);
    only.map(String::as_str).or_else(|| programs.contains_key(name).then_some(name)).map(str::to_owned)
}

/// Returns the name of the project in a requirement such as `name[extra]==1.2`, or `None` for a URL or a path.
fn name_of_requirement(requirement: &str) -> Option<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let end = requirement.find(|c| !is_of_name(c)).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at_checked(end)?;
    let is_version = rest.trim_start().starts_with(['@', '[', '=', '<', '>', '!', '~']) || rest.is_empty();
    (is_version && !rest.contains('/') && name.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(name)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods)]
mod tests {
    use super::*;

    #[test]
    fn project_name_is_read_from_a_requirement() {
        for (requirement, name) in [
            ("mcp-server-git", Some("mcp-server-git")),
            ("a.b_c@1.2", Some("a.b_c")),
            ("a[x,y]>=1", Some("a")),
            ("a @ https://example.com/a.whl", None),
            ("git+https://example.com/a", None),
            ("./a", None),
            ("", None),
        ] {
            assert_eq!(name_of_requirement(requirement), name, "{requirement}");
        }
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn dropped_download_leaves_no_task_that_reads_stderr_of_a_daemon() {
        let folder = tempfile::tempdir().unwrap();
        let daemon = "env -i setsid sh -c 'echo started >&2; exec sleep 5'";
        let script = format!("#!/bin/sh\nPATH=/bin:/usr/bin\n{daemon} &\nexec sleep 60\n");
        // Written by another process: a child of this one would hold the file open for a moment.
        let written = std::process::Command::new("sh")
            .args(["-c", r#"printf %s "$2" >"$1" && chmod 755 "$1""#, "sh"])
            .args([folder.path().join("npx").as_os_str(), script.as_ref()])
            .status();
        assert!(written.unwrap().success());
        let config = ServerConfig::stdio("s", "npx").args(["-y", "p"]).env("PATH", folder.path().to_str().unwrap());
        let (manager, package, args) = Manager::of(&config).unwrap();
        let program = Program::of(&config).unwrap();
        let download = Download { config: &config, program, manager, package, args, variables: Vec::new() };
        let notes = Notes::new("s", Default::default());
        {
            let mut run = pin!(download.run(&notes));
            while notes.stderr().is_empty() {
                let ended = timeout(Duration::from_millis(5), run.as_mut()).await;
                assert!(ended.is_err(), "{ended:?}");
            }
        }
        tokio::task::yield_now().await;
        assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
    }

    #[test]
    fn isolation_of_home_files_or_network_disables_the_download() {
        assert!(allows_download(&Isolation::new()));
        for isolation in [
            Isolation::new().temp_home(),
            Isolation::new().no_network(),
            Isolation::new().read(["/srv"]),
            Isolation::new().write(["/srv"]),
        ] {
            assert!(!allows_download(&isolation), "{isolation:?}");
        }
    }

    #[test]
    fn npm_program_is_the_only_one_or_has_the_package_name() {
        let tree = tempfile::tempdir().unwrap();
        let programs = tree.path().join(".bin");
        let program = |package: &str, folder: &str, bin: &str| {
            let folder = tree.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("package.json"), format!(r#"{{"bin": {bin}}}"#)).unwrap();
            program_of_npm(&programs, package)
        };
        assert_eq!(program("@s/server@1.2", "@s/server", r#""a.js""#).as_deref(), Some("server"));
        assert_eq!(program("server", "server", r#"{"other": "a.js"}"#).as_deref(), Some("other"));
        assert_eq!(program("server@latest", "server", r#"{"x": "x.js", "server": "a.js"}"#).as_deref(), Some("server"));
        assert_eq!(program("server", "server", r#"{"x": "x.js", "y": "y.js"}"#), None);
        for unnamed in ["github:a/b", "./server", "../server", "@s", "@../server", "https://example.com/a.tgz"] {
            assert_eq!(program(unnamed, "server", r#""a.js""#), None, "{unnamed}");
        }
    }
}

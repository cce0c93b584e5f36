//! Builds that list the tools of servers, if the environment variable `MCP_BINDGEN_LIVE` names them.
//!
//! The decision costs a macro nothing; the rest is behind feature `live`.

#[cfg(feature = "live")]
mod ask;
#[cfg(feature = "live")]
mod build;
#[cfg(feature = "live")]
mod place;

use std::path::Path;

use mcp_bindgen_model::{Config, FileError, Live as Allowed, is_packaged, nearest, printable};

#[cfg(feature = "live")]
pub(crate) use self::ask::Captured;

/// Which servers a build asks: `1` for all, or their names with commas between.
pub(crate) const VARIABLE: &str = "MCP_BINDGEN_LIVE";

/// By which way a crate gets its bindings.
#[derive(Debug)]
pub(crate) enum Door {
    /// From a macro, inside rustc.
    Macro,
    /// From a build script, which writes to this folder.
    #[cfg(feature = "build-script")]
    BuildScript(#[cfg_attr(not(feature = "live"), allow(dead_code))] std::path::PathBuf),
}

/// The live servers of a build.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// The value of the variable; empty if it asks for nothing.
    requested: String,
    /// `true` if the build of this crate may ask, here or in another process.
    allowed: bool,
    #[cfg(feature = "live")]
    asking: Option<ask::Asking>,
}

/// Returns `true` where no process may connect: docs.rs builds without a network, and editors expand macros at every key.
fn is_offline() -> bool {
    let is_analyzer =
        |path: &Path| path.file_stem().is_some_and(|name| name.to_string_lossy().contains("rust-analyzer"));
    // An editor runs build scripts with itself in the place of rustc.
    std::env::var_os("RUSTC_WRAPPER").is_some_and(|wrapper| is_analyzer(Path::new(&wrapper)))
        || std::env::var_os("RA_RUSTC_WRAPPER").is_some()
        || std::env::current_exe().is_ok_and(|program| is_analyzer(&program))
        || std::env::var_os("DOCS_RS").is_some()
}

impl Live {
    /// Reads the settings of this process.
    pub(crate) fn of(door: Door, manifest_dir: &Path, config: Option<&Config>) -> Self {
        let requested = std::env::var_os(VARIABLE).unwrap_or_default().to_string_lossy().into_owned();
        Self::among(&requested, is_offline(), door, manifest_dir, config)
    }

    fn among(requested: &str, is_offline: bool, door: Door, manifest_dir: &Path, config: Option<&Config>) -> Self {
        // Packages that cargo unpacked never connect: their users do not know the servers.
        let allowed = config.is_some_and(|config| config.defaults.live == Allowed::Ask);
        let allowed = allowed && !is_packaged(manifest_dir) && !is_checked_out(manifest_dir);
        let requested = if allowed && !is_offline && requested.trim() != "0" { requested.trim() } else { "" };
        #[cfg(not(feature = "live"))]
        let _ = door;
        Self {
            #[cfg(feature = "live")]
            asking: if requested.is_empty() { None } else { ask::Asking::of(door) },
            requested: requested.to_owned(),
            allowed,
        }
    }

    fn wants(&self, server: &str) -> bool {
        self.wants_all() || self.wanted().any(|name| name == server)
    }

    fn wants_all(&self) -> bool {
        self.requested == "1"
    }

    /// Returns the servers that the variable names.
    fn wanted(&self) -> impl Iterator<Item = &str> {
        self.requested.split(',').map(str::trim).filter(|name| !name.is_empty())
    }

    /// Returns `true` if another value of the variable would give other bindings.
    pub(crate) fn depends_on_variable(&self) -> bool {
        cfg!(feature = "live") && self.allowed
    }

    /// Returns the suggestion to build without a snapshot, if possible.
    pub(crate) fn or_ask(&self, server: &str) -> String {
        match (self.allowed, cfg!(feature = "live")) {
            (false, _) => String::new(),
            (true, true) => format!(", or build with {VARIABLE}={server} to connect to it"),
            (true, false) => format!(", or enable feature `live` and build with {VARIABLE}={server} to connect to it"),
        }
    }

    /// Returns warnings about requests that cannot be fulfilled, for a crate that binds these servers.
    pub(crate) fn warnings(&self, config: &Config, servers: &[&str]) -> Vec<FileError> {
        if !cfg!(feature = "live") {
            let ours = servers.iter().any(|server| self.wants(server));
            return ours.then(without_feature).into_iter().collect();
        }
        let known = config.names();
        let unknown = self.wanted().filter(|name| !self.wants_all() && !known.contains(name));
        let unknown = unknown.filter(|name| self.is_first_to_say(config, name));
        unknown.map(|name| no_such_server(config, name, known.iter().copied())).collect()
    }

    #[cfg(feature = "live")]
    fn is_first_to_say(&self, config: &Config, name: &str) -> bool {
        self.asking.as_ref().is_some_and(|asking| asking.is_first_to_say(config, name))
    }

    #[cfg(not(feature = "live"))]
    fn is_first_to_say(&self, _: &Config, _: &str) -> bool {
        true
    }

    /// Asks a server, and returns its snapshot or an error. Returns `None` if the server is not to be asked. `known` is
    /// its stored snapshot.
    #[cfg(feature = "live")]
    pub(crate) fn ask(
        &self,
        config: &Config,
        server: &str,
        known: impl FnOnce() -> Option<mcp_bindgen_model::Snapshot>,
    ) -> Option<Result<Captured, String>> {
        let asking = self.asking.as_ref().filter(|_| self.wants(server))?;
        Some(asking.ask(config, server, known().as_ref()))
    }
}

/// Returns `true` if cargo fetched the crate from a repository: its user sees no warnings.
fn is_checked_out(manifest_dir: &Path) -> bool {
    manifest_dir.ancestors().any(|folder| folder.join(".cargo-ok").is_file())
}

fn without_feature() -> FileError {
    let message = format!("{VARIABLE} is set, but this build cannot connect to servers: using snapshots");
    FileError::new(message)
        .with_help("enable feature `live` of mcp-bindgen (macro) or mcp-bindgen-codegen (build script)")
}

fn no_such_server<'a>(config: &Config, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> FileError {
    let error = FileError::new(format!("{VARIABLE} names `{}`, which is not a configured server", printable(name)));
    let help = match nearest(name, known.clone()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let known: Vec<String> = known.map(|name| format!("`{}`", printable(name))).collect();
            format!("`1` means all of them: {}", known.join(", "))
        }
    };
    FileError { path: config.path.clone(), ..error.with_help(help) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[servers.github]\ncommand = \"x\"\n[servers.git]\ncommand = \"x\"\n";

    fn config(text: &str) -> Config {
        Config::parse_toml(text, Path::new("mcp.toml")).unwrap()
    }

    fn live(requested: &str, folder: &Path, config: &Config) -> Live {
        #[cfg(feature = "build-script")]
        let door = Door::BuildScript(folder.join("target/debug/build/x/out"));
        #[cfg(not(feature = "build-script"))]
        let door = Door::Macro;
        Live::among(requested, false, door, folder, Some(config))
    }

    #[test]
    fn variable_selects_some_all_or_no_servers() {
        for (value, github, git) in [
            ("", false, false),
            ("0", false, false),
            ("1", true, true),
            (" 1 ", true, true),
            ("1,", false, false),
            ("git", false, true),
            ("git, github", true, true),
            (",github,", true, false),
            ("hub", false, false),
            ("Github", false, false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let live = live(value, folder.path(), &config(CONFIG));
            assert_eq!((live.wants("github"), live.wants("git")), (github, git), "{value:?}");
        }
    }

    #[test]
    fn live_connections_are_disabled_where_forbidden() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, plain) = (folder.path(), config(CONFIG));
        let never = config(&format!("[defaults]\nlive = \"never\"\n{CONFIG}"));
        assert!(live("1", folder, &plain).wants("git"));
        assert!(!live("1", folder, &never).wants("git"));
        assert!(!live("1", folder, &never).depends_on_variable());
        assert!(!Live::among("1", true, Door::Macro, folder, Some(&plain)).wants("git"));
        let unconfigured = Live::among("1", false, Door::Macro, folder, None);
        assert!(!unconfigured.wants("git") && !unconfigured.allowed);

        let checked_out = folder.join("checkouts/servers-0123");
        mcp_bindgen_model::write_if_changed(&checked_out.join(".cargo-ok"), b"").unwrap();
        let member = live("1", &checked_out.join("crates/one"), &plain);
        assert!(!member.wants("git") && !member.allowed);

        mcp_bindgen_model::write_if_changed(&folder.join("Cargo.toml.orig"), b"").unwrap();
        let packaged = live("1", folder, &plain);
        assert!(!packaged.wants("git") && !packaged.allowed);
    }

    #[test]
    fn variable_is_tracked_where_it_has_an_effect() {
        let folder = tempfile::tempdir().unwrap();
        for requested in ["", "0", "1"] {
            let live = live(requested, folder.path(), &config(CONFIG));
            assert_eq!(live.depends_on_variable(), cfg!(feature = "live"), "{requested:?}");
        }
    }

    #[cfg(not(feature = "live"))]
    #[test]
    fn build_without_the_live_feature_warns() {
        let folder = tempfile::tempdir().unwrap();
        let said =
            |requested: &str| live(requested, folder.path(), &config(CONFIG)).warnings(&config(CONFIG), &["git"]);
        assert_eq!((said("0"), said("github")), (vec![], vec![]), "nothing is asked for that is bound here");
        assert!(said("git,other")[0].to_string().contains("enable feature `live`"), "{:?}", said("git"));
    }

    #[cfg(all(feature = "live", feature = "build-script"))]
    #[test]
    fn unknown_server_in_the_variable_is_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(CONFIG);
        let said = |requested: &str| {
            let said = live(requested, folder.path(), &config).warnings(&config, &["git"]);
            said.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!((said("1"), said("git,github")), (vec![], vec![]));
        let expected = "MCP_BINDGEN_LIVE names `githb`, which is not a configured server\n --> mcp.toml\n  = help: did you mean `github`?";
        assert_eq!(said("git,githb"), [expected]);
        assert_eq!(said("git,githb"), [""; 0], "the same build does not say it again");
        assert!(said("zebra")[0].ends_with("`1` means all of them: `git`, `github`"));
    }
}

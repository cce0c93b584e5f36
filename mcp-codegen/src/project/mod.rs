//! The configuration and the snapshots of a crate, for the macro and build scripts.

#[cfg(feature = "live")]
mod live_source;
mod macro_door;
mod macro_input;
mod salvage;
#[cfg(feature = "templates")]
mod template_door;
#[cfg(feature = "templates")]
mod template_input;

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, ConfigWarning, FileError, Overrides, Prefix, Snapshot, Types};

use crate::paths::relative;
pub use macro_door::expand_macro;
#[cfg(feature = "templates")]
pub use template_door::expand_template;

use crate::bindings::{Bindings, PlannedBindings};
use crate::live::{Door, Live};
use crate::options::Options;
use crate::overlay::Overlay;
use crate::overrides::snapshot_for_bindings;
use crate::patterns::{Idle, IdlePattern};
use crate::rules::RuleFault;
use mcp_bindgen_schema::diagnostics::{CODES, Diagnostic, Diagnostics, Listed, Severity};

/// The crate that bindings are generated for.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    manifest_dir: PathBuf,
    config: Option<Config>,
    /// The configuration with the prefixes that a build sets, if it sets any.
    named: Option<Config>,
    live: Live,
}

/// A parsed snapshot with the configuration of its server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Source {
    /// The snapshot, with its overrides applied.
    pub snapshot: Snapshot,
    /// The options of the configuration.
    pub options: Options,
    /// The snapshot's file.
    pub path: PathBuf,
    /// Its overrides, if there is a file with them.
    pub overrides: Option<Overrides>,
    /// The text of the file, to find places in.
    text: String,
    /// The file's name in messages.
    shown: PathBuf,
    /// The name that the file of overrides has in messages.
    shown_overrides: PathBuf,
    /// `true` if the bindings are those of the live server. `path` is then the path of a stored snapshot.
    is_live: bool,
    /// `true` if the rules of the configuration were checked before other options were set.
    has_checked_rules: bool,
    /// The warnings of reading it.
    pub(crate) warnings: Vec<String>,
}

impl Project {
    /// Finds and reads the configuration for the crate in a folder. There may be none.
    ///
    /// # Errors
    /// Fails if there is a configuration and it cannot be read, or names a code that there is not.
    pub fn open(manifest_dir: impl Into<PathBuf>) -> Result<Self, FileError> {
        let manifest_dir = manifest_dir.into();
        let load = |path| {
            let config = Config::load(path)?;
            config.check_codes(CODES.iter().map(|code| code.id))?;
            Ok(config)
        };
        let config = Config::find(&manifest_dir).map(load).transpose();
        let config = config.map_err(|error| shown_from(&manifest_dir, error))?;
        Ok(Self { manifest_dir, config, named: None, live: Live::never() })
    }

    /// Opens a project for a build, which may ask servers if that is enabled.
    ///
    /// # Errors
    /// Fails like [`open`](Self::open).
    pub(crate) fn open_in_build(manifest_dir: impl Into<PathBuf>, door: Door) -> Result<Self, FileError> {
        let project = Self::open(manifest_dir)?;
        let live = Live::of(door, &project.manifest_dir, project.config.as_ref());
        Ok(Self { live, ..project })
    }

    /// Returns `true` if the variable that asks for live servers decides about the bindings.
    pub(crate) fn depends_on_variable(&self) -> bool {
        self.live.depends_on_variable()
    }

    /// Returns warnings about the configuration of these servers, and about its invalid entries.
    #[must_use]
    pub fn warnings(&self, servers: &[&str]) -> Vec<String> {
        let Some(config) = &self.config else {
            return Vec::new();
        };
        let is_ours = |warning: &ConfigWarning| {
            let elsewhere = |server: &str| config.servers.contains_key(server) && !servers.contains(&server);
            !warning.server.as_deref().is_some_and(elsewhere)
        };
        let warnings = config.warnings.iter().filter(|warning| is_ours(warning));
        let errors = warnings.map(|warning| warning.error.clone()).chain(self.live.warnings(config, servers));
        errors.map(|error| shown_from(&self.manifest_dir, error).to_string()).collect()
    }

    /// Returns the files that determine all servers.
    #[must_use]
    pub fn config_path(&self) -> Option<&Path> {
        self.config.as_ref()?.path.as_deref()
    }

    /// Sets the prefix of a server, which keeps its names distinct from those of other servers.
    pub(crate) fn set_prefix(&mut self, server: &str, prefix: &Prefix) {
        let named = self.named.take().or_else(|| self.config.clone());
        self.named = named.map(|mut config| {
            config.servers.entry(server.to_owned()).and_modify(|server| server.prefix = prefix.clone());
            config
        });
    }

    /// Returns the names of the configured servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.config.iter().flat_map(|config| config.servers.keys()).map(String::as_str)
    }

    /// Returns the servers that can be bound; without a configuration, those with a snapshot.
    fn possible_servers(&self) -> Vec<String> {
        if self.config.is_some() {
            return self.servers().map(str::to_owned).collect();
        }
        let files = std::fs::read_dir(self.manifest_dir.join("mcp")).into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().to_str()?.strip_suffix(".json").map(str::to_owned));
        let mut names: Vec<String> = names.filter(|name| mcp_bindgen_model::is_server_name(name)).collect();
        names.sort();
        names
    }

    /// Returns `true` if the configuration makes this diagnostic an error.
    #[must_use]
    pub fn denies(&self, diagnostic: &Diagnostic) -> bool {
        self.config.as_ref().is_some_and(|config| config.diagnostics.deny.iter().any(|code| code == diagnostic.code.id))
    }

    /// Returns `true` if the configuration hides this diagnostic.
    #[must_use]
    pub fn allows(&self, diagnostic: &Diagnostic) -> bool {
        self.config
            .as_ref()
            .is_some_and(|config| config.diagnostics.allow.iter().any(|code| code == diagnostic.code.id))
    }

    /// Reads the snapshot of a server, from the given path or that of the configuration, and its overrides. Without a
    /// given path, a live build lists the server's tools instead.
    ///
    /// # Errors
    /// Fails if the server or its snapshot does not exist, if the snapshot is unreadable, or if its overrides do not
    /// match.
    pub fn read(&self, server: &str, path: Option<&str>) -> Result<Source, FileError> {
        if !mcp_bindgen_model::is_server_name(server) {
            let message = format!("invalid server name `{}`", mcp_bindgen_model::printable(server));
            return Err(FileError::new(message).with_help("use lower-case letters, digits, `-` and `_`, at most 64"));
        }
        let given = path.is_some();
        let options = self.options(server, given)?;
        let options = self.named.as_ref().or(self.config.as_ref()).into_iter().fold(options, Options::beside);
        let path = self.snapshot_path(server, path);
        #[cfg(feature = "live")]
        if !given && let Some(outcome) = self.ask(server, &path) {
            return self.read_live(server, path, options, outcome);
        }
        let shown = relative(&self.manifest_dir, &path);
        if !path.is_file() {
            return Err(if given { no_file(&shown) } else { self.missing(server, &shown) });
        }
        self.read_file(server, path, options)
    }

    /// Returns the path of a server's snapshot, which may not exist.
    fn snapshot_path(&self, server: &str, given: Option<&str>) -> PathBuf {
        match (given, &self.config) {
            (Some(path), _) => self.manifest_dir.join(path),
            (None, Some(config)) => config.snapshot_path(server),
            (None, None) => self.manifest_dir.join("mcp").join(format!("{server}.json")),
        }
    }

    fn read_file(&self, server: &str, path: PathBuf, options: Options) -> Result<Source, FileError> {
        let mend = || format!("run `mcp-bindgen sync {server}` to write the snapshot again");
        let named = |error: FileError| {
            let help = error.help.or_else(|| Some(mend()));
            shown_from(&self.manifest_dir, FileError { path: Some(path.clone()), help, ..error })
        };
        let text = mcp_bindgen_model::read_text(&path).map_err(named)?;
        let snapshot = Snapshot::parse(&text).map_err(named)?;
        self.source(options, path, snapshot, text, None)
    }

    /// Returns a source, with the overrides beside the snapshot's file, and the views of the configuration. `captured`
    /// is the file of a live server's snapshot.
    fn source(
        &self,
        options: Options,
        path: PathBuf,
        snapshot: Snapshot,
        text: String,
        captured: Option<&Path>,
    ) -> Result<Source, FileError> {
        let named = |error| shown_from(&self.manifest_dir, error);
        let overrides = Overrides::load_beside(&path).map_err(named)?;
        let server = self.config.as_ref().and_then(|config| config.servers.get(&options.server.name));
        let snapshot =
            snapshot_for_bindings(snapshot, overrides.as_ref(), server).map_err(|faults| named(first(faults)))?;
        Ok(Source {
            snapshot,
            options,
            overrides,
            text,
            shown: relative(&self.manifest_dir, captured.unwrap_or(&path)),
            shown_overrides: Overrides::beside(relative(&self.manifest_dir, &path)),
            path,
            is_live: captured.is_some(),
            has_checked_rules: false,
            warnings: Vec::new(),
        })
    }

    /// Returns the options of the configuration. A snapshot that is named by its path needs no server of the configuration.
    fn options(&self, server: &str, has_path: bool) -> Result<Options, FileError> {
        let Some(config) = &self.config else {
            return Ok(Options::new(server));
        };
        match config.server_with_defaults(server) {
            Ok(server) => {
                check_backend(server.types, &server.name).map_err(|error| {
                    let path = config.path.clone();
                    shown_from(&self.manifest_dir, FileError { path, ..error })
                })?;
                Ok(Options::for_crate(&server, &self.manifest_dir))
            }
            Err(_) if has_path && !config.rejected.contains_key(server) => Ok(Options::new(server)),
            Err(error) => Err(shown_from(&self.manifest_dir, error)),
        }
    }

    fn missing(&self, server: &str, shown: &Path) -> FileError {
        let shown = shown.display();
        match &self.config {
            Some(_) => FileError::new(format!("no snapshot of server `{server}`: {shown} not found"))
                .with_help(format!("run `mcp-bindgen sync {server}` and commit the file{}", self.live.or_ask(server))),
            None => FileError::new(format!(
                "server `{server}` is not configured: no mcp.toml or .mcp.json beside Cargo.toml or at the workspace \
                 root, and no {shown}"
            ))
            .with_help(format!("add `[servers.{server}]` to mcp.toml, then run `mcp-bindgen sync {server}`")),
        }
    }
}

impl Source {
    /// Returns the files that it was read from.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let snapshot = (!self.is_live || self.path.is_file()).then_some(self.path.as_path());
        let beside = self.options.beside_files.iter().map(PathBuf::as_path).filter(|path| path.is_file());
        snapshot.into_iter().chain(self.overrides.as_ref().and_then(Overrides::path)).chain(beside)
    }

    /// Returns an error for the first pattern of the configuration without effect, or the first rule that does not
    /// fit.
    ///
    /// # Errors
    /// Fails if there is one.
    pub fn check_configured(&self, project: &Project) -> Result<(), FileError> {
        self.check_patterns(project)?;
        self.check_rules(project)
    }

    fn check_patterns(&self, project: &Project) -> Result<(), FileError> {
        let Some(idle) = self.options.idle_patterns(&self.snapshot).into_iter().next() else { return Ok(()) };
        let message =
            format!("in `{}` of server `{}` in the configuration: {idle}", idle.key, self.options.server.name);
        Err(shown_from(&project.manifest_dir, idle.error(message, &self.shown)))
    }

    /// Checks the rules of the configuration.
    ///
    /// # Errors
    /// Fails if a rule is invalid.
    fn check_rules(&self, project: &Project) -> Result<(), FileError> {
        let first = Bindings::faults(&self.snapshot, &self.options).into_iter().find(RuleFault::is_configured);
        first.map_or(Ok(()), |fault| Err(shown_from(&project.manifest_dir, fault.error)))
    }

    /// Sets the options of a macro or build script, except `tools`, after checking those of the configuration.
    ///
    /// # Errors
    /// Fails like [`check_configured`](Self::check_configured). If the options do not affect rules,
    /// [`plan`](Self::plan) checks the rules, so that one plan is enough.
    pub(crate) fn overlay(&mut self, project: &Project, overlay: &Overlay) -> Result<(), FileError> {
        self.check_patterns(project)?;
        self.has_checked_rules = overlay.affects_rules();
        if self.has_checked_rules {
            self.check_rules(project)?;
        }
        self.options = overlay.apply(self.options.clone());
        Ok(())
    }

    /// Plans the bindings. Returns the first rule of the configuration that cannot hold, or else those of the macro or
    /// build script.
    pub(crate) fn plan(&self, project: &Project) -> (PlannedBindings<'_>, Vec<RuleFault>) {
        let planned = Bindings::plan(&self.snapshot, &self.options);
        let (configured, others): (Vec<_>, Vec<_>) =
            planned.faults().iter().cloned().partition(RuleFault::is_configured);
        let faults = match configured.into_iter().next().filter(|_| !self.has_checked_rules) {
            Some(mut fault) => {
                fault.error = shown_from(&project.manifest_dir, fault.error);
                vec![fault]
            }
            None => others,
        };
        (planned, faults)
    }

    fn idle(&self, idle: &IdlePattern) -> FileError {
        FileError::new(idle.to_string()).in_file(&self.shown).with_help(&idle.help)
    }

    /// Returns an error for each diagnostic that the project denies.
    #[must_use]
    pub fn denied(&self, project: &Project, diagnostics: &Diagnostics) -> Vec<String> {
        let denied = diagnostics.iter().filter(|said| project.denies(said)).cloned();
        denied
            .map(|mut said| {
                said.code.severity = Severity::Error;
                format!("{}\n  = note: denied in the configuration", self.located(&said))
            })
            .collect()
    }

    /// Formats a diagnostic with its position in the file.
    #[must_use]
    pub fn located(&self, diagnostic: &Diagnostic) -> String {
        let overrides = self.overrides.as_ref().filter(|_| diagnostic.listed == Listed::Tool);
        let overridden = overrides.and_then(|overrides| {
            Some((self.shown_overrides.clone(), overrides.position(&diagnostic.tool, &diagnostic.pointer)?))
        });
        let (shown, position) = match overridden {
            Some((path, position)) => (path, Some(position)),
            None => (self.shown.clone(), diagnostic.position(&self.text)),
        };
        let place = position.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        format!(
            "{}[{}]: {}\n --> {}{place} ({} {}, {})\n  = help: {}",
            diagnostic.code.severity,
            diagnostic.code.id,
            diagnostic.summary(),
            shown.display(),
            diagnostic.listed,
            mcp_bindgen_model::printable(&diagnostic.tool),
            mcp_bindgen_model::printable(&diagnostic.pointer),
            diagnostic.code.help,
        )
    }
}

/// Fails if a pattern for several servers has no effect on any of them. `idle` is a method for the key of the pattern.
pub(crate) fn check_pattern<'s>(
    idle: fn(&Options, &str, &Snapshot) -> Option<IdlePattern>,
    pattern: &str,
    sources: impl IntoIterator<Item = &'s Source>,
) -> Result<(), FileError> {
    let mut first = None;
    for source in sources {
        let Some(idle) = idle(&source.options, pattern, &source.snapshot) else {
            return Ok(());
        };
        // That a tool is there and left out says more than that another server has no such tool.
        let says_more = |known: &IdlePattern| known.reason == Idle::NoTool && idle.reason != Idle::NoTool;
        if first.as_ref().is_none_or(|(known, _)| says_more(known)) {
            first = Some((idle, source));
        }
    }
    first.map_or(Ok(()), |(idle, source)| Err(source.idle(&idle)))
}

/// Fails if a backend is not built in.
pub(crate) fn check_backend(types: Types, server: &str) -> Result<(), FileError> {
    if types == Types::Native || cfg!(feature = "typify") {
        return Ok(());
    }
    Err(FileError::new(format!("`types = \"typify\"` of server `{server}` requires feature `typify`"))
        .with_help("enable it for mcp-bindgen (macro) or mcp-bindgen-codegen (build script), or remove `types`"))
}

/// Returns the first error, because a macro or build script reports one at a time; the command line reports all.
fn first(faults: Vec<FileError>) -> FileError {
    faults.into_iter().next().unwrap_or_else(|| FileError::new("the overrides do not fit"))
}

fn no_file(shown: &Path) -> FileError {
    FileError::new(format!("file not found: {}", shown.display()))
        .with_help("`path` is relative to Cargo.toml's folder")
}

fn shown_from(manifest_dir: &Path, error: FileError) -> FileError {
    FileError { path: error.path.as_deref().map(|path| relative(manifest_dir, path)), ..error }
}

//! The configuration and the snapshots of a crate, for the macro and build scripts.

#[cfg(feature = "live")]
mod live_source;
mod macro_door;
mod salvage;
#[cfg(feature = "templates")]
mod template_door;

use std::path::{Path, PathBuf};

pub use macro_door::expand_macro;
use mcp_bindgen_model::{
    Config, ConfigWarning, FileError, Overrides, Prefix, Snapshot, Types, is_server_name, printable, read_text,
};
use mcp_bindgen_schema::diagnostics::{CODES, Diagnostic, Diagnostics, Listed, Severity};
#[cfg(feature = "templates")]
pub use template_door::expand_template;

use crate::bindings::{Bindings, PlannedBindings};
use crate::live::{Door, Live};
use crate::options::{Options, Overlay};
use crate::overrides::snapshot_for_bindings;
use crate::paths::relative;
use crate::patterns::{Idle, IdlePattern};
use crate::rules::RuleFault;
use crate::table::distinct;

/// The crate that bindings are generated for.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    manifest_dir: PathBuf,
    config: Option<Config>,
    /// The configuration with the prefixes that a build sets.
    named: Option<Config>,
    pub(crate) live: Live,
}

/// A parsed snapshot with the configuration of its server.
#[derive(Debug)]
#[non_exhaustive]
pub struct Source {
    /// The snapshot, with its overrides applied.
    pub snapshot: Snapshot,
    /// The options of the configuration.
    pub options: Options,
    /// The options of the configuration alone, once [`overlay`](Self::overlay) has changed `options`.
    configured: Option<Options>,
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
            config.check_codes(&CODES.iter().map(|code| code.id).collect::<Vec<_>>())?;
            Ok(config)
        };
        let config = Config::find(&manifest_dir).map(load).transpose();
        let project = Self::without_config(manifest_dir);
        let config = config.map_err(|error| project.shown(error))?;
        Ok(Self { named: config.clone(), config, ..project })
    }

    /// Creates a project without a configuration, or whose configuration cannot be read.
    fn without_config(manifest_dir: impl Into<PathBuf>) -> Self {
        Self { manifest_dir: manifest_dir.into(), config: None, named: None, live: Live::default() }
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
        errors.map(|error| self.shown(error).to_string()).collect()
    }

    /// Returns an error with its path as the crate's author knows it.
    fn shown(&self, error: FileError) -> FileError {
        FileError { path: error.path.as_deref().map(|path| relative(&self.manifest_dir, path)), ..error }
    }

    /// Returns the files that determine all servers.
    #[must_use]
    pub fn config_path(&self) -> Option<&Path> {
        self.config.as_ref()?.path.as_deref()
    }

    /// Sets the prefix of a server, which keeps its names distinct from those of other servers.
    pub(crate) fn set_prefix(&mut self, server: &str, prefix: &Prefix) {
        if let Some(server) = self.named.as_mut().and_then(|config| config.servers.get_mut(server)) {
            server.prefix = prefix.clone();
        }
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
        let Ok(files) = std::fs::read_dir(self.manifest_dir.join("mcp")) else { return Vec::new() };
        let mut names = Vec::new();
        for name in files.filter_map(|file| file.ok()?.file_name().into_string().ok()) {
            if let Some(name) = name.strip_suffix(".json").filter(|name| is_server_name(name)) {
                names.push(name.to_owned());
            }
        }
        distinct(names)
    }

    /// Returns `true` if the configuration hides this diagnostic.
    #[cfg(feature = "build-script")]
    pub(crate) fn allows(&self, diagnostic: &Diagnostic) -> bool {
        self.config.iter().flat_map(|config| &config.diagnostics.allow).any(|code| code == diagnostic.code.id)
    }

    /// Reads the snapshot of a server, from the given path or that of the configuration, and its overrides. Without a
    /// given path, a live build lists the server's tools instead.
    ///
    /// # Errors
    /// Fails if the server or its snapshot does not exist, if the snapshot is unreadable, or if its overrides do not
    /// match.
    pub fn read(&self, server: &str, path: Option<&str>) -> Result<Source, FileError> {
        if !is_server_name(server) {
            let message = format!("invalid server name `{}`", printable(server));
            return Err(FileError::new(message).with_help("use lower-case letters, digits, `-` and `_`, at most 64"));
        }
        let given = path.is_some();
        let options = self.options(server, given)?;
        let options = self.named.iter().fold(options, Options::beside);
        let path = self.snapshot_path(server, path);
        #[cfg(feature = "live")]
        if !given && let Some(outcome) = self.ask(server, &path) {
            return self.read_live(server, path, options, outcome);
        }
        let shown = relative(&self.manifest_dir, &path);
        if !path.is_file() {
            return Err(self.missing(server, &shown, given));
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
        let named = |error: FileError| {
            let mend = || format!("run `mcp-bindgen sync {server}` to write the snapshot again");
            let help = error.help.clone().or_else(|| Some(mend()));
            self.shown(FileError { help, ..error.in_file(&path) })
        };
        let text = read_text(&path).map_err(named)?;
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
        let overrides = Overrides::load_beside(&path).map_err(|error| self.shown(error))?;
        let server = self.config.as_ref().and_then(|config| config.servers.get(&options.server.name));
        let snapshot = snapshot_for_bindings(snapshot, overrides.as_ref(), server).map_err(|faults| {
            // A macro or build script reports one at a time; the command line reports all.
            let first = faults.into_iter().next();
            self.shown(first.unwrap_or_else(|| FileError::new("the overrides do not fit")))
        })?;
        Ok(Source {
            snapshot,
            options,
            configured: None,
            overrides,
            text,
            shown: relative(&self.manifest_dir, captured.unwrap_or(&path)),
            shown_overrides: Overrides::beside(relative(&self.manifest_dir, &path)),
            path,
            is_live: captured.is_some(),
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
                check_backend(server.types, &server.name)
                    .map_err(|error| self.shown(FileError { path: config.path.clone(), ..error }))?;
                Ok(Options::for_crate(&server, &self.manifest_dir))
            }
            Err(_) if has_path && !config.has(server) => Ok(Options::new(server)),
            Err(error) => Err(self.shown(error)),
        }
    }

    /// Returns the error of a snapshot that is not there; `given` if its path was.
    fn missing(&self, server: &str, shown: &Path, given: bool) -> FileError {
        let shown = shown.display();
        match &self.config {
            _ if given => FileError::new(format!("file not found: {shown}"))
                .with_help("`path` is relative to Cargo.toml's folder"),
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
        self.configured_fault(project).map_or(Ok(()), |fault| Err(fault.error))
    }

    fn check_patterns(&self, project: &Project) -> Result<(), FileError> {
        if let Some(idle) = self.options.idle_patterns(&self.snapshot).into_iter().next() {
            let message =
                format!("in `{}` of server `{}` in the configuration: {idle}", idle.key, self.options.server.name);
            return Err(project.shown(idle.error(message, &self.shown)));
        }
        Ok(())
    }

    /// Returns the first rule of the configuration that does not fit, whatever a macro or build script sets.
    fn configured_fault(&self, project: &Project) -> Option<RuleFault> {
        let options = self.configured.as_ref().unwrap_or(&self.options);
        let fault = Bindings::faults(&self.snapshot, options).into_iter().find(|fault| fault.is_configured)?;
        Some(RuleFault { error: project.shown(fault.error), ..fault })
    }

    /// Sets the options of a macro or build script, except `tools`, after checking the patterns of the configuration.
    ///
    /// # Errors
    /// Fails if one of them has no effect.
    pub(crate) fn overlay(&mut self, project: &Project, overlay: &Overlay) -> Result<(), FileError> {
        self.check_patterns(project)?;
        let options = overlay.apply(self.options.clone());
        let mut configured = std::mem::replace(&mut self.options, options);
        configured.rules = self.options.rules.configured();
        self.configured = Some(configured);
        Ok(())
    }

    /// Sets the option `tools`, once its patterns were checked against the others.
    pub(crate) fn select(&mut self, tools: Option<&Vec<String>>) {
        self.options.tools.extend(tools.cloned());
    }

    /// Plans the bindings. Returns the first rule of the configuration that does not fit, or else those of the macro or
    /// build script.
    pub(crate) fn plan(&self, project: &Project) -> (PlannedBindings<'_>, Vec<RuleFault>) {
        let planned = Bindings::plan(&self.snapshot, &self.options);
        let (configured, others): (Vec<_>, Vec<_>) =
            planned.plan.faults.iter().cloned().partition(|fault| fault.is_configured);
        // Options of the macro may take away the tool of a rule that fits. A second plan is only for this case.
        let fault = if configured.is_empty() { None } else { self.configured_fault(project) };
        (planned, fault.map_or(others, |fault| vec![fault]))
    }

    /// Returns an error with each diagnostic that the project denies, if there are any.
    pub(crate) fn denied(&self, project: &Project, diagnostics: &Diagnostics) -> Option<FileError> {
        let codes = &project.config.as_ref()?.diagnostics.deny;
        let mut denied = Vec::new();
        for said in diagnostics.iter().filter(|said| codes.iter().any(|code| code == said.code.id)) {
            let mut said = said.clone();
            said.code.severity = Severity::Error;
            denied.push(format!("{}\n  = note: denied in the configuration", self.located(&said)));
        }
        (!denied.is_empty()).then(|| FileError::new(denied.join("\n")))
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
            printable(&diagnostic.tool),
            printable(&diagnostic.pointer),
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
    let error = |(idle, source): (IdlePattern, &Source)| {
        FileError::new(idle.to_string()).in_file(&source.shown).with_help(idle.help)
    };
    first.map_or(Ok(()), |found| Err(error(found)))
}

/// Fails if a backend is not built in.
pub(crate) fn check_backend(types: Types, server: &str) -> Result<(), FileError> {
    if types == Types::Native || cfg!(feature = "typify") {
        return Ok(());
    }
    Err(FileError::new(format!("`types = \"typify\"` of server `{server}` requires feature `typify`"))
        .with_help("enable it for mcp-bindgen (macro) or mcp-bindgen-codegen (build script), or remove `types`"))
}

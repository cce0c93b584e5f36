//! The files of the crate that asks for bindings: its configuration and its snapshots. What the macro and build scripts
//! have in common.

mod macro_door;
mod macro_input;
mod paths;

use std::path::{Path, PathBuf};

use mcp_model::{Config, FileError, ServerConfig, Snapshot, nearest};

pub use macro_door::expand_macro;
use paths::relative;

use crate::options::Options;
use mcp_schema::diagnostics::{Diagnostic, Diagnostics, Severity};

/// The crate that bindings are generated for.
#[derive(Debug)]
pub struct Project {
    /// Its folder.
    manifest_dir: PathBuf,
    config: Option<Config>,
}

/// A snapshot that was read, and how its server is configured.
#[derive(Debug)]
#[non_exhaustive]
pub struct Source {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// What the configuration asks for.
    pub options: Options,
    /// The snapshot's file.
    pub path: PathBuf,
    /// The text of the file, to find places in.
    text: String,
    /// The file's name in messages.
    shown: PathBuf,
}

impl Project {
    /// Finds and reads the configuration of the crate in a folder. A crate may do without one.
    ///
    /// # Errors
    /// Where there is a configuration and it cannot be read.
    pub fn open(manifest_dir: impl Into<PathBuf>) -> Result<Self, FileError> {
        let manifest_dir = manifest_dir.into();
        let config = Config::find(&manifest_dir).map(Config::load).transpose();
        let config = config.map_err(|error| shown_from(&manifest_dir, error))?;
        Ok(Self { manifest_dir, config })
    }

    /// The files that decide about every server.
    #[must_use]
    pub fn config_path(&self) -> Option<&Path> {
        self.config.as_ref()?.path.as_deref()
    }

    /// The names of the configured servers.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.config.iter().flat_map(|config| config.servers.keys()).map(String::as_str)
    }

    /// Whether diagnostics with a code are errors.
    #[must_use]
    pub fn denies(&self, diagnostic: &Diagnostic) -> bool {
        self.config.as_ref().is_some_and(|config| config.diagnostics.deny.iter().any(|code| code == diagnostic.code.id))
    }

    /// Whether diagnostics with a code are to be kept quiet.
    #[must_use]
    pub fn allows(&self, diagnostic: &Diagnostic) -> bool {
        self.config
            .as_ref()
            .is_some_and(|config| config.diagnostics.allow.iter().any(|code| code == diagnostic.code.id))
    }

    /// Reads the snapshot of a server: the given one, or where the configuration says it is.
    ///
    /// # Errors
    /// Where there is no such server, no snapshot, or not one that can be read.
    pub fn read(&self, server: &str, path: Option<&str>) -> Result<Source, FileError> {
        if !mcp_model::is_server_name(server) {
            let message = format!("`{}` is no name of a server", mcp_model::printable(server));
            return Err(FileError::new(message).with_help("use lower-case letters, digits, `-` and `_`, at most 64"));
        }
        let given = path.is_some();
        let configured = self.configured(server, given)?;
        let path = match (path, &self.config) {
            (Some(path), _) => self.manifest_dir.join(path),
            (None, Some(config)) => config.snapshot_path(server),
            (None, None) => self.manifest_dir.join("mcp").join(format!("{server}.json")),
        };
        let shown = relative(&self.manifest_dir, &path);
        if !path.is_file() {
            return Err(if given { no_file(&shown) } else { self.missing(server, &shown) });
        }
        let mend = || format!("run `mcp-bindgen sync {server}` to take the snapshot anew");
        let named = |error: FileError| {
            let help = error.help.or_else(|| Some(mend()));
            shown_from(&self.manifest_dir, FileError { path: Some(path.clone()), help, ..error })
        };
        let text = mcp_model::read_text(&path).map_err(named)?;
        let snapshot = Snapshot::parse(&text).map_err(named)?;
        let options = configured.map_or_else(|| Options::new(server), Options::for_server);
        Ok(Source { snapshot, options, text, shown, path })
    }

    fn configured(&self, server: &str, has_path: bool) -> Result<Option<&ServerConfig>, FileError> {
        let Some(config) = &self.config else {
            return Ok(None);
        };
        match config.server(server) {
            Ok(server) => Ok(Some(server)),
            Err(_) if has_path => Ok(None),
            Err(error) => Err(shown_from(&self.manifest_dir, error)),
        }
    }

    fn missing(&self, server: &str, shown: &Path) -> FileError {
        let shown = shown.display();
        match &self.config {
            Some(_) => FileError::new(format!("there is no snapshot of server `{server}`: looked for {shown}"))
                .with_help(format!("run `mcp-bindgen sync {server}` and commit the file")),
            None => FileError::new(format!(
                "no configuration names the server `{server}`: looked for mcp.toml and .mcp.json beside Cargo.toml and at \
                 the workspace root, and for {shown}"
            ))
            .with_help(format!("add `[servers.{server}]` to mcp.toml, then run `mcp-bindgen sync {server}`")),
        }
    }
}

impl Source {
    /// The error of the first of these patterns that matches no tool.
    ///
    /// # Errors
    /// Where a pattern matches nothing.
    pub fn check_patterns(&self, options: &Options) -> Result<(), FileError> {
        let Some(pattern) = options.unmatched(&self.snapshot).into_iter().next() else {
            return Ok(());
        };
        let names: Vec<&str> =
            self.snapshot.tools.iter().filter_map(|tool| tool.get("name").and_then(|name| name.as_str())).collect();
        let near = nearest(&pattern, names.iter().copied());
        let help = if near.is_empty() {
            "`mcp-bindgen list` shows the tools of a snapshot".to_owned()
        } else {
            format!("did you mean `{}`?", near.join("`, `"))
        };
        let error = FileError::new(format!("no tool matches `{}`", pattern.escape_debug()));
        Err(error.in_file(&self.shown).with_help(help))
    }

    /// The diagnostics that the project denies, as one error each.
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

    /// A diagnostic with its place in the file.
    #[must_use]
    pub fn located(&self, diagnostic: &Diagnostic) -> String {
        let place =
            diagnostic.position(&self.text).map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        format!(
            "{}[{}]: {}\n --> {}{place} (tool {}, {})\n  = help: {}",
            diagnostic.code.severity,
            diagnostic.code.id,
            diagnostic.summary(),
            self.shown.display(),
            mcp_model::printable(&diagnostic.tool),
            mcp_model::printable(&diagnostic.pointer),
            diagnostic.code.help,
        )
    }
}

fn no_file(shown: &Path) -> FileError {
    FileError::new(format!("there is no file {}", shown.display()))
        .with_help("`path` is relative to Cargo.toml's folder")
}

fn shown_from(manifest_dir: &Path, error: FileError) -> FileError {
    FileError { path: error.path.as_deref().map(|path| relative(manifest_dir, path)), ..error }
}

//! Bindings from a build script.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_model::{FileError, Prefix, write_if_changed};

use crate::bindings::Bindings;
use crate::format;
use crate::options::is_module_name;
use crate::project::{Project, Source};
use mcp_schema::diagnostics::Severity;

/// Generates bindings in `OUT_DIR`, for `mcp_bindgen::include_bindings!`.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     mcp_codegen::build_script::Builder::new().server("github").compile()?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    servers: Vec<Server>,
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    tools: Option<Vec<String>>,
    module: Option<String>,
    prefix: Option<Prefix>,
    path: Option<String>,
}

/// Why a build script generated nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A variable that cargo sets for build scripts is missing.
    Environment(&'static str),
    /// A file cannot be read or written, or is not what it should be.
    File(FileError),
    /// The project denies what the generator has to say.
    Denied(Vec<String>),
    /// Generated code could not be formatted.
    Format(String),
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(formatter, "{name} is not set: call this from a build script"),
            Self::File(error) => error.fmt(formatter),
            Self::Denied(diagnostics) => formatter.write_str(&diagnostics.join("\n")),
            Self::Format(error) => write!(formatter, "generated code is not Rust, please report it: {error}"),
        }
    }
}

impl Error for BuildError {}

impl From<FileError> for BuildError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl Builder {
    /// A builder for no server yet; without one, [`compile`](Self::compile) binds every server of `mcp.toml`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server. What follows, until the next server, is about this one.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.servers.push(Server { name: name.into(), tools: None, module: None, prefix: None, path: None });
        self
    }

    /// Binds only tools that match one of these patterns.
    pub fn tools<S: Into<String>>(self, patterns: impl IntoIterator<Item = S>) -> Self {
        let patterns = patterns.into_iter().map(Into::into).collect();
        self.last(|server| server.tools = Some(patterns))
    }

    /// Names the module, as it is written; `r#` may stand before a keyword.
    pub fn module(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.last(|server| server.module = Some(name))
    }

    /// Sets the prefix of handlers and types.
    pub fn prefix(self, prefix: Prefix) -> Self {
        self.last(|server| server.prefix = Some(prefix))
    }

    /// Reads the snapshot from a path relative to `Cargo.toml`.
    pub fn path(self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.last(|server| server.path = Some(path))
    }

    fn last(mut self, change: impl FnOnce(&mut Server)) -> Self {
        if let Some(server) = self.servers.last_mut() {
            change(server);
        }
        self
    }

    /// Generates the bindings, and tells cargo which files they were made from.
    ///
    /// # Errors
    /// Where a snapshot is missing or cannot be read, a pattern matches no tool, or the project denies a diagnostic.
    pub fn compile(self) -> Result<(), BuildError> {
        let folder =
            |name: &'static str| std::env::var_os(name).map(PathBuf::from).ok_or(BuildError::Environment(name));
        let (manifest_dir, out_dir) = (folder("CARGO_MANIFEST_DIR")?, folder("OUT_DIR")?);
        self.compile_in(&manifest_dir, &out_dir, &mut std::io::stdout().lock())
    }

    /// As [`compile`](Self::compile), with the folders given and cargo's instructions written to `cargo`.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_in(self, manifest_dir: &Path, out_dir: &Path, cargo: &mut dyn Write) -> Result<(), BuildError> {
        let project = Project::open(manifest_dir)?;
        let mut say = |line: String| {
            writeln!(cargo, "{line}").map_err(|error| FileError::new(format!("cannot talk to cargo: {error}")))
        };
        if let Some(config) = project.config_path() {
            say(format!("cargo::rerun-if-changed={}", config.display()))?;
        }
        let servers = if self.servers.is_empty() {
            project.servers().fold(Self::new(), |builder, server| builder.server(server)).servers
        } else {
            self.servers
        };
        for server in servers {
            let source = project.read(&server.name, server.path.as_deref())?;
            say(format!("cargo::rerun-if-changed={}", source.path.display()))?;
            let (text, warnings) = server.generate(&project, &source)?;
            for warning in warnings {
                say(format!("cargo::warning={}", warning.replace('\n', " ")))?;
            }
            let file = out_dir.join("mcp_bindgen").join(format!("{}.rs", server.name));
            write_if_changed(&file, text.as_bytes())?;
        }
        Ok(())
    }
}

impl Server {
    /// The source text, and the warnings.
    fn generate(&self, project: &Project, source: &Source) -> Result<(String, Vec<String>), BuildError> {
        let mut options = source.options.clone();
        if let Some(tools) = &self.tools {
            options = options.tools(tools.clone());
        }
        if let Some(module) = &self.module {
            if !is_module_name(module) {
                let message = format!("no module can be called `{}`", mcp_model::printable(module));
                return Err(FileError::new(message).with_help(format!("it is for server `{}`", self.name)).into());
            }
            options = options.module(module.clone());
        }
        if let Some(prefix) = &self.prefix {
            options = options.prefix(prefix.clone());
        }
        source.check_patterns(&options)?;
        let (tokens, diagnostics) = Bindings::generate(&source.snapshot, &options);
        let denied = source.denied(project, &diagnostics);
        if !denied.is_empty() {
            return Err(BuildError::Denied(denied));
        }
        let text = format(tokens).map_err(|error| BuildError::Format(error.to_string()))?;
        let worth = |said: &&crate::Diagnostic| said.code.severity >= Severity::Warning && !project.allows(said);
        Ok((text, diagnostics.iter().filter(worth).map(|said| source.located(said)).collect()))
    }
}

//! Bindings from a build script.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, Overrides, Prefix, Types, UnknownKeys, printable, write_if_changed};
use mcp_bindgen_schema::diagnostics::Severity;
use quote::ToTokens;
use syn::parse::Parser;

use crate::format;
use crate::live::{Door, VARIABLE};
use crate::options::{Options, Overlay, is_module_name};
use crate::project::{Project, Source, check_backend, check_pattern};
use crate::rules::{EXTERN, RENAME, SHARED, rule_methods};

/// Generates bindings in `OUT_DIR`, for `mcp_bindgen::include_bindings!`.
///
/// The source is the snapshots. With feature `live` and the environment variable `MCP_BINDGEN_LIVE` (`1`, or
/// comma-separated names of servers), the servers' tools are listed instead, once for each build: differences from
/// the snapshots are warnings, and the result is kept in `OUT_DIR/mcp_bindgen/NAME.live.json`.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let builder = mcp_bindgen_codegen::Builder::new().server("github");
///     builder.derive(["Ord", "PartialOrd"]).rename("create_issue", "open_issue").compile()?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    /// The options before the first server.
    every: Overlay,
    /// Each with all that is set for it, except `tools` of `every`.
    servers: Vec<(String, Overlay)>,
    /// The first setting that is not valid.
    fault: Option<BuildError>,
}

/// The error of a build script, about one server or several; the bindings of the others were written. `Debug` prints the
/// message too, because cargo shows it for an error that `main` returns.
#[derive(Clone)]
pub struct BuildError(String);

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for BuildError {}

impl From<FileError> for BuildError {
    fn from(error: FileError) -> Self {
        Self(error.to_string())
    }
}

impl Builder {
    /// Creates a builder without servers; then [`compile`](Self::compile) generates bindings for every server of
    /// `mcp.toml`.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a server. Options before the first server apply to all, later ones to the last added server.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.servers.push((name.into(), Overlay { tools: None, ..self.every.clone() }));
        self
    }

    /// Binds only tools that match one of these patterns.
    pub fn tools<S: Into<String>>(self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.set(|overlay| overlay.tools = Some(patterns.into_iter().map(Into::into).collect()))
    }

    /// Sets the name of the module, as in Rust; a keyword needs `r#`.
    pub fn module(self, name: impl Into<String>) -> Self {
        self.set(|overlay| overlay.module = Some(name.into()))
    }

    /// Sets the prefix of handlers and types.
    pub fn prefix(self, prefix: Prefix) -> Self {
        self.set(|overlay| overlay.prefix = Some(prefix))
    }

    /// Reads the snapshot from a path relative to `Cargo.toml`.
    pub fn path(self, path: impl Into<String>) -> Self {
        self.set(|overlay| overlay.path = Some(path.into()))
    }

    /// Excludes the tools that match one of these patterns, in addition to those that are excluded for all servers.
    pub fn exclude<S: Into<String>>(self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.set(|overlay| overlay.exclude.extend(patterns.into_iter().map(Into::into)))
    }

    /// Sets the path of this library in generated code; `"::mcp_bindgen"` by default.
    pub fn crate_path(mut self, path: impl Into<String>) -> Self {
        let path = path.into();
        match syn::Path::parse_mod_style.parse_str(&path) {
            Ok(parsed) => self.overlay().crate_path = Some(parsed.into_token_stream()),
            Err(_) => {
                let path = printable(&path);
                let message = format!("invalid module path `{path}`: expected a path such as `\"::mcp_bindgen\"`");
                self.fault.get_or_insert(BuildError(message));
            }
        }
        self
    }

    /// Sets the backend for types, see [`Options::types`](crate::Options::types).
    pub fn types(self, types: Types) -> Self {
        self.set(|overlay| overlay.types = Some(types))
    }

    /// Sets the handling of properties that a schema neither declares nor mentions.
    pub fn unknown(self, unknown: UnknownKeys) -> Self {
        self.set(|overlay| overlay.unknown = Some(unknown))
    }

    fn set(mut self, change: impl FnOnce(&mut Overlay)) -> Self {
        change(self.overlay());
        self
    }

    /// Returns the options that the next ones are added to.
    fn overlay(&mut self) -> &mut Overlay {
        self.servers.last_mut().map_or(&mut self.every, |(_, overlay)| overlay)
    }

    /// Generates the bindings, and lists their files for cargo.
    ///
    /// # Errors
    /// Fails if no server is bound, or one is bound twice. Fails if a snapshot is missing or unreadable, a pattern
    /// binds no tool, or the project denies a diagnostic.
    pub fn compile(self) -> Result<(), BuildError> {
        let folder = |name: &str| {
            let value = std::env::var_os(name).map(PathBuf::from);
            value.ok_or_else(|| BuildError(format!("{name} is not set: call this from a build script")))
        };
        let (manifest_dir, out_dir) = (folder("CARGO_MANIFEST_DIR")?, folder("OUT_DIR")?);
        self.compile_in(&manifest_dir, &out_dir, &mut std::io::stdout().lock())
    }

    /// Compiles like [`compile`](Self::compile), with the folders as parameters and cargo's instructions written to
    /// `cargo`.
    ///
    /// # Errors
    /// Fails like [`compile`](Self::compile).
    pub fn compile_in(self, manifest_dir: &Path, out_dir: &Path, cargo: &mut dyn Write) -> Result<(), BuildError> {
        let mut project = Project::open_in_build(manifest_dir, Door::BuildScript(out_dir.to_owned()))?;
        let mut say = |line: String| {
            writeln!(cargo, "cargo::{line}").map_err(|error| BuildError(format!("failed to write to cargo: {error}")))
        };
        if let Some(config) = project.config_path() {
            say(rerun_if_changed(config))?;
        }
        if project.live.depends_on_variable() {
            say(format!("rerun-if-env-changed={VARIABLE}"))?;
        }
        let servers = self.resolved(&project)?;
        for (name, overlay) in &servers {
            overlay.prefix.iter().for_each(|prefix| project.set_prefix(name, prefix));
        }
        let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
        for warning in project.warnings(&names) {
            say(as_warning(&warning))?;
        }
        let out_dir = out_dir.join("mcp_bindgen");
        let (mut sources, mut faults) = (Vec::new(), Vec::new());
        for (name, overlay) in &servers {
            let mut source = match project.read(name, overlay.path.as_deref()) {
                Ok(source) => source,
                Err(error) => {
                    faults.push(BuildError::from(error));
                    continue;
                }
            };
            for line in source.warnings.iter().flat_map(|warning| warning.lines()) {
                say(as_warning(line))?;
            }
            for file in source.files() {
                say(rerun_if_changed(file))?;
            }
            if source.overrides.is_none()
                && let Some(watch) = watch_absent(&Overrides::beside(&source.path), &out_dir, name)
            {
                say(rerun_if_changed(&watch))?;
            }
            let backend = || overlay.types.map_or(Ok(()), |types| check_backend(types, name));
            match source.overlay(&project, overlay).and_then(|()| backend()) {
                Ok(()) => sources.push((name, overlay, source)),
                Err(error) => faults.push(error.into()),
            }
        }
        // A pattern that does nothing may be about a server that cannot be read.
        if faults.is_empty() {
            faults.extend(self.check_patterns(&sources).err().map(BuildError::from));
        }
        for (name, overlay, source) in &mut sources {
            source.select(overlay.tools.as_ref().or(self.every.tools.as_ref()));
            match generate(&project, source) {
                Ok((text, warnings)) => {
                    for warning in warnings {
                        say(as_warning(&warning))?;
                    }
                    write_if_changed(&out_dir.join(format!("{name}.rs")), text.as_bytes())?;
                }
                Err(error) => faults.push(error),
            }
        }
        if faults.is_empty() { Ok(()) } else { Err(all(faults)) }
    }

    /// Returns the servers to bind.
    fn resolved(&self, project: &Project) -> Result<Vec<(String, Overlay)>, BuildError> {
        let mut servers = self.servers.clone();
        if servers.is_empty() {
            let overlay = Overlay { tools: None, ..self.every.clone() };
            servers.extend(project.servers().map(|name| (name.to_owned(), overlay.clone())));
        }
        if servers.is_empty() {
            let message = "no server is bound: add one with `.server(\"..\")`, or add `[servers.NAME]` to mcp.toml";
            return Err(BuildError(message.to_owned()));
        }
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = servers.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(BuildError(format!("server `{}` is bound twice", printable(twice))));
        }
        let has_rules = |option| !self.every.rules.of(option).is_empty();
        let single = [
            ("module", self.every.module.is_some()),
            ("path", self.every.path.is_some()),
            ("rename", has_rules(RENAME)),
            ("extern_type", has_rules(EXTERN)),
            ("shared", has_rules(SHARED)),
        ];
        if let Some((option, _)) = single.iter().find(|(_, given)| *given && servers.len() != 1) {
            let message = format!("`{option}` applies to one server: call it after its `.server(\"..\")`");
            return Err(BuildError(message));
        }
        for (name, overlay) in &servers {
            if let Some(module) = overlay.module.as_ref().filter(|module| !is_module_name(module)) {
                let message = format!("invalid module name `{}`", printable(module));
                return Err(FileError::new(message).with_help(format!("it is for server `{name}`")).into());
            }
        }
        self.fault.clone().map_or(Ok(servers), Err)
    }

    /// Checks patterns. A pattern for every server must match in one of them; a pattern for one server must match
    /// there.
    fn check_patterns(&self, sources: &[(&String, &Overlay, Source)]) -> Result<(), FileError> {
        for pattern in self.every.tools.iter().flatten() {
            let sharing = sources.iter().filter(|(_, overlay, _)| overlay.tools.is_none());
            check_pattern(Options::idle_pattern, pattern, sharing.map(|(.., source)| source))?;
        }
        for pattern in &self.every.exclude {
            check_pattern(Options::idle_exclude, pattern, sources.iter().map(|(.., source)| source))?;
        }
        for (_, overlay, source) in sources {
            for pattern in overlay.tools.iter().flatten() {
                check_pattern(Options::idle_pattern, pattern, [source])?;
            }
            for pattern in overlay.exclude.iter().skip(self.every.exclude.len()) {
                check_pattern(Options::idle_exclude, pattern, [source])?;
            }
        }
        Ok(())
    }
}

rule_methods!(Builder, overlay().rules);

fn all(errors: impl IntoIterator<Item = impl ToString>) -> BuildError {
    BuildError(errors.into_iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n"))
}

fn rerun_if_changed(file: &Path) -> String {
    format!("rerun-if-changed={}", file.display())
}

fn as_warning(text: &str) -> String {
    format!("warning={}", text.replace('\n', " "))
}

/// Returns the source text, and the warnings.
fn generate(project: &Project, source: &Source) -> Result<(String, Vec<String>), BuildError> {
    let (planned, faults) = source.plan(project);
    if !faults.is_empty() {
        return Err(all(faults.into_iter().map(|fault| fault.error)));
    }
    let diagnostics = planned.diagnostics();
    if let Some(denied) = source.denied(project, diagnostics) {
        return Err(denied.into());
    }
    let text = format(planned.module())
        .map_err(|error| BuildError(format!("generated code is not Rust, please report it: {error}")))?;
    let worth = |said: &&crate::Diagnostic| said.code.severity >= Severity::Warning && !project.allows(said);
    Ok((text, diagnostics.iter().filter(worth).map(|said| source.located(said)).collect()))
}

/// Returns the folder that cargo watches to run the build script again once `file` exists.
///
/// Cargo takes a missing file for a changed one, and would build the crate again each time. The folder of the file
/// changes with each of its other files. In a watched folder cargo follows links: a broken link counts as nothing, and
/// a link to a new file counts as a change. Returns `None` on systems without such links.
#[cfg(unix)]
fn watch_absent(file: &Path, out_dir: &Path, server: &str) -> Option<PathBuf> {
    use std::fs::{self, File};
    use std::time::SystemTime;

    let folder = out_dir.join("absent").join(server);
    let link = folder.join("overrides.json");
    let file = std::path::absolute(file).ok()?;
    fs::create_dir_all(&folder).ok()?;
    if fs::read_link(&link).ok().as_ref() != Some(&file) {
        // Fails if it does not exist.
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&file, &link).ok()?;
    }
    // Cargo compares with the time at which the script began.
    File::open(&folder).ok()?.set_modified(SystemTime::UNIX_EPOCH).ok()?;
    Some(folder)
}

/// Links need a privilege.
#[cfg(not(unix))]
fn watch_absent(_: &Path, _: &Path, _: &str) -> Option<PathBuf> {
    None
}

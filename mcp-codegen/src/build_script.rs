//! Bindings from a build script.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, Overrides, Prefix, Types, UnknownKeys, write_if_changed};
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::Parser;

use crate::absent::watch_absent;
use crate::bindings::Bindings;
use crate::format;
use crate::live::{Door, VARIABLE};
use crate::options::{Options, is_module_name};
use crate::project::{Project, Source, check_backend, check_excluded, check_pattern};
use crate::rules::{CHECKED, NAMED, Rule, Rules, SETTERS};
use mcp_bindgen_schema::diagnostics::Severity;

/// Generates bindings in `OUT_DIR`, for `mcp_bindgen::include_bindings!`.
///
/// The source is the snapshots. With feature `live` and the environment variable `MCP_BINDGEN_LIVE` (`1`, or
/// comma-separated names of servers), the servers' tools are listed instead, once for each build: differences from
/// the snapshots are warnings, and the result is kept in `OUT_DIR/mcp_bindgen/NAME.live.json`.
///
/// ```no_run
/// // build.rs
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     mcp_bindgen_codegen::Builder::new().server("github").compile()?;
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Builder {
    /// The settings before the first server.
    every: Settings,
    servers: Vec<(String, Settings)>,
}

#[derive(Clone, Debug, Default)]
struct Settings {
    tools: Option<Vec<String>>,
    exclude: Vec<String>,
    module: Option<String>,
    prefix: Option<Prefix>,
    path: Option<String>,
    crate_path: Option<String>,
    types: Option<Types>,
    unknown: Option<UnknownKeys>,
    rules: Rules,
}

/// The error of a build script. `Debug` prints the message too, because cargo shows it for an error that `main`
/// returns.
#[non_exhaustive]
pub enum BuildError {
    /// A variable that cargo sets for build scripts is missing.
    Environment(&'static str),
    /// The builder was told what makes no sense.
    Usage(String),
    /// A file cannot be read or written, or is not what it should be.
    File(FileError),
    /// The project denies what the generator has to say.
    Denied(Vec<String>),
    /// Generated code could not be formatted.
    Format(String),
    /// Several servers are at fault; the bindings of the others were written.
    Several(Vec<BuildError>),
}

impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(formatter, "{name} is not set: call this from a build script"),
            Self::Usage(message) => formatter.write_str(message),
            Self::File(error) => error.fmt(formatter),
            Self::Denied(diagnostics) => formatter.write_str(&diagnostics.join("\n")),
            Self::Several(errors) => {
                let errors: Vec<String> = errors.iter().map(Self::to_string).collect();
                formatter.write_str(&errors.join("\n"))
            }
            Self::Format(error) => write!(formatter, "generated code is not Rust, please report it: {error}"),
        }
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Error for BuildError {}

impl From<FileError> for BuildError {
    fn from(error: FileError) -> Self {
        Self::File(error)
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
        self.servers.push((name.into(), Settings::default()));
        self
    }

    /// Binds only tools that match one of these patterns.
    pub fn tools<S: Into<String>>(self, patterns: impl IntoIterator<Item = S>) -> Self {
        let patterns = patterns.into_iter().map(Into::into).collect();
        self.set(|settings| settings.tools = Some(patterns))
    }

    /// Sets the name of the module, as in Rust; a keyword needs `r#`.
    pub fn module(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.set(|settings| settings.module = Some(name))
    }

    /// Sets the prefix of handlers and types.
    pub fn prefix(self, prefix: Prefix) -> Self {
        self.set(|settings| settings.prefix = Some(prefix))
    }

    /// Reads the snapshot from a path relative to `Cargo.toml`.
    pub fn path(self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.set(|settings| settings.path = Some(path))
    }

    /// Excludes the tools that match one of these patterns, in addition to those that are excluded for all servers.
    pub fn exclude<S: Into<String>>(self, patterns: impl IntoIterator<Item = S>) -> Self {
        let patterns: Vec<String> = patterns.into_iter().map(Into::into).collect();
        self.set(|settings| settings.exclude.extend(patterns))
    }

    /// Sets the path of this library in generated code; `"::mcp_bindgen"` by default.
    pub fn crate_path(self, path: impl Into<String>) -> Self {
        let path = path.into();
        self.set(|settings| settings.crate_path = Some(path))
    }

    /// Sets the backend for types, see [`Options::types`].
    pub fn types(self, types: Types) -> Self {
        self.set(|settings| settings.types = Some(types))
    }

    /// Sets the handling of properties that a schema neither declares nor mentions.
    pub fn unknown(self, unknown: UnknownKeys) -> Self {
        self.set(|settings| settings.unknown = Some(unknown))
    }

    /// Adds derives, see [`Options::derive`].
    ///
    /// ```no_run
    /// # fn main() -> Result<(), mcp_bindgen_codegen::build_script::BuildError> {
    /// use mcp_bindgen_codegen::build_script::Builder;
    ///
    /// Builder::new().server("github").derive(["Ord", "PartialOrd"]).rename("create_issue", "open_issue").compile()
    /// # }
    /// ```
    pub fn derive<S: Into<String>>(self, paths: impl IntoIterator<Item = S>) -> Self {
        let derive = paths.into_iter().map(|path| Rule::in_code(String::new(), path)).collect();
        self.set(|settings| settings.rules.add(Rules { derive, ..Rules::default() }))
    }

    /// Renames a tool or the field of a property, see [`Options::rename`].
    pub fn rename(self, place: impl Into<String>, name: impl Into<String>) -> Self {
        let rename = vec![Rule::in_code(place, name)];
        self.set(|settings| settings.rules.add(Rules { rename, ..Rules::default() }))
    }

    /// Uses a type of the program for a definition, see [`Options::extern_type`].
    pub fn extern_type(self, pointer: impl Into<String>, path: impl Into<String>) -> Self {
        let extern_types = vec![Rule::in_code(pointer, path)];
        self.set(|settings| settings.rules.add(Rules { extern_types, ..Rules::default() }))
    }

    /// Uses one type for all places of a shape, see [`Options::shared`].
    pub fn shared(self, name: impl Into<String>, place: impl Into<String>) -> Self {
        let shared = vec![Rule::in_code(name, place)];
        self.set(|settings| settings.rules.add(Rules { shared, ..Rules::default() }))
    }

    /// Generates setters for optional fields, see [`Options::setters`].
    pub fn setters(self, on: bool) -> Self {
        self.set(|settings| settings.rules.add(Rules::switched(SETTERS, on)))
    }

    /// Generates builders instead of `new`, see [`Options::named`].
    pub fn named(self, on: bool) -> Self {
        self.set(|settings| settings.rules.add(Rules::switched(NAMED, on)))
    }

    /// Generates newtypes that check arguments, see [`Options::checked`].
    pub fn checked(self, on: bool) -> Self {
        self.set(|settings| settings.rules.add(Rules::switched(CHECKED, on)))
    }

    fn set(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(self.servers.last_mut().map_or(&mut self.every, |(_, settings)| settings));
        self
    }

    /// Generates the bindings, and tells cargo which files they depend on.
    ///
    /// # Errors
    /// Fails if no server is bound, or one twice; if a snapshot is missing or cannot be read, a pattern binds no tool, or
    /// the project denies a diagnostic.
    pub fn compile(self) -> Result<(), BuildError> {
        let folder =
            |name: &'static str| std::env::var_os(name).map(PathBuf::from).ok_or(BuildError::Environment(name));
        let (manifest_dir, out_dir) = (folder("CARGO_MANIFEST_DIR")?, folder("OUT_DIR")?);
        self.compile_in(&manifest_dir, &out_dir, &mut std::io::stdout().lock())
    }

    /// Like [`compile`](Self::compile), with the folders as parameters and cargo's instructions written to `cargo`.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_in(self, manifest_dir: &Path, out_dir: &Path, cargo: &mut dyn Write) -> Result<(), BuildError> {
        let mut project = Project::open_in_build(manifest_dir, Door::BuildScript(out_dir.to_owned()))?;
        let mut say = |line: String| {
            writeln!(cargo, "{line}").map_err(|error| FileError::new(format!("failed to write to cargo: {error}")))
        };
        if let Some(config) = project.config_path() {
            say(rerun_if_changed(config))?;
        }
        if project.depends_on_variable() {
            say(format!("cargo::rerun-if-env-changed={VARIABLE}"))?;
        }
        let servers = self.resolved(&project)?;
        for (name, settings) in &servers {
            settings.prefix.iter().for_each(|prefix| project.set_prefix(name, prefix));
        }
        let names: Vec<&str> = servers.iter().map(|(name, _)| name.as_str()).collect();
        for warning in project.warnings(&names) {
            say(as_warning(&warning))?;
        }
        let mut sources = Vec::new();
        let mut faults: Vec<BuildError> = Vec::new();
        for (name, settings) in &servers {
            let mut source = match project.read(name, settings.path.as_deref()) {
                Ok(source) => source,
                Err(error) => {
                    faults.push(error.into());
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
                && let Some(watch) = watch_absent(&Overrides::beside(&source.path), &out_dir.join("mcp_bindgen"), name)
            {
                say(rerun_if_changed(&watch))?;
            }
            let configured = source.check_configured(&project).map_err(BuildError::from);
            match configured.and_then(|()| settings.without_tools(source.options.clone())) {
                Ok(options) => source.options = options,
                Err(error) => {
                    faults.push(error);
                    continue;
                }
            }
            sources.push((name, settings, source));
        }
        // A pattern that does nothing may be about a server that cannot be read.
        if faults.is_empty() {
            self.check_patterns(&sources.iter().map(|(_, _, source)| source).collect::<Vec<_>>())?;
        }
        for (name, settings, source) in &mut sources {
            if let Some(tools) = &settings.tools {
                source.options = source.options.clone().tools(tools.clone());
            }
            match generate(&project, source) {
                Ok((text, warnings)) => {
                    for warning in warnings {
                        say(as_warning(&warning))?;
                    }
                    let file = out_dir.join("mcp_bindgen").join(format!("{name}.rs"));
                    write_if_changed(&file, text.as_bytes())?;
                }
                Err(error) => faults.push(error),
            }
        }
        match faults.len() {
            0 | 1 => faults.pop().map_or(Ok(()), Err),
            _ => Err(BuildError::Several(faults)),
        }
    }

    /// The servers to bind, each with all that is set for it.
    fn resolved(&self, project: &Project) -> Result<Vec<(String, Settings)>, BuildError> {
        let mut servers = self.servers.clone();
        if servers.is_empty() {
            servers.extend(project.servers().map(|name| (name.to_owned(), Settings::default())));
        }
        if servers.is_empty() {
            let message = "no server is bound: add one with `.server(\"..\")`, or add `[servers.NAME]` to mcp.toml";
            return Err(BuildError::Usage(message.to_owned()));
        }
        let mut seen = BTreeSet::new();
        if let Some((twice, _)) = servers.iter().find(|(name, _)| !seen.insert(name)) {
            return Err(BuildError::Usage(format!("server `{}` is bound twice", mcp_bindgen_model::printable(twice))));
        }
        let rules = &self.every.rules;
        let single = [
            ("module", self.every.module.is_some()),
            ("path", self.every.path.is_some()),
            ("rename", !rules.rename.is_empty()),
            ("extern_type", !rules.extern_types.is_empty()),
            ("shared", !rules.shared.is_empty()),
        ];
        if let Some((option, _)) = single.iter().find(|(_, given)| *given && servers.len() != 1) {
            let message = format!("`{option}` applies to one server: call it after its `.server(\"..\")`");
            return Err(BuildError::Usage(message));
        }
        let servers: Vec<_> = servers.into_iter().map(|(name, settings)| (name, settings.or(&self.every))).collect();
        for (name, settings) in &servers {
            if let Some(module) = settings.module.as_ref().filter(|module| !is_module_name(module)) {
                let message = format!("invalid module name `{}`", mcp_bindgen_model::printable(module));
                return Err(FileError::new(message).with_help(format!("it is for server `{name}`")).into());
            }
        }
        Ok(servers)
    }

    /// A pattern for every server has to match in one of them, a pattern for one server there.
    fn check_patterns(&self, sources: &[&Source]) -> Result<(), FileError> {
        let own = |place: usize| self.servers.get(place).and_then(|(_, settings)| settings.tools.as_ref());
        for pattern in self.every.tools.iter().flatten() {
            let sharing = sources.iter().enumerate().filter(|(place, _)| own(*place).is_none());
            check_pattern(pattern, sharing.map(|(_, source)| *source))?;
        }
        for pattern in &self.every.exclude {
            check_excluded(pattern, sources.iter().copied())?;
        }
        for (place, source) in sources.iter().enumerate() {
            for pattern in own(place).into_iter().flatten() {
                check_pattern(pattern, [*source])?;
            }
            for pattern in self.servers.get(place).iter().flat_map(|(_, settings)| &settings.exclude) {
                check_excluded(pattern, [*source])?;
            }
        }
        Ok(())
    }
}

fn rerun_if_changed(file: &Path) -> String {
    format!("cargo::rerun-if-changed={}", file.display())
}

fn as_warning(text: &str) -> String {
    format!("cargo::warning={}", text.replace('\n', " "))
}

impl Settings {
    fn or(self, every: &Self) -> Self {
        let mut rules = every.rules.clone();
        rules.add(self.rules);
        Self {
            tools: self.tools.or_else(|| every.tools.clone()),
            module: self.module.or_else(|| every.module.clone()),
            prefix: self.prefix.or_else(|| every.prefix.clone()),
            path: self.path.or_else(|| every.path.clone()),
            crate_path: self.crate_path.or_else(|| every.crate_path.clone()),
            types: self.types.or(every.types),
            unknown: self.unknown.or(every.unknown),
            exclude: [every.exclude.as_slice(), &self.exclude].concat(),
            rules,
        }
    }

    fn without_tools(&self, mut options: Options) -> Result<Options, BuildError> {
        if let Some(module) = &self.module {
            options = options.module(module.clone());
        }
        if let Some(prefix) = &self.prefix {
            options = options.prefix(prefix.clone());
        }
        if let Some(path) = &self.crate_path {
            options = options.crate_path(module_path(path)?);
        }
        if let Some(types) = self.types {
            check_backend(types, &options.server)?;
            options = options.types(types);
        }
        if let Some(unknown) = self.unknown {
            options = options.unknown(unknown);
        }
        Ok(options.exclude(self.exclude.clone()).rules(self.rules.clone()))
    }
}

fn module_path(path: &str) -> Result<TokenStream, BuildError> {
    let parsed = syn::Path::parse_mod_style.parse_str(path).map_err(|_| {
        BuildError::Usage(format!(
            "invalid module path `{}`: expected a path such as `\"::mcp_bindgen\"`",
            mcp_bindgen_model::printable(path)
        ))
    })?;
    Ok(parsed.into_token_stream())
}

/// The source text, and the warnings.
fn generate(project: &Project, source: &Source) -> Result<(String, Vec<String>), BuildError> {
    if let Some(fault) = source.faults().into_iter().next() {
        return Err(fault.error.into());
    }
    let (tokens, diagnostics) = Bindings::generate(&source.snapshot, &source.options);
    let denied = source.denied(project, &diagnostics);
    if !denied.is_empty() {
        return Err(BuildError::Denied(denied));
    }
    let text = format(tokens).map_err(|error| BuildError::Format(error.to_string()))?;
    let worth = |said: &&crate::Diagnostic| said.code.severity >= Severity::Warning && !project.allows(said);
    Ok((text, diagnostics.iter().filter(worth).map(|said| source.located(said)).collect()))
}

//! Options of the generator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_bindgen_model::{Config, Prefix, ServerConfig, Types, UnknownKeys, matches_globs};
use mcp_bindgen_schema::names::PrefixedNames;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::Value;

use crate::names::{Style, ident, module_name, server_module};
use crate::paths::{in_manifest_dir, relative};
use crate::rules::{RENAME, Rules, rule_methods};

/// Options of [`Bindings::generate`](crate::Bindings::generate).
///
/// ```
/// use mcp_bindgen_codegen::Options;
///
/// let options = Options::new("github").module("gh").tools(["create_issue", "list_*"]);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Options {
    /// The configuration, as far as bindings depend on it.
    pub(crate) server: ServerConfig,
    pub(crate) module: Option<String>,
    /// A tool has to match one pattern of each list.
    pub(crate) tools: Vec<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) crate_path: TokenStream,
    /// The configuration that bindings embed.
    pub(crate) config: Option<Value>,
    /// The base folder for relative paths of `config`, as code.
    pub(crate) folder: Option<TokenStream>,
    pub(crate) rules: Rules,
    /// The names of other servers, which this server's names must not equal.
    pub(crate) beside: Arc<PrefixedNames>,
    pub(crate) beside_files: Vec<PathBuf>,
}

impl Options {
    /// Creates the default options for a server: the module and the prefix are named after it, and all tools are
    /// bound.
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: ServerConfig::stdio(server, ""),
            module: None,
            tools: Vec::new(),
            exclude: Vec::new(),
            crate_path: quote!(::mcp_bindgen),
            config: None,
            folder: None,
            rules: Rules::default(),
            beside: Arc::default(),
            beside_files: Vec::new(),
        }
    }

    /// Returns the options of a server's configuration: its prefix, its tools, and how bindings connect.
    pub fn for_server(config: &ServerConfig) -> Self {
        Self {
            server: config.clone(),
            tools: config.tools.iter().cloned().collect(),
            exclude: config.exclude.clone(),
            rules: Rules::from(config),
            config: Some(config.to_json()),
            ..Self::new("")
        }
    }

    /// Creates options like [`for_server`](Self::for_server), for the crate in a folder. If the configuration has
    /// relative paths, the bindings store its folder relative to `CARGO_MANIFEST_DIR`.
    pub fn for_crate(config: &ServerConfig, manifest_dir: &Path) -> Self {
        let mut options = Self::for_server(config);
        if let Some(folder) = config.folder.as_deref().filter(|_| config.has_relative_paths()) {
            options.folder = Some(in_manifest_dir(&relative(manifest_dir, folder)));
        }
        options
    }

    /// Makes the prefixed names of tools unique among all servers of a configuration. Reads the snapshots of servers
    /// whose prefixes could collide.
    pub fn beside(mut self, config: &Config) -> Self {
        let (names, files) = PrefixedNames::beside(config, &self.server.name);
        (self.beside, self.beside_files) = (Arc::new(names), files);
        self
    }

    /// Sets the name of the generated module, as in Rust; a keyword needs `r#`. A name that is not an identifier is
    /// converted like a server's name; the macro and build scripts reject it, see [`is_module_name`].
    pub fn module(mut self, name: impl Into<String>) -> Self {
        self.module = Some(name.into());
        self
    }

    /// Returns the server's name.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.server.name
    }

    /// Returns the name of the module.
    #[must_use]
    pub fn module_name(&self) -> String {
        self.module.as_deref().map_or_else(|| server_module(&self.server.name), |module| Style::Snake.apply(module))
    }

    /// Sets the prefix of handlers and types.
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.server.prefix = prefix;
        self
    }

    /// Sets the backend for types. [`Types::Typify`] needs feature `typify`; a tool that typify does not support gets
    /// the generator's own types, with a diagnostic.
    pub fn types(mut self, types: Types) -> Self {
        self.server.types = types;
        self
    }

    /// Binds only tools that match one of these patterns, or one of earlier calls.
    pub fn tools<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.tools.push(patterns.into_iter().map(Into::into).collect());
        self
    }

    /// Excludes the tools that match one of these patterns, in addition to earlier calls.
    pub fn exclude<S: Into<String>>(mut self, patterns: impl IntoIterator<Item = S>) -> Self {
        self.exclude.extend(patterns.into_iter().map(Into::into));
        self
    }

    /// Sets the handling of properties that a schema neither declares nor mentions.
    pub fn unknown(mut self, unknown: UnknownKeys) -> Self {
        self.server.unknown = unknown;
        self
    }

    /// Sets the path of this library in generated code; `::mcp_bindgen` by default.
    pub fn crate_path(mut self, path: TokenStream) -> Self {
        self.crate_path = path;
        self
    }

    /// Returns the path of the items of the library that only bindings need.
    pub(crate) fn private_path(&self) -> TokenStream {
        let krate = &self.crate_path;
        quote!(#krate::__private)
    }

    /// Returns the bound of `connect()`, if the configuration sets a transport.
    pub(crate) fn connect_bound(&self) -> Option<&'static str> {
        let config = self.config.as_ref()?;
        let bounds = [("url", "OverHttp"), ("command", "OverStdio")];
        bounds.iter().find(|(key, _)| config.get(key).is_some()).map(|(_, name)| *name)
    }

    /// Returns the identifier of the generated module.
    pub(crate) fn module_ident(&self) -> Ident {
        match self.module.as_deref().and_then(module_name) {
            Some(name) => ident(name),
            None => ident(&self.module_name()),
        }
    }

    /// Returns the tools that the options name in full.
    pub(crate) fn named_tools(&self) -> impl Iterator<Item = &String> {
        let patterns = self.tools.iter().flatten().chain(&self.server.approve).chain(&self.server.remote_use);
        let renamed = self.rules.of(RENAME).into_iter().filter(|rule| !rule.key.contains('/'));
        patterns.chain(renamed.flat_map(|rule| [&rule.key, &rule.value])).filter(|name| !name.contains(['*', '?', '!']))
    }

    /// Returns the options for every tool of the server.
    pub(crate) fn everything(&self) -> Self {
        let mut options = Self { tools: Vec::new(), exclude: Vec::new(), ..self.clone() };
        (options.server.tools, options.server.exclude) = (None, Vec::new());
        options
    }

    pub(crate) fn selects(&self, tool: &str) -> bool {
        self.left_out_by(tool).is_none()
    }

    /// Returns the key of the configuration that excludes a tool, if any: `tools` or `exclude`.
    ///
    /// ```
    /// use mcp_bindgen_codegen::Options;
    ///
    /// let options = Options::new("github").tools(["list_*", "delete_repo"]).exclude(["delete_*"]);
    /// let left_out = ["list_issues", "create_issue", "delete_repo"].map(|tool| options.left_out_by(tool));
    /// assert_eq!(left_out, [None, Some("tools"), Some("exclude")]);
    /// ```
    #[must_use]
    pub fn left_out_by(&self, tool: &str) -> Option<&'static str> {
        if self.lists(tool) { matches_globs(&self.exclude, tool).then_some("exclude") } else { Some("tools") }
    }

    /// Returns `true` if `approve` of the configuration names the tool (by its name on the server).
    #[must_use]
    pub fn needs_approval(&self, tool: &str) -> bool {
        self.server.needs_approval(tool)
    }

    /// Returns `true` if every list of `tools` has it, whatever `exclude` says.
    pub(crate) fn lists(&self, tool: &str) -> bool {
        self.tools.iter().all(|patterns| matches_globs(patterns, tool))
    }
}

rule_methods!(Options, rules);

/// Returns `true` for valid names of modules: `gh`, `GitHub`, `async` and `r#async`, but not `self` or `my-mod`.
#[must_use]
pub fn is_module_name(name: &str) -> bool {
    module_name(name).is_some()
}

/// Options that override those of the configuration.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overlay {
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) module: Option<String>,
    pub(crate) prefix: Option<Prefix>,
    /// The path of the snapshot.
    pub(crate) path: Option<String>,
    /// The path of the library.
    pub(crate) crate_path: Option<TokenStream>,
    pub(crate) types: Option<Types>,
    pub(crate) unknown: Option<UnknownKeys>,
    pub(crate) rules: Rules,
}

impl Overlay {
    /// Returns the options with these, except `tools`: a pattern is first checked against the others.
    pub(crate) fn apply(&self, mut options: Options) -> Options {
        let more = self.clone();
        options.module = more.module.or(options.module);
        options.server.prefix = more.prefix.unwrap_or(options.server.prefix);
        options.crate_path = more.crate_path.unwrap_or(options.crate_path);
        options.server.types = more.types.unwrap_or(options.server.types);
        options.server.unknown = more.unknown.unwrap_or(options.server.unknown);
        options.rules.extend(more.rules);
        options.exclude(more.exclude)
    }
}

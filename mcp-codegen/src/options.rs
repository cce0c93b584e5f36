//! Options of the generator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_bindgen_model::{Config, PatternPlaces, PolicyRule, Prefix, ServerConfig, Types, UnknownKeys, matches_globs};
use mcp_bindgen_schema::names::PrefixedNames;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use serde_json::Value;

use crate::names::{Style, ident, module_name, server_module};
use crate::paths::{in_manifest_dir, relative};
use crate::rules::{CHECKED, NAMED, Rule, Rules, SETTERS};

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
    pub(crate) server: String,
    pub(crate) module: Option<String>,
    pub(crate) prefix: Prefix,
    /// A tool has to match one pattern of each list.
    pub(crate) tools: Vec<Vec<String>>,
    pub(crate) exclude: Vec<String>,
    pub(crate) approve: Vec<String>,
    pub(crate) policies: Vec<PolicyRule>,
    pub(crate) prompts: Vec<String>,
    pub(crate) remote_use: Vec<String>,
    pub(crate) pattern_places: PatternPlaces,
    pub(crate) crate_path: TokenStream,
    pub(crate) config: Option<Value>,
    /// Where relative paths of `config` lead, as code.
    pub(crate) folder: Option<TokenStream>,
    pub(crate) types: Types,
    pub(crate) unknown: UnknownKeys,
    pub(crate) rules: Rules,
    /// The names of other servers, which those of this one are told apart from.
    pub(crate) beside: Arc<PrefixedNames>,
    pub(crate) beside_files: Vec<PathBuf>,
    /// The patterns `tools` and `exclude` of the configuration alone.
    configured: (Option<Vec<String>>, Vec<String>),
}

impl Options {
    /// Creates the default options for a server: the module and the prefix are named after it, and all tools are
    /// bound.
    pub fn new(server: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            module: None,
            prefix: Prefix::ServerName,
            tools: Vec::new(),
            exclude: Vec::new(),
            approve: Vec::new(),
            policies: Vec::new(),
            prompts: Vec::new(),
            remote_use: Vec::new(),
            pattern_places: PatternPlaces::default(),
            crate_path: quote!(::mcp_bindgen),
            config: None,
            folder: None,
            types: Types::Native,
            unknown: UnknownKeys::Ignore,
            rules: Rules::default(),
            beside: Arc::default(),
            beside_files: Vec::new(),
            configured: (None, Vec::new()),
        }
    }

    /// Returns the options of a server's configuration: its prefix, its tools, and how bindings connect.
    pub fn for_server(config: &ServerConfig) -> Self {
        let mut options = Self::new(&config.name);
        options.prefix = config.prefix.clone();
        options.tools.extend(config.tools.clone());
        options.exclude.clone_from(&config.exclude);
        options.configured = (config.tools.clone(), config.exclude.clone());
        options.approve.clone_from(&config.approve);
        options.policies.clone_from(&config.policies);
        options.prompts = config.prompts.clone().unwrap_or_default();
        options.remote_use.clone_from(&config.remote_use);
        options.pattern_places = config.pattern_places.clone();
        options.types = config.types;
        options.unknown = config.unknown;
        options.rules = Rules::from(config);
        options.config = Some(config.to_json());
        options
    }

    /// Like [`for_server`](Self::for_server), for the crate in a folder: if the configuration has relative paths, the
    /// bindings store its folder relative to `CARGO_MANIFEST_DIR`.
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
        let (names, files) = PrefixedNames::beside(config, &self.server);
        (self.beside, self.beside_files) = (Arc::new(names), files);
        self
    }

    /// Sets the name of the generated module, as in Rust; a keyword needs `r#`. A name that is no identifier is
    /// converted like a server's name; the macro and build scripts reject it, see [`is_module_name`].
    pub fn module(mut self, name: impl Into<String>) -> Self {
        self.module = Some(name.into());
        self
    }

    /// Returns the server's name.
    #[must_use]
    pub fn server_name(&self) -> &str {
        &self.server
    }

    /// Returns the name of the module.
    #[must_use]
    pub fn module_name(&self) -> String {
        self.module.as_deref().map_or_else(|| server_module(&self.server), |module| Style::Snake.apply(module))
    }

    /// Sets the prefix of handlers and types.
    pub fn prefix(mut self, prefix: Prefix) -> Self {
        self.prefix = prefix;
        self
    }

    /// Sets the backend for types. [`Types::Typify`] needs feature `typify`; a tool that typify does not support gets
    /// the generator's own types, with a diagnostic.
    pub fn types(mut self, types: Types) -> Self {
        self.types = types;
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
        self.unknown = unknown;
        self
    }

    /// Adds derives: `"Eq"`, `"PartialOrd"` and the like on types that can have them, any other path on every type.
    pub fn derive<S: Into<String>>(self, paths: impl IntoIterator<Item = S>) -> Self {
        let derive = paths.into_iter().map(|path| Rule::in_code(String::new(), path)).collect();
        self.rules(Rules { derive, ..Rules::default() })
    }

    /// Renames a tool (`"create_issue"`) or the field of a property (`"create_issue/labels"`,
    /// `"create_issue/$output/number"`, `"create_entities/entities/*/name"`). The JSON keeps the original names.
    pub fn rename(self, place: impl Into<String>, name: impl Into<String>) -> Self {
        self.rules(Rules { rename: vec![Rule::in_code(place, name)], ..Rules::default() })
    }

    /// Uses a type of the program, which implements serde's traits, for a definition: `"#/$defs/Money"`,
    /// `"crate::Money"`.
    pub fn extern_type(self, pointer: impl Into<String>, path: impl Into<String>) -> Self {
        self.rules(Rules { extern_types: vec![Rule::in_code(pointer, path)], ..Rules::default() })
    }

    /// Uses one type with this name for every place with the same shape as the given one: `"Entity"`,
    /// `"create_entities/entities/*"`.
    pub fn shared(self, name: impl Into<String>, place: impl Into<String>) -> Self {
        self.rules(Rules { shared: vec![Rule::in_code(name, place)], ..Rules::default() })
    }

    /// Generates setters for the optional fields of parameters: `Params::new("title").labels(labels)`.
    pub fn setters(self, on: bool) -> Self {
        self.rules(Rules::switched(SETTERS, on))
    }

    /// Generates a builder instead of a positional `new`; its `build` is available once all required properties are
    /// set: `Params::builder().title("t").build()`.
    pub fn named(self, on: bool) -> Self {
        self.rules(Rules::switched(NAMED, on))
    }

    /// Generates newtypes for strings and numbers of arguments with a pattern, a length or bounds: they cannot hold
    /// invalid values. Results keep plain types.
    pub fn checked(self, on: bool) -> Self {
        self.rules(Rules::switched(CHECKED, on))
    }

    pub(crate) fn rules(mut self, more: Rules) -> Self {
        self.rules.add(more);
        self
    }

    /// Sets the path of this library in generated code; `::mcp_bindgen` by default.
    pub fn crate_path(mut self, path: TokenStream) -> Self {
        self.crate_path = path;
        self
    }

    /// Where the library keeps what no program needs but bindings do.
    pub(crate) fn private_path(&self) -> TokenStream {
        let krate = &self.crate_path;
        quote!(#krate::__private)
    }

    /// The bound of `connect()`, where the configuration tells how the server is reached.
    pub(crate) fn connect_bound(&self) -> Option<Ident> {
        let config = self.config.as_ref()?;
        let bounds = [("url", "OverHttp"), ("command", "OverStdio")];
        bounds.into_iter().find(|(key, _)| config.get(key).is_some()).map(|(_, name)| ident(name))
    }

    /// The identifier of the generated module.
    pub(crate) fn module_ident(&self) -> Ident {
        match self.module.as_deref().and_then(module_name) {
            Some(name) => ident(name),
            None => ident(&self.module_name()),
        }
    }

    /// The tools that the options name in full.
    pub(crate) fn named_tools(&self) -> impl Iterator<Item = &str> {
        let patterns = self.tools.iter().flatten().chain(&self.approve).chain(&self.remote_use);
        let renamed = self.rules.rename.iter().filter(|rule| !rule.key.contains('/'));
        let renamed = renamed.flat_map(|rule| [&rule.key, &rule.value]);
        patterns.chain(renamed).map(String::as_str).filter(|name| !name.contains(['*', '?', '!']))
    }

    /// The same for every tool that the server has.
    pub(crate) fn everything(&self) -> Self {
        Self { tools: Vec::new(), exclude: Vec::new(), configured: (None, Vec::new()), ..self.clone() }
    }

    /// Returns `true` if the configuration selects a tool, whatever macro or build script select of it: it has a name
    /// then.
    pub(crate) fn is_named(&self, tool: &str) -> bool {
        let (tools, exclude) = &self.configured;
        tools.as_deref().is_none_or(|tools| matches_globs(tools, tool)) && !matches_globs(exclude, tool)
    }

    pub(crate) fn selects(&self, tool: &str) -> bool {
        self.lists(tool) && !matches_globs(&self.exclude, tool)
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
        match (self.lists(tool), matches_globs(&self.exclude, tool)) {
            (false, _) => Some("tools"),
            (true, true) => Some("exclude"),
            (true, false) => None,
        }
    }

    /// Returns `true` if `approve` of the configuration names the tool (by its name on the server).
    #[must_use]
    pub fn needs_approval(&self, tool: &str) -> bool {
        matches_globs(&self.approve, tool)
    }

    /// Returns `true` if every list of `tools` has it, whatever `exclude` says.
    pub(crate) fn lists(&self, tool: &str) -> bool {
        self.tools.iter().all(|patterns| matches_globs(patterns, tool))
    }
}

/// Returns `true` for valid names of modules: `gh`, `GitHub`, `async` and `r#async`, but not `self` or `my-mod`.
#[must_use]
pub fn is_module_name(name: &str) -> bool {
    module_name(name).is_some()
}

//! The options that a macro or a build script sets on top of the configuration.

use mcp_bindgen_model::{Prefix, Types, UnknownKeys};
use proc_macro2::TokenStream;

use crate::options::Options;
use crate::rules::Rules;

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

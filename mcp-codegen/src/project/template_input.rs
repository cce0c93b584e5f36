//! The grammar of `mcp_template!`.

use proc_macro2::{Ident, TokenStream};
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

use super::macro_input::{module, option, table};
use crate::rust_path::module_path;

/// `"prompts/triage.md", mod = daily, snapshots = { github = "schemas/github.json" }, crate = ..`
pub(super) struct TemplateInput {
    pub(super) path: LitStr,
    pub(super) module: Option<Ident>,
    /// The names of servers, and the paths of their snapshots.
    pub(super) snapshots: Vec<(String, LitStr)>,
    pub(super) crate_path: Option<TokenStream>,
}

const OPTIONS: [&str; 3] = ["mod", "snapshots", "crate"];

impl Parse for TemplateInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(LitStr) {
            return Err(input.error("expected a path relative to Cargo.toml: `\"prompts/triage.md\"`"));
        }
        let mut parsed = Self { path: input.parse()?, module: None, snapshots: Vec::new(), crate_path: None };
        let mut seen = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(LitStr) {
                return Err(input.error("expected one template; use a separate `mcp_template!` for each"));
            }
            match option(input, &OPTIONS, &mut seen)?.0 {
                "mod" => parsed.module = Some(module(input)?),
                "snapshots" => {
                    let entries = table(input, "snapshots = { github = \"schemas/github.json\" }")?;
                    parsed.snapshots = entries.into_iter().map(|entry| (entry.key, entry.value)).collect();
                }
                _ => parsed.crate_path = Some(module_path(input)?),
            }
        }
        Ok(parsed)
    }
}

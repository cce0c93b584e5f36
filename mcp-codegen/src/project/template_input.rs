//! The grammar of `mcp_template!`.

use proc_macro2::{Ident, TokenStream};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

use super::macro_input::{module, path, table, unknown_option};
use crate::rules::Rule;

/// `"prompts/triage.md", mod = daily, snapshots = { github = "schemas/github.json" }, crate = ..`
pub(super) struct TemplateInput {
    pub(super) path: LitStr,
    pub(super) module: Option<Ident>,
    /// The paths of the snapshots, by the names of servers.
    pub(super) snapshots: Vec<Rule>,
    pub(super) crate_path: Option<TokenStream>,
}

const OPTIONS: [&str; 3] = ["mod", "snapshots", "crate"];

impl Parse for TemplateInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(LitStr) {
            return Err(input.error("expected a path relative to Cargo.toml: `\"prompts/triage.md\"`"));
        }
        let mut parsed = Self { path: input.parse()?, module: None, snapshots: Vec::new(), crate_path: None };
        let mut seen: Vec<String> = Vec::new();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            if input.peek(LitStr) {
                return Err(input.error("expected one template; use a separate `mcp_template!` for each"));
            }
            let key = input.call(Ident::parse_any)?;
            let name = key.to_string();
            if !OPTIONS.contains(&name.as_str()) {
                return Err(unknown_option(&key, &OPTIONS));
            }
            if seen.contains(&name) {
                return Err(syn::Error::new(key.span(), format!("duplicate option `{name}`")));
            }
            input.parse::<Token![=]>()?;
            match name.as_str() {
                "mod" => parsed.module = Some(module(input)?),
                "snapshots" => {
                    parsed.snapshots = table(input, "snapshots = { github = \"schemas/github.json\" }")?;
                }
                _ => parsed.crate_path = Some(path(input)?),
            }
            seen.push(name);
        }
        Ok(parsed)
    }
}

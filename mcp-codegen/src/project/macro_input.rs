//! The grammar of `mcp_tools!`.

use mcp_model::Prefix;
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitBool, LitStr, Token, bracketed};

use crate::options::is_module_name;

/// `"github", "git", tools = ["create_issue", "list_*"], mod = gh, prefix = "gh", path = "...", crate = ...`
#[derive(Default)]
pub(super) struct MacroInput {
    pub(super) servers: Vec<LitStr>,
    pub(super) tools: Vec<LitStr>,
    pub(super) module: Option<Ident>,
    pub(super) prefix: Option<Prefix>,
    pub(super) path: Option<LitStr>,
    pub(super) crate_path: Option<TokenStream>,
}

const OPTIONS: [&str; 5] = ["tools", "mod", "prefix", "path", "crate"];

impl Parse for MacroInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut parsed = Self::default();
        let mut seen: Vec<String> = Vec::new();
        while !input.is_empty() {
            if input.peek(LitStr) {
                let server: LitStr = input.parse()?;
                if !seen.is_empty() {
                    return Err(syn::Error::new(server.span(), "servers stand before options"));
                }
                if parsed.servers.iter().any(|known| known.value() == server.value()) {
                    return Err(syn::Error::new(server.span(), "this server is already named"));
                }
                parsed.servers.push(server);
            } else {
                let key = input.call(Ident::parse_any)?;
                if !input.peek(Token![=]) && !OPTIONS.contains(&key.to_string().as_str()) {
                    return Err(syn::Error::new(key.span(), format!("a server is a string: `\"{key}\"`")));
                }
                if seen.contains(&key.to_string()) {
                    return Err(syn::Error::new(key.span(), format!("option `{key}` is already given")));
                }
                seen.push(key.to_string());
                parsed.option(&key, input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let single = ["mod", "path"].into_iter().find(|option| seen.iter().any(|key| key == option));
        if let Some(option) = single.filter(|_| parsed.servers.len() != 1) {
            let place = parsed.servers.get(1).map_or_else(Span::call_site, LitStr::span);
            let message = format!("option `{option}` is for one server; give each its own `mcp_tools!`");
            return Err(syn::Error::new(place, message));
        }
        Ok(parsed)
    }
}

impl MacroInput {
    fn option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = key.to_string();
        if !OPTIONS.contains(&name.as_str()) {
            let near = mcp_model::nearest(&name, OPTIONS);
            let hint = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let known = OPTIONS.join("`, `");
            return Err(syn::Error::new(key.span(), format!("unknown option `{name}`{hint} (known: `{known}`)")));
        }
        input.parse::<Token![=]>()?;
        match name.as_str() {
            "tools" if !input.peek(syn::token::Bracket) => {
                return Err(input.error("expected a list of patterns: `tools = [\"create_issue\", \"list_*\"]`"));
            }
            "tools" => {
                let list;
                bracketed!(list in input);
                self.tools = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                if self.tools.is_empty() {
                    return Err(syn::Error::new(key.span(), "`tools` names no tool; leave it out to bind all"));
                }
            }
            "mod" => {
                let module = input.call(Ident::parse_any)?;
                if !is_module_name(&module.to_string()) {
                    return Err(syn::Error::new(module.span(), format!("no module can be called `{module}`")));
                }
                self.module = Some(module);
            }
            "prefix" if input.peek(LitBool) => {
                let flag: LitBool = input.parse()?;
                if flag.value() {
                    return Err(syn::Error::new(flag.span(), "`prefix` is a string, or `false` for none"));
                }
                self.prefix = Some(Prefix::None);
            }
            "prefix" => {
                let prefix: LitStr = input.parse()?;
                if prefix.value().is_empty() {
                    return Err(syn::Error::new(prefix.span(), "an empty prefix is written `prefix = false`"));
                }
                self.prefix = Some(Prefix::Named(prefix.value()));
            }
            "path" => self.path = Some(input.parse()?),
            _ => self.crate_path = Some(path(input)?),
        }
        Ok(())
    }
}

/// A module path; `syn::Path` would need the parser of types.
fn path(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    if input.peek(Token![::]) {
        input.parse::<Token![::]>()?.to_tokens(&mut tokens);
    }
    loop {
        input.call(Ident::parse_any)?.to_tokens(&mut tokens);
        if !input.peek(Token![::]) {
            return Ok(tokens);
        }
        input.parse::<Token![::]>()?.to_tokens(&mut tokens);
    }
}

//! The grammar of `mcp_tools!`.

use mcp_bindgen_model::{Prefix, Types, UnknownKeys};
use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitBool, LitStr, Token, braced, bracketed};

use crate::options::is_module_name;
use crate::overlay::Overlay;
use crate::rules::{CHECKED, NAMED, Origin, Rule, SETTERS};

/// `"github", "git", tools = ["create_issue", "list_*"], mod = gh, prefix = "gh", path = "...", crate = ...`
#[derive(Default)]
pub(super) struct MacroInput {
    pub(super) servers: Vec<LitStr>,
    pub(super) overlay: Overlay,
    /// The literals of the options, for errors.
    pub(super) tools: Vec<LitStr>,
    pub(super) exclude: Vec<LitStr>,
    pub(super) path: Option<LitStr>,
    pub(super) types: Option<Span>,
}

const OPTIONS: [&str; 15] = [
    "tools", "exclude", "mod", "prefix", "path", "crate", "types", "unknown", "derive", "rename", "extern", "shared",
    SETTERS, NAMED, CHECKED,
];
/// The options for the tools of one server, which cannot be set for several.
const OF_ONE_SERVER: [&str; 5] = ["mod", "path", "rename", "extern", "shared"];

impl Parse for MacroInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut parsed = Self::default();
        let mut seen: Vec<String> = Vec::new();
        while !input.is_empty() {
            if input.peek(LitStr) {
                let server: LitStr = input.parse()?;
                if !seen.is_empty() {
                    return Err(syn::Error::new(server.span(), "servers must come before options"));
                }
                if parsed.servers.iter().any(|known| known.value() == server.value()) {
                    return Err(syn::Error::new(server.span(), "duplicate server"));
                }
                parsed.servers.push(server);
            } else {
                let key = input.call(Ident::parse_any)?;
                if !input.peek(Token![=]) && !OPTIONS.contains(&key.to_string().as_str()) {
                    return Err(syn::Error::new(key.span(), format!("a server is a string: `\"{key}\"`")));
                }
                if seen.contains(&key.to_string()) {
                    return Err(syn::Error::new(key.span(), format!("duplicate option `{key}`")));
                }
                seen.push(key.to_string());
                parsed.option(&key, input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let single = OF_ONE_SERVER.into_iter().find(|option| seen.iter().any(|key| key == option));
        if let Some(option) = single.filter(|_| parsed.servers.len() != 1) {
            let place = parsed.servers.get(1).map_or_else(Span::call_site, LitStr::span);
            let message = format!("option `{option}` applies to one server; use a separate `mcp_tools!` for each");
            return Err(syn::Error::new(place, message));
        }
        Ok(parsed)
    }
}

impl MacroInput {
    fn option(&mut self, key: &Ident, input: ParseStream<'_>) -> syn::Result<()> {
        let name = key.to_string();
        if !OPTIONS.contains(&name.as_str()) {
            return Err(unknown_option(key, &OPTIONS));
        }
        input.parse::<Token![=]>()?;
        let overlay = &mut self.overlay;
        match name.as_str() {
            "tools" => {
                self.tools = list(input, "expected a list of patterns: `tools = [\"create_issue\", \"list_*\"]`")?;
                if self.tools.is_empty() {
                    return Err(syn::Error::new(key.span(), "`tools` is empty; remove it to bind all"));
                }
                overlay.tools = Some(values(&self.tools));
            }
            "exclude" => {
                self.exclude = list(input, "expected a list of patterns: `exclude = [\"delete_*\"]`")?;
                overlay.exclude = values(&self.exclude);
            }
            "mod" => overlay.module = Some(module(input)?.to_string()),
            "prefix" if input.peek(LitBool) => {
                let flag: LitBool = input.parse()?;
                if flag.value() {
                    return Err(syn::Error::new(flag.span(), "`prefix` is a string, or `false` for none"));
                }
                overlay.prefix = Some(Prefix::None);
            }
            "prefix" => {
                let prefix: LitStr = input.parse()?;
                if prefix.value().is_empty() {
                    return Err(syn::Error::new(prefix.span(), "use `prefix = false` for no prefix"));
                }
                overlay.prefix = Some(Prefix::Named(prefix.value()));
            }
            "path" => {
                let path: LitStr = input.parse()?;
                overlay.path = Some(path.value());
                self.path = Some(path);
            }
            "types" => {
                let (types, span) = word(key, input, &Types::ALL.map(|types| (types.name(), types)))?;
                (overlay.types, self.types) = (Some(types), Some(span));
            }
            "unknown" => {
                let known = UnknownKeys::ALL.map(|unknown| (unknown.name(), unknown));
                overlay.unknown = Some(word(key, input, &known)?.0);
            }
            "derive" => {
                let paths = list(input, "expected a list of paths: `derive = [\"Eq\", \"crate::Traced\"]`")?;
                let rule = |path: LitStr| Rule {
                    key: String::new(),
                    value: path.value(),
                    origin: Origin::Macro { key: path.span(), value: path.span() },
                };
                overlay.rules.derive = paths.into_iter().map(rule).collect();
            }
            "rename" => overlay.rules.rename = table(input, "rename = { \"create_issue/labels\" = \"tags\" }")?,
            "extern" => overlay.rules.extern_types = table(input, "extern = { \"#/$defs/Money\" = \"crate::Money\" }")?,
            "shared" => overlay.rules.shared = table(input, "shared = { Entity = \"create_entities/entities/*\" }")?,
            SETTERS | NAMED | CHECKED => {
                if !input.peek(LitBool) {
                    return Err(input.error(format!("`{name}` is `true` or `false`")));
                }
                let flag: LitBool = input.parse()?;
                let origin = Origin::Macro { key: key.span(), value: flag.span() };
                overlay.rules.switches.push(Rule { key: name, value: flag.value().to_string(), origin });
            }
            _ => overlay.crate_path = Some(Ok(path(input)?)),
        }
        Ok(())
    }
}

fn values(literals: &[LitStr]) -> Vec<String> {
    literals.iter().map(LitStr::value).collect()
}

/// Returns the error of an option that there is not.
pub(super) fn unknown_option(key: &Ident, known: &[&str]) -> syn::Error {
    let name = key.to_string();
    let near = mcp_bindgen_model::nearest(&name, known.iter().copied());
    let hint = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    let known = known.join("`, `");
    syn::Error::new(key.span(), format!("unknown option `{name}`{hint} (known: `{known}`)"))
}

/// Returns the name of a module.
pub(super) fn module(input: ParseStream<'_>) -> syn::Result<Ident> {
    let module = input.call(Ident::parse_any)?;
    if !is_module_name(&module.to_string()) {
        return Err(syn::Error::new(module.span(), format!("invalid module name `{module}`")));
    }
    Ok(module)
}

fn list(input: ParseStream<'_>, expected: &str) -> syn::Result<Vec<LitStr>> {
    if !input.peek(syn::token::Bracket) {
        return Err(input.error(expected));
    }
    let list;
    bracketed!(list in input);
    Ok(Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect())
}

/// Returns a table as in `mcp.toml`: keys are strings, or words.
pub(super) fn table(input: ParseStream<'_>, example: &str) -> syn::Result<Vec<Rule>> {
    if !input.peek(syn::token::Brace) {
        return Err(input.error(format!("expected a table: `{example}`")));
    }
    let table;
    braced!(table in input);
    let mut rules: Vec<Rule> = Vec::new();
    while !table.is_empty() {
        let (key, span) = if table.peek(LitStr) {
            let key: LitStr = table.parse()?;
            (key.value(), key.span())
        } else {
            let key = table.call(Ident::parse_any)?;
            (key.to_string(), key.span())
        };
        if rules.iter().any(|known| known.key == key) {
            return Err(syn::Error::new(span, format!("duplicate `{}`", mcp_bindgen_model::printable(&key))));
        }
        table.parse::<Token![=]>()?;
        let value: LitStr = table.parse()?;
        rules.push(Rule { key, value: value.value(), origin: Origin::Macro { key: span, value: value.span() } });
        if !table.is_empty() {
            table.parse::<Token![,]>()?;
        }
    }
    Ok(rules)
}

/// Parses one of the known words, with its span.
fn word<T: Copy>(key: &Ident, input: ParseStream<'_>, known: &[(&str, T)]) -> syn::Result<(T, Span)> {
    let word: LitStr = input.parse()?;
    match known.iter().find(|(name, _)| *name == word.value()) {
        Some((_, value)) => Ok((*value, word.span())),
        None => {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
            Err(syn::Error::new(word.span(), format!("`{key}` is {}", names.join(" or "))))
        }
    }
}

/// Returns a module path; `syn::Path` would need the parser of types.
pub(super) fn path(input: ParseStream<'_>) -> syn::Result<TokenStream> {
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

//! The grammar of `mcp_tools!`.

use mcp_bindgen_model::{Prefix, Types, UnknownKeys, nearest, printable};
use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{LitBool, LitStr, Token, braced, bracketed};

use crate::options::is_module_name;
use crate::overlay::Overlay;
use crate::rules::{CHECKED, DERIVE, EXTERN, NAMED, RENAME, Rule, SETTERS, SHARED};
use crate::rust_path::module_path;

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
    "tools", "exclude", "mod", "prefix", "path", "crate", "types", "unknown", DERIVE, RENAME, EXTERN, SHARED, SETTERS,
    NAMED, CHECKED,
];
/// The options for the tools of one server, which cannot be set for several.
const OF_ONE_SERVER: [&str; 5] = ["mod", "path", RENAME, EXTERN, SHARED];

impl Parse for MacroInput {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut parsed = Self::default();
        let mut seen = Vec::new();
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
                let fork = input.fork();
                let word = fork.call(Ident::parse_any)?;
                if !fork.peek(Token![=]) && !OPTIONS.contains(&word.to_string().as_str()) {
                    return Err(syn::Error::new(word.span(), format!("a server is a string: `\"{word}\"`")));
                }
                let (name, span) = option(input, &OPTIONS, &mut seen)?;
                parsed.set(name, span, input)?;
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let single = OF_ONE_SERVER.into_iter().find(|option| seen.contains(option));
        if let Some(option) = single.filter(|_| parsed.servers.len() != 1) {
            let place = parsed.servers.get(1).map_or_else(Span::call_site, LitStr::span);
            let message = format!("option `{option}` applies to one server; use a separate `mcp_tools!` for each");
            return Err(syn::Error::new(place, message));
        }
        Ok(parsed)
    }
}

impl MacroInput {
    /// Parses the value of an option.
    fn set(&mut self, name: &'static str, span: Span, input: ParseStream<'_>) -> syn::Result<()> {
        let overlay = &mut self.overlay;
        match name {
            "tools" => {
                self.tools = list(input, "expected a list of patterns: `tools = [\"create_issue\", \"list_*\"]`")?;
                if self.tools.is_empty() {
                    return Err(syn::Error::new(span, "`tools` is empty; remove it to bind all"));
                }
                overlay.tools = Some(self.tools.iter().map(LitStr::value).collect());
            }
            "exclude" => {
                self.exclude = list(input, "expected a list of patterns: `exclude = [\"delete_*\"]`")?;
                overlay.exclude = self.exclude.iter().map(LitStr::value).collect();
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
                let (types, span) = word(name, input, &Types::ALL.map(|types| (types.name(), types)))?;
                (overlay.types, self.types) = (Some(types), Some(span));
            }
            "unknown" => {
                let known = UnknownKeys::ALL.map(|unknown| (unknown.name(), unknown));
                overlay.unknown = Some(word(name, input, &known)?.0);
            }
            DERIVE => {
                let paths = list(input, "expected a list of paths: `derive = [\"Eq\", \"crate::Traced\"]`")?;
                for path in paths {
                    overlay.rules.add(Rule::new(DERIVE, "", path.value()).at(path.span(), path.span()));
                }
            }
            RENAME => self.rules(RENAME, input, "rename = { \"create_issue/labels\" = \"tags\" }")?,
            EXTERN => self.rules(EXTERN, input, "extern = { \"#/$defs/Money\" = \"crate::Money\" }")?,
            SHARED => self.rules(SHARED, input, "shared = { Entity = \"create_entities/entities/*\" }")?,
            SETTERS | NAMED | CHECKED => {
                if !input.peek(LitBool) {
                    return Err(input.error(format!("`{name}` is `true` or `false`")));
                }
                let flag: LitBool = input.parse()?;
                overlay.rules.add(Rule::switch(name, flag.value()).at(span, flag.span()));
            }
            _ => overlay.crate_path = Some(module_path(input)?),
        }
        Ok(())
    }

    fn rules(&mut self, option: &'static str, input: ParseStream<'_>, example: &str) -> syn::Result<()> {
        for Entry { key, span, value } in table(input, example)? {
            self.overlay.rules.add(Rule::new(option, key, value.value()).at(span, value.span()));
        }
        Ok(())
    }
}

/// Parses an option and its `=`: one of the known ones that was not `seen` before.
pub(super) fn option(
    input: ParseStream<'_>,
    known: &[&'static str],
    seen: &mut Vec<&'static str>,
) -> syn::Result<(&'static str, Span)> {
    let key = input.call(Ident::parse_any)?;
    let name = key.to_string();
    let Some(option) = known.iter().find(|known| **known == name) else {
        let near = nearest(&name, known.iter().copied());
        let hint = near.first().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let message = format!("unknown option `{name}`{hint} (known: `{}`)", known.join("`, `"));
        return Err(syn::Error::new(key.span(), message));
    };
    if seen.contains(option) {
        return Err(syn::Error::new(key.span(), format!("duplicate option `{name}`")));
    }
    input.parse::<Token![=]>()?;
    seen.push(option);
    Ok((option, key.span()))
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
    let mut items = Vec::new();
    while !list.is_empty() {
        items.push(list.parse()?);
        if !list.is_empty() {
            list.parse::<Token![,]>()?;
        }
    }
    Ok(items)
}

/// An entry of a table.
pub(super) struct Entry {
    pub(super) key: String,
    /// The span of the key, which is a string or a word.
    span: Span,
    pub(super) value: LitStr,
}

/// Returns a table as in `mcp.toml`.
pub(super) fn table(input: ParseStream<'_>, example: &str) -> syn::Result<Vec<Entry>> {
    if !input.peek(syn::token::Brace) {
        return Err(input.error(format!("expected a table: `{example}`")));
    }
    let table;
    braced!(table in input);
    let mut entries: Vec<Entry> = Vec::new();
    while !table.is_empty() {
        let (key, span) = if table.peek(LitStr) {
            let key: LitStr = table.parse()?;
            (key.value(), key.span())
        } else {
            let key = table.call(Ident::parse_any)?;
            (key.to_string(), key.span())
        };
        if entries.iter().any(|known| known.key == key) {
            return Err(syn::Error::new(span, format!("duplicate `{}`", printable(&key))));
        }
        table.parse::<Token![=]>()?;
        entries.push(Entry { key, span, value: table.parse()? });
        if !table.is_empty() {
            table.parse::<Token![,]>()?;
        }
    }
    Ok(entries)
}

/// Parses one of the known words, with its span.
fn word<T: Copy>(option: &str, input: ParseStream<'_>, known: &[(&str, T)]) -> syn::Result<(T, Span)> {
    let word: LitStr = input.parse()?;
    match known.iter().find(|(name, _)| *name == word.value()) {
        Some((_, value)) => Ok((*value, word.span())),
        None => {
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
            Err(syn::Error::new(word.span(), format!("`{option}` is {}", names.join(" or "))))
        }
    }
}

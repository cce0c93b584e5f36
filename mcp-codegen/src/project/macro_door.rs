//! `mcp_tools!`.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, Prefix, Types, UnknownKeys, nearest, printable};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{LitBool, LitStr, Token, braced, bracketed};

use super::{Project, Source, check_backend, check_pattern};
use crate::emit::{fault, fault_of};
use crate::live::{Door, VARIABLE};
use crate::options::{Options, Overlay, is_module_name};
use crate::paths::{in_manifest_dir, relative};
use crate::rules::{CHECKED, DERIVE, EXTERN, NAMED, RENAME, Rule, RuleFault, SETTERS, SHARED};
use crate::rust_path::module_path;
use crate::table::sorted;

/// Expands `mcp_tools!`; this is the whole proc macro.
///
/// `manifest_dir` is the `CARGO_MANIFEST_DIR` of the compiled crate. Every error is a `compile_error!` at the literal
/// that causes it, inside the server's module. The module still declares the usual names, so that no follow-up errors
/// appear.
#[must_use]
pub fn expand_macro(input: TokenStream, manifest_dir: Option<PathBuf>) -> TokenStream {
    expand(input, manifest_dir).unwrap_or_else(|error| error.to_compile_error())
}

fn expand(input: TokenStream, manifest_dir: Option<PathBuf>) -> syn::Result<TokenStream> {
    let input: MacroInput = syn::parse2(input)?;
    let here = Span::call_site();
    let Some(manifest_dir) = manifest_dir else {
        let message = "CARGO_MANIFEST_DIR is not set: mcp_tools! reads the files of a cargo package";
        return Err(syn::Error::new(here, message));
    };
    let first = input.servers.first().map_or(here, LitStr::span);
    let opened = Project::open_in_build(&manifest_dir, Door::Macro);
    let unreadable = opened.as_ref().err().map(|error| syn::Error::new(first, error));
    let mut project = opened.unwrap_or_else(|_| Project::without_config(&manifest_dir));
    let mut servers = input.servers.clone();
    if servers.is_empty() && unreadable.is_some() {
        servers.extend(project.possible_servers().iter().map(|server| LitStr::new(server, here)));
    } else if servers.is_empty() {
        servers.extend(project.servers().map(|server| LitStr::new(server, here)));
    }
    if servers.is_empty() {
        let message = "mcp_tools!() binds every server of mcp.toml or .mcp.json, but neither was found beside Cargo.toml or \
                       at the workspace root";
        return Err(unreadable.unwrap_or_else(|| syn::Error::new(here, message)));
    }
    if let Some(prefix) = &input.overlay.prefix {
        servers.iter().for_each(|server| project.set_prefix(&server.value(), prefix));
    }
    let source = |server| unreadable.clone().map_or_else(|| source(&project, server, &input), Err);
    let mut sources: Vec<_> = servers.iter().map(source).collect();
    narrow(&mut sources, &input);
    let (mut modules, mut idents, mut reported) = (Vec::new(), Vec::new(), Vec::new());
    for (server, source) in servers.iter().zip(&sources) {
        let ident = Options::new(server.value()).module_ident();
        let other = idents.iter().position(|known| *known == ident).and_then(|other| servers.get(other));
        modules.push(if let Some(other) = other {
            clash(server, other, &ident).to_compile_error()
        } else {
            let module = source.as_ref().map_err(Clone::clone).and_then(|source| module(&project, server, source));
            module.unwrap_or_else(|error| stand_in(&project, server, &input, &error, &mut reported))
        });
        idents.push(ident);
    }
    let names: Vec<String> = servers.iter().map(LitStr::value).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let sources = servers.iter().zip(&sources);
    let read: Vec<_> = sources.filter_map(|(server, source)| Some((server.span(), source.as_ref().ok()?))).collect();
    let around = surroundings(&project, &names, first, &read, None);
    Ok(quote!(#around #(#modules)*))
}

/// The modules that report errors, by the errors: one may be the fault of several servers.
type Reported = Vec<(String, Ident)>;

/// Returns the module of a server at fault.
fn stand_in(
    project: &Project,
    server: &LitStr,
    input: &MacroInput,
    error: &syn::Error,
    reported: &mut Reported,
) -> TokenStream {
    let mut options = project.salvaged_options(&server.value());
    options.rules.configured_at(server.span());
    let options = input.overlay.apply(options).tools(input.overlay.tools.clone().unwrap_or_default());
    let text = error.to_compile_error().to_string();
    let fault = if let Some((_, module)) = reported.iter().find(|(known, _)| *known == text) {
        fault_of(module)
    } else {
        reported.push((text, options.module_ident()));
        fault(error)
    };
    project.stand_in(input.overlay.path.as_deref(), &options, &fault)
}

/// Checks the patterns of the macro, then applies `tools`. A pattern without a match is a fault of every server, unless
/// one server is unreadable: the pattern may be for that one.
fn narrow(sources: &mut [syn::Result<Source>], input: &MacroInput) {
    if sources.iter().all(Result::is_ok)
        && let Err(error) = check_patterns(sources, input)
    {
        sources.fill_with(|| Err(error.clone()));
    }
    sources.iter_mut().flatten().for_each(|source| source.select(input.overlay.tools.as_ref()));
}

fn check_patterns(sources: &[syn::Result<Source>], input: &MacroInput) -> syn::Result<()> {
    let check = |literals: &[LitStr], idle| {
        check_each(literals, |pattern| {
            check_pattern(idle, &pattern.value(), sources.iter().flatten())
                .map_err(|error| syn::Error::new(pattern.span(), error))
        })
    };
    check(&input.tools, Options::idle_pattern)?;
    check(&input.exclude, Options::idle_exclude)
}

/// Checks all items, and returns all errors as one.
pub(super) fn check_each<T>(items: &[T], check: impl Fn(&T) -> syn::Result<()>) -> syn::Result<()> {
    combined(items.iter().filter_map(|item| check(item).err())).map_or(Ok(()), Err)
}

/// Combines errors to one.
pub(super) fn combined(errors: impl Iterator<Item = syn::Error>) -> Option<syn::Error> {
    errors.reduce(|mut all, one| {
        all.combine(one);
        all
    })
}

/// Returns the snapshot of a server, with the options of the macro.
fn source(project: &Project, server: &LitStr, input: &MacroInput) -> syn::Result<Source> {
    let place = input.path.as_ref().unwrap_or(server).span();
    let at = |span: Span| move |error: FileError| syn::Error::new(span, error);
    let mut source = project.read(&server.value(), input.overlay.path.as_deref()).map_err(at(place))?;
    source.options.rules.configured_at(server.span());
    source.overlay(project, &input.overlay).map_err(at(server.span()))?;
    if let (Some(types), Some(span)) = (input.overlay.types, input.types) {
        check_backend(types, &source.options.server.name).map_err(at(span))?;
    }
    Ok(source)
}

/// Returns the error of a server whose module another one before it has.
fn clash(server: &LitStr, other: &LitStr, module: &Ident) -> syn::Error {
    let message = format!("servers `{}` and `{}` have the same module name `{module}`", other.value(), server.value());
    let help = "bind one of them in a separate `mcp_tools!` with `mod = ..`";
    syn::Error::new(server.span(), FileError::new(message).with_help(help))
}

fn module(project: &Project, server: &LitStr, source: &Source) -> syn::Result<TokenStream> {
    let error = |fault: &RuleFault| syn::Error::new(fault.span.unwrap_or(server.span()), &fault.error);
    let (planned, faults) = source.plan(project);
    check_each(&faults, |fault| Err(error(fault)))?;
    match source.denied(project, planned.diagnostics()) {
        Some(denied) => Err(syn::Error::new(server.span(), denied)),
        None => Ok(planned.module()),
    }
}

/// Returns the warnings about servers, and what makes cargo rebuild the crate when one of its files changes.
pub(super) fn surroundings(
    project: &Project,
    servers: &[&str],
    here: Span,
    sources: &[(Span, &Source)],
    template: Option<&Path>,
) -> TokenStream {
    let mut warnings: Vec<_> = project.warnings(servers).iter().map(|warning| warn(here, warning)).collect();
    let mut files: Vec<&Path> = project.config_path().into_iter().chain(template).collect();
    for (span, source) in sources {
        source.warnings.iter().for_each(|warning| warnings.push(warn(*span, warning)));
        source.files().for_each(|file| files.push(file));
    }
    let (mut tracked, mut last) = (TokenStream::new(), None);
    for place in sorted(files.len(), &|left, right| files.get(left).cmp(&files.get(right))) {
        let file = files.get(place);
        if let Some(file) = file.filter(|_| last != file) {
            tracked.extend(track(&project.manifest_dir, file));
        }
        last = file;
    }
    let variable = project.live.depends_on_variable().then(|| {
        quote!(
            const _: fn() -> ::core::option::Option<&'static str> = || ::core::option_env!(#VARIABLE);
        )
    });
    quote!(#tracked #variable #(#warnings)*)
}

/// Makes rustc warn. A macro cannot on stable, but the use of a deprecated item does. `deny(warnings)` does not turn it
/// into an error, as a build must not fail for it; `allow(deprecated)` on a module around the macro silences it.
fn warn(span: Span, warning: &str) -> TokenStream {
    let name = Ident::new("configuration", span);
    quote_spanned! { span=>
        #[warn(warnings)]
        const _: () = {
            #[deprecated(note = #warning)]
            #[allow(non_upper_case_globals)]
            const #name: () = ();
            #name
        };
    }
}

/// Makes cargo rebuild the crate when a file changes, without a path of this machine in the tokens. The closure is never
/// called and leaves nothing behind; the value of a constant would be in the crate's metadata, with all that the file says.
fn track(manifest_dir: &Path, path: &Path) -> TokenStream {
    let path = in_manifest_dir(&relative(manifest_dir, path));
    quote!(
        const _: fn() -> &'static [u8] = || ::core::include_bytes!(#path);
    )
}

/// `"github", "git", tools = ["create_issue", "list_*"], mod = gh, prefix = "gh", path = "...", crate = ...`
#[derive(Default)]
struct MacroInput {
    servers: Vec<LitStr>,
    overlay: Overlay,
    /// The literals of the options, for errors.
    tools: Vec<LitStr>,
    exclude: Vec<LitStr>,
    path: Option<LitStr>,
    types: Option<Span>,
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
            "mod" => overlay.module = Some(module_name(input)?.to_string()),
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
pub(super) fn module_name(input: ParseStream<'_>) -> syn::Result<Ident> {
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

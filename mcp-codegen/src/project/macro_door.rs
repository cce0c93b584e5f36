use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mcp_model::FileError;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;

use super::macro_input::MacroInput;
use super::{Project, Source, check_backend, check_excluded, check_pattern};
use crate::bindings::Bindings;
use crate::live::{Door, VARIABLE};
use crate::paths::{in_manifest_dir, relative};

/// Expands `mcp_tools!`: the whole of the proc macro.
///
/// `manifest_dir` is `CARGO_MANIFEST_DIR` of the crate that is being compiled. Every error is a `compile_error!`, at the
/// literal that it is about.
#[must_use]
pub fn expand_macro(input: TokenStream, manifest_dir: Option<PathBuf>) -> TokenStream {
    expand(input, manifest_dir).unwrap_or_else(|error| error.to_compile_error())
}

fn expand(input: TokenStream, manifest_dir: Option<PathBuf>) -> syn::Result<TokenStream> {
    let input: MacroInput = syn::parse2(input)?;
    let here = Span::call_site();
    let Some(manifest_dir) = manifest_dir else {
        return Err(syn::Error::new(
            here,
            "CARGO_MANIFEST_DIR is not set: mcp_tools! reads the files of a cargo package",
        ));
    };
    let at = |span: Span, error: FileError| syn::Error::new(span, error);
    let first = input.servers.first().map_or(here, LitStr::span);
    let project = Project::open_in_build(&manifest_dir, Door::Macro).map_err(|error| at(first, error))?;
    let servers = if input.servers.is_empty() { every_server(&project)? } else { input.servers.clone() };
    let sources = each(&servers, |server| source(&project, server, &input))?;
    let mut sources: Vec<(&LitStr, Source)> = servers.iter().zip(sources).collect();
    each(&input.tools, |pattern| {
        let sources = sources.iter().map(|(_, source)| source);
        check_pattern(&pattern.value(), sources).map_err(|error| at(pattern.span(), error))
    })?;
    each(&input.exclude, |pattern| {
        let sources = sources.iter().map(|(_, source)| source);
        check_excluded(&pattern.value(), sources).map_err(|error| at(pattern.span(), error))
    })?;
    check_modules(&sources)?;
    if !input.tools.is_empty() {
        for (_, source) in &mut sources {
            source.options = source.options.clone().tools(input.tools.iter().map(LitStr::value));
        }
    }
    each(&sources, |(server, source)| check_rules(source, server.span()))?;
    let modules = each(&sources, |(server, source)| module(&project, server, source))?;
    let names: Vec<String> = servers.iter().map(LitStr::value).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let warnings = project.warnings(&names).into_iter().map(|warning| warn(first, &warning));
    let of_sources =
        sources.iter().flat_map(|(server, source)| source.warnings.iter().map(|warning| warn(server.span(), warning)));
    let warnings = warnings.chain(of_sources);
    let files = project.config_path().into_iter().chain(sources.iter().flat_map(|(_, source)| source.files()));
    let files: BTreeSet<&Path> = files.collect();
    let tracked = files.into_iter().map(|path| track(&manifest_dir, path)).chain(track_variable(&project));
    Ok(quote!(#(#tracked)* #(#warnings)* #(#modules)*))
}

/// What comes of every item, or all the errors in one.
pub(super) fn each<'i, I, T>(items: &'i [I], make: impl Fn(&'i I) -> syn::Result<T>) -> syn::Result<Vec<T>> {
    let mut made = Vec::new();
    let mut errors: Option<syn::Error> = None;
    for item in items {
        match (make(item), &mut errors) {
            (Ok(one), _) => made.push(one),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), None) => errors = Some(error),
        }
    }
    errors.map_or(Ok(made), Err)
}

fn every_server(project: &Project) -> syn::Result<Vec<LitStr>> {
    let servers: Vec<_> = project.servers().map(|server| LitStr::new(server, Span::call_site())).collect();
    if servers.is_empty() {
        return Err(syn::Error::new(
            Span::call_site(),
            "mcp_tools!() binds every server of mcp.toml or .mcp.json, and there is none: looked beside Cargo.toml and at \
             the workspace root",
        ));
    }
    Ok(servers)
}

/// The snapshot of a server, with the options of the macro.
fn source(project: &Project, server: &LitStr, input: &MacroInput) -> syn::Result<Source> {
    let path = input.path.as_ref().map(LitStr::value);
    let place = input.path.as_ref().unwrap_or(server).span();
    let mut source = project.read(&server.value(), path.as_deref()).map_err(|error| syn::Error::new(place, error))?;
    source.check_configured(project).map_err(|error| syn::Error::new(server.span(), error))?;
    if let Some(module) = &input.module {
        source.options = source.options.module(module.to_string());
    }
    if let Some(prefix) = &input.prefix {
        source.options = source.options.prefix(prefix.clone());
    }
    if let Some(path) = &input.crate_path {
        source.options = source.options.crate_path(path.clone());
    }
    if let Some((types, span)) = input.types {
        check_backend(types, &source.options.server).map_err(|error| syn::Error::new(span, error))?;
        source.options = source.options.types(types);
    }
    if let Some(unknown) = input.unknown {
        source.options = source.options.unknown(unknown);
    }
    source.options.rules.configured_at(server.span());
    let exclude = input.exclude.iter().map(LitStr::value);
    source.options = source.options.exclude(exclude).rules(input.rules.clone());
    Ok(source)
}

/// The errors of rules that cannot hold, each at its literal.
fn check_rules(source: &Source, server: Span) -> syn::Result<()> {
    let faults = source.faults();
    each(&faults, |fault| Err::<(), _>(syn::Error::new(fault.span.unwrap_or(server), &fault.error))).map(drop)
}

/// The error of a server whose module another one of the macro has.
fn check_modules(sources: &[(&LitStr, Source)]) -> syn::Result<()> {
    for (place, (server, source)) in sources.iter().enumerate() {
        let module = source.options.module_ident();
        if let Some((other, _)) = sources.iter().take(place).find(|(_, other)| other.options.module_ident() == module) {
            let (server, other, place) = (server.value(), other.value(), server.span());
            let message = format!("servers `{other}` and `{server}` would both be the module `{module}`");
            let help = "bind one of them in a `mcp_tools!` of its own, with `mod = ..`";
            return Err(syn::Error::new(place, FileError::new(message).with_help(help)));
        }
    }
    Ok(())
}

fn module(project: &Project, server: &LitStr, source: &Source) -> syn::Result<TokenStream> {
    let (tokens, diagnostics) = Bindings::generate(&source.snapshot, &source.options);
    let denied = source.denied(project, &diagnostics);
    if !denied.is_empty() {
        return Err(syn::Error::new(server.span(), denied.join("\n")));
    }
    Ok(tokens)
}

/// Makes rustc warn. A macro cannot on stable, but the use of a deprecated item does. `deny(warnings)` does not turn it
/// into an error, as a build must not fail for it; `allow(deprecated)` on a module around the macro silences it.
pub(super) fn warn(span: Span, warning: &str) -> TokenStream {
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
pub(super) fn track(manifest_dir: &Path, path: &Path) -> TokenStream {
    let path = in_manifest_dir(&relative(manifest_dir, path));
    quote!(
        const _: fn() -> &'static [u8] = || ::core::include_bytes!(#path);
    )
}

/// The same where the variable that asks for live servers changes.
pub(super) fn track_variable(project: &Project) -> Option<TokenStream> {
    project.depends_on_variable().then(|| {
        quote!(
            const _: fn() -> ::core::option::Option<&'static str> = || ::core::option_env!(#VARIABLE);
        )
    })
}

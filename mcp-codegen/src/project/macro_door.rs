use std::collections::HashMap;
use std::path::{Path, PathBuf};

use mcp_model::FileError;
use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::LitStr;

use super::Project;
use super::macro_input::MacroInput;
use super::paths::relative;
use crate::bindings::Bindings;

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
    let project = Project::open(&manifest_dir).map_err(|error| at(first, error))?;
    let servers = if input.servers.is_empty() { every_server(&project)? } else { input.servers.clone() };
    let mut modules = TokenStream::new();
    let mut tracked: Vec<PathBuf> = project.config_path().map(Path::to_owned).into_iter().collect();
    let mut errors: Option<syn::Error> = None;
    for server in &servers {
        match module(&project, server, &input) {
            Ok((tokens, path)) => {
                modules.extend(tokens);
                tracked.push(path);
            }
            Err(error) => combine(&mut errors, error),
        }
    }
    for (server, other, module) in same_modules(&servers) {
        let message = format!(
            "servers `{}` and `{}` would both be module `{module}`; give one an `mcp_tools!` of its own, with `mod = ..`",
            other.value(),
            server.value(),
        );
        combine(&mut errors, syn::Error::new(server.span(), message));
    }
    if let Some(errors) = errors {
        return Err(errors);
    }
    let tracked = tracked.iter().map(|path| track(&manifest_dir, path));
    Ok(quote!(#(#tracked)* #modules))
}

fn combine(errors: &mut Option<syn::Error>, error: syn::Error) {
    match errors {
        Some(errors) => errors.combine(error),
        None => *errors = Some(error),
    }
}

/// Each server whose module an earlier one has, that one, and the module. `mod` is for one server alone.
fn same_modules(servers: &[LitStr]) -> Vec<(&LitStr, &LitStr, String)> {
    let mut known: HashMap<String, &LitStr> = HashMap::new();
    let mut same = Vec::new();
    for server in servers {
        let module = crate::Options::new(server.value()).module_ident().to_string();
        match known.get(&module) {
            Some(other) => same.push((server, *other, module)),
            None => drop(known.insert(module, server)),
        }
    }
    same
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

fn module(project: &Project, server: &LitStr, input: &MacroInput) -> syn::Result<(TokenStream, PathBuf)> {
    let path = input.path.as_ref().map(LitStr::value);
    let place = input.path.as_ref().unwrap_or(server).span();
    let source = project.read(&server.value(), path.as_deref()).map_err(|error| syn::Error::new(place, error))?;
    let mut options = source.options.clone();
    if let Some(module) = &input.module {
        options = options.module(module.to_string());
    }
    if let Some(prefix) = &input.prefix {
        options = options.prefix(prefix.clone());
    }
    if let Some(path) = &input.crate_path {
        options = options.crate_path(path.clone());
    }
    for pattern in &input.tools {
        let only = crate::Options::new(server.value()).tools([pattern.value()]);
        source.check_patterns(&only).map_err(|error| syn::Error::new(pattern.span(), error))?;
    }
    if !input.tools.is_empty() {
        options = options.tools(input.tools.iter().map(LitStr::value));
    }
    source.check_patterns(&source.options).map_err(|error| {
        let message = format!("in `tools` of server `{}` in the configuration: {error}", server.value());
        syn::Error::new(server.span(), message)
    })?;
    let (tokens, diagnostics) = Bindings::generate(&source.snapshot, &options);
    let denied = source.denied(project, &diagnostics);
    if !denied.is_empty() {
        return Err(syn::Error::new(server.span(), denied.join("\n")));
    }
    Ok((tokens, source.path))
}

/// Makes cargo rebuild the crate when a file changes, without a path of this machine in the tokens.
fn track(manifest_dir: &Path, path: &Path) -> TokenStream {
    let relative = relative(manifest_dir, path);
    if relative.is_absolute() {
        let path = relative.display().to_string();
        return quote!(
            const _: &[u8] = ::core::include_bytes!(#path);
        );
    }
    let path = format!("/{}", relative.display());
    quote!(
        const _: &[u8] = ::core::include_bytes!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #path));
    )
}

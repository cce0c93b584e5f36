//! `mcp_template!`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, nearest, printable, read_text};
use mcp_bindgen_template::Fault;
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{LitStr, Token};

use super::macro_door::{check_each, combined, module_name, option, surroundings, table};
use super::{Project, Source};
use crate::emit::{fault, stand_in};
use crate::live::Door;
use crate::names::{Style, ident};
use crate::paths::relative;
use crate::rust_path::module_path;
use crate::template::{Checked, KnownServer, Module, Script, located, module, names};

/// Expands `mcp_template!`; this is the whole proc macro.
///
/// `manifest_dir` is the `CARGO_MANIFEST_DIR` of the compiled crate. Every error is a `compile_error!` at the literal
/// that causes it, with the position in the template.
#[must_use]
pub fn expand_template(input: TokenStream, manifest_dir: Option<PathBuf>) -> TokenStream {
    match syn::parse2::<TemplateInput>(input) {
        Ok(input) => {
            let module = input.module.clone().unwrap_or_else(|| module_of(Path::new(&input.path.value())));
            expand(input, manifest_dir).unwrap_or_else(|error| stand_in(&module, names(), &fault(&error)))
        }
        Err(error) => error.to_compile_error(),
    }
}

fn expand(input: TemplateInput, manifest_dir: Option<PathBuf>) -> syn::Result<TokenStream> {
    let place = input.path.span();
    let Some(manifest_dir) = manifest_dir else {
        let message = "CARGO_MANIFEST_DIR is not set: mcp_template! reads the files of a cargo package";
        return Err(syn::Error::new(Span::call_site(), message));
    };
    let project = Project::open_in_build(&manifest_dir, Door::Macro).map_err(|error| syn::Error::new(place, error))?;
    let file = TemplateFile::read(&manifest_dir, &input.path)?;
    let script = Script::parse(&file.text).map_err(|faults| file.errors(&faults))?;
    let sources = Sources::read(&project, &input, &script);
    sources.check_named(&input)?;
    let known: Vec<KnownServer<'_>> =
        sources.readable().map(|source| KnownServer::new(&source.snapshot, &source.options)).collect();
    let missing = sources.faults(&script);
    let failed = sources.by_server.iter().filter(|(_, source)| source.is_err()).map(|(server, _)| server.as_str());
    let unread: Vec<&str> =
        failed.filter(|server| project.options(server, true).is_ok_and(|options| script.may_call(&options))).collect();
    let checked = match script.check(&known, &unread) {
        Ok(checked) if missing.is_empty() => checked,
        outcome => {
            // Errors of a server are reported once for each action that calls it.
            let mut faults = outcome.err().unwrap_or_default();
            faults.retain(|fault| !missing.iter().any(|other| other.place == fault.place));
            faults.extend(missing);
            faults.sort_by_key(|fault| fault.place);
            return Err(file.errors(&faults));
        }
    };
    sources.check_denied(&project, &checked, place)?;
    let name = input.module.unwrap_or_else(|| module_of(&file.path));
    let crate_path = input.crate_path.unwrap_or_else(|| quote!(::mcp_bindgen));
    let tokens = module(&Module {
        ident: name,
        path: &file.shown,
        text: &file.text,
        checked: &checked,
        completes: script.completes(),
        crate_path: &crate_path,
    });
    let used: Vec<&str> = checked.servers().collect();
    let read: Vec<_> = sources.readable().map(|source| (place, source)).collect();
    let around = surroundings(&project, &used, place, &read, Some(&file.path));
    Ok(quote!(#around #tokens))
}

/// Returns the module of a template, after the name of its file.
fn module_of(path: &Path) -> Ident {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    ident(&Style::Snake.apply(&stem))
}

/// The template's file.
struct TemplateFile {
    literal: Span,
    path: PathBuf,
    /// Its name in messages and documentation.
    shown: String,
    text: String,
}

impl TemplateFile {
    fn read(manifest_dir: &Path, literal: &LitStr) -> syn::Result<Self> {
        let path = manifest_dir.join(literal.value());
        let shown = relative(manifest_dir, &path);
        let text = read_text(&path).map_err(|error| {
            let error =
                if path.exists() { FileError { path: Some(shown.clone()), ..error } } else { missing(&path, &shown) };
            syn::Error::new(literal.span(), error)
        })?;
        // One spelling on every system: it is in the documentation, and in errors at run time.
        let parts: Vec<_> = shown.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        let shown = if shown.is_absolute() { shown.display().to_string() } else { parts.join("/") };
        Ok(Self { literal: literal.span(), path, shown, text })
    }

    /// Combines all faults into an error at the literal.
    fn errors(&self, faults: &[Fault]) -> syn::Error {
        let errors = faults.iter().map(|fault| {
            let shown = located(fault, Path::new(&self.shown), &self.text);
            syn::Error::new(self.literal, shown)
        });
        combined(errors).unwrap_or_else(|| syn::Error::new(self.literal, "failed to read the template"))
    }
}

/// Returns the error of a file that is not there, with those beside it that may be meant.
fn missing(path: &Path, shown: &Path) -> FileError {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let beside: Vec<String> =
        beside.into_iter().flatten().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let near = nearest(&name, beside.iter().map(String::as_str));
    let help = match near.first() {
        Some(near) => {
            let near = shown.with_file_name(near);
            format!("did you mean `{}`? the path begins at Cargo.toml's folder", near.display())
        }
        None => "the path begins at Cargo.toml's folder".to_owned(),
    };
    FileError::new(format!("template not found: {}", shown.display())).with_help(help)
}

/// The servers that a template may call, as far as it takes to know which it does.
struct Sources {
    by_server: BTreeMap<String, Result<Source, FileError>>,
}

impl Sources {
    fn read(project: &Project, input: &TemplateInput, script: &Script) -> Self {
        let mut sources = Self { by_server: BTreeMap::new() };
        for (server, _) in script.servers() {
            sources.add(project, input, server);
        }
        let mut servers = project.possible_servers();
        servers.extend(input.snapshots.iter().map(|(server, _)| server.clone()));
        // First those whose tools are called by such names: a snapshot that is read is a file that the crate hangs on.
        let (likely, others): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| {
            let is_given = input.snapshots.iter().any(|(given, _)| given == server);
            project.options(server, is_given).is_ok_and(|options| script.may_call(&options))
        });
        for servers in [likely, others] {
            if sources.have_all(script) {
                break;
            }
            for server in servers {
                sources.add(project, input, &server);
            }
        }
        sources
    }

    fn add(&mut self, project: &Project, input: &TemplateInput, server: &str) {
        if self.by_server.contains_key(server) {
            return;
        }
        let path = input.snapshots.iter().find(|(given, _)| given == server).map(|(_, path)| path.value());
        let source = project.read(server, path.as_deref());
        let source = source.and_then(|source| source.check_configured(project).map(|()| source));
        self.by_server.insert(server.to_owned(), source);
    }

    /// Returns those that could be read, sorted by their names.
    fn readable(&self) -> impl Iterator<Item = &Source> {
        self.by_server.values().flatten()
    }

    /// Returns `true` if every name with a prefix is some tool's.
    fn have_all(&self, script: &Script) -> bool {
        let known: Vec<KnownServer<'_>> =
            self.readable().map(|source| KnownServer::new(&source.snapshot, &source.options)).collect();
        script.prefixed().all(|name| known.iter().any(|server| server.has(name)))
    }

    /// Returns a fault for each action of a server that is named and could not be read.
    fn faults(&self, script: &Script) -> Vec<Fault> {
        let named = script.calls_of(|server| self.by_server.get(server)?.as_ref().err());
        named.map(|(place, error)| Fault::new(place, one_line(error))).collect()
    }

    /// Returns the error of a snapshot that is given for a server that is not called.
    fn check_named(&self, input: &TemplateInput) -> syn::Result<()> {
        check_each(&input.snapshots, |(server, path)| match self.by_server.get(server) {
            Some(Err(error)) => Err(syn::Error::new(path.span(), error)),
            Some(Ok(_)) => Ok(()),
            None => {
                let message = format!("the template calls no tool of `{}`", printable(server));
                Err(syn::Error::new(path.span(), message))
            }
        })
    }

    /// Fails with diagnostics of called tools that the configuration denies.
    fn check_denied(&self, project: &Project, checked: &Checked<'_>, place: Span) -> syn::Result<()> {
        let servers: Vec<&Source> = self.readable().collect();
        check_each(&servers, |source| {
            let denied = source.denied(project, &checked.diagnostics(source.options.server_name()));
            denied.map_or(Ok(()), |error| Err(syn::Error::new(place, error)))
        })
    }
}

/// Returns an error about a file as part of one about another.
fn one_line(error: &FileError) -> String {
    let mut text = error.message.clone();
    if let Some(path) = &error.path {
        let position = error.position.map(|(line, column)| format!(":{line}:{column}")).unwrap_or_default();
        text.push_str(&format!(" (in {}{position})", path.display()));
    }
    if let Some(help) = &error.help {
        text.push_str(&format!("; {help}"));
    }
    text
}

/// `"prompts/triage.md", mod = daily, snapshots = { github = "schemas/github.json" }, crate = ..`
struct TemplateInput {
    path: LitStr,
    module: Option<Ident>,
    /// The names of servers, and the paths of their snapshots.
    snapshots: Vec<(String, LitStr)>,
    crate_path: Option<TokenStream>,
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
                "mod" => parsed.module = Some(module_name(input)?),
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

//! Errors in the configuration that would stop a build, found with the snapshots.

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Config, FileError, ServerConfig, Snapshot, printable, side_by_side};
use mcp_bindgen_schema::JoinedTools;
use serde_json::Value;

use crate::diagnostics::{self, Shown};
use crate::flags::name_of;
use crate::output::Output;
use crate::project;
use crate::report::Fault;
use crate::source::{self, Bound};

/// Tells the faults of each server, and gives them by its name.
pub(super) fn find(config: &Config, servers: &[ServerConfig], output: &mut Output) -> BTreeMap<String, Vec<Fault>> {
    let is_looked_at = |name: &str| servers.iter().any(|server| server.name == name);
    let modules =
        shared_modules(config, is_looked_at).map(|([_, server], error)| (server.to_owned(), (None, error.into())));
    let bindings = side_by_side(servers, 1, |server| {
        // An unreadable snapshot is reported by the comparison.
        let read = source::load(&config.snapshot_path(&server.name));
        read.map(|read| of_snapshot(config, &server.name, read)).unwrap_or_default()
    });
    let bindings = servers.iter().zip(bindings);
    let bindings = bindings.flat_map(|(server, all)| all.into_iter().map(|fault| (server.name.clone(), fault)));
    let unjoined = unjoined(config, is_looked_at).into_iter().map(|(server, fault)| (server, (None, fault)));
    let mut faults: BTreeMap<String, Vec<Fault>> = BTreeMap::new();
    for (server, (shown, fault)) in modules.chain(bindings).chain(unjoined) {
        match shown {
            Some(Shown { severity, text }) => output.diagnostic(&severity, &text),
            None => output.error(&fault.text),
        }
        faults.entry(server).or_default().push(fault);
    }
    faults
}

/// Returns the faults of `[tools]`, each with the first of its servers that is looked at.
fn unjoined(config: &Config, is_looked_at: impl Fn(&str) -> bool) -> Vec<(String, Fault)> {
    let mut faults = Vec::new();
    for (name, joined) in &config.joined {
        let Some((first, _)) = joined.of.iter().find(|(server, _)| is_looked_at(server)) else { continue };
        let mut tools: Vec<(&str, Value)> = Vec::new();
        let mut fault = |message: String, help: &str| {
            let error = joined.place.error(message).with_help(help);
            faults.push((first.clone(), error.into()));
        };
        for (server, tool) in &joined.of {
            // An unusable snapshot is reported by the comparison.
            let Ok(bound) = source::of_server(config, server, None) else { continue };
            match bound.snapshot.tools.into_iter().find(|found| name_of(found) == Some(tool)) {
                Some(found) => tools.push((server, found)),
                None => fault(
                    format!("`[tools.{name}]` names `{server}/{}`, which the server does not have", printable(tool)),
                    "`mcp-bindgen list` shows the tools of each server",
                ),
            }
        }
        let tools: Vec<(&str, &Value)> = tools.iter().map(|(server, tool)| (*server, tool)).collect();
        if tools.len() > 1
            && let Err(why) = JoinedTools::of(name, &tools)
        {
            fault(format!("`[tools.{name}]`: {why}"), "a view can hide an argument that only one of them has");
        }
    }
    faults
}

/// Returns an error if another server would have the same module as one of these.
pub(super) fn shared_module(config: &Config, names: &[&str]) -> Option<FileError> {
    let names: BTreeSet<&str> = names.iter().copied().collect();
    shared_modules(config, |_| true)
        .find(|(both, _)| both.iter().any(|name| names.contains(name)))
        .map(|(_, error)| error)
}

/// Returns each wanted server whose module an earlier one has, after that one, with the error.
fn shared_modules(config: &Config, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = ([&str; 2], FileError)> {
    let mut modules: BTreeMap<String, &str> = BTreeMap::new();
    config.servers.keys().filter(move |name| is_wanted(name)).filter_map(move |name| {
        let module = Options::new(name).module_name();
        let Some(other) = modules.get(&module).copied() else {
            modules.insert(module, name);
            return None;
        };
        let message = format!("servers `{other}` and `{name}` have the same module name `{module}`");
        let mut error = FileError::new(message).with_help("rename one of them; `mcp_tools!()` cannot bind both");
        error.path.clone_from(&config.path);
        Some(([other, name], error))
    })
}

/// Returns the faults that would stop the bindings of one server with this snapshot.
pub(super) fn of_live(config: &Config, server: &str, live: &Snapshot) -> Vec<Fault> {
    of_snapshot(config, server, (live.to_text(), live.clone())).into_iter().map(|(_, fault)| fault).collect()
}

/// A fault that would stop the bindings of a server; for diagnostics that the configuration denies also as it is shown.
type OfBindings = (Option<Shown>, Fault);

/// Returns the faults with a snapshot that says this.
fn of_snapshot(config: &Config, server: &str, read: (String, Snapshot)) -> Vec<OfBindings> {
    let Ok(options) = project::options(config, server, None) else { return Vec::new() };
    let bound = match Bound::of(config, server, options, read) {
        Ok(bound) => bound,
        Err(misfits) => return misfits.into_iter().map(|misfit| (None, misfit.into())).collect(),
    };
    let faults = source::unusable(&bound, server).into_iter().map(|error| (None, error.into()));
    let (_, said) = Bindings::generate(&bound.snapshot, &bound.options);
    let denied = said.iter().filter(|said| diagnostics::is_denied(said, &bound.levels)).map(|said| {
        let (path, line) = diagnostics::line(said, &bound);
        (diagnostics::shown(said, &bound), Fault::new(said.to_string()).at(path, line))
    });
    faults.chain(denied).collect()
}

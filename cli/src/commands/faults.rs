//! What in the configuration would stop a build, as far as the snapshots that are there tell.

use std::collections::BTreeMap;

use mcp_codegen::{Bindings, Options};
use mcp_model::{Config, FileError, ServerConfig, side_by_side};

use super::source::{self, Bound};
use crate::diagnostics::{self, Shown};
use crate::output::Output;
use crate::project;

/// Tells the faults of each server, and gives them by its name.
pub(super) fn find(config: &Config, servers: &[ServerConfig], output: &mut Output) -> BTreeMap<String, Vec<String>> {
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut modules: BTreeMap<String, &str> = BTreeMap::new();
    let bindings = side_by_side(servers, 1, |server| OfBindings::find(config, &server.name));
    for (server, of_bindings) in servers.iter().zip(bindings) {
        let name = server.name.as_str();
        let mut found: Vec<String> = Vec::new();
        let module = Options::new(name).module_name();
        if let Some(other) = modules.get(&module) {
            let message = format!("servers `{other}` and `{name}` would both be the module `{module}`");
            let help = "rename one of them; `mcp_tools!()` cannot bind both";
            let mut error = FileError::new(message).with_help(help);
            error.path.clone_from(&config.path);
            found.push(error.to_string());
        }
        modules.entry(module).or_insert(name);
        found.extend(of_bindings.faults);
        for fault in &found {
            output.error(fault);
        }
        of_bindings.denied.iter().for_each(|(shown, _)| shown.print(output));
        found.extend(of_bindings.denied.into_iter().map(|(_, fault)| fault));
        if !found.is_empty() {
            faults.insert(name.to_owned(), found);
        }
    }
    faults
}

/// What would stop the bindings of one server.
#[derive(Default)]
struct OfBindings {
    faults: Vec<String>,
    /// What the configuration denies, as it is shown, and in a line.
    denied: Vec<(Shown, String)>,
}

impl OfBindings {
    fn find(config: &Config, server: &str) -> Self {
        let path = config.snapshot_path(server);
        // A snapshot that cannot be read is told where it is compared.
        let (Ok(read), Ok(options)) = (source::load(&path), project::options(config, server, None)) else {
            return Self::default();
        };
        let bound = match Bound::of(path, read, options, config.diagnostics.clone()) {
            Ok(bound) => bound,
            Err(misfits) => {
                return Self { faults: misfits.iter().map(ToString::to_string).collect(), denied: Vec::new() };
            }
        };
        let faults = source::unusable(&bound, server).iter().map(ToString::to_string).collect();
        let (_, said) = Bindings::generate(&bound.snapshot, &bound.options);
        let denied = said.iter().filter(|said| diagnostics::is_denied(said, &bound.levels));
        let denied =
            denied.filter_map(|said| Some((Shown::new(said, &bound.levels, &bound.texts())?, said.to_string())));
        Self { faults, denied: denied.collect() }
    }
}

//! What in the configuration would stop a build, as far as the snapshots that are there tell.

use std::collections::BTreeMap;

use mcp_codegen::{Bindings, Options};
use mcp_model::{Config, FileError, ServerConfig};

use super::source;
use crate::diagnostics;
use crate::output::Output;

/// Tells the faults of each server, and gives them by its name.
pub(super) fn find(config: &Config, servers: &[ServerConfig], output: &mut Output) -> BTreeMap<String, Vec<String>> {
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut modules: BTreeMap<String, &str> = BTreeMap::new();
    for server in servers {
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
        // A snapshot that cannot be read is told where it is compared.
        let path = config.snapshot_path(name);
        if let Ok((_, snapshot)) = source::load(&path) {
            found.extend(source::override_faults(&path, &snapshot).iter().map(ToString::to_string));
        }
        let bound = source::bound(config, name, path, None).ok();
        found.extend(bound.iter().flat_map(|bound| source::unusable(bound, name)).map(|error| error.to_string()));
        for fault in &found {
            output.error(fault);
        }
        if let Some(bound) = bound {
            let (_, said) = Bindings::generate(&bound.snapshot, &bound.options);
            let denied = || said.iter().filter(|said| diagnostics::is_denied(said, &bound.levels));
            diagnostics::show(denied(), &bound.levels, &bound.texts(), output);
            found.extend(denied().map(ToString::to_string));
        }
        if !found.is_empty() {
            faults.insert(name.to_owned(), found);
        }
    }
    faults
}

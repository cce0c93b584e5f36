//! Keys in files of other programs that are not obeyed here.

use std::path::Path;

use mcp_bindgen_model::{Config, ServerConfig};

use super::Finding;
use crate::import::host::Folders;
use crate::import::of_file;

/// Where the configuration is a `.mcp.json`: what of it is passed over when it is read as it is.
pub(super) fn passed_over(config: &Config, server: &ServerConfig) -> Vec<Finding> {
    const SUBJECT: &str = "configuration";
    let Some(path) = config.path.as_deref().filter(|path| path.extension().is_some_and(|end| end == "json")) else {
        return Vec::new();
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let found = of_file(path, &Folders::of_this_process(folder), folder);
    let help = format!(
        "`mcp-bindgen import --from {}` converts it to an mcp.toml, and reports unsupported settings",
        path.display()
    );
    let mut said = Vec::new();
    for entry in found.entries.into_iter().filter(|entry| entry.name == server.name) {
        said.extend(entry.off.map(|off| format!("it is disabled for other programs, but not here: {off}")));
        let is_without = |theirs: &ServerConfig| theirs.timeout.is_some() && server.timeout.is_none();
        if entry.found.as_ref().is_ok_and(is_without) {
            said.push("`timeout` is a number without a unit, and is ignored".to_owned());
        }
        said.extend(entry.notes);
    }
    said.into_iter().map(|said| Finding::warning(SUBJECT, said, help.clone())).collect()
}

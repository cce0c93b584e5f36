//! What `remove`, `rename` and `set` share: the file that they change.

use std::path::{Path, PathBuf};

use mcp_model::{Config, Overrides, read_text};

use crate::exit::Failure;
use crate::project;

/// Finds the `mcp.toml` to change.
///
/// # Errors
/// Fails if there is no `mcp.toml`, or only a `.mcp.json`.
pub(super) fn target(explicit: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = super::add::file(explicit)?;
    match explicit {
        None if path.symlink_metadata().is_err() => Err(project::missing().into()),
        _ => {
            read_text(&path)?;
            Ok(path)
        }
    }
}

/// The files of a server beside `mcp.toml`: its snapshot and its overrides.
pub(super) fn files(config: &Config, server: &str) -> [PathBuf; 2] {
    let snapshot = config.snapshot_path(server);
    let overrides = Overrides::beside(&snapshot);
    [snapshot, overrides]
}

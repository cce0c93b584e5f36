//! The parts that `remove`, `rename` and `set` share: the file that they change.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, Overrides, Snapshot, read_text};

use crate::exit::Failure;
use crate::output::Output;
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

/// The places of a server's files beside `mcp.toml`: its snapshot and its overrides.
pub(super) fn files(config: &Config, server: &str) -> [PathBuf; 2] {
    let snapshot = config.snapshot_path(server);
    let overrides = Overrides::beside(&snapshot);
    [snapshot, overrides]
}

/// Returns `true` for the snapshot of a server, and for overrides: any other file may lie in their places.
pub(super) fn is_of(contents: &[u8], server: &str) -> bool {
    let text = String::from_utf8_lossy(contents);
    let is_snapshot = Snapshot::parse(&text).is_ok_and(|snapshot| snapshot.server.as_deref() == Some(server));
    is_snapshot || Overrides::parse(&text).is_ok()
}

/// Tells of a file that is not the server's.
pub(super) fn tell_kept(path: &str, server: &str, output: &mut Output) {
    output.status("Kept", &format!("{path}: not a snapshot of {server} or overrides"));
}

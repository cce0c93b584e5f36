//! A snapshot as it lies on disk.

use std::path::PathBuf;

use mcp_bindgen_codegen::snapshot_for_bindings;
use mcp_bindgen_model::{Config, FileError, Overrides, ServerConfig, Snapshot, read_text};

use crate::project::leads_nowhere;

/// A snapshot as it lies on disk: its text may be anything.
pub(crate) struct SnapshotFile {
    pub(crate) path: PathBuf,
    /// None where there is no file.
    pub(crate) text: Option<String>,
}

impl SnapshotFile {
    /// Reads the one of a server.
    ///
    /// # Errors
    /// Fails if it is there and cannot be read.
    pub(crate) fn read(config: &Config, server: &str) -> Result<Self, FileError> {
        let path = config.snapshot_path(server);
        // Where that cannot be told, reading says why.
        if !matches!(path.try_exists(), Ok(false)) {
            return Ok(Self { text: Some(read_text(&path)?), path });
        }
        // Writing would put a file in the place of the link.
        if path.is_symlink() { Err(leads_nowhere(&path)) } else { Ok(Self { path, text: None }) }
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns its contents, where they can be understood.
    pub(crate) fn known(&self) -> Option<Snapshot> {
        self.text.as_deref().and_then(|text| Snapshot::parse(text).ok())
    }

    /// Returns the overrides beside it and the views of its server that do not fit it, or the reason why they cannot be
    /// read.
    pub(crate) fn faults(&self, snapshot: Snapshot, server: &ServerConfig) -> Vec<String> {
        let overrides = Overrides::load_beside(&self.path).map_err(|error| vec![error]);
        let adapted = overrides.and_then(|overrides| snapshot_for_bindings(snapshot, overrides.as_ref(), Some(server)));
        adapted.err().iter().flatten().map(ToString::to_string).collect()
    }
}

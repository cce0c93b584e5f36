//! A snapshot as it lies on disk, and what overrides it.

use std::path::PathBuf;

use mcp_codegen::apply_overrides;
use mcp_model::{Config, FileError, Overrides, Snapshot, read_text};

/// A snapshot as it lies on disk: its text may be anything.
pub(crate) struct SnapshotFile {
    pub(crate) path: PathBuf,
    /// None where there is no file.
    pub(crate) text: Option<String>,
    /// What is said beside it, or why that cannot be read.
    overrides: Option<Result<Overrides, FileError>>,
}

impl SnapshotFile {
    /// Reads the one of a server.
    ///
    /// # Errors
    /// Where it is there and cannot be read.
    pub(crate) fn read(config: &Config, server: &str) -> Result<Self, FileError> {
        let path = config.snapshot_path(server);
        // Where that cannot be told, reading says why.
        let text = if matches!(path.try_exists(), Ok(false)) { None } else { Some(read_text(&path)?) };
        let overrides = Overrides::load_beside(&path).transpose();
        Ok(Self::of(path, text, overrides))
    }

    pub(super) fn of(path: PathBuf, text: Option<String>, overrides: Option<Result<Overrides, FileError>>) -> Self {
        Self { path, text, overrides }
    }

    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// What it says, where it can be understood.
    pub(crate) fn known(&self) -> Option<Snapshot> {
        self.text.as_deref().and_then(|text| Snapshot::parse(text).ok())
    }

    /// What of the overrides does not hold for a snapshot, or that they cannot be read.
    pub(crate) fn override_faults(&self, snapshot: &Snapshot) -> Vec<String> {
        let faults = match &self.overrides {
            None => Vec::new(),
            Some(Ok(overrides)) => apply_overrides(snapshot, overrides).err().unwrap_or_default(),
            Some(Err(error)) => vec![error.clone()],
        };
        faults.iter().map(ToString::to_string).collect()
    }
}

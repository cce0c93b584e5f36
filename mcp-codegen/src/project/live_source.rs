//! Servers as they are now, in the place of their snapshots.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{FileError, Snapshot};

use super::{Project, Source};
use crate::live::{Captured, differences, unreachable, unreachable_without_snapshot, unreadable};
use crate::options::Options;
use crate::paths::relative;

impl Project {
    /// Asks the server of the snapshot at a path, if the build may ask it.
    pub(super) fn ask(&self, server: &str, path: &Path) -> Option<Result<Captured, String>> {
        self.live.ask(self.config.as_ref()?, server, || Snapshot::load(path).ok())
    }

    /// Returns the snapshot for the bindings, and the differences between the live server and the file.
    pub(super) fn read_live(
        &self,
        server: &str,
        path: PathBuf,
        options: Options,
        outcome: Result<Captured, String>,
    ) -> Result<Source, FileError> {
        let shown = relative(&self.manifest_dir, &path);
        let captured = match outcome {
            Ok(captured) => captured,
            Err(why) if path.is_file() => {
                let mut source = self.read_file(server, path, options)?;
                source.warnings.push(unreachable(server, &shown, &why));
                return Ok(source);
            }
            Err(why) => return Err(unreachable_without_snapshot(server, &shown, &why)),
        };
        let named = |error: FileError| self.shown(error.in_file(&captured.path));
        // From the text, as the macro will read it once `sync` has written it.
        let snapshot = Snapshot::parse(&captured.text).map_err(named)?;
        let warning = match Snapshot::load(&path) {
            Ok(known) => {
                let configured = self.config.as_ref().and_then(|config| config.servers.get(server));
                let rules = configured.map(|configured| configured.drift_rules.clone()).unwrap_or_default();
                differences(server, &rules, &shown, (&known, &snapshot))
            }
            Err(error) if path.is_file() => Some(unreadable(server, &self.shown(error))),
            Err(_) => None,
        };
        let mut source = self.source(options, path, snapshot, captured.text, Some(&captured.path))?;
        source.warnings.extend(warning);
        Ok(source)
    }
}

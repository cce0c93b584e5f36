//! The changes of snapshots since this work left a branch.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, DriftRules, Snapshot};

use crate::exit::Failure;
use crate::git;
use crate::plan;
use crate::project::{CONFIGURATIONS, is_json};
use crate::report::Since;

/// The commit that work is compared with.
pub(super) struct Base {
    revision: String,
    commit: String,
    /// The configuration at that commit, if it is readable.
    config: Option<Config>,
}

impl Base {
    /// Finds the merge base with a revision.
    ///
    /// # Errors
    /// Fails if git finds none.
    pub(super) fn of_config(config: &Config, revision: &str) -> Result<Self, Failure> {
        let mut base = Self::of_file(&config.snapshot_path("any"), revision)?;
        base.config = config.path.as_deref().and_then(|path| base.config_at(path));
        Ok(base)
    }

    fn of_file(path: &Path, revision: &str) -> Result<Self, Failure> {
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
        Ok(Self { revision: revision.to_owned(), commit: git::base(folder, revision)?, config: None })
    }

    /// Returns the configuration at that commit, from its path or another usual one.
    fn config_at(&self, path: &Path) -> Option<Config> {
        let others = CONFIGURATIONS.iter().map(|name| path.with_file_name(name));
        [path.to_owned()].into_iter().chain(others).find_map(|path| {
            let text = git::text_of(&path, &self.commit, &self.revision).ok()??;
            let read =
                if is_json(&path) { Config::parse_mcp_json(&text, &path) } else { Config::parse_toml(&text, &path) };
            read.ok()
        })
    }

    /// Returns the path of a server's snapshot at that commit.
    pub(super) fn place(&self, server: &str, path: &Path) -> PathBuf {
        let then = self.config.as_ref().filter(|config| config.servers.contains_key(server));
        then.map_or_else(|| path.to_owned(), |config| config.snapshot_path(server))
    }

    /// Returns the servers that there were, and that a configuration does not have any more.
    pub(super) fn removed(&self, config: &Config) -> Vec<String> {
        let servers = self.config.iter().flat_map(|then| then.servers.keys());
        servers.filter(|name| !config.servers.contains_key(*name)).cloned().collect()
    }

    /// Compares the snapshot of a server, at this path and with these contents, with an earlier one.
    ///
    /// # Errors
    /// Fails if one of both cannot be read.
    pub(super) fn since(
        &self,
        (server, rules): (&str, &DriftRules),
        path: &Path,
        now: Option<&str>,
    ) -> Result<Since, Failure> {
        let place = self.place(server, path);
        let then = git::text_of(&place, &self.commit, &self.revision)?;
        let read = |text: &str, path: &Path, what: &str| {
            Snapshot::parse(text).map_err(|error| Failure::new(format!("{} {what}: {error}", path.display())))
        };
        let at_base = format!("at `{}`", self.revision);
        let mut since = Since::new(&self.revision, Vec::new());
        match (then.as_deref(), now) {
            (Some(then), Some(now)) => {
                let (then, now) = (read(then, &place, &at_base)?, read(now, path, "as it is")?);
                since.changes = plan::changes(&then, &now, rules);
            }
            (then, now) => (since.is_new, since.is_gone) = (now.is_some(), then.is_some()),
        }
        Ok(since)
    }
}

/// Compares the snapshot in a file, with these contents, with an earlier one.
///
/// # Errors
/// Fails if there is no such commit, or if either snapshot is unreadable.
pub(super) fn since_at(rules: &DriftRules, path: &Path, now: &str, revision: &str) -> Result<Since, Failure> {
    Base::of_file(path, revision)?.since(("", rules), path, Some(now))
}

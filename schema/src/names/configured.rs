//! Prefixed names from a configuration and its snapshots.

use std::path::{Path, PathBuf};

use mcp_bindgen_model::{Config, ServerConfig, Snapshot};
use serde_json::Value;

use super::PrefixedNames;
use super::prefixed::lead;

impl PrefixedNames {
    /// Returns the names of all servers of a configuration, from every readable snapshot.
    #[must_use]
    pub fn of_config(config: &Config) -> Self {
        let mut names = Self::default();
        for server in config.servers.values() {
            names.add_with_snapshot(server, &config.snapshot_path(&server.name));
        }
        names
    }

    /// Returns the servers of a configuration whose tools could collide with this one's, because the prefix of one
    /// begins with that of the other; usually none. Also returns the paths of their snapshots, readable or not.
    #[must_use]
    pub fn beside(config: &Config, server: &str) -> (Self, Vec<PathBuf>) {
        let (mut names, mut files) = (Self::default(), Vec::new());
        let Some(own) = config.servers.get(server) else { return (names, files) };
        let lead_of = |server: &ServerConfig| lead(&server.name, &server.prefix);
        let lead = lead_of(own);
        let is_related = |other: &&ServerConfig| {
            let other = lead_of(other);
            lead.starts_with(&other) || other.starts_with(&lead)
        };
        for other in config.servers.values().filter(|other| other.name != server).filter(is_related) {
            let path = config.snapshot_path(&other.name);
            names.add_with_snapshot(other, &path);
            files.push(path);
        }
        (names, files)
    }

    fn add_with_snapshot(&mut self, server: &ServerConfig, path: &Path) {
        self.add_configured(server);
        if let Ok(snapshot) = Snapshot::load(path) {
            self.add_listed(server, &snapshot.tools);
        }
    }

    /// Adds a server with its configuration, or replaces it.
    pub fn add_configured(&mut self, server: &ServerConfig) {
        let renames: Vec<(String, &str)> = server.renamed_tools().collect();
        self.add(&server.name, &server.prefix, renames.iter().map(|(tool, name)| (tool.as_str(), *name)));
        let seen = server.views.iter().filter_map(|(tool, view)| Some((tool.as_str(), view.name.as_deref()?)));
        self.add_viewed(&server.name, seen);
    }

    /// Adds the tools of a snapshot that the configuration selects.
    pub fn add_listed(&mut self, server: &ServerConfig, tools: &[Value]) {
        let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        self.add_snapshot(&server.name, names.filter(|name| server.selects(name)));
    }
}

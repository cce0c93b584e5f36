//! The configuration of a server: how to reach it, and which parts to use.

mod auth;
mod build;
mod drift;
mod isolation;
mod kinds;
mod paths;
mod places;
mod policy;
mod rust;
mod values;
mod view;

pub use self::auth::{AuthConfig, GrantType};
pub(crate) use self::drift::DRIFT;
pub use self::drift::{Acceptance, Drift, DriftRules};
pub use self::isolation::{Domain, Isolation};
pub(crate) use self::kinds::may_be_url;
pub use self::kinds::{Live, Pin, Prefix, Rate, SecretStore, Transport, Types, is_server_name};
pub use self::places::{ConfigPlace, ConfigPlaces};
pub use self::policy::{Condition, Pattern, PolicyEffect, PolicyRule};
pub(crate) use self::rust::RUST;
pub use self::rust::{RustConfig, RustRule, UnknownKeys};
pub use self::view::{Hint, View, ViewRefusal};
use crate::config::ServerConfig;
use crate::config::table::Field;
use crate::matching::matches_globs;

impl ServerConfig {
    /// Returns `true` if the configuration selects a tool: it matches `tools`, if set, and not `exclude`.
    pub fn selects(&self, tool: &str) -> bool {
        self.tools.as_deref().is_none_or(|tools| matches_globs(tools, tool)) && !self.excludes(tool)
    }

    /// Returns `true` if `exclude` names a tool.
    #[must_use]
    pub fn excludes(&self, tool: &str) -> bool {
        matches_globs(&self.exclude, tool)
    }

    /// Returns `true` if `approve` names a tool.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("files", "files-server").approve(["*", "!read_*"]);
    /// assert!(server.needs_approval("delete_file") && !server.needs_approval("read_file"));
    /// ```
    #[must_use]
    pub fn needs_approval(&self, tool: &str) -> bool {
        matches_globs(&self.approve, tool)
    }

    /// Returns `true` if a rule of `policy` demands something of calls of a tool, at least under some condition.
    #[must_use]
    pub fn has_policy(&self, tool: &str) -> bool {
        self.restricting_policies().any(|rule| matches_globs(&rule.tools, tool))
    }

    fn restricting_policies(&self) -> impl Iterator<Item = &PolicyRule> {
        self.policies.iter().filter(|rule| rule.then != PolicyEffect::Allow || rule.rate.is_some())
    }

    /// Returns `true` if `resources` selects a URI.
    #[must_use]
    pub fn selects_resource(&self, uri: &str) -> bool {
        self.resources.as_deref().is_none_or(|globs| matches_globs(globs, uri))
    }

    /// Returns `true` if `prompts` selects a prompt.
    #[must_use]
    pub fn selects_prompt(&self, prompt: &str) -> bool {
        self.prompts.as_deref().is_none_or(|globs| matches_globs(globs, prompt))
    }

    /// Returns `true` if `remote_use` allows a selected tool to templates that are not local files.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("files", "files-server").remote_use(["list_*"]);
    /// assert!(server.lets_remote_use("list_files") && !server.lets_remote_use("delete_file"));
    /// ```
    #[must_use]
    pub fn lets_remote_use(&self, tool: &str) -> bool {
        matches_globs(&self.remote_use, tool)
    }

    /// Returns the demands of this configuration that a client of somebody else does not know, each as it is written in
    /// `mcp.toml`. Whoever gives the server to another client enforces them or refuses.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let server = ServerConfig::stdio("files", "files-server").approve(["delete_*"]).exclude(["format"]);
    /// assert_eq!(server.demands().collect::<Vec<_>>(), ["exclude", "approve"]);
    /// ```
    pub fn demands(&self) -> impl Iterator<Item = &'static str> {
        let demands = [
            ("isolation", self.isolation.is_some()),
            ("tools", self.tools.is_some()),
            ("exclude", !self.exclude.is_empty()),
            ("view", !self.views.is_empty()),
            ("policy", self.restricting_policies().next().is_some()),
            ("approve", !self.approve.is_empty()),
            ("resources", self.resources.is_some()),
            ("prompts", self.prompts.is_some()),
            ("limit", self.limit.is_some()),
            ("drift = \"deny\"", self.drift == Some(Drift::Deny)),
            ("ca", self.ca.is_some()),
            ("client_cert", self.client_cert.is_some()),
            ("proxy", self.proxy.is_some()),
            ("auth", self.auth.is_some()),
        ];
        demands.into_iter().filter_map(|(demand, is_set)| is_set.then_some(demand))
    }

    /// Fills in the restrictions that this configuration does not set from `other`: `tools`, `exclude`, `approve`,
    /// `remote_use`, `resources`, `prompts`, `policy`, `limit`, `view`, `drift`, `pin`, and `isolation` of a child process. A configuration that only changes how a
    /// server is reached thus keeps the restrictions.
    ///
    /// ```
    /// use mcp_bindgen_model::ServerConfig;
    ///
    /// let reviewed = ServerConfig::stdio("files", "files-server").approve(["delete_*"]);
    /// let moved = ServerConfig::http("files", "https://files.example.com/mcp").with_demands_of(&reviewed);
    /// assert_eq!(moved.approve, ["delete_*"]);
    /// ```
    #[must_use]
    pub fn with_demands_of(mut self, other: &Self) -> Self {
        macro_rules! inherit {
            ($($field:ident)*) => { $(if self.$field.member().is_none() { self.$field.clone_from(&other.$field); })* };
        }
        inherit!(tools exclude approve resources prompts policies remote_use views limit pin);
        self.places.extend(&other.places);
        if self.drift.is_none() && self.drift_rules.is_empty() {
            self.drift_rules = other.drift_rules.clone();
        }
        self.drift = self.drift.or(other.drift);
        if matches!(self.transport, Transport::Stdio { .. }) && self.isolation.is_none() {
            self.isolation = other.isolation.clone().map(|isolation| isolation.led_from(other.folder.as_deref()));
        }
        self
    }
}

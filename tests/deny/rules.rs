//! The rules of deny.toml that need no network, and what breaks them. A key that is not understood is an error: a rule
//! that nobody enforces is none.

use std::collections::BTreeSet;

use serde_json::Value;
use toml::{Table, Value as Toml};

use crate::spdx;

/// The keys that hold here. Those of `advisories` need the network, and cargo-deny.
const UNDERSTOOD: [&str; 12] = [
    "graph.all-features",
    "advisories.yanked",
    "licenses.allow",
    "licenses.confidence-threshold",
    "licenses.private.ignore",
    "bans.multiple-versions",
    "bans.wildcards",
    "bans.allow-wildcard-paths",
    "bans.deny.name",
    "bans.deny.reason",
    "sources.unknown-registry",
    "sources.unknown-git",
];
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

pub(crate) struct Rules {
    allowed: BTreeSet<String>,
    banned: Vec<(String, String)>,
}

impl Rules {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text.parse().map_err(|error| format!("{error}"))?;
        let mut keys = BTreeSet::new();
        collect_keys("", &Toml::Table(table.clone()), &mut keys);
        let unknown: Vec<_> = keys.iter().filter(|key| !UNDERSTOOD.contains(&key.as_str())).collect();
        if !unknown.is_empty() {
            return Err(format!("deny.toml has rules that tests/deny does not check: {unknown:?}"));
        }
        let value = |section: &str, key: &str| table.get(section).and_then(|section| section.get(key));
        // These are enforced whatever the file says, so it must not say otherwise.
        let strict = [
            ("bans", "wildcards", "deny"),
            ("sources", "unknown-registry", "deny"),
            ("sources", "unknown-git", "deny"),
        ];
        for (section, key, expected) in strict {
            if value(section, key).and_then(Toml::as_str) != Some(expected) {
                return Err(format!("{section}.{key} is not {expected:?}"));
            }
        }
        let list = |section: &str, key: &str| value(section, key).and_then(Toml::as_array).cloned().unwrap_or_default();
        let text = |value: &Toml, key: &str| value.get(key).and_then(Toml::as_str).unwrap_or_default().to_owned();
        let rules = Self {
            allowed: list("licenses", "allow").iter().filter_map(Toml::as_str).map(str::to_owned).collect(),
            banned: list("bans", "deny").iter().map(|ban| (text(ban, "name"), text(ban, "reason"))).collect(),
        };
        if rules.allowed.is_empty() || rules.banned.iter().any(|(name, _)| name.is_empty()) {
            return Err("deny.toml allows no licence, or bans a crate without a name".to_owned());
        }
        Ok(rules)
    }

    /// Returns the faults of a package, as `cargo metadata` describes it.
    pub(crate) fn faults(&self, package: &Value) -> Vec<String> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let name = text(package, "name").unwrap_or_default();
        let mut faults = Vec::new();
        let is_private = package.get("publish").and_then(Value::as_array).is_some_and(Vec::is_empty);
        match text(package, "license") {
            _ if is_private => {}
            None => faults.push(format!("{name} has no licence expression")),
            Some(licence) => match spdx::is_allowed(&licence, &self.allowed) {
                Ok(true) => {}
                Ok(false) => faults.push(format!("{name} is licensed {licence:?}, which deny.toml does not allow")),
                Err(reason) => faults.push(format!("{name} is licensed {licence:?}: {reason}")),
            },
        }
        for dependency in package.get("dependencies").and_then(Value::as_array).into_iter().flatten() {
            let is_path = dependency.get("path").is_some_and(Value::is_string);
            if !is_path && text(dependency, "req").as_deref() == Some("*") {
                let target = text(dependency, "name").unwrap_or_default();
                faults.push(format!("{name} takes any version of {target}"));
            }
        }
        faults.extend(self.faults_of_lock(&name, text(package, "source").as_deref()));
        faults
    }

    /// Returns the faults of a package in `Cargo.lock`, which lists the packages of every platform and feature.
    pub(crate) fn faults_of_lock(&self, name: &str, source: Option<&str>) -> Vec<String> {
        let bans = self.banned.iter().filter(|(banned, _)| banned == name);
        let mut faults: Vec<String> = bans.map(|(_, reason)| format!("{name} is banned: {reason}")).collect();
        if let Some(source) = source.filter(|source| *source != CRATES_IO) {
            faults.push(format!("{name} comes from {source}"));
        }
        faults
    }
}

fn collect_keys(prefix: &str, value: &Toml, keys: &mut BTreeSet<String>) {
    match value {
        Toml::Table(table) => {
            for (key, value) in table {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                collect_keys(&path, value, keys);
            }
        }
        Toml::Array(items) if items.iter().any(Toml::is_table) => {
            items.iter().for_each(|item| collect_keys(prefix, item, keys));
        }
        _ => drop(keys.insert(prefix.to_owned())),
    }
}

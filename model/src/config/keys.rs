//! Every key of `mcp.toml`. What is not listed here is refused before it is read, so that no key is read in passing.

use super::{drift, isolation, rust, server};

pub(super) const FILE: [&str; 4] = ["defaults", "servers", "deny", "allow"];
pub(super) const DEFAULTS: [&str; 5] = ["snapshots", "timeout", "drift", "pin", "live"];

/// Every key of `mcp.toml` that says something, with the tables that it is in: `defaults.timeout`,
/// `servers.*.isolation.home`. For tests that show what each of them does.
///
/// ```
/// let keys = mcp_bindgen_model::config_keys();
/// assert!(keys.iter().any(|key| key == "servers.*.approve"));
/// ```
#[must_use]
pub fn config_keys() -> Vec<String> {
    let mut keys = Vec::new();
    for key in FILE {
        match key {
            "defaults" => keys.extend(DEFAULTS.iter().map(|key| format!("defaults.{key}"))),
            "servers" => keys.extend(server_keys().map(|key| format!("servers.*.{key}"))),
            key => keys.push(key.to_owned()),
        }
    }
    keys
}

fn server_keys() -> impl Iterator<Item = String> {
    server::KEYS.into_iter().flat_map(|key| {
        let inner: &[&str] = match key {
            "rust" => &rust::KEYS,
            "drift" => &drift::KEYS,
            "isolation" => &isolation::KEYS,
            _ => &[],
        };
        let below = inner.iter().map(move |inner| format!("{key}.{inner}"));
        std::iter::once(key.to_owned()).chain(below)
    })
}

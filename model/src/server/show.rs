//! A configuration as it may be shown.

use std::collections::BTreeMap;
use std::fmt;

use super::{ServerConfig, Transport};
use crate::secrets::{find_literals, hidden, quoted, replace};

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.hide_secrets(&mut |_, secret| hidden(secret));
        let env = placeholders_of(&self.written().env);
        f.debug_struct("ServerConfig")
            .field("name", &shown.name)
            .field("transport", &Written { shown: &shown.transport, written: &self.written().transport })
            .field("env", &env)
            .field("inherit_env", &shown.inherit_env)
            .field("tools", &shown.tools)
            .field("exclude", &shown.exclude)
            .field("approve", &shown.approve)
            .field("resources", &shown.resources)
            .field("prompts", &shown.prompts)
            .field("policies", &shown.policies)
            .field("shared", &shown.shared)
            .field("remote_use", &shown.remote_use)
            .field("prefix", &shown.prefix)
            .field("types", &shown.types)
            .field("unknown", &shown.unknown)
            .field("rust", &shown.rust)
            .field("views", &shown.views)
            .field("description", &shown.description)
            .field("timeout", &shown.timeout)
            .field("connect_timeout", &shown.connect_timeout)
            .field("limit", &shown.limit)
            .field("ca", &shown.ca)
            .field("client_cert", &shown.client_cert)
            .field("proxy", &shown.proxy)
            .field("auth", &shown.auth)
            .field("drift", &shown.drift)
            .field("drift_rules", &shown.drift_rules)
            .field("pin", &shown.pin)
            .field("isolation", &shown.isolation)
            .field("secret_stores", &shown.secret_stores)
            .field("hosted", &shown.hosted)
            .finish()
    }
}

/// A transport alone does not know what its values were before they were expanded, so it shows none.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { args, .. } => f.debug_struct("Stdio").field("args", &args.len()).finish_non_exhaustive(),
            Self::Http { headers, .. } => show_remote(f, "Http", headers),
            Self::Sse { headers, .. } => show_remote(f, "Sse", headers),
        }
    }
}

fn show_remote(f: &mut fmt::Formatter<'_>, name: &str, headers: &BTreeMap<String, String>) -> fmt::Result {
    f.debug_struct(name).field("headers", &headers.len()).finish_non_exhaustive()
}

/// A transport that still has its placeholders, with and without its secrets.
struct Written<'a> {
    shown: &'a Transport,
    written: &'a Transport,
}

impl fmt::Debug for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, url) = match self.shown {
            Transport::Stdio { command, args, cwd } => {
                let mut shown = f.debug_struct("Stdio");
                return shown.field("command", command).field("args", args).field("cwd", cwd).finish();
            }
            Transport::Http { url, .. } => ("Http", url),
            Transport::Sse { url, .. } => ("Sse", url),
        };
        let headers = match self.written {
            Transport::Http { headers, .. } | Transport::Sse { headers, .. } => placeholders_of(headers),
            Transport::Stdio { .. } => Vec::new(),
        };
        f.debug_struct(name).field("url", &without_what_is_asked(url)).field("headers", &headers).finish()
    }
}

/// A URL without the values of its query and fragment. Placeholders stay.
fn without_what_is_asked(url: &str) -> String {
    let parts = url.split_inclusive(['?', '#', '&']).enumerate().map(|(index, part)| match part.split_once('=') {
        Some((key, value)) if index > 0 => {
            let (value, end) = value.split_at(value.trim_end_matches(['?', '#', '&']).len());
            format!("{key}={}{end}", replace(value, &find_literals(key, value), hidden))
        }
        _ => part.to_owned(),
    });
    parts.collect()
}

/// Of variables and headers, where most secrets are, only the placeholders are shown.
fn placeholders_of(map: &BTreeMap<String, String>) -> Vec<(String, String)> {
    map.iter().map(|(key, value)| (quoted(key), replace(value, &find_literals(key, value), hidden))).collect()
}

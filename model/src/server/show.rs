//! A configuration as it may be shown.

use std::collections::BTreeMap;
use std::fmt;

use super::Transport;
use crate::config::{ServerConfig, Table};
use crate::secrets::{find_literals, hidden, quoted, replace};

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.hide_secrets(&mut |_, secret| hidden(secret));
        shown.env = placeholders_of(&self.written().env);
        let mut fields = f.debug_struct("ServerConfig");
        let transport = Written { shown: &shown.transport, written: &self.written().transport };
        fields.field("name", &shown.name).field("transport", &transport);
        shown.show(&mut fields);
        fields.field("drift", &shown.drift).field("drift_rules", &shown.drift_rules).finish()
    }
}

/// Prints no values, because a transport does not know its values before expansion.
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
            Transport::Stdio { .. } => BTreeMap::new(),
        };
        f.debug_struct(name).field("url", &without_what_is_asked(url)).field("headers", &headers).finish()
    }
}

/// Returns a URL without the values of its query and fragment. Placeholders stay.
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

/// Shows only the placeholders of variables and headers, which hold most secrets.
fn placeholders_of(map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    map.iter().map(|(key, value)| (quoted(key), replace(value, &find_literals(key, value), hidden))).collect()
}

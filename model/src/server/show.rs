//! A configuration as it may be shown.

use std::fmt;

use serde_json::Value;

use super::Transport;
use crate::config::{ServerConfig, Table};
use crate::printable;
use crate::secrets::{ConfigField, find, find_literals, hidden, quoted, replace};

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.written().map_texts(&mut |place, text| match place {
            // They hold most secrets, so only their placeholders are shown.
            ConfigField::Env(key) | ConfigField::Header(key) => replace(text, &find_literals(key, text), hidden),
            ConfigField::Name(_) => quoted(text),
            ConfigField::Url => without_query_values(&replace(text, &find(place, text), hidden)),
            _ => replace(text, &find(place, text), hidden),
        });
        let transport = Value::Object(shown.transport_members());
        let mut fields = f.debug_struct("ServerConfig");
        fields.field("name", &shown.name).field("transport", &format_args!("{}", printable(&transport.to_string())));
        shown.show(&mut fields);
        fields.field("drift", &shown.drift).field("drift_rules", &shown.drift_rules).finish()
    }
}

/// Prints no values, because a transport does not know its values before expansion.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, key, count) = match self {
            Self::Stdio { args, .. } => ("Stdio", "args", args.len()),
            Self::Http { headers, .. } => ("Http", "headers", headers.len()),
            Self::Sse { headers, .. } => ("Sse", "headers", headers.len()),
        };
        f.debug_struct(name).field(key, &count).finish_non_exhaustive()
    }
}

/// Returns a URL without the values of its query and fragment. Placeholders stay.
fn without_query_values(url: &str) -> String {
    let parts = url.split_inclusive(['?', '#', '&']).enumerate().map(|(index, part)| match part.split_once('=') {
        Some((key, value)) if index > 0 => {
            let (value, end) = value.split_at(value.trim_end_matches(['?', '#', '&']).len());
            format!("{key}={}{end}", replace(value, &find_literals(key, value), hidden))
        }
        _ => part.to_owned(),
    });
    parts.collect()
}

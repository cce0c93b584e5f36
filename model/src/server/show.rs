//! What may be seen of a configuration.

use std::fmt;

use super::{ServerConfig, Transport};
use crate::placeholder;
use crate::secrets::Place;

const HIDDEN: &str = "<hidden>";

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.hide_secrets(&|_: Place<'_>, _| HIDDEN.to_owned());
        let env: Vec<_> = shown.env.iter().map(|(key, value)| (key, placeholder_or_hidden(value))).collect();
        f.debug_struct("ServerConfig")
            .field("name", &shown.name)
            .field("transport", &Written(&shown.transport))
            .field("env", &env)
            .field("inherit_env", &shown.inherit_env)
            .field("tools", &shown.tools)
            .field("exclude", &shown.exclude)
            .field("approve", &shown.approve)
            .field("prefix", &shown.prefix)
            .field("types", &shown.types)
            .field("description", &shown.description)
            .field("timeout", &shown.timeout)
            .field("drift", &shown.drift)
            .finish()
    }
}

/// A transport alone does not know what its values were before they were expanded, so it shows no argument, no header
/// and of a URL only the start.
impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { command, args, .. } => {
                f.debug_struct("Stdio").field("command", command).field("args", &args.len()).finish_non_exhaustive()
            }
            Self::Http { url, headers } => show_remote(f, "Http", origin(url), headers.keys()),
            Self::Sse { url, headers } => show_remote(f, "Sse", origin(url), headers.keys()),
        }
    }
}

fn show_remote<'a>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    origin: &str,
    headers: impl Iterator<Item = &'a String>,
) -> fmt::Result {
    let headers: Vec<_> = headers.collect();
    f.debug_struct(name).field("url", &origin).field("headers", &headers).finish_non_exhaustive()
}

/// Scheme, host and port: what stands before a user, a path or a query.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(host..).and_then(|rest| rest.find(['/', '?', '#', '@', '$'])).map_or(url.len(), |at| host + at);
    match url.get(end..) {
        Some(rest) if rest.starts_with('@') => HIDDEN,
        _ => url.get(..end).unwrap_or(HIDDEN),
    }
}

/// The values of a transport that still has its placeholders.
struct Written<'a>(&'a Transport);

impl fmt::Debug for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, url, headers) = match self.0 {
            Transport::Stdio { command, args, cwd } => {
                return f
                    .debug_struct("Stdio")
                    .field("command", command)
                    .field("args", args)
                    .field("cwd", cwd)
                    .finish();
            }
            Transport::Http { url, headers } => ("Http", url, headers),
            Transport::Sse { url, headers } => ("Sse", url, headers),
        };
        let headers: Vec<_> = headers.iter().map(|(key, value)| (key, placeholder_or_hidden(value))).collect();
        f.debug_struct(name).field("url", url).field("headers", &headers).finish()
    }
}

fn placeholder_or_hidden(value: &str) -> &str {
    if placeholder::is_in(value) { value } else { HIDDEN }
}

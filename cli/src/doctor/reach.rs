//! Whether a server could be started or reached.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use mcp_model::{ServerConfig, Transport};

use super::Finding;

/// How long an address may take that somebody listens at.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whether the program is there, seen with the eyes of the child that would run it.
pub(super) fn program(server: &ServerConfig) -> Option<Finding> {
    const SUBJECT: &str = "program";
    let Transport::Stdio { command, cwd, .. } = &server.transport else { return None };
    let here = env::current_dir().ok()?;
    let base = server.folder.as_ref().map_or_else(|| here.clone(), |folder| here.join(folder));
    let folder = cwd.as_ref().map_or_else(|| base.clone(), |cwd| base.join(cwd));
    if !folder.is_dir() {
        let text = format!("its folder {} is not there", folder.display());
        return Some(Finding::error(SUBJECT, text, "mend `cwd` of the server, or make the folder"));
    }
    let own = server.env.get("PATH").map(OsString::from);
    let path = own.or_else(|| env::var_os("PATH")).unwrap_or_default();
    let from = if Path::new(command).components().count() > 1 { &base } else { &folder };
    Some(match which::which_in(command, Some(&path), from) {
        Ok(found) => Finding::fine(SUBJECT, found.display().to_string()),
        Err(_) => {
            let help = match command.as_str() {
                "npx" | "node" | "npm" => "install node.js (https://nodejs.org), which brings npx along",
                "uvx" | "uv" => "install uv (https://docs.astral.sh/uv), which brings uvx along",
                "docker" => "install docker",
                command if command.contains(char::is_whitespace) => "write the arguments into `args`",
                _ => "install it, or name it by its whole path in `command`",
            };
            let looked =
                env::split_paths(&path).map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
            Finding::error(SUBJECT, format!("`{command}` was not found in {looked}"), help)
        }
    })
}

/// Whether what is asked of the machine can be had.
pub(super) fn isolation(server: &ServerConfig) -> Option<Finding> {
    const SUBJECT: &str = "isolation";
    server.isolation.as_ref()?;
    if !cfg!(target_os = "linux") {
        let help = "leave out of `isolation` what this system cannot enforce: connecting says what that is";
        return Some(Finding::warning(SUBJECT, "folders and the network are shut off on Linux alone", help));
    }
    Some(match which::which("bwrap") {
        Ok(found) => Finding::fine(SUBJECT, found.display().to_string()),
        Err(_) => Finding::warning(
            SUBJECT,
            "bubblewrap (`bwrap`) is not there: all but `home = \"temp\"` needs it",
            "install it: `apt install bubblewrap`, `dnf install bubblewrap`",
        ),
    })
}

/// Whether somebody listens at the address of a server at a URL.
pub(super) async fn address(server: &ServerConfig) -> Option<Finding> {
    const SUBJECT: &str = "address";
    let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &server.transport else { return None };
    if url.contains("${") {
        return None;
    }
    let Some((host, port)) = endpoint(url) else {
        return Some(Finding::error(SUBJECT, "its URL names no host", "mend `url`: `https://HOST/PATH`"));
    };
    let proxies: BTreeMap<&str, String> = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY"]
        .into_iter()
        .filter_map(|name| Some((name, env::var(name).ok().filter(|value| !value.is_empty())?)))
        .collect();
    if let Some(name) = proxies.keys().next() {
        // Whether the proxy lets it through only a request tells.
        return Some(Finding::fine(SUBJECT, format!("{host}:{port}, by the proxy of `{name}`")));
    }
    let opened = tokio::time::timeout(PATIENCE, tokio::net::TcpStream::connect((host.as_str(), port))).await;
    Some(match opened {
        Ok(Ok(_)) => Finding::fine(SUBJECT, format!("{host}:{port}")),
        Ok(Err(error)) => Finding::error(
            SUBJECT,
            format!("{host}:{port} cannot be reached: {error}"),
            "start the server, mend `url`, or set HTTPS_PROXY where a proxy stands in between",
        ),
        Err(_) => Finding::error(
            SUBJECT,
            format!("{host}:{port} has not answered within {PATIENCE:?}"),
            "look at the network, or set HTTPS_PROXY where a proxy stands in between",
        ),
    })
}

/// Host and port of a URL.
fn endpoint(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let default = if scheme.eq_ignore_ascii_case("http") { 80 } else { 443 };
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(default), |port| port.parse().ok())?;
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_from_urls() {
        for (url, host, port) in [
            ("https://a.example/mcp", "a.example", 443),
            ("http://localhost:8080?x", "localhost", 8080),
            ("http://user:pw@[::1]:9/mcp", "::1", 9),
            ("https://[::1]/", "::1", 443),
        ] {
            assert_eq!(endpoint(url), Some((host.to_owned(), port)), "{url}");
        }
        for url in ["nothing", "http://", "http://x:y/"] {
            assert_eq!(endpoint(url), None, "{url}");
        }
    }
}

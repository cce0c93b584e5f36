//! Checks whether a server can be started or reached.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use mcp_bindgen_model::Transport;
use mcp_bindgen_runtime::{Route, RouteError, bubblewrap, exposes_headers};

use super::Finding;
use super::environment::Filled;

/// The time for an address to answer.
const PATIENCE: Duration = Duration::from_secs(3);

/// Checks that the program exists for the child process.
pub(super) fn program(server: &Filled) -> Option<Finding> {
    let Transport::Stdio { command, cwd, .. } = &server.config.transport else { return None };
    let own = server.config.env.get("PATH");
    if [Some(command), cwd.as_ref(), own].into_iter().flatten().any(|text| server.is_open(text)) {
        return Some(unseen());
    }
    let here = env::current_dir().ok()?;
    let folder = cwd.as_ref().map_or_else(|| here.clone(), |cwd| here.join(cwd));
    if !folder.is_dir() {
        let text = format!("its folder {} does not exist", server.shown(&folder.display().to_string()));
        return Some(Finding::error(text, "fix `cwd` of the server, or create the folder"));
    }
    let path = own.map(OsString::from).or_else(|| env::var_os("PATH")).unwrap_or_default();
    Some(match which::which_in(command, Some(&path), &folder) {
        Ok(found) => Finding::fine(server.shown(&found.display().to_string())),
        Err(_) => {
            let help = match command.as_str() {
                "npx" | "node" | "npm" => "install Node.js (https://nodejs.org), which includes npx",
                "uvx" | "uv" => "install uv (https://docs.astral.sh/uv), which includes uvx",
                "docker" => "install docker",
                command if command.contains(char::is_whitespace) => "move the arguments to `args`",
                _ => "install it, or use its full path in `command`",
            };
            let command = server.shown(command);
            // A path is not searched on `PATH`.
            let text = if Path::new(&command).components().count() > 1 {
                format!("`{command}` does not exist, or is not executable")
            } else {
                let folders = env::split_paths(&path).map(|folder| server.shown(&folder.display().to_string()));
                format!("`{command}` was not found in {}", folders.collect::<Vec<_>>().join(", "))
            };
            Finding::error(text, help)
        }
    })
}

/// Reports a check that needs a missing value; the missing value has a finding of its own.
fn unseen() -> Finding {
    let help = "set their variables, and run this again";
    Finding::warning("not checked: the values of its placeholders are unknown", help)
}

/// Checks that this machine supports the isolation. Without bubblewrap, connecting fails.
pub(super) fn isolation(server: &Filled) -> Option<Finding> {
    let isolation = server.config.isolation.as_ref()?;
    if [&isolation.read, &isolation.write].into_iter().flatten().flatten().any(|folder| server.is_open(folder)) {
        return Some(unseen());
    }
    Some(match bubblewrap(&server.config) {
        Ok(found) => Finding::fine(found?.display().to_string()),
        Err(message) => {
            let (text, help) = message.rsplit_once("; ").unwrap_or((&message, "fix `isolation` of the server"));
            Finding::error(server.shown(text), help)
        }
    })
}

/// Checks that the address of a server is reachable in the same way as for a call.
pub(super) async fn address(server: &Filled) -> Option<Finding> {
    let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &server.config.transport else { return None };
    // Only scheme and host matter for a connection.
    let ends = url.find("://").map_or(0, |scheme| scheme + 3);
    let origin = url.get(ends..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(url.len(), |end| ends + end);
    let origin = url.get(..origin).unwrap_or_default();
    let ways = [&server.config.ca, &server.config.client_cert, &server.config.proxy];
    let is_open = |text: &String| server.is_open(text);
    if server.is_open(origin) || (origin.contains("${") && is_open(url)) || ways.into_iter().flatten().any(is_open) {
        return Some(unseen());
    }
    let route = match Route::to(origin, &server.config) {
        Ok(route) => route,
        Err(error) => {
            let help = "fix `url`, `ca`, `client_cert` or `proxy` of the server";
            return Some(Finding::error(server.shown(&error), help));
        }
    };
    let mut place = server.shown(&route.place());
    if let Some(proxy) = route.proxy() {
        place.push_str(&format!(", through the proxy {}", server.shown(&proxy)));
    }
    Some(match route.open(PATIENCE).await {
        Ok(()) if exposes_headers(&server.config) => {
            let said = format!("{place} receives secret headers over unencrypted HTTP");
            Finding::warning(said, "use `https://` in `url`")
        }
        Ok(()) => Finding::fine(place),
        Err(RouteError::Closed(error)) => {
            // The help says the same.
            let error = error.split_once("; if the server is right").map_or(&*error, |(error, _)| error);
            let error = server.shown(error);
            Finding::error(format!("failed to reach {place}: {error}"), mends(&error, route.proxy().is_some()))
        }
        Err(error) => {
            let error = server.shown(&error.to_string());
            let help = "check the network, or call one of its tools: its state is unknown";
            Finding::warning(format!("{place}: {error}"), help)
        }
    })
}

/// Suggests a next step for a failed connection.
fn mends(error: &str, has_proxy: bool) -> &'static str {
    let error = error.to_ascii_lowercase();
    if error.contains("certificate") || error.contains("unknownissuer") {
        "set `ca` of the server to the certificate of its authority, or add it to the system"
    } else if error.contains("corrupt message") {
        "use `http://` in `url` if the server has no TLS"
    } else if has_proxy {
        "fix `proxy` of the server, or HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or add the host to NO_PROXY"
    } else {
        "start the server, fix `url`, or set HTTPS_PROXY"
    }
}

//! Lets a server reach some domains and nothing else.
//!
//! The server is in a network namespace without any network. In it, `socat` listens on the loopback address and passes
//! each connection to a unix socket of this process. There an HTTP proxy checks the domain, resolves it, refuses
//! private addresses, and connects to the checked address. Environment variables name the proxy. Programs that ignore
//! them have no network.

mod proxy;
mod request;

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_bindgen_model::Domain;

use tokio::net::UnixListener;
use tokio::task::AbortHandle;

use self::proxy::Proxy;
use super::bwrap::Tool;
use super::folders::Plan;
use super::{Refusal, path_text};
use crate::ConnectErrorKind as Kind;
use crate::ground::task::task;

pub(super) const SOCAT: Tool = Tool { key: "`network` of its `isolation`", package: "socat", program: "socat" };
/// The folder of the socket, as the server sees it.
const SEEN_AT: &str = "/run/mcp-bindgen-network";
/// The folder for the sockets of all servers. Isolated servers do not see it, because each has its own `/tmp`.
const FOLDER: &str = "/tmp";
const SOCKET: &str = "proxy";
/// The address of the proxy in the server's namespace; no other program listens there.
const ADDRESS: &str = "http://127.0.0.1:3128";
/// Starts `socat` in the background, waits until it listens, and becomes the program. 0C38 is 3128.
const SCRIPT: &str = r#"
("$1" TCP4-LISTEN:3128,bind=127.0.0.1,reuseaddr,fork,max-children=64 "UNIX-CONNECT:$2" </dev/null >/dev/null 2>&1 &)
shift 2
tries=0
until grep -q ':0C38 00000000:0000 0A' /proc/net/tcp; do
  [ $tries -lt 500 ] || { echo 'socat does not listen' >&2; exit 1; }
  tries=$((tries + 1))
  sleep 0.01
done
exec "$@"
"#;
const VARIABLES: [&str; 6] = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The proxy of one server, and the folder of its socket.
pub(crate) struct Gate {
    folder: PathBuf,
    socat: PathBuf,
    task: AbortHandle,
}

impl Gate {
    /// Opens the proxy for a server that may reach these domains. Shows `socat` and the proxy to the server.
    ///
    /// # Errors
    /// Fails if `socat` is not installed, or the socket cannot be created.
    pub(super) fn open(domains: &[String], plan: &mut Plan) -> Result<Self, Refusal> {
        let domains: Result<Vec<Domain>, _> = domains.iter().map(|domain| Domain::parse(domain)).collect();
        let domains = domains
            .map_err(|why| (Kind::Config, format!("`network` of its `isolation` has an invalid domain: {why}")))?;
        let socat = SOCAT.find(&plan.writable)?;
        plan.env.extend(VARIABLES.map(|name| (name, ADDRESS.into())));
        // Node's own `fetch` reads the variables only with this.
        plan.env.extend([("NODE_USE_ENV_PROXY", "1".into()), ("NO_PROXY", "".into()), ("no_proxy", "".into())]);
        let shown = plan.show_program(&socat, None);
        shown.and_then(|()| Self::with(Proxy::new(domains), socat)).map_err(|error| {
            (Kind::Spawn, format!("the proxy for `network` of its `isolation` cannot be started: {error}"))
        })
    }

    fn with(proxy: Proxy, socat: PathBuf) -> io::Result<Self> {
        let random = RandomState::new().hash_one(0_u8);
        let folder = Path::new(FOLDER).join(format!("mcp-bindgen-{}-{random:016x}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let listener =
            UnixListener::bind(folder.join(SOCKET)).inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))?;
        let task = tokio::spawn(task(Arc::new(proxy).serve(listener))).abort_handle();
        Ok(Self { folder, socat, task })
    }

    /// Returns the options of bubblewrap, which follow those of files.
    pub(super) fn options(&self) -> [OsString; 3] {
        ["--ro-bind".into(), self.folder.clone().into(), SEEN_AT.into()]
    }

    /// Returns the command that starts the program, in front of it.
    pub(super) fn before_program(&self) -> [OsString; 6] {
        let socket = Path::new(SEEN_AT).join(SOCKET);
        ["/bin/sh".into(), "-c".into(), SCRIPT.into(), "sh".into(), self.socat.clone().into(), socket.into()]
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.task.abort();
        if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            tracing::debug!("`{}` is left behind: {error}", path_text(&self.folder));
        }
    }
}

#[cfg(test)]
mod tests;

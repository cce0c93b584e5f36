//! Lets a server reach some domains and nothing else.
//!
//! The server is in a network namespace without any network. In it, `socat` listens on the loopback address and passes
//! each connection to a unix socket of this process. There an HTTP proxy checks the domain, resolves it, refuses
//! private addresses, and connects to the checked address. Environment variables name the proxy. Programs that ignore
//! them have no network.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::Domain;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use super::Refusal;
use super::bwrap::Tool;
use super::folders::Plan;
use super::view::{list, path_text};
use crate::ConnectErrorKind as Kind;
use crate::ground::address::is_public;
use crate::ground::sync::lock;
use crate::ground::task::{Boxed, task};

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
const VARIABLES: &str = "HTTP_PROXY,HTTPS_PROXY,ALL_PROXY,http_proxy,https_proxy,all_proxy";
/// The headers that the proxy sets or drops.
const OURS: &str = "host,connection,keep-alive,proxy-connection,proxy-authorization,upgrade";
/// The end of a head: that of its last line, and an empty line.
const END: &[u8] = b"\r\n\r\n";
const LARGEST_HEAD: u64 = 32 * 1024;
const TIME_FOR_HEAD: Duration = Duration::from_secs(30);
const TIME_TO_CONNECT: Duration = Duration::from_secs(20);
const MOST_CONNECTIONS: usize = 64;
/// The maximum number of denied destinations in the log.
const MOST_LOGGED: usize = 32;

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
        let wrong = |why| (Kind::Config, format!("`network` of its `isolation` has an invalid domain: {why}"));
        let mut allowed = Vec::new();
        for domain in domains {
            allowed.push(Domain::parse(domain).map_err(wrong)?);
        }
        let socat = SOCAT.find(&plan.writable)?;
        plan.env.extend(VARIABLES.split(',').map(|name| (name, ADDRESS.into())));
        // Node's own `fetch` reads the variables only with the first one.
        plan.env.extend([("NODE_USE_ENV_PROXY", "1".into()), ("NO_PROXY", "".into()), ("no_proxy", "".into())]);
        let shown = plan.show_program(&socat, None);
        shown.and_then(|()| Self::with(Proxy::new(allowed), socat)).map_err(|error| {
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
    pub(super) fn options(&self) -> Vec<OsString> {
        list(&[&"--ro-bind", &self.folder, &SEEN_AT])
    }

    /// Returns the command that starts the program, in front of it.
    pub(super) fn start(&self) -> Vec<OsString> {
        list(&[&"/bin/sh", &"-c", &SCRIPT, &"sh", &self.socat, &Path::new(SEEN_AT).join(SOCKET)])
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

type Resolve = dyn Fn(String, u16) -> Boxed<io::Result<Vec<SocketAddr>>> + Send + Sync;

/// Either side of a tunnel.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The proxy of one server.
struct Proxy {
    domains: Vec<Domain>,
    resolve: Box<Resolve>,
    is_public: fn(IpAddr) -> bool,
    /// The destinations that were denied.
    denied: Mutex<Vec<String>>,
}

impl Proxy {
    fn new(domains: Vec<Domain>) -> Self {
        let resolve = |host: String, port| -> Boxed<io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
        };
        Self { domains, resolve: Box::new(resolve), is_public, denied: Mutex::default() }
    }

    /// Accepts connections until it is dropped, and all of them with it.
    async fn serve(self: Arc<Self>, listener: UnixListener) {
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            if connections.len() >= MOST_CONNECTIONS {
                connections.join_next().await;
            }
            match listener.accept().await {
                Ok((stream, _)) => {
                    let proxy = self.clone();
                    connections.spawn(task(async move {
                        // The other side has gone.
                        let _ = proxy.connection(stream).await;
                    }));
                }
                Err(error) => {
                    tracing::debug!("a connection of an isolated server was not accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
        }
    }

    async fn connection(&self, stream: UnixStream) -> io::Result<()> {
        let mut stream = BufReader::new(stream);
        let head = timeout(TIME_FOR_HEAD, head_of(&mut stream)).await??;
        let near: &mut dyn Stream = &mut stream;
        match self.connect(&head).await {
            Ok((mut server, head)) => {
                let far: &mut dyn Stream = &mut server;
                match head {
                    Some(head) => far.write_all(&head).await?,
                    None => near.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
                }
                copy_bidirectional(near, far).await.map(drop)
            }
            Err((status, message)) => {
                let length = message.len();
                let answer = format!(
                    "HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{message}"
                );
                near.write_all(answer.as_bytes()).await?;
                near.shutdown().await
            }
        }
    }

    /// Connects to an address of the host in a head that was checked. Returns the head to send to the host, too.
    async fn connect(&self, head: &[u8]) -> Result<(TcpStream, Option<Vec<u8>>), (u16, String)> {
        let status = if head.len() as u64 == LARGEST_HEAD { 431 } else { 400 };
        let Request { host, port, head } = Request::parse(head).map_err(|message| (status, message.to_owned()))?;
        if !self.domains.iter().any(|domain| domain.allows(&host, port)) {
            let reason = "is not among the domains in `network` of the server's isolation";
            return Err(self.denied(&format!("{host}:{port}"), reason));
        }
        let failed = |error: &dyn std::fmt::Display| (502, format!("`{host}` cannot be reached: {error}"));
        let connecting = async {
            let mut addresses = (self.resolve)(host.clone(), port).await.map_err(|error| failed(&error))?;
            addresses.retain(|found| (self.is_public)(found.ip()));
            if addresses.is_empty() {
                return Err(self.denied(&format!("{host}:{port}"), "has no public address"));
            }
            TcpStream::connect(&*addresses).await.map_err(|error| failed(&error))
        };
        let server = timeout(TIME_TO_CONNECT, connecting).await.unwrap_or_else(|_| Err(failed(&"timed out")))?;
        Ok((server, head))
    }

    /// Returns the answer to a request that is not allowed, and logs each destination once.
    fn denied(&self, destination: &str, reason: &str) -> (u16, String) {
        let mut denied = lock(&self.denied);
        if denied.len() < MOST_LOGGED && !denied.iter().any(|known| known == destination) {
            denied.push(destination.to_owned());
            tracing::warn!("an isolated server was denied a connection to `{destination}`");
        }
        (403, format!("`{destination}` {reason}"))
    }
}

/// Reads a head, or the beginning of one that is too large.
async fn head_of(stream: &mut BufReader<UnixStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut lines = stream.take(LARGEST_HEAD);
    while !head.ends_with(END) && lines.read_until(b'\n', &mut head).await? > 0 {}
    Ok(head)
}

/// A request to reach a host.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    /// In lower case, without a dot at its end.
    host: String,
    port: u16,
    /// The head to send to the host; `None` for a tunnel (CONNECT), which carries arbitrary data.
    head: Option<Vec<u8>>,
}

impl Request {
    /// Parses a head.
    ///
    /// # Errors
    /// Fails if it is not a request that a proxy takes.
    fn parse(head: &[u8]) -> Result<Self, &'static str> {
        let error = if head.len() as u64 == LARGEST_HEAD { "the head is too large" } else { "the head has no end" };
        let head = head.strip_suffix(END).ok_or(error)?;
        let mut lines = std::str::from_utf8(head).map_err(|_| "the head is not UTF-8")?.split("\r\n");
        let first: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, version] = *first else {
            return Err("the first line is not `METHOD TARGET VERSION`");
        };
        if !matches!(version, "HTTP/1.0" | "HTTP/1.1") || target.contains(|c: char| c.is_control()) {
            return Err("unsupported version of HTTP");
        }
        if method == "CONNECT" {
            let (host, port) = authority(target, None)?;
            return Ok(Self { host, port, head: None });
        }
        let rest = target.strip_prefix("http://").ok_or("expected `CONNECT HOST:PORT`, or an `http://` URL")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (given, path) = rest.split_at(end);
        let (host, port) = authority(given, Some(80))?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        // The host of the head is the one that was checked, and one request is all that follows.
        let mut passed = format!("{method} {slash}{path} HTTP/1.1\r\nHost: {given}\r\nConnection: close\r\n");
        let is_forbidden = |c: char| c.is_control() && c != '\t';
        for line in lines {
            let name = line.split(':').next().unwrap_or_default();
            // A folded line begins with a space. Some servers end a line at a single control character.
            if name.is_empty() || name.contains(char::is_whitespace) || line.contains(is_forbidden) {
                return Err("a header is malformed");
            }
            if !OURS.split(',').any(|ours| name.eq_ignore_ascii_case(ours)) {
                passed.push_str(line);
                passed.push_str("\r\n");
            }
        }
        passed.push_str("\r\n");
        Ok(Self { host, port, head: Some(passed.into_bytes()) })
    }
}

/// Returns the host and the port of `HOST:PORT`.
fn authority(text: &str, default: Option<u16>) -> Result<(String, u16), &'static str> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => (host, port.parse().map_err(|_| "the port is not a number")?),
        None => (text, default.ok_or("the port is missing")?),
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    // This excludes user info, IPv6 addresses, and names that other parsers read differently.
    let is_name =
        |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if host.len() > 253 || !host.split('.').all(is_name) {
        return Err("the host is not a domain name");
    }
    Ok((host, port))
}

#[cfg(test)]
mod tests;

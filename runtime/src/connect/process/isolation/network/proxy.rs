//! An HTTP proxy that connects to some domains only.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_bindgen_model::Domain;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::request::Request;
use crate::ground::address::is_public;
use crate::ground::sync::lock;
use crate::ground::task::{Boxed, task};

const LARGEST_HEAD: u64 = 32 * 1024;
const TIME_FOR_HEAD: Duration = Duration::from_secs(30);
const TIME_TO_CONNECT: Duration = Duration::from_secs(20);
pub(super) const MOST_CONNECTIONS: usize = 64;
/// The maximum number of denied destinations in the log.
const MOST_LOGGED: usize = 32;

type Resolve = dyn Fn(String, u16) -> Boxed<io::Result<Vec<SocketAddr>>> + Send + Sync;

/// The proxy of one server.
pub(super) struct Proxy {
    domains: Vec<Domain>,
    resolve: Box<Resolve>,
    is_public: fn(IpAddr) -> bool,
    /// The destinations that were denied.
    denied: Mutex<BTreeSet<String>>,
}

impl Proxy {
    pub(super) fn new(domains: Vec<Domain>) -> Self {
        let resolve = |host: String, port| -> Boxed<io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
        };
        Self::resolving(domains, Box::new(resolve), is_public)
    }

    pub(super) fn resolving(domains: Vec<Domain>, resolve: Box<Resolve>, is_public: fn(IpAddr) -> bool) -> Self {
        Self { domains, resolve, is_public, denied: Mutex::default() }
    }

    /// Accepts connections until it is dropped, and all of them with it.
    pub(super) async fn serve(self: Arc<Self>, listener: UnixListener) {
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
        match self.connect(head).await {
            Ok((mut server, head)) => {
                match head {
                    Some(head) => server.write_all(&head).await?,
                    None => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
                }
                copy_bidirectional(&mut stream, &mut server).await.map(drop)
            }
            Err((status, message)) => {
                let length = message.len();
                let answer = format!(
                    "HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{message}"
                );
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await
            }
        }
    }

    /// Connects to an address of the host in a head that was checked. Returns the head to send to the host, too.
    async fn connect(&self, head: Option<Vec<u8>>) -> Result<(TcpStream, Option<Vec<u8>>), (u16, String)> {
        let head = head.ok_or_else(|| (431, "the head is too large".to_owned()))?;
        let Request { host, port, head } = Request::parse(&head).map_err(|message| (400, message.to_owned()))?;
        if !self.domains.iter().any(|domain| domain.allows(&host, port)) {
            let reason = "is not among the domains in `network` of the server's isolation";
            return Err(self.denied(&format!("{host}:{port}"), reason));
        }
        let failed = |error: &dyn std::fmt::Display| (502, format!("`{host}` cannot be reached: {error}"));
        let connecting = async {
            let addresses = (self.resolve)(host.clone(), port).await.map_err(|error| failed(&error))?;
            let public: Vec<SocketAddr> = addresses.into_iter().filter(|found| (self.is_public)(found.ip())).collect();
            if public.is_empty() {
                return Err(self.denied(&format!("{host}:{port}"), "has no public address"));
            }
            TcpStream::connect(&*public).await.map_err(|error| failed(&error))
        };
        let server = timeout(TIME_TO_CONNECT, connecting).await.unwrap_or_else(|_| Err(failed(&"timed out")))?;
        Ok((server, head))
    }

    /// Returns the answer to a request that is not allowed, and logs each destination once.
    fn denied(&self, destination: &str, reason: &str) -> (u16, String) {
        let mut denied = lock(&self.denied);
        if denied.len() < MOST_LOGGED && denied.insert(destination.to_owned()) {
            tracing::warn!("an isolated server was denied a connection to `{destination}`");
        }
        (403, format!("`{destination}` {reason}"))
    }
}

/// Reads a head, unless it is too large.
async fn head_of(stream: &mut BufReader<UnixStream>) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut lines = stream.take(LARGEST_HEAD);
    while !head.ends_with(b"\r\n\r\n") {
        if lines.read_until(b'\n', &mut head).await? == 0 {
            return if lines.limit() == 0 { Ok(None) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
        }
    }
    Ok(Some(head))
}

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
/// The maximum number of refused hosts in the log.
const MOST_LOGGED: usize = 32;

type Resolve = dyn Fn(String, u16) -> Boxed<io::Result<Vec<SocketAddr>>> + Send + Sync;

/// The proxy of one server.
pub(super) struct Proxy {
    domains: Vec<Domain>,
    resolve: Box<Resolve>,
    is_public: fn(IpAddr) -> bool,
    /// The hosts that were refused.
    refused: Mutex<BTreeSet<String>>,
}

impl Proxy {
    pub(super) fn new(domains: Vec<Domain>) -> Self {
        let resolve = |host: String, port| -> Boxed<io::Result<Vec<SocketAddr>>> {
            Box::pin(async move { Ok(tokio::net::lookup_host((host, port)).await?.collect()) })
        };
        Self::resolving(domains, Box::new(resolve), is_public)
    }

    pub(super) fn resolving(domains: Vec<Domain>, resolve: Box<Resolve>, is_public: fn(IpAddr) -> bool) -> Self {
        Self { domains, resolve, is_public, refused: Mutex::default() }
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
        let Some(head) = head else { return refuse(&mut stream, 431, "the head is too large").await };
        let request = match Request::parse(&head) {
            Ok(request) => request,
            Err(message) => return refuse(&mut stream, 400, message).await,
        };
        let mut server = match self.connect(&request).await {
            Ok(server) => server,
            Err((status, message)) => return refuse(&mut stream, status, &message).await,
        };
        match &request.head {
            Some(head) => server.write_all(head).await?,
            None => stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
        }
        copy_bidirectional(&mut stream, &mut server).await.map(drop)
    }

    /// Connects to an address of the host that was checked.
    async fn connect(&self, Request { host, port, .. }: &Request) -> Result<TcpStream, (u16, String)> {
        if !self.domains.iter().any(|domain| domain.allows(host, *port)) {
            self.log(host, *port);
            return Err((
                403,
                format!("`{host}:{port}` is not among the domains in `network` of the server's isolation"),
            ));
        }
        let failed = |error: &dyn std::fmt::Display| (502, format!("`{host}` cannot be reached: {error}"));
        let connecting = async {
            let addresses = (self.resolve)(host.clone(), *port).await.map_err(|error| failed(&error))?;
            let public: Vec<SocketAddr> = addresses.into_iter().filter(|found| (self.is_public)(found.ip())).collect();
            if public.is_empty() {
                self.log(host, *port);
                return Err((403, format!("`{host}` has no public address")));
            }
            TcpStream::connect(&*public).await.map_err(|error| failed(&error))
        };
        timeout(TIME_TO_CONNECT, connecting).await.unwrap_or_else(|_| Err(failed(&"timed out")))
    }

    /// Logs each host once.
    fn log(&self, host: &str, port: u16) {
        let mut refused = lock(&self.refused);
        if refused.len() < MOST_LOGGED && refused.insert(format!("{host}:{port}")) {
            tracing::warn!("an isolated server was denied a connection to `{host}:{port}`");
        }
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

async fn refuse(stream: &mut BufReader<UnixStream>, status: u16, message: &str) -> io::Result<()> {
    let reason = match status {
        403 => "Forbidden",
        502 => "Bad Gateway",
        _ => "Bad Request",
    };
    let length = message.len();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(format!("{head}{message}").as_bytes()).await?;
    stream.shutdown().await
}

//! A private authority, an MCP server over TLS, and a proxy that asks for a password.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// A certificate authority that no system knows.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate with its key, both as PEM.
    pub(crate) fn issues(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        (params.signed_by(&key, &self.0).expect("a certificate").pem(), key.serialize_pem())
    }
}

/// The connections and requests that a server saw.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) connections: AtomicUsize,
    pub(crate) user_agents: Mutex<Vec<String>>,
    pub(crate) calls: Mutex<Vec<Instant>>,
    running: AtomicUsize,
    pub(crate) most_at_once: AtomicUsize,
}

impl Seen {
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// An MCP server; it ends with this value.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) seen: Arc<Seen>,
    tasks: JoinSet<()>,
}

impl Server {
    /// Ends it with all its connections.
    pub(crate) async fn kill(&mut self) {
        self.tasks.shutdown().await;
    }

    /// Over TLS on `localhost`, for clients with a certificate of the authority.
    pub(crate) async fn secure(authority: &Authority, protocols: &[&str]) -> Self {
        let (certificate, key) = authority.issues("localhost");
        let certificates = |pem: &str| CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&authority.pem()).expect("PEM") {
            roots.add(certificate).expect("an authority");
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("TLS versions")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(
                certificates(&certificate).expect("PEM"),
                PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key"),
            )
            .expect("the key of the certificate");
        tls.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        Self::start("https", Some(TlsAcceptor::from(Arc::new(tls)))).await
    }

    pub(crate) async fn plain() -> Self {
        Self::start("http", None).await
    }

    async fn start(scheme: &str, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Seen::default());
        let mut tasks = JoinSet::new();
        let all = seen.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, seen) = (tls.clone(), all.clone());
                connections.spawn(async move {
                    match tls {
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, seen).await;
                            }
                        }
                        None => serve(stream, seen).await,
                    }
                });
            }
        });
        Self { url: format!("{scheme}://localhost:{port}/mcp"), seen, tasks }
    }
}

async fn serve(stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static, seen: Arc<Seen>) {
    seen.connections.fetch_add(1, Ordering::SeqCst);
    let service = service_fn(move |request| {
        let seen = seen.clone();
        async move { Ok::<_, Infallible>(answer(request, &seen).await) }
    });
    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, seen: &Seen) -> Response<Full<Bytes>> {
    let status = |status| Response::builder().status(status).body(Full::default()).expect("a response");
    if request.method() != Method::POST {
        return status(StatusCode::METHOD_NOT_ALLOWED);
    }
    let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    seen.user_agents.lock().expect("no panic").push(agent.to_owned());
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "network", "version": "1" },
        }),
        Some("tools/call") => {
            seen.calls.lock().expect("no panic").push(Instant::now());
            let running = seen.running.fetch_add(1, Ordering::SeqCst) + 1;
            seen.most_at_once.fetch_max(running, Ordering::SeqCst);
            if message["params"]["name"] == "hang" {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            seen.running.fetch_sub(1, Ordering::SeqCst);
            json!({ "content": [{ "type": "text", "text": "done" }] })
        }
        _ => return status(StatusCode::ACCEPTED),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    let response = Response::builder().header(CONTENT_TYPE, "application/json");
    response.body(Full::from(answer.to_string())).expect("a response")
}

/// An HTTP proxy for TLS that lets in whoever has the password; it ends with this value.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    pub(crate) tunnels: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(user: &str, password: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let tunnels = Arc::new(AtomicUsize::new(0));
        let expected = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
        let (mut tasks, all) = (JoinSet::new(), tunnels.clone());
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(tunnel(stream, expected.clone(), all.clone()));
            }
        });
        Self { port, tunnels, _tasks: tasks }
    }
}

async fn tunnel(mut stream: TcpStream, expected: String, tunnels: Arc<AtomicUsize>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()).map(str::to_owned);
    let is_allowed = head.lines().any(|line| {
        line.split_once(": ")
            .is_some_and(|(name, value)| name.eq_ignore_ascii_case("proxy-authorization") && value.trim() == expected)
    });
    let (Some(target), true) = (target, is_allowed) else {
        let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\
                       Content-Length: 0\r\n\r\n";
        let _ = stream.write_all(refusal.as_bytes()).await;
        return;
    };
    let Ok(mut server) = TcpStream::connect(target).await else { return };
    tunnels.fetch_add(1, Ordering::SeqCst);
    if stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_ok() {
        let _ = copy_bidirectional(&mut stream, &mut server).await;
    }
}

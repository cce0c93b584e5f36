//! TLS with a private authority and a client certificate, proxies, HTTP/2, and limits, by what servers see.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod limits;
mod servers;

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use mcp_bindgen_model::{SecretRef, ServerConfig};
use mcp_bindgen_runtime::{
    CallError, Client, ClientOptions, ConnectError, Dispatched, SecretError, SecretSource, Servers,
};
use serde_json::Map;
use servers::{Authority, Proxy, Server};

const PASSWORD: &str = "pass-of-the-proxy-7";
const ENCRYPTED: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE KEY-----\n";

/// The values of placeholders.
#[derive(Clone, Default)]
struct Values(HashMap<String, String>);

impl Values {
    fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }
}

impl SecretSource for Values {
    async fn secret(&self, secret: &SecretRef) -> Result<Option<String>, SecretError> {
        Ok(self.0.get(secret.to_string().trim_matches(['$', '{', '}'])).cloned())
    }
}

/// A server behind a private authority and a proxy, and all that it takes to reach it.
struct Place {
    server: Server,
    proxy: Proxy,
    authority: Authority,
    /// Certificate and key of a client.
    identity: String,
}

impl Place {
    async fn new() -> Self {
        let authority = Authority::new("a private authority");
        let (certificate, key) = authority.issues("a client");
        Self {
            server: Server::secure(&authority, &["h2", "http/1.1"]).await,
            proxy: Proxy::start("me", PASSWORD).await,
            identity: certificate + &key,
            authority,
        }
    }

    fn config(&self) -> ServerConfig {
        ServerConfig::http("files", &self.server.url)
            .ca(self.authority.pem())
            .client_cert("${IDENTITY}")
            .proxy(format!("http://me:${{PROXY_PASSWORD}}@127.0.0.1:{}", self.proxy.port))
    }

    fn values(&self) -> Values {
        Values::default().with("IDENTITY", &self.identity).with("PROXY_PASSWORD", PASSWORD)
    }

    fn client(&self, config: ServerConfig) -> Client {
        Client::with_options(config, ClientOptions::new().secrets(self.values()))
    }
}

async fn calls(client: &Client) -> String {
    client.call("work", Map::new()).await.expect("an answer").text()
}

/// Why there is no connection, which shows nothing that is secret.
async fn refused(place: &Place, config: ServerConfig, values: Values) -> ConnectError {
    let client = Client::with_options(config, ClientOptions::new().secrets(values));
    let error = client.connect().await.expect_err("there is no way");
    let shown = format!("{error} {error:?} {client:?}");
    let key = place.identity.lines().rev().nth(1).expect("a line of the key");
    assert!(!shown.contains(PASSWORD) && !shown.contains(key), "{shown}");
    error
}

#[tokio::test]
async fn ca_client_certificate_and_proxy_can_be_set_in_mcp_toml() {
    let place = Place::new().await;
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("certs")).expect("a folder");
    fs::write(folder.path().join("certs/ca.pem"), place.authority.pem()).expect("a file");
    let text = format!(
        "[servers.files]\nurl = \"{}\"\nca = \"certs/ca.pem\"\nclient_cert = \"${{IDENTITY}}\"\n\
         proxy = \"http://me:${{PROXY_PASSWORD}}@127.0.0.1:{}\"\n",
        place.server.url, place.proxy.port
    );
    fs::write(folder.path().join("mcp.toml"), text).expect("a file");
    let options = ClientOptions::new().secrets(place.values());
    let servers = Servers::load_with(folder.path().join("mcp.toml"), options).expect("a configuration");
    let client = servers.client("files").expect("the server");
    assert_eq!(calls(&client).await, "done");
    assert_eq!(place.proxy.tunnels.load(std::sync::atomic::Ordering::SeqCst), 1);
    assert_eq!(place.server.seen.connections(), 1, "all requests over one connection");
}

#[tokio::test]
async fn ca_client_certificate_and_proxy_can_be_set_in_code() {
    let place = Place::new().await;
    assert_eq!(calls(&place.client(place.config())).await, "done");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("client.pem"), &place.identity).expect("a file");
    let config = place.config().client_cert("client.pem").in_folder(folder.path());
    assert_eq!(calls(&place.client(config)).await, "done");
}

#[tokio::test]
async fn each_network_mistake_has_its_own_error() {
    let place = Place::new().await;
    let other = Authority::new("another authority");
    let (certificate, key) = other.issues("a client");
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let nobody = closed.local_addr().expect("an address").port();
    drop(closed);
    let (own, _) = place.identity.split_once("-----BEGIN PRIVATE").expect("a key");
    let without = |change: fn(&mut ServerConfig)| {
        let mut config = place.config();
        change(&mut config);
        config
    };
    let cases = [
        ("wrong authority", place.config().ca(other.pem()), "set `ca` to the certificate of its authority"),
        ("system's authorities", without(|config| config.ca = None), "set `ca` to the certificate of its authority"),
        (
            "no certificate",
            without(|config| config.client_cert = None),
            "requires a client certificate: set `client_cert`",
        ),
        (
            "foreign certificate",
            place.config().client_cert(format!("{certificate}{key}")),
            "does not accept the client certificate",
        ),
        (
            "encrypted key",
            place.config().client_cert(format!("{own}{ENCRYPTED}")),
            "`client_cert`: the private key is encrypted",
        ),
        ("no file of the user", place.config().ca("~/absent-certificate.pem"), "`ca`: failed to read the file"),
        ("certificate without key", place.config().client_cert(own), "`client_cert` has no private key"),
        (
            "key of another",
            place.config().client_cert(format!("{own}{key}")),
            "the private key does not fit the certificate",
        ),
        ("no file", place.config().ca("absent.pem"), "`ca`: failed to read the file"),
        ("no certificate in it", place.config().ca("-----BEGIN RUBBISH-----"), "`ca` has no certificate"),
        (
            "proxy down",
            place.config().proxy(format!("http://127.0.0.1:{nobody}")),
            &format!("(through the proxy 127.0.0.1:{nobody})"),
        ),
        (
            "proxy without password",
            place.config().proxy(format!("http://127.0.0.1:{}", place.proxy.port)),
            "proxy authorization required",
        ),
        (
            "another scheme",
            place.config().proxy("socks5://127.0.0.1:1"),
            "`proxy` is not an `http://` or `https://` URL",
        ),
    ];
    for (what, config, expected) in cases {
        let error = refused(&place, config, place.values()).await.to_string();
        assert!(error.contains(expected), "{what}: {error}");
    }
    let mut plain = place.config();
    plain.transport = ServerConfig::http("x", "http://localhost:1/").transport;
    let error = refused(&place, plain, place.values()).await.to_string();
    assert!(error.contains("`ca` requires a `url` with `https://`"), "{error}");
    let error = refused(&place, place.config(), Values::default()).await.to_string();
    assert!(error.contains("IDENTITY"), "{error}");
}

#[tokio::test]
async fn custom_http_client_options_apply() {
    let server = Server::plain().await;
    let options = ClientOptions::new()
        .http_client(|builder| builder.user_agent("my-agent/2").redirect(reqwest::redirect::Policy::none()));
    let client = Client::with_options(ServerConfig::http("files", &server.url), options);
    assert_eq!(calls(&client).await, "done");
    let agents = server.seen.user_agents.lock().expect("no panic").clone();
    assert!(agents.iter().all(|agent| agent == "my-agent/2") && agents.len() > 1, "{agents:?}");
}

/// The time of 64 calls at once, and the connections that the server saw.
async fn at_once(protocols: &[&str]) -> (Duration, usize) {
    let authority = Authority::new("a private authority");
    let server = Server::secure(&authority, protocols).await;
    let (certificate, key) = authority.issues("a client");
    let config = ServerConfig::http("files", &server.url).ca(authority.pem()).client_cert(certificate + &key);
    let client = Client::with_options(config, ClientOptions::new().max_concurrent_requests(64));
    client.connect().await.expect("a connection");
    let start = Instant::now();
    let callers = (0..64).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { calls(&client).await })
    });
    for caller in callers.collect::<Vec<_>>() {
        assert_eq!(caller.await.expect("no panic"), "done");
    }
    (start.elapsed(), server.seen.connections())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn http_2_calls_share_one_connection() {
    let (time, sockets) = at_once(&["h2", "http/1.1"]).await;
    println!("64 calls of 50 ms over HTTP/2:   {time:?}, {sockets} connections");
    let (time_1, sockets_1) = at_once(&["http/1.1"]).await;
    println!("64 calls of 50 ms over HTTP/1.1: {time_1:?}, {sockets_1} connections");
    assert_eq!(sockets, 1);
    assert!(sockets_1 > 32, "one for each call that waits: {sockets_1}");
}

/// A call that the server has read when its connection is cut may have run: it is not sent again.
#[tokio::test]
async fn cut_connection_leaves_outcomes_unknown_over_http_1_and_2() {
    for protocols in [&["h2", "http/1.1"][..], &["http/1.1"]] {
        let authority = Authority::new("a private authority");
        let mut server = Server::secure(&authority, protocols).await;
        let (certificate, key) = authority.issues("a client");
        let config = ServerConfig::http("files", &server.url).ca(authority.pem()).client_cert(certificate + &key);
        let client = Client::new(config);
        client.connect().await.expect("a connection");
        let calls: Vec<_> = (0..8)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { client.call("hang", Map::new()).await })
            })
            .collect();
        while server.seen.calls.lock().expect("no panic").len() < 8 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.kill().await;
        for call in calls {
            let error = call.await.expect("no panic").expect_err("nobody answers");
            assert!(matches!(error, CallError::OutcomeUnknown { .. }), "{protocols:?}: {error:?}");
        }
        assert_eq!(server.seen.calls.lock().expect("no panic").len(), 8, "{protocols:?}");
        let error = client.call("work", Map::new()).await.expect_err("nobody is there");
        assert_eq!(error.dispatched(), Dispatched::No, "{protocols:?}: {error:?}");
    }
}

/// Everything that is logged, at every level, by this crate and by those below it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn logs_contain_neither_proxy_password_nor_client_key() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone());
    // For all tests: who logs asks once for all threads whether anybody listens.
    tracing::subscriber::set_global_default(subscriber.finish()).expect("there is no other");
    let place = Place::new().await;
    assert_eq!(calls(&place.client(place.config())).await, "done");
    let log = String::from_utf8_lossy(&log.0.lock().expect("no panic")).into_owned();
    let credentials = BASE64_STANDARD.encode(format!("me:{PASSWORD}"));
    let key = place.identity.lines().rev().nth(1).expect("a line of the key");
    assert!(log.len() > 1000, "{log}");
    for secret in [PASSWORD, &credentials, key] {
        assert!(!log.contains(secret), "{log}");
    }
}

//! Servers that cannot be connected to are not started over and over.

#![cfg(unix)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{Mark, fixture_server, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, Client, Servers};
use serde_json::{Map, json};

/// The fixture server, which starts only where a file is there, and counts how often it was started.
struct Server {
    mark: Mark,
    folder: tempfile::TempDir,
}

impl Server {
    fn new() -> Self {
        Self { mark: Mark::new(), folder: tempfile::tempdir().expect("a folder") }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client(&self) -> Client {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let script = r#"echo x >> "$1"; test -e "$2" || exit 3; exec "$3""#;
        let program = shown(fixture_server());
        let config = ServerConfig::stdio("fixture", "sh")
            .args(["-c", script, "sh", &shown(&self.file("starts")), &shown(&self.file("up")), &program])
            .env("FIXTURE_MARK", self.mark.value());
        Client::new(config)
    }

    fn starts(&self) -> usize {
        std::fs::read_to_string(self.file("starts")).unwrap_or_default().lines().count()
    }

    fn is_up(&self, is_up: bool) {
        let file = self.file("up");
        if is_up {
            std::fs::create_dir(file).expect("it is made")
        } else {
            std::fs::remove_dir(file).expect("it is there")
        }
    }
}

async fn fails(client: &Client) -> CallError {
    let error = client.call("add", Map::new()).await.expect_err("there is no server");
    assert!(matches!(error, CallError::NotConnected { .. }) && error.to_string().contains("exit status: 3"), "{error}");
    error
}

async fn adds(client: &Client) -> bool {
    client.call("add", object(json!({"a": 1, "b": 2}))).await.is_ok()
}

#[tokio::test]
async fn calls_after_a_failed_attempt_fail_immediately_until_the_pause_ends() {
    let server = Server::new();
    let client = server.client();
    fails(&client).await;
    let start = Instant::now();
    for _ in 0..50 {
        let error = fails(&client).await;
        if start.elapsed() > Duration::from_millis(200) {
            break;
        }
        assert!(error.to_string().contains("no new connection attempt for"), "{error}");
        assert!(error.retry_after().is_some_and(|after| after <= Duration::from_millis(250)), "{error}");
        assert_eq!(server.starts(), 1);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let error = fails(&client).await;
    assert!(!error.to_string().contains("no new attempt"), "{error}");
    assert_eq!(server.starts(), 2);
    let pause = fails(&client).await.retry_after();
    assert!(pause.is_some_and(|pause| pause <= Duration::from_millis(500)), "{pause:?}");
    assert!(pause.is_some_and(|pause| pause > Duration::from_millis(250)), "it is twice as long: {pause:?}");
    assert_eq!(server.starts(), 2);
    client.close().await;
}

#[tokio::test]
async fn explicit_connect_attempts_do_not_wait_for_the_pause() {
    let server = Server::new();
    let client = server.client();
    fails(&client).await;
    client.connect().await.expect_err("there is no server");
    let servers = Servers::new().with_client(client.clone());
    assert_eq!(servers.reconnect_failed().await.failed.len(), 1);
    assert_eq!(server.starts(), 3);
    server.is_up(true);
    fails(&client).await;
    client.connect().await.expect("a connection");
    assert!(adds(&client).await);
    client.close().await;
    assert!(adds(&client).await, "what was closed has not failed");
    client.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_that_dies_at_start_is_started_at_most_five_times() {
    let server = Server::new();
    let client = server.client();
    let end = Instant::now() + Duration::from_secs(4);
    let callers = (0..16).map(|number| {
        let client = client.clone();
        tokio::spawn(async move {
            let mut told = 0;
            while Instant::now() < end {
                // Some ask for an attempt, which does not wait for the pause.
                let error = if number % 2 == 0 {
                    client.connect().await.expect_err("there is no server").to_string()
                } else {
                    fails(&client).await.to_string()
                };
                assert!(error.contains("exit status: 3"), "{error}");
                told += usize::from(error.contains("because it ended at each of the last 5 starts"));
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            told
        })
    });
    let mut told = 0;
    for caller in callers.collect::<Vec<_>>() {
        told += caller.await.expect("no panic");
    }
    assert_eq!(server.starts(), 5);
    assert!(told > 100, "{told}");
    client.close().await;
}

#[tokio::test]
async fn server_that_exits_after_its_handshake_is_started_at_most_five_times() {
    let folder = tempfile::tempdir().expect("a folder");
    let starts = folder.path().join("starts");
    let script = r#"echo x >> "$1"; read -r line; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}'; exit 3"#;
    let config = ServerConfig::stdio("fleeting", "sh").args(["-c", script, "sh", &starts.to_string_lossy()]);
    let client = Client::new(config);
    let since = Instant::now();
    let mut refusals = 0;
    // Starts take as long as the machine is slow; after the fifth one there is no other.
    while refusals < 50 {
        let last = client.call("add", Map::new()).await.expect_err("the server is not there").to_string();
        refusals += usize::from(last.contains("because it ended at each of the last 5 starts"));
        assert!(since.elapsed() < Duration::from_secs(30), "{last}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let count = std::fs::read_to_string(&starts).expect("it was started").lines().count();
    assert_eq!(count, 5);
    client.close().await;
}

#[tokio::test]
async fn pause_is_reset_by_a_connection() {
    let server = Server::new();
    let client = server.client();
    for pause in [0, 300, 600] {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        fails(&client).await;
    }
    server.is_up(true);
    client.connect().await.expect("a connection");
    assert!(adds(&client).await);
    server.is_up(false);
    let mut states = client.watch_state();
    for pid in server.mark.processes() {
        let _ = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    }
    while states.changed().await.expect("the client is there") != mcp_bindgen_runtime::ConnectionState::Disconnected {}
    server.is_up(true);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(adds(&client).await, "250 ms after an attempt that failed");
    client.close().await;
}

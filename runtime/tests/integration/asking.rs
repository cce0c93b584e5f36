//! How a server is asked for its snapshot.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use crate::common;

use std::time::{Duration, Instant};

use common::{Mark, bad, good};
use mcp_bindgen_model::{Config, Snapshot};
use mcp_bindgen_runtime::{Client, ClientOptions, ConnectErrorKind};
use serde_json::json;

#[tokio::test]
async fn configured_connect_timeout_overrides_the_client_option() {
    let mark = Mark::new();
    let server = bad("silent", &mark).connect_timeout(Duration::from_millis(300));
    let options = ClientOptions::new().connect_timeout(Duration::from_secs(100));
    let begun = Instant::now();
    let error = Client::with_options(server, options).connect().await.expect_err("it is silent");
    assert_eq!(error.kind, ConnectErrorKind::Timeout);
    assert!(error.message.contains("within 300ms"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(50), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn capabilities_of_the_snapshot_are_declared_again() {
    let mark = Mark::new();
    let known = Snapshot { client_capabilities: Some(json!({ "elicitation": {} })), ..Snapshot::default() };
    let client = Client::for_snapshot(&Config::default(), &good(&mark), Some(&known), ClientOptions::new());
    let snapshot = client.snapshot().await.expect("the server answers");
    client.close().await;
    assert_eq!(snapshot.client_capabilities, Some(json!({ "elicitation": {} })));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn close_leaves_neither_server_nor_guard() {
    let mark = Mark::new();
    let client = Client::for_snapshot(&Config::default(), &bad("grandchild", &mark), None, ClientOptions::new());
    client.snapshot().await.expect("the server answers");
    let pid = mark.counts(2).await[0];
    let environment = std::fs::read(format!("/proc/{pid}/environ")).expect("it runs");
    let environment = String::from_utf8_lossy(&environment).into_owned();
    let start = environment.split('\0').find_map(|variable| variable.strip_prefix("MCP_BINDGEN_STARTS="));
    let start = start.expect("its start is marked");
    let guards = || {
        let listed = std::process::Command::new("ps").args(["-eo", "args="]).output().expect("ps").stdout;
        let listed = String::from_utf8_lossy(&listed).into_owned();
        listed.lines().filter(|line| line.contains("read -r group") && line.contains(start)).count()
    };
    assert_eq!(guards(), 1);
    client.close().await;
    assert_eq!(guards(), 0);
    mark.gone_within(Duration::from_secs(20)).await;
}

//! How much of what a server sends is kept.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::scripted::{response, scripted, usual};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ConnectErrorKind};

const PAGE: usize = 8 * 1024 * 1024;

/// A server whose list of tools has so many pages of 8 MiB, and how many it was asked for.
async fn listing(pages: usize) -> (Client, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let filling = "x".repeat(PAGE);
    let url = scripted(move |received| {
        if received.method() != "tools/list" {
            return Some(usual(received));
        }
        let page = counted.fetch_add(1, Ordering::SeqCst) + 1;
        let next = if page < pages { format!(r#","nextCursor":"{page}""#) } else { String::new() };
        let tool = format!(r#"{{"name":"t{page}","description":"{filling}","inputSchema":{{}}}}"#);
        let id = &received.body["id"];
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]{next}}}}}"#);
        Some(response("200 OK", "application/json", &body))
    })
    .await;
    (Client::new(ServerConfig::http("remote", url)), asked)
}

#[tokio::test]
async fn tool_list_is_bounded_in_bytes_over_all_pages() {
    let (client, _) = listing(7).await;
    assert_eq!(client.list_tools_raw().await.expect("56 MiB are fine").len(), 7);
    client.close().await;
    let (client, asked) = listing(20).await;
    let error = client.list_tools_raw().await.expect_err("too much");
    assert_eq!(error.kind, ConnectErrorKind::Protocol);
    assert!(error.to_string().starts_with("remote: `tools/list` returned more than 64 MiB"), "{error}");
    assert_eq!(asked.load(Ordering::SeqCst), 8, "nothing is asked for beyond the bound");
    client.close().await;
}

//! Many clients at once.

use std::sync::atomic::Ordering;

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_proxy::HttpOptions;
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, ToolCall};
use serde_json::json;

use crate::support::{Desk, LEGACY, eventually};

const CLIENTS: usize = 32;
const CALLS: usize = 1024;

/// Each client has a connection of its own to the server behind the proxy, which remembers whose it is.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a thousand calls take seconds"]
async fn thousand_calls_of_many_clients_stay_in_their_sessions() {
    let desk = Desk::default();
    // Each call and each stream of a client has a connection of its own.
    let server = desk.proxy().serve_http(HttpOptions::new().max_connections(4096)).await.unwrap();
    let mut crowd = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let options = ClientOptions::new().protocol_version(LEGACY);
        let client = Client::with_options(ServerConfig::http("proxy", server.url()), options);
        crowd.spawn(async move {
            let marker = format!("client {number}");
            let calls = (0..CALLS / CLIENTS).map(|_| {
                let arguments = json!({ "marker": marker }).as_object().unwrap().clone();
                client.call_tool(ToolCall::new("proxy".to_owned(), "desk_mark".to_owned(), arguments))
            });
            let answers = futures_util::future::join_all(calls).await;
            let mut counted: Vec<u64> = Vec::new();
            for answer in answers {
                let answer = answer.unwrap();
                let said = answer.structured.as_ref().unwrap();
                assert_eq!(said["marker"], *marker, "another client's session");
                counted.push(said["calls"].as_u64().unwrap());
            }
            // No call of anybody else was counted among its own.
            counted.sort_unstable();
            assert_eq!(counted, (1..=counted.len() as u64).collect::<Vec<_>>());
            client.close().await;
            counted.len()
        });
    }
    let mut calls = 0;
    while let Some(made) = crowd.join_next().await {
        calls += made.unwrap();
    }
    assert_eq!(calls, CALLS);
    assert_eq!(desk.begun.load(Ordering::SeqCst), CLIENTS, "one connection for each");
    eventually("sessions end with their clients", || desk.ended.load(Ordering::SeqCst) == CLIENTS).await;
    println!("{calls} calls of {CLIENTS} clients, 0 mixed-up sessions");
}

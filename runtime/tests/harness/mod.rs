//! Feeds any bytes to two pending calls. Shared with the fuzz target `session`.

use std::time::Duration;

use mcp_bindgen_runtime::{Client, ClientOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};

/// Far longer than two calls take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The ids of the calls.
pub(crate) const IDS: [u64; 2] = [1, 2];

/// Runs a server that sends these bytes while two calls are pending, and then closes.
///
/// # Panics
/// If a call never ends, or has an answer longer than the bytes.
pub(crate) fn check(said: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (near, far) = tokio::io::duplex(4096);
        let (read, write) = tokio::io::split(near);
        let options = ClientOptions::new().timeout(PATIENCE).connect_timeout(PATIENCE);
        let client = Client::over_with_options("any", read, write, options);
        let calls = async {
            client.connect().await.expect("the server answers the handshake");
            let call = |number: u64| {
                let arguments = serde_json::Map::from_iter([("number".to_owned(), json!(number))]);
                let client = &client;
                async move { client.call("t", arguments).await }
            };
            let outcomes = tokio::join!(call(IDS[0]), call(IDS[1]));
            client.close().await;
            outcomes
        };
        let (outcomes, ()) = tokio::time::timeout(PATIENCE * 2, async { tokio::join!(calls, serve(far, said)) })
            .await
            .expect("every call ends");
        for outcome in [outcomes.0, outcomes.1] {
            match outcome {
                // No answer can say more than the bytes do.
                Ok(result) => assert!(result.to_json().to_string().len() <= said.len() * 6 + 1000, "{result:?}"),
                Err(error) => drop(error.to_string()),
            }
        }
    });
}

/// Answers the handshake, waits for both calls, and says the bytes.
async fn serve(stream: DuplexStream, said: &[u8]) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = BufReader::new(read).lines();
    let mut calls = 0;
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).expect("a message");
        match message["method"].as_str() {
            Some("initialize") => {
                let result = json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "any", "version": "1" },
                });
                let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
                write.write_all(format!("{answer}\n").as_bytes()).await.expect("the client reads");
            }
            Some("tools/call") => calls += 1,
            _ => {}
        }
        if calls == IDS.len() {
            // The client may have given up.
            let _ = write.write_all(said).await;
            let _ = write.shutdown().await;
            return;
        }
    }
}

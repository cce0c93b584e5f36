//! Prompts, resources and their templates, and resources that change, in the versions with a handshake and without.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::process::Command;
use std::time::Duration;

use common::{Mark, good, object};
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Client, ClientOptions, Content, Dispatched, ElicitationAnswer, GetPrompt,
    PromptRequest, ReadResource, ResourceContents, ResourceRequest, ResourceUpdates,
};
use serde_json::{Map, Value, json};

/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(20);
/// Long enough to see that nothing comes.
const MOMENT: Duration = Duration::from_millis(150);

fn both(mark: &Mark) -> [Client; 2] {
    [good(mark).args(["--offers"]), good(mark).args(["--offers", "modern"])].map(Client::new)
}

const NONE: [(&str, &str); 0] = [];

#[tokio::test]
async fn lists_include_all_pages_and_tolerate_malformed_entries() {
    let mark = Mark::new();
    for client in both(&mark) {
        let prompts = client.list_prompts_raw().await.expect("the list");
        assert_eq!(prompts.len(), 4, "{prompts:?}");
        assert_eq!((&prompts[0]["x"], &prompts[1], &prompts[2]["name"]), (&json!(1), &json!(7), &json!("plain")));
        let resources = client.list_resources_raw().await.expect("the list");
        assert_eq!(resources.len(), 3, "{resources:?}");
        assert_eq!((&resources[0]["size"], &resources[1]), (&json!(5), &json!({ "uri": 7 })));
        assert_eq!(client.list_resource_templates_raw().await.expect("the list").len(), 2);
        let snapshot = client.snapshot().await.expect("a snapshot");
        assert_eq!((snapshot.prompts.len(), snapshot.resource_templates.len()), (4, 2));
        assert!(snapshot.prompts.contains(&json!(7)), "kept as it came");
    }
    let without = Client::new(good(&mark));
    assert!(without.list_resources_raw().await.expect("none").is_empty());
}

#[tokio::test]
async fn prompt_is_preserved_unchanged() {
    let mark = Mark::new();
    for client in both(&mark) {
        let prompt = client.prompt("greet", [("who", "Ada"), ("tone", "warm")]).await.expect("the prompt");
        assert_eq!(prompt.description.as_deref(), Some("A greeting"));
        assert_eq!(prompt.messages.len(), 4);
        assert_eq!(prompt.text(), r#"Greet Ada: {"who":"Ada","tone":"warm"}"#);
        let first = &prompt.messages[0];
        assert_eq!((first.role.as_str(), &first.extra["x"]), ("user", &json!(1)));
        assert_eq!(first.content.annotations(), Some(&json!({ "priority": 1 })));
        assert!(matches!(&prompt.messages[1].content, Content::Resource { .. }));
        assert!(matches!(&prompt.messages[2].content, Content::Other(block) if block["type"] == "hologram"));
        assert_eq!(prompt.messages[3].content, Content::Other(json!({ "content": 5 })));
        assert_eq!(prompt.meta, Some(object(json!({ "m": 3 }))));
        let mut printed = prompt.to_json();
        assert_eq!(printed["vendor"], json!([4]));
        assert_eq!(printed["messages"][3], json!({ "content": 5 }));
        assert_eq!(printed["messages"][1]["content"]["_meta"], json!({ "k": 2 }));
        printed["messages"] = json!([]);
        assert_eq!(client.prompt("plain", NONE).await.expect("the prompt").text(), "Hi");
    }
}

#[tokio::test]
async fn unknown_prompt_or_missing_argument_is_an_error() {
    let mark = Mark::new();
    for client in both(&mark) {
        let error = client.prompt("nope", NONE).await.expect_err("there is none");
        assert!(matches!(&error, CallError::PromptNotFound { prompt, .. } if prompt == "nope"), "{error:?}");
        assert_eq!(error.to_string(), "fixture: the server has no prompt `nope`");
        let error = client.prompt("greet", NONE).await.expect_err("it wants `who`");
        assert!(matches!(&error, CallError::Rpc { code: -32602, .. }), "{error:?}");
        assert!(error.to_string().contains("missing argument: who"), "{error}");
        assert_eq!((error.tool(), error.dispatched()), ("greet", Dispatched::Yes));
    }
}

#[tokio::test]
async fn prompt_may_request_input() {
    let mark = Mark::new();
    let options =
        ClientOptions::new().on_elicitation(|_| async { ElicitationAnswer::Accept(object(json!({ "name": "Ada" }))) });
    let client = Client::with_options(good(&mark).args(["--offers", "modern"]), options);
    let prompt = client.prompt("asks", NONE).await.expect("the prompt");
    let said: Value = serde_json::from_str(&prompt.text()).expect("JSON");
    assert_eq!(said[0], "s");
    assert_eq!(said[1]["who"]["content"]["name"], "Ada", "{said}");
}

#[tokio::test]
async fn resource_is_preserved_unchanged() {
    let mark = Mark::new();
    for client in both(&mark) {
        let note = client.read("note:///today").await.expect("the note");
        assert_eq!((note.text().as_str(), note.uri.as_str()), ("today", "note:///today"));
        assert_eq!(note.contents[0].mime_type(), Some("text/plain"));
        assert_eq!(note.contents[0].meta(), Some(&json!({ "k": 1 })));
        assert_eq!(note.contents[1], ResourceContents::Other(json!({ "odd": 3 })));
        assert_eq!(note.meta, Some(object(json!({ "m": 1 }))));
        let printed = note.to_json();
        assert_eq!((&printed["vendor"], &printed["contents"][0]["vendor"]), (&json!(2), &json!(2)));
        let bin = client.read("bin:///x").await.expect("the bytes");
        assert_eq!(bin.contents[0].bytes().as_deref(), Some([0, 255].as_slice()));
        // Several megabytes are a resource like any other.
        let big = client.read("big:///8").await.expect("much");
        assert_eq!(big.text().len(), 8 << 20);
    }
}

#[tokio::test]
async fn unknown_slow_or_cancelled_resource_is_an_error() {
    let mark = Mark::new();
    for client in both(&mark) {
        let error = client.read("nope:///x").await.expect_err("there is none");
        assert!(matches!(&error, CallError::ResourceNotFound { uri, .. } if uri == "nope:///x"), "{error:?}");
        assert_eq!((error.tool(), error.dispatched()), ("nope:///x", Dispatched::No));
        let brief = client.clone().within(Duration::from_millis(100));
        let error = brief.read_resource(ResourceRequest::new("fixture", "slow:///x")).await.expect_err("it is late");
        assert!(matches!(&error, CallError::Timeout { dispatched: Dispatched::Unknown, .. }), "{error:?}");
        let token = tokio_util::sync::CancellationToken::new();
        token.cancel();
        let request = PromptRequest::new("fixture", "plain", Map::new());
        let cancelled = client.get_prompt(request.with(CallOptions::new().cancelled_by(token))).await;
        assert!(matches!(cancelled, Err(CallError::Cancelled { dispatched: Dispatched::No, .. })), "{cancelled:?}");
        // The connection is as good as before.
        client.read("note:///today").await.expect("the note");
    }
    let gone = Client::new(mcp_bindgen_model::ServerConfig::stdio("gone", "/nonexistent/server"));
    let error = gone.read("note:///today").await.expect_err("there is no server");
    assert!(matches!(&error, CallError::NotConnected { .. }), "{error:?}");
}

#[tokio::test]
async fn debug_output_redacts_secrets_in_resources_and_prompts() {
    let mark = Mark::new();
    let config = good(&mark).args(["--offers"]).env("API_TOKEN", "hunter2-and-more");
    let client = Client::new(config);
    let note = client.read("note:///hunter2-and-more").await.expect("the note");
    assert_eq!(note.text(), "hunter2-and-more", "the program's data stay exact");
    assert!(!format!("{note:?}").contains("hunter2"), "{note:?}");
    let prompt = client.prompt("greet", [("who", "hunter2-and-more")]).await.expect("the prompt");
    assert!(prompt.text().contains("hunter2") && !format!("{prompt:#?}").contains("hunter2"));
}

async fn touch(client: &Client, uri: &str) -> bool {
    let result = client.call("touch", object(json!({ "uri": uri }))).await.expect("the call");
    result.structured.expect("an answer")["told"] == true
}

async fn seen(client: &Client) -> Value {
    client.call("seen", Map::new()).await.expect("the call").structured.expect("an answer")
}

async fn heard(updates: &mut ResourceUpdates) {
    let changed = tokio::time::timeout(PATIENCE, updates.changed()).await;
    changed.unwrap_or_else(|_| panic!("{}: nothing is heard", updates.uri())).expect("it changed");
}

async fn is_quiet(updates: &mut ResourceUpdates) -> bool {
    let changed = tokio::time::timeout(MOMENT, updates.changed()).await;
    changed.is_err()
}

#[tokio::test]
async fn resource_changes_are_reported_while_subscribed() {
    let mark = Mark::new();
    let clients = both(&mark);
    for client in clients {
        let mut today = client.subscribe("note:///today").await.expect("it tells");
        assert!(touch(&client, "note:///today").await);
        heard(&mut today).await;
        assert!(is_quiet(&mut today).await, "once is enough");
        // A change below the URI counts, and each of two subscribers receives it.
        let mut again = client.subscribe("note:///today").await.expect("it tells");
        let mut other = client.subscribe("note:///other").await.expect("it tells");
        assert!(touch(&client, "note:///today/noon").await);
        heard(&mut today).await;
        heard(&mut again).await;
        assert!(is_quiet(&mut other).await, "another changed");
        assert!(is_quiet(&mut today).await, "one more who listens is no change");
        drop((today, other));
        while seen(&client).await["subscribed"] != json!(["note:///today"]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(again);
        while seen(&client).await["subscribed"] != json!([]) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(!touch(&client, "note:///today").await);
    }
}

#[cfg(feature = "stdio")]
#[tokio::test]
async fn resource_that_is_dropped_meanwhile_is_unsubscribed_once() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (near, far) = tokio::io::duplex(1 << 16);
    let (tell, mut unsubscribed) = tokio::sync::mpsc::unbounded_channel();
    let (release, released) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(far);
        let (mut lines, mut released) = (BufReader::new(read).lines(), Some(released));
        while let Ok(Some(line)) = lines.next_line().await {
            let request: Value = serde_json::from_str(&line).expect("JSON");
            let about = json!({ "name": "s", "version": "1" });
            let offered = json!({ "resources": { "subscribe": true } });
            let result = match request["method"].as_str().expect("a method") {
                "initialize" => {
                    json!({ "protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": about })
                }
                "resources/unsubscribe" => {
                    tell.send(request["params"]["uri"].clone()).expect("the test listens");
                    if let Some(released) = released.take() {
                        released.await.expect("the test goes on");
                    }
                    json!({})
                }
                _ => json!({}),
            };
            let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
            if request.get("id").is_some() && write.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    });
    let (read, write) = tokio::io::split(near);
    let client = Client::over(read, write);
    let mut watched = Vec::new();
    for number in 0..20 {
        watched.push(client.subscribe(format!("note:///{number}")).await.expect("it tells"));
    }
    watched.pop();
    let mut uris = vec![unsubscribed.recv().await.expect("the first")];
    // The rest are dropped before the server has answered.
    drop(watched);
    release.send(()).expect("the server waits");
    while uris.len() < 20 {
        let next = tokio::time::timeout(PATIENCE, unsubscribed.recv()).await;
        uris.push(next.expect("it is unsubscribed").expect("the server goes on"));
    }
    let another = tokio::time::timeout(MOMENT, unsubscribed.recv()).await;
    assert!(another.is_err(), "{another:?} after {uris:?}");
}

#[tokio::test]
async fn unsupported_subscription_is_an_error_without_delay() {
    let mark = Mark::new();
    for client in both(&mark) {
        let error = client.subscribe("secret:///x").await.expect_err("it may not be watched");
        let is_said = matches!(&error, CallError::Rpc { code: -32602, .. } | CallError::NotOffered { .. });
        assert!(is_said && error.tool() == "secret:///x", "{error:?}");
        // It is asked again, and others are not in the way.
        let error = client.subscribe("secret:///x").await.expect_err("it may not be watched");
        assert!(matches!(&error, CallError::Rpc { .. } | CallError::NotOffered { .. }), "{error:?}");
        client.subscribe("note:///today").await.expect("it tells");
    }
    let error = Client::new(good(&mark)).subscribe("note:///today").await.expect_err("it has no resources");
    assert_eq!(error.to_string(), "fixture: `note:///today`: the server does not offer changes of resources");
    assert_eq!(error.dispatched(), Dispatched::No);
}

#[tokio::test]
async fn resource_subscription_resumes_after_a_reconnect() {
    for args in [vec!["--offers"], vec!["--offers", "modern"]] {
        let mark = Mark::new();
        let client = Client::new(good(&mark).args(args));
        let mut today = client.subscribe("note:///today").await.expect("it tells");
        for pid in mark.processes() {
            Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
        }
        // The client reports a change after a reconnect, because it may have missed one.
        heard(&mut today).await;
        assert!(touch(&client, "note:///today").await);
        heard(&mut today).await;
        client.close().await;
    }
}

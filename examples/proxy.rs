//! Two servers behind one proxy: `cargo run --example proxy --features proxy,http`.
//!
//! A client lists the tools of both servers over HTTP and calls them. A policy denies one tool. Another tool needs an
//! approval by the user of the client. The proxy reports every call as an event.
//!
//! The servers are part of this program, so the example needs neither Node nor a network.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io;
use std::time::Duration;

use mcp_bindgen::agents::proxy::{HttpOptions, Proxy, ProxyEvents, ask_client};
use mcp_bindgen::events::Event;
use mcp_bindgen::middleware::{Approval, Policy, Stack};
use mcp_bindgen::model::ServerConfig;
use mcp_bindgen::{CallTool, Client, ClientOptions, ElicitationAnswer, ToolCall, ToolReply};
use mcp_fixture_server::Store;
use serde_json::{Map, Value, json};
use tokio::io::DuplexStream;

/// A real program would generate this when it starts.
const TOKEN: &str = "only for this example";

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Layers apply to all clients. For the servers of a configuration, `.configuration(&config)` is enough.
    let store = Store::default();
    let kept = store.clone();
    let proxy = Proxy::builder()
        .connecting(
            "tickets",
            |options| client_of("tickets", options, mcp_fixture_server::serve_over),
            |client| Stack::new(client).approval(Approval::of(["create_*"], ask_client)),
        )
        .connecting(
            "store",
            move |options| {
                let store = kept.clone();
                client_of("store", options, |stream| store.serve_over(stream))
            },
            |client| Stack::new(client).policy(Policy::deny(["remove"])),
        )
        .build()?;
    let events = proxy.events();
    let token = TOKEN.replace(' ', "-");
    let server = proxy.serve_http(HttpOptions::new().bearer(&*token)).await?;
    println!("serving   two servers at {}", server.url());

    // Any MCP client works; this one also answers requests for approval.
    let options = ClientOptions::new().on_elicitation(async |request| {
        let question = request.params.get("message").and_then(Value::as_str).unwrap_or_default();
        let approve = !question.contains("coffee");
        println!("asked     {}", question.lines().next().unwrap_or_default());
        println!("          the user {}", if approve { "approves" } else { "does not" });
        ElicitationAnswer::Accept(Map::from_iter([("approve".to_owned(), approve.into())]))
    });
    let config = ServerConfig::http("proxy", server.url()).header("Authorization", format!("Bearer {token}"));
    let client = Client::with_options(config, options);

    let listed = client.snapshot().await?;
    let names: Vec<&str> = listed.tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
    println!("listed    {} tools: {}", names.len(), names.join(", "));

    call(&client, "store_set", json!({ "key": "pumps", "value": 3 })).await;
    call(&client, "store_get", json!({ "key": "pumps" })).await;
    call(&client, "store_remove", json!({ "key": "pumps" })).await;
    call(&client, "tickets_add", json!({ "a": 2, "b": 40 })).await;
    call(&client, "tickets_create_ticket", json!({ "title": "The pump is leaking", "priority": "high" })).await;
    call(&client, "tickets_create_ticket", json!({ "title": "More coffee", "priority": "low" })).await;
    println!("          the store was asked to remove something {} times", store.executions("remove"));

    // Requests without the token are rejected.
    let stranger = Client::new(ServerConfig::http("proxy", server.url()));
    if let Err(error) = stranger.connect().await {
        println!("refused   {error}");
    }

    client.close().await;
    server.close().await;
    proxy.close().await;
    print(events).await;
    Ok(())
}

/// Creates a client for a server in this process.
fn client_of<S>(name: &str, options: ClientOptions, serve: impl FnOnce(DuplexStream) -> S) -> Client
where
    S: Future<Output = io::Result<()>> + Send + 'static,
{
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(serve(far));
    let (read, write) = tokio::io::split(near);
    Client::over_with_options(name, read, write, options)
}

async fn call(client: &Client, tool: &'static str, arguments: Value) {
    let Value::Object(arguments) = arguments else { return };
    let reply = ToolReply::from(client.call_tool(ToolCall::new("proxy", tool, arguments)).await);
    println!("called    {tool}: {}", if reply.success { "" } else { "not done, " }.to_owned() + &reply.message);
}

/// Prints the proxy's events.
async fn print(mut events: ProxyEvents) {
    while let Ok(Some(event)) = tokio::time::timeout(Duration::from_millis(200), events.next()).await {
        match event {
            Event::ToolInvoked(call) => println!("event     {} of {}: {:?}", call.tool, call.server, call.outcome),
            Event::ApprovalAsked(asked) => println!("event     approval asked of {} of {}", asked.tool, asked.server),
            _ => {}
        }
    }
}

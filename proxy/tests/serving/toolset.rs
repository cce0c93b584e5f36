//! A toolset with functions of the program, served beside servers.

use std::collections::BTreeMap;

use mcp_bindgen_agents::Toolset;
use mcp_bindgen_proxy::{HttpOptions, Proxy, ask_client};
use mcp_bindgen_runtime::events::Event;
use mcp_bindgen_runtime::middleware::{Approval, Stack};
use serde_json::{Value, json};

use crate::support::{Asking, Desk};

#[tokio::test(flavor = "multi_thread")]
async fn functions_are_served_beside_servers() {
    let desk = Desk::default();
    let toolset = Toolset::builder()
        .function("double", "Doubles a number.", async |numbers: BTreeMap<String, u64>| {
            numbers.get("n").map(|n| json!({ "result": n * 2 })).ok_or("there is no `n`")
        })
        .functions_through(|functions| Stack::new(functions).approval(Approval::of(["erase"], ask_client)))
        .function("erase", "Erases everything.", async |_: BTreeMap<String, u64>| Ok::<_, String>("erased"))
        .build()
        .unwrap();
    let own = desk.clone();
    let proxy = Proxy::builder()
        .toolset("helpdesk", toolset)
        .connecting("desk", move |options| own.connect(options), |client| client)
        .build()
        .unwrap();
    let mut events = proxy.events();
    let server = proxy.serve_http(HttpOptions::new()).await.unwrap();
    let listed = Asking::modern(1, "tools/list", json!({})).of(&server).await.json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["double", "erase", "desk_ask", "desk_die", "desk_hold", "desk_learn", "desk_mark", "desk_wait"]);
    assert_eq!(tools[0]["description"], "Doubles a number.");

    let call =
        |name: &str, arguments: Value| Asking::modern(2, "tools/call", json!({ "name": name, "arguments": arguments }));
    let doubled = call("double", json!({ "n": 21 })).of(&server).await.json();
    assert_eq!(doubled["result"]["structuredContent"], json!({ "result": 42 }), "{doubled}");
    let failed = call("double", json!({})).of(&server).await.json();
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert!(failed["result"]["content"][0]["text"].as_str().unwrap().contains("there is no `n`"), "{failed}");
    let invalid = call("double", json!({ "n": "x" })).of(&server).await.json();
    assert_eq!(invalid["result"]["isError"], true, "{invalid}");
    assert_eq!(call("desk_wait", json!({})).of(&server).await.json()["result"]["content"][0]["text"], "waited");

    // Layers of functions ask the caller, and events know the function.
    let mut asking = call("erase", json!({}));
    asking.body = asking.body.replace("clientCapabilities\":{}", "clientCapabilities\":{\"elicitation\":{}}");
    let asked = asking.of(&server).await.json();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    assert!(asked["result"]["inputRequests"].to_string().contains("erase"), "{asked}");
    let refused = call("erase", json!({})).of(&server).await.json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    while let Some(event) = events.next().await {
        if matches!(&event, Event::ToolInvoked(call) if call.server == "desk") {
            return;
        }
    }
}

//! The questions of servers in the middle of a call.

use mcp_bindgen_runtime::{CallOptions, ElicitationAnswer, PassedInput, Root, SamplingAnswer};
use tokio::task::JoinSet;

use super::*;

/// Returns a server of the older eras whose tools ask, and return the answers that they received.
fn asking() -> Server {
    Server::new("asks", &["ask_user", "ask_model", "ask_roots"], |_, message, out| {
        if message.get("method").is_none() {
            // The id of the question contains the id of the call.
            let id = message["id"].as_str().and_then(|id| id.strip_prefix('q')?.parse::<u64>().ok());
            let told = json!({ "result": message["result"], "error": message["error"] });
            return out.send(json!({ "id": id, "result": { "content": [], "structuredContent": told } }));
        }
        let (method, params) = match message["params"]["name"].as_str().unwrap_or_default() {
            "ask_user" => {
                let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
                ("elicitation/create", json!({ "message": "Who are you?", "requestedSchema": schema }))
            }
            "ask_model" => {
                let message = json!({ "role": "user", "content": { "type": "text", "text": "What?" } });
                ("sampling/createMessage", json!({ "messages": [message], "maxTokens": 10 }))
            }
            _ => ("roots/list", json!({})),
        };
        out.send(json!({ "id": format!("q{}", message["id"]), "method": method, "params": params }));
    })
}

#[tokio::test]
async fn server_request_reaches_the_client_that_made_the_call() {
    let server = asking();
    let proxy = proxy(&[&server]);
    let mut all = JoinSet::new();
    for number in 0..8 {
        let options = ClientOptions::new()
            .on_elicitation(move |request| async move {
                assert_eq!(request.message, "Who are you?");
                ElicitationAnswer::Accept(object(json!({ "name": format!("user {number}") })))
            })
            .on_sampling(move |_| async move { SamplingAnswer::text("m", format!("model {number}")) })
            .roots([Root::new(format!("file:///{number}"))]);
        let client = client(&proxy, options);
        all.spawn(async move {
            for _ in 0..4 {
                let told = call(&client, "asks_ask_user", json!({})).await.expect("a result").structured.unwrap();
                assert_eq!(told["result"]["content"]["name"], format!("user {number}"));
                let told = call(&client, "asks_ask_model", json!({})).await.expect("a result").structured.unwrap();
                assert_eq!(told["result"]["content"]["text"], format!("model {number}"));
                let told = call(&client, "asks_ask_roots", json!({})).await.expect("a result").structured.unwrap();
                assert_eq!(told["result"]["roots"][0]["uri"], format!("file:///{number}"), "{told}");
            }
        });
    }
    soon(all.join_all()).await;
    for handshake in server.heard("initialize") {
        let mut declared: Vec<&String> = handshake["params"]["capabilities"].as_object().unwrap().keys().collect();
        declared.sort();
        assert_eq!(declared, ["elicitation", "roots", "sampling"]);
    }
}

#[tokio::test]
async fn capabilities_of_a_client_without_handlers_are_not_declared() {
    let server = asking();
    let proxy = proxy(&[&server]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let told = call(&client, "asks_ask_user", json!({})).await.expect("a result").structured.unwrap();
        assert_eq!(told["result"], json!({ "action": "decline" }));
    }
    for handshake in server.heard("initialize") {
        assert_eq!(handshake["params"]["capabilities"], json!({}));
    }
}

/// Returns a server of 2026-07-28 that asks once, and then returns the answer that it received.
fn asking_by_result() -> Server {
    let server = Server::new("asks", &["ask"], |_, request, out| {
        let params = &request["params"];
        if params["inputResponses"].is_null() {
            let asked = json!({ "method": "elicitation/create", "params": { "message": "Who?", "requestedSchema": { "type": "object", "properties": {} }, "x": [1] } });
            let inputs = json!({ "name": asked });
            return out.result(request, json!({
                "resultType": "input_required", "inputRequests": inputs, "requestState": "opaque \u{e9}", "vendor": 1
            }));
        }
        let told = json!({ "responses": params["inputResponses"], "state": params["requestState"] });
        out.result(request, json!({ "resultType": "complete", "content": [], "structuredContent": told }));
    });
    server.modern()
}

#[tokio::test]
async fn input_request_of_a_result_is_passed_on_unchanged() {
    let server = asking_by_result();
    let proxy = proxy(&[&server]);
    let options = ClientOptions::new().protocol_version(MODERN).capabilities(json!({ "elicitation": { "form": {} } }));
    let client = client(&proxy, options);
    let made = |input: PassedInput| {
        let call = ToolCall::new("proxy", "asks_ask", Map::new());
        soon(client.call_tool(call.with(CallOptions::new().pass_input(input))))
    };
    let asked = made(PassedInput::new()).await.expect("a result");
    assert_eq!(
        asked.to_json(),
        json!({
            "resultType": "input_required", "requestState": "opaque \u{e9}", "vendor": 1,
            "inputRequests": { "name": { "method": "elicitation/create", "params": {
                "message": "Who?", "requestedSchema": { "type": "object", "properties": {} }, "x": [1]
            } } }
        })
    );
    let answers = json!({ "name": { "action": "accept", "content": { "name": "Ada" }, "x": 1 } });
    let input = PassedInput::new().responses(object(answers.clone())).state("opaque \u{e9}".to_owned());
    let told = made(input).await.expect("a result").structured.expect("what it was told");
    assert_eq!(told, json!({ "responses": answers, "state": "opaque \u{e9}" }));
    for request in server.heard("tools/call") {
        let declared = &request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        assert_eq!(declared["elicitation"], json!({ "form": {} }));
        assert!(declared.get("sampling").is_none() && declared.get("roots").is_none(), "{declared}");
    }
}

#[tokio::test]
async fn input_request_of_a_result_is_elicited_from_a_session_client() {
    let server = asking_by_result();
    let proxy = proxy(&[&server]);
    let options =
        ClientOptions::new().on_elicitation(async |_| ElicitationAnswer::Accept(object(json!({ "name": "Grace" }))));
    let client = client(&proxy, options);
    let told = call(&client, "asks_ask", json!({})).await.expect("a result").structured.expect("what it was told");
    assert_eq!(told["responses"]["name"]["content"]["name"], "Grace");
}

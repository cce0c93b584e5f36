//! The model of the examples refuses what providers refuse: without that, an example that runs would show nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "../examples/scripted_model/mod.rs"]
mod scripted_model;

use mcp_bindgen::LocalSecrets;
use mcp_bindgen::agents::{HostedServers, Provider, Toolset};
use mcp_bindgen::model::ServerConfig;
use schemars::JsonSchema;
use scripted_model::{ScriptedModel, Turn};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: Option<i64>,
}

fn toolset() -> Toolset {
    let add = async |add: Add| Ok::<_, String>(add.a + add.b.unwrap_or(1));
    Toolset::builder().function("add", "Adds numbers.", add).build().unwrap()
}

fn request(provider: Provider) -> Value {
    let tools = toolset().definitions(provider).tools;
    let asked = json!({ "role": "user", "content": "What is 1 + 2?" });
    match provider {
        Provider::OpenAiChat => {
            json!({ "model": "m", "messages": [{ "role": "system", "content": "s" }, asked], "tools": tools })
        }
        Provider::OpenAiResponses => json!({ "model": "m", "instructions": "s", "input": [asked], "tools": tools }),
        Provider::Gemini => {
            let asked = json!({ "role": "user", "parts": [{ "text": "What is 1 + 2?" }] });
            json!({ "systemInstruction": { "parts": [{ "text": "s" }] }, "contents": [asked], "tools": tools })
        }
        _ => json!({ "model": "m", "max_tokens": 1, "system": "s", "messages": [asked], "tools": tools }),
    }
}

const ANSWERED: [(Provider, &str); 4] = [
    (Provider::OpenAiChat, "messages"),
    (Provider::OpenAiResponses, "input"),
    (Provider::Anthropic, "messages"),
    (Provider::Gemini, "contents"),
];

/// It calls twice in one turn, and is done.
async fn model() -> ScriptedModel {
    let script = |seen: &scripted_model::Seen| {
        let call = |a: i64| ("add".to_owned(), json!({ "a": a }));
        match seen.turns.len() {
            0 => Ok(Turn::Call(vec![call(1), call(2)])),
            _ => Ok(Turn::Say(seen.last().iter().map(|outcome| outcome.text.as_str()).collect::<Vec<_>>().join(" "))),
        }
    };
    ScriptedModel::start(script).await.unwrap()
}

/// The request of the second turn, as a program makes it.
async fn second(model: &ScriptedModel, provider: Provider, list: &str) -> Value {
    let mut request = request(provider);
    let reply = model.ask(provider, &request).await.unwrap();
    let answers = toolset().turn(provider.calls(&reply)).await;
    let messages = request[list].as_array_mut().unwrap();
    match provider {
        Provider::OpenAiChat => messages.push(reply["choices"][0]["message"].clone()),
        Provider::OpenAiResponses => messages.extend(reply["output"].as_array().unwrap().iter().cloned()),
        Provider::Gemini => messages.push(reply["candidates"][0]["content"].clone()),
        _ => messages.push(json!({ "role": "assistant", "content": reply["content"] })),
    }
    messages.extend(answers.results(provider));
    request
}

#[tokio::test]
async fn valid_conversation_is_answered() {
    for (provider, list) in ANSWERED {
        let model = model().await;
        let reply = model.ask(provider, &second(&model, provider, list).await).await.unwrap();
        assert!(reply.to_string().contains("2 3"), "{provider:?}: {reply}");
        assert_eq!(model.answered(), 2);
    }
}

#[tokio::test]
async fn hosted_servers_are_declared_beside_tools() {
    let tracker = ServerConfig::http("tracker", "https://mcp.example.com").approve(["merge"]).hosted();
    let servers = HostedServers::new().with_tools(tracker, ["list", "merge"]);
    let model = model().await;
    for provider in [Provider::OpenAiResponses, Provider::Anthropic] {
        let declared = servers.declarations(provider, &LocalSecrets).await;
        assert_eq!(declared.hosted, ["tracker"]);
        let mut request = request(provider);
        request["tools"].as_array_mut().unwrap().extend(declared.tools);
        if provider == Provider::Anthropic {
            assert!(model.ask(provider, &request).await.is_err(), "a toolset without its server");
            request["mcp_servers"] = declared.mcp_servers.into();
        }
        model.ask(provider, &request).await.unwrap();
    }
}

#[tokio::test]
async fn declarations_that_a_provider_refuses_are_refused() {
    use Provider::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    let model = model().await;
    let object = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    let union = json!({ "type": "object", "oneOf": [{}, {}] });
    let chat = |name: &str, schema: &Value, strict: Value| {
        let function = json!({ "name": name, "description": "d", "parameters": schema, "strict": strict });
        json!([{ "type": "function", "function": function }])
    };
    let flat = |schema: &Value, strict: Value| json!([{ "type": "function", "name": "add", "description": "d", "parameters": schema, "strict": strict }]);
    let claude = |schema: &Value, strict: bool| json!([{ "name": "add", "input_schema": schema, "strict": strict }]);
    let gemini = |function: Value| json!([{ "functionDeclarations": [function] }]);
    let long = "d".repeat(1025);
    let many: Vec<Value> = (0..129).map(|n| chat(&format!("t{n}"), &object, false.into())[0].clone()).collect();
    let strict: Vec<Value> = (0..21)
        .map(|n| json!({ "name": format!("t{n}"), "strict": true, "input_schema": { "type": "object", "additionalProperties": false } }))
        .collect();
    let with_ref = json!({
        "type": "object", "required": ["a"], "additionalProperties": false,
        "properties": { "a": { "$ref": "#/$defs/A", "description": "d" } }, "$defs": { "A": { "type": "string" } },
    });
    let cases: Vec<(Provider, Value, &str)> = vec![
        (OpenAiChat, chat("a b", &object, false.into()), "cannot be the name"),
        (OpenAiChat, chat(&"a".repeat(65), &object, false.into()), "cannot be the name"),
        (OpenAiChat, chat("add", &object, Value::Null), "no `strict`"),
        (OpenAiChat, chat("add", &object, true.into()), "additionalProperties: false"),
        (OpenAiChat, chat("add", &json!({ "type": "string" }), false.into()), "not of type `object`"),
        (OpenAiChat, chat("add", &with_ref, true.into()), "nothing beside `$ref`"),
        (OpenAiChat, many.into(), "at most 128"),
        (
            OpenAiChat,
            json!([{ "type": "function", "function": { "name": "a", "description": long, "parameters": object, "strict": false } }]),
            "1,024 characters",
        ),
        (OpenAiChat, flat(&object, false.into()), "no object `function`"),
        (OpenAiResponses, chat("add", &object, false.into()), "no text `name`"),
        (OpenAiResponses, flat(&object, Value::Null), "no `strict`"),
        (
            OpenAiResponses,
            flat(&json!({ "type": "object", "additionalProperties": false, "properties": { "a": {} } }), true.into()),
            "require every property",
        ),
        (OpenAiResponses, flat(&union, true.into()), "`oneOf`"),
        (Anthropic, claude(&union, false), "`oneOf` at the root"),
        (Anthropic, claude(&json!({}), false), "not of type `object`"),
        (Anthropic, claude(&object, true), "additionalProperties: false"),
        (Anthropic, strict.into(), "more than 20 strict tools"),
        (Anthropic, json!([{ "type": "mcp_toolset", "mcp_server_name": "x" }]), "no list `mcp_servers`"),
        (Gemini, gemini(json!({ "name": "a", "parameters": object, "parametersJsonSchema": object })), "at once"),
        (Gemini, gemini(json!({ "name": "1a", "parametersJsonSchema": object })), "cannot be the name"),
        (Gemini, chat("add", &object, false.into()), "no list `functionDeclarations`"),
    ];
    let count = cases.len();
    for (provider, tools, why) in cases {
        let mut request = request(provider);
        request["tools"] = tools;
        let refusal = model.ask(provider, &request).await.expect_err(why);
        assert!(refusal.contains("answered 400") && refusal.contains(why), "{provider:?}: {refusal}, not {why}");
    }
    println!("{count} declarations refused");
}

#[tokio::test]
async fn mismatched_tool_results_are_refused() {
    let mut count = 0;
    for (provider, list) in ANSWERED {
        let model = model().await;
        let whole = second(&model, provider, list).await;
        let mut broken: Vec<(Value, &str)> = Vec::new();
        let mut change = |why, change: &dyn Fn(&mut Vec<Value>)| {
            let mut request = whole.clone();
            change(request[list].as_array_mut().unwrap());
            broken.push((request, why));
        };
        let no_results = if matches!(provider, Provider::Anthropic | Provider::Gemini) {
            "calls without results"
        } else {
            "no result for the call"
        };
        match provider {
            Provider::OpenAiChat | Provider::OpenAiResponses => {
                change(no_results, &|messages| drop(messages.split_off(messages.len() - 2)));
                change("no result for the call", &|messages| drop(messages.pop()));
                change("was not called, or not once", &|messages| messages.push(messages[messages.len() - 1].clone()));
            }
            _ => {
                let inner = if provider == Provider::Anthropic { "content" } else { "parts" };
                change(no_results, &|messages| drop(messages.pop()));
                change("no result for the call", &|messages| {
                    drop(messages.last_mut().unwrap()[inner].as_array_mut().unwrap().pop())
                });
                change("was not called, or not once", &|messages| {
                    let results = messages.last_mut().unwrap()[inner].as_array_mut().unwrap();
                    results.push(results[0].clone());
                });
            }
        }
        match provider {
            Provider::Anthropic => change("results have to come first", &|messages| {
                let content = messages.last_mut().unwrap()["content"].as_array_mut().unwrap();
                content.insert(1, json!({ "type": "text", "text": "so" }));
            }),
            Provider::Gemini => change("lost its `thoughtSignature`", &|messages| {
                let index = messages.len() - 2;
                messages[index]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
            }),
            _ => {}
        }
        count += broken.len();
        for (request, why) in broken {
            let refusal = model.ask(provider, &request).await.expect_err(why);
            assert!(refusal.contains(why), "{provider:?}: {refusal}, not {why}");
        }
    }
    println!("{count} conversations refused");
}

#[tokio::test]
async fn malformed_requests_are_refused() {
    let model = model().await;
    for (provider, _) in ANSWERED {
        for body in [json!(null), json!([]), json!({}), json!({ "model": "m", "max_tokens": 1, "messages": 7 })] {
            assert!(model.ask(provider, &body).await.is_err());
        }
    }
    assert_eq!(model.answered(), 0);
}

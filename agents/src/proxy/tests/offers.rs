//! Prompts, resources, completions and logs.

use super::*;

fn offering(name: &'static str) -> Server {
    let server = Server::new(name, &["t"], move |server, request, out| {
        let params = &request["params"];
        let said = |text: String| json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
        let result = match request["method"].as_str().unwrap_or_default() {
            // As many as there are tools.
            "prompts/list" => {
                let prompts = ["greet", "other"].into_iter().take(server.tools.lock().unwrap().len());
                json!({ "prompts": prompts.map(|name| json!({ "name": name, "x": 1 })).collect::<Vec<_>>() })
            }
            "prompts/get" if params["name"] == "greet" => {
                json!({ "messages": said(format!("{name} greets {}", params["arguments"]["who"])), "tools": [], "y": 2 })
            }
            "resources/list" => json!({ "resources": [{ "uri": format!("{name}://one"), "name": "one", "z": 3 }] }),
            "resources/templates/list" => {
                json!({ "resourceTemplates": [{ "uriTemplate": format!("{name}://by/{{id}}"), "name": "by" }] })
            }
            "resources/read" if params["uri"].as_str().is_some_and(|uri| uri.starts_with(name)) => {
                json!({ "contents": [{ "uri": params["uri"], "text": format!("of {name}"), "vendor": null }] })
            }
            "completion/complete" => json!({ "completion": { "values": [params["ref"].to_string()] } }),
            "resources/subscribe" | "resources/unsubscribe" | "logging/setLevel" => json!({}),
            _ => {
                let error = json!({ "code": -32002, "message": "Resource not found", "data": params });
                return out.send(json!({ "id": request["id"], "error": error }));
            }
        };
        if request["method"] == "logging/setLevel" {
            let data = json!({ "level": params["level"], "logger": name, "data": { "said": name } });
            server.tell(&json!({ "method": "notifications/message", "params": data }));
        }
        out.result(request, result);
    });
    server.offering(json!({
        "tools": {}, "prompts": { "listChanged": true }, "resources": { "subscribe": true, "listChanged": true },
        "completions": {}, "logging": {}
    }))
}

#[tokio::test]
async fn prompts_and_resources_are_those_of_all_servers() {
    let (one, two) = (offering("one"), offering("two"));
    let plain = Server::echo("plain", &["t"]);
    let proxy = proxy(&[&one, &two, &plain]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let prompts = soon(client.list_prompts_raw()).await.expect("a list");
        assert_eq!(prompts, [json!({ "name": "one_greet", "x": 1 }), json!({ "name": "two_greet", "x": 1 })]);
        let resources = soon(client.list_resources_raw()).await.expect("a list");
        let uris: Vec<&Value> = resources.iter().map(|resource| &resource["uri"]).collect();
        assert_eq!(uris, ["one://one", "two://one"]);
        assert_eq!(soon(client.list_resource_templates_raw()).await.expect("a list").len(), 2);

        let ask = |method: &'static str, params: Value| {
            let client = client.clone();
            async move { soon(client.request(method, object(params), Default::default())).await }
        };
        let got = ask("prompts/get", json!({ "name": "two_greet", "arguments": { "who": "Ada" } })).await.expect("one");
        assert_eq!(got["messages"][0]["content"]["text"], "two greets \"Ada\"");
        assert_eq!((&got["tools"], &got["y"]), (&json!([]), &json!(2)));
        for (uri, of) in [("two://one", "of two"), ("one://by/7", "of one"), ("two://by/7", "of two")] {
            let read = ask("resources/read", json!({ "uri": uri })).await.expect("one");
            assert_eq!(read["contents"][0], json!({ "uri": uri, "text": of, "vendor": null }));
        }
        let error = ask("resources/read", json!({ "uri": "three://x" })).await.expect_err("there is none");
        assert!(matches!(error, CallError::Rpc { code: -32002 | -32602, .. }), "{error}");
        let error = ask("prompts/get", json!({ "name": "greet" })).await.expect_err("there is none");
        assert!(matches!(error, CallError::Rpc { code: -32602, .. }), "{error}");

        let of_prompt = json!({ "type": "ref/prompt", "name": "two_greet" });
        let asked = json!({ "ref": of_prompt, "argument": { "name": "who", "value": "A" } });
        let completed = ask("completion/complete", asked).await.expect("one");
        let inner: Value = serde_json::from_str(completed["completion"]["values"][0].as_str().unwrap()).unwrap();
        assert_eq!(inner["name"], "greet", "the server's own name");
    }
}

#[tokio::test]
async fn what_a_client_subscribes_to_it_is_told_of() {
    let (one, two) = (offering("one"), offering("two"));
    let proxy = proxy(&[&one, &two]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let mut updates = soon(client.subscribe("two://one")).await.expect("it is told");
        until(|| !two.heard("resources/subscribe").is_empty()).await;
        // Before it is subscribed to over this connection, nobody listens.
        tokio::time::sleep(Duration::from_millis(100)).await;
        two.tell(&json!({ "method": "notifications/resources/updated", "params": { "uri": "two://one" } }));
        soon(updates.changed()).await.expect("it is told");
    }
    assert!(one.heard("resources/subscribe").is_empty());
}

#[tokio::test]
async fn a_log_is_for_the_client_whose_connection_it_is() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    let (client, other) = (legacy(&proxy), legacy(&proxy));
    let (mut told, mut others) = (client.notifications(), other.notifications());
    soon(other.list_tools_raw()).await.expect("a list");
    let level = object(json!({ "level": "debug" }));
    soon(client.request("logging/setLevel", level, Default::default())).await.expect("it is set");
    let said = soon(told.next()).await.expect("it is told");
    assert_eq!(said.method, "notifications/message");
    assert_eq!(said.params["data"], json!({ "said": "one" }));
    // The server by hand tells all of its connections; each goes its own way, and to nobody else.
    let said = soon(others.next()).await.expect("it is told");
    assert_eq!(said.params["data"], json!({ "said": "one" }));
    assert!(tokio::time::timeout(Duration::from_millis(200), others.next()).await.is_err(), "once");
}

#[tokio::test]
async fn lists_of_prompts_that_change_are_told_of() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    for client in [legacy(&proxy), modern(&proxy)] {
        server.tools.lock().unwrap().truncate(1);
        let mut told = client.notifications();
        assert_eq!(soon(client.list_prompts_raw()).await.expect("a list").len(), 1);
        // Until it is heard of what one has without a session.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let changed = json!({ "method": "notifications/prompts/list_changed" });
        // The same list: no change.
        server.tell(&changed);
        assert!(tokio::time::timeout(Duration::from_millis(300), told.next()).await.is_err());
        server.tools.lock().unwrap().push(tool("u"));
        server.tell(&changed);
        assert_eq!(soon(told.next()).await.expect("it is told").method, "notifications/prompts/list_changed");
        assert_eq!(soon(client.list_prompts_raw()).await.expect("a list").len(), 2);
        client.close().await;
    }
}

//! Prompts, resources, completions and logs.

use super::*;

fn offering(name: &'static str) -> Server {
    let server = Server::new(name, &["t"], move |server, request, out| {
        let params = &request["params"];
        let said = |text: String| json!([{ "role": "user", "content": { "type": "text", "text": text } }]);
        let result = match request["method"].as_str().unwrap_or_default() {
            // One prompt for each tool.
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
            "tools/call" => json!({ "content": [
                { "type": "resource_link", "uri": format!("{name}://linked"), "name": "linked" },
                { "type": "resource", "resource": { "uri": format!("{name}://embedded"), "text": "" } },
            ] }),
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
async fn prompts_and_resources_of_all_servers_are_merged() {
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
        let error = ask("completion/complete", json!({ "ref": of_prompt })).await.expect_err("there is no argument");
        assert!(matches!(error, CallError::Rpc { code: -32602, .. }), "{error}");
    }
}

/// Returns a server with a skill that it lists, and one that it does not.
fn skilled(name: &'static str) -> Server {
    let server = Server::new(name, &["t"], move |_, request, out| {
        let uri = request["params"]["uri"].as_str().unwrap_or_default();
        let entry = |path: &str| {
            let main = format!("skill://{path}/SKILL.md");
            json!({ "uri": main, "frontmatter": { "name": path }, "resources": [{ "uri": main }, { "uri": format!("skill://{path}/more.md") }], "x": 1 })
        };
        let result = match request["method"].as_str().unwrap_or_default() {
            "skills/list" => json!({ "skills": [entry(name), entry("common")] }),
            "skills/get" if uri.contains(&format!("hidden-{name}")) => {
                json!({ "skill": entry(&format!("hidden-{name}")) })
            }
            "skills/get" if uri.contains(name) => json!({ "skill": entry(name) }),
            "resources/read" => json!({ "contents": [{ "uri": uri, "text": format!("of {name}") }] }),
            "resources/list" => json!({ "resources": [] }),
            "resources/templates/list" => json!({ "resourceTemplates": [] }),
            _ => {
                let error = json!({ "code": -32602, "message": "no skill is served there" });
                return out.send(json!({ "id": request["id"], "error": error }));
            }
        };
        out.result(request, result);
    });
    server.offering(json!({ "tools": {}, "resources": {}, "extensions": { "io.modelcontextprotocol/skills": {} } }))
}

#[tokio::test]
async fn skills_of_all_servers_are_merged() {
    let (one, two) = (skilled("one"), skilled("two"));
    let plain = Server::echo("plain", &["t"]);
    let proxy = proxy(&[&plain, &one, &two]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let skills = soon(client.list_skills_raw()).await.expect("a list");
        let uris: Vec<&str> = skills.iter().map(|skill| skill["uri"].as_str().unwrap()).collect();
        assert_eq!(uris, ["skill://one/SKILL.md", "skill://common/SKILL.md", "skill://two/SKILL.md"], "each URI once");
        assert_eq!(skills[0]["x"], 1, "an entry is as its server sent it");
        let ask = |method: &'static str, uri: &'static str| {
            let client = client.clone();
            async move { soon(client.request(method, object(json!({ "uri": uri })), Default::default())).await }
        };
        for (uri, of) in [
            ("skill://two/SKILL.md", "of two"),
            ("skill://two/more.md", "of two"),
            ("skill://common/more.md", "of one"),
        ] {
            let read = ask("resources/read", uri).await.expect("one");
            assert_eq!(read["contents"][0]["text"], of, "{uri}");
        }
        for uri in ["skill://two/SKILL.md", "skill://hidden-two/SKILL.md"] {
            let got = ask("skills/get", uri).await.expect("an entry");
            assert_eq!(got["skill"]["uri"], uri);
        }
        let error = ask("skills/get", "skill://nobody/SKILL.md").await.expect_err("nobody has it");
        assert!(matches!(error, CallError::Rpc { code: -32602, .. }), "{error}");
        assert!(plain.heard("skills/get").is_empty(), "a server without skills is not asked");
    }
}

#[tokio::test]
async fn resource_subscription_receives_updates() {
    let (one, two) = (offering("one"), offering("two"));
    let proxy = proxy(&[&one, &two]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let mut updates = soon(client.subscribe("two://one")).await.expect("it is told");
        until(|| !two.heard("resources/subscribe").is_empty()).await;
        // Without a subscription over this connection, updates are not reported.
        tokio::time::sleep(Duration::from_millis(100)).await;
        two.tell(&json!({ "method": "notifications/resources/updated", "params": { "uri": "two://one" } }));
        soon(updates.changed()).await.expect("it is told");
    }
    // An unknown resource is not watched, and the request fails.
    let error = soon(legacy(&proxy).subscribe("three://x")).await.expect_err("nobody has it");
    assert!(matches!(error, CallError::ResourceNotFound { .. } | CallError::Rpc { .. }), "{error}");
    assert!(one.heard("resources/subscribe").is_empty());
}

#[tokio::test]
async fn client_is_told_while_a_subscription_is_not_renewed() {
    let asked = AtomicUsize::new(0);
    let server = Server::new("s", &["t"], move |_, request, out| match request["method"].as_str() {
        Some("resources/list") => out.result(request, json!({ "resources": [{ "uri": "a://b", "name": "b" }] })),
        // Over the second connection it does not answer.
        Some("resources/subscribe") if asked.fetch_add(1, Ordering::SeqCst) > 0 => {}
        _ => out.result(request, json!({ "resourceTemplates": [] })),
    });
    let server = server.offering(json!({ "tools": {}, "resources": { "subscribe": true } }));
    let own = server.clone();
    let connect = move |options: ClientOptions| {
        let own = own.clone();
        let options = options.timeout(Duration::from_secs(1)).connector(move || {
            let (near, far) = duplex(64 * 1024);
            tokio::spawn(own.clone().serve(far));
            async { Ok(split(near)) }
        });
        Client::with_options(mcp_bindgen_model::ServerConfig::stdio("s", ""), options)
    };
    let proxy = Proxy::builder().connecting("s", connect, |client| client).build().expect("it is sound");
    let client = legacy(&proxy);
    let mut updates = soon(client.subscribe("a://b")).await.expect("it is told");
    server.end.notify_waiters();
    soon(updates.changed()).await.expect("it is told");
    assert_eq!(server.heard("resources/subscribe").len(), 2);
}

#[tokio::test]
async fn acknowledged_subscriptions_are_watched_or_reported() {
    let (one, two) = (offering("one"), offering("two"));
    let proxy = proxy(&[&one, &two]);
    let (near, far) = duplex(1024 * 1024);
    tokio::spawn(async move { proxy.serve_over(far).await });
    let (read, mut write) = split(near);
    let most = crate::listening::MOST_WATCHED;
    let uris: Vec<String> = (0..=most).map(|at| format!("three://{at}")).collect();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" }
    });
    let params = json!({ "notifications": { "resourceSubscriptions": uris }, "_meta": meta });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params });
    write.write_all(format!("{request}\n").as_bytes()).await.expect("it is sent");
    let mut lines = BufReader::new(read).lines();
    let mut said = async || -> Value {
        let line = soon(lines.next_line()).await.expect("it is readable").expect("there is more");
        serde_json::from_str(&line).expect("JSON")
    };
    let acknowledged = said().await;
    let accepted = acknowledged["params"]["notifications"]["resourceSubscriptions"].as_array().expect("a list").len();
    assert_eq!(accepted, most);
    let error = said().await;
    assert!(error["error"]["message"].as_str().is_some_and(|said| said.contains("three://")), "{error}");
}

#[tokio::test]
async fn log_messages_reach_only_the_client_of_the_connection() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    let (client, other) = (legacy(&proxy), legacy(&proxy));
    let (mut told, mut others) = (client.notifications(), other.notifications());
    soon(other.list_tools_raw()).await.expect("a list");
    let level = object(json!({ "level": "debug" }));
    soon(client.list_tools_raw()).await.expect("a list");
    soon(client.request("logging/setLevel", level, Default::default())).await.expect("it is set");
    let said = soon(told.next()).await.expect("it is told");
    assert_eq!(said.method, "notifications/message");
    assert_eq!(said.params["data"], json!({ "said": "one" }));
    // The test server notifies all of its connections; each client receives only its own notification.
    let said = soon(others.next()).await.expect("it is told");
    assert_eq!(said.params["data"], json!({ "said": "one" }));
    assert!(tokio::time::timeout(Duration::from_millis(200), others.next()).await.is_err(), "once");
}

#[tokio::test]
async fn prompt_list_changes_are_announced() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    for client in [legacy(&proxy), modern(&proxy)] {
        server.tools.lock().unwrap().truncate(1);
        let mut told = client.notifications();
        assert_eq!(soon(client.list_prompts_raw()).await.expect("a list").len(), 1);
        // Wait until the first notification for clients without a session has passed.
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

#[tokio::test]
async fn log_level_starts_no_server_and_applies_to_later_connections() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    let level = object(json!({ "level": "warning" }));
    soon(client.request("logging/setLevel", level, Default::default())).await.expect("it is set");
    assert_eq!(server.opened.load(Ordering::SeqCst), 0);
    soon(client.list_tools_raw()).await.expect("a list");
    until(|| !server.heard("logging/setLevel").is_empty()).await;
    assert_eq!(server.heard("logging/setLevel")[0]["params"]["level"], "warning");
}

#[tokio::test]
async fn log_is_not_declared_without_a_session() {
    let proxy = proxy(&[&Server::echo("s", &["t"])]);
    for (client, has_log) in [(legacy(&proxy), true), (modern(&proxy), false)] {
        let declared = soon(client.declared()).await.expect("it answers").capabilities.expect("it has capabilities");
        assert_eq!(declared["logging"].is_object(), has_log, "{declared}");
        assert!(declared["tools"].is_object() && declared["resources"].is_object(), "{declared}");
    }
}

#[tokio::test]
async fn varying_lists_are_not_announced_without_a_notification() {
    let count = AtomicUsize::new(0);
    let server = Server::new("s", &["t"], move |_, request, out| match request["method"].as_str() {
        Some("resources/list") => {
            let size = count.fetch_add(1, Ordering::SeqCst);
            out.result(request, json!({ "resources": [{ "uri": "a://one", "name": "one", "size": size }] }));
        }
        _ => out.result(request, json!({ "resourceTemplates": [] })),
    });
    let server = server.offering(json!({ "tools": {}, "resources": { "listChanged": true } }));
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    let mut told = client.notifications();
    for size in 0..3 {
        assert_eq!(soon(client.list_resources_raw()).await.expect("a list")[0]["size"], size);
    }
    assert!(tokio::time::timeout(Duration::from_millis(300), told.next()).await.is_err());
    server.tell(&json!({ "method": "notifications/resources/list_changed" }));
    assert_eq!(soon(told.next()).await.expect("it is told").method, "notifications/resources/list_changed");
}

#[tokio::test]
async fn concurrent_callers_share_one_list_request() {
    let server = Server::new("s", &["t"], |_, _, _| {}).offering(json!({ "tools": {}, "resources": {} }));
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    soon(client.list_tools_raw()).await.expect("a list");
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let client = client.clone();
        asking.spawn(async move { client.list_resources_raw().await });
    }
    until(|| !server.heard("resources/list").is_empty()).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(server.heard("resources/list").len(), 1);
}

#[tokio::test]
async fn resource_subscriptions_are_bounded() {
    let server = offering("one");
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    let subscribe = |at: usize| {
        let params = object(json!({ "uri": format!("one://by/{at}") }));
        client.request("resources/subscribe", params, Default::default())
    };
    for at in 0..crate::listening::MOST_WATCHED {
        soon(subscribe(at)).await.expect("it is told");
    }
    let error = soon(subscribe(usize::MAX)).await.expect_err("it is one too many");
    assert!(matches!(error, CallError::Rpc { code: -32602, .. }), "{error}");
    soon(subscribe(0)).await.expect("it has that one");
}

#[tokio::test]
async fn log_messages_continue_during_a_slow_list_request() {
    let listings = AtomicUsize::new(0);
    let server = Server::new("s", &["t"], move |_, request, out| {
        // The second it never gives.
        if request["method"] == "prompts/list" && listings.fetch_add(1, Ordering::SeqCst) == 0 {
            out.result(request, json!({ "prompts": [] }));
        }
    });
    let server = server.offering(json!({ "tools": {}, "prompts": { "listChanged": true }, "logging": {} }));
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    let mut told = client.notifications();
    soon(client.list_prompts_raw()).await.expect("a list");
    server.tell(&json!({ "method": "notifications/prompts/list_changed" }));
    until(|| server.heard("prompts/list").len() == 2).await;
    server.tell(&json!({ "method": "notifications/message", "params": { "level": "info", "data": 1 } }));
    assert_eq!(soon(told.next()).await.expect("it is told").method, "notifications/message");
}

#[tokio::test]
async fn resource_named_by_a_result_or_tool_is_read_from_its_server() {
    let (one, two) = (offering("one"), offering("two"));
    let proxy = proxy(&[&one, &two]);
    let shown = json!({ "name": "view", "inputSchema": { "type": "object" }, "_meta": { "ui": { "resourceUri": "two://ui" } } });
    two.tools.lock().unwrap().push(shown);
    for client in [legacy(&proxy), modern(&proxy)] {
        let read = async |uri: &str| {
            let params = object(json!({ "uri": uri }));
            soon(client.request("resources/read", params, Default::default())).await
        };
        assert!(read("two://linked").await.is_err(), "nobody has named it");
        call(&client, "two_t", json!({})).await.expect("a result");
        for uri in ["two://linked", "two://embedded", "two://ui"] {
            let contents = read(uri).await.expect("contents");
            assert_eq!(contents["contents"][0]["text"], "of two", "{uri}");
        }
        assert!(read("one://linked").await.is_err(), "that server has named none");
    }
}

//! Tests of calls: their metadata, their progress, and their end.

use mcp_bindgen_runtime::CallOptions;
use tokio::task::JoinSet;

use super::*;

#[tokio::test]
async fn results_are_passed_on_unchanged() {
    let sent = json!({
        "content": [
            { "type": "text", "text": "a", "annotations": { "audience": ["nobody"] }, "_meta": { "x": 1 } },
            { "type": "hologram", "data": [1, 2] }
        ],
        "structuredContent": { "deep": [18446744073709551615u64, 0.1, null] },
        "_meta": { "vendor/key": "v" }, "tools": [], "messages": [], "vendor": { "b": 1, "a": 2 }
    });
    let answer = sent.clone();
    let server = Server::new("s", &["t"], move |_, request, out| out.result(request, answer.clone()));
    let proxy = proxy(&[&server]);
    for (client, is_modern) in [(legacy(&proxy), false), (modern(&proxy), true)] {
        let mut result = call(&client, "s_t", json!({})).await.expect("a result").to_json();
        if is_modern {
            assert_eq!(result.as_object_mut().unwrap().remove("resultType"), Some(json!("complete")));
        }
        assert_eq!(result, sent);
    }
}

#[tokio::test]
async fn only_meta_of_the_caller_is_passed_on() {
    let server = Server::new("s", &["t"], |_, request, out| {
        out.result(request, json!({ "content": [], "structuredContent": request["params"]["_meta"] }));
    });
    let proxy = proxy(&[&server]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let options = CallOptions::new().meta("traceparent", trace).meta("vendor/tenant", json!({ "id": 7 }));
        let made = ToolCall::new("proxy", "s_t", Map::new()).with(options.on_progress(|_| ()));
        let meta = soon(client.call_tool(made)).await.expect("a result").structured.expect("what came");
        assert_eq!((&meta["traceparent"], &meta["vendor/tenant"]), (&json!(trace), &json!({ "id": 7 })));
        let reserved: Vec<&String> =
            meta.as_object().unwrap().keys().filter(|key| key.starts_with("io.modelcontextprotocol/")).collect();
        assert!(reserved.is_empty(), "the server is one of 2025-11-25: {reserved:?}");
    }
}

#[tokio::test]
async fn progress_uses_the_token_of_the_client_and_precedes_the_result() {
    let proxy = Proxy::builder().connecting("fixture", fixture(), |client| client).build().expect("it is sound");
    for client in [legacy(&proxy), modern(&proxy)] {
        let mut calls = JoinSet::new();
        for steps in [3, 5] {
            let client = client.clone();
            calls.spawn(async move {
                let heard = Arc::new(Mutex::new(Vec::new()));
                let hears = heard.clone();
                let options = CallOptions::new().on_progress(move |report| {
                    hears.lock().unwrap().push((report.progress, report.total));
                });
                let arguments = object(json!({ "steps": steps, "pause_ms": 5 }));
                let made = ToolCall::new("proxy", "fixture_count_slowly", arguments).with(options);
                soon(client.call_tool(made)).await.expect("a result");
                let expected: Vec<_> = (1..=steps).map(|n| (f64::from(n), Some(f64::from(steps)))).collect();
                assert_eq!(*heard.lock().unwrap(), expected);
            });
        }
        calls.join_all().await;
    }
}

#[tokio::test]
async fn abandoned_call_is_cancelled_on_the_server() {
    let server = Server::new("s", &["never"], |_, _, _| {});
    let proxy = proxy(&[&server]);
    for (at, client) in [legacy(&proxy), modern(&proxy)].into_iter().enumerate() {
        assert_eq!(names(&client).await, ["s_never"]);
        let dropped = client.call_tool(ToolCall::new("proxy", "s_never", Map::new()));
        assert!(tokio::time::timeout(Duration::from_millis(200), dropped).await.is_err());
        until(|| server.heard("notifications/cancelled").len() > at).await;
        let (asked, cancelled) = (&server.heard("tools/call")[at], &server.heard("notifications/cancelled")[at]);
        assert_eq!(asked["id"], cancelled["params"]["requestId"]);
    }
}

#[tokio::test]
async fn disconnected_client_leaves_no_connection() {
    let server = Server::new("s", &["never"], |_, _, _| {});
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    assert_eq!(names(&client).await, ["s_never"]);
    let hung = tokio::spawn({
        let client = client.clone();
        async move { client.call_tool(ToolCall::new("proxy", "s_never", Map::new())).await }
    });
    until(|| !server.heard("tools/call").is_empty()).await;
    hung.abort();
    client.close().await;
    until(|| server.closed.load(Ordering::SeqCst) == 1).await;
    assert_eq!(server.opened.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn abandoned_connect_to_a_silent_server_leaves_no_connection() {
    let server = Server::new("s", &[], |_, _, _| {}).silent();
    let proxy = proxy(&[&server]);
    let client = legacy(&proxy);
    let listing = tokio::spawn({
        let client = client.clone();
        async move { client.list_tools_raw().await }
    });
    until(|| server.opened.load(Ordering::SeqCst) == 1).await;
    listing.abort();
    let _ = listing.await;
    client.close().await;
    until(|| server.closed.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn sessions_have_own_connections_and_other_requests_share_one() {
    let server = Server::echo("s", &["t"]);
    let proxy = proxy(&[&server]);
    let clients = [legacy(&proxy), legacy(&proxy), modern(&proxy), modern(&proxy), modern(&proxy)];
    assert_eq!(server.opened.load(Ordering::SeqCst), 0, "nothing is opened before it is needed");
    for client in &clients {
        call(client, "s_t", json!({})).await.expect("a result");
    }
    assert_eq!(server.opened.load(Ordering::SeqCst), 3);
    for client in &clients {
        client.close().await;
    }
    until(|| server.closed.load(Ordering::SeqCst) == 2).await;
    proxy.close().await;
    until(|| server.closed.load(Ordering::SeqCst) == 3).await;
}

#[tokio::test]
async fn responses_reach_the_right_one_of_many_clients() {
    const CLIENTS: usize = 32;
    const CALLS: usize = 32;
    let server = Server::echo("s", &["t"]);
    let proxy = proxy(&[&server]);
    let mut all = JoinSet::new();
    for number in 0..CLIENTS {
        let client = if number % 2 == 0 { legacy(&proxy) } else { modern(&proxy) };
        all.spawn(async move {
            for round in 0..CALLS {
                let text =
                    call(&client, "s_t", json!({ "who": number, "round": round })).await.expect("a result").text();
                assert_eq!(text, format!("s: \"t\" {{\"who\":{number},\"round\":{round}}}"));
            }
        });
    }
    soon(all.join_all()).await;
    println!("{} calls of {CLIENTS} clients, none mixed up", CLIENTS * CALLS);
    assert_eq!(server.heard("tools/call").len(), CLIENTS * CALLS);
}

#[tokio::test]
async fn events_of_all_servers_arrive_in_one_stream() {
    use mcp_bindgen_runtime::events::Event;
    let (one, two) = (Server::echo("one", &["a"]), Server::echo("two", &["b"]));
    let proxy = proxy(&[&one, &two]);
    let mut events = proxy.events();
    let (first, second) = (legacy(&proxy), modern(&proxy));
    call(&first, "one_a", json!({})).await.expect("a result");
    call(&second, "two_b", json!({})).await.expect("a result");
    let mut invoked = Vec::new();
    while invoked.len() < 2 {
        if let Some(Event::ToolInvoked(call)) = soon(events.next()).await {
            invoked.push(format!("{} {} {}", call.source, call.server, call.tool));
        }
    }
    invoked.sort();
    assert_eq!(invoked, ["proxy one a", "proxy two b"]);
}

#[tokio::test]
async fn unreadable_response_is_reported_without_the_reason() {
    let server = Server::new("s", &["t"], |_, request, out| match request["method"].as_str() {
        Some("prompts/list") => out.result(request, json!({ "prompts": [{ "name": "p" }] })),
        _ => out.result(request, json!("no object")),
    });
    let proxy = proxy(&[&server.offering(json!({ "tools": {}, "prompts": {} }))]);
    let client = legacy(&proxy);
    let told = |name: &str| {
        format!(
            "the response of server `s` to `{name}` cannot be read: it may have taken effect, so check before you repeat it"
        )
    };
    let result = call(&client, "s_t", json!({})).await.expect("a result");
    assert_eq!((result.is_error, result.text()), (true, told("s_t")));
    let asked = client.request("prompts/get", object(json!({ "name": "s_p" })), CallOptions::new());
    let CallError::Rpc { message, .. } = soon(asked).await.expect_err("no prompt") else { panic!("another error") };
    assert_eq!(message, told("s_p"));
}

#[tokio::test]
async fn sessions_share_the_rate_limit_of_a_server() {
    let limited = |options: ClientOptions| {
        let rate = mcp_bindgen_model::Rate::parse("3/h").expect("a rate");
        let options = options.connector(async || {
            let (near, far) = duplex(64 * 1024);
            tokio::spawn(mcp_fixture_server::serve_over(far));
            Ok(split(near))
        });
        Client::with_options(mcp_bindgen_model::ServerConfig::stdio("fixture", "").limit(rate), options)
    };
    let proxy = Proxy::builder().connecting("fixture", limited, |client| client).build().expect("it is sound");
    let (one, other) = (legacy(&proxy), legacy(&proxy));
    for client in [&one, &other, &one] {
        call(client, "fixture_add", json!({ "a": 1, "b": 2 })).await.expect("three in an hour");
    }
    let fourth = ToolCall::new("proxy", "fixture_add".to_owned(), object(json!({ "a": 1, "b": 2 })));
    let error = other.call_tool_within(fourth, Duration::from_millis(200)).await.expect_err("it waits for an hour");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
}

//! The lists, the names in them, and the items that are left out.

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::CallOptions;
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};

use super::*;
use crate::{MemoryApprovalStore, ProxyBuilder, ProxyFault};
use mcp_bindgen_agents::NameStyle;

#[tokio::test]
async fn tools_have_toolset_names_and_are_otherwise_unchanged() {
    let server = Server::echo("b-side", &["z.last", "add"]);
    let odd = json!({
        "name": "odd", "inputSchema": { "$defs": { "x": { "minimum": 18446744073709551615u64 } }, "z": 1, "a": 2 },
        "annotations": { "vendor": [1.5e300, null] }, "execution": { "taskSupport": "optional" }, "x-vendor": true
    });
    server.tools.lock().unwrap().push(odd.clone());
    let proxy = Proxy::builder()
        .connecting("b-side", server.connect(), |client| client)
        .connecting("fixture", fixture(), |client| client)
        .build()
        .expect("it is sound");
    for client in [legacy(&proxy), modern(&proxy)] {
        let tools = soon(client.list_tools_raw()).await.expect("a list");
        let listed: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        assert_eq!(listed.len(), 13);
        assert_eq!(listed[..3], ["b_side_add", "b_side_odd", "b_side_z_last"]);
        assert!(listed[3..].iter().all(|name| name.starts_with("fixture_")) && listed[3..].is_sorted(), "{listed:?}");
        let mut renamed = odd.clone();
        renamed["name"] = json!("b_side_odd");
        assert_eq!(tools[1].to_string(), renamed.to_string(), "not even the order of keys is another");
        // Twice the same list.
        assert_eq!(soon(client.list_tools_raw()).await.expect("a list"), tools);

        let text = call(&client, "b_side_z_last", json!({ "a": [1] })).await.expect("a result").text();
        assert_eq!(text, "b-side: \"z.last\" {\"a\":[1]}");
        let sum = call(&client, "fixture_add", json!({ "a": 1, "b": 2 })).await.expect("a result");
        assert_eq!(sum.structured, Some(json!({ "result": 3 })));
        let error = call(&client, "b_side_nope", json!({})).await.expect_err("there is none");
        assert!(matches!(error, CallError::ToolNotFound { .. }), "{error}");
    }
}

#[test]
fn servers_of_a_configuration_have_its_defaults() {
    let text = "[defaults]\ndrift = \"deny\"\ntimeout = \"7s\"\nisolation = { network = \"none\" }\n[servers.a]\ncommand = \"x\"\n";
    let config = mcp_bindgen_model::Config::parse_toml(text, "mcp.toml".as_ref()).expect("it is right");
    let builder = Proxy::builder().configuration(&config);
    let (client, _) = builder.upstreams[0].attach(mcp_bindgen_runtime::ClientOptions::new);
    let server = client.config();
    assert_eq!((server.drift, server.timeout), (Some(mcp_bindgen_model::Drift::Deny), Some(Duration::from_secs(7))));
    assert!(server.isolation.is_some());
}

#[tokio::test]
async fn invisible_characters_are_removed_from_lists() {
    let server = Server::echo("desk", &[]);
    let hidden = "Reads.\u{200b}\u{202e}\u{e0041}\u{fe01}";
    server.tools.lock().unwrap().push(json!({
        "name": "read", "title": hidden, "description": hidden, "annotations": { "title": hidden },
        "inputSchema": { "type": "object", "properties": { "n": { "description": hidden, "enum": ["a\u{200b}"] } } }
    }));
    let proxy = Proxy::builder().connecting("desk", server.connect(), |client| client).build().expect("it is sound");
    for client in [legacy(&proxy), modern(&proxy)] {
        let tools = soon(client.list_tools_raw()).await.expect("a list");
        let expected = json!({
            "name": "desk_read", "title": "Reads.", "description": "Reads.", "annotations": { "title": "Reads." },
            "inputSchema": { "type": "object", "properties": { "n": { "description": "Reads.", "enum": ["a\u{200b}"] } } }
        });
        assert_eq!(tools, [expected]);
    }
}

#[tokio::test]
async fn tool_only_names_are_unique() {
    let (one, two) = (Server::echo("one", &["same", "first"]), Server::echo("two", &["same"]));
    let proxy = Proxy::builder()
        .names(NameStyle::ToolOnly)
        .connecting("one", one.connect(), |client| client)
        .connecting("two", two.connect(), |client| client)
        .build()
        .expect("it is sound");
    let client = legacy(&proxy);
    let listed = names(&client).await;
    // The tools of the other server are unknown before it is up.
    assert!(listed.len() == 3 && !listed.iter().any(|name| name == "first" || name == "same"), "{listed:?}");
    let same: Vec<&String> = listed.iter().filter(|name| name.starts_with("same_")).collect();
    assert_eq!(same.len(), 2, "{listed:?}");
    let mut said = Vec::new();
    for name in same {
        said.push(call(&client, name, json!({})).await.expect("a result").text());
    }
    assert_eq!(said, ["one: \"same\" {}", "two: \"same\" {}"]);
}

#[tokio::test]
async fn tools_denied_by_name_are_neither_listed_nor_called() {
    let server = Server::echo("files", &["read", "delete_all", "write"]);
    let proxy = Proxy::builder()
        .connecting("files", server.connect(), |client| {
            Stack::new(client).policy(Policy::deny(["delete_*"])).policy(Policy::new(|call| {
                match call.arguments.get("path") {
                    Some(path) if path == "/etc" => Verdict::Deny("not there".to_owned()),
                    _ => Verdict::Allow,
                }
            }))
        })
        .build()
        .expect("it is sound");
    for client in [legacy(&proxy), modern(&proxy)] {
        assert_eq!(names(&client).await, ["files_read", "files_write"]);
        let error = call(&client, "files_delete_all", json!({})).await.expect_err("it is none");
        assert!(matches!(error, CallError::ToolNotFound { .. }), "{error}");
        let denied = call(&client, "files_read", json!({ "path": "/etc" })).await.expect("a result");
        assert!(denied.is_error && denied.text().contains("not there"), "{denied:?}");
    }
    assert!(server.heard("tools/call").is_empty(), "{:?}", server.heard("tools/call"));
}

#[tokio::test]
async fn unreachable_server_does_not_affect_others() {
    let good = Server::echo("good", &["a"]);
    let proxy = Proxy::builder()
        .server(ServerConfig::stdio("broken", "/nonexistent/server-with-hunter22").env("TOKEN", "hunter22"))
        .connecting("good", good.connect(), |client| client)
        .build()
        .expect("it is sound");
    for client in [legacy(&proxy), modern(&proxy)] {
        assert_eq!(names(&client).await, ["good_a"]);
        assert_eq!(call(&client, "good_a", json!({})).await.expect("a result").text(), "good: \"a\" {}");
        let (read, write) = (client.clone(), json!({}));
        let error = call(&read, "broken_x", write).await.expect_err("nobody knows it");
        let said = format!("{error} {error:?}");
        assert!(matches!(error, CallError::ToolNotFound { .. } | CallError::Rpc { .. }), "{said}");
        assert!(!said.contains("hunter22"), "{said}");
    }
}

#[tokio::test]
async fn silent_server_does_not_delay_tools_of_others() {
    let (good, hangs) = (Server::echo("good", &["a"]), Server::echo("hangs", &["b"]).silent());
    let proxy = proxy(&[&hangs, &good]);
    for client in [legacy(&proxy), modern(&proxy)] {
        let begin = std::time::Instant::now();
        assert_eq!(call(&client, "good_a", json!({})).await.expect("a result").text(), "good: \"a\" {}");
        let error = call(&client, "nobodys_x", json!({})).await.expect_err("there is none");
        assert!(matches!(error, CallError::ToolNotFound { .. }), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn late_tool_list_is_announced_and_renames_no_tools() {
    let (bank, eu) = (Server::echo("bank", &["eu_pay", "pay"]), Server::echo("bank_eu", &["pay"]).late());
    let proxy = proxy(&[&bank, &eu]);
    let client = legacy(&proxy);
    let mut changes = client.tool_changes();
    let before = names(&client).await;
    assert!(before.len() == 2 && before[0].starts_with("bank_eu_pay_") && before[1] == "bank_pay", "{before:?}");
    let after = soon(changes.changed()).await.expect("it is told");
    let after: Vec<&str> = after.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(after, [&*before[0], "bank_pay", "bank_eu_pay"]);
    for (name, said) in [(&*before[0], "bank: \"eu_pay\" {}"), ("bank_eu_pay", "bank_eu: \"pay\" {}")] {
        assert_eq!(call(&client, name, json!({})).await.expect("a result").text(), said);
    }
}

#[tokio::test]
async fn tool_only_names_do_not_depend_on_connected_servers() {
    let (one, two) = (Server::echo("one", &["same"]), Server::echo("two", &["same"]).late());
    let builder = Proxy::builder().names(NameStyle::ToolOnly).connecting("one", one.connect(), |client| client);
    let proxy = builder.connecting("two", two.connect(), |client| client).build().expect("it is sound");
    let client = legacy(&proxy);
    let mut changes = client.tool_changes();
    let before = names(&client).await;
    assert!(before.len() == 1 && before[0].starts_with("same_"), "{before:?}");
    let after = soon(changes.changed()).await.expect("it is told");
    assert_eq!(after[0]["name"], before[0]);
    assert!(after.len() == 2 && after[1]["name"].as_str().unwrap().starts_with("same_"), "{after:?}");
    assert_eq!(call(&client, &before[0], json!({})).await.expect("a result").text(), "one: \"same\" {}");
}

#[tokio::test]
async fn lost_server_is_named_and_others_continue() {
    let (one, two) = (Server::echo("one", &["a"]), Server::new("two", &["b"], |_, _, _| {}));
    let proxy = proxy(&[&one, &two]);
    let client = legacy(&proxy);
    assert_eq!(names(&client).await, ["one_a", "two_b"]);
    let lost = tokio::spawn({
        let client = client.clone();
        async move { call(&client, "two_b", json!({})).await }
    });
    until(|| !two.heard("tools/call").is_empty()).await;
    two.end.notify_waiters();
    let lost = soon(lost).await.expect("it does not panic").expect("a result");
    assert!(
        lost.is_error && lost.text().contains("`two`") && lost.text().contains("may have taken effect"),
        "{lost:?}"
    );
    let again = call(&client, "two_b", json!({})).await.expect("a result");
    assert!(again.is_error && again.text().contains("`two` is unreachable"), "{again:?}");
    assert_eq!(call(&client, "one_a", json!({})).await.expect("a result").text(), "one: \"a\" {}");
}

#[test]
fn all_builder_faults_are_reported_together() {
    let faults = |builder: ProxyBuilder| builder.build().map(drop).map_err(|error| error.faults().to_vec());
    assert_eq!(faults(Proxy::builder()), Err(vec![ProxyFault::NoServers]));
    let stdio = |name: &str| ServerConfig::stdio(name, "x");
    let wrong = Proxy::builder()
        .server(stdio("a"))
        .server(stdio("a"))
        .server(stdio("No"))
        .server(stdio("program"))
        .shared(mcp_bindgen_runtime::Fake::new())
        .key([7; 31]);
    assert_eq!(
        faults(wrong),
        Err(vec![
            ProxyFault::NothingToList,
            ProxyFault::Repeated { name: "a".to_owned() },
            ProxyFault::Name { name: "No".to_owned() },
            ProxyFault::Reserved { name: "program".to_owned() },
            ProxyFault::KeyWithoutStore,
            ProxyFault::ShortKey { bytes: 31, at_least: 32 },
        ])
    );
    for options in [
        ClientOptions::new().on_elicitation(async |_| mcp_bindgen_runtime::ElicitationAnswer::Decline),
        ClientOptions::new().on_sampling(async |_| mcp_bindgen_runtime::SamplingAnswer::Decline),
        ClientOptions::new().roots([]),
    ] {
        assert_eq!(faults(Proxy::builder().server(stdio("a")).client_options(options)), Err(vec![ProxyFault::Answers]));
    }
    let plain =
        ClientOptions::new().timeout(Duration::from_secs(1)).capabilities(json!({ "roots": {}, "sampling": {} }));
    assert_eq!(faults(Proxy::builder().server(stdio("a")).client_options(plain)), Ok(()));
    let builder =
        Proxy::builder().server(stdio("a").env("TOKEN", "hunter22-5a7c9e1b")).key(*b"hunter22hunter22hunter22hunter22");
    let builder = builder.approvals(MemoryApprovalStore::default());
    let shown = format!("{builder:?} {:?}", builder);
    assert!(!shown.contains("hunter22"), "{shown}");
    let shown = format!("{:?}", builder.build().expect("it is sound"));
    assert!(!shown.contains("hunter22"), "{shown}");
}

/// Returns a server that lets its prompts be kept for a while.
fn keeping(scope: &'static str, ttl: u64) -> Server {
    let server = Server::new("desk", &[], move |_, request, out| match request["method"].as_str() {
        Some("prompts/list") => {
            let prompts = json!([{ "name": "ask" }]);
            out.result(
                request,
                json!({ "prompts": prompts, "ttlMs": ttl, "cacheScope": scope, "resultType": "complete" }),
            );
        }
        _ => out.send(json!({ "id": request["id"], "error": { "code": -32601, "message": "no" } })),
    });
    server.modern().offering(json!({ "tools": {}, "prompts": { "listChanged": true } }))
}

#[tokio::test]
async fn cache_terms_of_the_server_apply_to_lists() {
    for (scope, ttl, asked) in [("public", 60_000, 1), ("private", 60_000, 1), ("public", 0, 2)] {
        let server = keeping(scope, ttl);
        let proxy = proxy(&[&server]);
        let client = modern(&proxy);
        let request = || client.request("prompts/list", Map::new(), CallOptions::new());
        for _ in 0..2 {
            let listed = soon(request()).await.expect("a list");
            assert_eq!(listed["prompts"][0]["name"], "desk_ask");
            let said = listed["ttlMs"].as_u64().expect("it is said");
            assert!(said <= ttl && (ttl == 0 || said > 30_000), "{said} of {ttl}");
            assert_eq!(listed["cacheScope"], if ttl == 0 { "private" } else { scope });
        }
        assert_eq!(server.heard("prompts/list").len(), asked, "{scope} {ttl}");
        if ttl > 0 {
            server.tell(&json!({ "method": "notifications/prompts/list_changed" }));
            until(|| server.heard("prompts/list").len() > 1).await;
        }
    }
}

/// Returns a server with resources, and a tool whose result names one that no list has.
fn shelf(name: &'static str, uris: &'static [&'static str]) -> Server {
    Server::new(name, &["find"], move |_, request, out| match request["method"].as_str() {
        Some("resources/list") => {
            let listed: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri, "name": uri })).collect();
            out.result(request, json!({ "resources": listed }));
        }
        Some("resources/templates/list") => out.result(request, json!({ "resourceTemplates": [] })),
        Some("resources/read") => {
            let text = json!({ "uri": request["params"]["uri"], "text": name });
            out.result(request, json!({ "contents": [text] }));
        }
        _ => out.result(
            request,
            json!({ "content": [{ "type": "resource_link", "uri": format!("hidden://{name}"), "name": "x" }] }),
        ),
    })
    .offering(json!({ "tools": {}, "resources": {} }))
}

#[tokio::test]
async fn duplicate_resource_belongs_to_first_server_and_link_to_its_caller() {
    let (first, second) = (shelf("one", &["a://x", "a://secret"]), shelf("two", &["a://x", "b://y"]));
    let proxy = proxy(&[&first, &second]);
    let client = legacy(&proxy);
    let listed = soon(client.list_resources_raw()).await.expect("a list");
    let uris: Vec<&str> = listed.iter().map(|item| item["uri"].as_str().expect("a URI")).collect();
    assert_eq!(uris, ["a://x", "a://secret", "b://y"]);
    let read = async |client: &Client, uri: &str| soon(client.read(uri)).await.map(|result| result.text());
    assert_eq!(read(&client, "a://x").await.expect("it is there"), "one");

    // A link in a result is for the caller of that result.
    assert!(read(&client, "hidden://two").await.is_err());
    call(&client, "two_find", json!({})).await.expect("a result");
    assert_eq!(read(&client, "hidden://two").await.expect("it was named"), "two");
    assert!(read(&legacy(&proxy), "hidden://two").await.is_err(), "another caller's link");
}

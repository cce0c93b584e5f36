//! Tests of one call: the request to the server, and the reply to the model.

use std::time::Duration;

use mcp_bindgen_runtime::middleware::{Policy, Stack};
use mcp_bindgen_runtime::{CallError, Dispatched, ServerSpec, ToolReply, ToolSpec};
use serde_json::{Map, Value, json};

use crate::toolset::testing::{Server, bound_on, entry, function, on_server, toolset};
use crate::toolset::{Handler, Toolset};

fn issue_schema() -> Value {
    json!({
        "type": "object", "required": ["title"],
        "properties": {
            "title": {"type": "string", "maxLength": 20},
            "state": {"enum": ["open", "closed"]},
            "limit": {"type": "integer", "maximum": 100},
        },
    })
}

fn issues(handler: Handler) -> Toolset {
    toolset([
        entry("github", "create_issue", issue_schema(), handler),
        entry("fs", "read_file", json!({"type": "object"}), on_server(Server::saying("text"))),
    ])
}

async fn told(set: &Toolset, arguments: impl Into<crate::Arguments>) -> String {
    let reply = set.dispatch("github_create_issue", arguments).await;
    assert!(!reply.success, "{}", reply.message);
    reply.message
}

#[tokio::test]
async fn arguments_reach_the_server_unchanged() {
    let sent = json!({"zulu": {"k": [1, 2.5, null]}, "title": "It broke", "$odd key": 1e300, "limit": 5});
    for text in [sent.to_string().into(), crate::Arguments::from(sent.clone())] {
        let server = Server::saying("done");
        let set = issues(on_server(server.clone()));
        let reply = set.dispatch("github_create_issue", text).await;
        assert_eq!((reply.success, reply.message.as_str()), (true, "done"));
        assert_eq!(server.sent().to_string(), sent.to_string(), "in its order, with the keys that nobody declared");
        let call = server.calls().remove(0);
        assert_eq!((&*call.server, &*call.tool, call.spec), ("github", "create_issue", None));
        assert!(format!("{:?}", call.options).contains("toolset"));
    }
}

#[tokio::test]
async fn bound_tool_is_called_with_its_spec() {
    static TOOLS: [ToolSpec; 1] = [ToolSpec::new("create_issue", r#"{"type":"object"}"#)];
    static GITHUB: ServerSpec = ServerSpec::new("github").tools(&TOOLS);
    let server = Server::saying("done");
    let set = issues(bound_on(server.clone(), &GITHUB, &TOOLS[0]));
    assert!(set.dispatch("github_create_issue", json!({"title": "t"})).await.success);
    assert_eq!(server.calls()[0].spec.map(|spec| spec.name), Some("create_issue"));
}

#[tokio::test]
async fn unknown_tool_error_suggests_the_nearest_name() {
    let server = Server::saying("done");
    let set = issues(on_server(server.clone()));
    for (name, near) in [
        ("github_create_isue", "`github_create_issue`"),
        ("create_issue", "`github_create_issue`"),
        ("fs_readFile", "`fs_read_file`"),
    ] {
        let reply = set.dispatch(name, "{}").await;
        assert!(!reply.success && reply.value.is_null());
        assert!(
            reply.message.contains(&format!("unknown tool `{name}`")) && reply.message.contains(near),
            "{}",
            reply.message
        );
    }
    let hostile = format!("\u{1b}[31m{}", "x".repeat(10_000_000));
    let reply = set.dispatch(&hostile, "{}").await;
    assert!(reply.message.len() < 300 && !reply.message.contains('\u{1b}'), "{}", reply.message);
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn tool_outside_the_subset_is_refused() {
    let server = Server::saying("done");
    let part = toolset([entry("github", "create_issue", issue_schema(), on_server(server.clone()))]);
    // The server has it, and would carry it out.
    let reply = part.dispatch("github_delete_repository", "{}").await;
    assert!(!reply.success && reply.message.contains("unknown tool `github_delete_repository`"), "{}", reply.message);
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn invalid_arguments_are_explained_and_not_sent() {
    let server = Server::saying("done");
    let set = issues(on_server(server.clone()));
    let wrong = told(&set, json!({"title": "t", "state": "opne"})).await;
    for part in ["`github_create_issue`", "`/state`", "`enum`", "`open`", "Nothing was sent"] {
        assert!(wrong.contains(part), "{part}: {wrong}");
    }
    let bound = told(&set, json!({"title": "t", "limit": 500})).await;
    assert!(bound.contains("`/limit`") && bound.contains("`maximum`"), "{bound}");
    let foreign = told(&set, json!({"path": "/tmp", "encoding": "utf-8"})).await;
    assert!(foreign.contains("`required`") && foreign.contains("the parameters are `title` (required)"), "{foreign}");
    let broken = told(&set, r#"{"title": "It bro"#).await;
    assert!(broken.contains("not JSON") && broken.contains("column"), "{broken}");
    let list = told(&set, "[]").await;
    assert!(list.contains("found an array"), "{list}");
    let empty = told(&set, "").await;
    assert!(empty.contains("\"title\" is a required property"), "{empty}");
    let large = told(&set, json!({"title": "x".repeat(10 * 1024 * 1024)}).to_string()).await;
    assert!(large.contains("4194304") && large.len() < 300, "{large}");
    assert!(server.calls().is_empty());
}

#[tokio::test]
async fn values_in_other_letter_case_are_sent_as_declared() {
    let server = Server::saying("done");
    let set = issues(on_server(server.clone()));
    assert!(set.dispatch("github_create_issue", json!({"title": "OPEN", "state": "OPEN"})).await.success);
    assert_eq!(server.sent(), json!({"title": "OPEN", "state": "open"}));
    let still_wrong = told(&set, json!({"state": "OPEN"})).await;
    assert!(still_wrong.contains("required"), "{still_wrong}");
}

#[tokio::test]
async fn valid_values_are_not_corrected() {
    let schema = json!({"properties": {
        "q": {"anyOf": [{"type": "string"}, {"const": "ALL"}]},
        "state": {"enum": ["open"]}, "kind": {"enum": ["bug"]},
    }});
    let server = Server::saying("done");
    let set = toolset([entry("s", "t", schema, on_server(server.clone()))]);
    assert!(set.dispatch("s_t", json!({"q": "all", "state": "OPEN", "kind": "Bug"})).await.success);
    assert_eq!(server.sent(), json!({"q": "all", "state": "open", "kind": "bug"}));
}

#[tokio::test]
async fn null_is_sent_if_the_schema_requires_the_property() {
    let nullable = json!({"type": ["string", "null"], "default": null});
    let properties = json!({"a": nullable, "b": nullable});
    for (schema, sent) in [
        (json!({"properties": properties, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}), json!({"a": null})),
        (json!({"properties": properties, "minProperties": 2}), json!({"a": "x", "b": null})),
        (json!({"properties": properties, "dependentRequired": {"a": ["b"]}}), json!({"a": "x", "b": null})),
    ] {
        let server = Server::saying("done");
        let set = toolset([entry("s", "t", schema.clone(), on_server(server.clone()))]);
        let reply = set.dispatch("s_t", sent.clone()).await;
        assert!(reply.success, "{schema}: {}", reply.message);
        assert_eq!(server.sent(), sent);
    }
    // An alias is never sent.
    let schema = json!({"properties": {"a b": {"type": "string"}, "n": nullable}, "minProperties": 2});
    let server = Server::saying("done");
    let set = toolset([entry("s", "t", schema, on_server(server.clone()))]);
    let reply = set.dispatch("s_t", json!({"a_b": "x", "n": null})).await;
    assert!(!reply.success && server.calls().is_empty(), "{:?}", server.calls());
}

#[tokio::test]
async fn unusable_schema_does_not_prevent_calls() {
    for schema in
        [json!({"$ref": "#/nowhere"}), json!({"properties": {"a": {"$ref": "https://example.com/x"}}}), json!(7)]
    {
        let server = Server::saying("done");
        let set = toolset([entry("github", "create_issue", schema.clone(), on_server(server.clone()))]);
        assert!(set.dispatch("github_create_issue", json!({"a": 1})).await.success, "{schema}");
        assert_eq!(server.sent(), json!({"a": 1}));
    }
}

#[tokio::test]
async fn every_call_error_becomes_a_readable_reply() {
    let (server, tool) = ("github", "create_issue");
    let unknown = "check before you repeat it";
    let after = Duration::from_secs(30);
    for (error, parts) in [
        (CallError::not_connected(server, tool, "no route to host"), vec!["was not called", "no route to host"]),
        (CallError::tool_not_found(server, tool), vec!["no longer has this tool"]),
        (CallError::denied(server, tool, "not on Fridays"), vec!["was denied: not on Fridays", "did not run"]),
        (CallError::timeout(server, tool, after, Dispatched::Unknown), vec!["30s", "the outcome is unknown", unknown]),
        (CallError::timeout(server, tool, after, Dispatched::No), vec!["not sent", "may be called again"]),
        (CallError::transport(server, tool, "HTTP 429"), vec!["did not run: HTTP 429", "may be called again"]),
        (CallError::outcome_unknown(server, tool, "reset"), vec!["reset", "the outcome is unknown", unknown]),
        (CallError::rpc(server, tool, -32603, "boom"), vec!["-32603", "boom"]),
        (CallError::not_offered(server, tool, "tools"), vec!["does not offer tools"]),
    ] {
        let set = issues(on_server(Server::failing(error.clone())));
        let said = told(&set, json!({"title": "t"})).await;
        for part in parts.into_iter().chain(["`github_create_issue`"]) {
            assert!(said.contains(part), "{error:?}: {part}: {said}");
        }
    }
}

#[tokio::test]
async fn results_are_returned_unchanged() {
    let failed = json!({"content": [{"type": "text", "text": "no such label"}], "isError": true, "_meta": {"k": 1}});
    let answer = failed.clone();
    let set = issues(on_server(Server::new(move |_| Ok(answer.clone()))));
    let reply = set.dispatch("github_create_issue", json!({"title": "t"})).await;
    assert_eq!((reply.success, reply.message.as_str(), &reply.value), (false, "no such label", &failed));
    let nothing = issues(on_server(Server::new(|_| Ok(json!({"content": []})))));
    let reply = nothing.dispatch("github_create_issue", json!({"title": "t"})).await;
    assert_eq!(reply.message, "(no result)");
}

#[tokio::test]
async fn policies_of_the_caller_apply() {
    let server = Server::saying("done");
    let stack = Stack::new(server.clone()).policy(Policy::deny(["create_*"]));
    let said = told(&issues(on_server(stack)), json!({"title": "t"})).await;
    assert!(said.contains("was denied"), "{said}");
    assert!(server.calls().is_empty());
}

fn of_function(run: impl Fn(Map<String, Value>) -> Result<Value, String> + Clone + Send + Sync + 'static) -> Toolset {
    issues(function(move |arguments| {
        let run = run.clone();
        Box::pin(async move { run(arguments).map(Into::into) })
    }))
}

#[tokio::test]
async fn functions_are_dispatched_like_server_tools() {
    async fn reply(set: Toolset) -> ToolReply {
        set.dispatch("github_create_issue", json!({"title": "t"})).await
    }
    let echo = reply(of_function(|arguments| Ok(arguments.into()))).await;
    assert_eq!(echo.value["structuredContent"], json!({"title": "t"}));
    assert_eq!(echo.message, r#"{"title":"t"}"#);
    assert_eq!(reply(of_function(|_| Ok("plain".into()))).await.message, "plain");
    assert_eq!(reply(of_function(|_| Ok(Value::Null))).await.message, "(no result)");
    let failed = reply(of_function(|_| Err("no room left".to_owned()))).await;
    assert_eq!((failed.success, failed.message.as_str()), (false, "no room left"));
    let invalid = of_function(|_| panic!("it is not called")).dispatch("github_create_issue", "{}").await;
    assert!(invalid.message.contains("required"), "{}", invalid.message);
}

#[tokio::test]
async fn panics_become_errors_without_their_message() {
    let late = of_function(|_| panic!("hunter22"));
    let at_once = issues(function(|_| panic!("hunter22")));
    let server = issues(on_server(Server::new(|_| panic!("hunter22"))));
    for set in [late, at_once, server] {
        let said = told(&set, json!({"title": "t"})).await;
        assert!(said.contains("by an internal error") && !said.contains("hunter22"), "{said}");
    }
}

//! Keys that say which calls may be made by whom.

use std::future::ready;

use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, Caller, ClientOptions, ToolCall, ToolResult};
use serde_json::{Value, json};

use super::{refusal, with_client};
use crate::common::Project;
use crate::serve::{Served, initialize_modern, post};

const SERVER: &str = "[servers.hub]\ncommand = \"SERVER\"\n";
const OFFERS: &str = "[servers.hub]\ncommand = \"SERVER\"\nargs = [\"--offers\"]\n";

fn rule(rule: &str) -> String {
    format!("{SERVER}[[policy]]\ntools = [\"hub/add\"]\n{rule}\n")
}

/// Calls `add` for each of these callers, and approves nothing.
fn adds(config: &str, arguments: &Value, callers: &[Option<&str>]) -> Vec<Result<ToolResult, CallError>> {
    let options = ClientOptions::new().on_approval(|request| {
        ready(ApprovalAnswer::Decline(request.reason.unwrap_or_else(|| "no reason".to_owned())))
    });
    with_client(&Project::new(config), options, async |client| {
        let mut outcomes = Vec::new();
        for caller in callers {
            let arguments = arguments.as_object().unwrap().clone();
            let mut call = ToolCall::new("hub", "add", arguments);
            if let Some(caller) = caller {
                call = call.with(CallOptions::new().caller(Caller::principal(*caller)));
            }
            outcomes.push(client.call_tool(call).await);
        }
        outcomes
    })
}

fn add(config: &str, a: u32) -> Result<ToolResult, CallError> {
    adds(config, &json!({ "a": a, "b": 22, "note": "release/7" }), &[None]).remove(0)
}

#[track_caller]
fn is_denied(outcome: Result<ToolResult, CallError>, why: &str) {
    let error = outcome.expect_err(why);
    assert!(matches!(error, CallError::Denied { .. }) && error.to_string().contains(why), "{error}");
}

pub(crate) fn policy() {
    assert!(add(SERVER, 20).is_ok());
    is_denied(
        add(&rule("then = \"deny\"\nreason = \"closed\""), 20),
        "a policy of the configuration denies it: closed",
    );
    is_denied(add(&rule("then = \"approve\"\nreason = \"look\""), 20), "not approved: look");
    assert!(add(&rule("then = \"allow\""), 20).is_ok());
    for (condition, holds) in [
        ("a = { equals = 20 }", true),
        ("a = { equals = 20.0 }", true),
        ("a = { equals = 21 }", false),
        ("a = { min = 20, max = 20 }", true),
        ("a = { max = 19 }", false),
        ("note = { prefix = \"release/\" }", true),
        ("note = { pattern = \"^release/[0-9]$\" }", true),
        ("note = { pattern = \"^[0-9]$\" }", false),
        ("note = { present = true }, a = { min = 1 }", true),
        ("absent = { equals = 1 }", false),
        ("absent = { present = false }", true),
        ("\"/note\" = { prefix = \"release\" }", true),
    ] {
        let outcome = add(&rule(&format!("then = \"deny\"\nwhen = {{ {condition} }}")), 20);
        assert_eq!(outcome.is_err(), holds, "{condition}: {outcome:?}");
    }
    // The strictest one decides, whatever the order is; `allow` lifts nothing.
    let both = rule("then = \"deny\"") + "[[policy]]\ntools = [\"hub/*\"]\nthen = \"allow\"\n";
    is_denied(add(&both, 20), "a policy of the configuration denies it");
    let approve = SERVER.to_owned() + "approve = [\"add\"]\n[[policy]]\ntools = [\"hub/add\"]\nthen = \"allow\"\n";
    is_denied(add(&approve, 20), "not approved");

    // Principals: those that are meant, and those that nobody knows.
    let for_ci = rule("then = \"deny\"\nfor = [\"ci\"]");
    let outcomes = adds(&for_ci, &json!({ "a": 1, "b": 1 }), &[Some("ci"), Some("ann"), None]);
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, true, false]);

    // A rate is of each principal.
    let rate = rule("rate = \"2/h\"");
    let outcomes = adds(&rate, &json!({ "a": 1, "b": 1 }), &[Some("ci"), Some("ci"), Some("ann"), Some("ci"), None]);
    assert_eq!(outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, true, true, false, true]);
    let error = outcomes[3].as_ref().unwrap_err();
    assert!(
        error.to_string().contains("a policy of the configuration allows 2/h") && error.retry_after().is_some(),
        "{error}"
    );

    // On the command line.
    let project = Project::new(&rule("then = \"deny\""));
    project
        .run(&["call", "hub", "add", "--args", r#"{"a":1,"b":2}"#])
        .exits_with(1)
        .says("a policy of the configuration denies it");
    let snapshot = r#"{"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}}}}]}"#;
    let no_argument = "mcp.toml:6:10\n  = help: did you mean `/rows/0/name`?";
    for (wrong, says) in [
        ("aa = { equals = 1 }", "no tool of the policy has an argument `aa`"),
        ("\"/b/c\" = { equals = 1 }", "no tool of the policy has an argument `/b/c`"),
        ("\"/rows/0/nam\" = { equals = \"x\" }", no_argument),
        ("\"/rows/*/name\" = { equals = \"x\" }", "a rule cannot look at every element"),
        ("\"/rows/0/name\" = { min = 3 }", "`min` matches no value of the argument `/rows/0/name`\n --> mcp.toml:6:10"),
    ] {
        let project = Project::new(&rule(&format!("then = \"deny\"\nwhen = {{ {wrong} }}")));
        project.write("mcp/hub.json", snapshot);
        project.run(&["list"]).exits_with(1).says(says);
        project.run(&["check", "--offline"]).exits_with(1).says(says);
        project.run(&["call", "hub", "add", "--args", "{}"]).exits_with(1).says(says);
    }
    for (wrong, says) in [
        ("", "has no `then`"),
        ("then = \"refuse\"", "`then` in an element of `policy` has an invalid value"),
        ("then = \"deny\"\nrate = \"1/s\"", "has both `then = \"deny\"` and `rate`"),
        ("then = \"deny\"\nfor = []", "`for` in an element of `policy` is empty"),
        ("then = \"deny\"\nwhen = { a = {} }", "is empty"),
        ("then = \"deny\"\nwhen = { a = { pattern = \"(\" } }", "is not a regular expression"),
        ("then = \"deny\"\nwhen = { a = { min = \"1\" } }", "must be a number, not a string"),
    ] {
        let said = refusal(&rule(wrong));
        assert!(said.contains(says), "{wrong}: {said}");
    }
    assert!(refusal(&rule("then = \"deny\"").replace("hub/add", "hib/add")).contains("did you mean `hub`?"));
    assert!(refusal(&rule("then = \"deny\"").replace("hub/add", "add")).contains("names no tool of a server"));
}

pub(crate) fn policy_of_server() {
    let with = format!("{SERVER}[[servers.hub.policy]]\ntools = [\"add\"]\nthen = \"deny\"\n");
    is_denied(add(&with, 1), "a policy of the configuration denies it");
    assert!(add(&with.replace("\"add\"", "\"list_*\""), 1).is_ok());
}

pub(crate) fn resources() {
    let read = |config: &str, uri: &str| {
        with_client(&Project::new(config), ClientOptions::new(), async |client| client.read(uri).await.map(drop))
    };
    let with = format!("{OFFERS}resources = [\"note:*\"]\n");
    assert!(read(OFFERS, "bin:///x").is_ok() && read(&with, "note:///today").is_ok());
    let error = read(&with, "bin:///x").unwrap_err().to_string();
    assert!(error.contains("it is not selected by `resources` of the server"), "{error}");
}

pub(crate) fn prompts() {
    let get = |config: &str, prompt: &str| {
        let arguments = [("who", "Ann")];
        with_client(&Project::new(config), ClientOptions::new(), async |client| {
            client.prompt(prompt, arguments).await.map(drop)
        })
    };
    let with = format!("{OFFERS}prompts = [\"gr*\"]\n");
    assert!(get(OFFERS, "greet").is_ok() && get(&with, "greet").is_ok());
    let error = get(&with, "plain").unwrap_err().to_string();
    assert!(error.contains("it is not selected by `prompts` of the server"), "{error}");
    let project = Project::new(&format!("{OFFERS}prompts = [\"greeting\"]\n"));
    project.write("mcp/hub.json", r#"{"tools": [], "prompts": [{"name": "greet"}]}"#);
    project.run(&["list"]).exits_with(1).says("no prompt matches `greeting`").says("did you mean `greet`?");
}

/// One process for all sessions.
pub(crate) fn shared() {
    for (config, expected) in [(SERVER.to_owned(), 3), (format!("{SERVER}shared = true\n"), 1)] {
        let project = Project::new(&config);
        let mut served = Served::new(project.command(), &["--http", "0"]);
        let url = served.line().trim().to_owned();
        for _ in 0..3 {
            let begun = post(
                &url,
                &[("MCP-Protocol-Version", "2025-11-25")],
                &json!({
                "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25",
                "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
            );
            let session =
                begun.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect(&begun).to_owned();
            let headers = [("Mcp-Session-Id", session.as_str())];
            post(&url, &headers, &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
            let listed = post(&url, &headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }));
            assert!(listed.contains("hub_add"), "{listed}");
        }
        assert_eq!(served.children().len(), expected, "{config}");
    }
}

/// Returns `true` if a client with this token and this entry of `[access]` sees the tools `add` and `list_labels`.
fn sees(token: &[&str], entry: &str) -> (bool, bool) {
    let project = Project::new(&format!("{SERVER}[access]\nrobot = {{ {entry} }}\n"));
    let create = [&["auth", "token", "robot", "--tokens", "tokens.json"], token].concat();
    let bearer = format!("Bearer {}", project.run(&create).exits_with(0).stdout.trim());
    let mut served = Served::new(project.command(), &["--http", "0", "--tokens", "tokens.json"]);
    let url = served.line().trim().to_owned();
    let listed = post(&url, &[("Authorization", &bearer)], &initialize_modern());
    assert!(listed.starts_with("HTTP/1.1 200"), "{listed}");
    (listed.contains("hub_add"), listed.contains("hub_list_labels"))
}

pub(crate) fn principals() {
    assert_eq!(sees(&[], "servers = [\"hub\"]"), (true, true));
    assert_eq!(sees(&[], "principals = [\"robot\"], servers = [\"hub\"]"), (true, true));
    assert_eq!(sees(&[], "principals = [\"other\"], servers = [\"hub\"]"), (false, false));
}

pub(crate) fn groups() {
    assert_eq!(sees(&["--group", "build"], "groups = [\"build\"], servers = [\"hub\"]"), (true, true));
    assert_eq!(sees(&["--group", "other"], "groups = [\"build\"], servers = [\"hub\"]"), (false, false));
}

pub(crate) fn scopes() {
    assert_eq!(sees(&["--scope", "read"], "scopes = [\"read\"], servers = [\"hub\"]"), (true, true));
    assert_eq!(sees(&[], "scopes = [\"read\"], servers = [\"hub\"]"), (false, false));
}

pub(crate) fn servers() {
    let wrong = format!("{SERVER}[access]\nrobot = {{ servers = [\"hib\"] }}\n");
    assert!(refusal(&wrong).contains("did you mean `hub`?"));
    assert!(refusal(&format!("{SERVER}[access]\nrobot = {{ groups = [\"x\"] }}\n")).contains("shows nothing"));
    let project = Project::new(&format!("{SERVER}[access]\nrobot = {{ servers = [\"hub\"] }}\n"));
    project.run(&["serve"]).exits_with(2).says("`[access]` requires names of callers");
    project.run(&["serve", "--http", "0"]).exits_with(2).says("`[access]` requires names of callers");
}

pub(crate) fn tools() {
    assert_eq!(sees(&[], "tools = [\"hub/ad?\"]"), (true, false));
    assert_eq!(sees(&[], "tools = [\"hub/*\", \"!hub/add\"]"), (false, true));
    assert!(
        refusal(&format!("{SERVER}[access]\nrobot = {{ tools = [\"add\"] }}\n")).contains("names no tool of a server")
    );
}

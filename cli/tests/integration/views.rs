//! Views of tools: the same for programs, models, clients of the proxy, templates and the command line; and what `check`
//! says when a server changes below them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_agents::Toolset;
use mcp_bindgen_model::{Config, ServerConfig, Snapshot};
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{CallTool, Client, ToolCall};
use serde_json::{Map, Value, json};

use crate::common::Project;

const CONFIG: &str = r#"
[servers.hub]
command = "SERVER"
tools = ["add"]

[servers.hub.view.add]
name = "plus_twenty"
description = "Adds twenty."
fixed = { b = 20 }
"#;

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

fn client(project: &Project) -> Client {
    let config = Config::load(project.path("mcp.toml")).unwrap();
    Client::new(config.server("hub").unwrap().clone())
}

/// A client of the project's servers behind `serve`.
pub(crate) fn served(project: &Project) -> Client {
    let command = ServerConfig::stdio("proxy", env!("CARGO_BIN_EXE_mcp-bindgen"));
    Client::new(command.args(["--config", project.path("mcp.toml").to_str().unwrap(), "serve"]))
}

#[test]
fn view_is_the_same_everywhere() {
    let project = Project::new(CONFIG);
    project.run(&["sync"]).exits_with(0);
    let has_seen = |schema: &Value| {
        let arguments: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        arguments == ["a"] && schema["required"] == json!(["a"])
    };

    let expanded = project.run(&["expand", "hub"]).exits_with(0).stdout;
    assert!(expanded.contains("pub async fn hub_plus_twenty") && !expanded.contains("pub b: i64"), "{expanded}");

    wait(async {
        let client = client(&project);
        let snapshot = Snapshot::load(project.path("mcp/hub.json")).unwrap();
        let toolset = Toolset::builder().server("hub", &snapshot.tools, client.clone()).build().unwrap();
        let declared = toolset.definitions(mcp_bindgen_agents::Provider::Anthropic).tools;
        assert_eq!(declared[0]["name"], "hub_plus_twenty");
        assert_eq!(declared[0]["description"], "Adds twenty.\nReturns number");
        assert!(has_seen(&declared[0]["input_schema"]), "{declared:?}");
        assert!(toolset.dispatch("hub_plus_twenty", json!({ "a": 22 })).await.message.contains("42"));
        client.close().await;

        let proxy = served(&project);
        let listed = proxy.list_tools_raw().await.unwrap();
        assert_eq!(
            (&listed[0]["name"], &listed[0]["description"]),
            (&json!("hub_plus_twenty"), &json!("Adds twenty."))
        );
        assert!(has_seen(&listed[0]["inputSchema"]), "{listed:?}");
        let arguments = |json: Value| json.as_object().unwrap().clone();
        let result = proxy.call("hub_plus_twenty", arguments(json!({ "a": 22 }))).await.unwrap();
        assert!(result.text().contains("42"), "{result:?}");
        let refused = proxy.call("hub_plus_twenty", arguments(json!({ "a": 22, "b": 1 }))).await;
        let refused = refused.map_or_else(|error| error.to_string(), |result| result.text());
        assert!(refused.contains("the configuration sets this argument"), "{refused}");
        proxy.close().await;
    });

    project.write("prompts/sum.md", "[[@hub_plus_twenty:sum|a=22]]The sum is {{ sum }}.\n");
    let run = project.run(&["run", "prompts/sum.md"]).exits_with(0);
    assert_eq!(run.stdout, "The sum is 42.\n");
    // Its own words are no difference from the server's.
    let strict = CONFIG.replace("tools = [\"add\"]", "tools = [\"add\"]\ndrift = \"deny\"\npin = \"all\"");
    project.write("mcp.toml", &strict.replace("SERVER", &crate::common::fixture_server().to_string_lossy()));
    assert_eq!(project.run(&["run", "prompts/sum.md"]).exits_with(0).stdout, "The sum is 42.\n");
    project.write("prompts/wrong.md", "[[@hub_plus_twenty:sum|a=22, b=1]]\n");
    project.run(&["run", "prompts/wrong.md"]).exits_with(1).says("`b`");

    let call = project.run(&["call", "hub", "plus_twenty", "--a", "22"]).exits_with(0);
    assert!(call.stdout.contains("42"), "{}", call.stdout);
    let help = project.run(&["call", "hub", "plus_twenty", "--help"]).exits_with(0).stdout;
    assert!(help.contains("--a") && !help.contains("--b ") && help.contains("Adds twenty."), "{help}");
}

/// Policies decide about the arguments that are sent, by the name on the server.
#[test]
fn layers_see_the_arguments_that_are_sent() {
    let project = Project::new(CONFIG);
    wait(async {
        let client = client(&project);
        let policy = Policy::new(|facts| match (facts.tool, facts.arguments.get("b")) {
            ("add", Some(b)) if *b == 20 => Verdict::deny("it has the fixed argument"),
            _ => Verdict::Allow,
        });
        let stack = Stack::new(client.clone()).policy(policy);
        let call = ToolCall::new("hub", "add", Map::from_iter([("a".to_owned(), json!(1))]));
        let denied = stack.call_tool(call).await.unwrap_err().to_string();
        assert!(denied.contains("it has the fixed argument"), "{denied}");
        client.close().await;
    });
}

/// The output of `check` for a snapshot with this schema of `add`. The server has its own: two required integers.
fn checked(schema: &Value, view: &str) -> String {
    let config = format!("[servers.hub]\ncommand = \"SERVER\"\ntools = [\"add\"]\n[servers.hub.view.add]\n{view}\n");
    let project = Project::new(&config);
    project.run(&["sync"]);
    let mut snapshot: Value = serde_json::from_str(&project.read("mcp/hub.json")).unwrap();
    let tools = snapshot["tools"].as_array_mut().unwrap();
    let add = tools.iter_mut().find(|tool| tool["name"] == "add").unwrap();
    add["inputSchema"] = schema.clone();
    project.write("mcp/hub.json", &Snapshot::parse(&snapshot.to_string()).unwrap().to_text());
    project.run(&["check", "--offline"]).exits_with(0);
    let run = project.run(&["check"]).exits_with(4);
    format!("{}{}", run.stdout, run.stderr)
}

#[test]
fn drift_under_a_view_reports_the_invalid_parts_of_the_view() {
    let integer = json!({ "type": "integer", "format": "int64" });
    // The fixed argument is gone.
    let schema = json!({ "type": "object", "required": ["a", "b"],
        "properties": { "a": integer, "b": integer, "c": { "type": "string" } } });
    let said = checked(&schema, "fixed.c = \"x\"");
    assert!(said.contains("tool `add` has no argument `c`") && said.contains("mcp.toml:5:"), "{said}");
    // It changes its type.
    let schema =
        json!({ "type": "object", "required": ["a", "b"], "properties": { "a": integer, "b": { "type": "string" } } });
    let said = checked(&schema, "fixed.b = \"20\"");
    assert!(
        said.contains("invalid value of argument `b` of tool `add`: expected a whole number, found a string"),
        "{said}"
    );
    // A hidden argument becomes required.
    let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": integer, "b": integer } });
    let said = checked(&schema, "hide = [\"b\"]");
    assert!(said.contains("argument `b` of tool `add` cannot be hidden: it is required"), "{said}");
    // A fixed argument becomes required: drift looks below the view, which still fits.
    let said = checked(&schema, "fixed.b = 20");
    assert!(said.contains("MCPD") && !said.contains("do not fit"), "{said}");
}

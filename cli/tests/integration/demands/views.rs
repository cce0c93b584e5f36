//! Keys that say what programs and models see of a tool.

use mcp_bindgen_agents::{Provider, Toolset};
use mcp_bindgen_model::{Config, Snapshot};
use mcp_bindgen_runtime::{CallError, Client, ClientOptions, ToolReply};
use serde_json::{Value, json};

use super::{refusal, with_client};
use crate::common::Project;
use crate::views::served;

const SERVER: &str = "[servers.hub]\ncommand = \"SERVER\"\n";
const LIST: &str = r#"{"tools": [{"name": "add", "description": "Adds two numbers.", "inputSchema": {"type": "object",
    "required": ["a", "b"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "note": {"type": "string"}}}}]}"#;

/// A server whose tool `add` has a view of these lines.
fn project(view: &str) -> Project {
    let project = Project::new(&format!("{SERVER}[servers.hub.view.add]\n{view}\n"));
    project.write("mcp/hub.json", LIST);
    project
}

fn expand(view: &str) -> String {
    project(view).run(&["expand", "hub"]).exits_with(0).stdout
}

/// The declaration of the tool for a model, and the reply to a call of it with these arguments.
fn of_model(view: &str, name: &str, arguments: Value) -> (Value, ToolReply) {
    let snapshot = Snapshot::parse(LIST).unwrap();
    with_client(&project(view), ClientOptions::new(), async |client| {
        let toolset = Toolset::builder().server("hub", &snapshot.tools, client.clone()).build().unwrap();
        let declared = toolset.definitions(Provider::Anthropic).tools[0].clone();
        (declared, toolset.dispatch(name, arguments).await)
    })
}

/// A call without bindings.
fn add(view: &str, arguments: &Value) -> Result<String, CallError> {
    let arguments = arguments.as_object().unwrap().clone();
    with_client(&project(view), ClientOptions::new(), async |client| client.call("add", arguments).await)
        .map(|result| result.text())
}

pub(crate) fn name() {
    let with = "name = \"sum\"";
    let expanded = expand(with);
    assert!(expanded.contains("pub struct HubSumParams") && !expanded.contains("HubAddParams"), "{expanded}");
    let (declared, reply) = of_model(with, "hub_sum", json!({ "a": 20, "b": 22 }));
    assert_eq!((declared["name"].as_str(), reply.success), (Some("hub_sum"), true), "{reply:?}");
    for name in ["sum", "hub_sum", "add"] {
        let call = project(with).run(&["call", "hub", name, "--a", "20", "--b", "22"]).exits_with(0).stdout;
        assert!(call.contains("42"), "{call}");
    }
    assert!(refusal(&format!("{SERVER}view.add.name = \"Sum-up\"\n")).contains("is not a name in snake case"));
}

pub(crate) fn title() {
    let with = "title = \"Our title\"";
    assert!(expand(with).contains(r#".title("Our title")"#));
    assert!(project(with).run(&["list"]).exits_with(0).stdout.contains("title of the server: nothing"));
}

pub(crate) fn description() {
    let with = "description = \"Sums two numbers.\"";
    assert!(expand(with).contains("Sums two numbers."));
    let (declared, _) = of_model(with, "hub_add", json!({}));
    assert_eq!(declared["description"], "Sums two numbers.");
    let listed = project(with).run(&["list"]).exits_with(0).stdout;
    assert!(listed.contains("Sums two numbers.") && listed.contains("description of the server: Adds two numbers."));
}

pub(crate) fn hints() {
    assert!(refusal(&format!("{SERVER}view.add.hints = 1\n")).contains("must be a table"));
    assert!(!expand("").contains("destructive"));
}

fn hint(key: &str, value: bool) {
    let expanded = expand(&format!("hints.{key} = {value}"));
    assert!(expanded.contains(&format!(".{key}({value})")), "{expanded}");
    let said = refusal(&format!("{SERVER}view.add.hints.{key} = {}\n", !value));
    assert!(
        said.contains("retries and caches rely on it") && said.contains("a view only makes hints stricter"),
        "{said}"
    );
}

pub(crate) fn read_only() {
    hint("read_only", false);
}

pub(crate) fn destructive() {
    hint("destructive", true);
}

pub(crate) fn idempotent() {
    hint("idempotent", false);
}

pub(crate) fn open_world() {
    hint("open_world", true);
}

pub(crate) fn fixed() {
    let with = "fixed = { b = 22 }";
    let expanded = expand(with);
    assert!(expanded.contains("pub a: i64") && !expanded.contains("pub b: i64"), "{expanded}");
    assert_eq!(add(with, &json!({ "a": 20 })).unwrap(), "{\"result\":42}");
    let (declared, reply) = of_model(with, "hub_add", json!({ "a": 20 }));
    assert_eq!(declared["input_schema"]["properties"].as_object().unwrap().len(), 2);
    assert!(reply.message.contains("42"), "{reply:?}");
    // Neither a program nor a model changes it.
    let refused = add(with, &json!({ "a": 20, "b": 1 })).unwrap_err().to_string();
    assert!(refused.contains("the configuration sets this argument; leave it out"), "{refused}");
    let (_, reply) = of_model(with, "hub_add", json!({ "a": 20, "b": 1 }));
    assert!(!reply.success && reply.message.contains("the configuration sets this argument"), "{reply:?}");
    // The command line has no flag for it, and shows what it sends.
    let dry = project(with).run(&["call", "hub", "add", "--a", "20", "--dry-run"]).exits_with(0).stdout;
    assert!(dry.contains("\"b\": 22") || dry.contains("\"b\":22"), "{dry}");
    project(with).run(&["call", "hub", "add", "--a", "20", "--b", "1"]).exits_with(2).says("`b`");
    let listed = project(with).run(&["list"]).exits_with(0).stdout;
    assert!(listed.contains("view: fixed b = 22"), "{listed}");
}

pub(crate) fn default() {
    let with = "default = { b = 22 }";
    assert!(expand(with).contains("pub b: Option<i64>"));
    assert_eq!(add(with, &json!({ "a": 20 })).unwrap(), "{\"result\":42}");
    assert_eq!(add(with, &json!({ "a": 20, "b": 1 })).unwrap(), "{\"result\":21}");
}

pub(crate) fn hide() {
    let with = "hide = [\"note\", \"b\"]\ndefault = { b = 22 }";
    let expanded = expand(with);
    assert!(!expanded.contains("pub note") && !expanded.contains("pub b"), "{expanded}");
    assert_eq!(add(with, &json!({ "a": 20 })).unwrap(), "{\"result\":42}");
    let refused = add(with, &json!({ "a": 20, "note": "x" })).unwrap_err().to_string();
    assert!(refused.contains("the configuration hides this argument; leave it out"), "{refused}");
}

/// One tool for two servers: of models, and of the clients of the proxy.
pub(crate) fn of() {
    const TOOLS: &str = "[servers.lab]\ncommand = \"SERVER\"\n[tools.sum]\nof = [\"hub/add\", \"lab/add\"]\n";
    let project = Project::new(&format!("{SERVER}{TOOLS}"));
    project.run(&["sync"]).exits_with(0);
    project.run(&["check", "--offline"]).exits_with(0);
    let config = Config::load(project.path("mcp.toml")).unwrap();
    let snapshot = Snapshot::load(project.path("mcp/hub.json")).unwrap();
    with_client(&project, ClientOptions::new(), async |client| {
        let lab = Client::of_config(&config, config.server("lab").unwrap(), ClientOptions::new());
        let toolset = Toolset::builder()
            .server("hub", &snapshot.tools, client.clone())
            .server("lab", &snapshot.tools, lab.clone())
            .build()
            .unwrap();
        let joined = toolset.join(&config).unwrap();
        assert!(joined.names().any(|name| name == "sum") && !joined.names().any(|name| name.ends_with("_add")));
        assert_eq!(joined.len(), toolset.len() - 1);
        let reply = joined.dispatch("sum", json!({ "server": "lab", "a": 20, "b": 22 })).await;
        assert!(reply.success && reply.message.contains("42"), "{reply:?}");
        let reply = joined.dispatch("sum", json!({ "server": "lob", "a": 20, "b": 22 })).await;
        assert!(!reply.success && reply.message.contains("expected one of `hub`, `lab` at `/server`"), "{reply:?}");
        lab.close().await;

        let proxy = served(&project);
        let listed = proxy.list_tools_raw().await.unwrap();
        let sum = listed.iter().find(|tool| tool["name"] == "sum").expect("it is listed");
        assert_eq!(sum["inputSchema"]["properties"]["server"]["enum"], json!(["hub", "lab"]));
        assert!(!listed.iter().any(|tool| tool["name"] == "hub_add" || tool["name"] == "lab_add"));
        let call = async |arguments: Value| proxy.call("sum", arguments.as_object().unwrap().clone()).await;
        assert!(call(json!({ "server": "lab", "a": 20, "b": 22 })).await.unwrap().text().contains("42"));
        let refused = call(json!({ "a": 20, "b": 22 })).await.unwrap_err().to_string();
        assert!(refused.contains("expected one of `hub`, `lab` at `/server`"), "{refused}");
        proxy.close().await;
    });

    let differs = project.read("mcp/lab.json").replacen("\"integer\"", "\"number\"", 1);
    project.write("mcp/lab.json", &Snapshot::parse(&differs).unwrap().to_text());
    let said = project.run(&["check", "--offline"]).exits_with(1).stderr;
    assert!(said.contains("`[tools.sum]`: its arguments differ between `hub` and `lab`"), "{said}");
    for (of, why) in [
        ("[\"hub/add\"]", "stands for fewer than two tools"),
        ("[\"hub/add\", \"hub/sum\"]", "has two tools of server `hub`"),
        ("[\"hub/add\", \"add\"]", "which names no tool of a server"),
        ("[\"hub/add\", \"lob/add\"]", "names the unknown server `lob`"),
    ] {
        let said = refusal(&format!("{SERVER}[tools.sum]\nof = {of}\n"));
        assert!(said.contains(why) && said.contains("mcp.toml:"), "{said}");
    }
}

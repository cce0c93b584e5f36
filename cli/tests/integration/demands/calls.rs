//! Keys that say which calls are made, and how long they may take.

use std::future::ready;
use std::time::Duration;

use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{CallError, CallOptions, CallTool, ClientOptions, ConnectErrorKind, ToolCall, ToolResult};
use serde_json::{Map, Value, json};

use super::{refusal, with_client};
use crate::common::Project;

const SERVER: &str = "[servers.hub]\ncommand = \"SERVER\"\n";

/// A call of a server that is configured like this.
fn call_with(config: &str, options: ClientOptions, tool: &str, arguments: &Value) -> Result<ToolResult, CallError> {
    let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
    with_client(&Project::new(config), options, async |client| client.call(tool, arguments).await)
}

fn add(config: &str) -> Result<ToolResult, CallError> {
    call_with(config, ClientOptions::new(), "add", &json!({ "a": 20, "b": 22 }))
}

#[track_caller]
fn is_denied(outcome: Result<ToolResult, CallError>, why: &str) {
    let error = outcome.expect_err(why);
    assert!(matches!(error, CallError::Denied { .. }) && error.to_string().contains(why), "{error}");
}

/// The names of what is bound.
fn bound(config: &str) -> String {
    let project = Project::new(config);
    project.write(
        "mcp/hub.json",
        r#"{"tools": [{"name": "add", "inputSchema": {"type": "object"}}, {"name": "list_labels", "inputSchema": {"type": "object"}}]}"#,
    );
    project.run(&["list"]).exits_with(0).stdout
}

pub(crate) fn tools() {
    let with = format!("{SERVER}tools = [\"list_*\"]\n");
    assert_eq!(add(SERVER).unwrap().text(), "{\"result\":42}");
    is_denied(add(&with), "it is not selected by `tools` of the server");
    assert!(call_with(&with, ClientOptions::new(), "list_labels", &json!({})).is_ok());
    assert!(bound(SERVER).contains("hub_add"));
    assert!(!bound(&with).contains("hub_add") && bound(&with).contains("hub_list_labels"));
}

pub(crate) fn exclude() {
    let with = format!("{SERVER}exclude = [\"a*\"]\n");
    assert!(add(SERVER).is_ok());
    is_denied(add(&with), "it is excluded by `exclude` of the server");
    assert!(call_with(&with, ClientOptions::new(), "list_labels", &json!({})).is_ok());
    assert!(!bound(&with).contains("hub_add") && bound(&with).contains("hub_list_labels"));
}

pub(crate) fn approve() {
    let with = format!("{SERVER}approve = [\"ad*\"]\n");
    is_denied(add(&with), "no approval handler is set; set `ClientOptions::on_approval`");
    let answering = |answer: ApprovalAnswer| {
        let options = ClientOptions::new().on_approval(move |_| ready(answer.clone()));
        call_with(&with, options, "add", &json!({ "a": 20, "b": 22 }))
    };
    is_denied(answering(ApprovalAnswer::Decline("not now".to_owned())), "not approved: not now");
    assert!(answering(ApprovalAnswer::Approve).is_ok());
    assert!(add(SERVER).is_ok());

    let project = Project::new(&with);
    let call = ["call", "hub", "add", "--args", r#"{"a":20,"b":22}"#];
    project.run(&call).exits_with(1).says("approve this call with `--yes`");
    project.run(&[&call[..], &["--yes"]].concat()).exits_with(0);
}

/// Of a template that somebody else has written.
pub(crate) fn remote_use() {
    let add_remotely = |config: &str| {
        let arguments = json!({ "a": 20, "b": 22 }).as_object().unwrap().clone();
        let call = ToolCall::new("hub", "add", arguments).with(CallOptions::new().remote());
        with_client(&Project::new(config), ClientOptions::new(), async |client| client.call_tool(call).await)
    };
    let with = |globs: &str| format!("{SERVER}remote_use = [{globs}]\n");
    is_denied(add_remotely(SERVER), "`remote_use` of the server does not allow this tool");
    is_denied(add_remotely(&with("\"list_*\"")), "the template is not a local file");
    is_denied(add_remotely(&format!("{}exclude = [\"add\"]\n", with("\"*\""))), "`exclude`");
    assert_eq!(add_remotely(&with("\"ad?\"")).unwrap().text(), "{\"result\":42}");
    // Of what the program itself calls it says nothing.
    assert!(add(&with("\"list_*\"")).is_ok());

    let project = Project::new(&with("\"ad?\", \"lst_*\""));
    project.write("mcp/hub.json", r#"{"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}"#);
    project.run(&["list"]).exits_with(1).says("no tool of server `hub` matches `lst_*` in `remote_use`");
    assert!(refusal(&format!("{SERVER}remote_use = true\n")).contains("`remote_use` of server `hub` must be"));
}

/// A call of a tool that the snapshot beside the configuration knows like this.
fn add_as_known(config: &str, tool: &Value) -> Result<ToolResult, CallError> {
    let project = Project::new(config);
    project.write("mcp/hub.json", &json!({ "tools": [tool] }).to_string());
    let arguments = json!({ "a": 20, "b": 22 }).as_object().unwrap().clone();
    with_client(&project, ClientOptions::new(), async |client| client.call("add", arguments).await)
}

/// As the server has it, and as it has it not.
fn known_add(description: Option<&str>, is_retyped: bool) -> Value {
    let snapshot: Value =
        serde_json::from_str(include_str!("../../../../fixtures/snapshots/fixture.json")).expect("the snapshot");
    let mut tool = snapshot["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "add").unwrap().clone();
    if is_retyped {
        tool["inputSchema"]["properties"]["b"] = json!({ "type": "string" });
    }
    if let Some(description) = description {
        tool["description"] = description.into();
    }
    tool
}

pub(crate) fn drift() {
    let deny = format!("{SERVER}drift = \"deny\"\n");
    let error = add_as_known(&deny, &known_add(None, true)).expect_err("it is another tool now");
    assert!(matches!(&error, CallError::Incompatible { .. }), "{error}");
    assert!(add_as_known(&deny, &known_add(None, false)).is_ok());
    for harmless in ["warn", "ignore"] {
        let config = format!("{SERVER}drift = \"{harmless}\"\n");
        assert!(add_as_known(&config, &known_add(None, true)).is_ok());
    }
    // The tool is in neither the bindings nor the snapshot.
    is_denied(add(&deny), "refuses tools that are in neither the bindings nor the snapshot");
    assert!(
        refusal(&format!("{SERVER}drift = \"maybe\"\n")).contains("invalid value `maybe` for `drift` of server `hub`")
    );
}

pub(crate) fn drift_mode() {
    let deny = format!("{SERVER}[servers.hub.drift]\nmode = \"deny\"\n");
    let error = add_as_known(&deny, &known_add(None, true)).expect_err("the tool has changed");
    assert!(matches!(&error, CallError::Incompatible { .. }), "{error}");
    assert!(add_as_known(&deny.replace("deny", "warn"), &known_add(None, true)).is_ok());
    let said = refusal(&format!("{SERVER}[servers.hub.drift]\nmode = \"maybe\"\n"));
    assert!(said.contains("invalid value `maybe` for `mode` in `drift` of server `hub`"), "{said}");
}

pub(crate) fn drift_accept() {
    let deny = format!("{SERVER}[servers.hub.drift]\nmode = \"deny\"\n");
    let error = add_as_known(&deny, &known_add(None, true)).expect_err("the tool has changed").to_string();
    let rule = error.split_once('[').and_then(|(_, rest)| rest.split_once(']')).expect("its id").0;
    let accept = |rest: &str| format!("{deny}accept = [{{ rule = \"{rule}\", {rest} }}]\n");
    assert!(add_as_known(&accept("reason = \"x\""), &known_add(None, true)).is_ok());
    let here = "tool = \"a*\", at = \"/inputSchema/properties/b\", until = \"9999-12-31\", reason = \"x\"";
    assert!(add_as_known(&accept(here), &known_add(None, true)).is_ok());
    for elsewhere in ["tool = \"sub\"", "at = \"/inputSchema/properties/a\"", "until = \"2026-01-31\""] {
        let error = add_as_known(&accept(&format!("{elsewhere}, reason = \"x\"")), &known_add(None, true));
        assert!(matches!(error, Err(CallError::Incompatible { .. })), "{elsewhere}");
    }
}

pub(crate) fn drift_class() {
    let deny = format!("{SERVER}[servers.hub.drift]\nmode = \"deny\"\n");
    let error = add_as_known(&deny, &known_add(None, true)).expect_err("the tool has changed").to_string();
    let rule = error.split_once('[').and_then(|(_, rest)| rest.split_once(']')).expect("its id").0;
    let class = |class: &str| format!("{deny}class = {{ {rule} = \"{class}\" }}\n");
    assert!(add_as_known(&class("compatible"), &known_add(None, true)).is_ok());
    assert!(add_as_known(&class("breaking"), &known_add(None, true)).is_err());
}

pub(crate) fn pin() {
    let deny = format!("{SERVER}drift = \"deny\"\n");
    let reworded = || known_add(Some("Subtracts."), false);
    assert!(add_as_known(&deny, &reworded()).is_ok());
    assert!(add_as_known(&format!("{deny}pin = \"schema\"\n"), &reworded()).is_ok());
    let error = add_as_known(&format!("{deny}pin = \"all\"\n"), &reworded()).expect_err("its words are others now");
    assert!(matches!(&error, CallError::Incompatible { .. }), "{error}");
    assert!(refusal(&format!("{SERVER}pin = \"some\"\n")).contains("invalid value `some` for `pin` of server `hub`"));
}

/// A call of a server that says nothing for longer than that.
fn slow(config: &str) -> Result<ToolResult, CallError> {
    call_with(config, ClientOptions::new(), "count_slowly", &json!({ "steps": 1, "pause_ms": 700 }))
}

#[track_caller]
fn is_late(outcome: Result<ToolResult, CallError>) {
    let error = outcome.expect_err("it was to be late");
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
}

pub(crate) fn timeout() {
    is_late(slow(&format!("{SERVER}timeout = \"200ms\"\n")));
    assert!(slow(SERVER).is_ok());
    // The program's options apply only to servers whose configuration does not set the key.
    let options = ClientOptions::new().timeout(Duration::from_millis(1));
    let config = format!("{SERVER}timeout = \"20s\"\n");
    assert!(call_with(&config, options, "count_slowly", &json!({ "steps": 1, "pause_ms": 100 })).is_ok());
    assert!(refusal(&format!("{SERVER}timeout = 30\n")).contains("must be a duration"));
}

pub(crate) fn default_timeout() {
    is_late(slow(&format!("[defaults]\ntimeout = \"200ms\"\n{SERVER}")));
    assert!(slow(&format!("[defaults]\ntimeout = \"200ms\"\n{SERVER}timeout = \"20s\"\n")).is_ok());
    // Also where it says what holds anyway, it is said, and comes before what the program says.
    let impatient = || ClientOptions::new().timeout(Duration::from_millis(200));
    let slow_with =
        |config: &str| call_with(config, impatient(), "count_slowly", &json!({ "steps": 1, "pause_ms": 700 }));
    assert!(slow_with(&format!("[defaults]\ntimeout = \"30s\"\n{SERVER}")).is_ok());
    is_late(slow_with(SERVER));
}

pub(crate) fn connect_timeout() {
    let config = "[servers.hub]\ncommand = \"SERVER\"\nargs = [\"--misbehave\", \"slow-start\"]\n";
    let connect =
        |config: &str| with_client(&Project::new(config), ClientOptions::new(), async |client| client.connect().await);
    let error = connect(&format!("{config}connect_timeout = \"200ms\"\n")).expect_err("it was to be late");
    assert_eq!(error.kind, ConnectErrorKind::Timeout);
    connect(config).expect("there is time");
}

/// For whoever shows the server to people.
pub(crate) fn description() {
    let described = |config: &str| {
        let shown = async |client: &mcp_bindgen_runtime::Client| client.config().description.clone();
        with_client(&Project::new(config), ClientOptions::new(), shown)
    };
    assert_eq!(described(&format!("{SERVER}description = \"adds\"\n")).as_deref(), Some("adds"));
    assert_eq!(described(SERVER), None);
}

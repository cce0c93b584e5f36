//! Keys that say what bindings look like, and how they are made.

use std::process::Command;

use mcp_bindgen_model::Config;

use super::refusal;
use crate::common::{Project, Run};

const LIST: &str = r##"{"tools": [
    {"name": "add", "inputSchema": {"type": "object", "properties": {"odd": {"type": "text"}}}},
    {"name": "pay", "inputSchema": {"type": "object", "required": ["price"],
        "properties": {"price": {"$ref": "#/$defs/Money"}},
        "$defs": {"Money": {"type": "object", "required": ["cents"], "properties": {"cents": {"type": "integer", "maximum": 99}}}}}},
    {"name": "link", "inputSchema": {"type": "object", "required": ["from", "to"], "properties": {
        "from": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        "to": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}}}
]}"##;
const SERVER: &str = "[servers.hub]\ncommand = \"x\"\n";

fn project(config: &str) -> Project {
    let project = Project::empty();
    project.write("mcp/hub.json", LIST);
    project.write("mcp.toml", config);
    project
}

fn expand(config: &str) -> Run {
    project(config).run(&["expand", "hub"])
}

/// The bindings of a server with this key, which are not those without it.
fn expanded_with(key: &str) -> String {
    let with = expand(&format!("{SERVER}{key}\n")).exits_with(0).stdout;
    assert_ne!(with, expand(SERVER).exits_with(0).stdout, "{key} has no effect");
    with
}

/// Checks that the bindings contain `text` with the key, and do not contain it without the key.
fn adds(key: &str, text: &str) {
    assert!(!expand(SERVER).exits_with(0).stdout.contains(text), "{text} is there without {key}");
    let with = expanded_with(key);
    assert!(with.contains(text), "{key} does not give {text}:\n{with}");
}

pub(crate) fn deny() {
    expand(SERVER).exits_with(0).says("warning[MCP0006]");
    let denied = expand(&format!("deny = [\"MCP0006\"]\n{SERVER}")).exits_with(1).says("error[MCP0006]");
    assert_eq!(denied.stdout, "");
    assert!(refusal("deny = [\"nonsense\"]\n").contains("contains a value that is not a code"));
}

pub(crate) fn allow() {
    let allowed = expand(&format!("allow = [\"MCP0006\"]\n{SERVER}")).exits_with(0);
    assert_eq!(allowed.stderr, "");
    expand(SERVER).exits_with(0).says("MCP0006");
}

pub(crate) fn snapshots() {
    let project = project(&format!("[defaults]\nsnapshots = \"elsewhere\"\n{SERVER}"));
    project.run(&["expand", "hub"]).exits_with(1).says("elsewhere/hub.json");
    project.write("elsewhere/hub.json", r#"{"tools": [{"name": "other", "inputSchema": {"type": "object"}}]}"#);
    let found = project.run(&["expand", "hub"]).exits_with(0).stdout;
    assert!(found.contains("HubOtherParams") && !found.contains("HubAddParams"), "{found}");
}

/// The bindings take it along to where calls are made.
pub(crate) fn default_drift() {
    let carried = |config: &str| expand(config).exits_with(0).stdout.contains(r#"\"drift\":\"deny\""#);
    assert!(carried(&format!("[defaults]\ndrift = \"deny\"\n{SERVER}")) && !carried(SERVER));
    adds("drift = \"deny\"", r#"\"drift\":\"deny\""#);
    let own = format!("[defaults]\ndrift = \"deny\"\n{SERVER}drift = \"ignore\"\n");
    let config = Config::parse_toml(&own, "mcp.toml".as_ref()).unwrap();
    assert_eq!(config.server_with_defaults("hub").unwrap().drift, Some(mcp_bindgen_model::Drift::Ignore));
}

pub(crate) fn default_pin() {
    let carried = |config: &str| expand(config).exits_with(0).stdout.contains(r#"\"pin\":\"all\""#);
    assert!(carried(&format!("[defaults]\npin = \"all\"\n{SERVER}")) && !carried(SERVER));
    adds("pin = \"all\"", r#"\"pin\":\"all\""#);
    let own = format!("[defaults]\npin = \"all\"\n{SERVER}pin = \"schema\"\n");
    let config = Config::parse_toml(&own, "mcp.toml".as_ref()).unwrap();
    assert_eq!(config.server_with_defaults("hub").unwrap().pin, Some(mcp_bindgen_model::Pin::Schema));
}

/// A build that is asked to ask the server: it says that it cannot, or tracks the variable, where the feature `live` is
/// built in. One that never asks does neither.
pub(crate) fn live() {
    let said = |config: &str| {
        let project = project(config);
        let out = project.path("out");
        let built = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "demands::a_build", "--ignored"])
            .env("DEMANDS_FOLDER", project.path(""))
            .env("DEMANDS_OUT", &out)
            .env("MCP_BINDGEN_LIVE", "hub")
            .output()
            .unwrap();
        assert!(built.status.success(), "{built:?}");
        let said = project.read("out");
        assert!(said.contains("pub mod hub"), "{said}");
        said.contains("MCP_BINDGEN_LIVE")
    };
    assert!(said(SERVER));
    assert!(said(&format!("[defaults]\nlive = \"ask\"\n{SERVER}")));
    assert!(!said(&format!("[defaults]\nlive = \"never\"\n{SERVER}")));
}

pub(crate) fn prefix() {
    adds("prefix = \"gh\"", "pub async fn gh_add");
    adds("prefix = false", "pub struct AddParams");
}

pub(crate) fn types() {
    // A build with the backend reports the invalid tool; a build without it reports every tool.
    let with = expand(&format!("{SERVER}types = \"typify\"\n")).exits_with(0);
    with.says("the typify backend cannot take the tool");
    assert!(!expand(SERVER).stderr.contains("typify"));
}

pub(crate) fn unknown() {
    adds("unknown = \"keep\"", "pub extra: BTreeMap<String, Value>");
}

/// A table, of keys that have rows of their own.
pub(crate) fn rust() {
    assert!(refusal(&format!("{SERVER}rust = 1\n")).contains("`rust` of server `hub` must be a table"));
    expanded_with("rust = { rename = { add = \"sum\" } }");
}

pub(crate) fn derive() {
    adds("rust.derive = [\"crate::Own\"]", "crate::Own)]\n    pub struct HubPayParams");
}

pub(crate) fn rename() {
    adds("rust.rename = { add = \"sum\" }", "pub async fn hub_sum");
    let with = expanded_with("rust.rename = { add = \"sum\" }");
    assert!(with.contains("\"add\"") && !with.contains("HubAddParams"), "the wire never changes: {with}");
}

pub(crate) fn extern_types() {
    adds("rust.extern = { \"#/$defs/Money\" = \"crate::Money\" }", "pub price: crate::Money");
}

pub(crate) fn setters() {
    adds("rust.setters = true", "pub fn odd(mut self, value: Value) -> Self");
    assert!(!expand(&format!("{SERVER}rust.setters = false\n")).exits_with(0).stdout.contains("mut self"));
}

pub(crate) fn named() {
    adds("rust.named = true", "pub fn builder() -> HubPayParamsBuilder");
    assert!(!expanded_with("rust.named = true").contains("fn new(price"));
}

pub(crate) fn checked() {
    adds("rust.checked = true", "pub cents: HubPayParamsMoneyCents");
}

pub(crate) fn shared() {
    adds("rust.shared = { Node = \"link/from\" }", "pub to: HubNode");
}

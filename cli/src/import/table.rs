//! A server as `mcp.toml` has it.

use mcp_bindgen_model::{ServerConfig, Transport};
use serde_json::Value as Json;
use toml_edit::{Array, Item, Table, Value, value};

/// Returns the table `[servers.NAME]`, as a person would write it. The server must not contain secrets.
pub(crate) fn table(server: &ServerConfig) -> Table {
    let mut table = Table::new();
    let mut json = server.to_json();
    if let (Transport::Stdio { command, args, .. }, Some(keys)) = (&server.transport, json.as_object_mut()) {
        let (key, source, args) = started(command, args);
        table.insert(key, value(source));
        put_list(&mut table, "args", args);
        keys.retain(|key, _| !["command", "args"].contains(&key.as_str()));
    }
    for (key, json) in json.as_object().into_iter().flatten() {
        table.insert(key, Item::Value(from_json(json)));
    }
    table
}

fn from_json(json: &Json) -> Value {
    match json {
        Json::Array(items) => Value::Array(items.iter().map(from_json).collect()),
        Json::Object(members) => members.iter().map(|(key, json)| (key.as_str(), from_json(json))).collect(),
        json => json.as_str().unwrap_or_default().into(),
    }
}

/// Describes the transport of a server on one line.
pub(crate) fn reach(server: &ServerConfig) -> String {
    match &server.transport {
        Transport::Stdio { command, args, .. } => {
            let (key, source, args) = started(command, args);
            let args: String = args.iter().map(|argument| format!(" {argument}")).collect();
            format!("{key} {source}{args}")
        }
        Transport::Http { url, .. } => format!("url {url}"),
        Transport::Sse { url, .. } => format!("sse {url}"),
    }
}

/// Returns the key that says how a child process is started, its value, and the arguments that are left.
fn started<'s>(command: &'s str, args: &'s [String]) -> (&'static str, &'s str, &'s [String]) {
    let is_package = |text: &str| !text.starts_with('-') && !text.trim().is_empty();
    match (command, args) {
        ("npx", [yes, package, rest @ ..]) if yes == "-y" && is_package(package) => ("npm", package, rest),
        ("uvx", [package, rest @ ..]) if is_package(package) => ("uvx", package, rest),
        _ => ("command", command, args),
    }
}

pub(crate) fn put_list(table: &mut Table, key: &str, items: &[String]) {
    if !items.is_empty() {
        table.insert(key, value(items.iter().map(String::as_str).collect::<Array>()));
    }
}

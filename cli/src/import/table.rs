//! A server as `mcp.toml` has it.

use mcp_bindgen_model::{ServerConfig, Transport};
use toml_edit::{Array, InlineTable, Table, value};

use super::entry::time_text;

/// The table `[servers.NAME]`, as somebody would write it. The server must be without secrets.
pub(crate) fn table(server: &ServerConfig) -> Table {
    let mut table = Table::new();
    match &server.transport {
        Transport::Stdio { command, args, cwd } => {
            let (key, source, args) = started(command, args);
            table.insert(key, value(source));
            put_list(&mut table, "args", args);
            if let Some(cwd) = cwd {
                table.insert("cwd", value(cwd));
            }
        }
        Transport::Http { url, headers } => {
            table.insert("url", value(url));
            put_pairs(&mut table, "headers", headers.iter());
        }
        Transport::Sse { url, headers } => {
            table.insert("url", value(url));
            table.insert("transport", value("sse"));
            put_pairs(&mut table, "headers", headers.iter());
        }
    }
    put_pairs(&mut table, "env", server.env.iter());
    put_list(&mut table, "inherit_env", &server.inherit_env);
    if let Some(tools) = &server.tools {
        table.insert("tools", value(list(tools)));
    }
    put_list(&mut table, "exclude", &server.exclude);
    put_list(&mut table, "approve", &server.approve);
    if let Some(description) = &server.description {
        table.insert("description", value(description));
    }
    for (key, time) in [("timeout", server.timeout), ("connect_timeout", server.connect_timeout)] {
        if let Some(time) = time {
            table.insert(key, value(time_text(time)));
        }
    }
    table
}

/// How a server is reached, on one line.
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

/// The key that says how a child process is started, its value, and the arguments that are left.
fn started<'s>(command: &'s str, args: &'s [String]) -> (&'static str, &'s str, &'s [String]) {
    match (command, args) {
        ("npx", [yes, package, rest @ ..]) if yes == "-y" && is_package(package) => ("npm", package, rest),
        ("uvx", [package, rest @ ..]) if is_package(package) => ("uvx", package, rest),
        _ => ("command", command, args),
    }
}

fn is_package(text: &str) -> bool {
    !text.starts_with('-') && !text.trim().is_empty()
}

fn list(items: &[String]) -> Array {
    items.iter().map(String::as_str).collect()
}

fn put_list(table: &mut Table, key: &str, items: &[String]) {
    if !items.is_empty() {
        table.insert(key, value(list(items)));
    }
}

fn put_pairs<'s>(table: &mut Table, key: &str, pairs: impl Iterator<Item = (&'s String, &'s String)>) {
    let pairs: InlineTable = pairs.map(|(name, text)| (name.as_str(), toml_edit::Value::from(text))).collect();
    if !pairs.is_empty() {
        table.insert(key, value(pairs));
    }
}

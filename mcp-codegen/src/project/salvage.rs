//! Finds names in the invalid files of a server.

use std::collections::HashSet;
use std::path::Path;

use mcp_bindgen_model::{Overrides, Snapshot, Types, parse_leniently};
use proc_macro2::{TokenStream, TokenTree};
use serde_json::{Value, json};

use super::Project;
use crate::bindings::Bindings;
use crate::emit::stand_in;
use crate::options::Options;
use crate::patterns::tool_names;
use crate::table::distinct;

impl Project {
    /// Returns the options of the configuration, as far as it can be read.
    pub(super) fn salvaged_options(&self, server: &str) -> Options {
        let config = self.config.as_ref().and_then(|config| config.server_with_defaults(server).ok());
        config.map_or_else(|| Options::new(server), |server| Options::for_crate(&server, &self.manifest_dir))
    }

    /// Returns the module of a faulty server, with the tool names that are known from the snapshot, its overrides and
    /// the options.
    pub(super) fn stand_in(&self, path: Option<&str>, options: &Options, fault: &TokenStream) -> TokenStream {
        let path = self.snapshot_path(&options.server.name, path);
        let text = text_of(&path);
        let mut snapshot = Snapshot::parse(&text).unwrap_or_else(|_| readable_parts(&text));
        let overrides = parse_leniently(&text_of(&Overrides::beside(&path))).map(|read| read.value).unwrap_or_default();
        for (name, overriding) in overrides.get("tools").and_then(Value::as_object).into_iter().flatten() {
            let tool = tool(&mut snapshot, name);
            if let (Some(tool), Some(schema)) = (tool, overriding.get("outputSchema")) {
                tool.insert("outputSchema".to_owned(), schema.clone());
            }
        }
        for name in options.named_tools() {
            tool(&mut snapshot, name);
        }
        let options = options.everything().types(Types::Native);
        let bindings = Bindings::generate(&snapshot, &options).0;
        let items = match bindings.into_iter().last() {
            Some(TokenTree::Group(items)) => items.stream(),
            _ => TokenStream::new(),
        };
        stand_in(&options.module_ident(), items, fault)
    }
}

fn text_of(path: &Path) -> String {
    let bytes = if path.is_file() { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the tool of this name. A missing tool is added with a result of its own.
fn tool<'s>(snapshot: &'s mut Snapshot, name: &str) -> Option<&'s mut serde_json::Map<String, Value>> {
    let place = snapshot.tools.iter().position(|tool| tool.get("name").is_some_and(|found| found == name));
    let place = place.unwrap_or_else(|| {
        snapshot.tools.push(named(name));
        snapshot.tools.len() - 1
    });
    snapshot.tools.get_mut(place)?.as_object_mut()
}

/// The limit on reads of a broken text's bytes: an entry is read once more than the text around it.
const READINGS: usize = 4;

/// Returns the tools, prompts and resource templates in a broken text that are whole, and by name the tools that may be
/// in the rest.
fn readable_parts(text: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let mut names: Vec<String> = Vec::new();
    let mut budget = text.len().saturating_mul(READINGS);
    let mut rest = text;
    while let Some(start) = rest.find(['{', '"']) {
        let (_, here) = rest.split_at(start);
        let whole = if here.starts_with('{') && budget > 0 { first_value(here, &mut budget) } else { None };
        let whole = whole.and_then(|(entry, after)| Some((list_of(&entry, &mut snapshot)?, entry, after)));
        rest = if let Some((list, entry, after)) = whole {
            list.push(entry);
            after
        } else if let Some((Value::String(name), after)) = here.strip_prefix("\"name\"").and_then(member) {
            names.push(name);
            after
        } else {
            here.get(1..).unwrap_or_default()
        };
    }
    let whole: HashSet<&str> = tool_names(&snapshot).into_iter().collect();
    let names = distinct(names);
    let rest: Vec<Value> = names.iter().filter(|name| !whole.contains(name.as_str())).map(|name| named(name)).collect();
    snapshot.tools.extend(rest);
    snapshot
}

/// Returns a tool of which nothing but the name is known.
fn named(name: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "value": {} } });
    json!({ "name": name, "inputSchema": schema, "outputSchema": schema })
}

/// Returns the list of a snapshot that an entry belongs to.
fn list_of<'s>(entry: &Value, snapshot: &'s mut Snapshot) -> Option<&'s mut Vec<Value>> {
    entry.get("name")?.as_str()?;
    if entry.get("inputSchema").is_some_and(Value::is_object) {
        Some(&mut snapshot.tools)
    } else if entry.get("uriTemplate").is_some_and(Value::is_string) {
        Some(&mut snapshot.resource_templates)
    } else if entry.get("arguments").is_some_and(Value::is_array) {
        Some(&mut snapshot.prompts)
    } else {
        None
    }
}

/// Returns the string behind a key, and what comes after it.
fn member(text: &str) -> Option<(Value, &str)> {
    let text = text.trim_start().strip_prefix(':')?.trim_start();
    let mut budget = usize::MAX;
    if text.starts_with('"') { first_value(text, &mut budget) } else { None }
}

/// Returns the value that a text begins with, and what comes after it. The bytes that were read for it are taken from
/// the budget.
fn first_value<'t>(text: &'t str, budget: &mut usize) -> Option<(Value, &'t str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let read = values.next()?;
    let bytes = match &read {
        Ok(_) => values.byte_offset(),
        Err(error) => {
            let lines = text.split_inclusive('\n').take(error.line().saturating_sub(1));
            lines.map(str::len).sum::<usize>() + error.column()
        }
    };
    *budget = budget.saturating_sub(bytes.max(1));
    Some((read.ok()?, text.get(bytes..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_parsed_in_linear_time() {
        let entry = r#"{"name": "ping", "inputSchema": {"type": "object"}}"#;
        let hostile = [
            "{\"a\":[".repeat(20_000),
            format!("{}{}", "{\"a\":[".repeat(120), "1,".repeat(50_000)),
            "\"name\":".repeat(20_000),
        ];
        for text in hostile {
            let tools = readable_parts(&format!("[{entry},{text}")).tools;
            assert!(tools[0]["name"] == "ping" && tools.len() < 3, "{text:.40}");
        }
    }
}

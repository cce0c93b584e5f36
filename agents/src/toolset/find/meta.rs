//! The two tools themselves.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use mcp_bindgen_model::{nearest, printable};
use serde_json::{Map, Value, json};

use super::super::entry::{Function, Running, TOOLS};
use super::super::{Entry, Functions, Handler, Toolset};
use super::rank::Index;
use crate::json::bytes;
use crate::provider::Arguments;
use crate::text;
use mcp_bindgen_schema::visible_texts;

const MOST_FOUND: usize = 5;
/// The limit on the parameters in one search result, in bytes of JSON.
const MOST_PARAMETERS: usize = 50_000;
/// The limit on the parameters of the best match, in bytes of JSON.
const LARGEST_PARAMETERS: usize = 200_000;
const LONGEST_QUERY: usize = 1000;
const MOST_SERVERS: usize = 20;

/// Returns a name that no tool of the set has.
pub(in super::super) fn free_name(all: &Toolset, name: &str) -> String {
    let mut free = name.to_owned();
    while all.entry(&free).is_some() {
        free.push('_');
    }
    free
}

pub(super) fn find_tools(all: &Toolset, index: &Arc<Index>, finder: &str, caller: &str) -> Entry {
    let description = format!(
        "Finds tools by their purpose; call the found tool with {caller}. There are {} tools, of {}.",
        all.entries().len(),
        servers(all)
    );
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["query"],
        "properties": {"query": {"type": "string", "description": "A few words that describe the task, or a tool name."}},
    });
    let (all, index) = (all.clone(), index.clone());
    let find = move |_, arguments: Map<String, Value>| -> Running {
        let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default();
        let end = query.char_indices().nth(LONGEST_QUERY).map_or(query.len(), |(end, _)| end);
        let found = found(&all, &index, query.get(..end).unwrap_or_default());
        Box::pin(ready(Ok(found.into())))
    };
    reading(finder, &description, schema, Arc::new(find))
}

/// Returns a tool of the toolset itself that changes nothing.
pub(in super::super) fn reading(name: &str, description: &str, schema: Value, function: Function) -> Entry {
    let handler = Handler::Function(Functions::alone(TOOLS, name, function));
    let mut entry = meta(name, description, schema, handler);
    entry.annotations.read_only = Some(true);
    entry
}

pub(super) fn call_tool(all: &Toolset, finder: &str, caller: &str) -> Entry {
    let description = format!("Calls a tool found by {finder}, by its name, with arguments that match its parameters.");
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["name", "arguments"],
        "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
    });
    meta(caller, &description, schema, Handler::Caller(all.clone()))
}

fn meta(name: &str, description: &str, schema: Value, handler: Handler) -> Entry {
    let entry = Entry::new(TOOLS, name, schema, handler);
    Entry { public: name.to_owned(), description: Some(description.into()), ..entry }
}

/// Returns the servers with how many tools each has, by name.
fn servers(all: &Toolset) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in all.entries() {
        *counts.entry(&entry.server).or_default() += 1;
    }
    let shown = counts.iter().take(MOST_SERVERS).map(|(server, count)| format!("{} ({count})", text::label(server)));
    let mut shown: Vec<String> = shown.collect();
    if counts.len() > MOST_SERVERS {
        shown.push(format!("{} more servers", counts.len() - MOST_SERVERS));
    }
    shown.join(", ")
}

/// Returns the tools that fit a query, with their parameters.
fn found(all: &Toolset, index: &Index, query: &str) -> Value {
    let entries = all.entries();
    let mut best = index.best(query, MOST_FOUND);
    // An exact name comes first.
    let named = entries.iter().position(|entry| [entry.public.as_str(), &entry.tool].contains(&query.trim()));
    if let Some(named) = named {
        best.retain(|place| *place != named);
        best.insert(0, named);
        best.truncate(MOST_FOUND);
    }
    if best.is_empty() {
        let near = nearest(query, all.names());
        return json!({
            "tools": [], "nearest_names": near,
            "note": format!("no match; try other words. There are tools of {}", servers(all)),
        });
    }
    let mut room = MOST_PARAMETERS;
    let found = best.iter().filter_map(|place| entries.get(*place)).enumerate();
    let described = found.map(|(rank, entry)| {
        let size = bytes(&*entry.input_schema);
        // The first match is the likeliest target, so it has the larger limit.
        let most = if rank == 0 { LARGEST_PARAMETERS } else { room };
        let parameters = if size <= most {
            room = room.saturating_sub(size);
            let mut parameters = Value::clone(&entry.input_schema);
            visible_texts(&mut parameters);
            parameters
        } else if size > LARGEST_PARAMETERS {
            format!("omitted, {size} bytes: over the limit").into()
        } else {
            format!("omitted, {size} bytes: search for `{}` to see them", entry.public).into()
        };
        json!({"name": entry.public, "description": entry.sentence(), "parameters": parameters})
    });
    json!({"tools": described.collect::<Vec<_>>()})
}

/// A call through the second tool.
pub(in super::super) struct Asked {
    pub(in super::super) name: String,
    pub(in super::super) arguments: Arguments,
}

/// Reads a call. The arguments within may be text as well, since some models send them so.
///
/// # Errors
/// Fails with a message for the model if it names no tool.
pub(in super::super) fn asked(arguments: Arguments) -> Result<Asked, String> {
    let mut fields = arguments.object().map_err(|error| error.to_string())?;
    let arguments = fields.remove("arguments").map_or_else(|| "".into(), Arguments::from);
    match fields.remove("name") {
        Some(Value::String(name)) => match fields.keys().next() {
            None => Ok(Asked { name, arguments }),
            Some(stray) => {
                let stray: String = printable(stray).chars().take(100).collect();
                Err(format!("only `name` and `arguments` are accepted; move `{stray}` into `arguments`"))
            }
        },
        Some(_) => Err("expected a string at `/name`".to_owned()),
        None => Err("`name` is required: the name of the tool to call".to_owned()),
    }
}

//! Tools as a configuration shows them: with another name, other texts, and without some of their arguments.

mod narrow;
#[cfg(test)]
mod tests;
mod values;

use mcp_bindgen_model::{FileError, ServerConfig, Snapshot, View, Viewed, nearest, pointer_segment, printable};
use serde_json::{Map, Value};

use self::narrow::Narrowing;
pub use self::narrow::declared_arguments;
pub use self::values::type_in_words;

/// Applies the views of a server's configuration to a snapshot. The tools keep their names.
///
/// ```
/// use mcp_bindgen_model::{ServerConfig, Snapshot, View};
///
/// let snapshot = Snapshot::parse(r#"{ "tools": [{ "name": "count", "inputSchema": {
///     "type": "object", "properties": { "of": { "type": "string" } }, "required": ["of"] } }] }"#)?;
/// let mut view = View::new();
/// view.fixed.insert("of".to_owned(), "issues".into());
/// let server = ServerConfig::stdio("github", "github-mcp").view("count", view);
/// let seen = mcp_bindgen_schema::apply_views(&snapshot, &server).expect("the view fits");
/// assert_eq!(seen.tools[0]["inputSchema"], serde_json::json!({ "type": "object", "properties": {} }));
/// # Ok::<(), mcp_bindgen_model::FileError>(())
/// ```
///
/// # Errors
/// Returns everything in the views that does not fit the snapshot, each with its position in the configuration.
pub fn apply_views(snapshot: &Snapshot, server: &ServerConfig) -> Result<Snapshot, Vec<FileError>> {
    let mut seen = snapshot.clone();
    let mut faults = Vec::new();
    for (name, view) in server.views.iter() {
        let mut found: Vec<&mut Value> = Vec::new();
        for tool in &mut seen.tools {
            if tool.get("name").and_then(Value::as_str) == Some(name) {
                found.push(tool);
            }
        }
        let error = |message: String| view.error("", message);
        let shown = printable(name);
        match found.as_mut_slice() {
            [_] if !server.selects(name) => {
                let key = if server.excludes(name) { "exclude" } else { "tools" };
                let message = format!("the view of tool `{shown}` has no effect: `{key}` leaves the tool out");
                faults.push(error(message).with_help(format!("remove the view, or change `{key}`")));
            }
            [tool] => match viewed_tool(tool, view) {
                Ok(changed) => {
                    let before = std::mem::replace(*tool, changed);
                    seen.viewed.insert(name.clone(), Viewed::new(view.clone(), before));
                }
                Err(more) => faults.extend(more),
            },
            [_, ..] => {
                let message = format!("the server has several tools named `{shown}`, so a view is ambiguous");
                faults.push(error(message).with_help("remove it"));
            }
            [] => {
                let known: Vec<&str> = snapshot.tools.iter().filter_map(|tool| tool.get("name")?.as_str()).collect();
                let help = near_or(name, &known, "remove it; `mcp-bindgen list` shows the tools of a snapshot");
                faults.push(error(format!("unknown tool `{shown}` in the views")).with_help(help));
            }
        }
    }
    if faults.is_empty() { Ok(seen) } else { Err(faults) }
}

/// Returns a tool, in the form of a server's list, as a view shows it. It keeps its name.
///
/// # Errors
/// Returns everything in the view that does not fit the tool.
pub fn viewed_tool(tool: &Value, view: &View) -> Result<Value, Vec<FileError>> {
    let mut seen = tool.clone();
    let mut faults = Vec::new();
    let Value::Object(members) = &mut seen else { return Ok(seen) };
    let name = printable(members.get("name").and_then(Value::as_str).unwrap_or_default());
    for (key, text) in [("title", &view.title), ("description", &view.description)] {
        if let Some(text) = text {
            members.insert(key.to_owned(), text.as_str().into());
        }
    }
    if !view.hints.is_empty()
        && let Value::Object(hints) = members.entry("annotations").or_insert_with(|| Map::new().into())
    {
        hints.extend(view.hints.iter().map(|hint| (hint.wire().to_owned(), hint.strict().into())));
    }
    if let Some(Value::Object(schema)) = members.get_mut("inputSchema") {
        arguments(&name, schema, view, &mut faults);
    } else if let Some(argument) = view.hidden_arguments().chain(view.default.keys().map(String::as_str)).next() {
        let message = format!("tool `{name}` has no argument `{}`: it has no `inputSchema`", printable(argument));
        faults.push(view.error(&key_of(view, argument), message).with_help("remove it"));
    }
    if faults.is_empty() { Ok(seen) } else { Err(faults) }
}

/// Suggests the nearest of some names, or else other help.
fn near_or(name: &str, known: &[&str], help: &str) -> String {
    let near = nearest(name, known.iter().copied());
    near.first().map_or_else(|| help.to_owned(), |near| format!("did you mean `{}`?", printable(near)))
}

/// Returns the place of an argument in a view.
fn key_of(view: &View, argument: &str) -> String {
    let table = if view.fixed.contains_key(argument) {
        "fixed"
    } else if view.hides(argument) {
        "hide"
    } else {
        "default"
    };
    format!("{table}/{argument}")
}

fn arguments(tool: &str, schema: &mut Map<String, Value>, view: &View, faults: &mut Vec<FileError>) {
    let known = declared_arguments(schema);
    let named = view.fixed.keys().chain(&view.hide).chain(view.default.keys().filter(|key| !view.hides(key)));
    for argument in named {
        let shown = printable(argument);
        let key = key_of(view, argument);
        if !known.contains(argument) {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = near_or(argument, &names, "`mcp-bindgen list` shows the arguments of each tool");
            faults.push(view.error(&key, format!("tool `{tool}` has no argument `{shown}`")).with_help(help));
            continue;
        }
        let whole = schema.clone();
        let sent = view.fixed_value(argument);
        let default = view.default.get(argument).filter(|_| sent.is_none());
        let narrowing = Narrowing { whole: &whole, argument, sent: sent.or(default) };
        let mut outcome = narrowing.take_out_of(schema, 0);
        if outcome.is_ok() && default.is_some() {
            schema.clone_from(&whole);
            outcome = narrowing.relax(schema, 0);
        }
        match (outcome, default) {
            (Ok(()), None) => keep_referred(schema, &whole, argument),
            (Ok(()), Some(default)) => {
                let property = schema.get_mut("properties").and_then(|properties| properties.get_mut(argument));
                if let Some(Value::Object(property)) = property {
                    property.insert("default".to_owned(), default.clone());
                }
            }
            (Err(why), _) => {
                schema.clone_from(&whole);
                let (key, message, help) = if narrowing.sent.is_some() {
                    // The value is wrong, and not that the argument is hidden.
                    let key = if view.hides(argument) { format!("default/{argument}") } else { key };
                    let message = format!("invalid value of argument `{shown}` of tool `{tool}`: {why}");
                    (key, message, "change the value")
                } else {
                    let message = format!("argument `{shown}` of tool `{tool}` cannot be hidden: {why}");
                    (key, message, "set a value for it in `default`")
                };
                faults.push(view.error(&key, message).with_help(help));
            }
        }
    }
}

/// Keeps the schema of a removed argument as a definition, if another schema refers to it or a part of it.
fn keep_referred(schema: &mut Map<String, Value>, whole: &Map<String, Value>, argument: &str) {
    let pointer = format!("#/properties/{}", pointer_segment(argument));
    let Some(declared) = whole.get("properties").and_then(|properties| properties.get(argument)) else { return };
    let mut name = argument.to_owned();
    while schema.get("$defs").is_some_and(|definitions| definitions.get(&name).is_some()) {
        name.push('_');
    }
    let definition = format!("#/$defs/{}", pointer_segment(&name));
    let mut declared = declared.clone();
    let before = schema.clone();
    schema.values_mut().for_each(|value| redirect(value, &pointer, &definition));
    if *schema != before {
        redirect(&mut declared, &pointer, &definition);
        if let Value::Object(definitions) = schema.entry("$defs").or_insert_with(|| Map::new().into()) {
            definitions.insert(name, declared);
        }
    }
}

/// Changes references to a place, or to places below it.
fn redirect(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, from, to)),
        Value::Object(members) => {
            for (key, value) in members {
                let target = value.as_str().filter(|_| key == "$ref").and_then(|target| target.strip_prefix(from));
                match target.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                    Some(rest) => *value = format!("{to}{rest}").into(),
                    None => redirect(value, from, to),
                }
            }
        }
        _ => {}
    }
}

//! The translation of a whole tool list, before tokens: every tool's shapes and names.

mod schema_plan;
mod tool_names;

use std::collections::HashMap;
use std::sync::LazyLock;

use mcp_model::{Prefix, Snapshot, canonical_json};
use mcp_schema::Role;
use mcp_schema::diagnostics::{
    DUPLICATE_TOOL, Diagnostics, MALFORMED_INPUT, MALFORMED_OUTPUT, MALFORMED_TOOL, RENAMED, Reporter,
};
use serde_json::{Map, Value};

pub(crate) use schema_plan::SchemaPlan;
pub(crate) use tool_names::ToolNames;

use crate::markdown::sanitized;
use crate::names::{Style, Wanted, type_names};
use crate::options::Options;

/// A tool list, translated.
#[derive(Debug)]
pub(crate) struct Plan<'s> {
    pub(crate) server: String,
    pub(crate) module: String,
    /// `Github`
    pub(crate) client_type: String,
    /// `GithubCall`
    pub(crate) call_type: String,
    pub(crate) tools: Vec<ToolPlan<'s>>,
    pub(crate) diagnostics: Diagnostics,
}

/// A tool, translated.
#[derive(Debug)]
pub(crate) struct ToolPlan<'s> {
    /// The place in the snapshot's list.
    pub(crate) index: usize,
    /// Later places that hold the same tool again.
    pub(crate) repeats: Vec<usize>,
    pub(crate) wire: &'s str,
    pub(crate) names: ToolNames,
    pub(crate) title: Option<&'s str>,
    pub(crate) description: Option<&'s str>,
    /// The description as lines of documentation.
    pub(crate) said: Vec<String>,
    pub(crate) annotations: Option<&'s Map<String, Value>>,
    pub(crate) input_schema: &'s Value,
    pub(crate) output_schema: Option<&'s Value>,
    pub(crate) input: SchemaPlan<'s>,
    pub(crate) output: Option<SchemaPlan<'s>>,
}

/// Names that generated code takes from the library, and that no generated type may have.
const PRELUDE: &[&str] = &[
    "BTreeMap",
    "Box",
    "CallError",
    "CallTool",
    "Client",
    "Clone",
    "ConnectError",
    "Copy",
    "Debug",
    "Default",
    "Eq",
    "Err",
    "From",
    "Hash",
    "Input",
    "Into",
    "Map",
    "Mismatch",
    "None",
    "Nullable",
    "ObjectReader",
    "ObjectWriter",
    "Ok",
    "Option",
    "PartialEq",
    "Pick",
    "Result",
    "Self",
    "Send",
    "ServerSpec",
    "Some",
    "String",
    "ToOwned",
    "Tool",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Value",
    "Vec",
    "Wire",
    "Borrow",
];

static FREE_FORM: LazyLock<Value> =
    LazyLock::new(|| Value::Object(Map::from_iter([("type".to_owned(), "object".into())])));

impl<'s> Plan<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, options: &Options) -> Self {
        let mut diagnostics = Diagnostics::default();
        let entries = Entry::collect(snapshot, options, &mut diagnostics);
        let module = Style::Snake.apply(options.module.as_deref().unwrap_or(&options.server));
        let prefix = match &options.prefix {
            Prefix::ServerName => Some(Style::Snake.apply(&options.server)),
            Prefix::Named(prefix) => Some(Style::Snake.apply(prefix)),
            Prefix::None => None,
        };
        let mut client_type = Style::Pascal.apply(prefix.as_deref().unwrap_or(&options.server));
        if PRELUDE.contains(&client_type.as_str()) {
            client_type.push_str("Server");
        }
        let call_type = format!("{client_type}Call");
        let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
        let names = ToolNames::all(&keys, prefix.as_deref());
        let mut tools: Vec<ToolPlan<'s>> =
            entries.iter().zip(names).map(|(entry, names)| ToolPlan::new(entry, names, &mut diagnostics)).collect();
        name_types(&mut tools, &[&client_type, &call_type], &mut diagnostics);
        Self { server: options.server.clone(), module, client_type, call_type, tools, diagnostics }
    }
}

/// An entry of the tool list that is a tool.
struct Entry<'s> {
    index: usize,
    repeats: Vec<usize>,
    wire: &'s str,
    /// The wire name; with more where another tool has the same name and is not the same.
    key: String,
    tool: &'s Map<String, Value>,
}

impl<'s> Entry<'s> {
    fn collect(snapshot: &'s Snapshot, options: &Options, diagnostics: &mut Diagnostics) -> Vec<Self> {
        let mut entries: Vec<Self> = Vec::new();
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, tool) in snapshot.tools.iter().enumerate() {
            let named = tool.as_object().and_then(|map| Some((map, map.get("name")?.as_str()?)));
            let Some((map, wire)) = named else {
                let mut reporter = Reporter::new(&format!("#{index}"), index, "");
                reporter.say(
                    MALFORMED_TOOL,
                    "",
                    if tool.is_object() { "it has no name" } else { "it is not an object" },
                );
                diagnostics.append(reporter.finish());
                continue;
            };
            if !options.selects(wire) {
                continue;
            }
            let twins = by_name.entry(wire).or_default();
            let same = twins.iter().find(|twin| entries.get(**twin).is_some_and(|entry| entry.tool == map)).copied();
            if !twins.is_empty() {
                let mut reporter = Reporter::new(wire, index, "");
                reporter.say(DUPLICATE_TOOL, "/name", "");
                diagnostics.append(reporter.finish());
            }
            match same.and_then(|twin| entries.get_mut(twin)) {
                Some(entry) => entry.repeats.push(index),
                None => {
                    twins.push(entries.len());
                    entries.push(Self { index, repeats: Vec::new(), wire, key: wire.to_owned(), tool: map });
                }
            }
        }
        for twins in by_name.values().filter(|twins| twins.len() > 1) {
            let text = |entry: &Self| canonical_json(&Value::Object(entry.tool.clone()));
            let keeper = twins.iter().filter_map(|twin| entries.get(*twin)).map(text).min();
            for twin in twins {
                if let Some(entry) = entries.get_mut(*twin) {
                    let text = text(entry);
                    if Some(&text) != keeper.as_ref() {
                        entry.key = format!("{} {}", entry.wire, crate::names::fingerprint(&text));
                    }
                }
            }
        }
        entries
    }
}

impl<'s> ToolPlan<'s> {
    fn new(entry: &Entry<'s>, names: ToolNames, diagnostics: &mut Diagnostics) -> Self {
        let tool = entry.tool;
        let text = |key: &str| tool.get(key).and_then(Value::as_str);
        let annotations = tool.get("annotations").and_then(Value::as_object);
        let input_schema = tool.get("inputSchema").filter(|schema| schema.is_object());
        let output_schema = tool.get("outputSchema").filter(|schema| !schema.is_null());
        let mut reporter = Reporter::new(entry.wire, entry.index, "/inputSchema");
        if input_schema.is_none() {
            reporter.say(MALFORMED_INPUT, "", if tool.contains_key("inputSchema") { "" } else { "it is missing" });
        }
        let input_schema = input_schema.unwrap_or(&FREE_FORM);
        let input = SchemaPlan::new(input_schema, Role::Input, &mut reporter);
        diagnostics.append(reporter.finish());
        let mut reporter = Reporter::new(entry.wire, entry.index, "/outputSchema");
        if output_schema.is_some_and(|schema| !schema.is_object()) {
            reporter.say(MALFORMED_OUTPUT, "", "");
        }
        let output_schema = output_schema.filter(|schema| schema.is_object());
        let output = output_schema.map(|schema| SchemaPlan::new(schema, Role::Output, &mut reporter));
        diagnostics.append(reporter.finish());
        if names.renamed {
            let mut reporter = Reporter::new(entry.wire, entry.index, "");
            reporter.say(RENAMED, "/name", format!("bound as `{}`", names.method));
            diagnostics.append(reporter.finish());
        }
        Self {
            index: entry.index,
            repeats: entry.repeats.clone(),
            wire: entry.wire,
            names,
            title: text("title").or_else(|| annotations.and_then(|map| map.get("title")?.as_str())),
            description: text("description"),
            said: text("description").map(sanitized).unwrap_or_default(),
            annotations,
            input_schema,
            output_schema,
            input,
            output,
        }
    }

    fn schemas_mut(&mut self) -> impl Iterator<Item = (&'static str, String, &mut SchemaPlan<'s>)> {
        let params = ("input", self.names.params.clone(), &mut self.input);
        let output = self.output.as_mut().map(|schema| ("output", self.names.output.clone(), schema));
        std::iter::once(params).chain(output)
    }
}

/// Names every type of every tool, in one scope.
fn name_types(tools: &mut [ToolPlan<'_>], own: &[&str], diagnostics: &mut Diagnostics) {
    let mut wanted: Vec<Wanted> = Vec::new();
    for tool in &mut *tools {
        let key = tool.names.method.clone();
        for (role, root, schema) in tool.schemas_mut() {
            wanted.extend(schema.wanted_names(&root).into_iter().map(|(shape, name, is_root)| Wanted {
                identity: format!("{key} {role} {name} {shape:?}"),
                name,
                is_root,
            }));
        }
    }
    let reserved: Vec<&str> = PRELUDE.iter().chain(own).copied().collect();
    let mut names = type_names(&wanted, &reserved).into_iter().zip(&wanted);
    for tool in tools {
        let (wire, index) = (tool.wire, tool.index);
        let mut roots = Vec::new();
        for (_, root, schema) in tool.schemas_mut() {
            let named = schema.wanted_names(&root);
            for (shape, _, is_root) in named {
                let Some((name, want)) = names.next() else { continue };
                if name != want.name {
                    let mut reporter = Reporter::new(wire, index, "");
                    reporter.say(RENAMED, "", format!("the type `{}` is named `{name}`", want.name));
                    diagnostics.append(reporter.finish());
                }
                if is_root {
                    roots.push(name.clone());
                }
                schema.type_names.insert(shape, name);
            }
        }
        let mut roots = roots.into_iter();
        tool.names.params = roots.next().unwrap_or_default();
        tool.names.output = roots.next().unwrap_or_default();
    }
}

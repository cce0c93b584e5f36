//! The part of a plan that depends on one tool only. It takes most of the time, and runs on several threads.

use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::diagnostics::{Diagnostics, MALFORMED_INPUT, MALFORMED_OUTPUT, RENAMED, Reporter};
use serde_json::{Map, Value};

use super::declared::{FREE_FORM, input_schema, output_schema};
use super::schema_plan::ReadSchema;
use super::{Entry, ToolIdents};
use crate::markdown::{first_sentence, is_in_name, sanitized};

/// A tool, read.
#[derive(Debug)]
pub(super) struct ReadTool<'s> {
    pub(super) said: Vec<String>,
    pub(super) summary: Option<String>,
    pub(super) input_schema: &'s Value,
    pub(super) output_schema: Option<&'s Value>,
    pub(super) input: ReadSchema<'s>,
    pub(super) output: Option<ReadSchema<'s>>,
}

impl<'s> ReadTool<'s> {
    /// Reads a tool, around the definitions at these pointers, and what there is to say of it.
    pub(super) fn new(
        entry: &Entry<'s>,
        idents: &ToolIdents,
        definitions: &[&str],
        checked: bool,
    ) -> (Self, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let tool = entry.tool;
        let input_schema = input_schema(tool);
        let mut reporter = Reporter::new(entry.wire, entry.index, "/inputSchema");
        if input_schema.is_none() {
            reporter.say(MALFORMED_INPUT, "", if tool.contains_key("inputSchema") { "" } else { "it is missing" });
        }
        let input_schema = input_schema.unwrap_or(&FREE_FORM);
        let input = ReadSchema::new(input_schema, Role::Input, &idents.params, definitions, checked, &mut reporter);
        diagnostics.extend(reporter.finish());
        let mut reporter = Reporter::new(entry.wire, entry.index, "/outputSchema");
        let output_schema = output_schema(tool);
        if output_schema.is_none() && tool.get("outputSchema").is_some_and(|schema| !schema.is_null()) {
            reporter.say(MALFORMED_OUTPUT, "", "");
        }
        let output = output_schema
            .map(|schema| ReadSchema::new(schema, Role::Output, &idents.output, definitions, false, &mut reporter));
        diagnostics.extend(reporter.finish());
        if idents.renamed {
            let mut reporter = Reporter::new(entry.wire, entry.index, "");
            reporter.say(RENAMED, "/name", format!("bound as `{}`", idents.method));
            diagnostics.extend(reporter.finish());
        }
        let says_more = |text: &&str| !is_in_name(text, entry.wire);
        let description = tool.get("description").and_then(Value::as_str);
        let read = Self {
            summary: [description, title(tool)].into_iter().flatten().filter(says_more).find_map(first_sentence),
            said: description.map(sanitized).unwrap_or_default(),
            input_schema,
            output_schema,
            input,
            output,
        };
        (read, diagnostics)
    }
}

/// Returns the title of the tool for people.
pub(super) fn title(tool: &Map<String, Value>) -> Option<&str> {
    let annotations = tool.get("annotations").and_then(Value::as_object);
    let title = tool.get("title").and_then(Value::as_str);
    title.or_else(|| annotations.and_then(|map| map.get("title")?.as_str()))
}

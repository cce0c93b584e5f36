//! A tool, translated. Reading its schemas takes most of the time, and runs on several threads.

use std::sync::LazyLock;

use mcp_bindgen_model::{Overridden, Snapshot, Viewed};
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::diagnostics::{Diagnostics, MALFORMED_INPUT, MALFORMED_OUTPUT, RENAMED, Reporter};
use serde_json::{Map, Value};

use super::{Entry, SchemaPlan, ToolIdents, report};
use crate::markdown::{first_sentence, is_in_name, sanitized};

/// A tool, translated.
#[derive(Debug)]
pub(crate) struct ToolPlan<'s> {
    /// The place in the snapshot's list.
    pub(crate) index: usize,
    /// Later places that hold the same tool again.
    #[cfg_attr(not(feature = "format"), allow(dead_code))]
    pub(crate) repeats: Vec<usize>,
    pub(crate) wire: &'s str,
    /// The unique key of the tool: its wire name, with a suffix if another tool has the same.
    pub(super) key: String,
    pub(crate) idents: ToolIdents,
    pub(crate) title: Option<&'s str>,
    pub(crate) description: Option<&'s str>,
    /// The description as lines of documentation.
    pub(crate) said: Vec<String>,
    /// The purpose of the tool, in a sentence of the description, or as a title that is not its name again.
    pub(crate) summary: Option<String>,
    pub(crate) annotations: Option<&'s Map<String, Value>>,
    pub(crate) input_schema: &'s Value,
    pub(crate) output_schema: Option<&'s Value>,
    pub(crate) input: SchemaPlan<'s>,
    pub(crate) output: Option<SchemaPlan<'s>>,
    /// The server's own schemas, if overrides changed them.
    pub(crate) declared: Declared<'s>,
}

impl<'s> ToolPlan<'s> {
    /// Reads a tool, around the definitions at these pointers.
    pub(super) fn new(
        snapshot: &'s Snapshot,
        entry: &Entry<'s>,
        idents: &ToolIdents,
        definitions: &[&str],
        checked: bool,
    ) -> (Self, Diagnostics) {
        let mut diagnostics = Diagnostics::default();
        let (tool, wire) = (entry.tool, entry.wire);
        let declared_input = input_schema(tool);
        let mut reporter = Reporter::new(wire, entry.index, "/inputSchema");
        if declared_input.is_none() {
            reporter.say(MALFORMED_INPUT, "", if tool.contains_key("inputSchema") { "" } else { "it is missing" });
        }
        let input_schema = declared_input.unwrap_or(&FREE_FORM);
        let input = SchemaPlan::new(input_schema, Role::Input, &idents.params, definitions, checked, &mut reporter);
        diagnostics.extend(reporter.finish());
        let mut reporter = Reporter::new(wire, entry.index, "/outputSchema");
        let output_schema = output_schema(tool);
        if output_schema.is_none() && tool.get("outputSchema").is_some_and(|schema| !schema.is_null()) {
            reporter.say(MALFORMED_OUTPUT, "", "");
        }
        let output = output_schema
            .map(|schema| SchemaPlan::new(schema, Role::Output, &idents.output, definitions, false, &mut reporter));
        diagnostics.extend(reporter.finish());
        if idents.renamed {
            let fault = format!("bound as `{}`", idents.method);
            report(Reporter::new(wire, entry.index, ""), RENAMED, "/name", &fault, &mut diagnostics);
        }
        let says_more = |text: &&str| !is_in_name(text, wire);
        let annotations = tool.get("annotations").and_then(Value::as_object);
        let title = tool.get("title").and_then(Value::as_str);
        let title = title.or_else(|| annotations.and_then(|map| map.get("title")?.as_str()));
        let description = tool.get("description").and_then(Value::as_str);
        let plan = Self {
            index: entry.index,
            repeats: entry.repeats.clone(),
            wire,
            key: entry.key.clone(),
            idents: idents.clone(),
            title,
            description,
            said: description.map(sanitized).unwrap_or_default(),
            summary: [description, title].into_iter().flatten().filter(says_more).find_map(first_sentence),
            annotations,
            input_schema,
            output_schema,
            input,
            output,
            declared: Declared::of(tool, snapshot.overridden.get(wire), snapshot.viewed.get(wire)),
        };
        (plan, diagnostics)
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &SchemaPlan<'s>> {
        std::iter::once(&self.input).chain(&self.output)
    }

    pub(super) fn schemas_mut(&mut self) -> impl Iterator<Item = &mut SchemaPlan<'s>> {
        std::iter::once(&mut self.input).chain(&mut self.output)
    }

    /// Returns the plan of one of its schemas.
    pub(crate) fn schema(&self, role: Role) -> Option<&SchemaPlan<'s>> {
        match role {
            Role::Input => Some(&self.input),
            Role::Output => self.output.as_ref(),
        }
    }
}

/// The replacement for a malformed `inputSchema`.
static FREE_FORM: LazyLock<Value> =
    LazyLock::new(|| Value::Object(Map::from_iter([("type".to_owned(), "object".into())])));

/// The parts that a server declares otherwise than the bindings have them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared<'s> {
    /// The server's `inputSchema`, if the bindings have another.
    pub(crate) input: Option<&'s Value>,
    /// The server's `outputSchema`, or its absence, if the bindings have another.
    pub(crate) output: Option<Option<&'s Value>>,
    /// From how many results the `outputSchema` was learned.
    pub(crate) learned_from: Option<u64>,
    /// The view of the tool, and the tool without it.
    pub(crate) viewed: Option<&'s Viewed>,
}

impl<'s> Declared<'s> {
    fn of(tool: &'s Map<String, Value>, overridden: Option<&'s Overridden>, viewed: Option<&'s Viewed>) -> Self {
        let tool = viewed.and_then(|viewed| viewed.before.as_object()).unwrap_or(tool);
        let Some((overridden, declared)) = overridden.and_then(|known| Some((known, known.declared.as_object()?)))
        else {
            return Self { viewed, ..Self::default() };
        };
        let input = input_schema(declared).unwrap_or(&FREE_FORM);
        let output = output_schema(declared);
        Self {
            input: Some(input).filter(|input| input_schema(tool) != Some(input)),
            output: Some(output).filter(|output| output_schema(tool) != *output),
            learned_from: overridden.learned_from,
            viewed,
        }
    }

    /// Returns the server's `inputSchema`, if an override or a view replaced it.
    pub(crate) fn input_schema(&self) -> Option<&'s Value> {
        self.input.or_else(|| {
            self.viewed.map(|viewed| viewed.before.as_object().and_then(input_schema).unwrap_or(&FREE_FORM))
        })
    }
}

fn input_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("inputSchema").filter(|schema| schema.is_object())
}

fn output_schema(tool: &Map<String, Value>) -> Option<&Value> {
    tool.get("outputSchema").filter(|schema| schema.is_object())
}

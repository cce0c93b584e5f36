//! The tools of servers, for people who decide whether a program may use them: one value for all formats.

mod html;
mod json;
mod markdown;
mod sample;
mod table;
mod words;

use mcp_bindgen_codegen::{
    Diagnostic, Listed, OfferBinding, OverrideBinding, PlannedBindings, ToolBinding, ToolSchemas,
};
use mcp_bindgen_model::{Hint, PolicyEffect, PolicyRule, ServerConfig, Viewed, matches_globs, side_by_side};
use mcp_bindgen_schema::drift::Change;
use serde_json::Value;

pub(crate) use html::page;
pub(crate) use json::entries as to_json;
pub(crate) use markdown::document;
pub(crate) use table::lines;

use crate::args::Format;
use crate::diagnostics;
use crate::flags::name_of;
use crate::report::{Since, counted};
use crate::source::Bound;
use crate::text::sentence;

/// The number of tools from which describing takes longer than starting a thread.
const WORTH_A_THREAD: usize = 64;
/// The demand of `approve` in the configuration.
const NEEDS_APPROVAL: &str = "needs approval";

/// The description of one server.
pub(crate) struct Server {
    name: String,
    /// Its own name for itself, with its version.
    calls_itself: Option<String>,
    protocol: Option<String>,
    instructions: Option<String>,
    /// The bound tools, and then the prompts and resource templates.
    items: Vec<Item>,
    /// The tools that the configuration leaves out, each with the key that does so.
    left_out: Vec<(String, &'static str)>,
    /// All changes since another commit, those of tools too.
    since: Option<Since>,
}

/// The description of a tool, a prompt or a resource template.
#[derive(Default)]
struct Item {
    /// The list of an item that is not a tool.
    offer: Option<Listed>,
    /// The name on the server.
    name: String,
    title: Option<String>,
    description: Option<String>,
    parameters: Vec<Parameter>,
    /// The demands of the configuration on calls: approval, and the rules of `[[policy]]` that restrict them.
    demands: Vec<String>,
    /// The server's claims in annotations, which are untrusted: `says read-only`.
    claims: Vec<String>,
    /// The parts that overrides changed: `parameters and result by override, learned from 12 results`.
    overridden: Option<String>,
    /// The view of a tool with the server's own texts, or the URI template of a resource template.
    notes: Vec<String>,
    /// A description of the structured result, if the server declares it.
    answers: Option<String>,
    diagnostics: Vec<String>,
    /// The changes since another commit.
    changes: Vec<Change>,
    /// The prefixed name of a tool.
    prefixed: Option<String>,
    /// `gh::gh_create_issue(GhCreateIssueParams) -> GhCreateIssueOutput`.
    signature: String,
    /// The types inside the parameters and the result of a tool.
    inner_types: Vec<(&'static str, Vec<String>)>,
    /// The call of a tool from a command line.
    example: String,
    /// The schemas of a tool with their titles, if its Rust is shown.
    schemas: Vec<(&'static str, Value)>,
    /// The types and the handler of a tool, for HTML.
    source: Option<String>,
    /// The entry for machines, if they read the inventory.
    json: Value,
}

/// A parameter of a tool, a prompt or a resource template.
struct Parameter {
    name: String,
    /// A description of its values.
    kind: String,
    required: bool,
    description: Option<String>,
}

impl Server {
    /// Creates the inventory of a server, only from its arguments, with the parts that the format shows.
    pub(crate) fn new(bound: &Bound, planned: &PlannedBindings<'_>, since: Option<Since>, format: Format) -> Self {
        let Bound { snapshot, options, .. } = bound;
        let reader = Reader {
            bound,
            since: since.as_ref(),
            policies: bound.server.as_ref().map(restrictions).unwrap_or_default(),
            is_json: format == Format::Json,
        };
        let bindings = planned.tools();
        let schemas: Vec<_> = bindings.iter().zip(planned.schemas()).collect();
        let described = side_by_side(&schemas, WORTH_A_THREAD, |(binding, ToolSchemas { input, output, .. })| Item {
            parameters: words::of_tool(input),
            answers: output.map(words::of_result),
            example: sample::command(&binding.server, &binding.tool, input),
            ..Item::default()
        });
        let sources = if format == Format::Html { planned.tool_sources() } else { Vec::new() };
        let mut sources = sources.into_iter().map(|(_, source)| source);
        let tools = bindings.iter().zip(described);
        let mut items: Vec<Item> = tools.map(|(binding, item)| reader.tool(binding, item, sources.next())).collect();
        items.extend(planned.offers().iter().map(|binding| reader.offer(binding)));
        let info = |key| text(snapshot.server_info.as_ref()?, key);
        let version = info("version").map(|version| format!(" {version}")).unwrap_or_default();
        let left_out = snapshot.tools.iter().filter_map(name_of);
        Self {
            name: options.server_name().to_owned(),
            calls_itself: info("title").or_else(|| info("name")).map(|name| name + &version),
            protocol: snapshot.protocol_version.clone(),
            instructions: snapshot.instructions.clone(),
            items,
            left_out: left_out.filter_map(|name| Some((name.to_owned(), options.left_out_by(name)?))).collect(),
            since,
        }
    }

    /// Returns the changes since another commit that are of no tool of the inventory: tools that are gone, and the
    /// server itself.
    fn other_changes(&self) -> impl Iterator<Item = &Change> {
        let tools = || self.items.iter().filter(|item| item.offer.is_none());
        let changes = self.since.iter().flat_map(|since| since.changes());
        changes.filter(move |change| change.tool.is_empty() || !tools().any(|tool| tool.name == change.tool))
    }

    /// Returns its own name for itself and the protocol that it speaks, as far as it says so.
    fn itself(&self, shown: impl Fn(&str) -> String) -> Vec<String> {
        let protocol = self.protocol.as_deref().map(|version| format!("protocol {}", shown(version)));
        self.calls_itself.as_deref().map(&shown).into_iter().chain(protocol).collect()
    }

    /// Counts the tools, or the offers of a list.
    fn count(&self, of: Option<Listed>) -> usize {
        self.items.iter().filter(|item| item.offer == of).count()
    }

    /// Formats the counts: `12 tools, 1 left out, 2 prompts`.
    fn counts(&self) -> String {
        let mut counts = vec![counted(self.count(None), "tool")];
        if !self.left_out.is_empty() {
            counts.push(format!("{} left out", self.left_out.len()));
        }
        let offers = [Listed::Prompt, Listed::ResourceTemplate].map(|list| (self.count(Some(list)), list.to_string()));
        counts.extend(offers.iter().filter(|(count, _)| *count > 0).map(|(count, list)| counted(*count, list)));
        counts.join(", ")
    }
}

impl Item {
    /// Returns the first sentence of the description, or else of the title.
    fn sentence(&self) -> Option<String> {
        self.description.as_deref().or(self.title.as_deref()).map(sentence)
    }
}

/// Reads the items of a server.
struct Reader<'r> {
    bound: &'r Bound,
    since: Option<&'r Since>,
    /// The rules of `[[policy]]` that restrict calls, with their JSON.
    policies: Vec<(&'r PolicyRule, Value)>,
    is_json: bool,
}

impl Reader<'_> {
    /// Completes the description of a tool by its schemas.
    fn tool(&self, binding: &ToolBinding, item: Item, source: Option<String>) -> Item {
        let ToolBinding { tool: name, module, handler, params_type, returns, .. } = binding;
        let tool = self.bound.snapshot.tools.get(binding.index).unwrap_or(&Value::Null);
        let approval = self.bound.options.needs_approval(name).then(|| NEEDS_APPROVAL.to_owned());
        let policies = self.policies(name).map(|(rule, _)| policy(rule));
        let changes = self.since.iter().flat_map(|since| since.changes());
        let inner_types = [("params", &binding.params_inner_types), ("result", &binding.output_inner_types)];
        let inner_types = inner_types.into_iter().filter(|(_, types)| !types.is_empty());
        let schemas = [("Parameters' schema", "inputSchema"), ("Result's schema", "outputSchema")];
        let schemas = schemas.into_iter().filter(|_| source.is_some());
        let schemas = schemas
            .filter_map(|(title, key)| Some((title, tool.get(key).filter(|schema| schema.is_object())?.clone())));
        let annotations = self.annotations(binding);
        let mut item = Item {
            name: name.clone(),
            demands: approval.into_iter().chain(policies).collect(),
            claims: annotations.map(claims).unwrap_or_default(),
            overridden: binding.overridden.as_ref().map(overridden),
            notes: binding.viewed.as_ref().map(view).unwrap_or_default(),
            changes: changes.filter(|change| change.tool == *name).cloned().collect(),
            prefixed: Some(binding.prefixed.clone()),
            signature: format!("{module}::{handler}({params_type}) -> {returns}"),
            inner_types: inner_types.map(|(part, types)| (part, types.clone())).collect(),
            schemas: schemas.collect(),
            source,
            ..self.described(tool, &binding.diagnostics, item)
        };
        item.title = item.title.or_else(|| text(annotations?, "title"));
        if self.is_json {
            item.json = self.tool_json(&item, binding);
        }
        item
    }

    fn offer(&self, binding: &OfferBinding) -> Item {
        let OfferBinding { module, handler, params_type, returns, uri_template, .. } = binding;
        let list = match binding.listed {
            Listed::Prompt => &self.bound.snapshot.prompts,
            _ => &self.bound.snapshot.resource_templates,
        };
        let offer = list.get(binding.index).unwrap_or(&Value::Null);
        let mut item = Item {
            offer: Some(binding.listed),
            name: binding.name.clone(),
            parameters: match uri_template {
                Some(template) => words::of_template(template),
                None => words::of_prompt(offer),
            },
            notes: uri_template.iter().cloned().collect(),
            signature: format!("{module}::{handler}({params_type}) -> {returns}"),
            ..self.described(offer, &binding.diagnostics, Item::default())
        };
        if self.is_json {
            item.json = self.offer_json(&item, binding);
        }
        item
    }

    fn described(&self, listed: &Value, diagnostics: &[Diagnostic], item: Item) -> Item {
        let note = |said: &Diagnostic| {
            let place = if said.pointer.is_empty() { String::new() } else { format!(" at {}", said.pointer) };
            format!("{}{place} ({})", said.summary(), said.code.id)
        };
        let diagnostics = self.heard(diagnostics).map(note).collect();
        let (title, description) = (text(listed, "title"), text(listed, "description"));
        Item { title, description, diagnostics, ..item }
    }

    /// Returns the diagnostics that the configuration wants to hear of.
    fn heard<'d>(&self, diagnostics: &'d [Diagnostic]) -> impl Iterator<Item = &'d Diagnostic> {
        diagnostics.iter().filter(|said| !diagnostics::is_allowed(said, &self.bound.levels))
    }

    /// Returns the annotations of a tool, as the server wrote them.
    fn annotations<'t>(&'t self, binding: &'t ToolBinding) -> Option<&'t Value> {
        let seen = self.bound.snapshot.tools.get(binding.index);
        let declared = binding.viewed.as_ref().map(|viewed| &viewed.before).or(seen)?;
        declared.get("annotations").filter(|annotations| annotations.is_object())
    }

    /// Returns the policies that restrict calls of a tool.
    fn policies(&self, tool: &str) -> impl Iterator<Item = &(&PolicyRule, Value)> {
        self.policies.iter().filter(move |(rule, _)| matches_globs(&rule.tools, tool))
    }
}

/// Returns the policies that restrict calls, with their JSON.
fn restrictions(server: &ServerConfig) -> Vec<(&PolicyRule, Value)> {
    let json = server.to_json();
    let json = json.get("policy").and_then(Value::as_array).into_iter().flatten().cloned();
    let restricts = |rule: &PolicyRule| rule.then != PolicyEffect::Allow || rule.rate.is_some();
    server.policies.iter().zip(json).filter(|(rule, _)| restricts(rule)).collect()
}

/// Describes a policy: `policy: approve when base (merges to main are reviewed)`.
fn policy(rule: &PolicyRule) -> String {
    let rate = rule.rate.as_ref().map(|rate| format!(" at most {rate}"));
    let arguments: Vec<&str> = rule.when.iter().map(|(argument, _)| argument.as_str()).collect();
    let arguments = (!arguments.is_empty()).then(|| format!(" when {}", arguments.join(", ")));
    let callers = (!rule.callers.is_empty()).then(|| format!(" for {}", rule.callers.join(", ")));
    let reason = rule.reason.as_ref().map(|reason| format!(" ({reason})"));
    let more: String = [rate, arguments, callers, reason].into_iter().flatten().collect();
    format!("policy: {}{more}", rule.then.name())
}

/// Describes the hints in annotations: `says read-only`.
fn claims(annotations: &Value) -> Vec<String> {
    let claim = |hint: Hint| {
        let word = hint.name().replace('_', "-");
        Some(match (annotations.get(hint.wire())?.as_bool()?, hint) {
            (true, _) => format!("says {word}"),
            (false, Hint::OpenWorld) => "says closed-world".to_owned(),
            (false, _) => format!("says not {word}"),
        })
    };
    Hint::ALL.into_iter().filter_map(claim).collect()
}

/// Describes the parts that overrides changed: `parameters and result by override, learned from 12 results`.
fn overridden(binding: &OverrideBinding) -> String {
    let results = |count: u64| counted(usize::try_from(count).unwrap_or(usize::MAX), "result");
    let learned = binding.learned_from.map(|count| format!(", learned from {}", results(count)));
    let parts = [("parameters", binding.input_schema), ("result", binding.output_schema)];
    let parts: Vec<&str> = parts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(part, _)| part).collect();
    format!("{} by override{}", parts.join(" and "), learned.unwrap_or_default())
}

/// Describes a view, and the server's original texts.
fn view(Viewed { view, before, .. }: &Viewed) -> Vec<String> {
    let mut parts: Vec<String> = view.name.iter().map(|name| format!("named {name}")).collect();
    parts.extend(view.hints.iter().map(|hint| format!("hint {} = {}", hint.name(), hint.strict())));
    for (what, values) in [("fixed", &view.fixed), ("default", &view.default)] {
        parts.extend(values.iter().map(|(argument, value)| format!("{what} {argument} = {value}")));
    }
    parts.extend(view.hide.iter().map(|argument| format!("hides {argument}")));
    let mut lines: Vec<String> =
        (!parts.is_empty()).then(|| format!("view: {}", parts.join("; "))).into_iter().collect();
    for (key, ours) in [("title", &view.title), ("description", &view.description)] {
        if ours.is_some() {
            let said = text(before, key).unwrap_or_else(|| "nothing".to_owned());
            lines.push(format!("{key} of the server: {}", sentence(&said)));
        }
    }
    lines
}

/// Returns the text of a member, unless it is blank.
fn text(object: &Value, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

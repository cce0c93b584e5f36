//! The tools of servers, for people who decide whether a program may use them: one value for all formats.

mod arguments;
mod html;
mod json;
mod markdown;
mod sample;
mod table;
mod words;

use std::collections::BTreeMap;

use mcp_bindgen_codegen::{Diagnostic, Listed, OfferBinding, Options, PlannedBindings, ToolBinding, ToolSchemas};
use mcp_bindgen_model::{Hint, PolicyEffect, PolicyRule, ServerConfig, matches_globs, side_by_side};
use mcp_bindgen_schema::drift::Change;
use serde_json::Value;

pub(crate) use html::page;
pub(crate) use json::entries as to_json;
pub(crate) use markdown::document;
pub(crate) use table::lines;

use crate::diagnostics;
use crate::flags::name_of;
use crate::report::{Since, counted};
use crate::source::Bound;
use crate::text::sentence;

/// The number of tools from which describing takes longer than starting a thread.
const WORTH_A_THREAD: usize = 64;

/// The description of one server.
pub(crate) struct Server {
    pub(crate) name: String,
    /// Its own name for itself, with its version.
    pub(crate) calls_itself: Option<String>,
    pub(crate) protocol: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    /// The tools that the configuration leaves out.
    pub(crate) left_out: Vec<LeftOut>,
    pub(crate) offers: Vec<Offer>,
    /// All changes since another commit, those of tools too.
    pub(crate) since: Option<Since>,
}

/// The description of a tool, a prompt or a resource template.
pub(crate) struct About {
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) diagnostics: Vec<Note>,
}

/// A tool that is bound.
pub(crate) struct Tool {
    pub(crate) binding: ToolBinding,
    pub(crate) about: About,
    /// The annotations, as the server wrote them.
    pub(crate) annotations: Option<Value>,
    /// `true` if the configuration requires approval of its calls.
    pub(crate) approve: bool,
    /// The rules of `[[policy]]` that restrict its calls.
    pub(crate) policies: Vec<Note>,
    /// A description of the structured result, if the server declares it.
    pub(crate) answers: Option<String>,
    /// The code, if requested.
    pub(crate) code: Option<Code>,
    /// How it is called from a command line.
    pub(crate) example: String,
    /// The changes since another commit.
    pub(crate) changes: Vec<Change>,
}

/// The code of a tool.
pub(crate) struct Code {
    pub(crate) input_schema: Value,
    pub(crate) output_schema: Option<Value>,
    /// Its types and its handler.
    pub(crate) source: String,
}

/// A parameter of a tool, a prompt or a resource template.
pub(crate) struct Parameter {
    pub(crate) name: String,
    /// A description of its values.
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) description: Option<String>,
}

/// A tool that a program may not call.
pub(crate) struct LeftOut {
    pub(crate) name: String,
    /// By which key of the configuration.
    pub(crate) by: &'static str,
}

/// A prompt, or a resource template.
pub(crate) struct Offer {
    pub(crate) binding: OfferBinding,
    pub(crate) about: About,
}

/// A diagnostic of the generator, or a rule of the configuration, for people and for machines.
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Server {
    /// Creates the inventory of a server, only from its arguments, with the code of each tool if `with_code`.
    pub(crate) fn new(bound: &Bound, planned: &PlannedBindings<'_>, since: Option<Since>, with_code: bool) -> Self {
        let Bound { snapshot, options, .. } = bound;
        let mut inventory = Self {
            name: options.server_name().to_owned(),
            calls_itself: snapshot.server_info.as_ref().and_then(calls_itself),
            protocol: snapshot.protocol_version.clone(),
            instructions: snapshot.instructions.clone(),
            tools: Vec::new(),
            left_out: snapshot.tools.iter().filter_map(|tool| left_out(tool, options)).collect(),
            offers: planned.offers().into_iter().map(|binding| Offer::new(binding, bound)).collect(),
            since,
        };
        let bindings = planned.tools();
        let schemas: Vec<_> = bindings.iter().zip(planned.schemas()).collect();
        let described = side_by_side(&schemas, WORTH_A_THREAD, |(binding, ToolSchemas { input, output, .. })| {
            let example = sample::command(&binding.server, &binding.tool, input);
            (arguments::of_tool(input), output.map(words::of_root), example)
        });
        let mut sources: BTreeMap<usize, String> =
            with_code.then(|| planned.tool_sources()).into_iter().flatten().collect();
        for (binding, described) in bindings.into_iter().zip(described) {
            let source = with_code.then(|| sources.remove(&binding.index).unwrap_or_default());
            inventory.tools.push(Tool::new(binding, described, source, bound, inventory.since.as_ref()));
        }
        inventory
    }

    /// Returns the changes since another commit that are of no tool of the inventory: tools that are gone, and the
    /// server itself.
    pub(crate) fn other_changes(&self) -> impl Iterator<Item = &Change> {
        let changes = self.since.iter().flat_map(|since| &since.changes);
        changes
            .filter(|change| change.tool.is_empty() || !self.tools.iter().any(|tool| tool.binding.tool == change.tool))
    }

    /// Returns its own name for itself and the protocol that it speaks, as far as it says so.
    pub(crate) fn itself(&self, shown: impl Fn(&str) -> String) -> Vec<String> {
        let protocol = self.protocol.as_deref().map(|version| format!("protocol {}", shown(version)));
        self.calls_itself.as_deref().map(&shown).into_iter().chain(protocol).collect()
    }

    /// Formats the counts: `12 tools, 1 left out, 2 prompts`.
    pub(crate) fn counts(&self) -> String {
        let offers = |listed| self.offers.iter().filter(|offer| offer.binding.listed == listed).count();
        let mut counts = vec![counted(self.tools.len(), "tool")];
        if !self.left_out.is_empty() {
            counts.push(format!("{} left out", self.left_out.len()));
        }
        for (listed, name) in [(Listed::Prompt, "prompt"), (Listed::ResourceTemplate, "resource template")] {
            if offers(listed) > 0 {
                counts.push(counted(offers(listed), name));
            }
        }
        counts.join(", ")
    }
}

impl About {
    fn new(listed: &Value, parameters: Vec<Parameter>, diagnostics: &[Diagnostic], bound: &Bound) -> Self {
        let heard = diagnostics.iter().filter(|said| !diagnostics::is_allowed(said, &bound.levels));
        let note = |said: &Diagnostic| {
            let message = if said.message.is_empty() { String::new() } else { format!(": {}", said.message) };
            let place = if said.pointer.is_empty() { String::new() } else { format!(" at {}", said.pointer) };
            let text = format!("{}{message}{place} ({})", said.code.title, said.code.id);
            Note { text, json: diagnostics::to_json(said, bound) }
        };
        let diagnostics = heard.map(note).collect();
        Self { title: text(listed, "title"), description: text(listed, "description"), parameters, diagnostics }
    }

    /// Returns the description, or else the title.
    fn said(&self) -> Option<&str> {
        self.description.as_deref().or(self.title.as_deref())
    }
}

/// Returns the policies that restrict calls of a tool.
fn policies(server: &ServerConfig, tool: &str) -> Vec<Note> {
    if !server.has_policy(tool) {
        return Vec::new();
    }
    let json = server.to_json();
    let rules = server.policies.iter().zip(json.get("policy").and_then(Value::as_array).into_iter().flatten());
    let is_restricting = |rule: &PolicyRule| rule.then != PolicyEffect::Allow || rule.rate.is_some();
    let rules = rules.filter(|(rule, _)| is_restricting(rule) && matches_globs(&rule.tools, tool));
    rules.map(|(rule, json)| Note { text: policy(rule), json: json.clone() }).collect()
}

/// Describes a policy: `policy: approve when base (merges to main are reviewed)`.
fn policy(rule: &PolicyRule) -> String {
    let mut text = format!("policy: {}", rule.then.name());
    if let Some(rate) = &rule.rate {
        text.push_str(&format!(" at most {rate}"));
    }
    if !rule.when.is_empty() {
        let arguments: Vec<&str> = rule.when.keys().map(String::as_str).collect();
        text.push_str(&format!(" when {}", arguments.join(", ")));
    }
    if !rule.callers.is_empty() {
        text.push_str(&format!(" for {}", rule.callers.join(", ")));
    }
    text + &rule.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

impl Tool {
    fn new(
        binding: ToolBinding,
        (parameters, answers, example): (Vec<Parameter>, Option<String>, String),
        source: Option<String>,
        bound: &Bound,
        since: Option<&Since>,
    ) -> Self {
        let tool = bound.snapshot.tools.get(binding.index).unwrap_or(&Value::Null);
        let declared = binding.viewed.as_ref().map_or(tool, |viewed| &viewed.before);
        let annotations = declared.get("annotations").filter(|annotations| annotations.is_object());
        let mut about = About::new(tool, parameters, &binding.diagnostics, bound);
        about.title = about.title.or_else(|| text(annotations?, "title"));
        let changes = since.iter().flat_map(|since| &since.changes);
        Self {
            about,
            annotations: annotations.cloned(),
            approve: bound.options.needs_approval(&binding.tool),
            policies: bound.server.iter().flat_map(|server| policies(server, &binding.tool)).collect(),
            answers,
            code: source.map(|source| Code {
                input_schema: tool.get("inputSchema").cloned().unwrap_or_default(),
                output_schema: tool.get("outputSchema").filter(|schema| schema.is_object()).cloned(),
                source,
            }),
            example,
            changes: changes.filter(|change| change.tool == binding.tool).cloned().collect(),
            binding,
        }
    }

    /// Returns the demands of the configuration on its calls.
    fn demands(&self) -> impl Iterator<Item = String> {
        let approval = self.approve.then(|| "needs approval".to_owned());
        approval.into_iter().chain(self.policies.iter().map(|policy| policy.text.clone()))
    }

    /// Returns the server's claims in annotations, which are untrusted: `says read-only`.
    pub(crate) fn says(&self) -> Vec<String> {
        let hint = |hint: Hint| self.annotations.as_ref().and_then(|hints| hints.get(hint.wire())?.as_bool());
        let word = |of: Hint| {
            let word = of.name().replace('_', "-");
            hint(of).map(|is_so| match of {
                _ if is_so => format!("says {word}"),
                Hint::OpenWorld => "says closed-world".to_owned(),
                _ => format!("says not {word}"),
            })
        };
        Hint::ALL.into_iter().filter_map(word).collect()
    }

    /// Describes the parts of the tool that overrides changed: `parameters and result by override, learned from 12 results`.
    pub(crate) fn overridden(&self) -> Option<String> {
        let overridden = self.binding.overridden.as_ref()?;
        let count =
            overridden.learned_from.map(|count| counted(usize::try_from(count).unwrap_or(usize::MAX), "result"));
        let learned = count.map(|results| format!(", learned from {results}"));
        let parts = [("parameters", overridden.input_schema), ("result", overridden.output_schema)];
        let parts: Vec<&str> = parts.iter().filter(|(_, is_changed)| *is_changed).map(|(part, _)| *part).collect();
        Some(format!("{} by override{}", parts.join(" and "), learned.unwrap_or_default()))
    }

    /// Describes the view of the tool, and the server's original texts.
    pub(crate) fn view(&self) -> Vec<String> {
        let Some(viewed) = &self.binding.viewed else { return Vec::new() };
        let view = &viewed.view;
        let mut parts: Vec<String> = view.name.iter().map(|name| format!("named {name}")).collect();
        parts.extend(view.hints.iter().map(|(hint, value)| format!("hint {} = {value}", hint.name())));
        for (what, values) in [("fixed", &view.fixed), ("default", &view.default)] {
            parts.extend(values.iter().map(|(argument, value)| format!("{what} {argument} = {value}")));
        }
        parts.extend(view.hide.iter().map(|argument| format!("hides {argument}")));
        let mut lines = Vec::new();
        if !parts.is_empty() {
            lines.push(format!("view: {}", parts.join("; ")));
        }
        for (key, ours) in [("title", &view.title), ("description", &view.description)] {
            if ours.is_some() {
                let said = text(&viewed.before, key).unwrap_or_else(|| "nothing".to_owned());
                lines.push(format!("{key} of the server: {}", sentence(&said)));
            }
        }
        lines
    }

    /// Returns the types inside the parameters and the result.
    pub(crate) fn inner_types(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let inner = [("params", &self.binding.params_inner_types), ("result", &self.binding.output_inner_types)];
        inner.into_iter().filter(|(_, types)| !types.is_empty()).map(|(part, types)| (part, types.as_slice()))
    }

    /// `gh::gh_create_issue(GhCreateIssueParams) -> GhCreateIssueOutput`.
    pub(crate) fn signature(&self) -> String {
        let ToolBinding { module, handler, params_type, returns, .. } = &self.binding;
        format!("{module}::{handler}({params_type}) -> {returns}")
    }
}

impl Offer {
    fn new(binding: OfferBinding, bound: &Bound) -> Self {
        let list = match binding.listed {
            Listed::Prompt => &bound.snapshot.prompts,
            _ => &bound.snapshot.resource_templates,
        };
        let offer = list.get(binding.index).unwrap_or(&Value::Null);
        let parameters = match &binding.uri_template {
            Some(template) => arguments::of_template(template),
            None => arguments::of_prompt(offer),
        };
        Self { about: About::new(offer, parameters, &binding.diagnostics, bound), binding }
    }

    pub(crate) fn signature(&self) -> String {
        let OfferBinding { module, handler, params_type, returns, .. } = &self.binding;
        format!("{module}::{handler}({params_type}) -> {returns}")
    }
}

fn left_out(tool: &Value, options: &Options) -> Option<LeftOut> {
    let name = name_of(tool)?;
    Some(LeftOut { name: name.to_owned(), by: options.left_out_by(name)? })
}

fn text(object: &Value, key: &str) -> Option<String> {
    let text = object.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn calls_itself(info: &Value) -> Option<String> {
    let name = text(info, "title").or_else(|| text(info, "name"))?;
    Some(text(info, "version").map_or(name.clone(), |version| format!("{name} {version}")))
}

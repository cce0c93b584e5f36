//! Finds the tools of a template's actions, and calls them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use mcp_bindgen_model::matches_glob;
use mcp_bindgen_runtime::{CallError, CallErrorKind, CallOptions, ToolResult};
use mcp_bindgen_template::{Action, MOST_FAULTS, OnError, PieceKind, Target, Tools};
use minijinja::Value;
use serde_json::{Map, Value as Json};

use super::data;
use super::error::{TemplateErrorKind, TemplateProblem};
use super::rendered::TemplateCall;
use super::slot::{Filled, Slot};
use super::{Inner, Template};
use crate::Toolset;
use crate::toolset::{Entry, NoResult};

/// The tools that the actions of a template may call.
pub(super) struct Callable {
    toolset: Toolset,
    tools: Tools,
    /// The tools by the number of their slot.
    entries: BTreeMap<usize, Arc<Entry>>,
}

/// The outcome of a call: the value, or the problem that ends the template.
pub(super) type Outcome = Result<Value, Box<TemplateProblem>>;

impl Callable {
    /// Finds and checks the tools; `allowed` are globs of the functions that a remote template may call.
    pub(super) fn of(template: &Template, toolset: &Toolset, allowed: &[String]) -> Result<Self, Vec<TemplateProblem>> {
        let inner = &*template.inner;
        let tools = listed(inner, toolset);
        let (mut entries, mut problems) = (BTreeMap::new(), Vec::new());
        for (number, slot, action) in actions(inner) {
            if problems.len() >= MOST_FAULTS {
                break;
            }
            let found = tools.find(action).and_then(|tool| {
                let entry = toolset.entry_of(tool.server(), tool.name());
                entry.map(|entry| (tool, entry)).ok_or_else(|| format!("unknown tool `{}`", tool.name()))
            });
            let (tool, entry) = match found {
                Ok(found) => found,
                Err(message) => {
                    problems.push(slot.problem(TemplateErrorKind::UnknownTool, message));
                    continue;
                }
            };
            let problem = |kind, message| slot.problem(kind, message).of_tool(entry.identity());
            match refusal(entry, allowed).filter(|_| inner.is_remote) {
                Some(message) => problems.push(problem(TemplateErrorKind::RemoteUse, message)),
                None => problems.extend(tool.check(action, slot.piece.place).into_iter().map(|fault| {
                    let place = Some(fault.place);
                    TemplateProblem { place, ..problem(TemplateErrorKind::Arguments, fault.message) }
                })),
            }
            entries.insert(number, entry.clone());
        }
        problems.truncate(MOST_FAULTS);
        if problems.is_empty() { Ok(Self { toolset: toolset.clone(), tools, entries }) } else { Err(problems) }
    }

    /// Makes the call of a slot, and adds it to the calls so far: also a call that is cancelled is among them.
    pub(super) async fn call(
        &self,
        template: &Template,
        number: usize,
        filled: &Filled,
        calls: &mut Vec<TemplateCall>,
    ) -> Outcome {
        let inner = &*template.inner;
        let Some((entry, slot)) = self.entries.get(&number).zip(inner.slots.get(number)) else {
            let message = "the tool of an action is missing".to_owned();
            return Err(Box::new(TemplateProblem::of_all(TemplateErrorKind::UnknownTool, message)));
        };
        let options = CallOptions::new().of_template();
        let options = if inner.is_remote { options.remote() } else { options };
        let mut arguments = self.respelled(slot, &filled.values);
        let (server, tool) = entry.identity();
        calls.push(TemplateCall {
            place: slot.piece.place,
            action: slot.action(),
            variable: filled.variable.clone(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            failure: Some("it was interrupted; whether it took effect is unknown".to_owned()),
        });
        let mut result = self.toolset.result_of(entry, arguments.clone(), options.clone(), None).await;
        // JSON text was passed to a parameter that takes its value.
        if let (Err(NoResult::Misfit(_)), Some(walked)) = (&result, &filled.walked) {
            let walked = self.respelled(slot, walked);
            let again = self.toolset.result_of(entry, walked.clone(), options, None).await;
            if !matches!(again, Err(NoResult::Misfit(_))) {
                (result, arguments) = (again, walked);
            }
        }
        let of_call = |error: CallError| {
            let message = error.to_string();
            (TemplateErrorKind::Call(Box::new(error)), message)
        };
        let outcome = match result.and_then(|result| result.success().map_err(NoResult::Call)) {
            Ok(result) => value_of(entry, &result)
                .ok_or_else(|| (TemplateErrorKind::Evaluation, "the result is nested too deeply".to_owned())),
            Err(NoResult::Misfit(misfit)) => {
                let message = format!("invalid arguments for `{tool}`: {}. Nothing was sent", misfit.in_words());
                Err((TemplateErrorKind::Arguments, message))
            }
            Err(NoResult::Call(error)) => Err(of_call(error)),
            Err(NoResult::Gone(_)) => Err(of_call(CallError::tool_not_found(server, tool))),
            Err(NoResult::Broken) => {
                let message = format!("the handler of `{tool}` panicked; whether the call took effect is unknown");
                Err((TemplateErrorKind::Broken, message))
            }
        };
        if let Some(call) = calls.last_mut() {
            (call.arguments, call.failure) = (arguments, outcome.as_ref().err().map(|(_, message)| message.clone()));
        }
        let (kind, message) = match outcome {
            Ok(value) => return Ok(value),
            Err(failure) => failure,
        };
        // A call with an unknown outcome is not replaced: a template could repeat it.
        let is_replaced = is_failure(&kind, entry.annotations.read_only == Some(true));
        let value = match &slot.piece.kind {
            PieceKind::Action(Action { on_error: OnError::Empty, .. }) => Some(Value::from("")),
            _ => filled.default.clone().and_then(data::of_json),
        };
        value.filter(|_| is_replaced).ok_or_else(|| Box::new(slot.problem(kind, message).of_tool(entry.identity())))
    }

    /// Converts text with expressions to the numbers and booleans that the tool expects.
    fn respelled(&self, slot: &Slot, values: &Map<String, Json>) -> Map<String, Json> {
        let mut values = values.clone();
        if let PieceKind::Action(action) = &slot.piece.kind
            && let Ok(tool) = self.tools.find(action)
        {
            for argument in &action.arguments {
                if let Some(value) = values.get_mut(&argument.name) {
                    *value = tool.fitted(argument, value.take());
                }
            }
        }
        values
    }
}

/// Returns the value of a result: structured content, the blocks if there is no text, or the text. Returns `None` if it
/// is nested too deeply.
fn value_of(entry: &Entry, result: &ToolResult) -> Option<Value> {
    match entry.value_of(result) {
        Some(value) => data::of_result(value, result.text()),
        None if result.text().is_empty() && result.content.iter().any(|block| block.as_text().is_none()) => {
            data::of_json(result.to_json().get_mut("content").map(Json::take).unwrap_or_default())
        }
        None => Some(data::of_text(result.text())),
    }
}

/// Returns `true` if `on_error` applies: the server returned an error, the call did not reach the tool, or the tool only
/// `reads`, so that an unknown outcome does not matter.
fn is_failure(kind: &TemplateErrorKind, reads: bool) -> bool {
    use CallErrorKind::{
        InvalidResponse, NotConnected, NotOffered, OutcomeUnknown, Rpc, Timeout, Tool, ToolNotFound, Transport,
    };
    let TemplateErrorKind::Call(error) = kind else { return false };
    match error.kind() {
        Tool | Rpc | NotConnected | ToolNotFound | NotOffered => true,
        Timeout | Transport | OutcomeUnknown | InvalidResponse => reads,
        _ => false,
    }
}

/// Returns the actions of a template, each with the number of its slot.
fn actions(inner: &Inner) -> impl Iterator<Item = (usize, &Slot, &Action)> {
    inner.slots.iter().enumerate().filter_map(|(number, slot)| match &slot.piece.kind {
        PieceKind::Action(action) => Some((number, slot, action)),
        _ => None,
    })
}

/// Returns the tools of a toolset, by their names there and in bindings, with which a template is checked at build time.
/// Only tools that the template names have their schema.
fn listed(inner: &Inner, toolset: &Toolset) -> Tools {
    let mut tools = Tools::new();
    let targets: HashSet<&Target> = actions(inner).map(|(_, _, action)| &action.target).collect();
    for entry in toolset.entries().iter().filter(|entry| entry.has_results()) {
        let (server, tool) = entry.identity();
        let in_bindings = entry.name_in_bindings();
        let is_called = |name: &str| targets.contains(&Target::Prefixed(name.to_owned()));
        let by_wire_names = Target::Tool { server: server.to_owned(), tool: tool.to_owned() };
        let is_named =
            targets.contains(&by_wire_names) || is_called(&entry.public) || in_bindings.is_some_and(is_called);
        tools.add(server, tool, &entry.public, if is_named { &entry.input_schema } else { &Json::Null });
        if let Some(name) = in_bindings {
            tools.alias(server, tool, name);
        }
    }
    tools
}

/// Returns the reason why a remote template may not call a tool.
fn refusal(entry: &Entry, allowed: &[String]) -> Option<String> {
    let (server, tool) = entry.identity();
    let whole = format!("{server}/{tool}");
    let how = match entry.lets_remote_use() {
        Some(true) => return None,
        Some(false) => format!("add it to `remote_use` of server `{server}`"),
        None if allowed.iter().any(|glob| *glob == whole || matches_glob(glob, &whole)) => return None,
        None => format!("allow `{whole}` with `TemplateRun::allow`"),
    };
    Some(format!("a template that is not a local file may not call `{tool}` of `{server}`; to allow it, {how}"))
}

//! `run`: a template, with the servers of the configuration.

use std::io::Read;
use std::path::{Path, PathBuf};

use mcp_bindgen_agents::template::{TemplateErrorKind, TemplateProblem};
use mcp_bindgen_agents::{CompletionRequest, RenderedTemplate, Template, TemplateError, Toolset};
use mcp_bindgen_codegen::template::{Checked, Script, located};
use mcp_bindgen_model::{Config, printable, read_text};
use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{CallTool as _, ClientOptions};
use mcp_bindgen_template::{Fault, MOST_FAULTS, Place};
use serde_json::{Map, Value, json};

use super::assignments;
use super::called_servers::CalledServers;
use crate::args;
use crate::exit::{Exit, Failure};
use crate::live::Patience;
use crate::output::Output;
use crate::project;
use crate::report::counted;
use crate::text::{did_you_mean, in_ticks};

/// The template to run, read before anything else happens.
pub(crate) struct Input {
    path: PathBuf,
    text: String,
    is_remote: bool,
    variables: Map<String, Value>,
    fillings: Map<String, Value>,
}

impl Input {
    /// Reads the template and its inputs.
    pub(crate) fn read(arguments: &args::Run) -> Result<Self, Failure> {
        let variables = assignments::values("--set", &arguments.variables)?;
        let fillings = assignments::values("--fill", &arguments.fillings)?;
        let is_stdin = arguments.template == "-";
        // `/dev/stdin` and `<(curl ..)` are not files of this machine.
        let is_file = || std::fs::metadata(&arguments.template).is_ok_and(|found| found.is_file());
        let (path, text) = if is_stdin {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            ("stdin".into(), text)
        } else {
            (arguments.template.clone().into(), read_text(&arguments.template)?)
        };
        let is_remote = is_stdin || arguments.remote || !is_file();
        Ok(Self { path, text, is_remote, variables, fillings })
    }
}

pub(crate) async fn run(
    config: Option<&Path>,
    arguments: &args::Run,
    input: Input,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let script = match Script::parse(&input.text) {
        Ok(script) => script,
        Err(faults) => return refuse(&input, &faults, arguments.check, output),
    };
    // A template that calls nothing needs no configuration.
    let config = if script.calls() { project::load(config, output)? } else { Config::default() };
    if !arguments.check {
        check_given(&script, &input)?;
    }
    let is_approved = arguments.yes;
    let make = || {
        ClientOptions::new().on_approval(move |_| async move {
            match is_approved {
                true => ApprovalAnswer::Approve,
                false => ApprovalAnswer::Decline("approve the template's calls with `--yes`".to_owned()),
            }
        })
    };
    let mut servers = CalledServers::find(&config, &script, &make, arguments.timeout, output).await?;
    let exit = with_servers(&script, arguments, input, &mut servers, output).await;
    servers.close().await;
    exit
}

async fn with_servers(
    script: &Script,
    arguments: &args::Run,
    input: Input,
    servers: &mut CalledServers<'_>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let known = servers.known();
    let mut faults = servers.faults.clone();
    let checked = match script.check(&known, &[]) {
        Ok(checked) => checked,
        Err(found) => {
            faults.extend(
                found.into_iter().filter(|fault| !servers.faults.iter().any(|other| other.place == fault.place)),
            );
            faults.sort_by_key(|fault| fault.place);
            return refuse(&input, &faults, arguments.check, output);
        }
    };
    if input.is_remote {
        for (server, tool, place) in script.called(&known) {
            if faults.len() >= MOST_FAULTS {
                break;
            }
            if servers.found.get(server).is_some_and(|found| !found.server.lets_remote_use(tool)) {
                let tool = printable(tool);
                let message = format!(
                    "a template that is not a local file may not call `{tool}` of `{server}`; to allow it, add the \
                     tool to `remote_use` of the server"
                );
                faults.push(Fault::new(place, message));
            }
        }
    }
    if !faults.is_empty() {
        return refuse(&input, &faults, arguments.check, output);
    }
    if arguments.check {
        return approve(&input, script, &checked, output);
    }
    let mut tools = Toolset::builder();
    for (name, found) in &servers.found {
        let called: Vec<&str> = checked.tools(name).collect();
        if !called.is_empty() {
            let spec = found.spec(&called);
            let options = Patience::new(arguments.timeout).options();
            tools = tools.bindings(spec, found.client.clone().with_call_options(options));
        }
    }
    let tools = tools.build().map_err(Failure::of)?;
    let name = input.path.display().to_string();
    let read = if input.is_remote { Template::remote(name, &input.text) } else { Template::new(name, &input.text) };
    let outcome = match read {
        Ok(template) => {
            let fillings = input.fillings.clone();
            template
                .run(&tools)
                .with_all(&input.variables)
                .completer(move |request| filled(fillings.clone(), request))
                .await
        }
        Err(error) => Err(error),
    };
    match outcome {
        Ok(rendered) => print(&input, &rendered, output),
        Err(error) => tell(&input, &error, output),
    }
}

async fn filled(fillings: Map<String, Value>, request: CompletionRequest) -> Result<Value, String> {
    let name = &request.name;
    fillings.get(name).cloned().ok_or_else(|| format!("pass it with `--fill {name}=..`"))
}

/// Refuses variables that the template does not use, and slots without a completer.
fn check_given(script: &Script, input: &Input) -> Result<(), Failure> {
    for name in input.variables.keys() {
        if !script.may_use(name) {
            let help = did_you_mean(name, script.variables())
                .unwrap_or_else(|| format!("it uses {}", in_ticks(script.variables())));
            return Err(Failure::usage(format!("the template uses no variable `{name}`\n  = help: {help}")));
        }
    }
    for name in input.fillings.keys() {
        if !script.may_complete(name) {
            let slots = || script.completions().filter_map(|(_, name)| name);
            let help = did_you_mean(name, slots()).unwrap_or_else(|| format!("it has {}", in_ticks(slots())));
            return Err(Failure::usage(format!("the template has no slot `{name}`\n  = help: {help}")));
        }
    }
    let open = |(_, name): &(Place, Option<&str>)| name.is_some_and(|name| !input.fillings.contains_key(name));
    if let Some((place, Some(name))) = script.completions().find(open) {
        let fault = Fault::new(place, format!("slot `{name}` needs a model, and this command has none"));
        return Err(Failure::usage(format!(
            "{}\n  = help: pass it with `--fill {name}=..`, or run the template from a program with a completer",
            located(&fault, &input.path, &input.text)
        )));
    }
    Ok(())
}

/// Tells the faults of a template.
fn refuse(input: &Input, faults: &[Fault], is_checked: bool, output: &mut Output) -> Result<Exit, Failure> {
    for fault in faults {
        output.error(&located(fault, &input.path, &input.text));
    }
    if is_checked {
        let faults = faults
            .iter()
            .map(|fault| json!({ "line": fault.place.line, "column": fault.place.column, "message": fault.message }));
        output.report(&json!({ "format": 1, "template": input.path, "faults": faults.collect::<Value>() }))?;
    }
    Ok(Exit::Failed)
}

/// Reports the variables and tools of a valid template.
fn approve(input: &Input, script: &Script, checked: &Checked<'_>, output: &mut Output) -> Result<Exit, Failure> {
    let tools: Vec<(&str, &str)> =
        checked.servers().flat_map(|server| checked.tools(server).map(move |tool| (server, tool))).collect();
    let variables = script.variables().map(|name| json!({ "name": name, "optional": script.is_optional(name) }));
    let called = tools.iter().map(|(server, tool)| json!({ "server": server, "tool": tool }));
    output.report(&json!({
        "format": 1,
        "template": input.path,
        "faults": [],
        "variables": variables.collect::<Value>(),
        "completions": script.completions().filter_map(|(_, name)| name).collect::<Value>(),
        "tools": called.collect::<Value>(),
    }))?;
    let variables = counted(script.variables().count(), "variable");
    let completions = counted(script.completions().count(), "completion");
    let tools = counted(tools.len(), "tool");
    if output.is_text() {
        output.status("Checked", &format!("{}: {tools}, {variables}, {completions}", input.path.display()));
    }
    Ok(Exit::Done)
}

fn print(input: &Input, rendered: &RenderedTemplate, output: &mut Output) -> Result<Exit, Failure> {
    let is_used = |name: &&String| rendered.variables.contains_key(*name);
    for name in input.fillings.keys().filter(|name| !is_used(name)) {
        output.warning(&format!("`--fill {name}` was not used: the template did not reach its slot"));
    }
    let text = rendered.text();
    // The printed text ends the line.
    output.data(text.strip_suffix('\n').unwrap_or(&text))?;
    let segments = rendered.segments.iter().map(|segment| json!({ "name": segment.name, "text": segment.text }));
    let calls = rendered.calls.iter().map(|call| {
        json!({
            "line": call.place.line,
            "column": call.place.column,
            "variable": call.variable,
            "server": call.server,
            "tool": call.tool,
            "arguments": call.arguments,
            "failure": call.failure,
        })
    });
    output.report(&json!({
        "format": 1,
        "text": text,
        "segments": segments.collect::<Value>(),
        "variables": rendered.variables,
        "calls": calls.collect::<Value>(),
    }))?;
    Ok(Exit::Done)
}

/// Prints the problems of a failed run, each with its position.
fn tell(input: &Input, error: &TemplateError, output: &mut Output) -> Result<Exit, Failure> {
    for problem in error.problems() {
        let message = match &problem.action {
            Some(action) => format!("`{}`: {}", printable(action), problem.message),
            None => in_our_words(&problem.message).to_owned(),
        };
        let mut text = match problem.place {
            Some(place) => located(&Fault::new(place, message), &input.path, &input.text),
            None => message,
        };
        if matches!(problem.kind, TemplateErrorKind::Undefined) {
            text.push_str("\n  = help: set variables with `--set NAME=TEXT` or `--set NAME:=JSON`");
        }
        output.error(&text);
    }
    Ok(Exit::of_all(error.problems().iter().map(exit_of)))
}

/// Removes the hint for programs, because the command line has its own options.
fn in_our_words(message: &str) -> &str {
    message.split_once("; give it with `TemplateRun").map_or(message, |(message, _)| message)
}

fn exit_of(problem: &TemplateProblem) -> Exit {
    match &problem.kind {
        TemplateErrorKind::Call(error) => Failure::from((**error).clone()).exit,
        _ => Exit::Failed,
    }
}

//! `run`: a template, with the servers of the configuration.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::{Path, PathBuf};

use mcp_bindgen_agents::template::TemplateErrorKind;
use mcp_bindgen_agents::{CompletionRequest, RenderedTemplate, Template, TemplateError, Toolset};
use mcp_bindgen_codegen::Options;
use mcp_bindgen_codegen::template::{Checked, KnownServer, Script, located};
use mcp_bindgen_model::{Config, ServerConfig, Snapshot, printable, read_text};
use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{CallTool as _, Client, ClientOptions};
use mcp_bindgen_template::{Fault, MOST_FAULTS, Place};
use serde_json::{Map, Value, json};

use crate::exit::{Exit, Failure, Result};
use crate::live::{self, Patience};
use crate::output::Output;
use crate::plan::adapted;
use crate::report::counted;
use crate::text::{did_you_mean, in_ticks};
use crate::{args, project, source};

/// The template to run, read before anything else happens.
struct Input {
    path: PathBuf,
    text: String,
    variables: Map<String, Value>,
    fillings: Map<String, Value>,
    is_remote: bool,
}

impl Input {
    /// Reads the template and its inputs.
    fn read(arguments: &args::Run) -> Result<Self> {
        let variables = values("--set", &arguments.variables)?;
        let fillings = values("--fill", &arguments.fillings)?;
        let template = Path::new(&arguments.template);
        let (path, text) = match arguments.template.as_str() {
            "-" => (Path::new("stdin"), std::io::read_to_string(std::io::stdin())?),
            _ => (template, read_text(template)?),
        };
        // Stdin, `/dev/stdin` and `<(curl ..)` are not files of this machine.
        let is_remote = arguments.remote || arguments.template == "-" || !template.is_file();
        Ok(Self { path: path.to_owned(), text, variables, fillings, is_remote })
    }
}

/// A server, as far as a template needs it.
struct CalledServer {
    server: ServerConfig,
    options: Options,
    /// The snapshot, or the live tools if it is missing, with overrides and views applied.
    snapshot: Snapshot,
    /// The same without views, which the toolset applies.
    listed: Snapshot,
    client: Client,
}

/// Servers by their names.
struct CalledServers<'c> {
    config: &'c Config,
    arguments: &'c args::Run,
    found: BTreeMap<String, CalledServer>,
    /// For each action that names a server which there is not.
    faults: Vec<Fault>,
}

impl<'c> CalledServers<'c> {
    /// Finds the servers that the script names, and those whose tools may have its names. It connects to a server only
    /// if the server has no snapshot and no other has the tool.
    async fn find(config: &'c Config, script: &Script, arguments: &'c args::Run, output: &mut Output) -> Result<Self> {
        let mut servers = Self { config, arguments, found: BTreeMap::new(), faults: Vec::new() };
        for (name, place) in script.servers() {
            match config.server(name) {
                Ok(_) => servers.add(name, true, output).await?,
                Err(error) => {
                    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
                    servers.faults.push(Fault::new(place, format!("{}{help}", error.message)));
                }
            }
        }
        let may_have =
            |name: &&String| project::options(config, name, None).is_ok_and(|options| script.may_call(&options));
        let (likely, others): (Vec<&String>, Vec<&String>) = config.servers.keys().partition(may_have);
        for (names, asks) in [(&likely, false), (&likely, true), (&others, false)] {
            for name in names {
                if servers.have_all(script) {
                    return Ok(servers);
                }
                servers.add(name, asks, output).await?;
            }
        }
        Ok(servers)
    }

    async fn add(&mut self, name: &str, asks: bool, output: &mut Output) -> Result<()> {
        let path = self.config.snapshot_path(name);
        let has_snapshot = path.exists();
        if self.found.contains_key(name) || !(has_snapshot || asks) {
            return Ok(());
        }
        let mut server = self.config.server(name)?.clone();
        server.timeout = self.arguments.timeout.or(server.timeout);
        let is_approved = self.arguments.yes;
        let options = ClientOptions::new().on_approval(move |_| async move {
            match is_approved {
                true => ApprovalAnswer::Approve,
                false => ApprovalAnswer::Decline("approve the template's calls with `--yes`".to_owned()),
            }
        });
        if has_snapshot {
            // A rule that has no effect on its tools is an error.
            source::of_server(self.config, name, None)?;
        }
        let known = has_snapshot.then(|| Snapshot::load(&path)).transpose()?;
        let client = live::client_knowing(self.config, &server, known.as_ref(), options);
        let declared = match known {
            Some(known) => known,
            None => {
                output.status("Asking", &format!("{name} what it offers"));
                Patience::new(self.arguments.timeout).ask(&client, client.snapshot()).await?
            }
        };
        let (listed, _) = adapted(declared.clone(), &path, None).map_err(source::misfits)?;
        let (snapshot, _) = adapted(declared, &path, Some(&server)).map_err(source::misfits)?;
        let options = project::options(self.config, name, None)?.beside(self.config);
        self.found.insert(name.to_owned(), CalledServer { server, options, snapshot, listed, client });
        Ok(())
    }

    /// Returns the known servers.
    fn known(&self) -> Vec<KnownServer<'_>> {
        self.found.values().map(|found| KnownServer::new(&found.snapshot, &found.options)).collect()
    }

    fn have_all(&self, script: &Script) -> bool {
        let known = self.known();
        script.prefixed().all(|name| known.iter().any(|server| server.has(name)))
    }
}

/// Returns the values of an option that may be given several times, as `NAME=TEXT` or `NAME:=JSON`.
///
/// # Errors
/// Fails if a value is not an assignment, or if a name is repeated.
fn values(option: &str, assignments: &[String]) -> Result<Map<String, Value>> {
    let mut values = Map::new();
    for assignment in assignments {
        let Some((left, right)) = assignment.split_once('=') else {
            let message = format!("missing value in `{option} {}`", printable(assignment));
            return Err(Failure::usage(message).with_help(format!("use `{option} NAME=TEXT` or `{option} NAME:=JSON`")));
        };
        let json_name = left.strip_suffix(':');
        let name = json_name.unwrap_or(left);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if !name.chars().all(is_word) || !name.starts_with(|c: char| !c.is_numeric()) {
            let message = format!("invalid variable name `{}` in `{option}`", printable(name));
            return Err(Failure::usage(message).with_help("use letters, digits and `_`"));
        }
        let value = match json_name {
            None => Value::from(right),
            Some(name) => serde_json::from_str(right).map_err(|error| {
                let message = format!("the value of `{name}` in `{option}` is not JSON: {error}");
                Failure::usage(message).with_help(format!("use `{option} {name}=TEXT` for text"))
            })?,
        };
        if values.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(format!("duplicate `{name}` in `{option}`")));
        }
    }
    Ok(values)
}

pub(crate) async fn run(config: Option<&Path>, arguments: &args::Run, output: &mut Output) -> Result<Exit> {
    let input = Input::read(arguments)?;
    let script = match Script::parse(&input.text) {
        Ok(script) => script,
        Err(faults) => return refuse(&input, &faults, arguments.check, output),
    };
    // A template that calls nothing needs no configuration.
    let config = if script.calls() { project::load(config, output)? } else { Config::default() };
    if !arguments.check {
        check_given(&script, &input)?;
    }
    let servers = CalledServers::find(&config, &script, arguments, output).await?;
    let exit = with_servers(&config, &script, arguments, &input, &servers, output).await;
    for found in servers.found.values() {
        found.client.close().await;
    }
    exit
}

async fn with_servers(
    config: &Config,
    script: &Script,
    arguments: &args::Run,
    input: &Input,
    servers: &CalledServers<'_>,
    output: &mut Output,
) -> Result<Exit> {
    let known = servers.known();
    let mut faults = servers.faults.clone();
    let checked = match script.check(&known, &[]) {
        Ok(checked) => checked,
        Err(found) => {
            let is_new = |fault: &Fault| !servers.faults.iter().any(|other| other.place == fault.place);
            faults.extend(found.into_iter().filter(is_new));
            faults.sort_by_key(|fault| fault.place);
            return refuse(input, &faults, arguments.check, output);
        }
    };
    if input.is_remote {
        let refused = script.called(&known).into_iter().filter(|(server, tool, _)| {
            servers.found.get(*server).is_some_and(|found| !found.server.lets_remote_use(tool))
        });
        let fault = |(server, tool, place): (&str, &str, Place)| {
            let tool = printable(tool);
            let message = format!(
                "a template that is not a local file may not call `{tool}` of `{server}`; to allow it, add the tool \
                 to `remote_use` of the server"
            );
            Fault::new(place, message)
        };
        faults.extend(refused.map(fault));
        faults.truncate(MOST_FAULTS);
    }
    if !faults.is_empty() {
        return refuse(input, &faults, arguments.check, output);
    }
    if arguments.check {
        return approve(input, script, &checked, output);
    }
    let mut tools = Toolset::builder().names_from(config);
    for (name, found) in servers.found.iter().filter(|(name, _)| checked.tools(name).next().is_some()) {
        let options = Patience::new(arguments.timeout).options();
        tools = tools.server(name, &found.listed.tools, found.client.clone().with_call_options(options));
    }
    let tools = tools.build()?;
    let name = input.path.display().to_string();
    let read = if input.is_remote { Template::remote(name, &input.text) } else { Template::new(name, &input.text) };
    let outcome = match read {
        Ok(template) => {
            let fillings = input.fillings.clone();
            let completer = move |CompletionRequest { name, .. }| {
                ready(fillings.get(&name).cloned().ok_or_else(|| format!("pass it with `--fill {name}=..`")))
            };
            template.run(&tools).with_all(&input.variables).completer(completer).await
        }
        Err(error) => Err(error),
    };
    match outcome {
        Ok(rendered) => print(input, &rendered, output),
        Err(error) => tell(input, &error, output),
    }
}

/// Refuses variables that the template does not use, and slots without a completer.
fn check_given(script: &Script, input: &Input) -> Result<()> {
    let unknown = |fact: &str, name: &str, verb: &str, known: Vec<&str>| {
        let help =
            did_you_mean(name, known.iter().copied()).unwrap_or_else(|| format!("it {verb} {}", in_ticks(known)));
        Err(Failure::usage(format!("the template {fact} `{name}`")).with_help(help))
    };
    if let Some(name) = input.variables.keys().find(|name| !script.may_use(name)) {
        return unknown("uses no variable", name, "uses", script.variables().collect());
    }
    if let Some(name) = input.fillings.keys().find(|name| !script.may_complete(name)) {
        return unknown("has no slot", name, "has", script.completions().filter_map(|(_, name)| name).collect());
    }
    let open = |(_, name): &(Place, Option<&str>)| name.is_some_and(|name| !input.fillings.contains_key(name));
    if let Some((place, Some(name))) = script.completions().find(open) {
        let fault = Fault::new(place, format!("slot `{name}` needs a model, and this command has none"));
        let help = format!("pass it with `--fill {name}=..`, or run the template from a program with a completer");
        return Err(Failure::usage(located(&fault, &input.path, &input.text)).with_help(help));
    }
    Ok(())
}

/// Tells the faults of a template.
fn refuse(input: &Input, faults: &[Fault], is_checked: bool, output: &mut Output) -> Result<Exit> {
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
fn approve(input: &Input, script: &Script, checked: &Checked<'_>, output: &mut Output) -> Result<Exit> {
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

fn print(input: &Input, rendered: &RenderedTemplate, output: &mut Output) -> Result<Exit> {
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
    output.done(&json!({
        "format": 1,
        "text": text,
        "segments": segments.collect::<Value>(),
        "variables": rendered.variables,
        "calls": calls.collect::<Value>(),
    }))
}

/// Prints the problems of a failed run, each with its position.
fn tell(input: &Input, error: &TemplateError, output: &mut Output) -> Result<Exit> {
    for problem in error.problems() {
        let message = match &problem.action {
            Some(action) => format!("`{}`: {}", printable(action), problem.message),
            None => problem.message.clone(),
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
    Ok(Exit::of_all(error.problems().iter().map(|problem| match &problem.kind {
        TemplateErrorKind::Call(error) => Failure::from((**error).clone()).exit,
        _ => Exit::Failed,
    })))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(assignments: &[&str]) -> Result<Map<String, Value>, String> {
        let assignments: Vec<String> = assignments.iter().map(|text| (*text).to_owned()).collect();
        values("--set", &assignments).map_err(|failure| failure.message)
    }

    #[test]
    fn assignments_parse_as_text_or_json() {
        let values = read(&["a=5", "b:=5", "c==", "d:={\"x\": \"y=z\"}", "e="]);
        assert_eq!(values.map(Value::Object), Ok(json!({"a": "5", "b": 5, "c": "=", "d": {"x": "y=z"}, "e": ""})));
    }

    #[test]
    fn malformed_assignment_is_an_error() {
        for (assignments, said) in [
            (&["a"][..], "missing value"),
            (&["=a"], "invalid variable name"),
            (&["1a=b"], "invalid variable name"),
            (&["a b=c"], "invalid variable name"),
            (&["a:=b"], "not JSON"),
            (&["a=1", "a:=1"], "duplicate"),
        ] {
            let error = read(assignments).err().unwrap_or_default();
            assert!(error.contains(said), "{assignments:?}: {error}");
        }
    }
}

//! `learn`: the type of a tool's result from results, into the server's overrides.

mod values;

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use mcp_codegen::{Bindings, ToolBinding, apply_overrides, format_types};
use mcp_model::{
    Config, FileError, Overrides, ServerConfig, Snapshot, ToolOverride, matches_glob, nearest, printable,
    write_if_changed,
};
use mcp_runtime::middleware::ApprovalAnswer;
use mcp_runtime::{Cassette, Client, ClientOptions, ToolResult};
use mcp_schema::infer::Sample;
use serde_json::{Map, Value, json};

use super::source::{self, Bound};
use crate::args;
use crate::exit::{Exit, Failure};
use crate::live::{self, Patience};
use crate::output::Output;
use crate::project;
use crate::report::counted;
use crate::terminal;

/// What is to be learned, with everything checked that can be before a server is asked.
pub(crate) struct Plan {
    config: Config,
    arguments: args::Learn,
    server: ServerConfig,
    bound: Bound,
    /// Of the server, without overrides.
    declared: Snapshot,
    overrides: Overrides,
    /// What is said of the tool already.
    said: ToolOverride,
    known: Sample,
    /// Results that need no call.
    results: Vec<ToolResult>,
    calls: Vec<Map<String, Value>>,
}

impl Plan {
    /// Reads and checks; asks on the terminal whether the tool may be called, where that is the question.
    pub(crate) fn new(config: Option<&Path>, arguments: args::Learn, output: &mut Output) -> Result<Self, Failure> {
        let config = project::load(config, output)?;
        let server = config.server(&arguments.server)?.clone();
        let bound = source::of_server(&config, &server.name, None)?;
        let (_, declared) = source::load(&bound.path)?;
        let overrides = bound.overrides.clone().unwrap_or_default();
        let tool = Tool { server: &server, name: &arguments.tool, bound: &bound };
        let said = overrides.tools.get(&arguments.tool).cloned().unwrap_or_default();
        let described = tool.find(&declared)?;
        let known = tool.known(&said, described, arguments.replace)?;
        let results = recorded(&arguments, &server.name)?;
        let calls: Vec<_> = arguments.args.iter().map(|text| super::call::object(text)).collect::<Result<_, _>>()?;
        if !calls.is_empty() && !arguments.yes {
            tool.ask(described, calls.len())?;
        }
        Ok(Self { config, arguments, server, bound, declared, overrides, said, known, results, calls })
    }

    /// Calls the tool, and gives what it answered.
    async fn call(&mut self, output: &mut Output) -> Result<Vec<ToolResult>, Failure> {
        if self.calls.is_empty() {
            return Ok(Vec::new());
        }
        let mut server = self.server.clone();
        // Whoever had to agree has.
        let options = ClientOptions::new().on_approval(|_| async { ApprovalAnswer::Approve });
        server.timeout = self.arguments.timeout.or(server.timeout);
        let patience = Patience::new(self.arguments.timeout);
        let client = Client::for_snapshot(&self.config, &server, Some(&self.declared), options);
        let shown = format!("{}/{}", server.name, printable(&self.arguments.tool));
        let tool = self.arguments.tool.clone();
        let calls = std::mem::take(&mut self.calls);
        let calling = async {
            let mut results = Vec::new();
            let count = calls.len();
            for (place, arguments) in calls.into_iter().enumerate() {
                output.status("Calling", &format!("{shown} ({} of {count})", place + 1));
                results.push(super::call::answered(&client, &tool, arguments, &patience, output).await?);
            }
            Ok(results)
        };
        live::closing(client.clone(), calling).await
    }
}

/// The results of cassettes and files.
fn recorded(arguments: &args::Learn, server: &str) -> Result<Vec<ToolResult>, Failure> {
    let mut results = Vec::new();
    for path in &arguments.from {
        let cassette = Cassette::replay(path).map_err(|error| Failure::new(error.to_string()))?;
        let fault = |message: String| Failure::from(FileError::new(message).in_file(path));
        if let Some(other) = cassette.server().filter(|recorded| recorded != server) {
            return Err(fault(format!("the cassette is of server `{}`, not of `{server}`", printable(&other))));
        }
        let found = cassette.results(&arguments.tool);
        if found.is_empty() {
            return Err(fault(format!("the cassette has no result of `{}`", printable(&arguments.tool))));
        }
        results.extend(found);
    }
    for path in &arguments.from_file {
        results.push(values::read(path, server, &arguments.tool)?);
    }
    Ok(results)
}

/// The tool to learn of.
struct Tool<'a> {
    server: &'a ServerConfig,
    name: &'a str,
    bound: &'a Bound,
}

impl Tool<'_> {
    fn refused(&self, why: &str, help: &str) -> Failure {
        let shown = printable(self.name);
        Failure::new(format!("tool `{shown}` of server `{}` {why}\n  = help: {help}", self.server.name))
    }

    /// As the server declares it.
    fn find<'s>(&self, declared: &'s Snapshot) -> Result<&'s Value, Failure> {
        let named = || declared.tools.iter().filter_map(|tool| Some((tool, tool.get("name")?.as_str()?)));
        let Some((tool, _)) = named().find(|(_, name)| *name == self.name) else {
            let message = format!("server `{}` has no tool `{}`", self.server.name, printable(self.name));
            let help = match nearest(self.name, named().map(|(_, name)| name)).first() {
                Some(near) => format!("did you mean `{}`?", printable(near)),
                None => format!("`mcp-bindgen list {}` shows its tools", self.server.name),
            };
            return Err(FileError::new(message).in_file(&self.bound.path).with_help(help).into());
        };
        if !self.server.selects(self.name) {
            return Err(self.refused(
                "is left out by `tools` or `exclude` of the configuration",
                "let it be used there first; a tool that is not bound has no result type",
            ));
        }
        Ok(tool)
    }

    /// What was learned before. Nothing that a person or the server has said is replaced.
    fn known(&self, said: &ToolOverride, declared: &Value, replace: bool) -> Result<Sample, Failure> {
        match (&said.output_schema, said.learned_from) {
            (Some(schema), Some(_)) => Sample::of_schema(schema).ok_or_else(|| {
                self.refused(
                    "has a learned `outputSchema` that somebody has edited since: what was written there would be lost",
                    "remove `learnedFrom` to keep it as your own, or `outputSchema` and `learnedFrom` to learn anew",
                )
            }),
            (Some(_), None) => Err(self.refused(
                "has an `outputSchema` in the overrides that was written by hand, and stays as it is",
                "remove it there to learn one",
            )),
            (None, _) if said.patch.contains_key("outputSchema") => Err(self.refused(
                "has an `outputSchema` of the server's that the overrides patch by hand",
                "remove the patch of it to learn one",
            )),
            (None, _) if !replace && declared.get("outputSchema").is_some_and(Value::is_object) => {
                Err(self.refused("declares an `outputSchema` itself", "`--replace` puts what is learned in its place"))
            }
            (None, _) => Ok(Sample::default()),
        }
    }

    /// Whether it may be called, of whoever sits at the terminal.
    fn ask(&self, declared: &Value, count: usize) -> Result<(), Failure> {
        let says_read_only = declared.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
        let needs_approval = self.server.approve.iter().any(|pattern| matches_glob(pattern, self.name));
        let why = match (says_read_only, needs_approval) {
            (true, false) => return Ok(()),
            (_, true) => "needs an approval, says the configuration",
            (false, false) => "does not say that it only reads",
        };
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let shown = printable(self.name);
        let question = format!("tool `{shown}` of server `{}` {why}. Call it {times}?", self.server.name);
        match terminal::is_there().then(|| terminal::agrees(&question)).transpose()? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::new("nothing was called, and nothing learned")),
            None => Err(self.refused(why, "call it all the same with `--yes`")),
        }
    }
}

pub(crate) async fn run(mut plan: Plan, output: &mut Output) -> Result<Exit, Failure> {
    let called = plan.call(output).await?;
    let mut results = std::mem::take(&mut plan.results);
    results.extend(called);
    let all = results.len();
    results.retain(|result| !result.is_error && !result.needs_input());
    let failed = all - results.len();
    if failed > 0 {
        output.warning(&format!("{} of the tool's: nothing is learned from that", counted(failed, "error")));
    }
    if results.is_empty() {
        let message = "there is nothing to learn: every result is an error".to_owned();
        return Err(Failure { exit: Exit::ToolError, message });
    }
    let values = values::of(&results, &plan.known)?;
    if values.empty > 0 {
        let results = counted(values.empty, "result");
        output.warning(&format!("{results} without structured content and text: there is no value to learn from"));
    }
    let mut sample = plan.known.clone();
    sample.merge(&values.sample);
    put(plan, &sample, values.count, output)
}

/// Writes what was learned, and shows what it gives.
fn put(plan: Plan, sample: &Sample, count: u64, output: &mut Output) -> Result<Exit, Failure> {
    let Plan { mut said, mut overrides, mut bound, arguments, declared, server, .. } = plan;
    let learned_from = said.learned_from.unwrap_or_default().saturating_add(count);
    said.output_schema = Some(sample.schema());
    said.learned_from = Some(learned_from);
    overrides.put(&arguments.tool, said);
    let path = Overrides::beside(&bound.path);
    bound.snapshot = apply_overrides(&declared, &overrides).map_err(source::misfits)?;
    let (binding, types) = types(&bound, &arguments.tool)?;
    let text = overrides.source();
    let is_new = !path.exists();
    let status = match arguments.dry_run {
        true => "not-written",
        false if write_if_changed(&path, text.as_bytes())? => "written",
        false => "unchanged",
    };
    if is_new && status == "written" {
        touch(&bound.path);
    }
    let shown = format!("{}/{}", server.name, printable(&arguments.tool));
    let (results, is_first) = (if count == 1 { "result" } else { "results" }, learned_from == count);
    let from =
        if is_first { format!("{count} {results}") } else { format!("{count} more {results}, {learned_from} in all") };
    output.status("Learned", &format!("{shown} -> {} from {from}", binding.returns));
    tell_file(&path, status, output);
    if output.json() {
        output.data_json(&json!({
            "format": 1,
            "server": server.name,
            "tool": arguments.tool,
            "file": path,
            "status": status,
            "results": count,
            "learnedFrom": learned_from,
            "outputSchema": sample.schema(),
            "output_type": binding.output_type,
            "returns": binding.returns,
            "source": types,
        }))?;
    } else {
        output.code(types.trim_end())?;
    }
    Ok(Exit::Done)
}

/// Has cargo build anew what was built before there were overrides: it watches files that were there, and the snapshot
/// was. Where that cannot be touched, nothing is lost but this.
fn touch(snapshot: &Path) {
    let _ = File::options().append(true).open(snapshot).and_then(|file| file.set_modified(SystemTime::now()));
}

fn tell_file(path: &Path, status: &str, output: &mut Output) {
    let word = match status {
        "written" => "Wrote",
        "unchanged" => "Unchanged",
        _ => "Not written",
    };
    output.status(word, &path.display().to_string());
}

/// The names of a tool's bindings, and the types of its result.
fn types(bound: &Bound, tool: &str) -> Result<(ToolBinding, String), Failure> {
    let (tools, _) = Bindings::describe(&bound.snapshot, &bound.options);
    let Some(binding) = tools.iter().find(|binding| binding.tool == tool) else {
        return Err(Failure::new(format!("tool `{}` has no bindings", printable(tool))));
    };
    let Some(output) = binding.output_type.as_deref() else {
        return Ok((binding.clone(), String::new()));
    };
    // Another tool's name may begin as this one's type does.
    let names = || tools.iter().flat_map(|tool| [Some(&tool.params_type), tool.output_type.as_ref()]).flatten();
    let others: Vec<&String> = names().filter(|name| name.len() > output.len() && name.starts_with(output)).collect();
    let is_wanted = |name: &str| name.starts_with(output) && !others.iter().any(|other| name.starts_with(*other));
    let (tokens, _) = Bindings::generate(&bound.snapshot, &bound.options);
    let types = format_types(tokens, is_wanted)
        .map_err(|error| Failure::new(format!("the generated code cannot be formatted: {error}")))?;
    Ok((binding.clone(), types))
}

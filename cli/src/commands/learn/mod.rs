//! `learn`: the type of a tool's result from results, into the server's overrides.

mod values;

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use mcp_bindgen_codegen::{Bindings, ToolBinding, format_types, snapshot_for_bindings};
use mcp_bindgen_model::{Config, FileError, Overrides, ServerConfig, Snapshot, printable, write_if_changed};
use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{Cassette, ClientOptions, KnownSecrets, LocalSecrets, ToolResult};
use mcp_bindgen_schema::infer::Sample;
use serde_json::{Map, Value, json};

use crate::args;
use crate::exit::{Exit, Failure};
use crate::flags::{input_schema, name_of};
use crate::live::{self, Patience};
use crate::lock::Lock;
use crate::output::Output;
use crate::project;
use crate::report::counted;
use crate::source::{self, Bound};
use crate::terminal;
use crate::text::did_you_mean;

/// The number of results from which a property can be required.
const FEWEST_TO_REQUIRE: u64 = 3;

/// The plan of `learn`, with everything checked that can be before a server is asked.
pub(crate) struct Plan {
    config: Config,
    arguments: args::Learn,
    server: ServerConfig,
    bound: Bound,
    /// The snapshot of the server, without overrides.
    declared: Snapshot,
    /// Results that need no call.
    results: Vec<ToolResult>,
    calls: Vec<Map<String, Value>>,
}

impl Plan {
    /// Reads and checks the arguments, and asks on the terminal whether the tool may be called if that is required.
    pub(crate) fn new(config: Option<&Path>, arguments: args::Learn, output: &mut Output) -> Result<Self, Failure> {
        let config = project::load(config, output)?;
        let server = config.server(&arguments.server)?.clone();
        let bound = source::of_server(&config, &server.name, None)?;
        let (_, declared) = source::load(&bound.path)?;
        let tool = Tool { server: &server, name: &arguments.tool, path: &bound.path };
        let described = tool.find(&declared)?;
        tool.known(bound.overrides.as_ref(), described, arguments.replace)?;
        let results = recorded(&arguments, &server.name)?;
        let calls: Vec<_> = arguments.args.iter().map(|text| super::call::object(text)).collect::<Result<_, _>>()?;
        let is_it = |tool: &&Value| name_of(tool) == Some(&arguments.tool);
        let mended = bound.snapshot.tools.iter().find(is_it).unwrap_or(described);
        calls.iter().try_for_each(|call| super::call::check(input_schema(mended), call, output))?;
        if !calls.is_empty() && !arguments.yes {
            tool.ask(described, calls.len())?;
        }
        Ok(Self { config, arguments, server, bound, declared, results, calls })
    }

    /// Calls the tool until a call fails, and returns the results and the failure.
    async fn call(&mut self, output: &mut Output) -> (Vec<ToolResult>, Option<Failure>) {
        if self.calls.is_empty() {
            return (Vec::new(), None);
        }
        let mut server = self.server.clone();
        // Approval was already given.
        let options = ClientOptions::new().on_approval(|_| async { ApprovalAnswer::Approve });
        server.timeout = self.arguments.timeout.or(server.timeout);
        let patience = Patience::new(self.arguments.timeout);
        let client = live::client_knowing(&self.config, &server, Some(&self.declared), options);
        let shown = format!("{}/{}", server.name, printable(&self.arguments.tool));
        let tool = self.arguments.tool.clone();
        let calls = std::mem::take(&mut self.calls);
        let calling = async {
            let mut results = Vec::new();
            let count = calls.len();
            for (place, arguments) in calls.into_iter().enumerate() {
                output.status("Calling", &format!("{shown} ({} of {count})", place + 1));
                match super::call::answered(&client, &tool, arguments, &patience, output).await {
                    Ok(result) => results.push(result),
                    Err(failure) => return (results, Some(failure)),
                }
            }
            (results, None)
        };
        live::closing(client.clone(), calling).await
    }
}

/// Returns the results of cassettes and files.
fn recorded(arguments: &args::Learn, server: &str) -> Result<Vec<ToolResult>, Failure> {
    let mut results = Vec::new();
    for path in &arguments.from {
        let cassette = Cassette::replay(path).map_err(Failure::of)?;
        let fault = |message: String| Failure::from(FileError::new(message).in_file(path));
        if let Some(other) = cassette.server().filter(|recorded| recorded != server) {
            let other = printable(&other);
            return Err(fault(format!("the cassette was recorded with server `{other}`, not `{server}`")));
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
    /// The path of the snapshot.
    path: &'a Path,
}

impl Tool<'_> {
    fn refused(&self, why: &str, help: &str) -> Failure {
        let shown = printable(self.name);
        Failure::new(format!("tool `{shown}` of server `{}` {why}\n  = help: {help}", self.server.name))
    }

    /// Returns the tool as the server declares it.
    fn find<'s>(&self, declared: &'s Snapshot) -> Result<&'s Value, Failure> {
        let Some(tool) = declared.tools.iter().find(|tool| name_of(tool) == Some(self.name)) else {
            let message = format!("server `{}` has no tool `{}`", self.server.name, printable(self.name));
            let help = did_you_mean(self.name, declared.tools.iter().filter_map(name_of))
                .unwrap_or_else(|| format!("`mcp-bindgen list {}` shows its tools", self.server.name));
            return Err(FileError::new(message).in_file(self.path).with_help(help).into());
        };
        if !self.server.selects(self.name) {
            return Err(self.refused(
                "is excluded by `tools` or `exclude` of the configuration",
                "select it there first; a tool that is not bound has no result type",
            ));
        }
        Ok(tool)
    }

    /// Returns the schema that was learned before. Nothing that a person or the server wrote is replaced.
    fn known(&self, overrides: Option<&Overrides>, declared: &Value, replace: bool) -> Result<Sample, Failure> {
        let said = overrides.and_then(|overrides| overrides.tools.get(self.name));
        match said.map(|said| (&said.output_schema, said.learned_from)) {
            Some((Some(schema), Some(_))) => Sample::of_schema(schema).ok_or_else(|| {
                self.refused(
                    "has a learned `outputSchema` with manual edits, which would be lost",
                    "remove `learnedFrom` to keep it as your own, or `outputSchema` and `learnedFrom` to learn again",
                )
            }),
            Some((Some(_), None)) => Err(self.refused(
                "has a hand-written `outputSchema` in the overrides, which is not replaced",
                "remove it there to learn one",
            )),
            _ if said.is_some_and(|said| said.patch.contains_key("outputSchema")) => Err(self.refused(
                "has an `outputSchema` that the overrides patch by hand",
                "remove the patch of it to learn one",
            )),
            _ if !replace && declared.get("outputSchema").is_some_and(Value::is_object) => {
                Err(self
                    .refused("declares an `outputSchema` itself", "use `--replace` to replace it with the learned one"))
            }
            _ => Ok(Sample::default()),
        }
    }

    /// Asks the user at the terminal whether the tool may be called.
    fn ask(&self, declared: &Value, count: usize) -> Result<(), Failure> {
        let says_read_only = declared.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
        let needs_approval = self.server.needs_approval(self.name);
        let why = match (says_read_only, needs_approval) {
            (true, false) => return Ok(()),
            (_, true) => "requires approval",
            (false, false) => "is not marked read-only",
        };
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let shown = printable(self.name);
        let question = format!("tool `{shown}` of server `{}` {why}. Call it {times}?", self.server.name);
        match terminal::asked(&question)? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::new("nothing was called, and nothing learned")),
            None => Err(self.refused(why, "call it anyway with `--yes`")),
        }
    }
}

pub(crate) async fn run(mut plan: Plan, output: &mut Output) -> Result<Exit, Failure> {
    let (called, failure) = plan.call(output).await;
    let mut results = std::mem::take(&mut plan.results);
    results.extend(called);
    let exit = match failure {
        Some(failure) if results.is_empty() => return Err(failure),
        // Results so far are kept.
        failure => failure.map(|failure| output.failure(&failure)),
    };
    let all = results.len();
    results.retain(|result| !result.is_error && !result.needs_input());
    let failed = all - results.len();
    if failed > 0 {
        output.warning(&format!("{} of the tool: nothing is learned from errors", counted(failed, "error")));
    }
    if results.is_empty() {
        let message = "there is nothing to learn: every result is an error".to_owned();
        return Err(Failure { exit: Exit::ToolError, message });
    }
    let secrets = KnownSecrets::of(&plan.server, &LocalSecrets).await;
    put(plan, &results, &secrets, output)?;
    Ok(exit.unwrap_or(Exit::Done))
}

/// Writes the learned overrides, and shows their effect. Concurrent changes of the file are kept.
fn put(plan: Plan, results: &[ToolResult], secrets: &KnownSecrets, output: &mut Output) -> Result<(), Failure> {
    let Plan { config, mut bound, arguments, declared, server, .. } = plan;
    let path = Overrides::beside(&bound.path);
    let lock = if arguments.dry_run { None } else { Some(Lock::of(&bound.path)?) };
    project::still_has(&config, &server.name)?;
    let mut overrides = Overrides::load_beside(&bound.path)?.unwrap_or_default();
    let tool = Tool { server: &server, name: &arguments.tool, path: &bound.path };
    let mut sample = tool.known(Some(&overrides), tool.find(&declared)?, arguments.replace)?;
    let values = values::of(results, &sample, secrets)?;
    if values.empty > 0 {
        let results = counted(values.empty, "result");
        output.warning(&format!("{results} without structured content or text: there is no value to learn from"));
    }
    sample.merge(&values.sample);
    let count = values.count;
    let mut said = overrides.tools.get(&arguments.tool).cloned().unwrap_or_default();
    let learned_from = said.learned_from.unwrap_or_default().saturating_add(count);
    let schema = match arguments.required || learned_from >= FEWEST_TO_REQUIRE {
        true => sample.schema(),
        false => sample.schema_of_few(),
    };
    let is_left_optional = schema != sample.schema();
    said.output_schema = Some(schema.clone());
    said.learned_from = Some(learned_from);
    overrides.put(&arguments.tool, said);
    bound.snapshot = snapshot_for_bindings(declared, Some(&overrides), Some(&server)).map_err(source::misfits)?;
    let (binding, types) = types(&bound, &arguments.tool)?;
    let text = overrides.source();
    let is_new = !path.exists();
    let (word, status) = match arguments.dry_run {
        true => ("Not written", "not-written"),
        false if write_if_changed(&path, text.as_bytes())? => ("Wrote", "written"),
        false => ("Unchanged", "unchanged"),
    };
    if is_new && status == "written" {
        touch(&bound.path);
    }
    drop(lock);
    let shown = format!("{}/{}", server.name, printable(&arguments.tool));
    let (results, is_first) = (if count == 1 { "result" } else { "results" }, learned_from == count);
    let from =
        if is_first { format!("{count} {results}") } else { format!("{count} more {results}, {learned_from} in all") };
    output.status("Learned", &format!("{shown} -> {} from {from}", binding.returns));
    output.status(word, &path.display().to_string());
    if is_left_optional {
        let from = format!("below {FEWEST_TO_REQUIRE} results every field is optional");
        output.status("", &format!("{from}: learn from more, or require what all of them have with `--required`"));
    }
    output.report(&json!({
        "format": 1,
        "server": server.name,
        "tool": arguments.tool,
        "file": path,
        "status": status,
        "results": count,
        "learnedFrom": learned_from,
        "outputSchema": schema,
        "output_type": binding.output_type,
        "returns": binding.returns,
        "source": types,
    }))?;
    output.code(types.trim_end())
}

/// Makes cargo rebuild crates that were built before the overrides existed: it watches the snapshot, which existed. A
/// failure has no other effect.
fn touch(snapshot: &Path) {
    let _ = File::options().append(true).open(snapshot).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Returns the names of a tool's bindings, and the types of its result.
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
        .map_err(|error| Failure::new(format!("failed to format the generated code: {error}")))?;
    Ok((binding.clone(), types))
}

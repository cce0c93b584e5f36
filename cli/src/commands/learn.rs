//! `learn`: the type of a tool's result from results, into the server's overrides.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use mcp_bindgen_codegen::{Bindings, ToolBinding, format_types, snapshot_for_bindings};
use mcp_bindgen_model::{Config, FileError, Overrides, ServerConfig, Snapshot, printable, read_text, write_if_changed};
use mcp_bindgen_runtime::middleware::ApprovalAnswer;
use mcp_bindgen_runtime::{Cassette, ClientOptions, Content, KnownSecrets, LocalSecrets, ToolResult};
use mcp_bindgen_schema::infer::Sample;
use serde_json::{Map, Value, json};

use super::call::{answered, arguments};
use crate::args;
use crate::changes::lock;
use crate::exit::{Exit, Failure, Result};
use crate::flags::{input_schema, name_of};
use crate::live::{self, Patience};
use crate::output::Output;
use crate::report::counted;
use crate::source::{self, Bound};
use crate::text::did_you_mean;
use crate::{project, terminal};

/// The number of results from which a property can be required.
const FEWEST_TO_REQUIRE: u64 = 3;
/// The text in place of a secret in recordings.
const REDACTED: &str = "[redacted]";

/// The tool to learn of.
struct Lesson<'a> {
    config: &'a Config,
    server: &'a ServerConfig,
    arguments: &'a args::Learn,
    /// The path of the snapshot.
    path: &'a Path,
    /// The snapshot of the server, without overrides.
    declared: &'a Snapshot,
}

pub(crate) async fn run(config: Option<&Path>, wanted: &args::Learn, output: &mut Output) -> Result<Exit> {
    let config = project::load(config, output)?;
    let server = config.server(&wanted.server)?;
    let bound = source::of_server(&config, &server.name, None)?;
    let (path, (_, declared)) = (bound.path.clone(), source::load(&bound.path)?);
    let lesson = Lesson { config: &config, server, arguments: wanted, path: &path, declared: &declared };
    // Everything is checked that can be before a server is asked.
    let tool = lesson.find()?;
    lesson.known(bound.overrides.as_ref(), tool)?;
    let mut results = lesson.recorded()?;
    let calls = wanted.args.iter().map(|text| arguments::object(text)).collect::<Result<Vec<_>, _>>()?;
    let is_it = |tool: &&Value| name_of(tool) == Some(&wanted.tool);
    let mended = bound.snapshot.tools.iter().find(is_it).unwrap_or(tool);
    calls.iter().try_for_each(|call| arguments::check(input_schema(mended), call, output))?;
    if !calls.is_empty() && !wanted.yes {
        lesson.ask(tool, calls.len())?;
    }
    let exit = match lesson.call(calls, &mut results, output).await {
        Ok(()) => Exit::Done,
        Err(failure) if results.is_empty() => return Err(failure),
        // Results so far are kept.
        Err(failure) => output.failure(&failure),
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
    let secrets = KnownSecrets::of(server, &LocalSecrets).await;
    lesson.put(bound, &results, &secrets, output)?;
    Ok(exit)
}

impl Lesson<'_> {
    /// Formats the server and the tool.
    fn shown(&self) -> String {
        format!("{}/{}", self.server.name, printable(&self.arguments.tool))
    }

    fn refused(&self, why: &str, help: &str) -> Failure {
        let (tool, server) = (printable(&self.arguments.tool), &self.server.name);
        Failure::new(format!("tool `{tool}` of server `{server}` {why}")).with_help(help)
    }

    /// Returns the tool as the server declares it.
    fn find(&self) -> Result<&Value> {
        let (name, server) = (self.arguments.tool.as_str(), &self.server.name);
        let Some(tool) = self.declared.tools.iter().find(|tool| name_of(tool) == Some(name)) else {
            let message = format!("server `{server}` has no tool `{}`", printable(name));
            let help = did_you_mean(name, self.declared.tools.iter().filter_map(name_of))
                .unwrap_or_else(|| format!("`mcp-bindgen list {server}` shows its tools"));
            return Err(FileError::new(message).in_file(self.path).with_help(help).into());
        };
        if !self.server.selects(name) {
            return Err(self.refused(
                "is excluded by `tools` or `exclude` of the configuration",
                "select it there first; a tool that is not bound has no result type",
            ));
        }
        Ok(tool)
    }

    /// Returns the schema that was learned before. Nothing that a person or the server wrote is replaced.
    fn known(&self, overrides: Option<&Overrides>, declared: &Value) -> Result<Sample> {
        let said = overrides.and_then(|overrides| overrides.tools.get(&self.arguments.tool));
        let (why, help) = match said.map(|said| (&said.output_schema, said.learned_from)) {
            Some((Some(schema), Some(_))) => match Sample::of_schema(schema) {
                Some(sample) => return Ok(sample),
                None => (
                    "has a learned `outputSchema` with manual edits, which would be lost",
                    "remove `learnedFrom` to keep it as your own, or `outputSchema` and `learnedFrom` to learn again",
                ),
            },
            Some((Some(_), None)) => (
                "has a hand-written `outputSchema` in the overrides, which is not replaced",
                "remove it there to learn one",
            ),
            _ if said.is_some_and(|said| said.patch.contains_key("outputSchema")) => {
                ("has an `outputSchema` that the overrides patch by hand", "remove the patch of it to learn one")
            }
            _ if !self.arguments.replace && declared.get("outputSchema").is_some_and(Value::is_object) => {
                ("declares an `outputSchema` itself", "use `--replace` to replace it with the learned one")
            }
            _ => return Ok(Sample::default()),
        };
        Err(self.refused(why, help))
    }

    /// Returns the results of cassettes and files, which need no call.
    fn recorded(&self) -> Result<Vec<ToolResult>> {
        let (tool, server) = (&self.arguments.tool, &self.server.name);
        let mut results = Vec::new();
        for path in &self.arguments.from {
            let cassette = Cassette::replay(path)?;
            let fault = |message: String| Failure::from(FileError::new(message).in_file(path));
            if let Some(other) = cassette.server().filter(|recorded| recorded != server) {
                let other = printable(&other);
                return Err(fault(format!("the cassette was recorded with server `{other}`, not `{server}`")));
            }
            let found = cassette.results(tool);
            if found.is_empty() {
                return Err(fault(format!("the cassette has no result of `{}`", printable(tool))));
            }
            results.extend(found);
        }
        for path in &self.arguments.from_file {
            results.push(read(path, server, tool)?);
        }
        Ok(results)
    }

    /// Asks the user at the terminal whether the tool may be called.
    fn ask(&self, declared: &Value, count: usize) -> Result<()> {
        let says_read_only = declared.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true));
        let why = match self.server.needs_approval(&self.arguments.tool) {
            true => "requires approval",
            false if says_read_only => return Ok(()),
            false => "is not marked read-only",
        };
        let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let (tool, server) = (printable(&self.arguments.tool), &self.server.name);
        match terminal::asked(&format!("tool `{tool}` of server `{server}` {why}. Call it {times}?"))? {
            Some(true) => Ok(()),
            Some(false) => Err(Failure::new("nothing was called, and nothing learned")),
            None => Err(self.refused(why, "call it anyway with `--yes`")),
        }
    }

    /// Calls the tool, and adds its results, until a call fails.
    async fn call(
        &self,
        calls: Vec<Map<String, Value>>,
        results: &mut Vec<ToolResult>,
        output: &mut Output,
    ) -> Result<()> {
        let timeout = self.arguments.timeout;
        let mut server = self.server.clone();
        server.timeout = timeout.or(server.timeout);
        // Approval was already given.
        let options = ClientOptions::new().on_approval(|_| async { ApprovalAnswer::Approve });
        let client = live::client_knowing(self.config, &server, Some(self.declared), options);
        live::closing(&client, async {
            let count = calls.len();
            for (place, arguments) in calls.into_iter().enumerate() {
                output.status("Calling", &format!("{} ({} of {count})", self.shown(), place + 1));
                let patience = Patience::new(timeout);
                results.push(answered(&client, &self.arguments.tool, arguments, &patience, output).await?);
            }
            Ok(())
        })
        .await
    }

    /// Writes the learned overrides, and shows their effect. Concurrent changes of the file are kept.
    fn put(&self, mut bound: Bound, results: &[ToolResult], secrets: &KnownSecrets, output: &mut Output) -> Result<()> {
        let Self { config, server, arguments, path: snapshot, declared } = *self;
        let path = Overrides::beside(snapshot);
        let lock = if arguments.dry_run { None } else { lock(snapshot)? };
        project::still_has(config, &server.name)?;
        let mut overrides = Overrides::load_beside(snapshot)?.unwrap_or_default();
        let mut sample = self.known(Some(&overrides), self.find()?)?;
        let values = values(results, &sample, secrets)?;
        if values.empty > 0 {
            let results = counted(values.empty, "result");
            output.warning(&format!("{results} without structured content or text: there is no value to learn from"));
        }
        sample.merge(&values.sample);
        let count = values.count;
        let mut said = overrides.tools.get(&arguments.tool).cloned().unwrap_or_default();
        let learned_from = said.learned_from.unwrap_or_default().saturating_add(count as u64);
        let complete = sample.schema();
        let is_enough = arguments.required || learned_from >= FEWEST_TO_REQUIRE;
        let schema = if is_enough { complete.clone() } else { sample.schema_of_few() };
        said.output_schema = Some(schema.clone());
        said.learned_from = Some(learned_from);
        overrides.put(&arguments.tool, said);
        bound.snapshot =
            snapshot_for_bindings(declared.clone(), Some(&overrides), Some(server)).map_err(source::misfits)?;
        let (binding, types) = types(&bound, &arguments.tool)?;
        let is_new = !path.exists();
        let (word, status) = match arguments.dry_run {
            true => ("Not written", "not-written"),
            false if write_if_changed(&path, overrides.source().as_bytes())? => ("Wrote", "written"),
            false => ("Unchanged", "unchanged"),
        };
        if is_new && status == "written" {
            touch(snapshot);
        }
        drop(lock);
        let from = match learned_from == count as u64 {
            true => counted(count, "result"),
            false => format!("{}, {learned_from} in all", counted(count, "more result")),
        };
        output.status("Learned", &format!("{} -> {} from {from}", self.shown(), binding.returns));
        output.status(word, &path.display().to_string());
        if schema != complete {
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
}

/// Makes cargo rebuild crates that were built before the overrides existed: it watches the snapshot, which existed. A
/// failure has no other effect.
fn touch(snapshot: &Path) {
    let _ = File::options().append(true).open(snapshot).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Returns the names of a tool's bindings, and the types of its result.
fn types(bound: &Bound, tool: &str) -> Result<(ToolBinding, String)> {
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

/// The content of one result.
enum Held {
    /// Structured content, or text that is JSON only as a whole.
    Value(Value),
    /// Blocks of JSON: the items of a list. A single one may also be the value.
    Blocks(Vec<Value>),
    /// Text that is not JSON.
    Prose,
    Nothing,
}

/// The schema that was learned, and the number of results.
struct Values {
    sample: Sample,
    count: usize,
    /// Those without any value.
    empty: usize,
}

/// Collects the values of successful results as the runtime reads them, so that learned types can decode them; keys
/// that contain a secret are not field names. A server that returns a list as blocks returns a list of one item as one
/// block. Thus if some result has several blocks, or a list is `known`, a single other block is an item.
fn values(results: &[ToolResult], known: &Sample, secrets: &KnownSecrets) -> Result<Values> {
    let is_data = |key: &str| secrets.are_in(key) || key.contains(REDACTED);
    let held: Vec<Held> = results.iter().map(held).collect();
    let is_known = known.schema().get("type").is_some_and(|kind| kind == "array");
    let is_list = is_known || held.iter().any(|held| matches!(held, Held::Blocks(blocks) if blocks.len() > 1));
    if !held.is_empty() && held.iter().all(|held| matches!(held, Held::Prose | Held::Nothing)) {
        let help = "plain text can only be a `String`; write an `outputSchema` by hand for another type";
        let message = "there is nothing to learn: no result has structured content, and none is JSON";
        return Err(Failure::new(message).with_help(help));
    }
    let mut values = Values { sample: Sample::default(), count: 0, empty: 0 };
    for held in held {
        let value = match held {
            Held::Value(value) => value,
            Held::Blocks(blocks) => match blocks.as_slice() {
                [only] if !is_list || only.is_array() => only.clone(),
                _ => Value::Array(blocks),
            },
            Held::Prose => Value::String(String::new()),
            Held::Nothing => {
                values.empty += 1;
                continue;
            }
        };
        values.sample.merge(&Sample::of_keys(&value, is_data));
        values.count += 1;
    }
    Ok(values)
}

fn held(result: &ToolResult) -> Held {
    let texts: Vec<&str> = result.content.iter().filter_map(Content::as_text).collect();
    if let Some(structured) = result.structured().filter(|structured| !structured.is_null() || texts.is_empty()) {
        return Held::Value(structured.clone());
    }
    let blocks: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    match (texts.is_empty(), blocks.is_empty()) {
        (true, _) => Held::Nothing,
        (false, true) => serde_json::from_str(&result.text()).map_or(Held::Prose, Held::Value),
        (false, false) => Held::Blocks(blocks),
    }
}

/// Returns a result in a file: what `call --format json` prints and servers send, or any other JSON, which is the value
/// itself.
fn read(path: &Path, server: &str, tool: &str) -> Result<ToolResult> {
    let fault = |message: String| FileError::new(message).in_file(path);
    // Its text stays out of messages.
    let mut value: Value = serde_json::from_str(&read_text(path)?).map_err(|error| {
        fault("the file is not JSON".to_owned())
            .at(error.line().max(1), error.column().max(1))
            .with_help("expected the output of `mcp-bindgen call --format json`")
    })?;
    let Some(result) = value.as_object_mut().filter(|object| is_result(object)) else {
        return Ok(ToolResult::from_json(server, tool, json!({ "structuredContent": value })));
    };
    for (key, expected) in [("server", server), ("tool", tool)] {
        let said = result.shift_remove(key);
        if let Some(other) = said.as_ref().and_then(Value::as_str).filter(|said| *said != expected) {
            let message = format!("the result belongs to {key} `{}`, not `{}`", printable(other), printable(expected));
            return Err(fault(message).into());
        }
    }
    Ok(ToolResult::from_json(server, tool, value))
}

/// Returns `true` if an object is the result of a call, and not what some tool has found.
fn is_result(object: &Map<String, Value>) -> bool {
    let blocks = object.get("content").and_then(Value::as_array);
    let is_block = |block: &Value| block.get("type").is_some_and(Value::is_string);
    object.contains_key("structuredContent") || blocks.is_some_and(|blocks| blocks.iter().all(is_block))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use mcp_bindgen_model::ServerConfig;
    use mcp_bindgen_runtime::LocalSecrets;

    fn text(texts: &[&str]) -> ToolResult {
        let blocks: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        ToolResult::from_json("s", "t", json!({ "content": blocks }))
    }

    fn schema(results: &[ToolResult]) -> Value {
        values(results, &Sample::default(), &secrets()).unwrap().sample.schema()
    }

    fn secrets() -> KnownSecrets {
        let server = ServerConfig::stdio("s", "server").args(["--token", "8d0f2a4c6e80"]);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(KnownSecrets::of(&server, &LocalSecrets))
    }

    #[test]
    fn keys_with_secrets_become_map_entries() {
        let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
        assert_eq!(schema(&[text(&[r#"{ "x 8d0f2a4c6e80": 1, "y": 2 }"#])]), map);
        assert_eq!(schema(&[text(&[r#"{ "of [redacted]": 1 }"#])]), map);
    }

    #[test]
    fn values_are_extracted_as_the_runtime_decodes_them() {
        let integer = json!({ "type": "integer" });
        let list = json!({ "type": "array", "items": integer });
        let structured = ToolResult::from_json("s", "t", json!({ "content": [], "structuredContent": 1 }));
        let mut null = text(&["7"]);
        null.structured = Some(Value::Null);
        assert_eq!(schema(&[structured]), integer);
        assert_eq!(schema(&[null]), integer, "null is no content where there is text");
        assert_eq!(schema(&[text(&["Here:", "7"])]), integer);
        assert_eq!(schema(&[text(&["7", "8"])]), list);
        assert_eq!(schema(&[text(&["7", "8"]), text(&["9"])]), list, "a list of one");
        assert_eq!(schema(&[text(&["9"]), text(&["[7, 8]"])]), json!({ "anyOf": [integer, list] }));
        assert_eq!(schema(&[text(&["[", "7]"])]), list);
        assert_eq!(schema(&[text(&["None."]), text(&["7"])]), json!({ "anyOf": [integer, { "type": "string" }] }));
        assert!(values(&[text(&["None."])], &Sample::default(), &secrets()).is_err());
    }

    #[test]
    fn results_without_a_value_are_counted() {
        let values = values(&[text(&[]), text(&["7"])], &Sample::of(&json!([1])), &secrets()).unwrap();
        assert_eq!((values.count, values.empty), (1, 1));
        assert_eq!(
            values.sample.schema(),
            json!({ "type": "array", "items": { "type": "integer" } }),
            "lists are known"
        );
    }
}

//! `call`: calls a tool, with flags from its schema.

mod approval;
mod ask;
pub(super) mod files;
mod progress;
pub(super) mod request;
mod tool;

use std::ffi::OsString;
use std::path::Path;

use mcp_bindgen_model::{Snapshot, printable};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, ToolCall, ToolResult};
use mcp_bindgen_schema::flags::Flags;
use serde_json::{Map, Value, json};

use crate::args;
use crate::exit::{Exit, Failure};
use crate::flags::{behind, early, help, input_schema, name_of, own_options};
use crate::live::{self, Patience};
use crate::output::{Output, lines_printable};
use crate::project;
use crate::source;
use crate::text::command_line;
use progress::Shown;
pub(super) use request::{check, object};
use tool::Called;

pub(crate) async fn run(config: Option<&Path>, call: args::Call, output: &mut Output) -> Result<Exit, Failure> {
    let words = texts(call.words)?;
    let Some((tool, words)) = words.split_first() else {
        return Err(Failure::usage("missing tool name"));
    };
    let own = own_options::<args::CallOptions>();
    let early = early::<args::CallOptions>("call", &own, words, output)?;
    let config_path = early.config.as_deref().or(config);
    let mut options = over(early.options, call.options);

    let config = project::load(config_path, output)?;
    let mut server = config.server(&call.server)?.clone();
    let path = config.snapshot_path(&server.name);
    let known = known(&path, output);
    let called = Called { config: &config, server: config.server(&call.server)?, known: known.as_ref(), name: tool };
    let wire = called.wire(known.as_ref().map(|known| known.tools.as_slice()).unwrap_or_default());
    let tool = wire.as_str();
    if !early.help && !called.may_be_prefixed() {
        tool::admit(&server, tool)?;
    }
    source::check_patterns(&config, &server.name)?;
    let mut described = tool::of_snapshot(&called, &path, tool, output);

    let asked = ClientOptions::new().on_approval(move |request| approval::answer(options.yes, request));
    // The timeout also applies to requests before the call.
    server.timeout = options.timeout.or(server.timeout);
    let mut patience = Patience::new(options.timeout);
    let client = live::client_knowing(&config, &server, known.as_ref(), asked);
    live::closing(client.clone(), async {
        let described = match (described.take(), &known) {
            (Some(described), _) => described,
            // Help and dry runs do not start a server to check a name.
            (None, Some(known)) if early.help || options.dry_run => {
                return Err(tool::not_in(known, &server.name, tool));
            }
            (None, Some(known)) => {
                tool::asked_for(&client, &called, &mut patience).await.map_err(|failure| match failure.exit {
                    Exit::NotConnected => {
                        let unknown = tool::not_in(known, &server.name, tool).message;
                        Failure { message: format!("{unknown}\nerror: {}", failure.message), ..failure }
                    }
                    _ => failure,
                })?
            }
            (None, None) => tool::asked_for(&client, &called, &mut patience).await?,
        };
        let tool = name_of(&described).unwrap_or_default();
        if !early.help {
            tool::admit(&server, tool)?;
        }
        let flags = Flags::new(input_schema(&described), own);
        let split = flags.split(words);
        let late = behind::<args::CallOptions>("call", &split.own, output)?;
        if late.help {
            output.exact(&help("call", &server.name, tool, &described, &flags))?;
            return Ok(Exit::Done);
        }
        options.output = late.options.output.or(options.output);
        let mut given: Vec<String> = call.args.iter().map(|text| format!("--args={text}")).collect();
        given.extend(call.arg.iter().map(|text| format!("--arg={text}")));
        given.extend(split.rest);
        let (flags, given) = match options.interactive || late.options.interactive {
            true => ask::complete(flags, given).await?,
            false => (flags, given),
        };
        let (flags, arguments) = request::read(flags, given, ["call", &server.name, tool]).await?;
        request::check(input_schema(&described), &arguments, output)?;
        if options.dry_run {
            let call = ToolCall::new(server.name.clone(), tool.to_owned(), arguments.clone());
            let sent = call.viewed(server.views.get(tool))?.arguments;
            let equivalent = equivalent(config_path, &server.name, tool, &flags.print(&arguments));
            // Only a command that prints unchanged is the same command.
            if lines_printable(&equivalent) == equivalent {
                output.status("Equivalent", &equivalent);
            }
            let params = json!({ "name": tool, "arguments": sent });
            output.data_json(&json!({ "server": server.name, "method": "tools/call", "params": params }))?;
            return Ok(Exit::Done);
        }
        let folder = options.output.as_deref().map(files::Folder::prepare).transpose()?;
        let result = answered(&client, tool, arguments, &patience, output).await?;
        // Print first what cannot be obtained again.
        files::print(&result, folder.is_some(), output)?;
        let blobs = result.content.iter().filter_map(files::blob);
        let written = folder.map_or(Ok(()), |folder| folder.write(blobs, &result.tool, output));
        if result.is_error {
            output.error(&format!("tool `{}` of server `{}` returned an error", printable(tool), server.name));
        }
        written?;
        Ok(if result.is_error { Exit::ToolError } else { Exit::Done })
    })
    .await
}

/// Returns the snapshot, if it is readable.
fn known(path: &Path, output: &mut Output) -> Option<Snapshot> {
    if matches!(path.try_exists(), Ok(false)) {
        return None;
    }
    // An invalid snapshot is only a warning: the server is asked instead.
    Snapshot::load(path).map_err(|error| output.warning(&error.to_string())).ok()
}

/// Makes the call, and shows how far it is.
pub(super) async fn answered(
    client: &Client,
    tool: &str,
    arguments: Map<String, Value>,
    patience: &Patience,
    output: &mut Output,
) -> Result<ToolResult, Failure> {
    let (options, mut reports) = patience.options().progress_stream();
    let call = ToolCall::new(client.name().to_owned(), tool.to_owned(), arguments).with(options);
    let mut calling = std::pin::pin!(client.call_tool(call));
    let mut shown = Shown::default();
    let mut is_heard = true;
    let outcome = loop {
        tokio::select! {
            biased;
            report = reports.next(), if is_heard => match report {
                Some(report) => shown.show(&report, output),
                None => is_heard = false,
            },
            outcome = &mut calling => break outcome,
        }
    };
    output.end_transient();
    outcome.map_err(|error| patience.failure(error, client.config()))
}

/// Merges the options behind the tool's name over those before it.
fn over(behind: args::CallOptions, before: args::CallOptions) -> args::CallOptions {
    args::CallOptions {
        timeout: behind.timeout.or(before.timeout),
        yes: behind.yes || before.yes,
        interactive: behind.interactive || before.interactive,
        dry_run: behind.dry_run || before.dry_run,
        output: behind.output.or(before.output),
    }
}

/// Returns the words as text.
pub(super) fn texts(words: Vec<OsString>) -> Result<Vec<String>, Failure> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| Failure::usage(format!("`{}` is not UTF-8 text", word.to_string_lossy())))
    };
    words.into_iter().map(text).collect()
}

/// Returns the command with the shortest flags for the same arguments, as a shell takes it.
fn equivalent(config: Option<&Path>, server: &str, tool: &str, flags: &[String]) -> String {
    let config = config.map(|path| path.to_string_lossy().into_owned());
    let mut words = vec!["mcp-bindgen", "call"];
    words.extend(config.iter().flat_map(|path| ["--config", path.as_str()]));
    words.push(server);
    words.extend(tool.starts_with('-').then_some("--"));
    words.push(tool);
    words.extend(flags.iter().map(String::as_str));
    command_line(words)
}

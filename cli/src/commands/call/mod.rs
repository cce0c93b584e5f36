//! `call`: calls a tool, with flags from its schema.

pub(super) mod arguments;
pub(super) mod files;
mod tool;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_bindgen_model::{Snapshot, printable};
use mcp_bindgen_runtime::middleware::{ApprovalAnswer, ApprovalRequest};
use mcp_bindgen_runtime::{CallTool, Client, ClientOptions, Progress, ToolCall, ToolResult};
use mcp_bindgen_schema::flags::Flags;
use serde_json::{Map, Value, json};

use self::files::Folder;
use self::tool::Called;
use crate::exit::{Exit, Failure, Result};
use crate::flags::{behind, early, help, input_schema, name_of, own_options};
use crate::live::{self, Patience};
use crate::output::{Output, joined, lines_printable};
use crate::terminal::{self, apart};
use crate::text::{command_line, cut, terminal_width};
use crate::{args, project, source};

/// The limit on shown characters of the arguments in a question.
const LONGEST_SHOWN: usize = 4000;
/// The pause between shown reports of progress. A terminal gets no more lines than can be seen, a log no more than can
/// be read.
const EACH: Duration = Duration::from_millis(100);
const EACH_PLAIN: Duration = Duration::from_secs(1);
/// The maximum length of a report without a terminal.
const PLAIN_WIDTH: usize = 200;

pub(crate) async fn run(config: Option<&Path>, call: args::Call, output: &mut Output) -> Result<Exit> {
    let words = texts(call.words)?;
    let Some((name, words)) = words.split_first() else {
        return Err(Failure::usage("missing tool name"));
    };
    let own = own_options::<args::CallOptions>();
    let early = early::<args::CallOptions>("call", &own, words, output)?;
    let config_path = early.config.as_deref().or(config);
    let options = over(early.options, call.options);

    let config = project::load(config_path, output)?;
    let mut server = config.server(&call.server)?.clone();
    let path = config.snapshot_path(&server.name);
    let is_missing = matches!(path.try_exists(), Ok(false));
    // An invalid snapshot is only a warning: the server is asked instead.
    let known = Snapshot::load(path)
        .map_err(|error| {
            if !is_missing {
                output.warning(&error.to_string())
            }
        })
        .ok();
    let called = Called { config: &config, server: config.server(&call.server)?, known: known.as_ref(), name };
    let tool = called.wire(called.known_tools());
    if !early.help && !called.may_be_prefixed() {
        tool::admit(&server, &tool)?;
    }
    source::check_patterns(&config, &server.name)?;
    let described = called.of_snapshot(&tool, output);

    let is_approved = options.yes;
    let approving = ClientOptions::new().on_approval(move |request| approve(is_approved, request));
    // The timeout also applies to requests before the call.
    server.timeout = options.timeout.or(server.timeout);
    let mut patience = Patience::new(options.timeout);
    let client = live::client_knowing(&config, &server, known.as_ref(), approving);
    live::closing(&client, async {
        let described = match (described, called.unknown(&tool)) {
            (Some(described), _) => described,
            // Help and dry runs do not start a server to check a name.
            (None, Some(unknown)) if early.help || options.dry_run => return Err(unknown),
            (None, unknown) => called.listed(&client, &mut patience).await.map_err(|failure| match unknown {
                Some(Failure { message, .. }) if failure.exit == Exit::NotConnected => {
                    Failure { message: format!("{message}\nerror: {}", failure.message), ..failure }
                }
                _ => failure,
            })?,
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
        let options = over(late.options, options);
        let mut given: Vec<String> = call.args.iter().map(|text| format!("--args={text}")).collect();
        given.extend(call.arg.iter().map(|text| format!("--arg={text}")));
        given.extend(split.rest);
        let (flags, given) =
            if options.interactive { arguments::complete(flags, given).await? } else { (flags, given) };
        let (flags, arguments) = arguments::read(flags, given, ["call", &server.name, tool]).await?;
        arguments::check(input_schema(&described), &arguments, output)?;
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
        let folder = Folder::prepare(options.output.as_deref())?;
        let result = answered(&client, tool, arguments, &patience, output).await?;
        // Print first what cannot be obtained again.
        print(&result, &folder, output)?;
        let written = folder.write(&result.content, &result.tool, output);
        if result.is_error {
            output.error(&format!("tool `{}` of server `{}` returned an error", printable(tool), server.name));
        }
        written?;
        Ok(if result.is_error { Exit::ToolError } else { Exit::Done })
    })
    .await
}

/// Answers whether a call is approved, by `--yes` or on the terminal.
async fn approve(is_approved: bool, request: ApprovalRequest) -> ApprovalAnswer {
    if is_approved {
        return ApprovalAnswer::Approve;
    }
    if !terminal::is_there() {
        return ApprovalAnswer::Decline("approve this call with `--yes`".to_owned());
    }
    let (tool, server) = (printable(&request.tool), &request.server);
    let shown = lines_printable(&format!("{:#}", request.shown_arguments(LONGEST_SHOWN)));
    let reason = request.reason.as_ref().map(|reason| format!(" ({})", printable(reason))).unwrap_or_default();
    let question =
        format!("Tool `{tool}` of server `{server}` requires approval{reason}. Arguments:\n{shown}\nCall it?");
    match apart(move || terminal::agrees(&question)).await {
        Ok(Ok(true)) => ApprovalAnswer::Approve,
        Ok(Ok(false)) => ApprovalAnswer::Decline("declined at the terminal".to_owned()),
        Ok(Err(error)) => ApprovalAnswer::Decline(format!("failed to read from the terminal: {error}")),
        Err(failure) => ApprovalAnswer::Decline(failure.message),
    }
}

/// Makes the call, and shows how far it is.
pub(super) async fn answered(
    client: &Client,
    tool: &str,
    arguments: Map<String, Value>,
    patience: &Patience,
    output: &mut Output,
) -> Result<ToolResult> {
    let (options, mut reports) = patience.options().progress_stream();
    let call = ToolCall::new(client.name().to_owned(), tool.to_owned(), arguments).with(options);
    let mut calling = std::pin::pin!(client.call_tool(call));
    let mut shown = None;
    let outcome = loop {
        tokio::select! {
            biased;
            Some(report) = reports.next() => show(&report, &mut shown, output),
            outcome = &mut calling => break outcome,
        }
    };
    output.end_transient();
    outcome.map_err(|error| patience.failure(error, client.config()))
}

/// Shows the progress of a call, unless some was shown a moment before.
fn show(report: &Progress, shown: &mut Option<Instant>, output: &mut Output) {
    let each = if output.is_watched() { EACH } else { EACH_PLAIN };
    if shown.is_some_and(|shown| shown.elapsed() < each) {
        return;
    }
    *shown = Some(Instant::now());
    let total = report.total.map(|total| format!("/{total}")).unwrap_or_default();
    let message = report.message.as_ref().map(|message| format!(" {}", printable(message))).unwrap_or_default();
    let text = format!("{}{total}{message}", report.progress);
    if output.is_watched() {
        // One column stays free, or some terminals go on to the next line.
        output.transient(&cut(&format!("    Progress {text}"), terminal_width().saturating_sub(1)));
    } else {
        output.status("Progress", &cut(&text, PLAIN_WIDTH));
    }
}

/// Prints a result on stdout.
fn print(result: &ToolResult, folder: &Folder<'_>, output: &mut Output) -> Result<()> {
    if output.json() {
        // The result with its server and tool; `isError` is always present, even if the server omitted it.
        let of = json!({ "server": result.server, "tool": result.tool, "isError": result.is_error });
        return Ok(output.data_json(&joined(of, result.to_json()))?);
    }
    result.content.iter().try_for_each(|content| folder.print(content, output))?;
    match &result.structured {
        // Servers repeat structured results as text; otherwise it is printed here.
        Some(structured) if result.content.is_empty() => Ok(output.data_json(structured)?),
        _ => Ok(()),
    }
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
pub(super) fn texts(words: Vec<OsString>) -> Result<Vec<String>> {
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

//! `call`: one call of one tool.

use std::io::Read;
use std::path::Path;

use mcp_model::{Snapshot, nearest, printable, read_text};
use mcp_runtime::middleware::ApprovalAnswer;
use mcp_runtime::{CallError, CallTool, Client, ClientOptions, ConnectError, Content, ToolCall, ToolResult};
use serde_json::{Map, Value};

use crate::args;
use crate::exit::{Exit, Failure};
use crate::live;
use crate::output::Output;
use crate::project;

pub(crate) async fn run(
    config: Option<&Path>,
    arguments: &args::Call,
    tool_arguments: Map<String, Value>,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let config = project::load(config, output)?;
    let mut server = config.server(&arguments.server)?.clone();
    let known = Snapshot::load(config.snapshot_path(&server.name)).ok();
    let is_approved = arguments.yes;
    let mut options = ClientOptions::new().on_approval(move |_| async move {
        if is_approved {
            ApprovalAnswer::Approve
        } else {
            ApprovalAnswer::Decline("approve this one with `--yes`".to_owned())
        }
    });
    if let Some(timeout) = arguments.timeout {
        // It is for the answer: connecting has its own.
        server.timeout = Some(timeout);
        options = options.max_total_timeout(timeout);
    }
    let client = Client::for_snapshot(&config, &server, known.as_ref(), options);
    let tool = arguments.tool.as_str();
    let called = call(&client, ToolCall::new(server.name.clone(), tool.to_owned(), tool_arguments));
    let result = live::closing(client.clone(), called).await?;
    print(&result, output)?;
    if result.is_error {
        output.error(&format!("`{}` of server `{}` answered with an error", printable(tool), server.name));
        return Ok(Exit::ToolError);
    }
    Ok(Exit::Done)
}

pub(super) async fn call(client: &Client, call: ToolCall) -> Result<ToolResult, Failure> {
    let tool = call.tool.to_string();
    let outcome = client.call_tool(call).await;
    if let Err(CallError::NotConnected { source: Some(cause), .. }) = &outcome
        && let Some(error) = cause.downcast_ref::<ConnectError>()
    {
        return Err(live::failure(error.clone(), client.config()));
    }
    match outcome {
        Err(error @ CallError::ToolNotFound { .. }) => {
            let mut failure = Failure::from(error);
            // The names as they may be shown.
            let tools = client.snapshot().await.map(|snapshot| snapshot.tools).unwrap_or_default();
            let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
            if let Some(near) = nearest(&tool, names).first() {
                failure.message.push_str(&format!("\n  = help: did you mean `{}`?", printable(near)));
            }
            Err(failure)
        }
        outcome => Ok(outcome?),
    }
}

/// The arguments: JSON text, `@FILE`, or `-` for stdin.
pub(crate) fn tool_arguments(text: &str) -> Result<Map<String, Value>, Failure> {
    let (text, origin) = match text.strip_prefix('@') {
        Some(path) => (read_text(path)?, path.to_owned()),
        None if text == "-" => {
            let mut input = String::new();
            std::io::stdin().read_to_string(&mut input)?;
            (input, "stdin".to_owned())
        }
        None => (text.to_owned(), "--args".to_owned()),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::usage(format!("the arguments of a tool are a JSON object\n --> {origin}"))),
        Err(error) => Err(Failure::usage(format!("the arguments are not JSON: {error}\n --> {origin}"))),
    }
}

fn print(result: &ToolResult, output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return Ok(output.data_json(&to_json(result))?);
    }
    for content in &result.content {
        output.data(&described(content))?;
    }
    // Servers repeat structured results as text; where one does not, this is the only place to see it.
    if result.content.is_empty()
        && let Some(structured) = &result.structured
    {
        output.data_json(structured)?;
    }
    Ok(())
}

fn described(content: &Content) -> String {
    match content {
        Content::Text { text, .. } => text.clone(),
        Content::Image { data, mime_type, .. } => format!("[image {mime_type}, {} characters of base64]", data.len()),
        Content::Audio { data, mime_type, .. } => format!("[audio {mime_type}, {} characters of base64]", data.len()),
        Content::Resource { resource, .. } => match resource.get("text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => format!("[resource {}]", resource.get("uri").and_then(Value::as_str).unwrap_or_default()),
        },
        Content::ResourceLink { uri, .. } => format!("[link {uri}]"),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// The result as it came, with where it came from; `isError` is there whether the server said it or not.
fn to_json(result: &ToolResult) -> Value {
    let mut json = Map::new();
    json.insert("server".to_owned(), result.server.as_str().into());
    json.insert("tool".to_owned(), result.tool.as_str().into());
    json.insert("isError".to_owned(), result.is_error.into());
    if let Value::Object(sent) = result.to_json() {
        json.extend(sent);
    }
    Value::Object(json)
}

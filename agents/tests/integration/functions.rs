//! Functions of the program: their context, and the events of their calls.

use std::sync::{Arc, Mutex};

use mcp_bindgen_agents::{
    FunctionContext, Prompt, PromptParams, PromptState, Section, SectionServer, SectionTool, Template, Toolset,
};
use mcp_bindgen_runtime::events::{CallKind, CallOutcome, Event, Events};
use mcp_bindgen_runtime::middleware::{Policy, Stack, Verdict};
use mcp_bindgen_runtime::{CallError, CallErrorKind, CallOptions, CallTool, Progress, ToolCall, ToolResult};
use serde_json::{Value, json};

use crate::support::{Echo, Nothing, offers};

#[derive(Clone)]
struct Conversation(&'static str);

/// Answers with the conversation and the tool of a call.
#[derive(Clone, Default)]
struct Files;

impl CallTool for Files {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let id = call.extension::<Conversation>().map_or("nobody", |Conversation(id)| id);
        let text = format!("{id} {}", call.tool);
        Ok(ToolResult::from_json(&*call.server, &*call.tool, json!({ "content": [{ "type": "text", "text": text }] })))
    }
}

fn list() -> [Value; 2] {
    ["read", "delete"].map(|name| json!({ "name": name, "inputSchema": { "type": "object" } }))
}

/// Denies a tool when it is called; a policy by names would leave it out of the toolset.
fn closed(tool: &'static str) -> Policy {
    Policy::new(move |call| if call.tool == tool { Verdict::deny("closed") } else { Verdict::Allow })
}

/// The next `count` calls: kind, server, tool, source, outcome.
async fn calls(events: &mut Events, count: usize) -> Vec<(CallKind, String, String, String, CallOutcome)> {
    let mut calls = Vec::new();
    while calls.len() < count {
        match events.next().await {
            Some(Event::ToolInvoked(call)) => {
                calls.push((call.kind, call.server, call.tool, call.source.to_string(), call.outcome));
            }
            Some(_) => {}
            None => break,
        }
    }
    calls
}

#[tokio::test]
async fn function_calls_tools_of_its_toolset_through_their_layers() {
    let files = Stack::new(Files).policy(closed("delete"));
    let toolset = Toolset::builder()
        .server("files", &list(), files)
        .function_with("both", "Reads and deletes.", async |context: FunctionContext, _: Nothing| {
            let call = |tool: &'static str| context.call_tool(ToolCall::new("files", tool, Default::default()));
            let read = call("read").await.map_err(|error| error.to_string())?;
            let denied = call("delete").await.expect_err("a policy denies it").kind();
            let unknown = call("write").await.expect_err("it is not in the toolset").kind();
            let dispatched = context.dispatch("files_read", "{}").await;
            let missing = context.dispatch("files_reed", "{}").await;
            assert!(!missing.success && missing.message.contains("files_read"), "{}", missing.message);
            assert_eq!((denied, unknown), (CallErrorKind::Denied, CallErrorKind::ToolNotFound));
            Ok::<_, String>(format!("{}: {}, {}", context.tool(), read.text(), dispatched.message))
        })
        .build()
        .unwrap()
        .with_extension(Conversation("seven"));
    let reply = toolset.dispatch("both", "{}").await;
    assert_eq!(reply.message, "both: seven read, seven read");
}

#[tokio::test]
async fn function_sees_only_the_toolset_of_its_caller() {
    let names = async |context: FunctionContext, _: Nothing| {
        let names: Vec<String> = context.toolset().iter().flat_map(|set| set.names()).map(str::to_owned).collect();
        Ok::<_, String>(format!("{} of {}", context.tool(), names.join(" ")))
    };
    let toolset = Toolset::builder()
        .server("files", &list(), Files)
        .group("own")
        .function_with("names", "Names the tools.", names)
        .build()
        .unwrap();
    assert_eq!(toolset.dispatch("own_names", "{}").await.message, "own_names of files_delete files_read own_names");
    let part = toolset.subset(["own", "files/read"]).unwrap();
    assert_eq!(part.dispatch("own_names", "{}").await.message, "own_names of files_read own_names");
}

#[tokio::test]
async fn progress_and_cancellation_reach_functions_and_their_calls() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let toolset = Toolset::builder()
        .function_with("count", "Counts.", async |context: FunctionContext, _: Nothing| {
            context.report(Progress::new(1.0).of(2.0).message("half"));
            Ok::<_, String>("counted")
        })
        .function("wait", "Waits for ever.", async |_: Nothing| std::future::pending::<Result<(), String>>().await)
        .function_with("wait_for", "Waits for another.", async |context: FunctionContext, _: Nothing| {
            Ok::<_, String>(context.dispatch("wait", "{}").await.message)
        })
        .build()
        .unwrap();
    let listener = heard.clone();
    let options = CallOptions::new().on_progress(move |progress| listener.lock().unwrap().push(progress));
    assert_eq!(toolset.dispatch_with("count", "{}", options).await.message, "counted");
    let expected = Progress::new(1.0).of(2.0).message("half");
    assert_eq!(*heard.lock().unwrap(), [expected]);

    for name in ["wait", "wait_for"] {
        let token = tokio_util::sync::CancellationToken::new();
        let call = toolset.dispatch_with(name, "{}", CallOptions::new().cancelled_by(token.clone()));
        let cancel = async {
            tokio::task::yield_now().await;
            token.cancel();
        };
        let (reply, ()) = tokio::join!(call, cancel);
        assert!(reply.message.contains("was cancelled"), "{name}: {}", reply.message);
    }
}

#[tokio::test]
async fn toolset_emits_events_for_functions_servers_and_templates() {
    let toolset = Toolset::builder()
        .server("files", &list(), Stack::new(Files))
        .function("plain", "Succeeds.", async |_: Nothing| Ok::<_, String>(1))
        .function("fails", "Fails.", async |_: Nothing| Err::<(), _>("no"))
        .function("panics", "Panics.", async |_: Nothing| -> Result<(), String> { panic!("hunter22") })
        .functions_through(|functions| Stack::new(functions).policy(closed("denied")))
        .function("denied", "Is denied.", async |_: Nothing| Ok::<_, String>(1))
        .build()
        .unwrap();
    let mut events = toolset.events();
    for name in ["files_read", "plain", "fails", "panics", "denied"] {
        toolset.dispatch(name, "{}").await;
    }
    let template = Template::new("t.md", "[[@files_read:text]] [[@plain:number]]").unwrap();
    template.run(&toolset).await.unwrap();
    let told = calls(&mut events, 7).await;
    let rows: Vec<String> = told
        .iter()
        .map(|(kind, server, tool, source, outcome)| format!("{kind} {server}/{tool} by {source}: {outcome}"))
        .collect();
    assert_eq!(
        rows,
        [
            "mcp files/read by toolset: success",
            "native program/plain by toolset: success",
            "native program/fails by toolset: tool_error",
            "native program/panics by toolset: tool_error",
            "native program/denied by toolset: denied",
            "template files/read by template: success",
            "native program/plain by template: success",
        ]
    );
}

#[tokio::test]
async fn prompt_emits_events_of_its_servers_and_functions() {
    let server = SectionServer::caller("files", Stack::new(Echo::default())).snapshot(offers(&[("read", "Reads.")]));
    let opened = SectionTool::function("open", "Opens.", async |_: Nothing| Ok::<_, String>("opened"));
    let denied = SectionTool::function("closed", "Is denied.", async |_: Nothing| Ok::<_, String>("closed"));
    let layered = Section::new("layered", "Layered").tool(denied).layers(|stack| stack.policy(closed("closed")));
    let section = Section::new("files", "Files").server(server).tool(opened).child(layered);
    let prompt = Prompt::new().section(section).build().unwrap();
    let mut events = prompt.events();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let (toolset, _) = rendered.toolset().await.unwrap();
    for name in ["files_read", "open", "closed"] {
        toolset.dispatch(name, "{}").await;
    }
    let told: Vec<_> = calls(&mut events, 3)
        .await
        .into_iter()
        .map(|(kind, _, tool, _, outcome)| (kind, tool, outcome.is_success()))
        .collect();
    let expected =
        [(CallKind::Mcp, "read", true), (CallKind::Native, "open", true), (CallKind::Native, "closed", false)];
    assert_eq!(told, expected.map(|(kind, tool, success)| (kind, tool.to_owned(), success)));
}

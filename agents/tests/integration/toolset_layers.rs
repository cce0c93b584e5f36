//! Layers around what a set calls: whom they know, and that they hold for functions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_bindgen_agents::{McpSection, Prompt, PromptParams, PromptState, Section, SectionServer, SectionTool, Toolset};
use mcp_bindgen_model::{Prefix, ServerConfig, Snapshot};
use mcp_bindgen_runtime::events::{CallOutcome, CallSource, Event};
use mcp_bindgen_runtime::middleware::{
    Approval, ApprovalAnswer, CallFacts, Policy, SequentialDependency, Stack, Verdict,
};
use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Order {
    /// The number of the order.
    number: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": {} } })
}

#[derive(Clone, Debug)]
struct Conversation(&'static str);

/// Answers everything.
#[derive(Clone, Default)]
struct Anything;

impl CallTool for Anything {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        let said = call.extension::<Conversation>().map_or("nobody", |Conversation(id)| id);
        let text = json!({ "content": [{ "type": "text", "text": said }] });
        Ok(ToolResult::from_json(call.server.to_string(), call.tool.to_string(), text))
    }
}

#[tokio::test]
async fn layer_state_is_separate_for_each_conversation() {
    let scope = |call: &CallFacts<'_>| call.extension().map(|Conversation(id)| (*id).to_owned()).unwrap_or_default();
    let ordered = Stack::new(Anything).sequential(SequentialDependency::new("publish", ["build"]).scope(scope));
    let all = Toolset::builder().server("r", &[tool("publish"), tool("build")], ordered).build().unwrap();
    let [one, other] = ["one", "other"].map(|id| all.with_extension(Conversation(id)));
    assert_eq!(one.dispatch("r_build", "{}").await.message, "one");
    let denied = other.dispatch("r_publish", "{}").await;
    assert!(!denied.success && denied.message.contains("`build` must succeed first"), "{}", denied.message);
    assert!(!all.dispatch("r_publish", "{}").await.success, "the set itself is of nobody");
    assert_eq!(one.dispatch("r_publish", "{}").await.message, "one");

    // Sets derived from this one keep the extension, and the last value wins.
    let part = one.subset(["r"]).unwrap();
    let grown = one.extend().server("s", &[tool("other")], Anything).build().unwrap();
    let deferred = all.deferred().pinned(["r_build"]).unwrap().with_extension(Conversation("one"));
    assert_eq!(part.dispatch("r_publish", "{}").await.message, "one");
    assert_eq!(grown.dispatch("s_other", "{}").await.message, "one");
    let call = json!({ "name": "r_publish", "arguments": {} });
    assert_eq!(deferred.dispatch("call_tool", call.clone()).await.message, "one");
    assert_eq!(deferred.listed().dispatch("call_tool", call).await.message, "one");
    assert_eq!(deferred.listed().dispatch("r_build", "{}").await.message, "one");
    assert!(!one.with_extension(Conversation("third")).dispatch("r_publish", "{}").await.success);
}

#[tokio::test]
async fn layers_govern_functions() {
    let ran = Arc::new(AtomicUsize::new(0));
    let counted = |ran: &Arc<AtomicUsize>| {
        let ran = ran.clone();
        move |order: Order| {
            ran.fetch_add(1, Ordering::SeqCst);
            async move { if order.number == 7 { Ok(order.number) } else { Err("there is no such order") } }
        }
    };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let mut events = None;
    let all = Toolset::builder()
        .function("free", "Stands outside.", counted(&ran))
        .functions_through(|functions| {
            let stack = Stack::new(functions)
                .policy(Policy::deny(["drop_*"]))
                .policy(Policy::new(|call| match (call.server, call.arguments.get("number").and_then(Value::as_u64)) {
                    ("shop", Some(13)) => Verdict::deny("not that one"),
                    _ => Verdict::Allow,
                }))
                .approval(Approval::of(["cancel"], move |request| {
                    count.fetch_add(1, Ordering::SeqCst);
                    let yes = request.arguments["number"] == 7;
                    async move { if yes { ApprovalAnswer::Approve } else { ApprovalAnswer::Decline("no".to_owned()) } }
                }));
            events = Some(stack.events());
            stack
        })
        .function("lookup", "Looks an order up.", counted(&ran))
        .group("shop")
        .function("cancel", "Cancels an order.", counted(&ran))
        .function("drop_all", "Is denied by its name.", counted(&ran))
        .function("broken", "Panics.", async |_: Nothing| -> Result<(), String> { panic!("hunter22") })
        .build()
        .unwrap();
    assert_eq!(all.names().collect::<Vec<_>>(), ["free", "lookup", "shop_cancel", "shop_broken"]);
    let reply = async |name: &str, number: u64| all.dispatch(name, json!({ "number": number })).await;
    assert!(reply("free", 7).await.success && reply("lookup", 7).await.success);
    let failed = reply("lookup", 8).await;
    assert_eq!((failed.success, failed.message.as_str()), (false, "there is no such order"));
    assert!(reply("shop_cancel", 7).await.success);
    assert_eq!(ran.load(Ordering::SeqCst), 4);
    let denied = reply("shop_cancel", 13).await;
    assert!(denied.message.contains("`shop_cancel` was denied: not that one"), "{}", denied.message);
    assert!(!reply("shop_cancel", 99).await.success, "nobody approves it");
    let through = json!({ "name": "shop_cancel", "arguments": { "number": 13 } });
    assert!(!all.deferred().dispatch("call_tool", through).await.success);
    assert_eq!((ran.load(Ordering::SeqCst), asked.load(Ordering::SeqCst)), (4, 2));
    let panicked = all.dispatch("shop_broken", "{}").await;
    assert!(panicked.message.contains("by an internal error") && !panicked.message.contains("hunter22"));

    let mut told = Vec::new();
    let mut events = events.unwrap();
    while told.len() < 7 {
        match events.next().await.unwrap() {
            Event::ToolInvoked(call) => {
                assert_eq!(call.source, CallSource::Named("toolset".to_owned()));
                told.push((call.tool, call.outcome));
            }
            Event::ApprovalAsked(asked) => assert_eq!((asked.server.as_str(), asked.tool.as_str()), ("shop", "cancel")),
            other => panic!("{other:?}"),
        }
    }
    let told_of: Vec<&str> = told.iter().map(|(tool, _)| tool.as_str()).collect();
    assert_eq!(told_of, ["lookup", "lookup", "cancel", "cancel", "cancel", "cancel", "broken"]);
    assert_eq!(
        (&told[0].1, &told[1].1, &told[6].1),
        (&CallOutcome::Success, &CallOutcome::ToolError, &CallOutcome::ToolError)
    );
    println!("{} calls of functions were told of, 3 were refused, and {} were put to somebody", told.len(), 2);
}

#[tokio::test]
async fn section_layers_see_the_conversation() {
    let owned = Policy::new(|call| match call.extension::<Conversation>() {
        Some(Conversation("one")) => Verdict::Allow,
        _ => Verdict::deny("this is the first one's"),
    });
    let lookup = async |order: Order| Ok::<_, String>(order.number);
    let section = Section::new("shop", "Shop")
        .tool(SectionTool::function("lookup", "Looks an order up.", lookup))
        .layers(move |stack| stack.policy(owned.clone()));
    let prompt = Prompt::new().section(section).build().unwrap();
    let (set, _) = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap().toolset().await.unwrap();
    let call = json!({ "number": 7 });
    assert_eq!(set.with_extension(Conversation("one")).dispatch("lookup", call.clone()).await.message, "7");
    let denied = set.with_extension(Conversation("other")).dispatch("lookup", call).await;
    assert!(denied.message.contains("`lookup` was denied: this is the first one's"), "{}", denied.message);
}

#[tokio::test]
async fn prompts_use_the_configured_prefix() {
    let known = Snapshot { tools: vec![tool("get_issue")], ..Snapshot::default() };
    let config = ServerConfig::stdio("github", "never-started").prefix(Prefix::Named("gh".to_owned()));
    let github = McpSection::new([SectionServer::from(config).snapshot(known)]).section();
    let prompt = Prompt::new().section(github).build().unwrap();
    let rendered = prompt.render(&PromptParams::new(), &PromptState::new()).unwrap();
    let (set, _) = rendered.toolset().await.unwrap();
    assert_eq!(set.names().collect::<Vec<_>>(), ["gh_get_issue"]);
    assert!(rendered.text().contains("`gh_get_issue`"), "{}", rendered.text());
}

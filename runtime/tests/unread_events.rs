//! A listener that never reads: what it costs is bounded. A process of its own, whose memory nobody else uses.

#![allow(clippy::cast_possible_truncation, clippy::disallowed_methods, clippy::print_stdout)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::object;
use mcp_bindgen_runtime::events::Event;
use mcp_bindgen_runtime::middleware::Stack;
use mcp_bindgen_runtime::{CallError, CallTool, ToolCall, ToolResult};
use serde_json::json;

/// Answers at once.
struct Prompt;

impl CallTool for Prompt {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        Ok(ToolResult::new(call.server, call.tool))
    }
}

/// How long a call takes, of so many at a time.
async fn group(stack: &Stack<Prompt>) -> Duration {
    let start = Instant::now();
    for number in 0..GROUP {
        stack.call_tool(ToolCall::new("fixture", "add", object(json!({ "a": number })))).await.expect("it answers");
    }
    start.elapsed() / GROUP as u32
}

const GROUP: u64 = 100;
const UNREAD: u64 = 1024;

/// Returns the tenth percentile of the times, because other programs share the machine.
fn quick(groups: &[Duration]) -> Duration {
    let mut groups = groups.to_vec();
    groups.sort();
    groups[groups.len() / 10]
}

async fn a_listener_that_never_reads(calls: u64) {
    let (unheard, stack) = (Stack::new(Prompt), Stack::new(Prompt));
    let mut never_read = stack.events();
    for _ in 0..20 {
        group(&stack).await;
    }
    // The ring is full from here on.
    #[cfg(target_os = "linux")]
    let before = common::usage::Usage::now().memory;
    let (mut alone, mut heard) = (Vec::new(), Vec::new());
    for _ in 0..calls / GROUP {
        alone.push(group(&unheard).await);
        heard.push(group(&stack).await);
    }
    let third = heard.len() / 3;
    let (alone, first, last) = (quick(&alone), quick(&heard[..third]), quick(&heard[heard.len() - third..]));
    println!("a call takes {alone:?} where nobody listens, {first:?} to {last:?} where {calls} events are never read");
    #[cfg(target_os = "linux")]
    {
        let grown = common::usage::Usage::now().memory.saturating_sub(before);
        println!("memory has grown by {} KiB", grown / 1024);
        assert!(grown < 2 << 20, "{grown} bytes more after {calls} events that nobody reads");
    }
    assert!(last < first * 2 + Duration::from_micros(5), "calls get slower: {first:?}, then {last:?}");
    assert!(
        last < alone * 4 + Duration::from_micros(20),
        "{last:?} where somebody listens, {alone:?} where nobody does"
    );
    let Event::Lagged(lag) = never_read.next().await.expect("it is told") else { panic!("nothing was lost") };
    assert_eq!(lag.missed, calls + 20 * GROUP - UNREAD);
    for _ in 0..UNREAD {
        assert!(matches!(never_read.next().await, Some(Event::ToolInvoked(_))));
    }
}

#[tokio::test]
async fn unread_listener_uses_bounded_memory_and_does_not_slow_calls() {
    a_listener_that_never_reads(10_000).await;
}

#[tokio::test]
#[ignore = "100,000 events: .ci/run patience"]
async fn unread_listener_uses_bounded_memory_over_many_calls() {
    a_listener_that_never_reads(100_000).await;
}

//! Measures the cost that a stack of all layers adds to a call.
//!
//! `cargo bench --bench stack --features validation`. Fails where the budget of the design is missed.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use mcp_bindgen::middleware::{
    Approval, ApprovalAnswer, Cache, Policy, Retry, SequentialDependency, Stack, Transaction, Validate, Verdict,
};
use mcp_bindgen::{CallError, CallTool, ToolCall, ToolResult};
use mcp_samples::Fallible;
use serde_json::json;
use tokio::runtime::Runtime;

mod lists;

mcp_bindgen::mcp_tools!("store", path = "../fixtures/server/src/store.json");
use store::{StoreGetParams, StoreSetParams};

const BUDGET: Duration = Duration::from_micros(5);
const ROUNDS: usize = 2;
const LONG: Duration = Duration::from_secs(60);

/// Answers after it has let others go first, as whoever waits for a server does.
#[derive(Clone)]
struct InProcess;

impl CallTool for InProcess {
    async fn call_tool(&self, call: ToolCall) -> Result<ToolResult, CallError> {
        tokio::task::yield_now().await;
        let result = json!({ "content": [], "structuredContent": { "value": 1 } });
        Ok(ToolResult::from_json(call.server, call.tool, result))
    }
}

fn all_layers() -> Stack<InProcess> {
    let state = Arc::new(Mutex::new(0_u64));
    Stack::new(InProcess)
        .total_cap(LONG)
        .policy(Policy::new(|call| if call.tool == "remove" { Verdict::deny("no") } else { Verdict::Allow }))
        .policy(Policy::new_async(async |_| Verdict::Allow))
        .sequential(SequentialDependency::new("remove", ["get", "set"]))
        .approval(Approval::of(["*"], async |_| ApprovalAnswer::Approve))
        .transaction(Transaction::over(&state))
        .cache(Cache::new(LONG))
        .retry(Retry::new())
        .try_timeout(LONG)
        .validate(Validate::new())
}

fn read(number: u64) -> Result<ToolCall, CallError> {
    ToolCall::of(&StoreGetParams::new(number.to_string()))
}

fn write(number: u64) -> Result<ToolCall, CallError> {
    ToolCall::of(&StoreSetParams::new(number.to_string(), 1))
}

fn main() -> Fallible<ExitCode> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stack");
    let mut criterion = Criterion::default().output_directory(&folder);
    let runtime = Runtime::new()?;
    for round in 0..ROUNDS {
        let mut group = criterion.benchmark_group("stack");
        group.sample_size(20).warm_up_time(Duration::from_millis(200)).measurement_time(Duration::from_secs(1));
        for (name, make) in [("read", read as fn(u64) -> _), ("write", write)] {
            measure(&mut group, &runtime, &format!("bare_{name}_{round}"), &InProcess, make);
            measure(&mut group, &runtime, &format!("stack_{name}_{round}"), &all_layers(), make);
        }
        measure(&mut group, &runtime, &format!("stack_kept_{round}"), &all_layers(), |_| read(1));
        group.finish();
    }
    let best = |name: &str| -> Fallible<Duration> {
        let rounds = (0..ROUNDS).map(|round| lists::fastest(&folder, "stack", &format!("{name}_{round}")));
        Ok(rounds.collect::<Fallible<Vec<_>>>()?.into_iter().min().unwrap_or(Duration::MAX))
    };
    let mut is_kept = true;
    for name in ["read", "write"] {
        let (bare, stack) = (best(&format!("bare_{name}"))?, best(&format!("stack_{name}"))?);
        let costs = stack.saturating_sub(bare);
        is_kept &= costs <= BUDGET;
        let verdict = if costs <= BUDGET { "kept" } else { "MISSED" };
        println!(
            "a {name} through all layers: {stack:.2?}, without them: {bare:.2?}; {costs:.2?} more, budget {BUDGET:?} {verdict}"
        );
    }
    println!("a read that the cache has: {:.2?}", best("stack_kept")?);
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes calls one after the other, each of its own number.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    runtime: &Runtime,
    name: &str,
    client: &impl CallTool,
    make: fn(u64) -> Result<ToolCall, CallError>,
) {
    let mut number = 0;
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let calls: Vec<_> = (0..times).map(|offset| make(number + offset)).collect();
            number += times;
            runtime.block_on(async {
                let start = Instant::now();
                for call in calls {
                    let outcome = match call {
                        Ok(call) => client.call_tool(call).await,
                        Err(error) => Err(error),
                    };
                    assert!(outcome.is_ok(), "{outcome:?}");
                }
                start.elapsed()
            })
        });
    });
}

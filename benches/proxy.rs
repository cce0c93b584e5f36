//! The time that a call through the proxy takes more than the same call without it: over stdio, by both eras of the protocol,
//! without anything around it, and with policies and the log of calls.
//!
//! `cargo bench --bench proxy --features proxy`. Fails where the budget of the design is missed. The server and the proxy are
//! this program itself, as child processes.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use mcp_bindgen::agents::proxy::{CallLog, Proxy};
use mcp_bindgen::model::{Condition, PolicyEffect, PolicyRule, Rate, ServerConfig};
use mcp_bindgen::{CallTool, Client, ClientOptions, ToolCall};
use mcp_samples::Fallible;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

mod lists;

const BUDGET: Duration = Duration::from_micros(100);
const ROUNDS: usize = 4;
const AS_SERVER: &str = "--as-server";
const AS_PROXY: &str = "--as-proxy";
const AS_GOVERNED_PROXY: &str = "--as-governed-proxy";
const ERAS: [&str; 2] = ["2025-11-25", "2026-07-28"];

fn main() -> Fallible<ExitCode> {
    match std::env::args().nth(1).as_deref() {
        Some(AS_SERVER) => serve().map(|()| ExitCode::SUCCESS),
        Some(AS_PROXY) => proxy(false).map(|()| ExitCode::SUCCESS),
        Some(AS_GOVERNED_PROXY) => proxy(true).map(|()| ExitCode::SUCCESS),
        _ => measure(),
    }
}

fn measure() -> Fallible<ExitCode> {
    let program = std::env::current_exe()?;
    let runtime = Runtime::new()?;
    let child = |how: &str| ServerConfig::stdio("measured", program.to_string_lossy()).args([how]);
    let through = |how: &str, era: &str| Client::with_options(child(how), ClientOptions::new().protocol_version(era));
    let sides = [
        ("direct".to_owned(), "add", Client::new(child(AS_SERVER))),
        (ERAS[0].to_owned(), "server_add", through(AS_PROXY, ERAS[0])),
        (ERAS[1].to_owned(), "server_add", through(AS_PROXY, ERAS[1])),
        (format!("{} governed", ERAS[0]), "server_add", through(AS_GOVERNED_PROXY, ERAS[0])),
        (format!("{} governed", ERAS[1]), "server_add", through(AS_GOVERNED_PROXY, ERAS[1])),
    ];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proxy");
    let mut criterion = Criterion::default().output_directory(&folder).sample_size(40);
    for round in 0..ROUNDS {
        let mut group = criterion.benchmark_group("proxy");
        // Many short samples, by turns: the fastest counts.
        group.sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_millis(1500));
        for (side, tool, client) in &sides {
            group.bench_function(format!("{side}_{round}"), |bencher| {
                bencher.iter_custom(|times| {
                    runtime.block_on(async {
                        let start = Instant::now();
                        for number in 0..times {
                            let outcome = client.call_tool(ToolCall::new("measured", *tool, numbers(number))).await;
                            assert!(outcome.as_ref().is_ok_and(|result| !result.is_error), "{outcome:?}");
                        }
                        start.elapsed()
                    })
                });
            });
        }
        group.finish();
    }
    runtime.block_on(async {
        for (_, _, client) in &sides {
            client.close().await;
        }
    });
    let best = |side: &str| -> Fallible<Duration> {
        let rounds = (0..ROUNDS).map(|round| lists::fastest(&folder, "proxy", &format!("{side}_{round}")));
        Ok(rounds.collect::<Fallible<Vec<_>>>()?.into_iter().min().unwrap_or(Duration::MAX))
    };
    let direct = best("direct")?;
    let mut is_kept = true;
    for (era, ..) in sides.iter().skip(1) {
        let through = best(era)?;
        let more = through.saturating_sub(direct);
        is_kept &= more <= BUDGET;
        let verdict = if more <= BUDGET { "kept" } else { "MISSED" };
        println!(
            "a call through the proxy ({era}): {through:.1?}, direct: {direct:.1?}; {more:.1?} more, budget {BUDGET:?} {verdict}"
        );
    }
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn numbers(number: u64) -> Map<String, Value> {
    Map::from_iter([("a".to_owned(), number.into()), ("b".to_owned(), 1.into())])
}

/// Serves the server again.
fn proxy(is_governed: bool) -> Fallible<()> {
    let program = std::env::current_exe()?;
    let server = ServerConfig::stdio("server", program.to_string_lossy()).args([AS_SERVER]);
    let builder = Proxy::builder();
    let builder = if is_governed {
        let rules = [
            PolicyRule::new(["add"]).when("a", Condition::min(u64::MAX)).then(PolicyEffect::Deny),
            PolicyRule::new(["delete_*"]).then(PolicyEffect::Approve),
            PolicyRule::new(["*"]).rate(Rate::parse("1000000/s").ok_or("a rate")?),
        ];
        let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("calls-{}.jsonl", std::process::id()));
        builder.server(rules.into_iter().fold(server, ServerConfig::policy)).log(CallLog::open(log)?)
    } else {
        builder.server(server)
    };
    let proxy = builder.build()?;
    Runtime::new()?.block_on(async {
        proxy.serve_stdio().await?;
        proxy.close().await;
        Ok(())
    })
}

/// Adds, and does no more than it must, in one thread.
fn serve() -> Fallible<()> {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let number = |pointer| message.pointer(pointer).and_then(Value::as_i64);
        let result = match message.get("method").and_then(Value::as_str) {
            Some("initialize") => Some(json!({
                "protocolVersion": message.pointer("/params/protocolVersion"), "capabilities": { "tools": {} },
                "serverInfo": { "name": "measured", "version": "1" },
            })),
            Some("tools/list") => Some(json!({ "tools": [{ "name": "add", "inputSchema": { "type": "object" } }] })),
            Some("tools/call") => {
                let sum = number("/params/arguments/a").zip(number("/params/arguments/b")).map(|(a, b)| a + b);
                let result = json!({ "result": sum });
                Some(
                    json!({ "content": [{ "type": "text", "text": result.to_string() }], "structuredContent": result }),
                )
            }
            _ => None,
        };
        let answer = match result {
            Some(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            None => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" } }),
        };
        let mut answer = serde_json::to_vec(&answer)?;
        answer.push(b'\n');
        stdout.write_all(&answer)?;
        stdout.flush()?;
    }
    Ok(())
}

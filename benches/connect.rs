//! How long connecting to twenty servers takes, against the slowest of them alone.
//!
//! `cargo bench --bench connect`. Fails where the budget of the design is missed. The servers take their time to start, as
//! those that npx and uvx start do: from 50 ms to a second.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::{BenchmarkGroup, Criterion, SamplingMode, measurement::WallTime};
use mcp_bindgen::Servers;
use mcp_bindgen::model::ServerConfig;
use mcp_fixture_server::AS_SERVER;
use mcp_samples::Fallible;
use tokio::runtime::Runtime;

mod lists;

const SERVERS: u32 = 20;
const SLOWEST: Duration = Duration::from_secs(1);
const BUDGET: f64 = 1.2;
const ROUNDS: usize = 2;

fn main() -> Fallible<ExitCode> {
    mcp_fixture_server::serve_or(run)
}

fn run() -> Fallible<ExitCode> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("connect");
    let mut criterion = Criterion::default().output_directory(&folder);
    let runtime = Runtime::new()?;
    for round in 0..ROUNDS {
        let mut group = criterion.benchmark_group("connect");
        group.sampling_mode(SamplingMode::Flat).sample_size(10);
        group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(11));
        measure(&mut group, &runtime, &format!("slowest_{round}"), SERVERS..=SERVERS);
        measure(&mut group, &runtime, &format!("all_{round}"), 1..=SERVERS);
        group.finish();
    }
    let best = |name: &str| -> Fallible<Duration> {
        let rounds = (0..ROUNDS).map(|round| lists::fastest(&folder, "connect", &format!("{name}_{round}")));
        Ok(rounds.collect::<Fallible<Vec<_>>>()?.into_iter().min().unwrap_or(Duration::MAX))
    };
    let (slowest, all) = (best("slowest")?, best("all")?);
    let ratio = all.as_secs_f64() / slowest.as_secs_f64();
    let verdict = if ratio <= BUDGET { "kept" } else { "MISSED" };
    println!(
        "connecting {SERVERS} servers: {all:.2?}, the slowest alone: {slowest:.2?}; {ratio:.2} x, budget {BUDGET} x {verdict}"
    );
    Ok(if ratio <= BUDGET { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Connects to the servers of these numbers, each time to processes that are started for it.
fn measure(
    group: &mut BenchmarkGroup<'_, WallTime>,
    runtime: &Runtime,
    name: &str,
    numbers: std::ops::RangeInclusive<u32>,
) {
    let program = std::env::current_exe().unwrap_or_default();
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                let servers = numbers.clone().fold(Servers::new(), |servers, number| {
                    let pause = (SLOWEST * number / SERVERS).as_millis().to_string();
                    let config = ServerConfig::stdio(format!("server-{number}"), program.to_string_lossy());
                    servers.with(config.args([AS_SERVER, &pause]))
                });
                runtime.block_on(async {
                    let start = Instant::now();
                    let report = servers.connect_all().await;
                    took += start.elapsed();
                    assert!(report.is_complete(), "{report:?}");
                    servers.shutdown().await;
                });
            }
            took
        });
    });
}

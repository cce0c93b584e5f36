//! Measures reading unions by size of the value, against reading the same text into `serde_json::Value`.
//!
//! `cargo bench --bench unions`. Fails where the time for a byte grows with the size, or a budget of the design is missed.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use mcp_samples::Fallible;
use serde_json::{Map, Value, json};

mod large {
    mcp_bindgen::mcp_tools!("large", path = "../tests/integration/large_unions.json");
}

use large::large::LargeTakeParams as Params;

/// The sizes of the values, in bytes of text.
const SIZES: [usize; 3] = [100_000, 1_000_000, 10_000_000];
/// The most that a byte may cost, by what it costs in the value where it costs least.
const GROWTH_BUDGET: f64 = 1.3;
/// The most that reading may cost, by what reading a `Value` costs.
const VALUE_BUDGET: f64 = 6.0;
/// About how many bytes an object takes.
const OBJECT: usize = 16;
/// The fastest of so many rounds counts, or of those that take so long.
const ROUNDS: usize = 9;
const LONG_ENOUGH: Duration = Duration::from_millis(500);

/// Makes the value of a property of so many objects.
type Make = fn(usize) -> Value;

/// Keeps glibc from giving memory back after each round, so that the kernel's time for new pages is not measured.
const KEEP_MEMORY: [(&str, &str); 2] = [("MALLOC_TRIM_THRESHOLD_", "4294967296"), ("MALLOC_MMAP_MAX_", "0")];

fn main() -> Fallible<ExitCode> {
    if KEEP_MEMORY.iter().any(|(name, _)| std::env::var_os(name).is_none()) {
        let status = Command::new(std::env::current_exe()?).envs(KEEP_MEMORY).status()?;
        return Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let cases: [(&str, &str, Make); 5] = [
        ("recursive, 8 branches", "recursive", |count| tree("r", 8, 0, count)),
        ("recursive, 3 branches", "three", |count| tree("t", 3, 0, count)),
        ("8 branches in 8 branches", "inline", |count| {
            let child = |of: usize, at: usize| json!({ format!("k{}_{}", of % 8, at): at, "s": "text" });
            let children = |of: usize| (0..8).map(|at| child(of, at)).collect::<Vec<_>>();
            (0..count / 9).map(|at| json!({ format!("o{}", at % 8): at, "children": children(at) })).collect()
        }),
        ("60 branches", "flat", |count| {
            (0..count).map(|at| json!({ format!("f{}", at % 60): at, "name": "text" })).collect()
        }),
        ("290 branches", "many", |count| {
            (0..count).map(|at| json!({ format!("m{}", at % 290): at, "name": "text" })).collect()
        }),
    ];
    println!("{:26}{:>10}{:>14}{:>14}{:>10}", "union", "bytes", "ns per byte", "of a Value", "ratio");
    let mut is_kept = true;
    for (name, property, make) in cases {
        let mut costs = Vec::new();
        for size in SIZES {
            let text = json!({ property: make(size / OBJECT) }).to_string();
            let ours = cost(&text, |text| serde_json::from_str::<Params>(text))?;
            let value = cost(&text, |text| serde_json::from_str::<Value>(text))?;
            let ratio = ours / value;
            let verdict = if ratio <= VALUE_BUDGET { "" } else { "  MISSED" };
            is_kept &= ratio <= VALUE_BUDGET;
            println!("{name:26}{:>10}{ours:>14.1}{value:>14.1}{ratio:>10.2}{verdict}", text.len());
            costs.push(ours);
        }
        let growth = costs.iter().copied().fold(0.0, f64::max) / costs.iter().copied().fold(f64::INFINITY, f64::min);
        let verdict = if growth <= GROWTH_BUDGET { "kept" } else { "MISSED" };
        is_kept &= growth <= GROWTH_BUDGET;
        println!("{:26}a byte costs at most {growth:.2} x of the least, budget {GROWTH_BUDGET} x {verdict}", "");
    }
    println!("budget against a Value: {VALUE_BUDGET} x {}", if is_kept { "kept" } else { "MISSED" });
    Ok(if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Objects of one of several branches, each with five children of the next ones.
fn tree(prefix: &str, branches: usize, at: usize, count: usize) -> Value {
    let mut members = Map::from_iter([(format!("{prefix}{}", at % branches), at.into())]);
    let children: Vec<Value> =
        (5 * at + 1..=5 * at + 5).filter(|at| *at < count).map(|at| tree(prefix, branches, at, count)).collect();
    if !children.is_empty() {
        members.insert("c".to_owned(), children.into());
    }
    members.into()
}

/// Nanoseconds for each byte of a text. To free what was read is not measured.
fn cost<T>(text: &str, read: impl Fn(&str) -> serde_json::Result<T>) -> Fallible<f64> {
    let (mut fastest, mut rounds, begun) = (f64::INFINITY, 0, Instant::now());
    while rounds < ROUNDS || begun.elapsed() < LONG_ENOUGH {
        let started = Instant::now();
        let value = black_box(read(black_box(text))?);
        fastest = fastest.min(started.elapsed().as_secs_f64());
        drop(value);
        rounds += 1;
    }
    #[allow(clippy::cast_precision_loss)]
    Ok(fastest * 1e9 / text.len() as f64)
}

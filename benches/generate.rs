//! How long generation takes: a server of the size of GitHub's, and a server of thousands of tools.
//!
//! `cargo bench --bench generate`. Fails where a budget of the design is missed.

#![allow(clippy::print_stdout, clippy::panic, clippy::indexing_slicing)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use mcp_codegen::{Bindings, Options};
use mcp_model::Snapshot;

mod lists;

const ROUNDS: usize = 30;

fn main() -> ExitCode {
    let github = lists::github();
    let github_budget = Duration::from_millis(15);
    let many = repeated(&github.snapshot, 2720);
    let many_budget = Duration::from_millis(600);
    let mut kept = true;
    for (name, snapshot, budget) in
        [(github.name.as_str(), &github.snapshot, github_budget), ("the same, repeated", &many, many_budget)]
    {
        let took = fastest(snapshot);
        let verdict = if took <= budget { "kept" } else { "missed" };
        kept &= took <= budget;
        println!("generate {:>5} tools ({name}): {took:>8.2?}, budget {budget:?} {verdict}", snapshot.tools.len());
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fastest(snapshot: &Snapshot) -> Duration {
    let options = Options::new("github");
    let once = || {
        let start = Instant::now();
        let bindings = Bindings::generate(snapshot, &options);
        let took = start.elapsed();
        drop(bindings);
        took
    };
    (0..ROUNDS).map(|_| once()).min().unwrap_or_default()
}

/// A list of `count` tools, made of another's under new names.
fn repeated(snapshot: &Snapshot, count: usize) -> Snapshot {
    let mut many = snapshot.clone();
    many.tools = snapshot.tools.iter().cycle().take(count).cloned().collect();
    for (index, tool) in many.tools.iter_mut().enumerate() {
        tool["name"] = format!("{}_{index}", tool["name"].as_str().unwrap_or_default()).into();
    }
    many
}

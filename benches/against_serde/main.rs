//! Bindings against the same types written by hand with serde's derives, as ratios: to check and to build a program that
//! reads the arguments of every tool from text and prints them, its size, and reading and printing sample values.
//! The macro's own time is included.
//!
//! `cargo bench --bench against_serde`, with `-- --quick` for fewer rounds. Fails where a budget of the design is missed.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod crates;
#[path = "../lists/mod.rs"]
mod lists;
mod table;
mod values;

use std::path::Path;
use std::process::ExitCode;

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_samples::{Fallible, by_hand};

use crates::{Crates, Side};
use table::{Table, in_seconds, in_time};

const CHECK_BUDGET: f64 = 0.65;
const DEBUG_BUILD_BUDGET: f64 = 0.9;
const RELEASE_BUILD_BUDGET: f64 = 0.6;
const SIZE_BUDGET: f64 = 1.0;
const READ_AND_PRINT_BUDGET: f64 = 1.1;

/// How often each side is measured, in turns; the fastest counts.
struct Rounds {
    check: usize,
    build: usize,
    in_process: usize,
}

fn main() -> ExitCode {
    match rounds().and_then(|rounds| run(&rounds)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn rounds() -> Fallible<Rounds> {
    let mut rounds = Rounds { check: 7, build: 4, in_process: 5 };
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            // Cargo passes `--bench` to every benchmark.
            "--bench" => {}
            "--quick" => rounds = Rounds { check: 3, build: 2, in_process: 2 },
            _ => return Err(format!("unknown option {argument}: there is --quick").into()),
        }
    }
    Ok(rounds)
}

/// Returns `true` if every budget is met.
fn run(rounds: &Rounds) -> Fallible<bool> {
    let list = lists::github()?;
    let options = Options::new("github");
    let expanded = format(Bindings::generate(&list.snapshot, &options).0)?;
    let tools: Vec<(usize, String)> =
        Bindings::describe(&list.snapshot, &options).0.into_iter().map(|tool| (tool.index, tool.params_type)).collect();
    let by_hand = by_hand(&expanded)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("against_serde");
    let values = values::of(&list, &tools)?;
    let crates = Crates::write(&folder, &list.path, &by_hand.source, &tools, &values)?;
    println!(
        "{} tools, {} types ({}), against the same types by hand with serde's derives",
        tools.len(),
        by_hand.types,
        list.name
    );

    let mut table = Table::default();
    let [ours, hand] = fastest(rounds.check, |side| crates.work(side, &["check"]))?;
    table.row("cargo check", in_seconds(ours), in_seconds(hand), Some(CHECK_BUDGET));
    let [ours, hand] = fastest(rounds.build, |side| crates.work(side, &["build"]))?;
    table.row("debug build", in_seconds(ours), in_seconds(hand), Some(DEBUG_BUILD_BUDGET));
    let measured = crates.measure(rounds.in_process)?;
    for (form, [ours, hand]) in &measured.forms {
        let budget = (*form == "read and print text").then_some(READ_AND_PRINT_BUDGET);
        table.row(form, in_time(*ours), in_time(*hand), budget);
    }
    println!("{:>22} {}", "", measured.said);
    let [ours, hand] = fastest(rounds.build, |side| crates.work(side, &["build", "--release"]))?;
    table.row("release build", in_seconds(ours), in_seconds(hand), Some(RELEASE_BUILD_BUDGET));
    let size = |side| crates.size(side);
    table.row("stripped size", size(Side::Ours)?, size(Side::ByHand)?, Some(SIZE_BUDGET));
    println!("{} passed, {} failed", table.kept, table.missed);
    Ok(table.missed == 0)
}

/// The least of what a measurement of each side gives, in turns: what else the machine does only ever adds.
fn fastest(
    rounds: usize,
    measure: impl Fn(Side) -> Fallible<std::time::Duration>,
) -> Fallible<[std::time::Duration; 2]> {
    // The first build also compiles the dependencies of the crates.
    let mut best = [measure(Side::Ours)?, measure(Side::ByHand)?];
    for round in 0..rounds {
        for (side, best) in [Side::Ours, Side::ByHand].into_iter().zip(&mut best) {
            let took = measure(side)?;
            *best = if round == 0 { took } else { took.min(*best) };
        }
    }
    Ok(best)
}

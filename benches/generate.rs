//! How long generation takes: a server of the size of GitHub's, and a server of thousands of tools.
//!
//! `cargo bench --bench generate`. Fails where a budget of the design is missed.

#![allow(clippy::print_stdout, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use criterion::{Criterion, SamplingMode};
use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::Snapshot;
use mcp_samples::Fallible;

mod lists;

fn main() -> Fallible<ExitCode> {
    let github = lists::github()?;
    let many = repeated(&github.snapshot, 2720);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generate");
    let mut criterion = Criterion::default().output_directory(&folder).configure_from_args();
    let mut kept = true;
    for (name, snapshot, budget) in
        [("github", &github.snapshot, Duration::from_millis(15)), ("repeated", &many, Duration::from_millis(600))]
    {
        let options = Options::new("github");
        let mut group = criterion.benchmark_group("generate");
        // Ten samples are enough for slow lists, because the fastest one counts.
        group.sampling_mode(SamplingMode::Flat).sample_size(10).measurement_time(Duration::from_secs(3));
        group.bench_function(name, |bencher| {
            bencher.iter_with_large_drop(|| Bindings::generate(black_box(snapshot), &options));
        });
        group.finish();
        let took = lists::fastest(&folder, "generate", name)?;
        let verdict = if took <= budget { "kept" } else { "MISSED" };
        kept &= took <= budget;
        println!(
            "generate {} tools ({name}, {}): {took:.2?}, budget {budget:?} {verdict}\n",
            snapshot.tools.len(),
            github.name
        );
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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

//! Every fixture list generates: without a panic, as a Rust file, the same each time, from every door.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

/// Every tool list under `fixtures/`, by its file stem.
fn lists() -> Vec<(String, Snapshot)> {
    let mut lists = Vec::new();
    for folder in ["snapshots", "lists", "features", "hostile"] {
        for entry in fs::read_dir(fixtures().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                let snapshot = Snapshot::load(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                lists.push((stem, snapshot));
            }
        }
    }
    lists.sort_by(|(left, _), (right, _)| left.cmp(right));
    assert!(lists.len() > 40, "{} lists", lists.len());
    lists
}

#[test]
fn every_list_generates_a_rust_file() {
    for (stem, snapshot) in lists() {
        let (tokens, _) = Bindings::generate(&snapshot, &Options::new(&stem));
        format(tokens).unwrap_or_else(|error| panic!("{stem}: {error}"));
    }
}

#[test]
fn equal_lists_generate_equal_tokens() {
    for (stem, snapshot) in lists() {
        let generate = || Bindings::generate(&snapshot, &Options::new(&stem)).0.to_string();
        let first = generate();
        for _ in 0..3 {
            assert_eq!(first, generate(), "{stem}");
        }
    }
}

#[test]
fn tool_order_does_not_affect_names() {
    for (stem, snapshot) in lists() {
        let names = |snapshot: &Snapshot| {
            let mut tools: Vec<_> = Bindings::describe(snapshot, &Options::new(&stem))
                .0
                .into_iter()
                .map(|tool| (tool.tool, tool.params_type, tool.output_type, tool.handler, tool.variant))
                .collect();
            tools.sort();
            tools
        };
        let mut reversed = snapshot.clone();
        reversed.tools.reverse();
        assert_eq!(names(&snapshot), names(&reversed), "{stem}");
    }
}

//! Tests the generated code for each row of the translation table against the Rust file beside the list.
//!
//! `SNAPSHOTS=overwrite cargo test --test golden` writes the files anew. `golden_compiled.rs` compiles them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use common::assert_golden;
use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;

#[test]
fn every_feature_list_matches_its_golden() {
    let stems = stems("json").expect("the features can be listed");
    assert!(stems.len() > 25, "{stems:?}");
    for stem in &stems {
        let snapshot = Snapshot::load(features().join(format!("{stem}.json"))).expect("the list can be read");
        let (tokens, _) = Bindings::generate(&snapshot, &Options::new(stem));
        let text = format(tokens).unwrap_or_else(|error| panic!("{stem}: {error}"));
        assert_golden(&features().join(format!("{stem}.rs")), &text);
    }
}

#[test]
fn every_golden_file_has_a_list_and_is_compiled() {
    let lists = stems("json").expect("the features can be listed");
    let golden = stems("rs").expect("the features can be listed");
    assert_eq!(lists, golden, "lists, and their golden files");
    let compiled: BTreeSet<String> = include_str!("golden_compiled.rs")
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .map(str::to_owned)
        .collect();
    assert_eq!(golden, compiled, "golden files, and those that golden_compiled.rs includes");
}

/// `integration/shared_types.rs` compiles and runs the same.
#[test]
fn shared_and_extern_types_match_their_golden() {
    let memory = Options::new("memory")
        .shared("Entity", "create_entities/entities/*")
        .shared("Relation", "create_relations/relations/*")
        .shared("Graph", "read_graph/$output");
    let shop = Options::new("shop")
        .extern_type("#/$defs/Money", "crate::Money")
        .extern_type("#/$defs/Sku", "crate::numbers::Sku");
    for (stem, options) in [("memory", memory), ("shop", shop)] {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let snapshot = Snapshot::load(fixtures.join(format!("lists/{stem}.json"))).expect("the list can be read");
        assert!(Bindings::faults(&snapshot, &options).is_empty());
        let (tokens, _) = Bindings::generate(&snapshot, &options);
        let text = format(tokens).unwrap_or_else(|error| panic!("{stem}: {error}"));
        assert_golden(&fixtures.join(format!("rules/{stem}.rs")), &text);
    }
}

fn features() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/features")
}

fn stems(extension: &str) -> io::Result<BTreeSet<String>> {
    let mut stems = BTreeSet::new();
    for entry in fs::read_dir(features())? {
        let path = entry?.path();
        if path.extension().is_some_and(|found| found == extension) {
            stems.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    Ok(stems)
}

//! Bindings of random schemas compile without a warning.
//!
//! `RANDOM_LISTS=1000 PROPTEST_RNG_SEED=7 cargo test --test random_schemas` compiles more of them, and others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Crate, dependency};
use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;
use mcp_samples::{from_environment, schemas, seed};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

const LISTS: u64 = 24;

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn random_lists_compile_without_a_warning() {
    let lists = from_environment("RANDOM_LISTS").unwrap_or(LISTS);
    let mut runner = TestRunner::default();
    let package = Crate::new("randomized", "2024", &format!("[dependencies]\nmcp-bindgen = {}", dependency(".")));
    let mut root = String::from("//! Bindings of random lists.\n#![deny(missing_docs, warnings)]\n");
    for index in 0..lists {
        let tools: Vec<Value> = schemas::tools().new_tree(&mut runner).expect("a list").current();
        let list = json!({ "tools": tools }).to_string();
        let snapshot = Snapshot::parse(&list).expect("a list of tools is a snapshot");
        let (tokens, _) = Bindings::generate(
            &snapshot,
            &Options::new(format!("list-{index}")).setters(index % 2 == 0).named(index % 3 == 0).checked(index % 4 < 2),
        );
        package.write(&format!("src/of_{index}.json"), &list);
        package.write(&format!("src/of_{index}.rs"), &format(tokens).expect("the bindings are Rust"));
        root.push_str(&format!("/// From `of_{index}.json`.\npub mod of_{index};\n"));
    }
    package.write("src/lib.rs", &root);
    // Not `check`: the dependencies are there as other tests built them.
    let run = package.run(&["build"]);
    if run.succeeded {
        return;
    }
    // The first list that fails, so that the message has all that is needed to mend it.
    let failed = (0..lists).find(|index| run.stderr.contains(&format!("src/of_{index}.rs")));
    let list = failed.map(|index| package.read(&format!("src/of_{index}.json"))).unwrap_or_default();
    panic!("PROPTEST_RNG_SEED={}:\n{}\nfrom {list}", seed(), run.stderr);
}

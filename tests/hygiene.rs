//! Bindings of lists that attack the generator, as `mcp-bindgen expand -o` writes them, in a crate of their own: clippy,
//! rustdoc and the doctests have nothing to say.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod common;

use std::fs;
use std::process::Command;

use common::{Crate, Run, dependency, finish, root};
use mcp_bindgen_codegen::{Bindings, Options, format_file};
use mcp_bindgen_model::Snapshot;

#[test]
#[ignore = "takes minutes; run with `cargo test --test hygiene -- --ignored`"]
fn clippy_rustdoc_and_doctests_report_nothing() {
    let package = Crate::new("hygienic", "2024", &format!("[dependencies]\nmcp-bindgen = {}", dependency(".")));
    let mut root = String::from("//! Bindings of hostile lists.\n#![deny(missing_docs, warnings)]\n");
    for (stem, source) in bindings() {
        package.write(&format!("src/of_{stem}.rs"), &source);
        root.push_str(&format!("/// From `{stem}`.\npub mod of_{stem};\n"));
    }
    package.write("src/lib.rs", &root);

    let mut faults = Vec::new();
    let mut is_silent = |what: &str, run: Run| {
        if !run.succeeded {
            faults.push(format!("{what}:\n{}\n{}", run.stdout, run.stderr));
        }
    };
    let has_clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    if has_clippy.is_ok_and(|output| output.status.success()) {
        is_silent("cargo clippy", package.run(&["clippy", "--", "-D", "warnings"]));
    } else {
        println!("skipped: cargo clippy is not installed");
    }
    is_silent("cargo doc", finish(package.cargo(&["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-Dwarnings")));
    let doctests = package.run(&["test", "--doc"]);
    let has_none = doctests.stdout.contains("running 0 tests");
    is_silent("cargo test --doc", doctests);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(has_none, "there are doctests");
}

/// The source of the bindings of every list that means harm, or shows a row of the translation table.
fn bindings() -> Vec<(String, String)> {
    let mut bindings = Vec::new();
    for folder in ["hostile", "features"] {
        for entry in fs::read_dir(root().join("fixtures").join(folder)).expect("the fixtures can be listed") {
            let path = entry.expect("the fixtures can be listed").path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                let snapshot = Snapshot::load(&path).expect("the list can be read");
                let (tokens, _) = Bindings::generate(&snapshot, &Options::new(&stem));
                bindings.push((stem, format_file(tokens).expect("the bindings are Rust")));
            }
        }
    }
    assert!(bindings.len() > 40, "{} lists", bindings.len());
    bindings
}

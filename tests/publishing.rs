//! Tests the files and metadata of each published package: those that its page shows, and those that a licence
//! requires.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Manifests, licences, the README; a package with more carries something that no user needs.
const FILES_BESIDE_SOURCES: usize = 12;

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo prints text")
}

fn published() -> Vec<Value> {
    let metadata = cargo(&["metadata", "--offline", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let published: Vec<Value> = packages.filter(|package| package["publish"] != json!([])).cloned().collect();
    assert!(published.len() >= 6, "{} packages", published.len());
    published
}

/// Returns the faults in the manifest of a package.
fn faults(package: &Value) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let mut faults = Vec::new();
    for key in ["description", "license", "repository", "readme", "rust_version"] {
        if package[key].as_str().is_none_or(str::is_empty) {
            faults.push(format!("{name} has no {key}"));
        }
    }
    if package["description"].as_str().is_some_and(|text| text.ends_with('.') || text.contains('\n')) {
        faults.push(format!("the description of {name} is no phrase"));
    }
    for key in ["keywords", "categories"] {
        let count = package[key].as_array().map(Vec::len).unwrap_or_default();
        if !(1..=5).contains(&count) {
            faults.push(format!("{name} has {count} {key}, of one to five"));
        }
    }
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        // Without a version it is left out of the package; that may be so in tests alone.
        if dependency["kind"] != "dev" && dependency["path"].is_string() && dependency["req"] == "*" {
            faults.push(format!("{name} depends on a folder, {}, without its version", dependency["name"]));
        }
    }
    faults
}

#[test]
fn every_manifest_is_complete() {
    let faults: Vec<String> = published().iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_package_contains_its_readme_licenses_and_few_other_files() {
    for package in published() {
        let name = package["name"].as_str().expect("a name");
        let listed = cargo(&["package", "--list", "--offline", "--allow-dirty", "--package", name]);
        let files: BTreeSet<&str> = listed.lines().collect();
        println!("{name}: {} files", files.len());
        for file in ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(files.contains(file), "{name} has no {file}: {files:?}");
        }
        let is_source =
            |file: &&str| file.starts_with("src/") && Path::new(file).extension().is_some_and(|it| it == "rs");
        let sources = files.iter().filter(|file| is_source(file)).count();
        assert!(
            sources > 0 && files.len() - sources <= FILES_BESIDE_SOURCES,
            "{name}: {} files, {sources} sources",
            files.len()
        );
    }
}

#[test]
fn missing_manifest_fields_are_reported() {
    let package = json!({
        "name": "demo",
        "description": "Does things.",
        "license": null,
        "repository": "https://example.com",
        "readme": "",
        "rust_version": "1.88",
        "keywords": [],
        "categories": ["a", "b", "c", "d", "e", "f"],
        "dependencies": [
            { "name": "near", "path": "/near", "req": "*", "kind": null },
            { "name": "for-tests", "path": "/for-tests", "req": "*", "kind": "dev" },
            { "name": "versioned", "path": "/versioned", "req": "=0.1.0", "kind": null },
        ],
    });
    let expected = [
        "demo has no license",
        "demo has no readme",
        "the description of demo is no phrase",
        "demo has 0 keywords, of one to five",
        "demo has 6 categories, of one to five",
        "demo depends on a folder, \"near\", without its version",
    ];
    assert_eq!(faults(&package), expected);
}

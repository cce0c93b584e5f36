//! deny.toml holds of every dependency: licences, bans and sources, as `cargo deny check licenses bans sources` has it,
//! without cargo-deny.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

mod rules;
mod spdx;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use rules::Rules;
use serde_json::{Value, json};
use toml::{Table, Value as Toml};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("the file can be read")
}

fn rules() -> Rules {
    Rules::parse(&file("deny.toml")).expect("deny.toml is understood")
}

#[test]
fn locked_packages_respect_bans_and_sources() {
    let lock: Table = file("Cargo.lock").parse().expect("Cargo.lock is TOML");
    let packages = lock.get("package").and_then(Toml::as_array).expect("Cargo.lock has packages");
    let text = |package: &Toml, key: &str| package.get(key).and_then(Toml::as_str).map(str::to_owned);
    let rules = rules();
    let faults: Vec<String> = packages
        .iter()
        .flat_map(|package| {
            rules.faults_of_lock(&text(package, "name").expect("a name"), text(package, "source").as_deref())
        })
        .collect();
    println!("{} packages in Cargo.lock", packages.len());
    assert!(packages.len() > 200, "{} packages", packages.len());
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn every_package_has_an_allowed_license() {
    let packages = packages();
    println!("{} packages with licences", packages.len());
    assert!(packages.len() > 150, "{} packages", packages.len());
    let rules = rules();
    let faults: Vec<String> = packages.iter().flat_map(|package| rules.faults(package)).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The packages of every platform; without a network, of this one, unless all has to be there.
fn packages() -> Vec<Value> {
    let metadata = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args(["metadata", "--locked", "--all-features", "--format-version", "1"]).args(flags);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo runs")
    };
    let mut output = metadata(&[]);
    if !output.status.success() && std::env::var("CI").as_deref() != Ok("true") {
        println!("only the packages of this platform, for others are not downloaded");
        output = metadata(&["--offline", "--filter-platform", &host()]);
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("rustc prints text");
    text.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc knows its host").to_owned()
}

fn allows(expression: &str) -> Result<bool, String> {
    let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"];
    spdx::is_allowed(expression, &BTreeSet::from(allowed.map(str::to_owned)))
}

#[test]
fn license_expressions_are_evaluated() {
    let cases = [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 / AGPL-3.0", false),
        ("MIT AND ISC", true),
        ("MIT AND GPL-3.0", false),
        ("GPL-3.0 OR MIT AND ISC", true),
        ("GPL-3.0 AND MIT OR ISC", true),
        ("GPL-3.0 AND (MIT OR ISC)", false),
        ("(MIT OR GPL-3.0) AND (ISC)", true),
        ("Apache-2.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("MIT WITH LLVM-exception", false),
    ];
    for (expression, expected) in cases {
        assert_eq!(allows(expression), Ok(expected), "{expression}");
    }
}

#[test]
fn malformed_license_expression_is_an_error() {
    for expression in ["", "OR", "MIT OR", "MIT ISC", "(MIT", "MIT)", "MIT AND OR ISC", "MIT WITH", "()"] {
        assert!(allows(expression).is_err(), "{expression}");
    }
}

#[test]
fn every_fault_of_a_package_is_found() {
    let fine = json!({ "name": "fine", "license": "MIT", "source": CRATES_IO, "dependencies": [], "publish": null });
    let with = |key: &str, value: Value| {
        let mut package = fine.clone();
        package[key] = value;
        rules().faults(&package)
    };
    assert_eq!(rules().faults(&fine), [""; 0]);
    let wildcard = json!([{ "name": "any", "req": "*" }, { "name": "local", "req": "*", "path": "/local" }]);
    let cases = [
        (with("license", json!("GPL-3.0-only")), "fine is licensed \"GPL-3.0-only\", which deny.toml does not allow"),
        (with("license", Value::Null), "fine has no licence expression"),
        (with("license", json!("MIT AND")), "fine is licensed \"MIT AND\": a licence is missing at the end"),
        (with("name", json!("native-tls")), "native-tls is banned: TLS is rustls with ring"),
        (with("source", json!("git+https://example.com/x")), "fine comes from git+https://example.com/x"),
        (with("source", json!("registry+https://example.com/x")), "fine comes from registry+https://example.com/x"),
        (with("dependencies", wildcard), "fine takes any version of any"),
    ];
    for (faults, expected) in cases {
        assert_eq!(faults, [expected]);
    }
}

#[test]
fn unchecked_rule_is_an_error() {
    let text = file("deny.toml");
    let error = |text: &str| Rules::parse(text).err().unwrap_or_default();
    let added = text.replace("[sources]", "[sources]\nprivate = [\"https://example.com\"]");
    assert!(error(&added).contains("sources.private"), "{}", error(&added));
    let skipped = text.replace("reason = \"TLS is rustls with ring\" }", "wrappers = [\"x\"] }");
    assert!(error(&skipped).contains("bans.deny.wrappers"), "{}", error(&skipped));
    let lax = text.replace("wildcards = \"deny\"", "wildcards = \"allow\"");
    assert_eq!(error(&lax), "bans.wildcards is not \"deny\"");
    assert!(!error("").is_empty() && !error("[").is_empty());
}

//! What a mistake in the use of `mcp_tools!` looks like to its user.
//!
//! `TRYBUILD=overwrite cargo test --test ui` accepts what rustc says now.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

use mcp_model::write_if_changed;
use serde_json::{Value, json};

const CONFIG: &str = r#"
deny = ["MCP0007"]

[servers]
github = { command = "server" }
small = { command = "server" }
narrow = { command = "server", tools = ["create_issue", "delete_everything"] }
unsynced = { command = "server" }
truncated = { command = "server" }
newer = { command = "server" }
dangling = { command = "server" }
"#;

#[test]
fn mistakes_are_explained() {
    let github = fixture("snapshots/github.json");
    let small = only(&github, "create_issue");
    install("mcp.toml", CONFIG);
    install("mcp/github.json", &github);
    install("mcp/small.json", &small);
    install("mcp/narrow.json", &small);
    install("mcp/truncated.json", &fixture("broken/truncated.json"));
    install("mcp/newer.json", &fixture("broken/newer_format.json"));
    install("mcp/dangling.json", &fixture("features/ref_elsewhere.json"));
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

#[test]
fn no_message_shows_where_the_crate_is() {
    let mut count = 0;
    for folder in ["tests/ui", "mcp-macros/tests/ui"] {
        for entry in fs::read_dir(root().join(folder)).expect("the cases can be listed") {
            let path = entry.expect("the cases can be listed").path();
            if path.extension().is_some_and(|extension| extension == "stderr") {
                let text = fs::read_to_string(&path).expect("the message can be read");
                // What trybuild writes in place of absolute paths.
                for place in ["$WORKSPACE/target", "$DIR", "/tmp/", "/home/", "trybuild"] {
                    assert!(!text.contains(place), "{}: {place}", path.display());
                }
                count += 1;
            }
        }
    }
    assert!(count > 15, "{count} cases");
}

/// Writes a file into the crate that trybuild builds the cases in.
fn install(file: &str, text: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
    let package = target.join("tests/trybuild").join(env!("CARGO_PKG_NAME"));
    write_if_changed(&package.join(file), text.as_bytes()).expect("the file can be written");
}

/// A tool list with one of its tools.
fn only(list: &str, tool: &str) -> String {
    let list: Value = serde_json::from_str(list).expect("the list is JSON");
    let tools = list.get("tools").and_then(Value::as_array).expect("the list has tools");
    let tools: Vec<&Value> = tools.iter().filter(|found| found.get("name") == Some(&json!(tool))).collect();
    json!({ "tools": tools }).to_string()
}

fn fixture(path: &str) -> String {
    fs::read_to_string(root().join("fixtures").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

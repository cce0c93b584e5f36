//! `serve` as it is operated: reloads, tokens, the log of calls.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(unix)]

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::Project;
use crate::serve::{Served, initialize_modern, post};

const CONFIG: &str = "[servers.desk]\ncommand = \"SERVER\"\ntools = [\"add\"]\n";

fn call(tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments,
        "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                   "io.modelcontextprotocol/clientCapabilities": {} } } })
}

fn eventually(what: &str, holds: impl Fn() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < Duration::from_secs(20), "in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn hangup_or_file_change_reloads_a_valid_configuration() {
    for watch in [false, true] {
        let project = Project::new(CONFIG);
        let arguments: &[&str] = if watch { &["--http", "0", "--watch"] } else { &["--http", "0"] };
        let mut served = Served::new(project.command(), arguments);
        let url = served.line().trim().to_owned();
        let lists = |tool: &str| post(&url, &[], &initialize_modern()).contains(&format!("desk_{tool}\""));
        assert!(lists("add") && !lists("list_labels"));
        let changed = CONFIG.replace("\"add\"", "\"add\", \"list_labels\"").replace("SERVER", &server(&project));
        project.write("mcp.toml", &changed);
        if !watch {
            assert!(!lists("list_labels"), "nobody asked for it");
            served.signal("HUP");
        }
        eventually("the new tool is served", || lists("list_labels"));
        project.write("mcp.toml", &format!("{changed}aprove = []\n"));
        if !watch {
            served.signal("HUP");
        }
        std::thread::sleep(Duration::from_millis(if watch { 3500 } else { 500 }));
        assert!(lists("list_labels") && lists("add"));
        served.signal("TERM");
        let (code, said) = served.ends();
        assert_eq!(code, Some(143), "{said}");
        assert!(said.contains("Reloaded the configuration; changed: desk"), "{said}");
        assert!(said.contains("not reloaded, and nothing changes: unknown key `aprove`"), "{said}");
        assert!(said.contains("mcp.toml:4:1"), "{said}");
    }
}

/// The command of the server in the configuration of a project.
fn server(project: &Project) -> String {
    let text = std::fs::read_to_string(project.path("mcp.toml")).unwrap();
    text.split('"').nth(1).expect("a command").to_owned()
}

#[test]
fn token_is_added_used_and_revoked_while_the_proxy_runs() {
    let project = Project::new(CONFIG);
    let token = |name: &str| {
        let run = project.run(&["auth", "token", name, "--tokens", "tokens.json"]).exits_with(0);
        format!("Bearer {}", run.stdout.trim())
    };
    let ann = token("ann");
    let mut served = Served::new(project.command(), &["--http", "0", "--tokens", "tokens.json"]);
    let url = served.line().trim().to_owned();
    let status = |bearer: &str| {
        let answered = post(&url, &[("Authorization", bearer)], &initialize_modern());
        answered.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!((status(&ann).as_str(), status("Bearer other").as_str()), ("200", "401"));
    let bob = token("bob");
    eventually("the new token is accepted", || status(&bob) == "200");
    project.run(&["auth", "token", "ann", "--tokens", "tokens.json", "--revoke"]).exits_with(0);
    eventually("the revoked token is refused", || status(&ann) == "401");
    assert_eq!(status(&bob), "200");
    let kept = std::fs::read_to_string(project.path("tokens.json")).unwrap();
    assert!(!kept.contains(bob.strip_prefix("Bearer ").unwrap()), "{kept}");
    project.run(&["auth", "token", "eve", "--tokens", "tokens.json", "--revoke"]).exits_with(1).says("no token `eve`");
    project.write("tokens.json", "{}");
    project.run(&["serve", "--http", "0", "--tokens", "tokens.json"]).exits_with(1).says("tokens.json");
}

#[test]
fn call_log_is_verified() {
    let project = Project::new(CONFIG);
    let mut served = Served::new(project.command(), &["--http", "0", "--log", "calls.jsonl"]);
    let url = served.line().trim().to_owned();
    for a in 0..3 {
        let headers = [("Mcp-Method", "tools/call"), ("Mcp-Name", "desk_add"), ("MCP-Protocol-Version", "2026-07-28")];
        let answered = post(&url, &headers, &call("desk_add", &json!({ "a": a, "b": 1 })));
        assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
    }
    project
        .run(&["serve", "--http", "0", "--log", "calls.jsonl"])
        .exits_with(1)
        .says("another process writes this log");
    served.signal("TERM");
    served.ends();
    project.run(&["log", "verify", "calls.jsonl"]).exits_with(0).says("Verified 3 lines of calls.jsonl");
    let text = std::fs::read_to_string(project.path("calls.jsonl")).unwrap();
    project.write("calls.jsonl", &text.replacen("\"success\"", "\"denied\"", 1));
    project.run(&["log", "verify", "calls.jsonl"]).exits_with(1).says("calls.jsonl:1: the line was changed");
    project.run(&["log", "verify", "no-such.jsonl"]).exits_with(1).says("no-such.jsonl");
}

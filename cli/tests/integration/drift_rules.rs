//! `[servers.x.drift]` in `check` and `diff`: classes of rules, accepted changes, and their reports.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use mcp_bindgen_model::Snapshot;
use serde_json::{Value, json};

use crate::check::git;
use crate::common::{Project, Run};

const SERVER: &str = "[servers.s]\ncommand = \"x\"\n";

fn snapshot(tools: &Value) -> String {
    Snapshot::parse(&json!({ "tools": tools }).to_string()).unwrap().to_text()
}

/// A branch that removes the tool `delete` and changes a hint of `find`, with this table for drift.
fn work(table: &str) -> Project {
    let find = |read_only: bool| json!({ "name": "find", "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": read_only } });
    let project = Project::new(&format!("{SERVER}{table}"));
    git(&project, &["init", "-q"]);
    project.write(
        "mcp/s.json",
        &snapshot(&json!([{ "name": "delete", "inputSchema": { "type": "object" } }, find(true)])),
    );
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-qm", "then"]);
    git(&project, &["checkout", "-qb", "work"]);
    project.write("mcp/s.json", &snapshot(&json!([find(false)])));
    git(&project, &["commit", "-qam", "now"]);
    project
}

fn check(table: &str, more: &[&str]) -> Run {
    work(table).run(&[&["check", "--offline", "--base", "main"], more].concat())
}

fn accepts(acceptance: &str) -> String {
    format!("[servers.s.drift]\naccept = [{{ {acceptance} }}]\n")
}

#[test]
fn reports_show_the_id_of_each_change() {
    let run = check("", &[]).exits_with(0);
    let run = run.says("breaking    delete: the tool was removed [MCPD0002]").says("[MCPD0006]");
    assert!(!run.stderr.contains("accepted"), "{}", run.stderr);
    let markdown = check("", &["--format", "markdown"]).exits_with(0).stdout;
    assert!(markdown.contains("`the tool was removed` [MCPD0002] |"), "{markdown}");
    let github = check("", &["--format", "github"]).exits_with(0).stdout;
    assert!(github.contains("the tool was removed [MCPD0002]"), "{github}");
}

#[test]
fn accepted_change_does_not_fail_the_check() {
    check("", &["--deny", "breaking"]).exits_with(4);
    let table =
        accepts("rule = \"MCPD0002\", tool = \"delete\", until = \"9999-12-31\", reason = \"no caller is left\"");
    check(&table, &["--deny", "breaking"])
        .exits_with(0)
        .says("accepted    delete: the tool was removed [MCPD0002]")
        .says("= accepted until 9999-12-31: no caller is left")
        .says("1 compatible, 1 accepted");
    // Other changes still count.
    check(&table, &["--deny", "compatible"]).exits_with(4);
    let json = check(&table, &["--format", "json"]).exits_with(0).json();
    let changes = json[0]["since"]["changes"].as_array().unwrap();
    let delete = changes.iter().find(|change| change["tool"] == "delete").unwrap();
    assert_eq!(delete["accepted"], json!({ "reason": "no caller is left", "until": "9999-12-31" }));
    assert_eq!((&delete["class"], &delete["breaking"]), (&json!("accepted"), &json!(false)));
    assert!(changes.iter().all(|change| change["tool"] == "delete" || change.get("accepted").is_none()));
    let markdown = check(&table, &["--format", "markdown"]).exits_with(0).stdout;
    assert!(markdown.contains("| accepted | `delete`") && !markdown.contains("breaking"), "{markdown}");
    let github = check(&table, &["--format", "github"]).exits_with(0).stdout;
    assert!(github.contains("::notice") && !github.contains("::warning"), "{github}");
}

#[test]
fn expired_acceptance_has_no_effect_and_warns() {
    let table = accepts("rule = \"MCPD0002\", until = \"2026-01-31\", reason = \"soon\"");
    check(&table, &["--deny", "breaking"])
        .exits_with(4)
        .says("breaking    delete: the tool was removed")
        .says("warning: s: acceptance has expired: MCPD0002\n --> mcp.toml:4:11")
        .says("= help: review the change, then extend `until` or remove the entry");
}

#[test]
fn acceptance_of_a_missing_change_warns() {
    let table = accepts("rule = \"MCPD0012\", tool = \"delete\", reason = \"x\"");
    check(&table, &["--deny", "breaking"])
        .exits_with(4)
        .says("warning: s: accepted change no longer exists: MCPD0012\n --> mcp.toml:4:11")
        .says("= help: remove the entry");
    // Without a comparison nothing is known about it.
    let run = work(&table).run(&["check", "--offline"]).exits_with(0);
    assert!(!run.stderr.contains("is gone"), "{}", run.stderr);
}

#[test]
fn class_of_a_rule_can_be_raised_and_lowered() {
    let class = |rules: &str| format!("[servers.s.drift]\nclass = {{ {rules} }}\n");
    check(&class("MCPD0002 = \"compatible\""), &["--deny", "source"])
        .exits_with(0)
        .says("compatible  delete: the tool");
    let raised = class("MCPD0002 = \"compatible\", MCPD0006 = \"breaking\"");
    check(&raised, &["--deny", "breaking"]).exits_with(4).says("breaking    find /annotations");
}

#[test]
fn diff_applies_the_rules_of_its_server() {
    let table = accepts("rule = \"MCPD0002\", reason = \"no caller is left\"");
    let project = work(&table);
    project.run(&["diff", "s@main", "s", "--deny", "breaking"]).exits_with(0).says("accepted    delete");
    // Two files belong to no server.
    project.write("old.json", &snapshot(&json!([{ "name": "delete", "inputSchema": { "type": "object" } }])));
    project.run(&["diff", "old.json", "mcp/s.json", "--deny", "breaking"]).exits_with(4);
}

#[test]
fn accepted_changes_of_a_live_server_are_reported_as_accepted() {
    let project = Project::new("[servers.s]\ncommand = \"SERVER\"\n");
    project.run(&["sync"]).exits_with(0);
    let mut known: Value = serde_json::from_str(&project.read("mcp/s.json")).unwrap();
    known["tools"].as_array_mut().unwrap().retain(|tool| tool["name"] != "add");
    project.write("mcp/s.json", &Snapshot::parse(&known.to_string()).unwrap().to_text());
    let report = project.run(&["check", "--format", "json"]).exits_with(4).json();
    let rule = report[0]["changes"][0]["rule"].as_str().unwrap();
    let table = accepts(&format!("rule = \"{rule}\", reason = \"reviewed\""));
    project.write("mcp.toml", &format!("{}{table}", project.read("mcp.toml")));
    let said = "s differs from its snapshot, only in changes that mcp.toml accepts\n --> mcp/s.json\n";
    project.run(&["check"]).exits_with(4).says(&format!("error: {said}"));
    let passed = project.run(&["check", "--deny", "wording"]).exits_with(0).says(&format!("warning: {said}"));
    assert!(!passed.stderr.contains("error"), "{}", passed.stderr);
    let markdown = project.run(&["check", "--deny", "wording", "--format", "markdown"]).exits_with(0).stdout;
    assert!(markdown.contains("**All changes of MCP servers are accepted**"), "{markdown}");
    assert!(markdown.contains("| accepted |") && !markdown.contains("mcp-bindgen sync"), "{markdown}");
}

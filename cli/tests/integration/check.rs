//! What `check` and `diff` say beside whether a server has changed: offline, against git, in the words of others' programs.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::process::Command;

use common::Project;
use serde_json::{Value, json};

const FIXTURE: &str = "[servers.fixture]\ncommand = \"SERVER\"\n";

/// The fixture's snapshot, but that `add` has another type for `a`, a tool less, and a tool that says hostile things.
fn doctored(project: &Project) -> String {
    let mut snapshot: Value = serde_json::from_str(&project.read("mcp/fixture.json")).unwrap();
    let tools = snapshot["tools"].as_array_mut().unwrap();
    tools.retain(|tool| tool["name"] != "tree_depth");
    tools[0]["inputSchema"]["properties"]["a"]["type"] = "string".into();
    tools[0]["inputSchema"]["properties"]["`@a|b`\n::error::x"] = json!({});
    format!("{snapshot:#}\n")
}

fn git(project: &Project, arguments: &[&str]) {
    let run = Command::new("git")
        .current_dir(project.path(""))
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "core.autocrlf=false",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn without_a_server_a_check_says_what_can_be_said() {
    let project = Project::new(FIXTURE);
    project.run(&["check", "--offline"]).exits_with(4).says("fixture has no snapshot");
    project.run(&["sync"]).exits_with(0);
    // Whatever would be started now fails.
    project.write("mcp.toml", "[servers.fixture]\ncommand = \"./no-such-program\"\n");
    project
        .run(&["check", "--offline"])
        .exits_with(0)
        .says("       Valid mcp/fixture.json")
        .says("1 server checked: 1 valid");
    let written = project.read("mcp/fixture.json");
    let other_ends = written.replace('\n', "\r\n");
    project.write("mcp/fixture.json", &other_ends);
    project.run(&["check", "--offline"]).exits_with(0);

    project.write("mcp/fixture.json", &written.replace("  \"tools\"", " \"tools\""));
    let edited = project.run(&["check", "--offline"]).exits_with(4).says("is not as `sync` writes it");
    assert!(edited.stdout.contains("+  \"tools\""), "{}", edited.stdout);
    project.write("mcp/fixture.json", "{");
    project.run(&["check", "--offline"]).exits_with(4).says("run `mcp-bindgen sync fixture` to take it anew");
    project.write("mcp/fixture.json", r#"{"format":7,"tools":[]}"#);
    project.run(&["check", "--offline"]).exits_with(1).says("install mcp-bindgen 0.7 or later");
    project.write("mcp/fixture.json", &written);
    project.write("mcp.toml", "[servers.fixture]\ncommand = \"x\"\ntools = [\"nothing_*\"]\n");
    let faults = project.run(&["check", "--offline", "--format", "json"]).exits_with(1).json();
    assert!(faults[0]["faults"][0].as_str().unwrap().contains("nothing_*"), "{faults}");
}

#[test]
fn a_check_tells_what_became_of_a_snapshot_since_a_branch() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let live = project.read("mcp/fixture.json");
    project.write("mcp/fixture.json", &doctored(&project));
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "then"]);
    git(&project, &["checkout", "-qb", "work"]);
    project.write("mcp/fixture.json", &live);
    git(&project, &["commit", "-qam", "now"]);
    // What came to the branch later is not of this work.
    git(&project, &["checkout", "-q", "main"]);
    project.write("later.txt", "later");
    git(&project, &["rm", "-q", "mcp/fixture.json"]);
    git(&project, &["commit", "-qm", "later"]);
    git(&project, &["checkout", "-q", "work"]);

    project
        .run(&["check", "--base", "main"])
        .exits_with(0)
        .says("       Since main: fixture has 1 breaking, 1 source, 1 compatible")
        .says("breaking    add /inputSchema/properties/a");
    let report = project.run(&["check", "--offline", "--base", "main", "--format", "json"]).exits_with(0).json();
    assert_eq!(report[0]["since"]["changes"][0]["class"], "breaking");
    project
        .run(&["check", "--offline", "--base", "no-such-branch"])
        .exits_with(1)
        .says("git has no commit `no-such-branch`");
    project.run(&["check", "--offline", "--base", "--output=x"]).exits_with(2);

    let diff = project.run(&["diff", "fixture@main~1", "mcp/fixture.json", "--format", "json"]).exits_with(4).json();
    assert_eq!(diff["changes"].as_array().unwrap().len(), 3);
    project.run(&["diff", "fixture", "live:fixture"]).exits_with(0).says("fixture to live:fixture: no difference");
    project.run(&["diff", "fixture@main", "fixture"]).exits_with(1).says("there is no mcp/fixture.json at `main`");
    project.run(&["diff", "fixtur", "fixture"]).exits_with(1).says("did you mean `fixture`?");
}

#[test]
fn reports_for_github_say_no_more_than_they_are_meant_to() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    project.write("mcp/fixture.json", &doctored(&project));
    let comment = project.run(&["check", "--format", "markdown"]).exits_with(4).stdout;
    assert!(
        comment.starts_with(
            "<!-- mcp-bindgen check -->\n**MCP snapshots need attention**: 1 server checked: 1 out of date.\n"
        ),
        "{comment}"
    );
    assert!(comment.contains("| `fixture` | out of date | 1 breaking, 1 source, 1 compatible |"), "{comment}");
    assert!(comment.lines().all(|line| !line.trim_start().starts_with("::")), "{comment}");

    let summary = project.path("summary.md");
    let github = project
        .command()
        .args(["check", "--format", "github"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let stdout = String::from_utf8(github.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 2, "one for each tool: {stdout}");
    assert!(lines[0].starts_with("::error file=mcp/fixture.json,line="), "{stdout}");
    assert!(lines[1].starts_with("::notice file=mcp/fixture.json"), "{stdout}");
    assert!(!String::from_utf8(github.stderr).unwrap().lines().any(|line| line.trim_start().starts_with("::")));
    assert_eq!(project.read("summary.md").trim_end(), comment.trim_end());
    project.run(&["sync", "--format", "github"]).exits_with(2).says("this command has no format `github`");
}

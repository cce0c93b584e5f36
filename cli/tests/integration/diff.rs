//! `diff`: what a word means, and when two sides are the same.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::process::Command;

use common::Project;

const ONE: &str = r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#;
const TWO: &str = r#"{"tools": [{"name": "pong", "inputSchema": {"type": "object"}}]}"#;

#[test]
fn shown_differences_are_real() {
    let project = Project::empty();
    project.write("a.json", ONE);
    let tools = ONE.trim_start_matches('{');
    let others =
        [ONE.replace(' ', ""), format!("{{\"server\": \"s\", {tools}"), ONE.replace(": \"ping\"", ":\"ping\"")];
    for other in others {
        project.write("b.json", &other);
        let run = project.run(&["diff", "a.json", "b.json"]).exits_with(4);
        assert!(run.stdout.starts_with("--- a.json\n+++ b.json\n"), "{}", run.stdout);
        run.says("a.json to b.json: same tools, different text");
        let json = project.run(&["diff", "a.json", "b.json", "--format", "json"]).exits_with(4).json();
        assert!(json["same"] == false && json["changes"].as_array().unwrap().is_empty(), "{json}");
    }
    // Not the line ends, which git changes.
    project.write("a.json", &format!("{ONE}\n"));
    project.write("b.json", &format!("{ONE}\r\n"));
    let json = project.run(&["diff", "a.json", "b.json", "--format", "json"]).exits_with(0).json();
    assert_eq!(json["same"], true);
    assert_eq!(project.run(&["diff", "a.json", "b.json"]).exits_with(0).says("no difference").stdout, "");
}

#[test]
fn revisions_and_files_are_distinguished_by_existence() {
    let project = Project::empty();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
        let run = Command::new("git").current_dir(project.path("")).args(identity).args(arguments).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    };
    project.write("mcp.toml", "[servers.s]\ncommand = \"x\"\n");
    for file in ["mcp/s.json", "pkgs/@scope/s.json", "pkgs/@scope/gone.json"] {
        project.write(file, ONE);
    }
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    git(&["branch", "user@x"]);
    for file in ["mcp/s.json", "pkgs/@scope/s.json"] {
        project.write(file, TWO);
    }
    std::fs::remove_file(project.path("pkgs/@scope/gone.json")).unwrap();
    git(&["commit", "-qam", "two"]);
    for old in [
        "s@HEAD@{1}",
        "s@main@{1}",
        "s@@{1}",
        "s@user@x",
        "mcp/s.json@user@x",
        "pkgs/@scope/s.json@user@x",
        "pkgs/@scope/gone.json@main@{1}",
    ] {
        let json = project.run(&["diff", old, "s", "--format", "json"]).exits_with(4).json();
        assert_eq!(json["changes"].as_array().unwrap().len(), 2, "{old}: {json}");
    }
    for old in ["s@HEAD@{0}", "s@@", "pkgs/@scope/s.json", "pkgs/@scope/s.json@main"] {
        project.run(&["diff", old, "s"]).exits_with(0).says("no difference");
    }
    project
        .run(&["diff", "pkgs/@scope/none.json", "s"])
        .exits_with(1)
        .says("file not found\n --> pkgs/@scope/none.json");
    project.run(&["diff", "s@no@where", "s"]).exits_with(1).says("git has no commit `no@where`");
}

#[test]
fn readme_shows_a_real_report() {
    let readme = include_str!("../../../README.md");
    let (_, section) = readme.split_once("\n## When a server changes\n").unwrap();
    let shown = section.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    let list = |owner: &str, order: &str| {
        let text = r#"{ "type": "string" }"#;
        format!(
            r#"{{ "tools": [
                {{ "name": "create_issue", "inputSchema": {{ "type": "object", "properties":
                    {{ "owner": {owner}, "repo": {text}, "title": {text} }}, "required": ["owner", "repo", "title"] }} }},
                {{ "name": "move_file", "inputSchema": {{ "type": "object", "properties":
                    {{ "source": {text}, "destination": {text} }}, "required": {order} }} }} ] }}"#
        )
    };
    let project = Project::empty();
    project.write("old.json", &list(r#"{ "type": "string" }"#, r#"["source", "destination"]"#));
    project.write("new.json", &list(r#"{ "type": "string", "maxLength": 15 }"#, r#"["destination", "source"]"#));
    let run = project.run(&["diff", "old.json", "new.json"]).exits_with(4);
    let told: Vec<&str> = run.stderr.lines().map(str::trim).filter(|line| !line.starts_with("Finished")).collect();
    assert_eq!(told, shown.lines().map(str::trim).collect::<Vec<_>>());
}

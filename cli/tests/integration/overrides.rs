//! Tests overrides of a server's tools, as the commands show and check them.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, fixtures};
use mcp_bindgen_codegen::{Bindings, Options, apply_overrides, format};
use mcp_bindgen_model::{Overrides, Snapshot};
use serde_json::{Value, json};

const SERVER: &str = "[servers.github]\ncommand = \"SERVER\"\nargs = [\"--github\"]\n";

/// A project with GitHub's three tools and their overrides.
fn github() -> Project {
    let project = Project::new(SERVER);
    for file in ["github.json", "github.overrides.json"] {
        project.write(&format!("mcp/{file}"), &fs::read_to_string(fixtures().join("overrides").join(file)).unwrap());
    }
    project
}

fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut value = serde_json::from_str(text).unwrap();
    change(&mut value);
    format!("{value:#}\n")
}

#[test]
fn list_shows_the_effect_of_overrides() {
    let project = github();
    let list = project.run(&["list", "github"]).exits_with(0);
    assert_eq!(
        list.heads(),
        "github/create_issue         github::github_create_issue(GithubCreateIssueParams) -> GithubCreateIssueOutput  \
         (parameters and result by override, learned from 12 results)\n\
         github/list_issues          github::github_list_issues(GithubListIssuesParams) -> GithubListIssuesOutput  \
         (parameters and result by override)\n\
         github/search_repositories  github::github_search_repositories(GithubSearchRepositoriesParams) -> \
         GithubSearchRepositoriesOutput  (result by override, learned from 1 result)\n\
         github (github-mcp-server 0.6.2, protocol 2025-11-25): 3 tools\n"
    );
    let tools = project.run(&["list", "--format", "json"]).exits_with(0).json();
    assert_eq!(tools[0]["override"], json!({ "inputSchema": true, "outputSchema": true, "learnedFrom": 12 }));
    assert_eq!(tools[1]["override"], json!({ "inputSchema": true, "outputSchema": true, "learnedFrom": null }));
    assert_eq!(tools[2]["override"], json!({ "inputSchema": false, "outputSchema": true, "learnedFrom": 1 }));

    fs::remove_file(project.path("mcp/github.overrides.json")).unwrap();
    let tools = project.run(&["list", "--format", "json"]).exits_with(0).json();
    assert_eq!((tools[0].get("override"), &tools[0]["returns"]), (None, &json!("ToolResult")));
}

#[test]
fn expand_output_equals_the_generated_tokens() {
    let project = github();
    let path = project.path("mcp/github.json");
    let overrides = Overrides::load_beside(&path).unwrap().unwrap();
    let mended = apply_overrides(&Snapshot::load(&path).unwrap(), &overrides).unwrap();
    let expected = format(Bindings::generate(&mended, &Options::new("gh")).0).unwrap();
    let expanded = project.run(&["expand", "--snapshot", "mcp/github.json", "--server", "gh"]).exits_with(0);
    assert_eq!(expanded.stdout, expected);
}

#[test]
fn every_mismatched_override_is_reported() {
    let project = github();
    project.write(
        "mcp/github.overrides.json",
        r#"{ "tools": {
  "create_issues": { "outputSchema": {} },
  "list_issues": { "patch": { "inputSchema": { "properties": { "pages": { "type": "integer" } } } } }
} }"#,
    );
    for command in [&["list"][..], &["expand", "github"]] {
        let run = project.run(command).exits_with(1);
        assert_eq!(
            run.stderr,
            "error: unknown tool `create_issues` in the overrides\n --> mcp/github.overrides.json:2:3 (tool create_issues)\n  = help: did you mean `create_issue`?\nerror: the patch of tool `list_issues` changes `pages`, which does not exist\n --> mcp/github.overrides.json:3:64 (tool list_issues, /inputSchema/properties/pages)\n  = help: did you mean `page`? a patch changes declared parts; add new constraints in `allOf`\n"
        );
    }
    project.write(
        "mcp/github.overrides.json",
        "{ \"tools\": { \"list_issues\": { \"outputSchema\": { \"type\": \"lst\" } } } }",
    );
    project.run(&["list"]).exits_with(1).says(
        "error: the type is not a JSON type: `lst`\n --> mcp/github.overrides.json:1:49 (tool list_issues, /outputSchema/type)\n  = help: expected a JSON Schema for the override\n",
    );
}

#[test]
fn untyped_override_is_reported_at_its_line() {
    let project = github();
    let overrides = "{\n  \"tools\": {\n    \"list_issues\": {\n      \"outputSchema\": { \"$ref\": \"https://example.com/x\" }\n    }\n  }\n}\n";
    project.write("mcp/github.overrides.json", overrides);
    project.run(&["list"]).exits_with(0).says(
        " --> mcp/github.overrides.json:4:25 (tool list_issues, /outputSchema/$ref)\n  |\n4 |       \"outputSchema\": { \
         \"$ref\": \"https://example.com/x\" }\n  |                         ^^^^^^\n",
    );
    let said = project.run(&["list", "--format", "json"]).exits_with(0).json();
    assert_eq!((&said[1]["diagnostics"][0]["line"], &said[1]["diagnostics"][0]["column"]), (&json!(4), &json!(25)));
}

#[test]
fn check_and_sync_compare_without_overrides() {
    let project = github();
    project.run(&["sync"]).exits_with(0);
    let synced = project.read("mcp/github.json");
    assert!(!synced.contains("outputSchema"), "the snapshot holds no override");
    project.run(&["check"]).exits_with(0).says("  Up to date mcp/github.json\n");
    let fitting = project.read("mcp/github.overrides.json");

    // The configuration would not build: the patch is of a property that there is not.
    project.write("mcp/github.overrides.json", &fitting.replace("\"since\"", "\"until\""));
    let check = project.run(&["check"]).exits_with(1);
    let misfit =
        "the patch of tool `list_issues` changes `until`, which does not exist\n --> mcp/github.overrides.json:";
    assert_eq!(check.stderr.matches(misfit).count(), 1, "{}", check.stderr);
    let report = project.run(&["check", "--format", "json"]).exits_with(1).json();
    assert!(report[0]["faults"][0].as_str().unwrap().starts_with(misfit), "{report:#}");
}

#[test]
fn server_changes_under_overrides_are_reported_before_and_after_sync() {
    let project = github();
    project.run(&["sync"]).exits_with(0);
    let synced = project.read("mcp/github.json");
    // The server of old had a tool and a property that the one of now has not.
    let old = changed(&synced, |snapshot| {
        let tools = snapshot["tools"].as_array_mut().unwrap();
        tools[0]["inputSchema"]["properties"]["urgent"] = json!({ "type": "string" });
        tools.push(json!({ "name": "star", "inputSchema": { "type": "object" } }));
    });
    project.write("mcp/github.json", &old);
    let overrides = changed(&project.read("mcp/github.overrides.json"), |overrides| {
        let tools = &mut overrides["tools"];
        tools["create_issue"]["patch"]["inputSchema"]["properties"]["urgent"] = json!({ "type": "boolean" });
        tools["star"] = json!({ "outputSchema": { "type": "boolean" } });
    });
    project.write("mcp/github.overrides.json", &overrides);
    project.run(&["list"]).exits_with(0);

    let misfits = [
        "error: the current tools of github do not fit: the patch of tool `create_issue` changes `urgent`, which does not exist\n",
        "error: the current tools of github do not fit: unknown tool `star` in the overrides\n",
    ];
    let check = project.run(&["check"]).exits_with(4).says(misfits[0]).says(misfits[1]);
    assert!(check.stderr.contains(" --> mcp/github.overrides.json:"), "{}", check.stderr);
    let report = project.run(&["check", "--format", "json"]).exits_with(4).json();
    assert_eq!((report[0]["misfits"].as_array().map(Vec::len), report[0].get("faults")), (Some(2), None));

    project.run(&["sync"]).exits_with(1).says("     Updated mcp/github.json").says(misfits[0]).says(misfits[1]);
    assert_eq!(project.read("mcp/github.json"), synced, "the snapshot is what the server says all the same");
    project.run(&["check"]).exits_with(1).says("error: unknown tool `star` in the overrides\n");
    let report = project.run(&["sync", "--format", "json"]).exits_with(1).json();
    assert_eq!(report[0]["misfits"].as_array().map(Vec::len), Some(2));
}

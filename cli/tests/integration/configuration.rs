//! Configuration that would do nothing, or not what it says.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;
use std::path::Path;

use common::{Project, fixture_server};
use serde_json::json;

const LIST: &str = r#"{"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}"#;

fn offline(config: &str) -> Project {
    let project = Project::empty();
    project.write("mcp.toml", config);
    project.write("mcp/gh.json", LIST);
    project
}

#[test]
fn check_reports_faults_that_prevent_a_build() {
    let project = Project::new(
        "deny = [\"MCP0006\"]\n[servers.gh]\ncommand = \"SERVER\"\nexclude = [\"ad\"]\n\
         [servers.g-h]\ncommand = \"SERVER\"\n[servers.g_h]\ncommand = \"SERVER\"\n",
    );
    project
        .run(&["sync"])
        .exits_with(1)
        .says("the current tools of gh do not fit: no tool of server `gh` matches `ad`");
    let check = project
        .run(&["check"])
        .exits_with(1)
        .says(
            "error: no tool of server `gh` matches `ad` in `exclude`\n --> mcp.toml:4:12\n  = help: did you mean `add`",
        )
        .says("error: servers `g-h` and `g_h` have the same module name `g_h`\n --> mcp.toml\n")
        .says("Up to date mcp/gh.json");
    assert!(!check.stderr.contains("MCP0006"), "{}", check.stderr);
    let report = project.run(&["check", "gh", "--format", "json"]).exits_with(1).json();
    assert_eq!(report[0]["status"], "up-to-date");
    assert!(report[0]["faults"][0].as_str().unwrap().contains("`ad` in `exclude`"), "{report}");

    project.write("mcp/g_h.json", r#"{"tools": [{"name": "x", "inputSchema": {"type": "text"}}]}"#);
    project.run(&["check", "g_h"]).exits_with(1).says("error[MCP0006]: the type is not a JSON type");
}

#[test]
fn unknown_diagnostic_code_is_refused_by_every_command() {
    let project = offline("allow = [\"MCP0099\"]\n[servers.gh]\nnpm = \"x\"\n");
    let said =
        "error: `allow` contains the unknown code `MCP0099`\n --> mcp.toml:1:10\n  = help: did you mean `MCP0009`?";
    for command in [&["list"][..], &["check"], &["sync"], &["expand", "gh"]] {
        project.run(command).exits_with(1).says(said);
    }
}

#[test]
fn unmatched_patterns_are_errors() {
    let project = offline("[servers.gh]\nnpm = \"x\"\napprove = [\"ad\"]\n");
    project.run(&["list"]).exits_with(1).says("no tool of server `gh` matches `ad` in `approve`");
    let project = offline("[servers.gh]\nnpm = \"x\"\nexclude = [\"add\"]\n");
    project.run(&["expand", "gh"]).exits_with(1).says("no tools to bind: `add` excludes every tool");
}

#[test]
fn rust_options_apply_or_are_refused() {
    let project =
        offline("[servers.gh]\nnpm = \"x\"\nrust = { rename = { add = \"sum\" }, derive = [\"crate::Own\"] }\n");
    let listed = project.run(&["list", "--format", "json"]).exits_with(0).stdout;
    assert!(listed.contains("\"gh_sum\"") && listed.contains("GhSumParams"), "{listed}");
    let code = project.run(&["expand", "gh"]).exits_with(0).stdout;
    assert!(code.contains("Default, crate::Own)]\n    pub struct GhSumParams"), "{code}");

    let project = offline("[servers.gh]\nnpm = \"x\"\nrust.rename = { ad = \"sum\" }\n");
    let said =
        "error: in `rename`: `ad` not found: unknown tool `ad`\n --> mcp.toml:3:17\n  = help: did you mean `add`?";
    for command in [&["list"][..], &["expand", "gh"]] {
        project.run(command).exits_with(1).says(said);
    }
}

#[test]
fn invalid_mcp_json_entry_is_a_warning_until_it_is_used() {
    let project = offline("");
    fs::remove_file(project.path("mcp.toml")).unwrap();
    project.write(".mcp.json", r#"{"mcpServers": {"gh": {"command": "x"}, "odd": {"type": "ws", "url": "x"}}}"#);
    let reason = ": invalid value `ws` for `type` of server `odd`\n --> .mcp.json:1:57";
    project.run(&["list"]).exits_with(0).says(&format!("warning{reason}"));
    project.run(&["list", "odd"]).exits_with(1).says(&format!("error{reason}"));
}

#[test]
fn unknown_server_in_the_environment_is_a_warning() {
    let project = offline("[servers.gh]\nnpm = \"x\"\n");
    let list = |servers: &str| {
        let output = project.command().arg("list").env("MCP_SERVERS", servers).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let said = list(r#"{"ghh": {"command": "x"}}"#);
    let warning = "warning: MCP_SERVERS names `ghh`, which is not a server of the file\n --> mcp.toml\n  = help: did you mean `gh`?\n";
    assert!(said.starts_with(warning), "{said}");
    assert_eq!(list(r#"{"gh": {"command": "x"}}"#), "");
}

#[test]
fn truncated_snapshot_is_reported_and_not_compared() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\n");
    project.run(&["sync"]).exits_with(0);
    let text = project.read("mcp/fixture.json");
    project.write("mcp/fixture.json", &text[..text.len() / 2]);
    let check =
        project.run(&["check"]).exits_with(4).says("error: fixture: the snapshot is cut off: EOF while parsing");
    assert!(
        check.stderr.contains("\n --> mcp/fixture.json:") && check.stderr.contains("run `mcp-bindgen sync fixture`")
    );
    assert_eq!(check.stdout, "", "no diff");
    let report = project.run(&["check", "--format", "json"]).exits_with(4).json();
    assert_eq!((&report[0]["status"], &report[0]["changes"]), (&json!("broken"), &json!([])));
    project.write("mcp/fixture.json", "{\"format\":7,\"tools\":[]}");
    project.run(&["check"]).exits_with(1).says("the snapshot has format 7");
}

#[cfg(unix)]
#[test]
fn servers_start_in_the_folder_of_the_configuration() {
    let project = Project::empty();
    let config = |more: &str| {
        let server = fixture_server().display();
        format!("[servers.here]\ncommand = \"./bin/server\"\nargs = [\"pwd > '{{}}'; exec {server}\"]\n{more}")
    };
    let place = project.path("where");
    let config = |more: &str| config(more).replace("{}", place.to_str().unwrap());
    std::os::unix::fs::symlink("/bin/sh", in_folder(&project, "bin").join("server")).unwrap();
    fs::create_dir_all(project.path("src/deep")).unwrap();
    fs::create_dir_all(project.path("data")).unwrap();
    let started_in = |more: &str| {
        project.write("mcp.toml", &config(more).replace("args = [", "args = [\"-c\", "));
        let mut command = project.command();
        command.current_dir(project.path("src/deep")).args(["--config", "../../mcp.toml", "call", "here", "add"]);
        let output = command.args(["--args", r#"{"a":1,"b":2}"#]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::canonicalize(project.read("where").trim()).unwrap()
    };
    assert_eq!(started_in(""), fs::canonicalize(project.path("")).unwrap());
    assert_eq!(started_in("cwd = \"data\"\n"), fs::canonicalize(project.path("data")).unwrap());
    assert_eq!(started_in("cwd = \"/\"\n"), Path::new("/"));
}

#[cfg(unix)]
fn in_folder(project: &Project, name: &str) -> std::path::PathBuf {
    fs::create_dir_all(project.path(name)).unwrap();
    project.path(name)
}

#[test]
fn expand_writes_paths_relative_to_the_crate_of_the_output() {
    let project = offline("[defaults]\ntimeout = \"7s\"\n[servers.gh]\ncommand = \"./bin/server\"\n");
    project.write("Cargo.toml", "[workspace]\nmembers = [\"one\"]\n");
    project.write("one/Cargo.toml", "[package]\nname = \"one\"\n");
    let here = project.run(&["expand", "gh"]).exits_with(0).stdout;
    assert!(here.contains(".folder(::core::env!(\"CARGO_MANIFEST_DIR\"))"), "{here}");
    assert!(here.contains(r#"\"timeout\":\"7s\""#), "{here}");
    project.run(&["expand", "gh", "-o", "one/src/gh.rs"]).exits_with(0);
    let there = project.read("one/src/gh.rs");
    assert!(there.contains(".folder(::core::concat!(::core::env!(\"CARGO_MANIFEST_DIR\"), \"/..\"))"), "{there}");
    assert!(!there.contains(project.path("").to_str().unwrap()), "{there}");
}

#[test]
fn empty_variable_counts_as_unset() {
    let project = offline("[servers.a]\ncommand = \"x\"\n");
    let run = |value: &str| {
        let mut command = project.command();
        common::Run::of(&command.env("MCP_SERVERS", value).args(["doctor", "a"]).output().unwrap())
    };
    for empty in ["", " \n"] {
        run(empty).exits_with(1).says("a: program: `x` was not found");
    }
    run("{").exits_with(1).says("MCP_SERVERS:1:");
    // A named server must exist.
    project.write("mcp.toml", "");
    project.run(&["doctor"]).exits_with(0);
    project.run(&["doctor", "a"]).exits_with(1).says("unknown server `a`");
}

//! Servers in bounds, from the command line: what they see, and what is said where nothing holds them to it.

#![cfg(target_os = "linux")]
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

mod common;

use std::fs;
use std::path::Path;

use common::Project;

/// A server that leaves a file where it runs, and its isolation.
fn leaves_a_trace(project: &Project, isolation: &str) -> std::path::PathBuf {
    let trace = project.path("trace");
    let config = format!(
        "[servers.gh]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo ran > '{}'\"]\nisolation = {isolation}\n",
        trace.display()
    );
    project.write("mcp.toml", &config);
    trace
}

fn said(project: &Project, path: &Path, arguments: &[&str]) -> String {
    let output = project.command().args(arguments).env("PATH", path).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

const COMMANDS: [&[&str]; 3] = [&["sync"], &["check"], &["call", "gh", "add"]];

#[test]
fn without_bubblewrap_nothing_runs_and_what_to_install_is_said() {
    let project = Project::empty();
    project.write("bin/nothing", "");
    for isolation in ["{}", "{ home = \"temp\" }", "{ network = \"none\" }", "{ read = [] }", "{ write = [\".\"] }"] {
        let trace = leaves_a_trace(&project, isolation);
        project.write("mcp/gh.json", r#"{"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}"#);
        for command in COMMANDS {
            let said = said(&project, &project.path("bin"), command);
            assert!(
                said.contains("there is no `bwrap` on PATH; install it, as with `apt-get install bubblewrap`"),
                "{said}"
            );
            assert!(!trace.exists(), "{command:?} ran it all the same");
        }
    }
}

#[test]
fn where_bubblewrap_fails_nothing_runs_and_what_to_change_is_said() {
    let project = Project::empty();
    let trace = leaves_a_trace(&project, "{ network = \"none\" }");
    let fails = |with: &str| project.write_program("bin/bwrap", &format!("echo 'bwrap: {with}' >&2\nexit 1"));
    fails("setting up uid map: Permission denied");
    let forbidden = said(&project, &project.path("bin"), &["sync"]);
    assert!(forbidden.contains("cannot be enforced here: bwrap: setting up uid map: Permission denied"), "{forbidden}");
    assert!(forbidden.contains("kernel.apparmor_restrict_unprivileged_userns=0"), "{forbidden}");
    fails("Unknown option --unshare-all");
    let old = said(&project, &project.path("bin"), &["sync"]);
    assert!(old.contains("it is too old, 0.4 or newer is needed"), "{old}");
    assert!(!trace.exists());
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.gh]\ncommand = \"/bin/sh\"\nisolation = { read = [\"data\"] }\n");
    let said = said(&project, &project.path("bin"), &["sync"]);
    let folder = project.path("data");
    let named = format!("`read` of its `isolation` names `{}`, which does not exist", folder.display());
    assert!(said.contains(&named), "{said}");
}

#[test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
fn every_command_keeps_a_server_in_its_bounds() {
    let project = Project::new(
        "[servers.gh]\ncommand = \"SERVER\"\nargs = [\"--attempts\"]\n\
         isolation = { home = \"temp\", network = \"none\", read = [\"data\"], write = [\"${OUT:-out}\"] }\n",
    );
    project.write("data/in", "to be read");
    project.write("beside", "hidden");
    fs::create_dir(project.path("out")).unwrap();
    project.run(&["sync"]).exits_with(0);
    project.run(&["check"]).exits_with(0);
    let attempt = |what: &str, at: &Path, code: i32| {
        let arguments = serde_json::json!({ "do": what, "at": at }).to_string();
        project.run(&["call", "gh", "attempt", "--args", &arguments]).exits_with(code).stdout
    };
    assert!(attempt("read", &project.path("data/in"), 0).contains("to be read"));
    attempt("write", &project.path("out/x"), 0);
    assert_eq!(project.read("out/x"), "written");
    attempt("read", &project.path("beside"), 3);
    attempt("write", &project.path("data/x"), 3);
    attempt("list", &std::env::home_dir().unwrap().join(".ssh"), 3);
}

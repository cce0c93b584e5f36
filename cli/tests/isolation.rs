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

const COMMANDS: [&[&str]; 3] = [&["sync"], &["check"], &["call", "gh", "add"]];

/// The standard error of a command that fails while only these programs are on `PATH`.
fn said(project: &Project, path: &Path, arguments: &[&str]) -> String {
    let output = project.command().args(arguments).env("PATH", path).output().unwrap();
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn bubblewrap_on_path_is_not_run() {
    let project = Project::empty();
    let fake = project.path("fake-ran");
    project.write_program("bin/bwrap", &format!("echo ran > '{}'", fake.display()));
    let installed = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
    let is_installed = installed.iter().any(|path| Path::new(path).exists());
    for isolation in ["{}", "{ home = \"temp\" }", "{ network = \"none\" }", "{ read = [] }", "{ write = [\".\"] }"] {
        let trace = leaves_a_trace(&project, isolation);
        project.write("mcp/gh.json", r#"{"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}"#);
        for command in COMMANDS {
            let said = said(&project, &project.path("bin"), command);
            assert!(!fake.exists(), "{command:?} ran the one on PATH: {said}");
            if !is_installed {
                let missing = "its `isolation` requires bubblewrap, and `bwrap` was not found in /usr/bin, /bin, /usr/local/bin, /run/current-system/sw/bin; install it, as with `apt-get install bubblewrap`";
                assert!(said.contains(missing), "{said}");
                assert!(!trace.exists(), "{command:?} ran it all the same");
            }
        }
    }
}

#[test]
fn missing_isolation_folder_is_named() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.gh]\ncommand = \"/bin/sh\"\nisolation = { read = [\"data\"] }\n");
    let said = said(&project, &project.path("bin"), &["sync"]);
    let folder = project.path("data");
    let named = format!("`read` of its `isolation` contains `{}`, which does not exist", folder.display());
    assert!(said.contains(&named), "{said}");
}

#[test]
#[ignore = "needs bubblewrap; a suite of its own: .ci/run isolation"]
fn every_command_applies_isolation() {
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

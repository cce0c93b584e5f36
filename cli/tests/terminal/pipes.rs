//! Readers that go away.

use std::io::Read;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::Project;

#[test]
fn pipe_that_closes_early_is_not_an_error() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\ncommand = \"x\"\n");
    let tool = |n: u32| json!({"name": format!("tool_{n}"), "description": "d".repeat(200), "inputSchema": {"type": "object"}});
    // More than a pipe holds.
    project.write("mcp/s.json", &json!({ "tools": (0..600).map(tool).collect::<Value>() }).to_string());
    for words in [
        &["list"][..],
        &["list", "--format", "json"],
        &["expand", "s"],
        &["call", "s", "tool_1", "--help"],
        &["call", "s", "tool_1", "--dry-run"],
        &["check", "--offline", "--format", "json"],
        &["--help"],
        &["list", "--help"],
        &["completions", "bash"],
    ] {
        let expected = project.run(words).code;
        for is_some_read in [true, false] {
            let mut command = project.command();
            let mut child = command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let mut stdout = child.stdout.take().unwrap();
            if is_some_read {
                stdout.read_exact(&mut [0; 10]).unwrap();
            }
            drop(stdout);
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), expected, "{words:?}: {said}");
            assert!(!said.contains("panic") && !said.contains("Broken pipe"), "{words:?}: {said}");
        }
        // The result is the same without a reader of stderr.
        let mut child = project.command().args(words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), expected, "{words:?}");
    }
}

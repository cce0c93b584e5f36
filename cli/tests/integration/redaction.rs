//! Servers that repeat every secret of their configuration: only the result of a call does so too, on stdout.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::cell::Cell;

use common::{Project, Run};

const GIVEN: &str = "given 1f3a5c7e9b0d2468 \"q\" é/";
const ARGUMENT: &str = "argument-2468bd0f1357ace9";
const WRITTEN: &str = "written out 3579ce1f2468bd0a <&>";

/// Texts that occur only in secrets.
const CORES: [&str; 3] = ["1f3a5c7e9b0d2468", "2468bd0f1357ace9", "3579ce1f2468bd0a"];

fn leaks(text: &str) -> Option<&'static str> {
    CORES.iter().flat_map(|core| (0..=core.len() - 8).map(|at| &core[at..at + 8])).find(|part| text.contains(part))
}

#[test]
fn output_about_a_leaking_server_contains_no_secrets() {
    let server = |name: &str, more: &str| {
        format!(
            "[servers.{name}]\ncommand = \"SERVER\"\nargs = [\"--leak\", \"--token\", \"{ARGUMENT}\"{more}]\n\
             timeout = \"5s\"\nenv = {{ LEAK_GIVEN = \"${{GIVEN}}\", LEAK_WRITTEN = '{WRITTEN}' }}\n"
        )
    };
    let misbehaving = |mode: &str| server(mode, &format!(", \"--misbehave\", \"{mode}\""));
    let failing = ["error-without-id", "exit", "exit-on-call"];
    let project =
        Project::new(&[server("leaky", ""), misbehaving("no-tools-array"), failing.map(misbehaving).concat()].concat());
    let run = |arguments: &[&str]| {
        let output = project.command().env("GIVEN", GIVEN).args(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    };
    let redacted = Cell::new(0);
    let looked = |what: &str, text: &str| {
        redacted.set(redacted.get() + text.matches("[redacted]").count());
        assert_eq!(leaks(text), None, "{what}: {text}");
    };
    for format in ["text", "json"] {
        for command in [&["sync"][..], &["check"], &["sync", "leaky"], &["check", "leaky"], &["list", "leaky"]] {
            let run = run(&[command, &["--format", format]].concat());
            looked(&command.join(" "), &format!("{}{}", run.stdout, run.stderr));
        }
        looked("the snapshot", &project.read("mcp/leaky.json"));
        for server in failing {
            let run = run(&["call", server, "good", "--format", format]);
            looked(server, &format!("{}{}", run.stdout, run.stderr));
            assert_ne!(run.code, Some(0), "{server}");
        }
        for tool in ["ad", "always_fails"] {
            let run = run(&["call", "leaky", tool, "--args", "{}", "--format", format]);
            looked(tool, &run.stderr);
        }
    }
    let redacted = redacted.get();
    assert!(redacted > 100, "{redacted} redactions");
    println!("{redacted} redactions");

    let result = run(&["call", "leaky", "add", "--args", r#"{"a": 1, "b": 2}"#]);
    looked("add", &result.stderr);
    for secret in [GIVEN, ARGUMENT, WRITTEN] {
        assert!(result.stdout.contains(secret), "the result is not exact: {}", result.stdout);
    }
}

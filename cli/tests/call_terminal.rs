//! `call` where somebody sits at a terminal: approvals are asked for there, and progress goes away again.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::Stdio;

use common::Project;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// Runs the program at a terminal: once it shows `before`, it reads `answer`. What stood on the terminal, and the exit code.
fn at_terminal(project: &Project, arguments: &[&str], before: &str, answer: &str) -> (String, Option<i32>) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap();
    let path = std::ffi::OsStr::from_bytes(name.as_bytes());
    let theirs = || Stdio::from(OpenOptions::new().read(true).write(true).open(path).unwrap());
    let mut command = project.command();
    command.args(arguments).env("NO_COLOR", "1").stdin(theirs()).stdout(theirs()).stderr(theirs());
    let mut child = command.spawn().unwrap();
    // It keeps the other end open, which would never end.
    drop(command);
    let mut terminal = std::fs::File::from(ours);
    let mut shown = Vec::new();
    let mut is_answered = answer.is_empty();
    let mut part = [0; 4096];
    // The end of a terminal is an error on some systems.
    while let Ok(count @ 1..) = terminal.read(&mut part) {
        shown.extend_from_slice(&part[..count]);
        if !is_answered && String::from_utf8_lossy(&shown).contains(before) {
            terminal.write_all(answer.as_bytes()).unwrap();
            is_answered = true;
        }
    }
    let code = child.wait().unwrap().code();
    (String::from_utf8(shown).unwrap().replace("\r\n", "\n"), code)
}

#[test]
fn approvals_are_asked_for_with_all_that_would_be_sent() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\napprove = [\"always_*\", \"make_*\"]\n");
    let question = "`make_report` of server `fixture` needs approval. It would be called with\n{}\nCall it? [y/N] ";
    for (answer, code, then) in [
        ("y\n", 0, "All is well.\n"),
        ("YES\n", 0, "All is well.\n"),
        ("\n", 1, "error: fixture: `make_report` was denied: not approved: declined on the terminal\n"),
        ("sure\n", 1, "error: fixture: `make_report` was denied"),
    ] {
        let (shown, exit) = at_terminal(&project, &["call", "fixture", "make_report"], "[y/N] ", answer);
        let expected = format!("{question}{answer}{then}");
        assert!(exit == Some(code) && shown.starts_with(&expected), "{answer:?}: {exit:?}\n{shown}");
    }
    let hostile = "call fixture always_fails --reason \u{1b}[2J\u{202e}x".split(' ').collect::<Vec<_>>();
    let (shown, exit) = at_terminal(&project, &hostile, "[y/N] ", "n\n");
    assert!(exit == Some(1) && shown.contains(r#""reason": "\u001b[2J\u{202e}x""#), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let (shown, exit) = at_terminal(&project, &["call", "fixture", "make_report", "--yes"], "", "");
    assert!(exit == Some(0) && !shown.contains("approval"), "{shown}");
}

#[test]
fn progress_is_shown_on_one_line_that_goes_away() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\n");
    let words = ["call", "fixture", "count_slowly", "--steps", "3", "--pause_ms", "150"];
    let (shown, exit) = at_terminal(&project, &words, "", "");
    // However often a line is drawn, it is drawn in the place of the one before.
    let mut lines: Vec<&str> = shown.split("\r\u{1b}[2K").map(str::trim_end).collect();
    lines.dedup();
    assert_eq!(lines, ["    Progress 1/3", "    Progress 2/3", "    Progress 3/3", "counted to 3"], "{shown:?}");
    assert_eq!((shown.matches('\n').count(), exit), (1, Some(0)), "{shown:?}");
}

#[test]
fn each_argument_is_asked_for_until_the_answer_fits() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");
    let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {
        "owner": {"type": "string", "description": "Whose.\u{1b}[31m"}, "count": {"type": "integer"}, "given": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}}, "draft": {"type": "boolean"}, "format": {"enum": ["a", "b"]},
        "left": {"type": ["string", "null"]}, "none": {"type": "string"}}, "required": ["owner"]}});
    project.write("mcp/s.json", &json!({ "tools": [tool] }).to_string());
    let words = ["call", "s", "t", "--given", "x", "-i", "--dry-run"];
    let answers = "\nrust lang\nmany\n5\none\n--two\n\ntrue\nc\na\n:=null\n\n";
    let (shown, exit) = at_terminal(&project, &words, "owner (<STRING>, required): ", answers);
    assert_eq!(exit, Some(0), "{shown}");
    for said in [
        "  it is required\n",
        "  `many` is no value of `--count`, which takes an integer\n",
        "draft (true|false): ",
        "  `c` is no value of `--arg format`, which takes one of `a`, `b`\n",
        "  Whose.\\u{1b}[31m\n",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    assert!(!shown.contains("given ("), "what is given is not asked for: {shown}");
    let request = &shown[shown.find("{\n").expect("the request")..];
    let request: Value = serde_json::from_str(request).unwrap();
    let expected = json!({"given": "x", "owner": "rust lang", "count": 5, "labels": ["one", "--two"], "draft": true, "format": "a", "left": null});
    assert_eq!(request["params"]["arguments"], expected);
    project.run(&words).exits_with(2).says("`-i` asks at a terminal, and there is none");
}

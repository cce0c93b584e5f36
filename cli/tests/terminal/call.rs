//! `call` where somebody sits at a terminal: approvals are asked for there, and progress goes away again.

use serde_json::{Value, json};

use crate::common::Project;
use crate::screen::Terminal;

/// Runs the program at a terminal: once it shows `before`, it reads `answer`. What was written there, and the exit code.
fn at_terminal(project: &Project, arguments: &[&str], before: &str, answer: &str) -> (String, Option<i32>) {
    let mut terminal = Terminal::new(project, 80, arguments);
    if !answer.is_empty() {
        terminal.shows(before).types(answer);
    }
    let ended = terminal.ends();
    (ended.written, ended.code)
}

#[test]
fn approval_question_shows_all_arguments() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\napprove = [\"always_*\", \"make_*\"]\n");
    let question = "Tool `make_report` of server `fixture` requires approval. Arguments:\n{}\nCall it? [y/N] ";
    for (answer, code, then) in [
        ("y\n", 0, "All is well.\n"),
        ("YES\n", 0, "All is well.\n"),
        ("\n", 1, "error: fixture: `make_report` was denied: not approved: declined at the terminal\n"),
        ("sure\n", 1, "error: fixture: `make_report` was denied"),
    ] {
        let (shown, exit) = at_terminal(&project, &["call", "fixture", "make_report"], "[y/N]", answer);
        let expected = format!("{question}{answer}{then}");
        assert!(exit == Some(code) && shown.starts_with(&expected), "{answer:?}: {exit:?}\n{shown}");
    }
    let hostile = "call fixture always_fails --reason \u{1b}[2J\u{202e}x".split(' ').collect::<Vec<_>>();
    let (shown, exit) = at_terminal(&project, &hostile, "[y/N]", "n\n");
    assert!(exit == Some(1) && shown.contains(r#""reason": "\u001b[2J\u{202e}x""#), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
    let (shown, exit) = at_terminal(&project, &["call", "fixture", "make_report", "--yes"], "", "");
    assert!(exit == Some(0) && !shown.contains("approval"), "{shown}");
}

#[test]
fn progress_is_shown_on_one_line_and_removed() {
    let project = Project::new("[servers.fixture]\ncommand = \"SERVER\"\n");
    let words = ["call", "fixture", "count_slowly", "--steps", "3", "--pause_ms", "150"];
    for columns in [80, 40, 15] {
        let ended = Terminal::new(&project, columns, &words).ends();
        // However often a line is drawn, it is drawn in the place of the one before.
        let mut lines: Vec<&str> = ended.written.split("\r\u{1b}[2K").map(str::trim_end).collect();
        lines.dedup();
        assert_eq!(lines.pop(), Some("counted to 3"), "{:?}", ended.written);
        let expected = ["1", "2", "3"].map(|step| format!("    Progress {step}/3"));
        // A busy machine may tell two at once.
        let mut places = expected.iter();
        let is_there = |line: &&str| match columns {
            15 => places.any(|step| step.starts_with(line) && line.len() > 13),
            _ => places.any(|step| step == line),
        };
        assert!(!lines.is_empty() && lines.iter().all(is_there), "{columns}: {:?}", ended.written);
        assert_eq!(
            (ended.lines, ended.code, ended.is_cursor_hidden),
            (vec!["counted to 3".to_owned()], Some(0), false)
        );
    }
}

#[test]
fn interactive_call_repeats_a_question_until_the_value_is_valid() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");
    let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": {
        "owner": {"type": "string", "description": "Whose.\u{1b}[31m"}, "count": {"type": "integer"}, "given": {"type": "string"},
        "labels": {"type": "array", "items": {"type": "string"}}, "draft": {"type": "boolean"}, "format": {"enum": ["a", "b"]},
        "left": {"type": ["string", "null"]}, "none": {"type": "string"},
        "edits": {"type": "array", "items": {"type": "object"}}, "ids": {"type": "array", "items": {"type": "integer"}}},
        "required": ["owner"]}});
    project.write("mcp/s.json", &json!({ "tools": [tool] }).to_string());
    let words = ["call", "s", "t", "--given", "x", "-i", "--dry-run"];
    let answers = "\nrust lang\nmany\n5\none\n--two\n\ntrue\nc\na\n:=null\n\n[{\"old\":1},{}]\n1\n[2]\n3\n\n";
    let (shown, exit) = at_terminal(&project, &words, "owner (<STRING>, required):", answers);
    assert_eq!(exit, Some(0), "{shown}");
    for said in [
        "  it is required\n",
        "  invalid value `many` for `--count`: expected an integer\n",
        "draft (true|false): ",
        "  invalid value `c` for `--arg format`: expected one of `a`, `b`\n",
        "  Whose.\\u{1b}[31m\n",
        "  invalid value `[2]` for `--ids`: expected an integer\n",
        "or a whole JSON array first.\n",
    ] {
        assert!(shown.contains(said), "{said}\n{shown}");
    }
    assert!(!shown.contains("given ("), "what is given is not asked for: {shown}");
    let request = &shown[shown.find("{\n").expect("the request")..];
    let request: Value = serde_json::from_str(request).unwrap();
    let expected = json!({"given": "x", "owner": "rust lang", "count": 5, "labels": ["one", "--two"], "draft": true, "format": "a", "left": null,
        "edits": [{"old": 1}, {}], "ids": [1, 3]});
    assert_eq!(request["params"]["arguments"], expected);
    project.run(&words).exits_with(2).says("`-i` requires a terminal");
}

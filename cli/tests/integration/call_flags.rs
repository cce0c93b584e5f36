//! `call` with flags from a tool's schema: what they give, what help shows, and what is said of wrong ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::fs;

use common::{Project, Run, fixtures};
use serde_json::{Value, json};

const FIXTURE: &str = "[servers.fixture]\ncommand = \"SERVER\"\n";

/// A project whose server cannot be started, with a snapshot of these tools.
fn offline(tools: &Value) -> Project {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");
    project.write("mcp/s.json", &json!({ "tools": tools }).to_string());
    project
}

fn with_tool(properties: &Value) -> Project {
    offline(
        &json!([{"name": "t", "inputSchema": {"type": "object", "properties": properties, "additionalProperties": false}}]),
    )
}

fn call(project: &Project, words: &[&str]) -> Run {
    project.run(&[&["call", "s", "t"], words].concat())
}

/// Checks the arguments that a dry run prints; it needs no server.
#[track_caller]
fn sends(project: &Project, words: &[&str], expected: &Value) {
    let run = call(project, &[words, &["--dry-run"]].concat()).exits_with(0);
    let request = run.json();
    assert_eq!(request["params"]["arguments"], *expected, "{words:?}");
    // The command that is said to be equivalent is.
    let line = run.stderr.strip_prefix("  Equivalent mcp-bindgen ").expect("the command").trim_end();
    let program = env!("CARGO_BIN_EXE_mcp-bindgen");
    let again = project.shell(&format!("'{program}' {line} --dry-run")).exits_with(0);
    assert_eq!(again.json(), request, "{line}");
}

#[track_caller]
fn refuses(project: &Project, words: &[&str], expected: &str) {
    let run = call(project, words).exits_with(2);
    assert_eq!(
        run.stderr,
        format!("{expected}\n  = help: `mcp-bindgen call s t --help` lists the flags\n"),
        "{words:?}"
    );
    assert_eq!(run.stdout, "");
}

#[test]
fn flags_are_typed_by_the_schema() {
    let project = with_tool(&json!({
        "text": {"type": "string"}, "count": {"type": "integer"}, "draft": {"type": "boolean"}, "perPage": {"type": "number"},
        "labels": {"type": "array", "items": {"type": "string"}}, "state": {"enum": ["open", "closed"]}, "id": {"type": ["string", "integer"]},
        "by": {"type": "object", "properties": {"name": {"type": "string"}}}, "env": {"type": "object", "additionalProperties": {"type": "string"}},
    }));
    for (words, expected) in [
        (&["--text", "007", "--count", "-5", "--draft"][..], json!({"text": "007", "count": -5, "draft": true})),
        (&["--text=", "--no-draft", "--per-page", "1.5"], json!({"text": "", "draft": false, "perPage": 1.5})),
        (&["--text", "it's $HOME `x` \\ \"y\"\n", "--id=7"], json!({"text": "it's $HOME `x` \\ \"y\"\n", "id": 7})),
        (&["--labels", "a,b", "--labels=--c", "--id", "07"], json!({"labels": ["a,b", "--c"], "id": "07"})),
        (
            &["--labels:=[]", "--by.name", "x", "--env.A.B", "1"],
            json!({"labels": [], "by": {"name": "x"}, "env": {"A.B": "1"}}),
        ),
        (&["--args", r#"{"text":"a","by":{"name":"b"}}"#, "--text", "c"], json!({"text": "c", "by": {"name": "b"}})),
        (&["--labels", r#"["a b","c"]"#], json!({"labels": ["a b", "c"]})),
        (&[], json!({})),
    ] {
        sends(&project, words, &expected);
    }
    refuses(
        &project,
        &["--txt", "x", "--count", "many", "--state=opne", "--draft", "true", "--text", "a", "--text", "b"],
        "error: the tool has no argument `txt`\n  = help: did you mean `--text`?\nerror: invalid value `many` for `--count`: expected an integer\nerror: invalid value `opne` for `--state`: expected one of `open`, `closed`\n  = help: did you mean `open`?\nerror: unexpected argument `true`\n  = help: `--draft` takes no value; its opposite is `--draft=false`\nerror: duplicate `text`, here by `--text`",
    );
    refuses(&project, &["stray"], "error: unexpected argument `stray`\n  = help: use `--NAME VALUE`");
}

#[test]
fn own_options_take_precedence_before_and_after_the_tool() {
    let project = with_tool(&json!({
        "format": {"enum": ["json", "csv"]}, "timeout": {"type": "integer"}, "color": {"type": "string"}, "o": {"type": "string"},
        "dry_run": {"type": "boolean"}, "sort": {"type": "string"},
    }));
    sends(
        &project,
        &["--arg", "format=csv", "--arg", "timeout:=5", "--format", "json"],
        &json!({"format": "csv", "timeout": 5}),
    );
    sends(
        &project,
        &["--o", "-h", "--dry_run", "--sort", "-created"],
        &json!({"o": "-h", "dry_run": true, "sort": "-created"}),
    );
    let before = ["call", "--arg", "format=csv", "--args", r#"{"o":"x"}"#, "--dry-run", "s", "t", "--o", "y"];
    assert_eq!(project.run(&before).exits_with(0).json()["params"]["arguments"], json!({"o": "y", "format": "csv"}));
    project.write("elsewhere.toml", "[defaults]\nsnapshots = \"mcp\"\n[servers.s]\nurl = \"http://127.0.0.1:9/\"\n");
    fs::remove_file(project.path("mcp.toml")).unwrap();
    call(&project, &["--dry-run", "--config", "elsewhere.toml"]).exits_with(0);
    project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");

    refuses(
        &project,
        &["--format:=\"csv\""],
        "error: `--format:=\"csv\"` is an option of mcp-bindgen, not a property\n  = help: `--arg format=VALUE` sets the tool's property `format`",
    );
    for wrong in [&["--color", "red"][..], &["--format", "csv"], &["--timeout", "soon"], &["--timeout"], &["--yes=1"]] {
        let run = call(&project, wrong).exits_with(2);
        assert!(run.stderr.starts_with("error: ") && !run.stderr.contains("error: error"), "{}", run.stderr);
    }
}

#[test]
fn files_and_stdin_provide_values() {
    let project = with_tool(&json!({"body": {"type": "string"}, "data": {}, "more": {"type": "string"}}));
    project.write("notes.md", "# Notes\n");
    project.write("data.json", "{\"a\": [1, null]}");
    sends(
        &project,
        &["--body", "@notes.md", "--data:=@data.json"],
        &json!({"body": "# Notes\n", "data": {"a": [1, null]}}),
    );
    sends(&project, &["--body", "@@notes.md"], &json!({"body": "@notes.md"}));
    sends(&project, &["--args", "@data.json", "--args=@data.json"][..0], &json!({}));
    let from_stdin = project.run_with_input(&["call", "s", "t", "--body=@-", "--dry-run"], "from stdin");
    assert_eq!(from_stdin.exits_with(0).json()["params"]["arguments"]["body"], "from stdin");
    let from_stdin = project.run_with_input(&["call", "s", "t", "--args", "-", "--dry-run"], "{\"data\": null}");
    assert_eq!(from_stdin.exits_with(0).json()["params"]["arguments"], json!({"data": null}));
    refuses(
        &project,
        &["--body", "@missing.md", "--more", "@-", "--data:=@-"],
        "error: `--body`: failed to read `missing.md`: file not found\n  = help: use `@@missing.md` for the text `@missing.md`\nerror: `--data` cannot read standard input, which was already read",
    );
}

#[test]
fn invalid_arguments_are_never_sent() {
    let project =
        with_tool(&json!({"count": {"type": "integer", "maximum": 5}, "name": {"type": "string", "pattern": "^a"}}));
    call(&project, &["--count", "9"]).exits_with(2).says("invalid arguments: at `/count`");
    call(&project, &["--name", "b", "--dry-run"]).exits_with(2).says("(`pattern`, found \"b\")");
    call(&project, &["--count", "5"]).exits_with(5).says("failed to start");
    let required = offline(&json!([{"name": "t", "inputSchema": {"type": "object",
        "properties": {"owner": {"type": "string"}, "by": {"type": "object", "properties": {"a": {}}, "required": ["a"]}}, "required": ["owner", "repo"]}}]));
    refuses(
        &required,
        &["--by:={}"],
        "error: `--owner <STRING>` is required\nerror: `--repo <VALUE>` is required\nerror: `--by.a <VALUE>` is required",
    );
    let odd =
        offline(&json!([{"name": "t", "inputSchema": {"type": "object", "properties": {"a": {"pattern": "("}}}}]));
    call(&odd, &["--a", "b", "--dry-run"]).exits_with(0);
}

#[test]
fn tool_help_requires_no_server_and_fits_the_terminal() {
    let project = with_tool(&json!({
        "owner": {"type": "string", "description": "Whose account it is, said at lengthlengthlength:\n::error::it is\u{1b}[31m,\u{202e} and more words than one line of forty columns has"},
        "perPage": {"type": "integer", "default": 30}, "labels": {"type": "array", "items": {"enum": ["bug", "ui"]}},
        "draft": {"type": "boolean"}, "format": {"enum": ["a", "b"]}, "by": {"type": "object", "properties": {"id": {"type": "integer"}}},
    }));
    let help = |words: &[&str]| {
        let mut command = project.command();
        command.env("COLUMNS", "40").args(["call", "s", "t"]).args(words);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let expected = "s/t\n\nUsage: mcp-bindgen call s t\n    [--NAME VALUE]...\n\nOptional:\n  --owner <STRING>\n          Whose account it is, said at\n          lengthlengthlength:\n          \\::error::it\n          is\\u{1b}[31m,\\u{202e} and more\n          words than one line of forty\n          columns has\n  --perPage <INTEGER>, --per-page\n          [default: 30]\n  --labels <STRING>...\n          [possible values: bug, ui]\n  --draft, --no-draft\n  --arg format=<STRING>\n          [possible values: a, b]\n  --by <JSON>\n  --by.id <INTEGER>\n\nEvery flag also accepts `--NAME:=JSON`,\nand `@FILE` for text. `--args JSON`\npasses all arguments at once. Options of\n`mcp-bindgen call` are also accepted\nhere. A flag with `...` adds one element\neach time, or takes one JSON array for\nall of them.\n";
    for words in [&["--help"][..], &["-h"], &["--owner", "x", "--no-such", "--help"], &["--draft", "-h"]] {
        assert_eq!(help(words), expected, "{words:?}");
    }
    let of_program = project.run(&["call", "--help"]).exits_with(0).stdout;
    assert!(of_program.contains("SERVER TOOL [--NAME VALUE]...") && of_program.contains("--dry-run"), "{of_program}");
}

#[test]
fn help_of_hostile_tools_contains_no_control_characters() {
    let mut tools = 0;
    for entry in fs::read_dir(fixtures().join("hostile")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let project = Project::empty();
        project.write("mcp.toml", "[servers.s]\ncommand = \"./no-such-program\"\n");
        project.write("mcp/s.json", &text);
        let snapshot = mcp_bindgen_model::Snapshot::load(project.path("mcp/s.json")).unwrap();
        for name in snapshot.tools.iter().take(3).filter_map(|tool| tool.get("name")?.as_str()) {
            if name.contains('\0') || name.is_empty() {
                continue;
            }
            let run = project.run(&["call", "s", "--", name, "--help"]).exits_with(0);
            let odd = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!run.stdout.contains(odd) && !run.stderr.contains(odd), "{name}");
            assert!(run.stdout.lines().all(|line| !line.trim_start().starts_with("::")), "{name}");
            tools += 1;
        }
    }
    assert!(tools > 10, "{tools}");
}

#[test]
fn tool_missing_in_the_snapshot_is_looked_up_on_the_server() {
    let project = offline(&json!([{"name": "list_issues", "inputSchema": {"type": "object"}}]));
    let said = "error: unknown tool `list_isues` of server `s`\n  = help: did you mean `list_issues`?\n";
    for words in [&["--dry-run"][..], &["--help"]] {
        let run = project.run(&[&["call", "s", "list_isues"], words].concat()).exits_with(1);
        assert_eq!(run.stderr, said);
    }
    project.run(&["call", "s", "list_isues"]).exits_with(5).says(said).says("error: s: failed to start");
    let live = Project::new(FIXTURE);
    live.write("mcp/fixture.json", "{\"tools\": []}");
    let sum = live.run(&["call", "fixture", "add", "--a", "20", "--b=-3"]).exits_with(0);
    assert!(sum.stdout.contains("17"), "{}", sum.stdout);
}

#[test]
fn calls_send_the_arguments_of_the_flags() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let words = ["call", "fixture", "echo_arguments", "--required", "007", "--format", "json"];
    let schema: Value = serde_json::from_str(&project.read("mcp/fixture.json")).unwrap();
    let echo = schema["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "echo_arguments").unwrap();
    let required = echo["inputSchema"]["required"].clone();
    assert!(required.as_array().is_some_and(|names| !names.is_empty()), "{required}");
    project.run(&words).exits_with(2).says("is required");
    let sum = project.run(&["call", "fixture", "add", "--a", "1", "--b", "2", "--format", "json"]).exits_with(0).json();
    assert_eq!(sum["structuredContent"], json!({ "result": 3 }));
    project.run(&["call", "fixture", "add", "--a", "1", "--b", "x"]).exits_with(2).says("expected an integer");
    let counted = ["call", "fixture", "count_slowly", "--steps", "3", "--pause_ms", "5"];
    let counted = project.run(&counted).exits_with(0).says("    Progress 1/3\n");
    assert_eq!(counted.stdout, "counted to 3\n");
}

#[test]
fn binary_content_is_written_to_files() {
    let project = Project::new(FIXTURE);
    let report = project.run(&["call", "fixture", "make_report"]).exits_with(0);
    assert_eq!(
        report.stdout,
        "All is well.\n[image image/png, 8 bytes: `-o DIR` writes it to a file]\n[link file:///report.txt]\n"
    );
    for (words, file) in [
        (["call", "-o", "out", "fixture", "make_report"], "out/make_report-1.png"),
        (["call", "fixture", "make_report", "-o", "out"], "out/make_report-2.png"),
    ] {
        let report = project.run(&words).exits_with(0);
        assert_eq!(report.stdout, "All is well.\n[link file:///report.txt]\n");
        assert_eq!(report.stderr, format!("       Wrote {file} (image/png, 8 bytes)\n"));
        assert_eq!(fs::read(project.path(file)).unwrap(), b"\x89PNG\r\n\x1a\n");
    }
}

#[test]
fn misspelled_rule_stops_calls_and_the_proxy() {
    let tools = json!([{"name": "add", "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}}}}]);
    for (rule, fault) in [
        ("approve = [\"ad\"]", "no tool of server `s` matches `ad` in `approve`"),
        ("exclude = [\"adds\"]", "no tool of server `s` matches `adds` in `exclude`"),
        (
            "\n[[policy]]\ntools = [\"s/ad\"]\nthen = \"deny\"\nreason = \"no\"",
            "no tool of server `s` matches `ad` in `policy`",
        ),
        (
            "\n[[policy]]\ntools = [\"s/add\"]\nwhen = { aa = { min = 1 } }\nthen = \"deny\"\nreason = \"no\"",
            "no tool of the policy has an argument `aa`",
        ),
    ] {
        let project = offline(&tools);
        project.write("mcp.toml", &format!("[servers.s]\ncommand = \"./no-such-program\"\n{rule}\n"));
        for words in [&["call", "s", "add", "--a", "1"][..], &["serve"]] {
            let run = project.run(words).exits_with(1);
            assert!(run.stderr.contains(fault), "{words:?}: {}", run.stderr);
        }
        // Without a snapshot there is nothing to compare with.
        fs::remove_file(project.path("mcp/s.json")).unwrap();
        project.run(&["call", "s", "add", "--a", "1"]).exits_with(5);
    }
}

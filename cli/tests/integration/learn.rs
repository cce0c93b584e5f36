//! `learn`: from results to types.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use std::fs::{self, File};
use std::time::{Duration, UNIX_EPOCH};

use common::{Project, fixtures};
use serde_json::{Value, json};

const SERVER: &str = "[servers.github]\ncommand = \"SERVER\"\nargs = [\"--github\"]\n";
const SNAPSHOT: &str = "mcp/github.json";
const OVERRIDES: &str = "mcp/github.overrides.json";
const ARGUMENTS: &str = r#"{ "owner": "o", "repo": "r" }"#;

/// A project with the snapshot of GitHub's three tools, none of which declares its result.
fn github() -> Project {
    of(SERVER)
}

fn of(config: &str) -> Project {
    let project = Project::new(config);
    project.write(SNAPSHOT, &fs::read_to_string(fixtures().join("overrides/github.json")).unwrap());
    project
}

fn overrides(project: &Project) -> Value {
    serde_json::from_str(&project.read(OVERRIDES)).unwrap()
}

/// A result as servers send it, in one block of text for each value.
fn texts(values: &[&str]) -> String {
    let blocks: Vec<Value> = values.iter().map(|value| json!({ "type": "text", "text": value })).collect();
    json!({ "content": blocks }).to_string()
}

#[test]
fn read_only_tool_is_called_and_typed() {
    let project = github();
    let learn = ["learn", "github", "list_issues", "--args", ARGUMENTS];
    let run = project
        .run(&learn)
        .exits_with(0)
        .says("     Learned github/list_issues -> GithubListIssuesOutput from 1 result\n");
    let run = run.says("       Wrote mcp/github.overrides.json\n");
    assert!(run.stdout.contains("pub Vec<GithubListIssuesOutputValueItem>,"), "{}", run.stdout);
    assert!(run.stdout.contains("    pub number: Option<i64>,\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("Params") && !run.stdout.contains("impl"), "{}", run.stdout);
    let said = overrides(&project);
    assert_eq!(said["tools"]["list_issues"]["learnedFrom"], 1);
    let list = project.run(&["list"]).exits_with(0);
    assert!(
        list.stdout.contains("-> GithubListIssuesOutput  (result by override, learned from 1 result)"),
        "{}",
        list.stdout
    );

    // Once more, and the same is known from more.
    let run = project.run(&[&learn[..], &["--args", ARGUMENTS]].concat()).exits_with(0);
    run.says("from 2 more results, 3 in all\n");
    let again = overrides(&project);
    let few = said["tools"]["list_issues"]["outputSchema"].to_string();
    assert_eq!(again["tools"]["list_issues"]["outputSchema"].to_string(), few.replace("x-in-every-result", "required"));
    assert_eq!(again["tools"]["list_issues"]["learnedFrom"], 3);
    project.run(&["check", "--offline"]).exits_with(0);
}

/// A tool that answers with the variables of one machine has others on the next.
#[test]
fn fields_are_optional_below_three_results_unless_required() {
    let project = github();
    project.write("value.json", r#"{ "HOME": "/root", "LANG": "C" }"#);
    project.write("other.json", r#"{ "HOME": "/home/ada" }"#);
    let learn = |more: &[&str]| {
        let words = ["learn", "github", "list_issues", "--from-file", "value.json"];
        project.run(&[&words[..], more].concat()).exits_with(0)
    };
    let required =
        |run: common::Run| (run.json()["outputSchema"]["required"].clone(), run.json()["learnedFrom"].clone());
    let first = learn(&[]).says("from 1 result\n").says(
        "below 3 results every field is optional: learn from more, or require what all of them have with `--required`\n",
    );
    assert!(first.stdout.contains("    pub home: Option<String>,\n"), "{}", first.stdout);
    assert_eq!(required(learn(&["--format", "json"])), (Value::Null, json!(2)));
    // Earlier results count, and none is lost.
    assert_eq!(required(learn(&["--from-file", "other.json", "--format", "json"])), (json!(["HOME"]), json!(4)));
    let run = learn(&["--dry-run"]);
    assert!(run.stdout.contains("    pub home: String,\n    ///") && !run.stderr.contains("optional"), "{run:?}");

    fs::remove_file(project.path(OVERRIDES)).unwrap();
    assert_eq!(required(learn(&["--required", "--format", "json"])), (json!(["HOME", "LANG"]), json!(1)));
    project.run(&["check", "--offline"]).exits_with(0);
}

#[test]
fn new_overrides_cause_cargo_to_rebuild() {
    let project = github();
    project.write("value.json", "[]");
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let age = || File::options().append(true).open(project.path(SNAPSHOT)).unwrap().set_modified(long_ago).unwrap();
    let is_aged = || fs::metadata(project.path(SNAPSHOT)).unwrap().modified().unwrap() == long_ago;
    let learn = ["learn", "github", "list_issues", "--from-file", "value.json"];
    age();
    project.run(&[&learn[..], &["--dry-run"]].concat()).exits_with(0);
    assert!(is_aged(), "nothing was written");
    project.run(&learn).exits_with(0);
    assert!(!is_aged(), "the macro watches the snapshot alone");
    age();
    project.run(&learn).exits_with(0);
    assert!(is_aged(), "the macro watches the overrides too");
}

#[test]
fn tools_that_are_not_read_only_require_yes() {
    let project = github();
    let learn = ["learn", "github", "create_issue", "--args", r#"{ "owner": "o", "repo": "r", "title": "It broke" }"#];
    project.run(&learn).exits_with(1).says(
        "error: tool `create_issue` of server `github` is not marked read-only\n  = help: call it anyway with `--yes`\n",
    );
    project.run_with_input(&learn, "y\n").exits_with(1);
    assert!(!project.path(OVERRIDES).exists());
    project.run(&[&learn[..], &["--yes"]].concat()).exits_with(0);
    assert!(overrides(&project)["tools"]["create_issue"]["outputSchema"]["properties"]["number"].is_object());

    let project = of(&format!("{SERVER}approve = [\"list_*\"]\n"));
    let learn = ["learn", "github", "list_issues", "--args", ARGUMENTS];
    project.run(&learn).exits_with(1).says("requires approval");
    project.run(&[&learn[..], &["--yes"]].concat()).exits_with(0);

    let project = of(&format!("{SERVER}exclude = [\"list_*\"]\n"));
    project.run(&[&learn[..], &["--yes"]].concat()).exits_with(1).says("is excluded by `tools` or `exclude`");
}

#[test]
fn results_are_read_from_files_and_cassettes() {
    let project = github();
    project.write("sent.json", &texts(&[r#"[{ "number": 1, "body": null }]"#]));
    project.write("value.json", r#"[{ "number": 2, "body": "It did.", "labels": [] }]"#);
    let head = r#"{"cassette":1,"server":"github"}"#;
    let exchange = |tool: &str, text: &str| {
        let result: Value = serde_json::from_str(&texts(&[text])).unwrap();
        json!({ "request": { "method": "tools/call", "params": { "name": tool } }, "response": { "result": result } })
    };
    let calls = [exchange("list_issues", r#"[{ "number": 3.5, "body": null }]"#), exchange("create_issue", "{}")];
    project.write("tape.jsonl", &format!("{head}\n{}\n{}\n{{\"end\":2}}\n", calls[0], calls[1]));
    let learn = ["learn", "github", "list_issues", "--from-file", "sent.json", "--from-file", "value.json"];
    let run = project.run(&[&learn[..], &["--from", "tape.jsonl", "--format", "json"]].concat()).exits_with(0).json();
    let expected = json!({ "type": "array", "items": {
        "type": "object",
        "properties": {
            "body": { "type": ["string", "null"] }, "labels": { "type": "array" }, "number": { "type": "number" },
        },
        "required": ["body", "number"],
    } });
    assert_eq!((&run["outputSchema"], &run["learnedFrom"], &run["status"]), (&expected, &json!(3), &json!("written")));
    assert_eq!(overrides(&project)["tools"]["list_issues"], json!({ "outputSchema": expected, "learnedFrom": 3 }));

    // In turns it is the same.
    let turns = github();
    for file in ["tape.jsonl", "value.json", "sent.json"] {
        turns.write(file, &project.read(file));
        let option = if file.ends_with('l') { "--from" } else { "--from-file" };
        turns.run(&["learn", "github", "list_issues", option, file]).exits_with(0);
    }
    assert_eq!(turns.read(OVERRIDES), project.read(OVERRIDES));

    project
        .run(&["learn", "github", "search_repositories", "--from", "tape.jsonl"])
        .exits_with(1)
        .says("has no result of");
    project.write("tape.jsonl", "{\"cassette\":1,\"server\":\"gitlab\"}\n{\"end\":0}\n");
    project.run(&["learn", "github", "list_issues", "--from", "tape.jsonl"]).exits_with(1).says("with server `gitlab`");
}

#[test]
fn existing_overrides_are_preserved() {
    let project = github();
    let by_hand = r#"{
  "tools": {
    "search_repositories": { "outputSchema": { "type": "object", "description": "Found" } },
    "list_issues": {
      "patch": { "inputSchema": { "properties": { "page": { "type": "integer" } } } }
    }
  },
  "format": 1
}
"#;
    project.write(OVERRIDES, by_hand);
    project.write("value.json", "[]");
    project.run(&["learn", "github", "search_repositories", "--from-file", "value.json"]).exits_with(1).says(
        "error: tool `search_repositories` of server `github` has a hand-written `outputSchema` in the overrides, which is not replaced\n",
    );
    assert_eq!(project.read(OVERRIDES), by_hand);
    let run = project.run(&["learn", "github", "list_issues", "--from-file", "value.json", "--dry-run"]).exits_with(0);
    run.says(" Not written mcp/github.overrides.json\n");
    assert_eq!(project.read(OVERRIDES), by_hand);
    project.run(&["learn", "github", "list_issues", "--from-file", "value.json"]).exits_with(0);
    let compact = |text: &str| text.replace(char::is_whitespace, "");
    let expected = compact(by_hand).replace(
        r#"{"type":"integer"}}}}"#,
        r#"{"type":"integer"}}}},"outputSchema":{"type":"array"},"learnedFrom":1"#,
    );
    assert_eq!(compact(&project.read(OVERRIDES)), expected);

    // Learned, and then changed by somebody.
    let edited = project.read(OVERRIDES).replace(r#""type": "array""#, r#""type": "array", "title": "Issues""#);
    project.write(OVERRIDES, &edited);
    let run = project.run(&["learn", "github", "list_issues", "--from-file", "value.json"]).exits_with(1);
    run.says("with manual edits");
    assert_eq!(project.read(OVERRIDES), edited);
}

#[test]
fn declared_output_schema_is_replaced_only_on_request() {
    let project = github();
    let mut snapshot: Value = serde_json::from_str(&project.read(SNAPSHOT)).unwrap();
    snapshot["tools"][1]["outputSchema"] = json!({ "type": "object" });
    let tool = snapshot["tools"][1]["name"].as_str().unwrap().to_owned();
    project.write(SNAPSHOT, &snapshot.to_string());
    project.write("value.json", "[1]");
    let learn = ["learn", "github", &tool, "--from-file", "value.json"];
    project.run(&learn).exits_with(1).says("declares an `outputSchema` itself\n  = help: use `--replace`");
    project.run(&[&learn[..], &["--replace"]].concat()).exits_with(0);
    project.run(&learn).exits_with(0).says("from 1 more result, 2 in all\n");
}

#[test]
fn errors_and_prose_are_not_learned() {
    let project = github();
    let missing = r#"{ "owner": "o", "repo": "missing" }"#;
    let learn = ["learn", "github", "list_issues", "--args", missing];
    project.run(&learn).exits_with(3).says("error: there is nothing to learn: every result is an error\n");
    let run = project.run(&[&learn[..], &["--args", ARGUMENTS]].concat()).exits_with(0);
    run.says("warning: 1 error of the tool: nothing is learned from errors\n").says("from 1 result\n");
    fs::remove_file(project.path(OVERRIDES)).unwrap();

    project.write("prose.json", &texts(&["The issue is open."]));
    project.write("broken.json", "{ \"secret\": sk-12345 }");
    let run = project.run(&["learn", "github", "list_issues", "--from-file", "prose.json"]).exits_with(1);
    run.says("no result has structured content, and none is JSON");
    let run = project.run(&["learn", "github", "list_issues", "--from-file", "broken.json"]).exits_with(1);
    assert!(run.stderr.contains("broken.json:1:") && !run.stderr.contains("sk-12345"), "{}", run.stderr);
    project.run(&["learn", "github", "list_issues"]).exits_with(2);
    project
        .run(&["learn", "github", "list_isues", "--from-file", "prose.json"])
        .exits_with(1)
        .says("did you mean `list_issues`?");
    project.write("other.json", &json!({ "server": "github", "tool": "star", "content": [] }).to_string());
    let run = project.run(&["learn", "github", "list_issues", "--from-file", "other.json"]).exits_with(1);
    run.says("the result belongs to tool `star`, not `list_issues`");
    assert!(!project.path(OVERRIDES).exists());
}

#[test]
fn learn_neither_stores_nor_shows_result_values() {
    let project = github();
    let secrets = ["sk-live-4eC39HqLyjWDarjtT1zdp7dc", "hunter2hunter2", "ada@example.com", "774411996633"];
    let value = json!([{ "token": secrets[0], "nested": [{ "password": secrets[1] }], "id": 774_411_996_633_i64,
                         "owners": { "ada@example.com": { "since": 2020 } } }]);
    project.write("value.json", &value.to_string());
    project.write("sent.json", &texts(&[&value.to_string(), secrets[0]]));
    for format in ["text", "json"] {
        let learn = ["learn", "github", "list_issues", "--from-file", "value.json", "--from-file", "sent.json", "-v"];
        let run = project.run(&[&learn[..], &["--format", format]].concat()).exits_with(0);
        let file = project.read(OVERRIDES);
        for secret in secrets {
            for text in [&run.stdout, &run.stderr, &file] {
                assert!(!text.contains(secret), "{secret}: {text}");
            }
        }
        assert!(file.contains("password"), "keys are what is learned");
    }
}

#[test]
fn arguments_are_validated_before_the_server_starts() {
    let project = of("[servers.github]\ncommand = \"./is-not-started\"\n");
    let learn = ["learn", "github", "list_issues", "--args", ARGUMENTS, "--args"];
    for wrong in ["{}", r#"{ "owner": 5, "repo": "r" }"#] {
        let run = project.run(&[&learn[..], &[wrong]].concat()).exits_with(2);
        run.says("invalid arguments");
    }
    for (wrong, said) in [
        (r#"{ "token": sk-12345 }"#, "error: `--args` is not JSON: expected value at line 1 column 12\n"),
        ("@gone.json", "error: `--args`: failed to read `gone.json`: file not found\n"),
    ] {
        let run = project.run(&[&learn[..], &[wrong]].concat()).exits_with(2);
        assert_eq!(run.stderr, said);
    }
    assert!(!project.path(OVERRIDES).exists());
}

#[test]
fn results_before_a_failure_are_learned() {
    let project = of("[servers.fx]\ncommand = \"SERVER\"\nargs = [\"--misbehave\", \"exit-on-call\"]\n");
    project.run(&["sync", "fx"]).exits_with(0);
    project.write("value.json", "[1]");
    let learn = ["learn", "fx", "good", "--from-file", "value.json", "--yes", "--args", "{}"];
    let run = project.run(&learn);
    assert_ne!(run.code, Some(0));
    let run = run.says("Learned fx/").says("from 1 result").says("error: ");
    assert_eq!(run.stderr.matches("Calling").count(), 1, "{}", run.stderr);
    assert!(project.read("mcp/fx.overrides.json").contains("\"learnedFrom\": 1"));
}

#[test]
fn secrets_of_the_configuration_do_not_become_property_names() {
    const GIVEN: &str = "zorgpass991";
    const ARGUMENT: &str = "quxtoken882";
    let project = Project::new(
        "[servers.s]\ncommand = \"SERVER\"\nargs = [\"--leak\", \"--token\", \"${TOK}\"]\nenv = { LEAK_TOKEN = \"${PW}\" }\n",
    );
    let run = |arguments: &[&str]| {
        let mut command = project.command();
        common::Run::of(&command.env("PW", GIVEN).env("TOK", ARGUMENT).args(arguments).output().unwrap())
    };
    run(&["sync", "s"]).exits_with(0);
    project.write("value.json", &json!({ format!("of {GIVEN}"): { ARGUMENT: 1 } }).to_string());
    let settings = r#"{ "settings": { "a": 1 } }"#;
    let learn =
        ["learn", "s", "save_settings", "--yes", "--from-file", "value.json", "--args", settings, "--args", settings];
    let run = run(&learn).exits_with(0);
    let file = project.read("mcp/s.overrides.json");
    for text in [&run.stdout, &run.stderr, &file] {
        assert!(!text.contains(GIVEN) && !text.contains(ARGUMENT), "{text}");
    }
    assert!(file.contains("additionalProperties"), "{file}");
}

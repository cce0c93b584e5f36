//! `resource` and `prompt`: what servers offer beside tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::fs;

use common::Project;
use serde_json::json;

const CONFIG: &str = "[servers.s]\ncommand = \"SERVER\"\nargs = [\"--offers\"]\n\
                      [servers.bare]\ncommand = \"SERVER\"\n[servers.gone]\ncommand = \"./no-such-program\"\n";

#[test]
fn resources_are_listed() {
    let project = Project::new(CONFIG);
    let run = project.run(&["resource", "list", "s"]).exits_with(0);
    assert!(run.stdout.contains("note:///today (today)\n") && run.stdout.contains("bin:///x (x)\n"), "{}", run.stdout);
    assert!(run.stdout.contains("note:///{+path}{?part} (note)\n"), "{}", run.stdout);
    let listed = project.run(&["resource", "list", "s", "--format", "json"]).exits_with(0).json();
    assert_eq!(listed["resources"][0], json!({ "uri": "note:///today", "name": "today", "size": 5 }));
    assert_eq!(listed["resources"].as_array().unwrap().len(), 3, "both pages, and what is no resource: {listed}");
    assert_eq!(listed["resourceTemplates"][0]["name"], "note");
    assert_eq!(project.run(&["resource", "list", "bare"]).exits_with(0).says("no resources").stdout, "");
}

#[test]
fn resources_are_read() {
    let project = Project::new(CONFIG);
    let run = project.run(&["resource", "read", "s", "note:///hello"]).exits_with(0);
    assert_eq!(run.stdout, "hello\n{\"odd\":3}\n");
    let read = project.run(&["resource", "read", "s", "note:///hello", "--format", "json"]).exits_with(0).json();
    assert_eq!(read["contents"][0]["vendor"], 2);
    assert_eq!((&read["uri"], &read["_meta"]["m"], &read["vendor"]), (&json!("note:///hello"), &json!(1), &json!(2)));

    let run = project.run(&["resource", "read", "s", "bin:///a/b c"]).exits_with(0);
    assert!(run.stdout.contains("[resource application/octet-stream, 2 bytes: `-o DIR`"), "{}", run.stdout);
    let run = project.run(&["resource", "read", "s", "bin:///a/b c", "-o", "out"]).exits_with(0).says("Wrote");
    assert_eq!(run.stdout, "");
    assert_eq!(fs::read(project.path("out/b_c-1.bin")).unwrap(), [0, 255]);

    project.run(&["resource", "read", "s", "nota:///today"]).exits_with(1).says("did you mean `note:///today`?");
    project.run(&["resource", "read", "s", "slow:///x", "--timeout", "2s"]).exits_with(1).says("within 2s");
    project.run(&["resource", "read", "bare", "note:///x"]).exits_with(1).says("server `bare` has no resources");
    project.run(&["resource", "read", "gone", "note:///x"]).exits_with(5).says("no-such-program");
    project.run(&["resource", "read", "t", "note:///x"]).exits_with(1).says("`t`");
    project.run(&["resource", "read", "s"]).exits_with(2);
}

#[test]
fn prompts_are_listed() {
    let project = Project::new(CONFIG);
    let run = project.run(&["prompt", "list", "s"]).exits_with(0);
    assert!(run.stdout.contains("greet\n    --who <STRING>\n    [--tone <STRING>]\n"), "{}", run.stdout);
    let listed = project.run(&["--format", "json", "prompt", "list", "s"]).exits_with(0).json();
    assert_eq!(listed["prompts"][0]["x"], 1);
    assert_eq!(listed["prompts"].as_array().unwrap().len(), 4, "{listed}");
    project.run(&["prompt", "list", "bare"]).exits_with(0);
    project.run(&["prompt", "list", "gone"]).exits_with(5);
}

#[test]
fn prompts_are_printed_with_their_arguments() {
    let project = Project::new(CONFIG);
    let get = |words: &[&str]| project.run(&[&["prompt", "get", "s"], words].concat());
    assert_eq!(get(&["plain"]).exits_with(0).stdout, "Hi\n");
    let greeted = get(&["greet", "--who", "007", "--tone=warm"]).exits_with(0).stdout;
    assert!(greeted.starts_with("user:\nGreet 007: {\"who\":\"007\",\"tone\":\"warm\"}\n"), "{greeted}");
    assert!(greeted.contains("assistant:\nsunny\n") && greeted.contains("hologram"), "{greeted}");
    assert!(greeted.ends_with("\n{\"content\":5}\n") && !greeted.contains("\n:\n"), "{greeted}");
    let greeted = get(&["greet", "--args", "{\"who\": \"Ann\"}", "--format", "json"]).exits_with(0).json();
    assert_eq!(greeted["vendor"], json!([4]));
    assert_eq!(greeted["messages"][0]["x"], 1);
    assert_eq!((&greeted["server"], &greeted["prompt"]), (&json!("s"), &json!("greet")));

    let help = get(&["greet", "--help"]).exits_with(0).stdout;
    assert!(help.contains("Usage: mcp-bindgen prompt get s greet --who <STRING>"), "{help}");
    get(&["greet"]).exits_with(2).says("who").says("mcp-bindgen prompt get s greet --help");
    get(&["greet", "--whom", "x"]).exits_with(2).says("--who");
    get(&["greet", "--args", "{\"who\": 7}"]).exits_with(2);
    get(&["gret", "--who", "x"]).exits_with(1).says("did you mean `greet`?");
    get(&["greet", "--who", "x", "--format", "github"]).exits_with(2).says("`text` and `json`");
    project.run(&["prompt", "get", "gone", "greet"]).exits_with(5);
    project.run(&["prompt", "get", "s"]).exits_with(2);
}

//! `run`: templates, checked and run with the servers of the configuration.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, Run};
use mcp_bindgen_schema::names::PrefixedNames;
use serde_json::json;

const CONFIG: &str = "[servers.hub]\ncommand = \"SERVER\"\n";
const SUM: &str = "[[@hub_add:sum|a=a, b=20]]The sum is {{ sum }}.\n";

fn project(config: &str, template: &str) -> Project {
    let project = Project::new(config);
    project.write("prompts/sum.md", template);
    project
}

fn run(template: &str, arguments: &[&str]) -> Run {
    let project = project(CONFIG, template);
    project.run(&[&["run", "prompts/sum.md"], arguments].concat())
}

#[test]
fn template_runs_with_and_without_a_snapshot() {
    let project = project(CONFIG, SUM);
    let run = project.run(&["run", "prompts/sum.md", "--set", "a:=22"]).exits_with(0).says("Asking hub");
    assert_eq!(run.stdout, "The sum is 42.\n");
    project.run(&["sync"]).exits_with(0);
    let run = project.run(&["run", "prompts/sum.md", "--set", "a:=2", "--format", "json"]).exits_with(0);
    assert!(!run.stderr.contains("Asking"), "{}", run.stderr);
    let json = run.json();
    assert_eq!(json["text"], "The sum is 22.\n");
    assert_eq!(json["segments"], json!([{ "name": null, "text": "The sum is 22.\n" }]));
    assert_eq!(json["variables"], json!({ "sum": 22 }));
    let call = &json["calls"][0];
    assert_eq!((&call["server"], &call["tool"], &call["line"]), (&json!("hub"), &json!("add"), &json!(1)));
    assert_eq!((&call["arguments"], &call["failure"]), (&json!({ "a": 2, "b": 20 }), &json!(null)));
}

#[test]
fn template_check_calls_nothing_and_reports_every_fault() {
    let project = project(CONFIG, SUM);
    project.run(&["sync"]).exits_with(0);
    project.write("mcp.toml", "[servers.hub]\ncommand = \"/there/is/no/such/program\"\n");
    project.run(&["run", "prompts/sum.md", "--check"]).exits_with(0).says("Checked prompts/sum.md: 1 tool, 1 variable");
    let json = project.run(&["run", "prompts/sum.md", "--check", "--format", "json"]).exits_with(0).json();
    assert_eq!(json["faults"], json!([]));
    assert_eq!(json["variables"], json!([{ "name": "a", "optional": false }]));
    assert_eq!(json["tools"], json!([{ "server": "hub", "tool": "add" }]));

    project.write(
        "prompts/sum.md",
        "Hello\n [[@hub_add:x|a=1, c=2]]\n[[@hub_ad:y]][[@mcp:z|server=\"hob\", tool=\"add\"]]\n",
    );
    let run = project.run(&["run", "prompts/sum.md", "--check"]).exits_with(1);
    let run = run.says("--> prompts/sum.md:2:20").says("--> prompts/sum.md:3:1").says("did you mean `hub_add`?");
    run.says("2 |  [[@hub_add:x|a=1, c=2]]").says("did you mean `hub`?");
    let json = project.run(&["run", "prompts/sum.md", "--check", "--format", "json"]).exits_with(1).json();
    let lines: Vec<i64> =
        json["faults"].as_array().unwrap().iter().map(|fault| fault["line"].as_i64().unwrap()).collect();
    assert!(lines.len() >= 4 && lines.is_sorted() && lines[0] == 2, "{json}");

    project.write("prompts/sum.md", "{{ a\n");
    project.run(&["run", "prompts/sum.md", "--check"]).exits_with(1).says("--> prompts/sum.md:1:1");
    project.run(&["run", "prompts/sum.md", "--check", "--set", "a=1"]).exits_with(2);
    project.run(&["run", "prompts/none.md", "--check"]).exits_with(1).says("file not found");
}

#[test]
fn unused_and_malformed_values_are_refused() {
    run(SUM, &["--set", "b:=1"]).exits_with(2).says("the template uses no variable `b`").says("it uses `a`");
    run(SUM, &["--set", "a:=1", "--set", "a:=2"]).exits_with(2).says("duplicate `a` in `--set`");
    run(SUM, &["--set", "a"]).exits_with(2).says("missing value");
    run(SUM, &["--set", "a:=x"]).exits_with(2).says("not JSON");
    run(SUM, &[]).exits_with(1).says("--> prompts/sum.md:1:").says("`--set NAME=TEXT`");
    run(SUM, &["--set", "a=1"]).exits_with(1).says("--> prompts/sum.md:1:1");
}

#[test]
fn template_with_a_fingerprinted_name_is_checked_and_run() {
    // No provider takes a name of this length: its end is a fingerprint.
    let server = "hub_".repeat(15) + "xx";
    let mut names = PrefixedNames::default();
    names.add_snapshot(&server, ["add"]);
    let name = &names.tools(&server, &["add"])[0];
    let project = project(&CONFIG.replace("hub", &server), &SUM.replace("hub_add", name));
    project.run(&["run", "prompts/sum.md", "--check"]).exits_with(0);
    let run = project.run(&["run", "prompts/sum.md", "--set", "a:=22"]).exits_with(0);
    assert_eq!(run.stdout, "The sum is 42.\n");
}

#[test]
fn value_may_have_the_name_of_a_computed_result() {
    let template = "{% for n in [1] %}[[@hub_add:sum_{{ n }}|a=n, b=1]]{% endfor %}{{ sum_1 }} {{ sum_2 }}\n";
    let run = run(template, &["--set", "sum_2=given"]).exits_with(0);
    assert_eq!(run.stdout, "2 given\n");
}

#[test]
fn reported_faults_are_limited_to_twenty() {
    let run = run(&"[[@hub_adx:y]]\n".repeat(1_000), &["--check", "--format", "json"]).exits_with(1);
    assert_eq!(run.json()["faults"].as_array().unwrap().len(), 20);
    let run = self::run("[[@hub_add:sum|a=1, b=2]]{{ sum|nosuch }}", &["--check"]).exits_with(1);
    run.says("unknown filter `nosuch`");
}

#[test]
fn slots_are_filled_from_the_command_line() {
    let template = "Sum up: [[word]]<checkpoint>{% if word == \"never\" %}[[json:more]]{% endif %}{{ word }}";
    let open = run(template, &[]).exits_with(2).says("slot `word` needs a model").says("--> prompts/sum.md:1:9");
    open.says("`--fill word=..`");
    let given = &["--fill", "word=fine", "--fill", "more:=[1]"];
    let filled = run(template, given).exits_with(0).says("`--fill more` was not used");
    assert_eq!(filled.stdout, "Sum up: finefine\n");
    run(template, &["--fill", "word=a", "--fill", "wrd=b"]).exits_with(2).says("did you mean `word`?");
    assert_eq!(run("{{ a }}", &["--set", "a={{ b }}"]).exits_with(0).stdout, "{{ b }}\n");
}

#[test]
fn run_exit_code_depends_on_the_failure() {
    run("[[@hub_always_fails:x|reason=\"because\"]]", &[]).exits_with(3).says("--> prompts/sum.md:1:1");
    let saved = run("[[@hub_always_fails:x|reason=\"because\", on_error=default(\"none\")]]{{ x }}", &[]).exits_with(0);
    assert_eq!(saved.stdout, "none\n");
    let project = project(CONFIG, SUM);
    project.run(&["sync"]).exits_with(0);
    project.write("mcp.toml", "[servers.hub]\ncommand = \"/there/is/no/such/program\"\n");
    project.run(&["run", "prompts/sum.md", "--set", "a:=1"]).exits_with(5);
}

#[test]
fn yes_option_approves_calls() {
    let project = project("[servers.hub]\ncommand = \"SERVER\"\napprove = [\"add\"]\n", SUM);
    project.run(&["run", "prompts/sum.md", "--set", "a:=1"]).exits_with(1).says("--yes");
    project.run(&["run", "prompts/sum.md", "--set", "a:=1", "--yes"]).exits_with(0);
}

#[test]
fn remote_template_calls_only_tools_in_remote_use() {
    let refused = project(CONFIG, SUM);
    let from_stdin = ["run", "-", "--set", "a:=1"];
    let run = refused.run_with_input(&from_stdin, SUM).exits_with(1);
    run.says("add the tool to `remote_use`").says("--> stdin:1:1");
    refused.run(&["run", "prompts/sum.md", "--set", "a:=1", "--remote"]).exits_with(1).says("remote_use");
    refused.run(&["run", "prompts/sum.md", "--check", "--remote"]).exits_with(1).says("remote_use");
    if cfg!(unix) {
        let piped = refused.run_with_input(&["run", "/dev/stdin", "--set", "a:=1"], SUM).exits_with(1);
        piped.says("add the tool to `remote_use`");
    }
    let allowed = project("[servers.hub]\ncommand = \"SERVER\"\nremote_use = [\"ad*\"]\n", SUM);
    assert_eq!(allowed.run_with_input(&from_stdin, SUM).exits_with(0).stdout, "The sum is 21.\n");
    assert_eq!(refused.run_with_input(&["run", "-"], "Hello").exits_with(0).stdout, "Hello\n");
}

#[test]
fn run_applies_the_rules_of_the_configuration() {
    let project = project("[servers.hub]\ncommand = \"SERVER\"\nexclude = [\"add\"]\n", SUM);
    project.run(&["sync"]).exits_with(0);
    project.run(&["run", "prompts/sum.md", "--set", "a:=1"]).exits_with(1).says("excluded by `exclude`");
    // Descriptions are compared too.
    let project = self::project("[servers.hub]\ncommand = \"SERVER\"\ndrift = \"deny\"\npin = \"all\"\n", SUM);
    project.run(&["sync"]).exits_with(0);
    project.run(&["run", "prompts/sum.md", "--set", "a:=1"]).exits_with(0);
    // Without a snapshot nothing can be compared.
    fs::remove_file(project.path("mcp/hub.json")).unwrap();
    let denied = project.run(&["run", "prompts/sum.md", "--set", "a:=1"]).exits_with(1);
    denied.says("`drift = \"deny\"` refuses tools that are in neither the bindings nor the snapshot");
    let empty = Project::empty();
    empty.write("a.md", "Hello, {{ name }}");
    assert_eq!(empty.run(&["run", "a.md", "--set", "name=you"]).exits_with(0).stdout, "Hello, you\n");
    empty.write("a.md", "[[@hub_add:x|a=1, b=2]]");
    empty.run(&["run", "a.md"]).exits_with(1).says("no mcp.toml or .mcp.json");
}

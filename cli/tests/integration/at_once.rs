//! Several runs, and people, that change one file at once: none takes away what another one wrote.

use crate::common;

use std::fs;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::{Project, Run, fixture_server, fixtures};
use serde_json::Value;

fn begun(project: &Project, arguments: &[&str]) -> Child {
    let mut command = project.command();
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> Run {
    Run::of(&child.wait_with_output().unwrap())
}

#[track_caller]
fn wait_for(is_there: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_there() {
        assert!(begun.elapsed() < Duration::from_secs(60), "it did not come");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A server that says when it was started, and goes on when it may.
#[cfg(unix)]
fn slow_server(project: &Project) -> String {
    let server = fixture_server().to_str().unwrap();
    let folder = project.path("");
    let folder = folder.to_str().unwrap();
    project.write(
        "slow.sh",
        &format!("touch {folder}/started\nwhile [ ! -e {folder}/go ]; do sleep 0.01; done\nexec {server} \"$@\"\n"),
    );
    project.path("slow.sh").to_str().unwrap().to_owned()
}

#[test]
fn servers_added_concurrently_are_all_written() {
    let project = Project::empty();
    project.write("mcp.toml", "# ours\n[defaults]\n");
    let names: Vec<String> = (0..12).map(|number| format!("s{number}")).collect();
    let children: Vec<Child> = names
        .iter()
        .map(|name| match name.as_str() {
            "s7" => {
                project.write("host.json", r#"{ "mcpServers": { "s7": { "command": "npx", "args": ["-y", "x"] } } }"#);
                begun(&project, &["import", "--from", "host.json", "--all"])
            }
            name => begun(&project, &["add", name, "--npm", "x", "--no-sync"]),
        })
        .collect();
    for child in children {
        ended(child).exits_with(0);
    }
    let config = mcp_bindgen_model::Config::load(project.path("mcp.toml")).unwrap();
    assert_eq!(config.servers.len(), names.len(), "{}", project.read("mcp.toml"));
    let left: Vec<_> = fs::read_dir(project.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[cfg(unix)]
#[test]
fn edits_during_a_slow_add_are_preserved() {
    let project = Project::empty();
    project.write("mcp.toml", "# mine\n[defaults]\n");
    let slow = slow_server(&project);
    let adding = begun(&project, &["add", "a", "--command", "sh", "--", &slow]);
    wait_for(|| project.path("started").exists());
    project.write("mcp.toml", "# edited\n[defaults]\nsnapshots = \"snaps\"\n");
    project.run(&["add", "b", "--npm", "x", "--no-sync"]).exits_with(0);
    project.write("go", "");
    ended(adding).exits_with(0);
    let config = project.read("mcp.toml");
    assert!(config.starts_with("# edited\n[defaults]\nsnapshots = \"snaps\"\n\n[servers.b]\n"), "{config}");
    assert!(config.contains("[servers.a]"), "{config}");
    assert!(project.path("snaps/a.json").exists() && !project.path("mcp").exists());

    // The name is taken meanwhile, or the file is none any more: it is as whoever wrote last left it.
    for (edit, said) in
        [("[servers.c]\nnpm = \"x\"\n", "server `c` already exists"), ("[servers.c\n", " --> mcp.toml:1:")]
    {
        fs::remove_file(project.path("started")).unwrap();
        fs::remove_file(project.path("go")).unwrap();
        project.write("mcp.toml", "[defaults]\n");
        let adding = begun(&project, &["add", "c", "--command", "sh", "--", &slow]);
        wait_for(|| project.path("started").exists());
        project.write("mcp.toml", edit);
        project.write("go", "");
        ended(adding).exits_with(1).says(said);
        assert_eq!(project.read("mcp.toml"), edit);
        assert!(!project.path("mcp").exists());
    }
}

#[cfg(unix)]
#[test]
fn overrides_edited_during_a_slow_call_are_preserved() {
    const OVERRIDES: &str = "mcp/github.overrides.json";
    let project = Project::empty();
    let slow = slow_server(&project);
    project.write("mcp.toml", &format!("[servers.github]\ncommand = \"sh\"\nargs = [\"{slow}\", \"--github\"]\n"));
    project.write("mcp/github.json", &fs::read_to_string(fixtures().join("overrides/github.json")).unwrap());
    project.write("value.json", "[1]");
    let arguments = r#"{ "owner": "o", "repo": "r" }"#;
    let learning = begun(&project, &["learn", "github", "list_issues", "--args", arguments]);
    wait_for(|| project.path("started").exists());
    let by_hand = r#"{"format":1,"tools":{"create_issue":{"patch":{"inputSchema":{"title":"T"}}}}}"#;
    project.write(OVERRIDES, by_hand);
    project.run(&["learn", "github", "list_issues", "--from-file", "value.json"]).exits_with(0);
    project.write("go", "");
    ended(learning).exits_with(0).says("from 1 more result, 2 in all");
    let overrides: Value = serde_json::from_str(&project.read(OVERRIDES)).unwrap();
    assert_eq!(overrides["tools"]["create_issue"]["patch"]["inputSchema"]["title"], "T");
    assert_eq!(overrides["tools"]["list_issues"]["learnedFrom"], 2);

    // Somebody has written by hand what was to be learned.
    fs::remove_file(project.path("started")).unwrap();
    fs::remove_file(project.path("go")).unwrap();
    let learning = begun(&project, &["learn", "github", "list_issues", "--args", arguments]);
    wait_for(|| project.path("started").exists());
    let by_hand = r#"{"format":1,"tools":{"list_issues":{"outputSchema":{"type":"array"}}}}"#;
    project.write(OVERRIDES, by_hand);
    project.write("go", "");
    ended(learning).exits_with(1).says("which is not replaced");
    assert_eq!(project.read(OVERRIDES), by_hand);
}

#[cfg(unix)]
#[test]
fn server_renamed_during_a_command_is_not_written() {
    let project = Project::empty();
    let slow = slow_server(&project);
    let config = format!("[servers.a]\ncommand = \"sh\"\nargs = [\"{slow}\", \"--github\"]\n");
    let snapshot = fs::read_to_string(fixtures().join("overrides/github.json")).unwrap();
    project.write("mcp/a.json", &snapshot);
    let learn = ["learn", "a", "list_issues", "--args", r#"{ "owner": "o", "repo": "r" }"#];
    for command in [&learn[..], &["sync", "a"]] {
        project.write("mcp.toml", &config);
        let running = begun(&project, command);
        wait_for(|| project.path("started").exists());
        project.run(&["rename", "a", "b"]).exits_with(0);
        project.write("go", "");
        ended(running).exits_with(1).says("server `a` is no longer in mcp.toml\n  = note: nothing was written");
        assert_eq!(
            (project.read("mcp/a.json"), project.path("mcp/a.overrides.json").exists()),
            (snapshot.clone(), false)
        );
        ["started", "go"].iter().for_each(|name| fs::remove_file(project.path(name)).unwrap());
    }
}

#[test]
fn results_learned_concurrently_are_all_written() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.github]\ncommand = \"x\"\n");
    project.write("mcp/github.json", &fs::read_to_string(fixtures().join("overrides/github.json")).unwrap());
    project.write("value.json", "[1]");
    let tools = ["list_issues", "search_repositories", "create_issue"];
    let learn = |tool: &&str| begun(&project, &["learn", "github", tool, "--from-file", "value.json"]);
    let children: Vec<Child> = tools.iter().cycle().take(9).map(learn).collect();
    for child in children {
        ended(child).exits_with(0);
    }
    let overrides: Value = serde_json::from_str(&project.read("mcp/github.overrides.json")).unwrap();
    for tool in tools {
        assert_eq!(overrides["tools"][tool]["learnedFrom"], 3, "{overrides}");
    }
}

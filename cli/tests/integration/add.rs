//! `init` and `add`: from an empty folder to a server that is called.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, fixture_server};

#[test]
fn an_empty_folder_becomes_a_project() {
    let project = Project::empty();
    let library = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    project.write("Cargo.toml", "[package]\nname = \"app\"\nedition = \"2024\"\n\n[dependencies]\n\n[workspace]\n");
    project.write("src/main.rs", "fn main() {}\n");
    let init = project
        .run(&["init", "--path", library])
        .exits_with(0)
        .says("     Running cargo add mcp-bindgen --path")
        .says("       Wrote mcp.toml")
        .says("        Made mcp/");
    assert!(init.stderr.find("Running").unwrap() < init.stderr.find("Wrote").unwrap(), "{}", init.stderr);
    assert!(project.read("Cargo.toml").contains("mcp-bindgen = "));
    assert_eq!(project.read(".gitattributes"), "mcp/*.json text eol=lf\n");
    // The file that it writes is one that it takes.
    project.run(&["check"]).exits_with(1).says("no server is configured");

    let written = project.read("mcp.toml");
    project.write("mcp.toml", "# ours\n");
    project.run(&["init", "--path", library]).exits_with(0).says("Kept mcp.toml").says("Kept the dependency");
    assert_eq!(project.read("mcp.toml"), "# ours\n");
    project.write("mcp.toml", &written);

    let server = fixture_server().to_str().unwrap();
    let added = project
        .run(&["add", "fixture", "--command", server, "--env", "FIXTURE_KEY", "--tools", "add,find_*"])
        .exits_with(1);
    assert!(added.stderr.contains("FIXTURE_KEY"), "an unset variable: {}", added.stderr);
    assert_eq!(project.read("mcp.toml"), written, "what fails leaves nothing");
    project
        .run(&["add", "fixture", "--command", server, "--tools", "no_such_*"])
        .exits_with(1)
        .says("has no tool that `no_such_*` in `tools` matches");
    assert!(!project.path("mcp/fixture.json").exists());

    let added = project
        .run(&["add", "fixture", "--command", server])
        .exits_with(0)
        .says("Added fixture to mcp.toml")
        .says("mcp/fixture.json (10 tools)");
    let lines: Vec<&str> = added.stdout.lines().collect();
    assert_eq!(
        lines[..2],
        ["mcp_bindgen::mcp_tools!(\"fixture\");", "let client = fixture::Fixture::connect().await?;"]
    );
    assert!(project.read("mcp.toml").starts_with(written.trim_end()), "{}", project.read("mcp.toml"));
    project.run(&["check"]).exits_with(0);
    assert!(project.run(&["call", "fixture", "add", "--args", r#"{"a":1,"b":2}"#]).exits_with(0).stdout.contains('3'));
    project.run(&["add", "fixture", "--npm", "x"]).exits_with(1).says("there is a server `fixture` already");
}

#[test]
fn nothing_is_added_that_would_not_be_obeyed() {
    let project = Project::empty();
    for (arguments, said) in [
        (&["add", "Bad Name", "--npm", "x"][..], "cannot be the name of a server"),
        (&["add", "x"], "required"),
        (&["add", "x", "--npm", "a", "--url", "http://b"], "cannot be used with"),
        (&["add", "x", "--url", "http://b", "--env", "A=b"], "`--header` is for it"),
        (&["add", "x", "--npm", "a", "--header", "A: b"], "`--env` is for those that are started"),
        (&["add", "x", "--npm", "a", "--env", "API_KEY=hunter2-hunter2"], "looks like a secret"),
        (&["add", "x", "--npm", "a", "--", "--token=ghp_0123456789abcdefghijABCDEFGHIJ012345"], "looks like a secret"),
        (&["add", "x", "--npm", "a", "--", "--api-key", "hunter2-hunter2"], "looks like it holds a secret"),
        (&["add", "x", "--url", "http://u:hunter2-hunter2@b/"], "looks like a secret"),
        (&["add", "x", "--url", "http://b", "--header", "Authorization: Bearer abcdefghijklmn"], "looks like a secret"),
    ] {
        let run = project.run(arguments).exits_with(2).says(said);
        assert!(!run.stderr.contains("hunter2") && !run.stderr.contains("ghp_"), "{}", run.stderr);
    }
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 0);

    let quoted = project
        .command()
        .args(["add", "x", "--npm", "a", "--env", "API_KEY=hunter2-hunter2"])
        .env("MY_KEY", "hunter2-hunter2")
        .output()
        .unwrap();
    let said = String::from_utf8(quoted.stderr).unwrap();
    assert!(said.contains("your shell has put the value of `MY_KEY` there") && !said.contains("hunter2"), "{said}");

    project
        .run(&["add", "gone", "--command", "./no-such-program"])
        .exits_with(5)
        .says("`--no-sync` adds it without asking");
    assert_eq!(fs::read_dir(project.path("")).unwrap().count(), 0);
    project
        .run(&["add", "gone", "--command", "./no-such-program", "--env", "API_KEY", "--no-sync", "--", "--verbose"])
        .exits_with(0);
    assert_eq!(
        project.read("mcp.toml"),
        "[servers.gone]\ncommand = \"./no-such-program\"\nargs = [\"--verbose\"]\nenv = { API_KEY = \"${API_KEY}\" }\n"
    );

    let other = Project::empty();
    other.write(".mcp.json", "{\"mcpServers\":{}}");
    other.run(&["add", "x", "--npm", "a", "--no-sync"]).exits_with(1).says("is a file of other programs");
}

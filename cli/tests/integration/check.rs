//! Tests `check` and `diff` beyond plain drift: offline, against a git revision, and in the output formats of other
//! programs.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::process::Command;

use common::{Project, fixture_server};
use serde_json::{Value, json};

const FIXTURE: &str = "[servers.fixture]\ncommand = \"SERVER\"\n";

/// The fixture's snapshot, but that `add` has another type for `a`, a tool less, and a tool that says hostile things.
fn doctored(project: &Project) -> String {
    let mut snapshot: Value = serde_json::from_str(&project.read("mcp/fixture.json")).unwrap();
    let tools = snapshot["tools"].as_array_mut().unwrap();
    tools.retain(|tool| tool["name"] != "tree_depth");
    tools[0]["inputSchema"]["properties"]["a"]["type"] = "string".into();
    tools[0]["inputSchema"]["properties"]["`@a|b`\n::error::x"] = json!({});
    format!("{snapshot:#}\n")
}

pub(crate) fn git(project: &Project, arguments: &[&str]) {
    let run = Command::new("git")
        .current_dir(project.path(""))
        .args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "init.defaultBranch=main",
            "-c",
            "core.autocrlf=false",
        ])
        .args(arguments)
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn offline_check_reports_problems_without_a_server() {
    let project = Project::new(FIXTURE);
    project.run(&["check", "--offline"]).exits_with(4).says("fixture has no snapshot");
    project.run(&["sync"]).exits_with(0);
    // Any attempt to start the server would fail now.
    project.write("mcp.toml", "[servers.fixture]\ncommand = \"./no-such-program\"\n");
    project
        .run(&["check", "--offline"])
        .exits_with(0)
        .says("       Valid mcp/fixture.json")
        .says("1 server checked: 1 valid");
    let written = project.read("mcp/fixture.json");
    let other_ends = written.replace('\n', "\r\n");
    project.write("mcp/fixture.json", &other_ends);
    project.run(&["check", "--offline"]).exits_with(0);

    project.write("mcp/fixture.json", &written.replace("  \"tools\"", " \"tools\""));
    let edited = project.run(&["check", "--offline"]).exits_with(4).says("is not formatted as `sync` writes it");
    assert!(edited.stdout.contains("+  \"tools\""), "{}", edited.stdout);
    project.write("mcp/fixture.json", "{");
    project.run(&["check", "--offline"]).exits_with(4).says("run `mcp-bindgen sync fixture` to write it again");
    project.write("mcp/fixture.json", r#"{"format":7,"tools":[]}"#);
    project.run(&["check", "--offline"]).exits_with(1).says("install mcp-bindgen 0.7 or later");
    project.write("mcp/fixture.json", &written);
    project.write("mcp.toml", "[servers.fixture]\ncommand = \"x\"\ntools = [\"nothing_*\"]\n");
    let faults = project.run(&["check", "--offline", "--format", "json"]).exits_with(1).json();
    assert!(faults[0]["faults"][0].as_str().unwrap().contains("nothing_*"), "{faults}");
}

#[test]
fn pattern_without_a_tool_is_reported_once_at_its_line() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let config = "[servers.fixture]\ncommand = \"SERVER\"\ntools = [\n  \"add\",\n  \"nothing_*\",\n]\nexclude = [\"lst\"]\n\n\
                  [servers.other]\ncommand = \"./x\"\nenv = { TOKEN = \"ghp_0123456789abcdefghijABCDEFGHIJ012345\" }\n";
    project.write("mcp.toml", &config.replace("SERVER", fixture_server().to_str().unwrap()));
    let tools = "no tool of server `fixture` matches `nothing_*` in `tools`\n --> mcp.toml:5:3\n";
    let exclude = "no tool of server `fixture` matches `lst` in `exclude`\n --> mcp.toml:7:12\n";
    for words in [&["check", "--offline", "fixture"][..], &["check", "fixture"]] {
        let run = project.run(words).exits_with(1).says(tools).says(exclude).says("1 server checked: 1 with faults");
        assert_eq!(run.stderr.matches("nothing_*").count(), 1, "{}", run.stderr);
        assert!(!run.stderr.contains("Valid"), "{}", run.stderr);
        assert!(!run.stderr.contains("other"), "only what was asked for: {}", run.stderr);
    }
    project.run(&["check", "--offline"]).says("`TOKEN` of server `other` looks like a secret");
    let lines = project.run(&["check", "--offline", "fixture", "--format", "github"]).exits_with(1).stdout;
    let begins: Vec<&str> =
        lines.lines().filter_map(|line| line.split_once("::no tool of server").map(|(begin, _)| begin)).collect();
    assert_eq!(
        begins,
        [
            "::error file=mcp.toml,line=5,title=fixture does not build",
            "::error file=mcp.toml,line=7,title=fixture does not build",
        ]
    );
    project.run(&["sync", "fixture"]).exits_with(1).says(&format!("do not fit: {tools}"));
    project.run(&["list", "fixture"]).exits_with(1).says(tools);
}

/// Offline nobody knows what a server says.
#[test]
fn offline_check_annotates_a_misformatted_snapshot() {
    let project = Project::new(FIXTURE);
    project.write("mcp/fixture.json", "{\"tools\": []}");
    let run = project.run(&["check", "--offline", "--format", "github"]).exits_with(4);
    assert_eq!(
        run.stdout,
        "::error file=mcp/fixture.json,title=the snapshot of fixture is not formatted as `sync` writes it::run `mcp-bindgen sync fixture`\n"
    );
}

#[test]
fn check_reports_changes_since_a_branch() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let live = project.read("mcp/fixture.json");
    project.write("mcp/fixture.json", &doctored(&project));
    git(&project, &["init", "-q"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-qm", "then"]);
    git(&project, &["checkout", "-qb", "work"]);
    project.write("mcp/fixture.json", &live);
    git(&project, &["commit", "-qam", "now"]);
    // Later commits on `main` are not part of this branch's changes.
    git(&project, &["checkout", "-q", "main"]);
    project.write("later.txt", "later");
    git(&project, &["rm", "-q", "mcp/fixture.json"]);
    git(&project, &["commit", "-qm", "later"]);
    git(&project, &["checkout", "-q", "work"]);

    project
        .run(&["check", "--base", "main"])
        .exits_with(0)
        .says("       Since main: fixture has 1 breaking, 1 source, 1 compatible")
        .says("breaking    add /inputSchema/properties/a");
    let report = project.run(&["check", "--offline", "--base", "main", "--format", "json"]).exits_with(0).json();
    assert_eq!(report[0]["since"]["changes"][0]["class"], "breaking");
    project
        .run(&["check", "--offline", "--base", "no-such-branch"])
        .exits_with(1)
        .says("git has no commit `no-such-branch`");
    project.run(&["check", "--offline", "--base", "--output=x"]).exits_with(2);

    let diff = project.run(&["diff", "fixture@main~1", "mcp/fixture.json", "--format", "json"]).exits_with(4).json();
    assert_eq!(diff["changes"].as_array().unwrap().len(), 3);
    project.run(&["diff", "fixture", "live:fixture"]).exits_with(0).says("fixture to live:fixture: no difference");
    project.run(&["diff", "fixture@main", "fixture"]).exits_with(1).says("mcp/fixture.json does not exist at `main`");
    project.run(&["diff", "fixtur", "fixture"]).exits_with(1).says("did you mean `fixture`?");
}

#[test]
fn shallow_clone_error_suggests_the_fetch() {
    let origin = Project::new(FIXTURE);
    origin.write("mcp/fixture.json", r#"{"tools":[]}"#);
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "one"]);
    git(&origin, &["branch", "before"]);
    git(&origin, &["commit", "-qm", "two", "--allow-empty"]);
    let url = format!("file://{}", origin.path("").display());
    let shallow = Project::empty();
    git(&shallow, &["clone", "-q", "--depth", "1", "--no-single-branch", &url, "."]);
    for revision in ["origin/before", "before"] {
        shallow
            .run(&["check", "--offline", "--base", revision])
            .exits_with(1)
            .says(&format!("git has no commit `{revision}` that shares history with HEAD"))
            .says("`fetch-depth: 0`");
    }
    // A value that looks like an option of git is still a revision.
    shallow.run(&["check", "--offline", "--base=--output=x"]).exits_with(1).says("git has no commit `--output=x`");
    assert!(!shallow.path("x").exists());
    git(&shallow, &["fetch", "-q", "--unshallow"]);
    // The list is not as `sync` writes it, which is another thing than what became of it.
    shallow.run(&["check", "--offline", "--base", "origin/before"]).exits_with(4);
}

#[test]
fn line_endings_changed_by_git_are_not_differences() {
    let origin = Project::new(FIXTURE);
    origin.run(&["sync"]).exits_with(0);
    git(&origin, &["init", "-q"]);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "one"]);
    let clone = |of: &Project| {
        let clone = Project::empty();
        let place = clone.path("here").display().to_string();
        git(of, &["-c", "core.autocrlf=true", "clone", "-q", ".", &place]);
        clone
    };
    let changed = clone(&origin);
    let run = |arguments: &[&str]| {
        common::Run::of(&changed.command().current_dir(changed.path("here")).args(arguments).output().unwrap())
    };
    let text = changed.read("here/mcp/fixture.json");
    assert!(text.contains("\r\n"), "git has changed nothing");
    run(&["check"]).exits_with(0).says("  Up to date mcp/fixture.json");
    run(&["check", "--offline", "--base", "HEAD"]).exits_with(0);
    run(&["sync"]).exits_with(0).says("   Unchanged mcp/fixture.json");
    assert_eq!(changed.read("here/mcp/fixture.json"), text);
    for sides in [["fixture", "fixture@HEAD"], ["fixture@HEAD", "fixture"]] {
        let diff = run(&[&["diff"][..], &sides].concat()).exits_with(0).says("no difference");
        assert_eq!(diff.stdout, "", "{sides:?}");
    }
    run(&["expand", "fixture", "-o", "gh.rs"]).exits_with(0);
    changed.write("here/gh.rs", &changed.read("here/gh.rs").replace('\n', "\r\n"));
    run(&["expand", "fixture", "-o", "gh.rs", "--check"]).exits_with(0);

    // With what `init` writes git leaves them alone.
    origin.run(&["init", "--no-dependency"]).exits_with(0);
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "two"]);
    let kept = clone(&origin);
    assert!(!kept.read("here/mcp/fixture.json").contains('\r') && kept.read("here/mcp.toml").contains('\r'));
}

#[test]
fn annotations_have_paths_relative_to_the_repository_root() {
    let project = Project::empty();
    git(&project, &["init", "-q"]);
    project.write("sub/mcp.toml", "[servers.s]\ncommand = \"x\"\n");
    let annotated = || {
        let mut command = project.command();
        command.current_dir(project.path("sub")).args(["check", "--offline", "--format", "github"]);
        common::Run::of(&command.output().unwrap()).exits_with(4).stdout
    };
    // The folder is not there yet, and has a place all the same.
    assert!(annotated().starts_with("::error file=sub/mcp/s.json,title="), "{}", annotated());
    project.write("sub/mcp/s.json", "{");
    assert!(annotated().starts_with("::error file=sub/mcp/s.json,line=1,title="), "{}", annotated());
}

/// Returns the lines that a GitHub runner would obey as commands: `::` after blanks, and the older `##[` anywhere.
#[cfg(unix)]
fn obeyed(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.trim_start().starts_with("::") || line.contains("##[")).collect()
}

#[cfg(unix)]
#[test]
fn output_contains_no_workflow_commands_of_servers() {
    let hostile = "##[add-mask]x\n::stop-commands::y";
    let project = Project::new(
        "[servers.fixture]\ncommand = \"SERVER\"\n\
         [servers.noisy]\ncommand = \"sh\"\nargs = [\"-c\", \"printf '##[add-mask]x\\\\n::stop-commands::y\\\\n' >&2; exec SERVER\"]\n\
         [servers.broken]\ncommand = \"sh\"\nargs = [\"-c\", \"printf '##[add-mask]x\\\\n::stop-commands::y\\\\n' >&2; exit 3\"]\n\
         [servers.said]\ncommand = \"./no-such-program\"\n",
    );
    let tool = json!({"name": "odd ##[add-mask]x", "description": hostile, "inputSchema": {"type": "object",
        "properties": {"a": {"type": "string", "description": hostile, "default": hostile}}}});
    project.write("mcp/said.json", &json!({ "tools": [tool], "instructions": hostile }).to_string());
    project.write("mcp/none.json", r#"{"tools": []}"#);
    let run = |arguments: &[&str]| {
        let summary = project.path("summary.md");
        let mut command = project.command();
        command.args(arguments).env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", summary);
        let run = common::Run::of(&command.output().unwrap());
        assert_eq!(obeyed(&run.stderr), [""; 0], "{arguments:?}");
        run
    };
    let mut count = 0;
    for arguments in [
        &["list", "said"][..],
        &["list", "said", "--format", "json"],
        &["list", "said", "--format", "markdown"],
        &["list", "said", "--format", "html"],
        &["expand", "said", "--format", "json"],
        &["diff", "mcp/none.json", "mcp/said.json"],
        &["diff", "mcp/none.json", "mcp/said.json", "--format", "json"],
        &["list", "said", "--shapes", "--format", "json"],
        &["call", "said", "odd ##[add-mask]x", "--help"],
        &["call", "said", "odd ##[add-mask]x", "--dry-run", "--a", hostile],
        &["-v", "sync", "noisy"],
        &["sync", "broken"],
        &["check", "broken", "said"],
        &["check", "broken", "said", "--format", "json"],
        &["check", "broken", "said", "--format", "markdown"],
        &["call", "fixture", "echo_arguments", "--text", hostile, "--choice:=null"],
        &["call", "fixture", "echo_arguments", "--text", hostile, "--choice:=null", "--format", "json"],
        &["call", "fixture", "always_fails", "--reason", hostile],
        &["doctor"],
    ] {
        assert_eq!(obeyed(&run(arguments).stdout), [""; 0], "{arguments:?}");
        count += 1;
    }
    project.write("summary.md", "of others\n");
    let github = run(&["check", "broken", "said", "--format", "github"]).stdout;
    assert!(project.read("summary.md").starts_with("of others\n<!-- mcp-bindgen check -->\n"));
    assert!(github.lines().all(|line| line.starts_with("::error ") || line.starts_with("::notice ")), "{github}");
    // Data is printed unchanged.
    let sent = run(&["call", "said", "odd ##[add-mask]x", "--dry-run", "--a", hostile]).json();
    assert_eq!(sent["params"]["arguments"]["a"], hostile);
    assert_eq!(run(&["list", "said", "--format", "json"]).json()[0]["tool"], "odd ##[add-mask]x");
    // Code cannot be written in another way.
    let refused = run(&["expand", "said"]).exits_with(1).says("write it to a file");
    assert_eq!(refused.stdout, "");
    run(&["expand", "said", "-o", "said.rs"]).exits_with(0);
    assert!(project.read("said.rs").contains("odd ##[add-mask]x"));
    project.run(&["expand", "said"]).exits_with(0);
    println!("{count} outputs, none of them obeyed");
}

#[test]
fn github_reports_have_one_annotation_per_tool_and_a_summary() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    project.write("mcp/fixture.json", &doctored(&project));
    let comment = project.run(&["check", "--format", "markdown"]).exits_with(4).stdout;
    assert!(
        comment.starts_with(
            "<!-- mcp-bindgen check -->\n**MCP snapshots need attention**: 1 server checked: 1 out of date.\n"
        ),
        "{comment}"
    );
    assert!(comment.contains("| `fixture` | out of date | 1 breaking, 1 source, 1 compatible |"), "{comment}");
    assert!(comment.lines().all(|line| !line.trim_start().starts_with("::")), "{comment}");

    let summary = project.path("summary.md");
    let github = project
        .command()
        .args(["check", "--format", "github"])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let stdout = String::from_utf8(github.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines.len(), 2, "one for each tool: {stdout}");
    assert!(lines[0].starts_with("::error file=mcp/fixture.json,line="), "{stdout}");
    assert!(lines[1].starts_with("::notice file=mcp/fixture.json"), "{stdout}");
    assert!(!String::from_utf8(github.stderr).unwrap().lines().any(|line| line.trim_start().starts_with("::")));
    assert_eq!(project.read("summary.md").trim_end(), comment.trim_end());
    project.run(&["sync", "--format", "github"]).exits_with(2).says("this command has no format `github`");
}

#[test]
fn check_and_sync_report_tools_that_would_not_build() {
    let project = Project::new(FIXTURE);
    project.run(&["sync"]).exits_with(0);
    let mut snapshot: Value = serde_json::from_str(&project.read("mcp/fixture.json")).unwrap();
    let mut tool = snapshot["tools"][0].clone();
    tool["name"] = "away".into();
    snapshot["tools"].as_array_mut().unwrap().push(tool);
    let before = mcp_bindgen_model::Snapshot::parse(&snapshot.to_string()).unwrap().to_text();
    project.write("mcp/fixture.json", &before);
    let config = project.read("mcp.toml");
    let fault = "no tool of server `fixture` matches `away` in `tools`";
    let misfit = format!("the current tools of fixture do not fit: {fault}");
    project.write("mcp.toml", &format!("{config}tools = [\"add\", \"away\"]\n"));
    project.run(&["check", "--offline"]).exits_with(0);
    let report = project.run(&["check", "--format", "json"]).exits_with(4).says(&misfit).json();
    assert!(report[0]["misfits"][0].as_str().unwrap().starts_with(fault), "{report}");
    project.run(&["sync"]).exits_with(1).says(&misfit);
    let after = project.run(&["check"]).exits_with(1).says(fault);
    assert!(!after.stderr.contains(&misfit), "told twice: {}", after.stderr);
    // The same of what would be denied.
    project.write("mcp.toml", &config);
    project.run(&["check"]).exits_with(0);
}

//! `check --base`: what became of snapshots since a branch, however the work on them stands, and who reads of it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::fs;
use std::process::Command;

use mcp_bindgen_model::Snapshot;
use serde_json::{Value, json};

use crate::check::git;
use crate::common::{Project, Run};

const CONFIG: &str = "[servers.s]\ncommand = \"x\"\n[servers.t]\ncommand = \"x\"\n";

/// A snapshot as `sync` writes it, of tools that each take these.
fn snapshot(tools: &[(&str, &str)]) -> String {
    let tool = |(name, of): &(&str, &str)| json!({"name": name, "inputSchema": {"type": "object", "properties": {"q": {"type": of}}}});
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    Snapshot::parse(&json!({ "tools": tools }).to_string()).unwrap().to_text()
}

fn commit(project: &Project, message: &str) {
    git(project, &["add", "-A"]);
    git(project, &["commit", "-qm", message]);
}

/// Two servers on `main`; of `s`, the work on another branch changes one tool and takes away another.
fn work() -> Project {
    let project = Project::new(CONFIG);
    git(&project, &["init", "-q"]);
    project.write("mcp/s.json", &snapshot(&[("delete", "string"), ("find", "string")]));
    project.write("mcp/t.json", &snapshot(&[("one", "string")]));
    commit(&project, "then");
    git(&project, &["checkout", "-qb", "work"]);
    project.write("mcp/s.json", &snapshot(&[("find", "integer")]));
    commit(&project, "now");
    project
}

const CHECK: [&str; 4] = ["check", "--offline", "--base", "main"];

fn formatted(format: &str) -> Vec<&str> {
    [&CHECK[..], &["--format", format]].concat()
}

#[test]
fn hooks_of_other_work_trees_use_the_same_repository() {
    let project = work();
    let place = project.path("w");
    git(&project, &["worktree", "add", "-q", "-b", "other", place.to_str().unwrap(), "work"]);
    let told = |folder: &str, names: &[(&str, &std::path::Path)]| {
        let mut command = project.command();
        command.current_dir(project.path(folder)).args(CHECK).envs(names.iter().copied());
        Run::of(&command.output().unwrap()).exits_with(0).says("Since main: s has 2 breaking")
    };
    // As git tells its hooks where they are.
    let folder = project.path(".git/worktrees/w");
    assert!(folder.is_dir());
    told("w", &[("GIT_DIR", &folder)]);
    told("", &[("GIT_DIR", ".git".as_ref())]);
    told("", &[("GIT_DIR", ".git".as_ref()), ("GIT_WORK_TREE", ".".as_ref())]);
}

#[test]
fn denied_classes_decide_the_exit_code() {
    let project = work();
    project.run(&CHECK).exits_with(0);
    for class in ["breaking", "silent", "source", "compatible", "wording"] {
        let error = format!("error: s has 2 breaking since main, which `--deny {class}` forbids\n --> mcp/s.json\n");
        for quiet in [&[][..], &["--quiet"]] {
            project.run(&[&CHECK[..], &["--deny", class], quiet].concat()).exits_with(4).says(&error);
        }
    }
    project.run(&[&CHECK[..], &["--deny", "harmless"]].concat()).exits_with(2);
    let compare = |new: &str, more: &[&str]| project.run(&[&["diff", "old.json", new], more].concat());
    let described = |words: &str| {
        let tool = json!({ "name": "t", "description": words, "inputSchema": { "type": "object" } });
        json!({ "tools": [tool] }).to_string()
    };
    project.write("old.json", &described("one"));
    project.write("new.json", &described("another"));
    compare("new.json", &[]).exits_with(4);
    compare("new.json", &["--deny", "wording"]).exits_with(4);
    compare("new.json", &["--deny", "compatible"]).exits_with(0).says("1 wording");
    compare("old.json", &["--deny", "wording"]).exits_with(0);
}

#[test]
fn silent_changes_are_reported_like_breaking_ones() {
    let project = Project::new("[servers.s]\ncommand = \"x\"\n");
    let copies = |required: [&str; 2]| {
        let properties = json!({ "source": { "type": "string" }, "destination": { "type": "string" } });
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        Snapshot::parse(&json!({ "tools": [{ "name": "copy", "inputSchema": schema }] }).to_string()).unwrap().to_text()
    };
    git(&project, &["init", "-q"]);
    project.write("mcp/s.json", &copies(["source", "destination"]));
    commit(&project, "then");
    git(&project, &["checkout", "-qb", "work"]);
    project.write("mcp/s.json", &copies(["destination", "source"]));
    commit(&project, "now");
    let what = "`new` takes its arguments in another order, and calls still compile";
    let proof = "was new(source: impl Into<String>, destination: impl Into<String>), is new(destination: impl Into<String>, \
                 source: impl Into<String>)";
    let said = format!("silent      copy /inputSchema/required: {what}");
    project.run(&CHECK).exits_with(0).says("Since main: s has 1 silent").says(&said).says(proof);
    let json = project.run(&formatted("json")).exits_with(0).json();
    let change = &json[0]["since"]["changes"][0];
    assert_eq!(
        (&change["class"], &change["breaking"], &change["witness"]),
        (&json!("silent"), &json!(false), &json!(null))
    );
    assert!(change["signatures"]["old"].as_str().is_some_and(|old| proof.contains(old)), "{change}");
    let markdown = project.run(&formatted("markdown")).exits_with(0).stdout;
    assert!(markdown.contains("; 1 silent change since `main`**"), "{markdown}");
    assert!(markdown.contains("<details open>") && markdown.contains(proof), "{markdown}");
    let github = project.run(&formatted("github")).exits_with(0).stdout;
    assert!(github.contains("::warning file=mcp/s.json,line=") && github.contains(proof), "{github}");
    for (class, code) in [("breaking", 0), ("silent", 4), ("source", 4), ("compatible", 4), ("wording", 4)] {
        project.run(&[&CHECK[..], &["--deny", class]].concat()).exits_with(code);
        let sides = ["diff", "s@main", "s", "--deny", class];
        project.run(&sides).exits_with(code);
    }
}

#[test]
fn snapshot_unreadable_in_git_is_not_new() {
    let project = work();
    let found =
        Command::new("git").current_dir(project.path("")).args(["rev-parse", "main:mcp/s.json"]).output().unwrap();
    let id = String::from_utf8(found.stdout).unwrap();
    // As in a partial clone whose origin is away.
    fs::remove_file(project.path(".git/objects").join(&id[..2]).join(id[2..].trim())).unwrap();
    project.run(&CHECK).exits_with(1).says("failed to read mcp/s.json at `main`: ");
    let json = project.run(&formatted("json")).exits_with(1).json();
    assert!(json[0]["since"]["error"].as_str().is_some_and(|error| error.contains("failed to read")), "{json}");
    assert_eq!((&json[0]["status"], &json[1]["since"]["new"]), (&json!("valid"), &json!(false)));
}

#[test]
fn renamed_snapshot_folder_is_found_at_the_base_revision() {
    let project = work();
    project.write("mcp.toml", &format!("[defaults]\nsnapshots = \"snaps\"\n{CONFIG}"));
    git(&project, &["mv", "mcp", "snaps"]);
    commit(&project, "renamed");
    project.run(&CHECK).exits_with(0).says("Since main: s has 2 breaking");
}

#[test]
fn removed_servers_and_snapshots_are_reported() {
    let project = work();
    project.write("mcp.toml", "[servers.s]\ncommand = \"x\"\n");
    git(&project, &["rm", "-q", "mcp/s.json", "mcp/t.json"]);
    commit(&project, "removed");
    project.run(&CHECK).exits_with(4).says("main: the snapshot of s was removed").says("main: server t was removed");
    let json = project.run(&formatted("json")).exits_with(4).json();
    for (entry, status) in json.as_array().unwrap().iter().zip(["missing", "removed"]) {
        assert_eq!((&entry["status"], &entry["since"]["removed"]), (&json!(status), &json!(true)), "{json}");
    }
    let markdown = project.run(&formatted("markdown")).exits_with(4).stdout;
    assert!(markdown.contains("; 2 snapshots removed since `main`**: 1 server checked: 1 out of date."), "{markdown}");
    assert!(markdown.contains("| `t` | removed |  | removed |"), "{markdown}");
    let github = project.run(&formatted("github")).exits_with(4).stdout;
    assert!(github.contains("::warning file=mcp/t.json,title=t was removed::main has it"), "{github}");
    // A check of one server reports that server only.
    let one = project.run(&[&CHECK[..], &["s"]].concat()).exits_with(4);
    assert!(!one.stderr.contains("t is no server"), "{}", one.stderr);
}

#[test]
fn changes_of_a_merge_in_progress_are_not_reported() {
    let project = work();
    git(&project, &["checkout", "-q", "main"]);
    project.write("mcp/t.json", &snapshot(&[]));
    commit(&project, "later");
    git(&project, &["checkout", "-q", "work"]);
    git(&project, &["merge", "-q", "--no-commit", "--no-ff", "main"]);
    let told = project.run(&CHECK).exits_with(0).says("Since main: s has 2 breaking");
    assert!(!told.stderr.contains(": t has"), "{}", told.stderr);
}

#[test]
fn failed_comparison_reports_its_reason_and_the_other_servers() {
    let project = Project::new(CONFIG);
    project.write("mcp/s.json", &snapshot(&[]));
    project.run(&CHECK).exits_with(1).says("not in a git repository").says("without a revision");
    git(&project, &["init", "-q"]);
    project.run(&CHECK).exits_with(1).says("the repository has no commits").says("help: commit first");
    commit(&project, "one");
    let none = project.run(&["diff", "s@nothing", "s"]).exits_with(1).says("git has no commit `nothing`");
    assert!(none.stderr.contains("fatal: "), "{}", none.stderr);

    let base = ["check", "--offline", "--base", "nothing", "--format"];
    let json = project.run(&[&base[..], &["json"]].concat()).exits_with(1).json();
    assert_eq!((&json[0]["status"], &json[1]["status"]), (&json!("valid"), &json!("missing")), "{json}");
    assert!(json[0]["since"]["error"].as_str().is_some_and(|error| error.contains("no commit `nothing`")), "{json}");
    let markdown = project.run(&[&base[..], &["markdown"]].concat()).exits_with(1).stdout;
    assert!(markdown.contains("2 snapshots that cannot be compared since `nothing`"), "{markdown}");
    let github = project.run(&[&base[..], &["github"]].concat()).exits_with(1).stdout;
    assert!(github.contains("::error file=mcp/s.json,title=s cannot be compared with nothing::git has no"), "{github}");

    // One that says nothing at all says why.
    project.write("mcp.toml", "[server.s]\n");
    let markdown = project.run(&["check", "--format", "markdown"]).exits_with(1).stdout;
    assert!(markdown.starts_with("<!-- mcp-bindgen check -->\n**MCP snapshots could not be checked**"), "{markdown}");
    assert!(markdown.contains(" --> mcp.toml:1:"), "{markdown}");
    let github = project.run(&["check", "--format", "github"]).exits_with(1).stdout;
    assert!(github.starts_with("::error title=mcp-bindgen::"), "{github}");
}

#[test]
fn breaking_changes_since_the_base_are_reported_for_valid_snapshots() {
    let project = work();
    let markdown = project.run(&formatted("markdown")).exits_with(0).stdout;
    let said = "**All MCP snapshots are valid; 2 breaking changes since `main`**: 2 servers checked: 2 valid.";
    assert!(markdown.contains(said), "{markdown}");
    assert!(markdown.contains("| `s` | valid |  | 2 breaking |\n| `t` | valid |  |  |"), "{markdown}");
    assert!(markdown.contains("<details open><summary>Since <code>main</code>"), "{markdown}");
    let github = project.run(&formatted("github")).exits_with(0).stdout;
    let lines: Vec<&str> = github.lines().collect();
    assert_eq!(lines.len(), 2, "{github}");
    for (line, tool) in lines.iter().zip(["delete", "find"]) {
        assert!(line.starts_with("::warning file=mcp/s.json,"), "{github}");
        assert!(line.contains(&format!("title=s%3A breaking change since main::{tool}")), "{github}");
    }
    assert!(lines[1].contains(",line="), "{github}");
    let denied = |format| [&formatted(format)[..], &["--deny", "breaking"]].concat();
    let markdown = project.run(&denied("markdown")).exits_with(4).stdout;
    assert!(markdown.contains("**MCP snapshots need attention; 2 breaking changes since `main`**"), "{markdown}");
    let github = project.run(&denied("github")).exits_with(4).stdout;
    assert!(github.lines().all(|line| line.starts_with("::error file=mcp/s.json,")), "{github}");
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_followed_in_git_as_on_disk() {
    let project = Project::new("[servers.s]\ncommand = \"x\"\n");
    git(&project, &["init", "-q"]);
    project.write("shared/s.json", &snapshot(&[("find", "string")]));
    fs::create_dir(project.path("mcp")).unwrap();
    std::os::unix::fs::symlink("../shared/s.json", project.path("mcp/s.json")).unwrap();
    commit(&project, "then");
    git(&project, &["checkout", "-qb", "work"]);
    project.write("shared/s.json", &snapshot(&[]));
    project.run(&CHECK).exits_with(0).says("Since main: s has 1 breaking");
    project.run(&["diff", "s@main", "s"]).exits_with(4);
    // A link that leads nowhere is not a snapshot that is missing: one would be written in its place.
    fs::remove_file(project.path("shared/s.json")).unwrap();
    project.run(&["check", "--offline"]).exits_with(1).says("broken symbolic link");
    for (target, said) in [
        ("../gone.json", "it is a broken symbolic link"),
        ("../../there.json", "it is a link to ../there.json, which is absolute or outside the repository"),
        ("s.json", "its symbolic links form a cycle"),
    ] {
        let project = Project::new("[servers.s]\ncommand = \"x\"\n");
        git(&project, &["init", "-q"]);
        fs::create_dir(project.path("mcp")).unwrap();
        std::os::unix::fs::symlink(target, project.path("mcp/s.json")).unwrap();
        commit(&project, "then");
        project.run(&["diff", "s@main", "s@main"]).exits_with(1).says(said);
    }
}

#[test]
fn annotations_have_the_line_of_the_fault() {
    let project = Project::new("[servers.s]\ncommand = \"x\"\n");
    project.write("mcp/s.json", &snapshot(&[("find", "string")]));
    project.write("mcp/s.overrides.json", "{\n  \"format\": 1,\n  \"tols\": {}\n}\n");
    let annotated = |code| project.run(&["check", "--offline", "--format", "github"]).exits_with(code).stdout;
    let line = annotated(1);
    assert!(line.starts_with("::error file=mcp/s.overrides.json,line=3,title=s does not build::"), "{line}");
    fs::remove_file(project.path("mcp/s.overrides.json")).unwrap();
    project.write("mcp/s.json", "{\n  \"tools\": [}\n");
    let line = annotated(4);
    assert!(line.starts_with("::error file=mcp/s.json,line=2,title=failed to read the snapshot of s::"), "{line}");
    assert!(line.contains("%0Arun `mcp-bindgen sync s` to write it again"), "{line}");
    project.write("mcp/s.json", "{\n  \"format\": 7, \"tools\": []\n}\n");
    assert!(annotated(1).starts_with("::error file=mcp/s.json,line=2,title=s failed::"), "{}", annotated(1));

    let mut command = project.command();
    command
        .args(["check", "--offline", "--format", "github"])
        .env("GITHUB_STEP_SUMMARY", project.path("no/summary.md"));
    project.write("mcp/s.json", "{");
    Run::of(&command.output().unwrap())
        .exits_with(4)
        .says("no/summary.md")
        .says("the path comes from GITHUB_STEP_SUMMARY");
}

#[test]
fn formatting_difference_is_shown_in_json() {
    let project = Project::new("[servers.s]\ncommand = \"x\"\n");
    project.write("mcp/s.json", &snapshot(&[("find", "string")]).replace("  \"tools\"", " \"tools\""));
    let json = project.run(&["check", "--offline", "--format", "json", "-q"]).exits_with(4).json();
    assert_eq!((&json[0]["status"], &json[0]["changes"]), (&json!("out-of-date"), &json!([])));
    assert!(json[0]["diff"].as_str().is_some_and(|diff| diff.contains("+  \"tools\"")), "{json}");
}

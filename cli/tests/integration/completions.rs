//! Completion as shells ask for it, the lines for their start-up files, and man pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use std::time::{Duration, Instant};

use common::{Project, Run};
use serde_json::json;

const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "powershell", "elvish"];

/// Servers that cannot be started, one with a snapshot.
fn project() -> Project {
    let project = Project::empty();
    let config = "[servers.github]\ncommand = \"./no-such-program\"\nexclude = [\"list_secrets\"]\n\
                  [servers.gitlab]\ncommand = \"./no-such-program\"\n";
    project.write("mcp.toml", config);
    let schema = json!({
        "type": "object",
        "properties": {
            "owner": { "type": "string", "description": "Who \u{1b}[31m\nhas it" },
            "state": { "enum": ["open", "closed", "$(reboot)", "New York", "it's"] },
            "draft": { "type": "boolean" },
            "format": { "type": "string" },
            "$(touch hacked)": { "type": "string" }
        }
    });
    let tool = |name: &str| json!({ "name": name, "description": "Does\tit", "inputSchema": schema });
    let names = ["list_issues", "list_secrets", "get_me", "$(touch hacked)", "a;b", "-rf"];
    let snapshot = json!({
        "tools": names.map(tool),
        "prompts": [{ "name": "greet", "arguments": [{ "name": "who", "required": true }] }],
        "resourceTemplates": [{ "name": "note", "uriTemplate": "note:///{path}" }]
    });
    project.write("mcp/github.json", &snapshot.to_string());
    project
}

/// Completes the last word, as bash has it done.
fn ask(project: &Project, words: &[&str]) -> Run {
    let mut command = project.command();
    command.args(["--", "mcp-bindgen"]).args(words);
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", words.len().to_string()).env("_CLAP_IFS", "\n");
    let run = Run::of(&command.output().unwrap()).exits_with(0);
    assert_eq!(run.stderr, "", "{words:?}");
    run
}

fn complete(project: &Project, words: &[&str]) -> Vec<String> {
    ask(project, words).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn every_argument_position_is_completed() {
    let project = project();
    let cases: [(&[&str], &[&str]); 26] = [
        (&["comp"], &["completions"]),
        (&["call", "gi"], &["github", "gitlab"]),
        (&["list", "gith"], &["github"]),
        (&["check", "--offline", "github", "gitl"], &["gitlab"]),
        (&["prompt", "list", "gith"], &["github"]),
        (&["call", "github", "l"], &["list_issues"]),
        (&["call", "--timeout", "5s", "github", "g"], &["get_me"]),
        (&["call", "github", "list_issues", "--ow"], &["--owner"]),
        (&["call", "github", "list_issues", "--owner", "x", "--no-d"], &["--no-draft"]),
        (&["call", "github", "list_issues", "--state", ""], &["open", "closed", "New York"]),
        (&["call", "github", "list_issues", "--state", "New\\ Y"], &["New York"]),
        (&["call", "github", "list_issues", "--state", "'New Y"], &["New York"]),
        (&["call", "github", "list_issues", "--state", "=", "New\\ Y"], &["New York"]),
        (&["call", "github", "list_issues", "--state", "New\\ York", "--ow"], &["--owner"]),
        (&["call", "github", "list_issues", "--state=c"], &["--state=closed"]),
        // As bash breaks words.
        (&["call", "github", "list_issues", "--state", "=", "c"], &["closed"]),
        (&["resource", "read", "github", "note", ":", "/"], &["///"]),
        (&["--config", "=", "mcp.toml", "call", "gith"], &["github"]),
        (&["call", "github", "list_issues", "--arg", "f"], &["format="]),
        (&["prompt", "get", "github", "g"], &["greet"]),
        (&["prompt", "get", "github", "greet", "--w"], &["--who"]),
        (&["resource", "read", "github", "n"], &["note:///"]),
        (&["learn", "github", "g"], &["get_me"]),
        (&["diff", "gith"], &["github"]),
        (&["import", "--from", "claude-c"], &["claude-code"]),
        (&["expand", "github", "--tool", "g"], &["get_me"]),
    ];
    for (words, expected) in cases {
        assert_eq!(complete(&project, words), expected, "{words:?}");
    }
    let every = complete(&project, &["call", "github", ""]);
    assert!(every.contains(&"list_issues".to_owned()) && every.contains(&"get_me".to_owned()), "{every:?}");
    assert!(!every.contains(&"list_secrets".to_owned()), "what the configuration denies is not offered: {every:?}");
    let flags = complete(&project, &["call", "github", "list_issues", "--"]);
    for flag in ["--owner", "--state", "--draft", "--no-draft", "--timeout", "--format", "--args"] {
        assert_eq!(flags.iter().filter(|known| *known == flag).count(), 1, "{flag}: {flags:?}");
    }
    let all = [every, flags].concat().join("\n");
    assert!(!["hacked", ";", "-rf", "\u{1b}"].iter().any(|hostile| all.contains(hostile)), "{all}");
    println!("{} places", cases.len());
}

#[test]
fn completion_descriptions_contain_no_escape_sequences() {
    let project = project();
    for shell in ["fish", "zsh", "elvish", "powershell"] {
        let mut command = project.command();
        command.args(["--", "mcp-bindgen", "call", "github", "list_issues", "--ow"]);
        command.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "4").env("_CLAP_IFS", "\n");
        let run = Run::of(&command.output().unwrap()).exits_with(0);
        assert!(run.stdout.contains("--owner") && !run.stdout.contains('\u{1b}'), "{shell}: {:?}", run.stdout);
    }
}

/// Fish, zsh and elvish quote what they complete themselves, PowerShell does not.
#[test]
fn values_with_spaces_are_quoted_for_each_shell() {
    let project = project();
    for (shell, begun, completed) in [
        ("fish", "New\\ Y", "New York"),
        ("zsh", "New\\ Y", "New York"),
        ("zsh", "\"New Y", "New York"),
        ("elvish", "New Y", "New York"),
        ("powershell", "New", "'New York'"),
        ("powershell", "op", "open"),
    ] {
        let mut command = project.command();
        command.args(["--", "mcp-bindgen", "call", "github", "list_issues", "--state", begun]);
        command.env("COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", "5").env("_CLAP_IFS", "\n");
        let run = Run::of(&command.output().unwrap()).exits_with(0);
        assert_eq!(run.stdout.trim_end(), completed, "{shell}: {begun}");
    }
}

#[test]
fn completion_uses_the_specified_configuration() {
    let project = project();
    project.write("other.toml", "[servers.other]\ncommand = \"x\"\n");
    assert_eq!(complete(&project, &["--config", "other.toml", "call", "o"]), ["other"]);
    assert_eq!(complete(&project, &["call", "--config=other.toml", "o"]), ["other"]);
}

#[test]
fn malformed_files_complete_nothing_silently() {
    let project = project();
    project.write("mcp/github.json", "{ broken");
    assert_eq!(complete(&project, &["call", "github", "l"]), [""; 0]);
    assert_eq!(complete(&project, &["call", "github", "list_issues", "--ow"]), [""; 0]);
    project.write("mcp.toml", "[servers.github\n");
    for words in
        [vec!["call", "gi"], vec!["call", "github", "l"], vec!["list", "g"], vec!["prompt", "get", "github", "g"]]
    {
        assert_eq!(ask(&project, &words).stdout, "", "{words:?}");
    }
    assert_eq!(complete(&project, &["comp"]), ["completions"], "commands need no configuration");
    assert_eq!(ask(&Project::empty(), &["call", "g"]).stdout, "");
}

#[test]
fn completion_writes_nothing_and_is_fast() {
    let project = project();
    let files = || {
        let mut files: Vec<_> =
            std::fs::read_dir(project.path("")).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let before = files();
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let start = Instant::now();
            complete(&project, &["call", "github", "list_issues", "--"]);
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("completion of flags: {:?} in a debug build", times[2]);
    assert_eq!(files(), before);
    // The figure that is kept is one of release builds; here something that asks a server or the network shows.
    assert!(times[0] < Duration::from_secs(5), "{times:?}");
}

#[test]
fn completion_scripts_query_the_program_each_time() {
    let project = Project::empty();
    for shell in SHELLS {
        let line = project.run(&["completions", shell]).exits_with(0).says("Add").stdout;
        assert!(line.contains("COMPLETE") && line.contains(shell) && line.lines().count() == 1, "{line}");
        let mut command = project.command();
        let script = Run::of(&command.env("COMPLETE", shell).output().unwrap()).exits_with(0).stdout;
        assert!(script.contains("mcp-bindgen") && script.contains("COMPLETE"), "{shell}: {script}");
        assert!(!script.contains("--offline"), "{shell} keeps what is completed: {script}");
    }
    project.run(&["completions", "tcsh"]).exits_with(2).says("possible values");
    project.run(&["completions", "bash", "--format", "json"]).exits_with(2).says("no format `json`");
}

#[test]
#[cfg(unix)]
fn bash_completion_script_works() {
    let project = project();
    let program = env!("CARGO_BIN_EXE_mcp-bindgen");
    let line = project.run(&["completions", "bash"]).exits_with(0).stdout;
    let folder = std::path::Path::new(program).parent().unwrap().display();
    let script = format!(
        "PATH={folder}:$PATH\n{line}\nCOMP_WORDS=(mcp-bindgen call github l)\nCOMP_CWORD=3\nCOMP_TYPE=9\n\
         $(complete -p mcp-bindgen | sed 's/.*-F \\([^ ]*\\).*/\\1/') mcp-bindgen l github\necho \"${{COMPREPLY[@]}}\"\n"
    );
    project.write("try.sh", &script);
    let run = project.shell("bash try.sh 2>/dev/null").exits_with(0);
    assert_eq!(run.stdout.trim(), "list_issues");
}

#[test]
fn every_command_has_a_man_page() {
    let project = Project::empty();
    project.run(&["man", "pages/man1"]).exits_with(0);
    let help = project.run(&["--help"]).exits_with(0).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().take_while(|line| !line.trim().is_empty());
    // The description of a command begins on the line of its name, or on the next line if there is little room.
    let names = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap());
    let mut count = 0;
    for name in names.filter(|name| *name != "help") {
        let page = project.read(&format!("pages/man1/mcp-bindgen-{name}.1"));
        assert!(page.contains(".TH") && page.contains("SYNOPSIS"), "{name}: {page}");
        count += 1;
    }
    assert!(count >= 15, "{count}");
    for page in ["mcp-bindgen", "mcp-bindgen-resource-read", "mcp-bindgen-prompt-get"] {
        assert!(project.read(&format!("pages/man1/{page}.1")).contains(".TH"));
    }
    assert!(!help.contains("  man"), "it is for packages");
    println!("man pages of {count} commands");
}

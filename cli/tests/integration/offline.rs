//! The commands that read snapshots, and what is said of wrong ones.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::fs;

use common::{Project, fixtures};
use serde_json::{Value, json};

const SNAPSHOT: &str = r#"{
  "tools": [
    {"name": "create-issue", "inputSchema": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
     "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}},
    {"name": "odd", "inputSchema": {"type": "object", "properties": {"labels": {"type": "text"}}}}
  ]
}
"#;

fn with_snapshot(config: &str) -> Project {
    let project = Project::empty();
    project.write("mcp.toml", &format!("{config}[servers.gh]\nnpm = \"x\"\n"));
    project.write("mcp/gh.json", SNAPSHOT);
    project
}

#[test]
fn list_shows_the_names_of_bindings() {
    let project = with_snapshot("");
    let list = project.run(&["list", "gh"]).exits_with(0);
    assert_eq!(
        list.heads(),
        "gh/create-issue  gh::gh_create_issue(GhCreateIssueParams) -> GhCreateIssueOutput\n\
         gh/odd           gh::gh_odd(GhOddParams) -> ToolResult\n\
         gh: 2 tools\n"
    );
    let tools = project.run(&["list", "--format", "json"]).exits_with(0).json();
    let mut first = tools[0].clone();
    assert_eq!(
        first,
        json!({
            "kind": "tool",
            "server": "gh",
            "tool": "create-issue",
            "prefixed": "gh_create_issue",
            "module": "gh",
            "params_type": "GhCreateIssueParams",
            "output_type": "GhCreateIssueOutput",
            "inner_types": {"params": [], "output": []},
            "returns": "GhCreateIssueOutput",
            "handler": "gh_create_issue",
            "method": "create_issue",
            "variant": "CreateIssue",
            "title": null,
            "description": null,
            "parameters": [{"name": "title", "type": "string", "required": true, "description": null}],
            "answers": "object {id: integer}",
            "annotations": null,
            "approve": false,
            "example": "mcp-bindgen call gh create-issue --args '{\"title\":\"TITLE\"}'",
            "diagnostics": [],
        })
    );
    first = tools[1].clone();
    assert_eq!(first["output_type"], Value::Null);
    let said = &first["diagnostics"][0];
    assert_eq!((&said["code"], &said["line"]), (&json!("MCP0006"), &json!(5)));
}

#[test]
fn list_shows_the_bindings_of_prompts_and_resource_templates() {
    let project = Project::empty();
    let snapshot = fixtures().join("features/prompts.json").display().to_string();
    let arguments = ["list", "--server", "gh", "--snapshot", &snapshot];
    let list = project.run(&arguments).exits_with(0);
    for line in [
        "gh/prompt_review          gh::gh_prompt_review(GhPromptReviewParams) -> ToolResult\n",
        "gh/review                 gh::gh_prompt_review_prompt(GhReviewPrompt) -> PromptResult  (prompt)\n",
        "gh/any file               gh::gh_resource_any_file(GhAnyFileResource) -> ResourceResult  (resource template)\n",
    ] {
        assert!(list.stdout.contains(line), "{line}{}", list.stdout);
    }
    list.says("warning[MCP0017]: the resource template cannot be filled in: a `{` is not closed")
        .says("(resource template open, /uriTemplate)")
        .says("(prompt half, /arguments/2)");
    let listed = project.run(&[&arguments[..], &["--format", "json"]].concat()).exits_with(0).json();
    let entry = |key: &str, name: &str| {
        let entries = listed.as_array().unwrap();
        entries.iter().find(|entry| entry[key] == name).unwrap_or_else(|| panic!("no {key} {name}")).clone()
    };
    let mut half = entry("prompt", "half");
    assert_eq!(half["diagnostics"][0]["code"], "MCP0016");
    half["diagnostics"] = json!([]);
    assert_eq!(
        half,
        json!({
            "kind": "prompt",
            "server": "gh",
            "prompt": "half",
            "module": "gh",
            "params_type": "GhHalfPrompt",
            "returns": "PromptResult",
            "handler": "gh_prompt_half",
            "method": "prompt_half",
            "title": null,
            "description": null,
            "parameters": [
                {"name": "a", "type": "string", "required": false, "description": null},
                {"name": "b", "type": "string", "required": true, "description": null},
            ],
            "diagnostics": [],
        })
    );
    let contents = entry("resourceTemplate", "repo_contents");
    assert_eq!(contents["uriTemplate"], "repo://{owner}/{repo}/contents{/path*}{?ref}");
    assert_eq!(
        (&contents["method"], &contents["returns"]),
        (&json!("resource_repo_contents"), &json!("ResourceResult"))
    );
}

#[test]
fn diagnostics_show_their_position() {
    let project = with_snapshot("");
    let list = project.run(&["list"]).exits_with(0);
    let (head, rest) = list.stderr.split_once('\n').unwrap();
    assert!(head.starts_with("warning[MCP0006]: the type is not a JSON type"), "{head}");
    let line = SNAPSHOT.lines().nth(4).unwrap();
    let column = line.find("\"type\": \"text\"").unwrap();
    let expected = format!(
        " --> mcp/gh.json:5:{} (tool odd, /inputSchema/properties/labels/type)\n  |\n5 | {line}\n  | {}^^^^^^\n  = help: the value is untyped\n",
        column + 1,
        " ".repeat(column)
    );
    assert_eq!(rest, expected);
}

#[test]
fn configuration_allows_and_denies_diagnostics() {
    let allowing = with_snapshot("allow = [\"MCP0006\"]\n");
    assert_eq!(allowing.run(&["list"]).exits_with(0).stderr, "");
    assert_eq!(allowing.run(&["list", "--format", "json"]).exits_with(0).json()[1]["diagnostics"], json!([]));
    let denying = with_snapshot("deny = [\"MCP0006\"]\n");
    denying.run(&["list"]).exits_with(1).says("error[MCP0006]: ");
    let expand = denying.run(&["expand", "gh", "-o", "gh.rs"]).exits_with(1);
    assert!(!denying.path("gh.rs").exists() && expand.stdout.is_empty());
}

#[test]
fn expand_prints_a_module_and_writes_its_content() {
    let project = with_snapshot("");
    let printed = project.run(&["expand", "gh"]).exits_with(0).stdout;
    assert!(printed.contains("pub mod gh {") && printed.contains("pub async fn gh_create_issue("), "{printed}");
    project.run(&["expand", "gh", "-o", "src/gh.rs"]).exits_with(0).says("       Wrote src/gh.rs");
    let (header, written) =
        project.read("src/gh.rs").split_once("\n\n").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    let command = "mcp-bindgen expand gh -o src/gh.rs";
    assert_eq!(
        header,
        format!("// @generated by mcp-bindgen {version} from mcp/gh.json; do not edit: run `{command}`")
    );
    // The attributes of the module stand inside, and what it holds one level further out.
    let attributes = ["//! The MCP server `gh`.", "#![allow(", "#![cfg_attr(rustfmt, rustfmt::skip)]"];
    assert!(attributes.iter().all(|text| written.contains(text)), "{written}");
    assert!(!written.contains("mod gh") && written.contains("\npub async fn gh_create_issue("), "{written}");
    project.run(&["expand", "gh", "-o", "src/gh.rs"]).exits_with(0).says("   Unchanged src/gh.rs");
    let json = project.run(&["expand", "gh", "--format", "json"]).exits_with(0).json();
    assert_eq!(json, json!({ "format": 1, "source": printed }));

    let named = project.run(&["expand", "--snapshot", "mcp/gh.json", "--server", "other"]).exits_with(0).stdout;
    assert!(named.contains("pub mod other {"), "{named}");
    let by_file = project.run(&["list", "--snapshot", "mcp/gh.json"]).exits_with(0).stdout;
    assert!(by_file.starts_with("gh/create-issue"), "{by_file}");
}

#[test]
fn expanded_file_header_repeats_the_command() {
    let project = with_snapshot("");
    project.write("Cargo.toml", "[workspace]\nmembers = [\"one\"]\n");
    project.write("one/Cargo.toml", "[package]\nname = \"one\"\n");
    let header = |file: &str| project.read(file).lines().next().unwrap().to_owned();
    project.run(&["expand", "gh", "-o", "one/src/gh.rs"]).exits_with(0);
    let first = header("one/src/gh.rs");
    assert!(
        first.contains(" from ../mcp/gh.json; ") && first.ends_with("`mcp-bindgen expand gh -o src/gh.rs`"),
        "{first}"
    );
    let absolute = project.path("one/src/gh.rs");
    project.run(&["expand", "gh", "-o", absolute.to_str().unwrap()]).exits_with(0).says("Unchanged");

    let config = project.path("mcp.toml");
    project.run(&["--config", config.to_str().unwrap(), "expand", "gh", "-o", "gh.rs"]).exits_with(0);
    assert!(header("gh.rs").ends_with("`mcp-bindgen expand --config mcp.toml gh -o gh.rs`"), "{}", header("gh.rs"));
    fs::rename(project.path("mcp/gh.json"), project.path("mcp/a\nb c.json")).unwrap();
    project.run(&["expand", "--snapshot", "mcp/a\nb c.json", "--server", "gh", "-o", "gh.rs"]).exits_with(0);
    let command = "`mcp-bindgen expand --snapshot \"mcp/a\\nb c.json\" --server gh -o gh.rs`";
    assert!(header("gh.rs").ends_with(command), "{}", header("gh.rs"));
}

#[test]
fn invalid_usage_exits_with_2() {
    let project = with_snapshot("");
    for arguments in [
        &["lists"][..],
        &[],
        &["expand"],
        &["list", "gh", "--snapshot", "mcp/gh.json"],
        &["list", "--server", "gh"],
        &["list", "--format", "yaml"],
        &["list", "--snapshot", "mcp/gh.json", "--server", "No"],
        &["call", "gh"],
        &["call", "gh", "x", "--timeout", "soon"],
    ] {
        project.run(arguments).exits_with(2);
    }
    project.run(&["--help"]).exits_with(0);
}

#[test]
fn missing_server_or_snapshot_error_has_a_remedy() {
    let project = with_snapshot("");
    project
        .run(&["list", "zebra"])
        .exits_with(1)
        .says("error: unknown server `zebra`\n --> mcp.toml\n  = help: known servers: `gh`\n");
    project.write("mcp.toml", "[servers.gh]\nnpm = \"x\"\n[servers.new]\nnpm = \"x\"\n");
    let missing = "error: server `new` has no snapshot\n --> mcp/new.json\n  = help: run `mcp-bindgen sync new`\n";
    project.run(&["expand", "new"]).exits_with(1).says(missing);
    let others = project.run(&["list"]).exits_with(1).says(missing);
    assert!(others.stdout.contains("gh/create-issue"));
    project.write("mcp.toml", "[servers.gh]\nnpm = \"x\"\ntools = [\"creat-issue\"]\n");
    project.run(&["list"]).exits_with(1).says("matches `creat-issue` in `tools`").says("did you mean `create-issue`?");
    let empty = Project::empty();
    empty.write("Cargo.toml", "[workspace]\n");
    empty.run(&["list"]).exits_with(1).says("error: no mcp.toml or .mcp.json in this folder or above\n");
}

#[test]
fn every_error_has_a_remedy() {
    let project = with_snapshot("");
    project.write("empty.toml", "\n");
    project.write("gone.toml", "[servers.gone]\ncommand = \"./no-such-program\"\n");
    project.write("shut.toml", "[servers.shut]\nurl = \"http://127.0.0.1:9/mcp\"\n");
    project.write("mcp/gone.json", "{");
    project.write("mcp/shut.json", r#"{"format":7,"tools":[]}"#);
    let mut count = 0;
    for (arguments, code) in [
        (&["--config", "empty.toml", "list"][..], 1),
        (&["--config", "empty.toml", "sync"], 1),
        (&["--config", "gone.toml", "sync"], 5),
        (&["--config", "gone.toml", "check"], 5),
        (&["--config", "gone.toml", "check", "--offline"], 4),
        (&["--config", "gone.toml", "call", "gone", "x"], 5),
        (&["--config", "gone.toml", "resource", "list", "gone"], 5),
        (&["--config", "gone.toml", "diff", "live:gone", "live:gone"], 5),
        (&["--config", "shut.toml", "sync"], 5),
        (&["--config", "shut.toml", "check", "--offline"], 1),
        (&["list", "zebra"], 1),
        (&["check", "g"], 1),
        (&["expand", "gh", "--tool", "od"], 1),
        (&["call", "gh", "od", "--dry-run"], 1),
        (&["call", "gh", "odd", "--lables", "x", "--dry-run"], 2),
        (&["learn", "gh", "od", "--args", "{}"], 1),
        (&["sync", "--format", "html"], 2),
        (&["import", "--from", "curser"], 2),
        (&["add", "No Name", "--npm", "x"], 2),
        (&["add", "gh", "--npm", "x"], 1),
        (&["serve", "zebra"], 1),
        (&["doctor", "zebra"], 1),
        (&["diff", "gh", "gh@nothing"], 1),
        (&["lists"], 2),
    ] {
        let run = project.run(arguments).exits_with(code);
        for block in format!("\n{}", run.stderr).split("\nerror: ").skip(1) {
            // Several errors of one line of words share what is said below the last.
            let words = ["= help: ", "try '--help'", "; it has `"];
            let is_told = |text: &str| words.iter().any(|word| text.contains(word));
            assert!(is_told(block) || is_told(run.stderr.lines().last().unwrap()), "{arguments:?}: {}", run.stderr);
            count += 1;
        }
    }
    println!("{count} errors, each with what mends it");
    assert!(count >= 24, "{count}");
}

#[test]
fn color_option_overrides_the_environment() {
    let project = with_snapshot("");
    let said = |arguments: &[&str], variable: (&str, &str)| {
        let mut command = project.command();
        command.args(arguments).args(["list", "zebra"]).env_remove("NO_COLOR").env(variable.0, variable.1);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let is_coloured = |said: String| said.starts_with("\u{1b}[1;31merror\u{1b}[0m: ");
    assert!(is_coloured(said(&["--color", "always"], ("NO_COLOR", "1"))), "what is asked for comes first");
    assert!(is_coloured(said(&[], ("CLICOLOR_FORCE", "1"))), "without a terminal, too");
    assert!(!said(&["--color", "never"], ("A", "b")).contains('\u{1b}'));
}

#[test]
fn json_is_independent_of_the_terminal_width() {
    let project = with_snapshot("");
    for arguments in [&["list", "--format", "json"][..], &["call", "gh", "odd", "--dry-run"], &["expand", "gh"]] {
        let narrow = project.command().args(arguments).env("COLUMNS", "20").output().unwrap();
        assert_eq!(String::from_utf8(narrow.stdout).unwrap(), project.run(arguments).exits_with(0).stdout);
    }
}

#[cfg(unix)]
#[test]
fn closed_pipe_ends_output_silently() {
    let project = with_snapshot("");
    let tools: Vec<Value> = (0..20).map(|n| json!({ "name": format!("tool_{n}"), "inputSchema": {} })).collect();
    project.write("mcp/gh.json", &json!({ "tools": tools }).to_string());
    for (command, code) in [
        ("list", 0),
        ("list --format json", 0),
        ("list --format markdown", 0),
        ("list --format html", 0),
        ("expand gh", 0),
        ("check --offline", 4),
        ("check --offline --format json", 4),
        ("--help", 0),
        ("help call", 0),
        ("call gh tool_1 --help", 0),
        ("--version", 0),
        ("completions bash", 0),
        ("man pages", 0),
    ] {
        // The reader has closed the pipe before the command writes.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut run = project.command();
        let run = run.arg("-q").args(command.split(' ')).stdout(writer).stderr(std::process::Stdio::piped());
        let run = run.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(code), "{command}: {said}");
        assert!(!said.contains("panicked") && !said.to_lowercase().contains("pipe"), "{command}: {said}");
    }
}

#[test]
fn configuration_errors_are_located_and_secrets_are_hidden() {
    let project = with_snapshot("");
    project.write("mcp.toml", "[servers.gh]\nnpm = \"x\"\nevn = {}\n");
    project
        .run(&["list"])
        .exits_with(1)
        .says("error: unknown key `evn` in server `gh`\n --> mcp.toml:3:1\n  = help: did you mean `env`?\n");
    project.write("mcp.toml", "[servers.gh]\nnpm = \"x\"\nenv = { TOKEN = \"hunter2\" }\n");
    for arguments in [&["list"][..], &["expand", "gh"]] {
        let run = project
            .run(arguments)
            .exits_with(0)
            .says("warning: `TOKEN` of server `gh` looks like a secret in plain text\n --> mcp.toml:3:17\n");
        assert!(!run.stderr.contains("hunter2") && !run.stdout.contains("hunter2"));
    }
}

#[test]
fn literal_secrets_are_never_printed() {
    let project = with_snapshot("");
    project.write(
        "mcp.toml",
        "[servers.gh]\ncommand = \"./no-such-program\"\nenv = { SETTINGS = '{\"apiKey\": \"hunter2\"}' }\nargs = [\n  \
         \"--header\", \"Authorization: Basic aHVudGVyMjpodW50ZXIy\",\n  \"postgres://u:hunter2@h/db?password=hunter2\",\n]\n",
    );
    for arguments in
        [&["list"][..], &["expand", "gh"], &["check"], &["sync"], &["call", "gh", "create_issue", "--args", "{}"]]
    {
        for format in ["text", "json"] {
            let run = project.run(&[&["--format", format], arguments].concat());
            assert!(
                run.stderr.matches(" of server `gh` looks like a secret in plain text\n --> mcp.toml:").count() == 3
            );
            for secret in ["hunter2", "aHVudGVyMjpodW50ZXIy"] {
                assert!(!run.stderr.contains(secret) && !run.stdout.contains(secret), "{arguments:?} {format}");
            }
        }
    }
}

#[test]
fn configuration_is_found_in_parent_folders_and_other_formats() {
    let project = with_snapshot("");
    project.write("src/deep/x.rs", "");
    project.write("Cargo.toml", "[package]\nname = \"x\"\n");
    let below = project.command().current_dir(project.path("src/deep")).args(["list"]).output().unwrap();
    assert_eq!(below.status.code(), Some(0), "{below:?}");
    fs::remove_file(project.path("mcp.toml")).unwrap();
    project.write(".mcp.json", r#"{"mcpServers":{"gh":{"command":"x","disabled":true}}}"#);
    project.run(&["list", "gh"]).exits_with(0);
    project.write("other/servers.toml", "[defaults]\nsnapshots = \"../mcp\"\n[servers.gh]\nnpm = \"x\"\n");
    project.run(&["--config", "other/servers.toml", "list", "gh"]).exits_with(0);
}

#[test]
fn malformed_snapshots_are_errors() {
    let project = Project::empty();
    let mut seen = 0;
    for entry in fs::read_dir(fixtures().join("broken")).unwrap() {
        let path = entry.unwrap().path();
        let run = project.run(&["list", "--snapshot", path.to_str().unwrap(), "--server", "x"]).exits_with(1);
        assert!(
            run.stderr.starts_with("error: ") && run.stderr.contains(&format!("\n --> {}", path.display())),
            "{}",
            run.stderr
        );
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn hostile_lists_print_no_control_characters() {
    let project = Project::empty();
    for entry in fs::read_dir(fixtures().join("hostile")).unwrap() {
        let path = entry.unwrap().path();
        let arguments = ["list", "--snapshot", path.to_str().unwrap(), "--server", "x"];
        let run = project.run(&arguments).exits_with(0);
        for text in [&run.stdout, &run.stderr] {
            let found = text
                .chars()
                .find(|c| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(c));
            assert_eq!(found, None, "{}", path.display());
        }
    }
}

#[test]
fn expand_check_reports_outdated_files() {
    let project = Project::new("[servers.gh]\ncommand = \"x\"\n[servers.other]\ncommand = \"x\"\n");
    for server in ["gh", "other"] {
        project.write(&format!("mcp/{server}.json"), r#"{"tools":[{"name":"add","inputSchema":{"type":"object"}},{"name":"find","inputSchema":{"type":"object"}}]}"#);
    }
    project.run(&["expand", "-o", "src", "--check"]).exits_with(4).says("error: src/gh.rs is out of date");
    assert!(!project.path("src").exists());
    project.run(&["expand", "-o", "src"]).exits_with(0).says("Wrote src/gh.rs").says("Wrote src/other.rs");
    project.run(&["expand", "-o", "src", "--check"]).exits_with(0).says("Up to date src/other.rs");
    let written = project.read("src/gh.rs");
    assert!(written.lines().next().unwrap().ends_with("`mcp-bindgen expand gh -o src/gh.rs`"), "{written}");
    project.write("src/gh.rs", &written.replace("find", "found"));
    let check = project.run(&["expand", "gh", "-o", "src/gh.rs", "--check"]).exits_with(4);
    assert!(check.stdout.contains("+    /// `find`") || check.stdout.contains("find"), "{}", check.stdout);

    project.run(&["expand", "gh", "-o", "src/gh.rs", "--tool", "a*", "--prefix", "my"]).exits_with(0);
    let part = project.read("src/gh.rs");
    assert!(part.contains("pub struct MyAddParams") && !part.contains("find"), "{part}");
    assert!(
        part.lines().next().unwrap().ends_with("`mcp-bindgen expand gh --tool \"a*\" --prefix my -o src/gh.rs`"),
        "{part}"
    );
    project.run(&["expand", "gh", "--tool", "nothing"]).exits_with(1).says("nothing");

    project.write("src/main.rs", "fn main() {}\n");
    project.run(&["expand", "gh", "-o", "src/main.rs"]).exits_with(1).says("was not changed\n --> src/main.rs");
    assert_eq!(project.read("src/main.rs"), "fn main() {}\n");
    project.run(&["expand", "gh", "--check"]).exits_with(2);
    project.run(&["expand"]).exits_with(2).says("a folder for all with `-o FOLDER`");
}

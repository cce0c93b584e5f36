//! The inventory that `list` prints, in each of its formats: what a reviewer reads, whoever wrote it.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::process::Command;

use common::{Project, assert_golden};
use serde_json::{Value, json};

const CONFIG: &str = "[servers.demo]\ncommand = \"x\"\napprove = [\"delete_*\"]\nexclude = [\"drop_*\"]\n";

/// A server of every sort of thing, in the words of `hostile`.
fn snapshot(hostile: &str) -> String {
    let snapshot = json!({
        "format": 1,
        "server": "demo",
        "protocolVersion": "2025-11-25",
        "serverInfo": {"name": format!("demo{hostile}"), "version": "1.2.0"},
        "instructions": format!("Ask first.{hostile} Then go."),
        "tools": [
            {
                "name": "delete_repo",
                "title": format!("Delete{hostile}"),
                "description": format!("Deletes a repository{hostile}. It cannot be undone."),
                "inputSchema": {
                    "type": "object",
                    "required": ["owner"],
                    "properties": {
                        "force": {"type": "boolean", "description": "Whatever stands in the way"},
                        "owner": {"type": "string", "description": format!("Whose{hostile} it is. By name.")},
                        "labels": {"type": "array", "items": {"type": "string"}},
                        "state": {"enum": ["open", format!("closed{hostile}")]},
                    },
                },
                "outputSchema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
                "annotations": {"readOnlyHint": true, "destructiveHint": true},
            },
            {"name": "drop_all", "inputSchema": {"type": "object"}},
            {"name": format!("odd{hostile}"), "inputSchema": {"type": "object", "properties": {format!("a{hostile}"): {"type": "text"}}}},
        ],
        "prompts": [{"name": "review", "description": "Reviews.", "arguments": [{"name": "topic", "required": true}]}],
        "resourceTemplates": [{"name": "file", "uriTemplate": "demo://{owner}{?ref}"}],
    });
    format!("{snapshot:#}\n")
}

fn project(hostile: &str) -> Project {
    let project = Project::empty();
    project.write("mcp.toml", CONFIG);
    project.write("mcp/demo.json", &snapshot(hostile));
    project
}

#[test]
fn every_format_matches_its_golden() {
    let project = project("");
    assert_golden("list.txt", &project.run(&["list"]).exits_with(0).stdout);
    assert_golden("list-40.txt", &narrow(&project));
    assert_golden("list.md", &project.run(&["list", "--format", "markdown"]).exits_with(0).stdout);
    assert_golden("list.json", &project.run(&["list", "--format", "json"]).exits_with(0).stdout);
    assert_golden("list.html", &project.run(&["list", "--format", "html"]).exits_with(0).stdout);
    assert_eq!(
        project.run(&["list", "--format", "table"]).exits_with(0).stdout,
        project.run(&["list"]).exits_with(0).stdout
    );
}

fn narrow(project: &Project) -> String {
    let run = project.command().arg("list").env("COLUMNS", "40").output().unwrap();
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn narrow_table_fits_forty_columns() {
    let table = narrow(&project(" 課題を取得する\u{1b}[31m"));
    let columns = |line: &str| line.chars().map(|char| if char.is_ascii() { 1 } else { 2 }).sum::<usize>();
    for line in table.lines() {
        assert!(columns(line) <= 40, "{} columns: {line}", columns(line));
    }
    assert!(!table.contains('\u{1b}'), "{table}");
}

/// Texts that would end a script, a comment, an attribute or a section, add a link, or reverse the text direction.
const HOSTILE: [&str; 8] = [
    "</script><script>alert(1)</script>",
    "<!--",
    "\"onload=\"alert(1)",
    "' onmouseover='alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "\u{202e}gpj",
    "]]>",
    "</style><style>*{display:none}</style><base href=//x><meta http-equiv=refresh content=0>",
];

#[test]
fn hostile_text_is_escaped_in_every_format() {
    let mut checked = 0;
    for hostile in HOSTILE {
        let project = project(hostile);
        let page = project.run(&["list", "--format", "html"]).exits_with(0).stdout;
        let (markup, data) = page.split_once("<script type=\"application/json\" id=\"_texts\">").unwrap();
        let data = data.split_once("</script>").unwrap().0;
        assert!(!markup.contains(hostile), "{hostile}");
        // It is JSON that nothing in it can end.
        assert!(!data.contains('<') && serde_json::from_str::<Vec<String>>(data).unwrap().len() == 4, "{data}");
        assert!(!page.contains('\u{202e}'), "{hostile}");
        // The page contains as much markup as the page of a harmless server.
        for (markup, count) in [
            ("<script", 2),
            ("</script", 2),
            ("<style", 1),
            ("</style", 1),
            ("<!--", 0),
            ("<base", 0),
            ("<meta", 4),
            ("<img", 0),
            ("<iframe", 0),
            (" style=", 0),
            ("href=\"", 7),
            ("href=\"#", 6),
        ] {
            assert_eq!(page.matches(markup).count(), count, "{markup} with {hostile}");
        }
        assert_eq!(tags(&page).iter().filter(|tag| tag.contains(" on")).count(), 0, "{hostile}");
        let markdown = project.run(&["list", "--format", "markdown"]).exits_with(0).stdout;
        let outside = outside_code(&markdown);
        assert!(!outside.contains(hostile) && !outside.contains('<') && !markdown.contains('\u{202e}'), "{markdown}");
        checked += 1;
    }
    println!("{checked} hostile texts are text");
}

/// Returns the text outside of code spans. A span ends with as many backticks as it began with.
fn outside_code(markdown: &str) -> String {
    let mut outside = String::new();
    let mut rest = markdown;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let run = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let inside = &rest[start + run..];
        let is_end = |at: &usize| {
            let ticks = inside[*at..].len() - inside[*at..].trim_start_matches('`').len();
            ticks == run && !inside[..*at].ends_with('`')
        };
        let end = inside.match_indices('`').map(|(at, _)| at).find(is_end).expect("every span ends");
        rest = &inside[end + run..];
    }
    outside + rest
}

/// Everything between `<` and `>`, which no text of the page has unescaped, outside of scripts and styles.
fn tags(page: &str) -> Vec<&str> {
    let body = page.split_once("<body>").unwrap().1.split_once("<script").unwrap().0;
    body.split('<').skip(1).map(|tag| tag.split_once('>').unwrap().0).collect()
}

#[test]
fn html_page_is_self_contained_and_reproducible() {
    let (one, other) = (project(""), project(""));
    let page = one.run(&["list", "--format", "html"]).exits_with(0).stdout;
    other.run(&["list", "--format", "html", "-o", "page.html"]).exits_with(0).says("       Wrote page.html");
    assert_eq!(other.read("page.html"), page);
    other.run(&["list", "--format", "html", "-o", "page.html"]).exits_with(0).says("   Unchanged page.html");
    for other in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(other), "{other}");
    }
    assert!(page.contains("default-src 'none'; style-src 'sha256-"), "{page}");
    assert!(!page.contains("unsafe"), "{page}");
    assert!(page.contains("id=\"demo/delete_repo\"") && page.contains("href=\"#demo/delete_repo\""), "{page}");
}

#[test]
fn server_names_do_not_conflict_with_ids_of_the_page() {
    let project = Project::empty();
    let servers = ["found", "search", "texts", "theme"];
    project.write("mcp.toml", &servers.map(|server| format!("[servers.{server}]\ncommand = \"x\"\n")).concat());
    for server in servers {
        project.write(
            &format!("mcp/{server}.json"),
            r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#,
        );
    }
    let page = project.run(&["list", "--format", "html"]).exits_with(0).stdout;
    let body = page.split_once("<body>").unwrap().1;
    let ids: Vec<&str> = body.split(" id=\"").skip(1).map(|rest| rest.split_once('"').unwrap().0).collect();
    let of_servers: Vec<&str> = servers.into_iter().filter(|server| ids.contains(server)).collect();
    assert_eq!(of_servers, servers);
    assert_eq!(ids.len(), 4 + 2 * servers.len(), "{ids:?}");
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn names_are_percent_encoded_in_stable_links() {
    let page = project(" ü/é").run(&["list", "--format", "html"]).exits_with(0).stdout;
    assert!(page.contains("id=\"demo/odd%20%C3%BC%2F%C3%A9\""), "{page}");
}

#[test]
fn inventory_shows_the_changes_of_each_tool() {
    let project = project("");
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
        let run = Command::new("git").current_dir(project.path("")).args(identity).args(arguments).output().unwrap();
        assert!(run.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "then"]);
    let mut now: Value = serde_json::from_str(&snapshot("")).unwrap();
    now["tools"][0]["inputSchema"]["properties"]["owner"]["type"] = "integer".into();
    now["tools"].as_array_mut().unwrap().pop();
    project.write("mcp/demo.json", &format!("{now:#}\n"));
    let table = project.run(&["list", "--base", "main"]).exits_with(0).stdout;
    assert!(table.contains("    breaking: /inputSchema/properties/owner: "), "{table}");
    assert!(table.contains("    since main: 2 breaking"), "{table}");
    assert!(table.contains("breaking odd: the tool was removed"), "{table}");
    let listed = project.run(&["list", "--base", "main", "--format", "json"]).exits_with(0).json();
    assert_eq!(listed[0]["changes"][0]["class"], "breaking");
    let page = project.run(&["list", "--base", "main", "--format", "html"]).exits_with(0).stdout;
    assert!(
        page.contains("<strong class=\"breaking\">breaking</strong> <bdi>odd</bdi> the tool was removed"),
        "{page}"
    );
    project.run(&["list", "--base", "no-such"]).exits_with(1).says("git has no commit `no-such`");
}

#[test]
fn list_filters_by_server_and_refuses_unsupported_formats() {
    let project = project("");
    project.write("mcp.toml", &format!("{CONFIG}[servers.other]\ncommand = \"x\"\n[servers.third]\ncommand = \"x\"\n"));
    project.write("mcp/other.json", r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#);
    project.write("mcp/third.json", r#"{"tools": []}"#);
    let table = project.run(&["list", "other", "third"]).exits_with(0).stdout;
    assert!(table.starts_with("other/ping") && table.contains("third: 0 tools") && !table.contains("demo"), "{table}");
    project.run(&["list", "othe"]).exits_with(1).says("did you mean `other`?");
    project.run(&["list", "--format", "github"]).exits_with(2).says("it has `text`, `json`, `markdown`, `html`");
    project.run(&["list", "--shapes", "--format", "html"]).exits_with(2);
}

#[test]
fn empty_list_reports_its_errors_in_json() {
    let project = Project::empty();
    project.write("mcp.toml", "[servers.a]\ncommand = \"x\"\n");
    let failed = project.run(&["list", "--format", "json"]).exits_with(1).json();
    assert!(failed["errors"][0].as_str().unwrap().starts_with("server `a` has no snapshot"), "{failed}");
}

#[test]
fn failed_list_leaves_the_output_file_unchanged() {
    let project = project("");
    for (format, file) in [("html", "page.html"), ("json", "list.json"), ("text", "list.txt"), ("markdown", "list.md")]
    {
        let list = |arguments: &[&str]| project.run(&[&["list", "--format", format, "-o", file], arguments].concat());
        project.write("mcp.toml", CONFIG);
        list(&[]).exits_with(0);
        let whole = project.read(file);
        let left = |run: common::Run| {
            let run = run.exits_with(1).says(&format!("nothing was written because of this failure\n --> {file}\n"));
            assert!(!run.stderr.contains("Wrote") && project.read(file) == whole, "{format}");
            run
        };
        left(list(&["--base", "nosuch", "-q"]));
        project.write("mcp.toml", &format!("{CONFIG}[servers.broken]\ncommand = \"x\"\n"));
        project.write("mcp/broken.json", "{");
        let run = left(list(&[]));
        if format == "json" {
            assert_eq!(run.json()["errors"].as_array().unwrap().len(), 2, "{}", run.stdout);
        }
        left(list(&["broken"]));
        list(&["demo"]).exits_with(0).says(&format!("   Unchanged {file}"));
    }
}

#[test]
fn input_files_are_never_overwritten() {
    let project = project("");
    project.write("mcp.toml", &format!("{CONFIG}[servers.other]\ncommand = \"x\"\n"));
    project.write("mcp/other.json", r#"{"tools": []}"#);
    let files = ["mcp.toml", "mcp/demo.json", "mcp/other.json"];
    let texts = files.map(|file| project.read(file));
    for file in ["mcp.toml", "./mcp/../mcp.toml", "mcp/demo.json", "mcp/other.json", "mcp/demo.overrides.json"] {
        project
            .run(&["list", "demo", "-o", file])
            .exits_with(1)
            .says("was not changed")
            .says(file)
            .says("= help: choose another file");
    }
    for file in ["mcp/demo.json", "mcp/demo.overrides.json"] {
        project.run(&["list", "--snapshot", "mcp/demo.json", "-o", file]).exits_with(1).says("was not changed");
    }
    assert_eq!(files.map(|file| project.read(file)), texts);
    assert!(!project.path("mcp/demo.overrides.json").exists());
    project.run(&["list", "demo", "-o", "mcp/demo.txt"]).exits_with(0);
}

#[test]
fn every_entry_has_a_kind() {
    let listed = project("").run(&["list", "--format", "json"]).exits_with(0).json();
    let kinds: Vec<&str> = listed.as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool", "tool", "prompt", "resourceTemplate", "server"]);
}

#[test]
fn policies_of_a_tool_are_listed() {
    let project = Project::empty();
    project.write(
        "mcp.toml",
        "[servers.git]\ncommand = \"x\"\n\n[[policy]]\ntools = [\"git/delete\"]\nthen = \"deny\"\nreason = \"never\"\n\n\
         [[policy]]\ntools = [\"git/merge\"]\nwhen = { base = { equals = \"main\" } }\nthen = \"approve\"\nfor = [\"ci\"]\n\n\
         [[policy]]\ntools = [\"git/*\"]\nrate = \"10/m\"\n\n[[policy]]\ntools = [\"git/*\"]\nthen = \"allow\"\n",
    );
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object", "properties": { "base": { "type": "string" } } } });
    let tools = ["delete", "merge"].map(tool);
    project.write("mcp/git.json", &json!({ "tools": tools }).to_string());
    let text = project.run(&["list"]).exits_with(0).stdout;
    for line in [
        "    policy: deny (never); policy: allow at most 10/m\n",
        "    policy: approve when base for ci; policy: allow at most 10/m\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let json = project.run(&["list", "--format", "json"]).exits_with(0).json();
    let deny = json!({ "tools": ["delete"], "then": "deny", "reason": "never" });
    assert_eq!(json[0]["policies"], json!([deny, { "tools": ["*"], "then": "allow", "rate": "10/m" }]));
    assert_eq!(json[1]["policies"][0]["when"], json!({ "base": { "equals": "main" } }));
    let markdown = project.run(&["list", "--format", "markdown"]).exits_with(0).stdout;
    assert!(markdown.contains("- `policy: deny (never)`\n"), "{markdown}");
    let page = project.run(&["list", "--format", "html"]).exits_with(0).stdout;
    assert!(page.contains("<li class=\"ours\">policy: deny (never)</li>"), "{page}");
}

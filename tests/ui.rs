//! Tests the errors that users see for mistakes with `mcp_tools!`.
//!
//! `SNAPSHOTS=overwrite cargo test --test ui -- --ignored` accepts what rustc says now.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Crate, assert_golden, dependency, root};
use serde_json::{Value, json};

const CONFIG: &str = r##"
deny = ["MCP0007"]

[servers]
github = { command = "server" }
small = { command = "server" }
narrow = { command = "server", tools = ["create_issue", "delete_everything"] }
unsynced = { command = "server" }
planned = { command = "server", tools = ["create_issue"] }
cut = { command = "server" }
merged = { command = "server" }
mended = { command = "server" }
remote = { url = "https://mcp.example.com/mcp" }
truncated = { command = "server" }
newer = { command = "server" }
dangling = { command = "server" }
memory = { command = "server" }
shop = { command = "server" }
misshared = { command = "server", rust = { shared = { Entity = "create_entity/entities/*" } } }
misplaced = { command = "server", rust = { extern = { "#/$defs/Money" = "Money" } } }

[servers.renamed]
command = "server"

[servers.renamed.rust.rename]
create_issue = "open_issue"
"create_issue/lables" = "tags"

[servers.traced]
command = "server"
rust = { derive = ["crate::Traced"] }
"##;

const MENDED: &str = r#"{
  "format": 1,
  "tools": {
    "gone": { "outputSchema": { "type": "object" } },
    "read_graph": { "outputSchema": { "type": "object", "properties": { "entities": { "type": "integer" } } } }
  }
}
"#;

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn macro_errors_are_explained() {
    let github = fixture("snapshots/github.json");
    let small = only(&github, "create_issue");
    let older = include_str!("ui/checked_in/format_2.rs");
    let newer = newer_bindings(&small);
    let (cut, _) = github.split_at(github.find("get_file_contents").expect("a tool") + 900);
    let merged = conflict(&small, &only(&github, "get_me"));
    let files = [
        ("checked_in/older.rs", older),
        ("checked_in/newer.rs", &newer),
        ("mcp.toml", CONFIG),
        ("mcp/github.json", &github),
        ("mcp/small.json", &small),
        ("mcp/narrow.json", &small),
        ("mcp/cut.json", cut),
        ("mcp/merged.json", &merged),
        ("mcp/mended.json", &fixture("lists/memory.json")),
        ("mcp/mended.overrides.json", MENDED),
        ("mcp/remote.json", &small),
        ("mcp/renamed.json", &small),
        ("mcp/traced.json", &small),
        ("mcp/truncated.json", &fixture("broken/truncated.json")),
        ("mcp/newer.json", &fixture("broken/newer_format.json")),
        ("mcp/dangling.json", &fixture("features/ref_elsewhere.json")),
        ("mcp/memory.json", &fixture("lists/memory.json")),
        ("mcp/misshared.json", &fixture("lists/memory.json")),
        ("mcp/shop.json", &fixture("lists/shop.json")),
        ("mcp/misplaced.json", &fixture("lists/shop.json")),
    ];
    let count = explains("mistaken", "tests/ui", &files);
    assert!(count > 48, "{count} cases");
}

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn crate_without_configuration_is_explained() {
    let count = explains("unconfigured", "tests/ui/unconfigured", &[]);
    assert!(count > 2, "{count} cases");
}

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn invalid_configuration_is_one_error() {
    let github = fixture("snapshots/github.json");
    let config = "[servers]\ngithub = { command = \"server\" }\nsmall = { comand = \"server\" }\n";
    let files =
        [("mcp.toml", config), ("mcp/github.json", &github), ("mcp/small.json", &only(&github, "create_issue"))];
    assert_eq!(explains("misconfigured", "tests/ui/misconfigured", &files), 1);
}

/// Faulty overrides, by name of the server. The snapshot of each server is that of `create_issue`.
const OVERRIDES: &[(&str, &str)] = &[
    ("gone-tool", r#""create_issues": { "outputSchema": { "type": "object" } }"#),
    (
        "gone-place",
        r#""create_issue": { "patch": { "inputSchema": { "properties": { "lables": { "minItems": 1 } } } } }"#,
    ),
    (
        "nothing-to-remove",
        r#""create_issue": { "patch": { "inputSchema": { "properties": { "body": { "format": null } } } } }"#,
    ),
    ("no-output-to-patch", r#""create_issue": { "patch": { "outputSchema": { "type": "object" } } }"#),
    (
        "both-ways",
        r#""create_issue": { "outputSchema": { "type": "object" }, "patch": { "outputSchema": { "title": "Issue" } } }"#,
    ),
    ("not-an-object", r#""create_issue": { "outputSchema": ["object"] }"#),
    (
        "no-type",
        r#""create_issue": {
      "patch": { "inputSchema": { "properties": { "milestone": { "type": "int" } } } }
    }"#,
    ),
    ("no-schema-inside", r#""create_issue": { "outputSchema": { "type": "array", "items": "string" } }"#),
    ("leads-nowhere", r##""create_issue": { "outputSchema": { "$ref": "#/$defs/Issue" } }"##),
    ("changes-nothing", r#""create_issue": {}"#),
    ("says-the-same", r#""create_issue": { "patch": { "inputSchema": { "type": "object" } } }"#),
    ("learned-from-words", r#""create_issue": { "outputSchema": { "type": "object" }, "learnedFrom": "12" }"#),
    ("unknown-key", r#""create_issue": { "outputShema": { "type": "object" } }"#),
    ("key-twice", r#""create_issue": { "outputSchema": { "type": "object", "type": "array" } }"#),
];

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn mismatched_overrides_are_explained() {
    let mut issue: Value =
        serde_json::from_str(&only(&fixture("snapshots/github.json"), "create_issue")).expect("JSON");
    issue["tools"][0].as_object_mut().expect("a tool").remove("outputSchema");
    let issue = issue.to_string();
    let whole = |tools: &str| format!("{{\n  \"format\": 1,\n  \"tools\": {{\n    {tools}\n  }}\n}}\n");
    let mut overrides: Vec<(&str, String)> = OVERRIDES.iter().map(|(name, tools)| (*name, whole(tools))).collect();
    overrides.push(("not-json", "{\n  \"format\": 1,\n  \"tools\": {".to_owned()));
    overrides.push(("newer-format", "{\n  \"format\": 2,\n  \"tools\": []\n}\n".to_owned()));
    let config: String =
        overrides.iter().map(|(name, _)| format!("[servers.{name}]\ncommand = \"server\"\n")).collect();
    let mut files = vec![("mcp.toml".to_owned(), config)];
    for (name, text) in overrides {
        files.push((format!("mcp/{name}.json"), issue.clone()));
        files.push((format!("mcp/{name}.overrides.json"), text));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let count = explains("overriding", "tests/ui/overrides", &files);
    assert_eq!(count, files.len() / 2, "every server has its case");
}

/// Views of a tool `create_issue` that do not fit, by the names of their servers.
const VIEWS: &[(&str, &str)] = &[
    ("unknown-tool", "view.create_issues.fixed.owner = \"rust-lang\""),
    ("left-out", "exclude = [\"create_*\"]\nview.create_issue.hide = [\"labels\"]"),
    ("unknown-argument", "view.create_issue.fixed.onwer = \"rust-lang\""),
    ("unknown-hidden", "view.create_issue.hide = [\"labels\", \"asignees\"]"),
    ("unknown-default", "view.create_issue.default.milestones = 3"),
    ("wrong-type", "view.create_issue.fixed.owner = 3"),
    ("out-of-bounds", "view.create_issue.fixed.milestone = 0"),
    ("wrong-item", "view.create_issue.fixed.labels = [\"bug\", 7]"),
    ("not-listed", "view.create_issue.fixed.state = \"gone\""),
    ("wrong-default", "view.create_issue.default.milestone = 1.5"),
    ("required-hidden", "view.create_issue.hide = [\"title\"]"),
    ("name-taken", "view.create_issue.name = \"get_me\""),
    ("name-of-client", "view.create_issue.name = \"client\""),
    ("name-reserved", "view.create_issue.name = \"self\""),
];

#[test]
#[ignore = "builds the library for a crate outside the workspace; a suite of its own: .ci/run compiled"]
fn mismatched_views_are_explained() {
    let list = json!({ "tools": [
        { "name": "create_issue", "inputSchema": { "type": "object", "required": ["owner", "title"], "properties": {
            "owner": { "type": "string" }, "title": { "type": "string" }, "state": { "enum": ["open", "closed"] },
            "labels": { "type": "array", "items": { "type": "string" } }, "assignees": { "type": "array" },
            "milestone": { "type": "integer", "minimum": 1 },
        } } },
        { "name": "get_me", "inputSchema": { "type": "object" } },
    ] });
    let server = |(name, view): &(&str, &str)| format!("[servers.{name}]\ncommand = \"server\"\n{view}\n");
    let mut files = vec![("mcp.toml".to_owned(), VIEWS.iter().map(server).collect())];
    files.extend(VIEWS.iter().map(|(name, _)| (format!("mcp/{name}.json"), list.to_string())));
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text): &(String, String)| (name.as_str(), text.as_str())).collect();
    assert_eq!(explains("viewing", "tests/ui/views", &files), VIEWS.len());
}

/// Faulty templates, by name.
const TEMPLATES: &[(&str, &str)] = &[
    (
        "unknown_tool",
        "# Triage\n\n[[@mcp:issues|server=\"github\", tool=\"lst_issues\", owner=\"rust-lang\", repo=\"rust\"]]\n",
    ),
    ("unknown_name", "[[@github_list_isues:issues|owner=\"rust-lang\", repo=\"rust\"]]\n{{ issues }}\n"),
    (
        "unknown_argument",
        "{% for name in names %}\n- [[@github_list_issues:issues|owner=\"rust-lang\", repo=name, lables=[\"bug\"]]]\n{% endfor %}\n",
    ),
    ("wrong_literal", "[[@github_list_issues:issues|\n  owner=\"rust-lang\",\n  repo=\"rust\",\n  page=\"two\"]]\n"),
    ("missing_required", "Issues:\n  [[@github_list_issues:issues|owner=\"rust-lang\"]]\n"),
    ("open_bracket", "# Triage\n\n[[@github_list_issues:issues|owner=\"rust-lang\", repo=\"rust\"\n\nThanks.\n"),
    (
        "undefined_server",
        "[[@mcp:issues|server=\"gitub\", tool=\"list_issues\", owner=\"rust-lang\", repo=\"rust\"]]\n",
    ),
    ("no_snapshot", "[[@mcp:x|server=\"unsynced\", tool=\"list_issues\"]]\n"),
    ("left_out", "[[@narrow_list_issues:issues|owner=\"rust-lang\", repo=\"rust\"]]\n"),
    ("open_block", "{% for issue in issues %}\n{{ issue }}\n"),
    ("wrong_expression", "Hello,\n\n  {{ name | }}\n"),
    (
        "several",
        "[[@github_list_issues:a|owner=1, repo=\"rust\"]]\n[[@github_list_isues:b|owner=\"rust-lang\"]]\n[[@github_list_issues:c|owner=\"rust-lang\", repo=\"rust\", stat=\"open\"]]\n",
    ),
    ("fine", "Hello, {{ name }}.\n"),
];

const TEMPLATE_CONFIG: &str = r#"
[servers]
github = { command = "server" }
narrow = { command = "server", exclude = ["list_*"] }
unsynced = { command = "server" }
"#;

#[test]
#[ignore = "builds the library with feature agents; a suite of its own: .ci/run compiled"]
fn invalid_templates_are_explained() {
    let github = fixture("snapshots/github.json");
    let mut files = vec![
        ("mcp.toml".to_owned(), TEMPLATE_CONFIG.to_owned()),
        ("mcp/github.json".to_owned(), github.clone()),
        ("mcp/narrow.json".to_owned(), github),
    ];
    files.extend(TEMPLATES.iter().map(|(name, text)| (format!("prompts/{name}.md"), (*text).to_owned())));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let count = explains_with("templated", "tests/ui/templates", &files, "agents");
    println!("{count} mistakes in templates");
    assert!(count > TEMPLATES.len(), "every template has its case, and there are others: {count}");
}

#[test]
fn messages_do_not_contain_local_paths() {
    let mut count = 0;
    for folder in [
        "tests/ui",
        "tests/ui/unconfigured",
        "tests/ui/misconfigured",
        "tests/ui/overrides",
        "tests/ui/templates",
        "tests/ui/views",
    ] {
        for path in files_of(folder, "stderr") {
            let text = fs::read_to_string(&path).expect("the message can be read");
            for place in [env!("CARGO_MANIFEST_DIR"), "/target/", "/tmp/", "/home/"] {
                assert!(!text.contains(place), "{}: {place}", path.display());
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count} cases");
}

/// Builds every case of a folder, in a crate with these files, and compares what rustc says of it with the text beside it.
/// Gives the number of cases.
fn explains(name: &'static str, folder: &str, files: &[(&str, &str)]) -> usize {
    explains_with(name, folder, files, "default")
}

/// The same with a feature of the library.
fn explains_with(name: &'static str, folder: &str, files: &[(&str, &str)], feature: &str) -> usize {
    let cases = files_of(folder, "rs");
    let library = dependency(".").replace(" }", &format!(", features = [{feature:?}] }}"));
    let mut tables = format!("[dependencies]\nmcp-bindgen = {library}\n");
    for case in &cases {
        let _ = write!(tables, "[[bin]]\nname = {:?}\npath = \"{folder}/{}\"\n", stem(case), file_name(case));
    }
    let package = Crate::new(name, "2024", &tables);
    for case in &cases {
        let source = fs::read_to_string(case).expect("the case can be read");
        package.write(&format!("{folder}/{}", file_name(case)), &source);
    }
    for (file, text) in files {
        package.write(file, text);
    }
    let run = package.run(&["build", "--bins", "--keep-going", "--message-format=json"]).fails();
    let mut said: BTreeMap<&str, String> = BTreeMap::new();
    let messages = run.messages();
    for message in &messages {
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let closes =
            text("/message/message").starts_with("aborting due to") || text("/message/level") == "failure-note";
        if text("/reason") == "compiler-message" && !closes {
            said.entry(text("/target/name")).or_default().push_str(text("/message/rendered"));
        }
    }
    for case in &cases {
        let said = said.get(stem(case).as_str()).unwrap_or_else(|| panic!("{}: nothing is said: {run:?}", stem(case)));
        assert!(said.contains("error"), "{} compiles: {said}", stem(case));
        assert_golden(&case.with_extension("stderr"), &format!("{}\n", said.trim_end()));
    }
    cases.len()
}

/// The files of a folder of this repository with this extension.
fn files_of(folder: &str, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the cases can be listed");
    let paths = entries.map(|entry| entry.expect("the cases can be listed").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file").to_string_lossy().into_owned()
}

fn file_name(path: &Path) -> String {
    path.file_name().expect("a file").to_string_lossy().into_owned()
}

/// Bindings as a later version would make them.
fn newer_bindings(list: &str) -> String {
    let snapshot = mcp_bindgen_model::Snapshot::parse(list).expect("the list can be read");
    let (tokens, _) = mcp_bindgen_codegen::Bindings::generate(&snapshot, &mcp_bindgen_codegen::Options::new("github"));
    let text = mcp_bindgen_codegen::format(tokens).expect("the bindings can be formatted");
    let (before, after) = text.split_once("__format!(4)").expect("the bindings begin with their format");
    format!("{before}__format!(5){after}")
}

/// Two tool lists as git leaves them where they conflict.
fn conflict(ours: &str, theirs: &str) -> String {
    let tool = |list: &str| {
        let list: Value = serde_json::from_str(list).expect("the list is JSON");
        list["tools"][0].to_string()
    };
    let (ours, theirs) = (tool(ours), tool(theirs));
    format!("{{\"tools\": [\n<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> next\n]}}\n")
}

/// A tool list with one of its tools.
fn only(list: &str, tool: &str) -> String {
    let list: Value = serde_json::from_str(list).expect("the list is JSON");
    let tools = list.get("tools").and_then(Value::as_array).expect("the list has tools");
    let tools: Vec<&Value> = tools.iter().filter(|found| found.get("name") == Some(&json!(tool))).collect();
    json!({ "tools": tools }).to_string()
}

fn fixture(path: &str) -> String {
    fs::read_to_string(root().join("fixtures").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

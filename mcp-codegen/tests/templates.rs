//! Tests `mcp_template!`: the files that it reads, the errors that it reports, and the types of variables.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use mcp_bindgen_codegen::Options;
use mcp_bindgen_codegen::project::expand_template;
use mcp_bindgen_codegen::template::{KnownServer, Script, located};
use mcp_bindgen_model::Snapshot;
use proc_macro2::TokenStream;
use quote::quote;

const GITHUB: &str = r#"{"tools": [
    {"name": "list_commits", "inputSchema": {"type": "object", "required": ["owner"], "properties": {
        "owner": {"type": "string"}, "limit": {"type": "integer"}, "page": {"type": "integer", "minimum": 0},
        "labels": {"type": "array", "items": {"type": "string"}}, "score": {"type": "number"}, "open": {"type": "boolean"}
    }}},
    {"name": "delete_repo", "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
]}"#;
const FILES: &str = r#"{"tools": [
    {"name": "read", "inputSchema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}}
]}"#;
const CONFIG: &str = r#"
[servers.github]
command = "server"
exclude = ["delete_*"]
[servers.files]
command = "server"
prefix = false
[servers.unsynced]
command = "server"
"#;

struct Project(tempfile::TempDir);

impl Project {
    fn new(template: &str) -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        for (name, text) in [
            ("mcp.toml", CONFIG),
            ("mcp/github.json", GITHUB),
            ("mcp/files.json", FILES),
            ("prompts/triage.md", template),
        ] {
            project.write(name, text);
        }
        project
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        mcp_bindgen_model::write_if_changed(&path, text.as_bytes()).unwrap();
    }

    fn expand(&self, input: TokenStream) -> String {
        let expanded = expand_template(input, Some(self.0.path().to_owned())).to_string();
        assert!(!expanded.contains(self.0.path().to_str().unwrap()), "a path of this machine: {expanded}");
        expanded
    }
}

/// The expansion of a template, which is right.
fn expand(template: &str) -> String {
    let expanded = Project::new(template).expand(quote!("prompts/triage.md"));
    assert!(!expanded.contains("compile_error"), "{expanded}");
    expanded
}

/// The errors of a template.
fn refuse(template: &str) -> String {
    let expanded = Project::new(template).expand(quote!("prompts/triage.md"));
    assert!(expanded.contains("compile_error") && !expanded.contains("pub struct Vars"), "no error: {expanded}");
    expanded
}

#[test]
fn variables_have_the_types_of_their_arguments() {
    let expanded = expand(
        "[[@github_list_commits:c|owner=owner, limit=limit, page=page, score=score, open=open, labels=labels]]\
         [[@mcp:f|server=\"files\", tool=\"read\", path=\"{{ place }}/a\"]][[@github_list_commits:d|owner=both, limit=both]]\
         {{ c }} {{ note }} {% for x in range(3) %}{{ x }}{% endfor %} {% set own = 1 %}{{ own }}{{ c[0].sha }}{{ f }}{{ d }}",
    );
    let private = ":: mcp_bindgen :: agents :: __private";
    for (field, kind) in [
        ("owner", format!("{private} :: String")),
        ("limit", "i64".to_owned()),
        ("page", "u64".to_owned()),
        ("score", "f64".to_owned()),
        ("open", "bool".to_owned()),
        ("labels", format!("{private} :: Value")),
        ("place", format!("{private} :: Value")),
        ("both", format!("{private} :: Value")),
        ("note", format!("{private} :: Value")),
    ] {
        assert!(expanded.contains(&format!("pub {field} : {kind} ,")), "{field}: {expanded}");
    }
    let fields = expanded.split("pub struct Vars").nth(1).unwrap().split('}').next().unwrap();
    assert_eq!(fields.matches("pub ").count(), 9, "{fields}");
}

#[test]
fn only_called_tools_are_bound_and_only_relevant_files_tracked() {
    let expanded = expand("[[@github_list_commits:c|owner=\"x\"]]");
    assert!(expanded.contains("list_commits") && !expanded.contains("delete_repo"), "{expanded}");
    let tracked = |expanded: &str| expanded.matches("include_bytes").count();
    // A server without a prefix may have a tool of any name: what its snapshot says decides, too.
    assert_eq!(tracked(&expanded), 4, "{expanded}");
    let unprefixed = expand("[[@read:text|path=\"a\"]]");
    // Its names are told apart from those of the other snapshot, and the other's from its.
    assert!(tracked(&unprefixed) == 4 && !unprefixed.contains("list_commits"), "{unprefixed}");
    let named = expand("[[@mcp:c|server=\"github\", tool=\"list_commits\", owner=\"x\"]]");
    assert_eq!(tracked(&named), 4, "{named}");
    assert_eq!(tracked(&expand("Hello")), 2);
}

#[test]
fn template_without_calls_is_a_function() {
    let expanded = expand("Hello, {{ name }}!");
    assert!(expanded.contains("pub struct Clients {") && expanded.contains("_clients : & Clients"), "{expanded}");
    assert!(!expanded.contains("completer"), "{expanded}");
    let completed = expand("Hello, [[name]]!");
    assert!(completed.contains("completer : impl :: mcp_bindgen :: agents :: Completer"), "{completed}");
    assert!(completed.contains("pub struct Vars { }"), "{completed}");
}

#[test]
fn options_set_module_library_and_snapshots() {
    let project = Project::new("[[@mcp:c|server=\"other\", tool=\"list_commits\", owner=\"x\"]]");
    project.write("lists/other.json", GITHUB);
    let input = quote!("prompts/triage.md", mod = daily, crate = my::lib, snapshots = { other = "lists/other.json" });
    let expanded = project.expand(input);
    assert!(expanded.contains("pub mod daily") && !expanded.contains("mcp_bindgen"), "{expanded}");
    assert!(expanded.contains("my :: lib :: ServerSpec") && expanded.contains("/lists/other.json"), "{expanded}");
    let idle =
        project.expand(quote!("prompts/triage.md", snapshots = { other = "lists/other.json", third = "x.json" }));
    assert!(idle.contains("calls no tool of `third`"), "{idle}");
}

#[test]
fn equal_inputs_generate_equal_tokens() {
    let template = "[[@github_list_commits:c|owner=a, limit=b]] {{ d }} {{ e }} [[f]]";
    let first = expand(template);
    assert!((0..5).all(|_| expand(template) == first));
}

#[test]
fn faults_are_reported_with_their_position() {
    for (template, place, said) in [
        ("\n [[@github_list_comits:c|owner=\"x\"]]", "2:2", "did you mean `github_list_commits`?"),
        ("[[@github_list_commits:c|owner=\"x\",\n limt=3]]", "2:2", "did you mean `limit`?"),
        ("[[@github_list_commits:c|owner=\"x\", limit=\"three\"]]", "1:37", "limit"),
        ("[[@github_list_commits:c]]", "1:1", "owner"),
        ("[[@github_list_commits:c|owner=\"x\"", "1:", "]]"),
        ("[[@mcp:c|server=\"gitub\", tool=\"list_commits\"]]", "1:1", "did you mean `github`?"),
        ("[[@mcp:c|server=\"unsynced\", tool=\"x\"]]", "1:1", "mcp-bindgen sync unsynced"),
        ("[[@unsynced_x:c]]", "1:1", "mcp-bindgen sync"),
        ("[[@github_delete_repo:c|name=\"x\"]]", "1:1", "excluded by `exclude`"),
        ("[[@mcp:c|server=\"github\", tool=\"delete_repo\", name=\"x\"]]", "1:1", "excluded by `exclude`"),
        ("a\n\n{{ name | }}", "3:1", "syntax error"),
        ("{% if a %}\n{{ b }}", "1:1", "endif"),
        ("a {{ b(", "1:3", ""),
        ("a {{ c }}\n[[@read:c|path=\"x\"]]", "1:3", "`c` is used here, before the slot that gives it"),
        ("[[@read:c|path=c]]", "1:11", "`c` is used here, before the slot that gives it"),
        ("[[@read:c|path=\"{{ a b }}\"]]", "1:11", ""),
    ] {
        let said_of = refuse(template);
        let place = format!("--> prompts/triage.md:{place}");
        assert!(said_of.contains(&place) && said_of.contains(said), "{template:?}: {said_of}");
    }
}

#[test]
fn all_faults_are_reported_together() {
    let said = refuse("[[@github_list_commits:c]]\n[[@github_list_comits:d]]\n[[@mcp:e|server=\"x\", tool=\"y\"]]");
    assert_eq!(said.matches("compile_error").count(), 3, "{said}");
}

#[test]
fn ambiguous_tool_name_is_refused() {
    let snapshot = Snapshot::parse(FILES).unwrap();
    let options = [
        Options::new("one").prefix(mcp_bindgen_model::Prefix::None),
        Options::new("two").prefix(mcp_bindgen_model::Prefix::None),
    ];
    let servers: Vec<KnownServer<'_>> = options.iter().map(|options| KnownServer::new(&snapshot, options)).collect();
    let script = Script::parse("[[@read:x|path=\"a\"]]").unwrap();
    let faults = script.check(&servers, &[]).unwrap_err();
    assert!(faults[0].message.contains("@mcp"), "{faults:?}");
    let script = Script::parse("[[@mcp:x|server=\"two\", tool=\"read\", path=\"a\"]]").unwrap();
    let checked = script.check(&servers, &[]).unwrap();
    assert_eq!(checked.servers().collect::<Vec<_>>(), ["two"]);
    assert_eq!(checked.tools("two").collect::<Vec<_>>(), ["read"]);
}

#[test]
fn hostile_text_becomes_neither_code_nor_escape_sequences() {
    let template = "\u{1b}[31m */ \"#\"## {{ a }} \r\n\u{202e}";
    let expanded = expand(template);
    let literal = proc_macro2::Literal::string(template).to_string();
    assert!(expanded.contains(&literal), "{expanded}");
    let faults = Script::parse("\u{1b}[31m [[@x").unwrap_err();
    let shown = located(&faults[0], Path::new("a.md"), "\u{1b}[31m [[@x");
    assert!(!shown.contains('\u{1b}') && shown.contains("\\u{1b}"), "{shown}");
}

#[test]
fn minijinja_errors_are_reported_at_compile_time() {
    let said = refuse("[[@github_list_commits:commits|owner=\"a\"]]\n{{ commits|frist }}");
    assert!(said.contains("unknown filter `frist`; did you mean `first` or `list`?"), "{said}");
    assert!(said.contains("prompts/triage.md:2:12"), "{said}");
    let said = refuse("{% for a in [1] %}{% break %}{% endfor %}");
    assert!(said.contains("`{% break %}` is not supported"), "{said}");
}

#[test]
fn reported_faults_are_limited_to_twenty() {
    let said = refuse(&"[[@github_list_comits:x]]\n".repeat(5_000));
    assert_eq!(said.matches("compile_error").count(), 20);
    let said = refuse(&"{{ a b }}\n<checkpoint>".repeat(5_000));
    assert_eq!(said.matches("compile_error").count(), 20);
}

#[test]
fn optional_variables_become_options() {
    let expanded = expand(
        "{% if note is defined %}{{ note }}{% endif %}{{ tone|default(\"dry\") }}{% set x = 1 %}<checkpoint>{{ x }}",
    );
    for field in ["note", "tone"] {
        let option = format!("pub {field} : :: mcp_bindgen :: agents :: __private :: Option <");
        assert!(expanded.contains(&option), "{expanded}");
    }
    assert!(!expanded.contains("pub x :") && expanded.contains("__private :: Default"), "{expanded}");
}

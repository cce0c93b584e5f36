//! Tests that each key of a configuration is applied, refused, or reported as ignored, for the macro and for build
//! scripts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::fs;
use std::path::PathBuf;

use mcp_bindgen_codegen::build_script::{BuildError, Builder};
use mcp_bindgen_codegen::project::expand_macro;
use mcp_bindgen_model::{Prefix, write_if_changed};
use proc_macro2::TokenStream;
use quote::quote;

const LIST: &str = r#"{"tools": [
    {"name": "list_issues", "inputSchema": {"type": "object"}},
    {"name": "merge_request", "inputSchema": {"type": "object"}}
]}"#;
const OTHER: &str = r#"{"tools": [{"name": "commit", "inputSchema": {"type": "object"}}]}"#;

/// The folder of a crate.
struct Project {
    folder: tempfile::TempDir,
    /// The crate's own folder in it.
    krate: &'static str,
}

impl Project {
    fn new(config: &str) -> Self {
        let project = Self { folder: tempfile::tempdir().expect("a temporary folder"), krate: "" };
        project.write("mcp/hub.json", LIST);
        project.write("mcp/git.json", OTHER);
        project.write("mcp.toml", config);
        project
    }

    fn write(&self, file: &str, text: &str) {
        write_if_changed(&self.folder.path().join(file), text.as_bytes()).expect("the file can be written");
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(self.krate)
    }

    /// Returns the macro's expansion, and checks that it never names a folder of this machine.
    fn expand(&self, input: TokenStream) -> String {
        let expanded = expand_macro(input, Some(self.path())).to_string();
        assert!(!expanded.contains(self.folder.path().to_str().expect("the path is text")), "{expanded}");
        expanded
    }

    #[track_caller]
    fn binds(&self, input: TokenStream) -> String {
        let expanded = self.expand(input);
        assert!(!expanded.contains("compile_error"), "{expanded}");
        expanded
    }

    #[track_caller]
    fn refuses(&self, input: TokenStream, expected: &str) {
        let expanded = self.expand(input);
        assert!(expanded.contains("compile_error") && expanded.contains(expected), "not said: {expected}\n{expanded}");
    }

    /// Returns the output of a build script for cargo.
    fn build(&self, builder: Builder) -> Result<String, BuildError> {
        let mut said = Vec::new();
        builder.compile_in(&self.path(), &self.path().join("out"), &mut said)?;
        Ok(String::from_utf8(said).expect("text for cargo"))
    }

    #[track_caller]
    fn build_refuses(&self, builder: Builder, expected: &str) {
        let error = self.build(builder).expect_err("it is refused");
        assert!(error.to_string().contains(expected), "not said: {expected}\n{error}");
    }

    fn built(&self, server: &str) -> String {
        fs::read_to_string(self.path().join("out/mcp_bindgen").join(format!("{server}.rs"))).expect("bindings")
    }
}

#[test]
fn patterns_that_match_no_tool_are_errors() {
    for (key, patterns, pattern, near) in [
        ("tools", "\"*\", \"lst_issues\"", "lst_issues", "list_issues"),
        ("exclude", "\"mrge_request\"", "mrge_request", "merge_request"),
        ("approve", "\"*\", \"list_isues\"", "list_isues", "list_issues"),
        ("remote_use", "\"*\", \"list_isues\"", "list_isues", "list_issues"),
    ] {
        let project = Project::new(&format!("[servers.hub]\nnpm = \"x\"\n{key} = [{patterns}]\n"));
        let said = format!("in `{key}` of server `hub` in the configuration: no tool matches `{pattern}`");
        project.refuses(quote!("hub"), &said);
        project.refuses(quote!("hub"), &format!("did you mean `{near}`"));
        project.refuses(quote!("hub"), " --> mcp.toml:3:");
        project.build_refuses(Builder::new().server("hub"), &said);
        project.build_refuses(Builder::new().server("hub"), "\n --> mcp.toml:3:");
    }
}

#[test]
fn negated_globs_exclude_tools() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\ntools = [\"*\", \"!merge_*\"]\n");
    let bound = project.binds(quote!("hub"));
    assert!(bound.contains("HubListIssuesParams") && !bound.contains("HubMergeRequestParams"), "{bound}");
    let bound = Project::new("[servers.hub]\nnpm = \"x\"\n").binds(quote!("hub", tools = ["!merge_*"]));
    assert!(bound.contains("HubListIssuesParams") && !bound.contains("HubMergeRequestParams"), "{bound}");
    let project = Project::new("[servers.hub]\nnpm = \"x\"\napprove = [\"*\", \"!mrge_*\"]\n");
    project.refuses(quote!("hub"), "in `approve` of server `hub` in the configuration: no tool matches `!mrge_*`");
    Project::new("[servers.hub]\nnpm = \"x\"\napprove = [\"*\", \"!list_*\"]\n").binds(quote!("hub"));
}

#[test]
fn prefix_of_the_build_avoids_names_of_other_servers() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n[servers.git]\nnpm = \"y\"\n");
    project.write("mcp/git.json", LIST);
    let marked = |code: &str| code.contains("\"gh_list_issues_") && !code.contains("\"gh_list_issues\"");
    assert!(marked(&project.binds(quote!("hub", "git", prefix = "gh"))));
    project
        .build(Builder::new().prefix(Prefix::named("gh").expect("a word")).server("hub").server("git"))
        .expect("it builds");
    assert!(marked(&project.built("hub")) && marked(&project.built("git")));
}

#[test]
fn empty_selection_error_states_the_cause() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\nexclude = [\"merge_*\"]\n");
    let said = "no tools to bind: `exclude` removes every tool that `merge_request` matches";
    project.refuses(quote!("hub", tools = ["list_*", "merge_request"]), said);
    project.build_refuses(Builder::new().server("hub").tools(["merge_request"]), said);
    assert!(project.binds(quote!("hub", tools = ["*"])).contains("HubListIssuesParams"));

    let project = Project::new("[servers.hub]\nnpm = \"x\"\ntools = [\"merge_*\"]\nexclude = [\"merge_*\"]\n");
    project.refuses(quote!("hub"), "in `tools` of server `hub` in the configuration: no tools to bind");
    let project = Project::new("[servers.hub]\nnpm = \"x\"\nexclude = [\"*\"]\n");
    project.refuses(quote!("hub"), "no tools to bind: `*` excludes every tool");
    let project = Project::new("[servers.hub]\nnpm = \"x\"\ntools = [\"merge_*\"]\n");
    let said = "the configuration's `tools` has none of the tools that `list_*` matches";
    project.refuses(quote!("hub", tools = ["list_*"]), said);
}

#[test]
fn shared_pattern_must_match_in_at_least_one_server() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n[servers.git]\nnpm = \"x\"\n");
    let bound = project.binds(quote!("hub", "git", tools = ["list_*", "commit"]));
    assert!(bound.contains("HubListIssuesParams") && bound.contains("GitCommitParams"), "{bound}");
    assert!(!bound.contains("HubMergeRequestParams"), "{bound}");
    project.refuses(quote!("hub", "git", tools = ["list_*", "comit"]), "no tool matches `comit`");
    project.refuses(quote!(tools = ["comit"]), "no tool matches `comit`");

    project.build(Builder::new().tools(["list_*", "commit"])).expect("each matches in one of the servers");
    assert!(project.built("git").contains("GitCommitParams") && !project.built("hub").contains("MergeRequest"));
    project.build_refuses(Builder::new().tools(["comit"]), "no tool matches `comit`");
    let own = Builder::new().server("hub").tools(["commit"]).server("git");
    project.build_refuses(own, "no tool matches `commit`");
    let equal = Builder::new().tools(["commit"]).server("hub").tools(["commit"]).server("git");
    project.build_refuses(equal, "no tool matches `commit`");
}

#[test]
fn invalid_mcp_json_entry_does_not_affect_others() {
    let project = Project::new("");
    fs::remove_file(project.path().join("mcp.toml")).expect("it was there");
    let entries =
        r#"{"mcpServers": {"hub": {"command": "x"}, "Hub": {"command": "x"}, "git": {"type": "ws", "url": "x"}}}"#;
    project.write(".mcp.json", entries);
    let bound = project.binds(quote!("hub"));
    let reason = "invalid value `ws` for `type` of server `git`";
    assert!(bound.contains("pub mod hub") && bound.contains("deprecated") && bound.contains(reason), "{bound}");
    assert!(bound.contains("invalid server name `Hub`"), "{bound}");
    project.refuses(quote!("git"), reason);
    project.refuses(quote!("git", path = "mcp/git.json"), reason);
    let said = project.build(Builder::new().server("hub")).expect("it can be bound");
    assert_eq!(said.lines().filter(|line| line.starts_with("cargo::warning=")).count(), 2, "{said}");
    project.build_refuses(Builder::new().server("git"), reason);
}

#[test]
fn warnings_appear_only_for_their_server() {
    let project = Project::new(
        "[servers.hub]\nnpm = \"x\"\nenv = { API_TOKEN = \"hunter2\" }\n\
         [servers.git]\nnpm = \"x\"\n",
    );
    let expected = ["`API_TOKEN` of server `hub` looks like a secret in plain text"];
    let bound = project.binds(quote!("hub"));
    for expected in expected {
        assert!(bound.contains(expected), "not said: {expected}\n{bound}");
    }
    assert!(bound.contains("mcp.toml:3:21") && !bound.contains("hunter2"), "{bound}");
    assert!(!project.binds(quote!("git")).contains("[deprecated"), "they are not about this one");

    let said = project.build(Builder::new().server("hub")).expect("it can be bound");
    let warnings: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("cargo::warning=")).collect();
    assert_eq!(warnings.len(), expected.len(), "{said}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(&expected.replace("\\\"", "\"")), "{warning}");
        assert!(warning.contains(" --> mcp.toml") && warning.contains("= help: "), "{warning}");
    }
    let said = project.build(Builder::new().server("git")).expect("it can be bound");
    assert!(!said.contains("cargo::warning="), "{said}");
}

#[test]
fn defaults_apply_to_bindings() {
    let project = Project::new(
        "[defaults]\ntimeout = \"7s\"\ndrift = \"deny\"\npin = \"all\"\n[servers.hub]\nnpm = \"x\"\n\
         [servers.git]\nnpm = \"x\"\ntimeout = \"9s\"\ndrift = \"ignore\"\n",
    );
    let carried = |bound: String, timeout: &str| bound.contains(&format!(r#"\"timeout\":\"{timeout}\""#));
    assert!(carried(project.binds(quote!("hub")), "7s"));
    assert!(carried(project.binds(quote!("git")), "9s"));
    assert!(project.binds(quote!("hub")).contains(r#"\"drift\":\"deny\",\"pin\":\"all\""#));
    assert!(project.binds(quote!("git")).contains(r#"\"drift\":\"ignore\",\"pin\":\"all\""#));
    project.build(Builder::new()).expect("they can be bound");
    assert!(project.built("hub").contains(r#""timeout\":\"7s\""#), "{}", project.built("hub"));
    assert!(!Project::new("[servers.hub]\nnpm = \"x\"\n").binds(quote!("hub")).contains(r#"\"timeout"#));
}

#[test]
fn relative_paths_are_resolved_against_the_crate() {
    let config = "[servers.hub]\ncommand = \"./bin/server\"\n[servers.git]\ncommand = \"server\"\n";
    let beside = [Project::new(config), Project::new(config)].map(|project| project.binds(quote!("hub")));
    assert_eq!(beside[0], beside[1], "the same on every machine");
    let place = quote!(.folder(::core::env!("CARGO_MANIFEST_DIR"))).to_string();
    assert!(beside[0].contains(&place), "{}", beside[0]);

    let mut above = Project::new(config);
    above.write("Cargo.toml", "[workspace]\n");
    above.write("members/one/Cargo.toml", "[package]\n");
    above.krate = "members/one";
    let place = quote!(.folder(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), "/../.."))).to_string();
    let bound = above.binds(quote!("hub"));
    assert!(bound.contains(&place), "{bound}");
    assert!(!above.binds(quote!("git")).contains("folder"), "a program on PATH is where it is");
}

#[test]
fn builder_setters_are_order_independent() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n");
    let prefix = || mcp_bindgen_model::Prefix::Named("own".to_owned());
    let before = Builder::new().tools(["list_*"]).prefix(prefix()).module("m").path("mcp/hub.json").server("hub");
    project.build(before).expect("it can be bound");
    let first = project.built("hub");
    assert!(first.contains("pub mod m") && first.contains("OwnListIssuesParams") && !first.contains("MergeRequest"));
    let after = Builder::new().server("hub").path("mcp/hub.json").module("m").prefix(prefix()).tools(["list_*"]);
    project.build(after).expect("it can be bound");
    assert_eq!(project.built("hub"), first);
}

#[test]
fn contradictory_builder_is_refused() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n[servers.git]\nnpm = \"x\"\n");
    project.build_refuses(Builder::new().server("hub").server("git").server("hub"), "server `hub` is bound twice");
    let both = Builder::new().module("m").server("hub").server("git");
    project.build_refuses(both, "`module` applies to one server");
    project.build_refuses(Builder::new().path("x.json"), "`path` applies to one server");
    for config in ["", "[defaults]\n"] {
        let nobody = Project::new(config);
        nobody.build_refuses(Builder::new(), "no server is bound: add one with `.server(\"..\")`");
    }
}

#[test]
fn invalid_builder_rules_are_refused() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n[servers.git]\nnpm = \"x\"\n");
    let hub = || Builder::new().server("hub");
    let said = "in `rename`: `list_isues` not found: unknown tool `list_isues`\n  = help: did you mean `list_issues`?";
    project.build_refuses(hub().rename("list_isues", "issues"), said);
    project.build_refuses(hub().derive(["a b"]), "in `derive`: invalid path `a b`");
    project.build_refuses(hub().exclude(["x_*"]), "no tool matches `x_*`");
    project.build_refuses(hub().exclude(["*"]), "no tools to bind: `*` excludes every tool");
    project.build_refuses(hub().crate_path("my crate"), "invalid module path `my crate`");
    project.build_refuses(hub().crate_path("::fn"), "invalid module path `::fn`");
    let every = Builder::new().rename("list_issues", "issues").server("hub").server("git");
    project.build_refuses(every, "`rename` applies to one server");
    // A pattern for all servers must match a tool of at least one. It adds to the exclusions of each server.
    project.build_refuses(Builder::new().exclude(["x_*"]).server("hub").server("git"), "no tool matches `x_*`");
    let both = Builder::new().exclude(["merge_*"]).server("git").server("hub").prefix(mcp_bindgen_model::Prefix::None);
    project.build(both).expect("it can be bound");
    assert!(project.built("hub").contains("ListIssuesParams") && !project.built("hub").contains("MergeRequestParams"));
}

#[test]
fn configuration_rules_apply_equally_to_macro_and_builder() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\nrust.rename = { list_issues = \"issues\" }\n");
    assert!(project.binds(quote!("hub")).contains("pub async fn hub_issues"));
    // A macro that binds less is no fault of the configuration; what it says itself holds.
    assert!(!project.binds(quote!("hub", tools = ["merge_*"])).contains("issues ("));
    assert!(!project.binds(quote!("hub", exclude = ["list_*"])).contains("issues ("));
    let both = project.binds(quote!("hub", rename = { list_issues = "all", merge_request = "merge" }));
    assert!(both.contains("pub async fn hub_all") && both.contains("pub async fn hub_merge"), "{both}");

    let project = Project::new("[servers.hub]\nnpm = \"x\"\nrust.rename = { list_issue = \"issues\" }\n");
    let said = "in `rename`: `list_issue` not found: unknown tool `list_issue`\n --> mcp.toml:3:17";
    project.refuses(quote!("hub"), &said.replace('\n', "\\n"));
    project.refuses(quote!("hub", exclude = ["merge_*"]), &said.replace('\n', "\\n"));
    project.build_refuses(Builder::new().server("hub"), said);

    // The macro replaces the wrong rule, and does not bind the tool of the other one.
    let rules = "rust.rename = { list_issues = \"Not A Name\", merge_request = \"merge\" }\n";
    let project = Project::new(&format!("[servers.hub]\nnpm = \"x\"\n{rules}"));
    let bound = project.binds(quote!("hub", tools = ["list_*"], rename = { list_issues = "all" }));
    assert!(bound.contains("pub async fn hub_all"), "{bound}");
    project.refuses(quote!("hub", tools = ["list_*"]), "invalid identifier `Not A Name`");
}

#[test]
fn build_script_errors_are_readable_text() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\nevn = {}\n");
    let error = project.build(Builder::new().server("hub")).expect_err("a wrong key");
    let text = "unknown key `evn` in server `hub`\n --> mcp.toml:3:1\n  = help: did you mean `env`?";
    assert_eq!(format!("{:?}", Box::<dyn std::error::Error>::from(error)), text, "what cargo shows");
}

#[test]
fn packaged_crate_does_not_use_the_workspace() {
    let mut project = Project::new("[servers.hub]\nnpm = \"x\"\n");
    project.write("Cargo.toml", "[workspace]\n");
    project.krate = "target/package/app-0.1.0";
    project.write("target/package/app-0.1.0/Cargo.toml", "[package]\n");
    project.refuses(quote!("hub"), "server `hub` is not configured");
    project.build_refuses(Builder::new(), "no server is bound");
    project.write("target/package/app-0.1.0/mcp/hub.json", OTHER);
    assert!(project.binds(quote!("hub")).contains("HubCommitParams"), "its own files are its own");
    project.write("target/package/app-0.1.0/mcp.toml", "[servers.hub]\nnpm = \"x\"\nprefix = \"own\"\n");
    assert!(project.binds(quote!("hub")).contains("OwnCommitParams"), "its own files are its own");
}

#[test]
fn unknown_diagnostic_codes_are_errors() {
    for key in ["deny", "allow"] {
        let project = Project::new(&format!("{key} = [\"MCP0001\", \"MCP0707\"]\n[servers.hub]\nnpm = \"x\"\n"));
        let said = format!("`{key}` contains the unknown code `MCP0707`");
        project.refuses(quote!("hub"), &said);
        project.refuses(quote!("hub"), "did you mean `MCP0007`?");
        project.build_refuses(Builder::new().server("hub"), &said);
    }
}

#[test]
fn servers_with_equal_module_names_are_refused() {
    let project = Project::new("[servers.g-it]\nnpm = \"x\"\n[servers.g_it]\nnpm = \"x\"\n");
    project.write("mcp/g-it.json", LIST);
    project.write("mcp/g_it.json", LIST);
    let said = "servers `g-it` and `g_it` have the same module name `g_it`";
    project.refuses(quote!(), said);
    project.refuses(quote!("g-it", "g_it"), said);
    project.binds(quote!("g-it"));
}

#[test]
fn connect_requires_the_transport_of_its_server() {
    let sse = "url = \"https://mcp.example.com/sse\"\ntransport = \"sse\"";
    for (keys, bound) in
        [("npm = \"x\"", "OverStdio"), ("url = \"https://mcp.example.com/mcp\"", "OverHttp"), (sse, "OverHttp")]
    {
        let bound =
            format!("for < 'call > :: mcp_bindgen :: Client : :: mcp_bindgen :: __private :: {bound} < 'call >");
        let expanded = Project::new(&format!("[servers.hub]\n{keys}\n")).binds(quote!("hub"));
        assert!(expanded.matches("'call").count() == 2 && expanded.contains(&bound), "{keys}: {expanded}");
    }
}

#[test]
fn build_script_reports_every_broken_server_and_writes_the_others() {
    let project = Project::new("[servers.hub]\nnpm = \"x\"\n[servers.gone]\nnpm = \"x\"\n[servers.cut]\nnpm = \"x\"\n");
    project.write("mcp/cut.json", "{");
    let error = project.build(Builder::new()).expect_err("two servers are broken").to_string();
    assert!(error.contains("server `gone`") && error.contains("mcp/cut.json:1"), "{error}");
    assert!(project.built("hub").contains("HubListIssuesParams"));
}

//! One pipeline behind the macro, the build script and the command line: the same list gives the same tokens through
//! each. `cli/tests/integration/doors.rs` walks through the third.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::path::{Path, PathBuf};
use std::{fs, io};

use mcp_bindgen_codegen::build_script::Builder;
use mcp_bindgen_codegen::project::expand_macro;
use mcp_bindgen_codegen::{Bindings, Options, Severity, apply_overrides, format};
use mcp_bindgen_model::{Config, Overrides, Snapshot, write_if_changed};
use proc_macro2::TokenStream;
use quote::quote;

/// The folder of a crate with one snapshot.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            write_if_changed(&folder.path().join(name), text.as_bytes()).expect("the file can be written");
        }
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn expand(&self, input: TokenStream) -> String {
        expand_macro(input, Some(self.path().to_owned())).to_string()
    }

    /// Returns the code that a build script generates for a server, and its output for cargo.
    fn build(&self, server: &str, builder: Builder) -> (String, String) {
        let mut said = Vec::new();
        builder.compile_in(self.path(), &self.path().join("out"), &mut said).expect("the build script runs");
        let file = self.path().join("out/mcp_bindgen").join(format!("{server}.rs"));
        (fs::read_to_string(file).expect("bindings were written"), String::from_utf8(said).expect("text for cargo"))
    }

    /// The line that makes cargo watch a file.
    fn watched(&self, file: &str) -> String {
        format!("cargo::rerun-if-changed={}", self.path().join(file).display())
    }

    /// The line that makes cargo watch for overrides that a server does not have yet.
    fn awaited(&self, server: &str) -> Option<String> {
        cfg!(unix).then(|| self.watched(&format!("out/mcp_bindgen/absent/{server}")))
    }
}

/// The tokens that make cargo watch a file.
fn tracked(file: &str) -> TokenStream {
    let path = format!("/{file}");
    quote!(
        const _: fn() -> &'static [u8] =
            || ::core::include_bytes!(::core::concat!(::core::env!("CARGO_MANIFEST_DIR"), #path));
    )
}

#[test]
fn macro_output_equals_the_generated_tokens() {
    for (stem, text) in lists() {
        let project = Project::new(&[("list.json", &text)]);
        let expected = Bindings::generate(&snapshot(&text), &Options::new(&stem)).0;
        let tracked = tracked("list.json");
        let expanded = project.expand(quote!(#stem, path = "list.json"));
        assert!(expanded == quote!(#tracked #expected).to_string(), "{stem}: the macro expands to something else");
    }
}

#[test]
fn build_script_output_equals_the_generated_source() {
    for (stem, text) in lists() {
        let project = Project::new(&[("list.json", &text)]);
        let (expected, diagnostics) = Bindings::generate(&snapshot(&text), &Options::new(&stem));
        let (built, said) = project.build(&stem, Builder::new().server(&stem).path("list.json"));
        assert!(built == source(&stem, expected), "{stem}: the build script writes something else");
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some(&*project.watched("list.json")), "{stem}");
        if let Some(awaited) = project.awaited(&stem) {
            assert_eq!(lines.next(), Some(&*awaited), "{stem}");
        }
        let warnings = diagnostics.iter().filter(|said| said.code.severity >= Severity::Warning).count();
        let lines: Vec<&str> = lines.collect();
        assert_eq!(lines.len(), warnings, "{stem}: {lines:#?}");
        for line in lines {
            assert!(line.starts_with("cargo::warning="), "{stem}: {line:?}");
            assert!(!line.contains(char::is_control), "{stem}: {line:?}");
        }
    }
}

#[test]
fn configuration_applies_to_macro_and_build_script() {
    let config = include_str!("../../mcp.toml").replace("fixtures/snapshots", "mcp");
    let text = include_str!("../../fixtures/snapshots/github.json");
    let project = Project::new(&[("mcp.toml", &config), ("mcp/github.json", text)]);
    let parsed = Config::load(project.path().join("mcp.toml")).expect("the configuration can be read");
    let options = Options::for_server(parsed.server("github").expect("the server is configured"));
    let expected = Bindings::generate(&snapshot(text), &options).0;

    let (config, list) = (tracked("mcp.toml"), tracked("mcp/github.json"));
    let expanded = project.expand(quote!("github"));
    assert!(expanded == quote!(#list #config #expected).to_string(), "the macro expands to something else");

    let (built, said) = project.build("github", Builder::new().server("github"));
    assert!(built == source("github", expected), "the build script writes something else");
    let lines: Vec<&str> = said.lines().collect();
    let awaited = project.awaited("github");
    let watched = [project.watched("mcp.toml"), project.watched("mcp/github.json")];
    assert_eq!(lines, watched.iter().chain(&awaited).collect::<Vec<_>>());
}

#[test]
fn overrides_apply_to_macro_and_build_script() {
    let text = include_str!("../../fixtures/overrides/github.json");
    let overriding = include_str!("../../fixtures/overrides/github.overrides.json");
    let project = Project::new(&[("mcp/github.json", text), ("mcp/github.overrides.json", overriding)]);
    let overrides = Overrides::parse(overriding).expect("the overrides can be read");
    let mended = apply_overrides(&snapshot(text), &overrides).expect("the overrides fit");
    let expected = Bindings::generate(&mended, &Options::new("github")).0;
    assert_ne!(expected.to_string(), Bindings::generate(&snapshot(text), &Options::new("github")).0.to_string());

    let (list, mend) = (tracked("mcp/github.json"), tracked("mcp/github.overrides.json"));
    let expanded = project.expand(quote!("github"));
    assert!(expanded == quote!(#list #mend #expected).to_string(), "the macro expands to something else");

    let (built, said) = project.build("github", Builder::new().server("github"));
    assert!(built == source("github", expected), "the build script writes something else");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines, [project.watched("mcp/github.json"), project.watched("mcp/github.overrides.json")]);
}

#[test]
fn invalid_overrides_fail_macro_and_build_script_with_a_position() {
    let text = include_str!("../../fixtures/overrides/github.json");
    for (overriding, expected) in [
        (
            r#"{"tools": {"create_issues": {"outputSchema": {}}}}"#,
            "mcp/github.overrides.json:1:12 (tool create_issues)",
        ),
        (
            r#"{"tools": {"create_issue": {"outputSchema": {"properties": {"n": {"type": "int"}}}}}}"#,
            "mcp/github.overrides.json:1:67 (tool create_issue, /outputSchema/properties/n/type)",
        ),
        (
            r#"{"tools": {"create_issue": {"patch": {"inputSchema": {"properties": {"labels": {"items": "text"}}}}}}}"#,
            "mcp/github.overrides.json:1:81 (tool create_issue, /inputSchema/properties/labels/items)",
        ),
        (
            r##"{"tools": {"create_issue": {"outputSchema": {"$ref": "#/$defs/Gone"}}}}"##,
            "mcp/github.overrides.json:1:46 (tool create_issue, /outputSchema/$ref)",
        ),
    ] {
        let project = Project::new(&[("mcp/github.json", text), ("mcp/github.overrides.json", overriding)]);
        let expanded = project.expand(quote!("github"));
        assert!(expanded.contains("compile_error") && expanded.contains(expected), "{overriding}: {expanded:.300}");
        let refused =
            Builder::new().server("github").compile_in(project.path(), &project.path().join("out"), &mut Vec::new());
        let message = refused.map_err(|error| error.to_string()).expect_err("they do not fit");
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn override_diagnostics_have_a_position_in_the_overrides_file() {
    let text = include_str!("../../fixtures/overrides/github.json");
    let overriding = r#"{"tools": {"create_issue": {"outputSchema": {"$ref": "https://example.com/issue.json"}}}}"#;
    let project = Project::new(&[("mcp/github.json", text), ("mcp/github.overrides.json", overriding)]);
    let (_, said) = project.build("github", Builder::new().server("github"));
    let place = "--> mcp/github.overrides.json:1:46 (tool create_issue, /outputSchema/$ref)";
    assert!(said.contains("cargo::warning=warning[MCP0008]") && said.contains(place), "{said}");
}

#[test]
fn options_are_equivalent_in_macro_and_build_script() {
    let text = include_str!("../../fixtures/snapshots/github.json");
    let project = Project::new(&[("mcp/github.json", text)]);
    let chosen = || Options::new("github").module("gh").tools(["create_issue", "list_*"]);
    let expected = |prefix| Bindings::generate(&snapshot(text), &chosen().prefix(prefix)).0;
    let list = tracked("mcp/github.json");

    let tokens = expected(mcp_bindgen_model::Prefix::Named("hub".to_owned()));
    let named = project.expand(quote!("github", tools = ["create_issue", "list_*"], mod = gh, prefix = "hub"));
    assert!(named == quote!(#list #tokens).to_string(), "the macro expands to something else");

    let tokens = expected(mcp_bindgen_model::Prefix::None);
    let bare = project.expand(quote!("github", tools = ["create_issue", "list_*"], mod = gh, prefix = false));
    assert!(bare == quote!(#list #tokens).to_string(), "the macro expands to something else");
    let builder = Builder::new()
        .server("github")
        .tools(["create_issue", "list_*"])
        .module("gh")
        .prefix(mcp_bindgen_model::Prefix::None);
    assert!(project.build("github", builder).0 == source("github", tokens), "the build script writes something else");
}

#[test]
fn rust_options_are_equivalent_in_macro_and_build_script() {
    let text = include_str!("../../fixtures/lists/tracker.json");
    let project = Project::new(&[("mcp/tracker.json", text)]);
    let options = Options::new("tracker")
        .exclude(["search"])
        .unknown(mcp_bindgen_model::UnknownKeys::Keep)
        .derive(["Ord", "crate::Traced"])
        .rename("create_issue", "open_issue")
        .rename("create_issue/type", "kind")
        .setters(true)
        .named(true)
        .checked(true)
        .crate_path(quote!(crate::mcp));
    let tokens = Bindings::generate(&snapshot(text), &options).0;
    let list = tracked("mcp/tracker.json");
    let expanded = project.expand(quote!(
        "tracker",
        exclude = ["search"],
        types = "native",
        unknown = "keep",
        derive = ["Ord", "crate::Traced"],
        rename = { create_issue = "open_issue", "create_issue/type" = "kind" },
        setters = true,
        named = true,
        checked = true,
        crate = crate::mcp,
    ));
    assert!(expanded == quote!(#list #tokens).to_string(), "the macro expands to something else: {expanded}");
    let builder = Builder::new()
        .derive(["Ord"])
        .server("tracker")
        .exclude(["search"])
        .types(mcp_bindgen_model::Types::Native)
        .unknown(mcp_bindgen_model::UnknownKeys::Keep)
        .derive(["crate::Traced"])
        .rename("create_issue", "open_issue")
        .rename("create_issue/type", "kind")
        .setters(true)
        .named(true)
        .checked(true)
        .crate_path("crate::mcp");
    let built = project.build("tracker", builder).0;
    assert!(built == source("tracker", tokens), "the build script writes something else");
    assert!(built.contains("#[derive(Clone, Debug, PartialEq, Eq, Hash, crate::Traced)]"), "{built}");
}

#[test]
fn module_has_the_requested_name() {
    let text = include_str!("../../fixtures/lists/git.json");
    let project = Project::new(&[("mcp/git.json", text)]);
    for (input, name) in [(quote!("git", mod = r#async), "r#async"), (quote!("git", mod = GitHub), "GitHub")] {
        let module = format!("pub mod {name} {{");
        assert!(project.expand(input).contains(&module), "{name}: the macro names another module");
        let builder = || Builder::new().server("git").module(name);
        assert!(project.build("git", builder()).0.contains(&module), "{name}: the build script names another module");
    }
    let builder = Builder::new().server("git").module("my-mod");
    let refused = builder.compile_in(project.path(), &project.path().join("out"), &mut Vec::new());
    let message = refused.map_err(|error| error.to_string()).expect_err("no module can be called so");
    assert!(message.contains("`my-mod`") && message.contains("`git`"), "{message}");
}

#[test]
fn second_build_script_run_writes_nothing() {
    let text = include_str!("../../fixtures/lists/git.json");
    let project = Project::new(&[("mcp/git.json", text)]);
    let built = project.path().join("out/mcp_bindgen/git.rs");
    let modified = || fs::metadata(&built).and_then(|found| found.modified()).expect("bindings were written");
    let first = (project.build("git", Builder::new().server("git")), modified());
    let second = (project.build("git", Builder::new().server("git")), modified());
    assert_eq!(first, second);
}

fn snapshot(text: &str) -> Snapshot {
    Snapshot::parse(text).expect("the list can be read")
}

fn source(stem: &str, tokens: TokenStream) -> String {
    format(tokens).unwrap_or_else(|error| panic!("{stem}: {error}"))
}

/// The text of every fixture list, by its file stem.
fn lists() -> Vec<(String, String)> {
    let mut lists = Vec::new();
    for folder in ["snapshots", "lists", "features", "hostile"] {
        lists.extend(lists_of(folder).expect("the fixtures can be read"));
    }
    assert!(lists.len() > 55, "{} lists", lists.len());
    lists
}

fn lists_of(folder: &str) -> io::Result<Vec<(String, String)>> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(folder);
    let mut lists = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            lists.push((stem, fs::read_to_string(path)?));
        }
    }
    Ok(lists)
}

//! Every error of `mcp_tools!` names the file that it is about as the crate's author knows it, and nothing of the machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use mcp_bindgen_codegen::project::expand_macro;
use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Snapshot, write_if_changed};
use proc_macro2::TokenStream;
use quote::quote;

const LIST: &str = r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#;

/// The messages of the errors that the macro expands to in a crate with these files.
fn error(files: &[(&str, &str)], input: TokenStream) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in files {
        write_if_changed(&folder.path().join(name), text.as_bytes()).expect("the file can be written");
    }
    let expanded = expand_macro(input, Some(folder.path().to_owned())).to_string();
    assert!(expanded.contains("compile_error"), "no error: {expanded}");
    let machine = folder.path().to_str().expect("the path is text");
    assert!(!expanded.contains(machine), "{expanded}");
    expanded
}

#[test]
fn malformed_snapshot_error_shows_its_path_in_the_crate() {
    let broken = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/broken");
    let mut count = 0;
    for entry in fs::read_dir(broken).expect("the fixtures can be listed") {
        let path = entry.expect("the fixtures can be listed").path();
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let said = error(&[("mcp/broken.json", &text)], quote!("broken"));
        assert!(said.contains("mcp/broken.json"), "{stem}: {said}");
        count += 1;
    }
    assert!(count > 12, "{count} files");
}

#[test]
fn invalid_configuration_error_shows_its_path_in_the_crate() {
    let list = ("mcp/demo.json", LIST);
    let faults = [
        ("mcp.toml", "[servers.demo\n", "mcp.toml:1"),
        ("mcp.toml", "[servers.demo]\ncomand = \"x\"\n", "command"),
        ("mcp.toml", "[servers.demo]\ncommand = 7\n", "mcp.toml:2"),
        ("mcp.toml", "[servers.demo]\n", "mcp.toml:1"),
        ("mcp.toml", "[servers.Demo]\ncommand = \"x\"\n", "Demo"),
        ("mcp.toml", "denny = []\n", "deny"),
        (".mcp.json", "{", ".mcp.json:1"),
        (".mcp.json", r#"{"mcpServers": []}"#, ".mcp.json:1"),
    ];
    for (file, text, expected) in faults {
        let said = error(&[(file, text), list], quote!("demo"));
        assert!(said.contains(expected), "{file} with {text:?} says: {said}");
    }
}

#[test]
fn missing_files_error_lists_the_searched_paths() {
    for expected in ["mcp.toml", ".mcp.json", "mcp/demo.json", "mcp-bindgen"] {
        let said = error(&[], quote!("demo"));
        assert!(said.contains(expected), "{said}");
    }
    assert!(error(&[], quote!("demo", path = "lists/demo.json")).contains("lists/demo.json"));
    assert!(error(&[], quote!("../demo")).contains("../demo"));
}

#[test]
fn workspace_root_configures_its_members() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        write_if_changed(&folder.path().join(name), text.as_bytes()).expect("the file can be written");
    };
    write("Cargo.toml", "[workspace]\nmembers = [\"member\"]\n");
    write("mcp.toml", "[servers.demo]\ncommand = \"server\"\n");
    write("mcp/demo.json", LIST);
    write("member/Cargo.toml", "[package]\nname = \"member\"\n");
    let expanded = expand_macro(quote!("demo"), Some(folder.path().join("member"))).to_string();
    assert!(expanded.contains("pub mod demo"), "{expanded}");
    assert!(expanded.contains("\"/../mcp.toml\"") && expanded.contains("\"/../mcp/demo.json\""), "{expanded}");
    let misnamed = expand_macro(quote!("dmo"), Some(folder.path().join("member"))).to_string();
    assert!(misnamed.contains("../mcp.toml") && misnamed.contains("demo"), "{misnamed}");
}

#[test]
fn invalid_module_name_is_refused() {
    let list = ("mcp/demo.json", LIST);
    for (input, name) in [
        (quote!("demo", mod = self), "self"),
        (quote!("demo", mod = Self), "Self"),
        (quote!("demo", mod = crate), "crate"),
        (quote!("demo", mod = super), "super"),
        (quote!("demo", mod = _), "_"),
    ] {
        let said = error(&[list], input);
        assert!(said.contains(&format!("invalid module name `{name}`")), "{said}");
    }
}

/// The names that a module has in what the macro expands to, and how many errors there are.
fn names(files: &[(&str, &str)], input: TokenStream, module: &str) -> (String, usize) {
    let expanded = error(files, input);
    let (_, items) = expanded.split_once(&format!("pub mod {module} {{")).unwrap_or_else(|| panic!("{expanded}"));
    let items = items.split("pub mod").next().expect("the module").to_owned();
    (items, expanded.matches("compile_error").count())
}

#[test]
fn broken_server_preserves_its_names_and_other_modules() {
    let tools = r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object", "properties": {"to": {"type": "object",
        "properties": {"host": {}}}}}}, {"name": "pong", "inputSchema": {"type": "object", "proper"#;
    let files = [("mcp/demo.json", LIST), ("mcp/fs.json", tools), ("mcp/memory.json", LIST)];
    let expanded = error(&files, quote!("demo", "fs", "memory"));
    for module in ["demo", "memory"] {
        let bindings = Bindings::generate(&Snapshot::parse(LIST).expect("a list"), &Options::new(module)).0;
        assert!(expanded.contains(&bindings.to_string()), "{module} is not as it would be alone: {expanded}");
    }
    let (items, errors) = names(&files, quote!("demo", "fs", "memory"), "fs");
    assert_eq!(errors, 1, "{items}");
    for name in ["Fs <", "FsCall", "FsPingParams", "FsPingParamsTo", "FsPongParams", "fs_ping", "fs_pong", "SERVER"] {
        let found = ["type", "const"].iter().any(|kind| items.contains(&format!("pub {kind} {name}")));
        assert!(found, "{name} is missing: {items}");
    }
}

#[test]
fn faults_of_a_server_preserve_its_names() {
    let list = ("mcp/demo.json", LIST);
    let config = |keys: &str| format!("[servers.demo]\ncommand = \"x\"\n{keys}\n");
    let conflict = format!("<<<<<<< ours\n{LIST}\n=======\n{LIST}\n>>>>>>> theirs");
    let newer = LIST.replacen('{', r#"{"format": 99, "#, 1);
    let overrides = ("mcp/demo.overrides.json", r#"{"tools": {"gone": {"outputSchema": {}}}}"#);
    let tools = config(r#"tools = ["ping"]"#);
    let (pattern, rename, derive) =
        (config(r#"tools = ["pin", "p*"]"#), config(r#"rust = { rename = { pin = "x" } }"#), config("derrive = []"));
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("no snapshot", &[("mcp.toml", &tools)]),
        ("conflict", &[("mcp/demo.json", &conflict)]),
        ("newer format", &[("mcp/demo.json", &newer)]),
        ("overrides", &[list, overrides]),
        ("broken overrides", &[list, ("mcp/demo.overrides.json", "{")]),
        ("pattern", &[("mcp.toml", &pattern), list]),
        ("rename", &[("mcp.toml", &rename), list]),
        ("configuration", &[("mcp.toml", &derive), list]),
    ];
    for (case, files) in cases {
        let (items, errors) = names(files, quote!("demo"), "demo");
        assert_eq!(errors, 1, "{case}: {items}");
        assert!(items.contains("pub type DemoPingParams") && items.contains("pub const demo_ping"), "{case}: {items}");
    }
    let (items, _) = names(&[list], quote!("demo", tools = ["pin"], mod = gh, prefix = "gh"), "gh");
    assert!(items.contains("pub type GhPingParams") && items.contains("pub type Gh <"), "{items}");
}

#[test]
fn error_of_several_servers_is_reported_once() {
    let files = [("mcp/demo.json", LIST), ("mcp/fs.json", LIST)];
    for (config, input) in [
        ("[servers.demo]\ncomand = \"x\"\n", quote!("demo", "fs")),
        ("[servers.demo]\ncomand = \"x\"\n", quote!()),
        ("[servers]\ndemo = { command = \"x\" }\nfs = { command = \"x\" }\n", quote!("demo", "fs", tools = ["pin"])),
    ] {
        let (items, _) = names(&[files[0], files[1], ("mcp.toml", config)], input, "fs");
        assert!(items.contains("super :: demo :: __Fault") && items.contains("FsPingParams"), "{items}");
        assert!(!items.contains("compile_error"), "{items}");
    }
}

#[test]
fn unmatched_pattern_is_not_reported_beside_a_broken_server() {
    let files = [("mcp/demo.json", LIST), ("mcp/fs.json", "{")];
    let said = error(&files, quote!("demo", "fs", tools = ["ping", "read_file"]));
    assert!(said.matches("compile_error").count() == 1 && said.contains("mcp/fs.json:1"), "{said}");
}

#[test]
fn servers_with_equal_module_names_are_refused() {
    let lists = [("mcp/my-demo.json", LIST), ("mcp/my_demo.json", LIST)];
    let said = error(&lists, quote!("my-demo", "my_demo"));
    assert!(said.contains("`my-demo` and `my_demo` have the same module name `my_demo`"), "{said}");
}

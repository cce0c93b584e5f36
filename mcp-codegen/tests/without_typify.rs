//! Tests a build without the typify backend.
#![cfg(not(feature = "typify"))]

use mcp_bindgen_codegen::project::Project;
use mcp_bindgen_codegen::{Bindings, Options};
use mcp_bindgen_model::{Snapshot, Types, write_if_changed};

#[test]
fn tools_have_default_types_and_one_diagnostic_without_typify() {
    let text = r#"{"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b", "inputSchema": {"type": "object"}}]}"#;
    let snapshot = Snapshot::parse(text).unwrap();
    let (tokens, said) = Bindings::generate(&snapshot, &Options::new("demo").types(Types::Typify));
    assert_eq!(tokens.to_string(), Bindings::generate(&snapshot, &Options::new("demo")).0.to_string());
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("warning[MCP0015]") && said[0].contains("enable feature `typify`"), "{said:?}");
}

#[test]
fn configuration_that_requires_typify_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = "[servers.demo]\ncommand = \"demo\"\ntypes = \"typify\"\n";
    for (file, text) in [("mcp.toml", config), ("mcp/demo.json", "{\"tools\": []}")] {
        write_if_changed(&folder.path().join(file), text.as_bytes()).unwrap();
    }
    let error = Project::open(folder.path()).unwrap().read("demo", None).unwrap_err().to_string();
    assert!(error.contains("`types = \"typify\"` of server `demo` requires feature `typify`"), "{error}");
    assert!(error.contains("mcp.toml"), "{error}");
}

#[test]
fn macro_that_requires_typify_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write_if_changed(&folder.path().join("mcp/demo.json"), b"{\"tools\": []}").unwrap();
    let input = quote::quote!("demo", types = "typify");
    let said = mcp_bindgen_codegen::project::expand_macro(input, Some(folder.path().to_owned())).to_string();
    assert!(said.contains("compile_error") && said.contains("of server `demo` requires feature `typify`"), "{said}");
}

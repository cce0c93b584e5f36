//! Where the opt-in backend is not built in.
#![cfg(not(feature = "typify"))]

use mcp_codegen::{Bindings, Options};
use mcp_model::{Snapshot, Types};

#[test]
fn all_tools_keep_the_default_types_and_one_diagnostic_says_so() {
    let text = r#"{"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b", "inputSchema": {"type": "object"}}]}"#;
    let snapshot = Snapshot::parse(text).unwrap();
    let (tokens, said) = Bindings::generate(&snapshot, &Options::new("demo").types(Types::Typify));
    assert_eq!(tokens.to_string(), Bindings::generate(&snapshot, &Options::new("demo")).0.to_string());
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("warning[MCP0015]") && said[0].contains("enable feature `typify`"), "{said:?}");
}

//! Tests that a value that JSON cannot represent affects only its place, and that a diagnostic names the place.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::Snapshot;

const LIST: &str = include_str!("../../../fixtures/hostile/unreadable.json");

#[test]
fn unreadable_values_are_reported_and_every_tool_is_bound() {
    let snapshot = Snapshot::parse(LIST).expect("the list can be read");
    let (tokens, diagnostics) = Bindings::generate(&snapshot, &Options::new("unreadable"));
    let code = format(tokens).expect("the bindings are Rust");
    for field in [
        "pub limit: Option<u64>",
        "pub least: Option<f64>",
        "pub choice: Option<UnreadableNumbersParamsChoice>",
        "pub only: Option<Value>",
        "pub listed: Option<Vec<Value>>",
        "pub text: Option<String>",
    ] {
        assert!(code.contains(field), "{field}:\n{code}");
    }
    let places: Vec<_> = diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.code.id == "MCP0010")
        .map(|diagnostic| {
            let (line, _) = diagnostic.position(LIST).expect("it has a position");
            (diagnostic.tool.as_str(), diagnostic.pointer.rsplit_once("/properties/").unwrap().1, line)
        })
        .collect();
    let expected = [
        ("numbers", "limit/maximum", 8),
        ("numbers", "least/minimum", 9),
        ("numbers", "choice/enum", 10),
        ("numbers", "only/const", 11),
        ("numbers", "preset/default", 12),
        ("numbers", "listed/minItems", 13),
        ("numbers", "listed/items/const", 13),
    ];
    assert_eq!(places, expected);
}

//! `unknown` and `[servers.x.rust]`: what generated code looks like.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::path::Path;

use mcp_bindgen_model::{Config, FileError, ServerConfig, UnknownKeys};
use serde_json::json;

const TEXT: &str = r##"
[servers.github]
npm = "x"
unknown = "keep"

[servers.github.rust]
derive = ["Eq", "crate::Traced"]
rename = { create_issue = "open_issue", "create_issue/labels" = "tags" }
extern = { "#/$defs/Money" = "crate::Money" }
shared = { Entity = "create_entities/entities/*" }
setters = true
named = false
checked = true
"##;

fn parsed(text: &str) -> Result<Config, FileError> {
    Config::parse_toml(text, Path::new("mcp.toml"))
}

#[test]
fn every_rust_entry_has_its_position() {
    let config = parsed(TEXT).unwrap();
    let server = config.server("github").unwrap();
    assert_eq!(server.unknown, UnknownKeys::Keep);
    let rust = &server.rust;
    let said = rust.rules.iter().map(|rule| {
        let place = rule.place.error("").to_string();
        (rule.option, rule.key.as_str(), rule.value.as_str(), place)
    });
    let at = |line: usize, column: usize| format!("\n --> mcp.toml:{line}:{column}");
    assert_eq!(
        said.collect::<Vec<_>>(),
        [
            ("derive", "", "Eq", at(7, 11)),
            ("derive", "", "crate::Traced", at(7, 17)),
            ("rename", "create_issue", "open_issue", at(8, 12)),
            ("rename", "create_issue/labels", "tags", at(8, 41)),
            ("extern", "#/$defs/Money", "crate::Money", at(9, 12)),
            ("shared", "Entity", "create_entities/entities/*", at(10, 12)),
            ("setters", "", "true", at(11, 1)),
            ("named", "", "false", at(12, 1)),
            ("checked", "", "true", at(13, 1)),
        ]
    );
}

#[test]
fn rust_options_are_not_embedded_in_bindings() {
    let config = parsed(TEXT).unwrap();
    assert_eq!(config.server("github").unwrap().to_json(), json!({"command": "npx", "args": ["-y", "x"]}));
}

#[test]
fn rust_options_are_parsed_from_json_too() {
    let json = json!({"command": "x", "unknown": "keep", "rust": {"derive": ["Eq"]}, "autoApprove": []});
    let server = ServerConfig::from_json("github", &json).unwrap();
    assert_eq!((server.unknown, server.rust.rules[0].value.as_str()), (UnknownKeys::Keep, "Eq"));
    let text = r#"{"mcpServers": {"github": {"command": "x", "rust": {"derives": ["Eq"]}}}}"#;
    let config = Config::parse_mcp_json(text, Path::new(".mcp.json")).unwrap();
    let error = config.server("github").unwrap_err().to_string();
    assert!(error.starts_with("unknown key `derives` in `rust` of server `github`\n --> .mcp.json:1:"), "{error}");
}

#[test]
fn errors_include_their_position() {
    for (line, expected) in [
        (
            "rust = { derives = [] }",
            "unknown key `derives` in `rust` of server `github`\n --> mcp.toml:3:10\n  = help: did you mean `derive`?",
        ),
        (
            "shared = { Entity = \"a/b\" }",
            "`shared` of server `github` must be `true` or `false`, not a table\n --> mcp.toml:3:10\n  = help: shared types belong in `[servers.github.rust]`",
        ),
        (
            "rename = { a = \"b\" }",
            "unknown key `rename` in server `github`\n --> mcp.toml:3:1\n  = help: it belongs in `[servers.github.rust]`",
        ),
        ("rust = [\"Eq\"]", "`rust` of server `github` must be a table, not an array\n --> mcp.toml:3:8"),
        (
            "rust.derive = \"Eq\"",
            "`derive` in `rust` of server `github` must be an array of strings, not a string\n --> mcp.toml:3:15",
        ),
        (
            "rust.rename = { a = 1 }",
            "`a` in `rename` in `rust` of server `github` must be a string, not a number\n --> mcp.toml:3:21",
        ),
        (
            "rust.shared = \"a\"",
            "`shared` in `rust` of server `github` must be a table, not a string\n --> mcp.toml:3:15",
        ),
        (
            "rust.setters = \"yes\"",
            "`setters` in `rust` of server `github` must be `true` or `false`, not a string\n --> mcp.toml:3:16",
        ),
        (
            "unknown = \"kept\"",
            "invalid value `kept` for `unknown` of server `github`\n --> mcp.toml:3:11\n  = help: did you mean `keep`?",
        ),
    ] {
        let error = parsed(&format!("[servers.github]\nnpm = \"x\"\n{line}\n")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn secret_in_rust_options_is_not_shown() {
    let secret = "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8";
    let config = parsed(&format!("[servers.github]\nnpm = \"x\"\nrust.derive = [\"{secret}\"]\n")).unwrap();
    assert!(!format!("{config:?}").contains(secret));
    assert_eq!(config.warnings.len(), 1);
}

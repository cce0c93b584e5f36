//! Snapshots: what they hold, how they are written, and what is said of broken ones.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fs;

use mcp_bindgen_model::{Snapshot, canonical_json, digest, locate, nearest, write_if_changed};
use serde_json::{Value, json};

#[track_caller]
fn error(text: &str, expected: &str) {
    assert_eq!(Snapshot::parse(text).unwrap_err().to_string(), expected);
}

#[test]
fn snapshot_file_is_sorted_by_name_and_preserves_content() {
    let snapshot = Snapshot::parse(
        r#"{"format":1,"server":"s","protocolVersion":"2025-11-25","serverInfo":{"name":"S"},"capabilities":{"tools":{}},
            "clientCapabilities":{},"instructions":"do\nit","tools":[{"vendor":{"z":1,"a":1.0},"name":"b"},7,{"name":"a"}],
            "prompts":[{"name":"p"}],"resourceTemplates":[{"name":"r"}]}"#,
    )
    .unwrap();
    let text = "{\n  \"format\": 1,\n  \"server\": \"s\",\n  \"protocolVersion\": \"2025-11-25\",\n  \"serverInfo\": {\n    \"name\": \"S\"\n  },\n  \
                \"capabilities\": {\n    \"tools\": {}\n  },\n  \"clientCapabilities\": {},\n  \"instructions\": \"do\\nit\",\n  \"tools\": [\n    7,\n    \
                {\n      \"name\": \"a\"\n    },\n    {\n      \"vendor\": {\n        \"z\": 1,\n        \"a\": 1.0\n      },\n      \"name\": \"b\"\n    }\n  ],\n  \
                \"prompts\": [\n    {\n      \"name\": \"p\"\n    }\n  ],\n  \"resourceTemplates\": [\n    {\n      \"name\": \"r\"\n    }\n  ]\n}\n";
    assert_eq!(snapshot.to_text(), text);
    assert_eq!(Snapshot::parse(text).unwrap().to_text(), text);
}

#[test]
fn tool_order_of_the_server_does_not_affect_the_file() {
    let of = |tools: Value| Snapshot { tools: tools.as_array().unwrap().clone(), ..Snapshot::default() }.to_text();
    let (a, b, again) = (json!({ "name": "a" }), json!({ "name": "b" }), json!({ "name": "a", "title": "2" }));
    assert_eq!(of(json!([a, b, again])), of(json!([again, b, a])));
}

#[test]
fn bare_results_responses_and_collections_are_parsed_as_snapshots() {
    let bare = Snapshot::parse(r#"{"tools":[{"name":"a"}],"nextCursor":null}"#).unwrap();
    assert_eq!(bare, Snapshot { tools: vec![json!({ "name": "a" })], ..Snapshot::default() });
    assert_eq!(Snapshot::parse(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#).unwrap(), bare);
    let collected = Snapshot::parse(
        "\u{feff}{\"server\":{\"name\":\"s\",\"package\":\"p\"},\"protocolVersion\":null,\"serverInfo\":null,\"capabilities\":null,\
         \"instructions\":null,\"tools\":[{\"name\":\"a\"}],\"prompts\":null,\"resources\":[],\"resourceTemplates\":[]}",
    )
    .unwrap();
    assert_eq!(collected, Snapshot { server: Some("s".to_owned()), ..bare });
}

#[test]
fn errors_include_their_position() {
    error("", "the snapshot is empty\n --> line 1, column 1");
    error(" \n", "the snapshot is empty\n --> line 1, column 1");
    error("{\n  \"tools\": [", "the snapshot is cut off: EOF while parsing a list\n --> line 2, column 12");
    error("tools", "the snapshot is not valid JSON: expected ident\n --> line 1, column 2");
    error("{\"é\": x}", "the snapshot is not valid JSON: expected value\n --> line 1, column 7");
    error("[]", "expected a JSON object\n --> line 1, column 1");
    error(
        "{}",
        "missing array `tools`\n --> line 1, column 1\n  = help: expected a file written by `mcp-bindgen sync`, or a `tools/list` result",
    );
    error("{\n  \"tools\": {}\n}", "`tools` is not an array\n --> line 2, column 3");
    error("{\"jsonrpc\":\"2.0\",\"result\":{\"tools\":1}}", "`tools` is not an array\n --> line 1, column 28");
    error("{\"jsonrpc\":\"2.0\",\"error\":{}}", "the JSON-RPC message has no result object\n --> line 1, column 1");
    error("{\"tools\":[],\"instructions\":1}", "`instructions` is not a string\n --> line 1, column 13");
    error(
        "{\"format\":2,\"tools\":[]}",
        "the snapshot has format 2; mcp-bindgen 0.1.0 reads format 1\n --> line 1, column 2\n  = help: install \
         mcp-bindgen 0.2 or later, in Cargo.toml and on the command line",
    );
    assert!(Snapshot::is_newer("{\"format\":2}") && !Snapshot::is_newer("{\"format\":1}") && !Snapshot::is_newer("{"));
    error("{\"format\":\"1\",\"tools\":[]}", "`format` is not 1\n --> line 1, column 2");
    assert!(Snapshot::parse(&format!("{{\"tools\":{}", "[".repeat(100_000))).is_err());
}

#[test]
fn save_writes_only_changes_and_creates_folders() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a/b/s.json");
    let snapshot = Snapshot { tools: vec![json!({ "name": "a" })], ..Snapshot::default() };
    assert!(snapshot.save(&path).unwrap());
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    assert!(!snapshot.save(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written);
    assert_eq!(Snapshot::load(&path).unwrap(), snapshot);
    assert!(Snapshot::default().save(&path).unwrap());
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn unwritable_or_missing_file_error_contains_its_path() {
    let dir = tempfile::tempdir().unwrap();
    write_if_changed(&dir.path().join("file"), b"").unwrap();
    let inside = dir.path().join("file/s.json");
    let error = Snapshot::default().save(&inside).unwrap_err();
    assert!(error.message.starts_with("failed to write the file: "), "{error}");
    assert_eq!(error.path.as_deref(), Some(inside.as_path()));
    let missing = dir.path().join("none.json");
    assert_eq!(
        Snapshot::load(&missing).unwrap_err().to_string(),
        format!("file not found\n --> {}", missing.display())
    );
}

#[cfg(unix)]
#[test]
fn replaced_file_preserves_its_mode_and_symbolic_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("file"), dir.path().join("link"));
    write_if_changed(&file, b"1").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&file, &link).unwrap();
    assert!(write_if_changed(&link, b"2").unwrap());
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&file).unwrap(), b"2");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn positions_are_found_by_pointer() {
    let text = "{\n \"a/b\": [1, {\"x~y\": \"}\\\"]\"}, [\n  []\n ]],\n \"é\": true\n}";
    for (pointer, expected) in [
        ("", Some((1, 1))),
        ("/a~1b", Some((2, 2))),
        ("/a~1b/0", Some((2, 10))),
        ("/a~1b/1", Some((2, 13))),
        ("/a~1b/1/x~0y", Some((2, 14))),
        ("/a~1b/2/0", Some((3, 3))),
        ("/é", Some((5, 2))),
        ("/a~1b/3", None),
        ("/a~1b/2/0/0", None),
        ("/a~1b/x", None),
        ("/none", None),
        ("/é/x", None),
        ("no pointer", None),
    ] {
        assert_eq!(locate(text, pointer), expected, "{pointer}");
    }
    assert_eq!(locate("{\"a\":1,\"a\":2}", "/a"), Some((1, 8)), "the last of two counts");
    for broken in
        ["", "{", "{\"a\"", "{\"a\":", "{\"a\":[}", "{\"a\":\"", "{\"a\":\"\\", "[,]", "[1", "{a:1}", "{\"a\":]"]
    {
        let _ = locate(broken, "/a");
        let _ = locate(broken, "/1");
        assert_eq!(locate(broken, "/b/0"), None);
    }
    let deep = format!("{{\"x\":{}1{},\"y\":2}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(locate(&deep, "/y"), Some((1, 2_000_008)));
}

#[test]
fn digest_is_independent_of_key_order() {
    let of = |name: &str, input: Value| digest(&json!({ "name": name, "inputSchema": input }));
    let expected = of("a", json!({ "type": "object", "x": [1, 2] }));
    assert_eq!(expected, of("a", json!({ "x": [1, 2], "type": "object" })));
    assert_ne!(expected, of("a", json!({ "x": [2, 1], "type": "object" })));
    assert_ne!(expected, of("b", json!({ "type": "object", "x": [1, 2] })));
    // echo -n '{"inputSchema":{},"name":"a","outputSchema":{}}' | sha256sum
    assert_eq!(
        digest(&json!({ "outputSchema": {}, "name": "a", "inputSchema": {} })),
        "b7a282f6af5be44f2eb0486aeff519e9f5981228ae78e686afe355690ca218c4"
    );
    assert_eq!(
        canonical_json(&json!({ "b": "\"\u{1}é", "a": [1.5, null, true, {}] })),
        "{\"a\":[1.5,null,true,{}],\"b\":\"\\\"\\u0001é\"}"
    );
}

#[test]
fn suggestions_are_few_and_plausible() {
    let tools = ["create_issue", "create_issue_comment", "list_issues", "get_me", "createIssue"];
    assert_eq!(nearest("create-issue", tools), ["createIssue", "create_issue", "create_issue_comment"]);
    assert_eq!(nearest("creat_isue", tools)[..2], ["createIssue", "create_issue"]);
    assert!(nearest("x", tools).is_empty());
    assert!(nearest("", tools).is_empty());
    assert_eq!(nearest("tool", ["tool1", "tool2", "tool3", "tool4", "tool5", "tool6"]).len(), 5);
}

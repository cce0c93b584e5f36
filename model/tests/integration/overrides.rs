//! Tests overrides: how they are read, how they change a snapshot, and each fault.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_model::{Overrides, Snapshot, digest};
use serde_json::json;

const SNAPSHOT: &str = r#"{
  "tools": [
    {
      "name": "create_issue",
      "inputSchema": {
        "type": "object",
        "properties": {
          "title": { "type": "string", "maxLength": 10 },
          "labels": { "type": "array" }
        },
        "required": ["title"]
      }
    },
    { "name": "get/issue", "inputSchema": { "type": "object" }, "outputSchema": { "type": "object", "title": "Issue" } },
    { "name": "twin", "inputSchema": { "type": "object" } },
    { "name": "twin", "inputSchema": { "type": "object", "title": "Other" } }
  ]
}"#;

fn snapshot() -> Snapshot {
    Snapshot::parse(SNAPSHOT).unwrap()
}

/// Overrides with these tools, one a line.
fn overriding(tools: &str) -> String {
    format!("{{\n  \"format\": 1,\n  \"tools\": {{\n    {tools}\n  }}\n}}\n")
}

fn applied(tools: &str) -> Snapshot {
    Overrides::parse(&overriding(tools)).and_then(|overrides| overrides.apply(&snapshot())).unwrap()
}

/// Returns the error for overrides that cannot be read or do not fit.
fn said(tools: &str) -> String {
    said_of(&overriding(tools))
}

fn said_of(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let snapshot_path = folder.path().join("gh.json");
    mcp_bindgen_model::write_if_changed(&folder.path().join("gh.overrides.json"), text.as_bytes()).unwrap();
    let read = Overrides::load_beside(snapshot_path).map(|read| read.expect("the file is there"));
    let error = read.and_then(|overrides| overrides.apply(&snapshot())).expect_err("it does not fit");
    let said = error.to_string().replace(&format!("{}/", folder.path().display()), "");
    assert!(said.contains("\n --> gh.overrides.json:"), "it says where: {said}");
    said
}

#[test]
fn schema_can_be_replaced_or_patched() {
    let mended = applied(
        r#""create_issue": {
             "patch": { "inputSchema": { "properties": { "title": { "maxLength": null }, "labels": { "items": { "type": "string" } } } } },
             "outputSchema": { "type": "array" }, "learnedFrom": 12 },
           "get/issue": { "patch": { "outputSchema": { "properties": { "id": { "type": "integer" } } } } }"#,
    );
    assert_eq!(
        mended.tools[0],
        json!({
            "name": "create_issue",
            "inputSchema": {
                "type": "object",
                "properties": { "title": { "type": "string" }, "labels": { "type": "array", "items": { "type": "string" } } },
                "required": ["title"]
            },
            "outputSchema": { "type": "array" }
        })
    );
    let expected = json!({ "type": "object", "title": "Issue", "properties": { "id": { "type": "integer" } } });
    assert_eq!(mended.tools[1]["outputSchema"], expected);
    assert_eq!(mended.tools[2..], snapshot().tools[2..], "the others are as they were");

    let create = mended.overridden.get("create_issue").unwrap();
    assert_eq!((&create.declared, create.learned_from), (&snapshot().tools[0], Some(12)));
    assert_eq!(mended.overridden.get("get/issue").unwrap().declared, snapshot().tools[1]);
    assert_eq!(mended.overridden.len(), 2);
    assert_eq!(digest(&create.declared), digest(&snapshot().tools[0]), "a digest is of what the server said");
    assert_ne!(digest(&create.declared), digest(&mended.tools[0]));
}

#[test]
fn output_schema_can_be_replaced_or_removed() {
    let replaced = applied(r#""get/issue": { "outputSchema": { "type": "string" } }"#);
    assert_eq!(replaced.tools[1]["outputSchema"], json!({ "type": "string" }));
    let removed = applied(r#""get/issue": { "patch": { "outputSchema": null } }"#);
    assert_eq!(removed.tools[1].get("outputSchema"), None);
}

#[test]
fn overrides_are_optional_and_stored_beside_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = folder.path().join("gh.json");
    assert_eq!(Overrides::load_beside(&snapshot), Ok(None));
    let overrides = Overrides::parse(&overriding(r#""a": { "outputSchema": {}, "learnedFrom": 3 }"#)).unwrap();
    let path = Overrides::beside(&snapshot);
    assert_eq!(overrides.save(&path), Ok(true));
    assert_eq!(overrides.save(&path), Ok(false), "a file that does not change is not written");
    let read = Overrides::load_beside(&snapshot).unwrap().unwrap();
    assert_eq!((read.path(), &read.tools), (Some(path.as_path()), &overrides.tools));
    let expected = "{\n  \"format\": 1,\n  \"tools\": {\n    \"a\": {\n      \"outputSchema\": {},\n      \"learnedFrom\": 3\n    }\n  }\n}\n";
    assert_eq!(read.source(), expected);
}

#[cfg(unix)]
#[test]
fn broken_symbolic_link_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("gone.json", folder.path().join("gh.overrides.json")).unwrap();
    let error = Overrides::load_beside(folder.path().join("gh.json")).unwrap_err();
    assert_eq!(error.message, "file not found");
}

#[test]
fn malformed_overrides_file_is_an_error_with_its_position() {
    for (text, expected) in [
        ("", "the overrides file is empty\n --> gh.overrides.json:1:1"),
        (
            "{\"tools\": {\"a\"",
            "the overrides file is cut off: EOF while parsing an object\n --> gh.overrides.json:1:14",
        ),
        ("{\"tools\": {},}", "the overrides file is not valid JSON: trailing comma\n --> gh.overrides.json:1:14"),
        ("[]", "the overrides file is not an object\n --> gh.overrides.json:1:1"),
        (
            "{\"format\": 1}",
            "missing object `tools`\n --> gh.overrides.json:1:1\n  = help: its keys are tool names, its values the overrides",
        ),
        ("{\"tools\": []}", "`tools` is not an object\n --> gh.overrides.json:1:2"),
        ("{\"format\": \"1\", \"tools\": {}}", "`format` is not 1\n --> gh.overrides.json:1:2"),
        (
            "{\n\"format\": 3,\n\"new\": true}",
            "the overrides file has format 3; mcp-bindgen 0.1.0 reads format 1\n --> gh.overrides.json:2:1\n  = help: \
             install mcp-bindgen 0.3 or later, in Cargo.toml and on the command line",
        ),
        (
            "{\"tolls\": {}, \"tools\": {}}",
            "unknown key `tolls` in the overrides file\n --> gh.overrides.json:1:2\n  = help: did you mean `tools`?",
        ),
    ] {
        assert_eq!(said_of(text), expected);
    }
    assert!(
        said_of("{\"tools\": {\"a\": {\"outputSchema\": {\"maximum\": 1e999}}}}")
            .contains("not valid JSON: number out of range")
    );
}

#[test]
fn invalid_override_is_an_error_with_its_position() {
    for (tools, expected) in [
        (
            r#""create_issue": 1"#,
            "the override of tool `create_issue` is not an object\n --> gh.overrides.json:4:5 (tool create_issue)",
        ),
        (
            r#""create_issue": {}"#,
            "the override of tool `create_issue` has no effect\n --> gh.overrides.json:4:5 (tool create_issue)\n  = help: remove it, or add a `patch` or an `outputSchema`",
        ),
        (
            r#""create_issue": { "patch": {} }"#,
            "the override of tool `create_issue` has no effect\n --> gh.overrides.json:4:5 (tool create_issue)\n  = help: remove it, or add a `patch` or an `outputSchema`",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": {} } }"#,
            "the patch in the override of tool `create_issue` has no effect\n --> gh.overrides.json:4:34 (tool create_issue, /patch/inputSchema)",
        ),
        (
            r#""create_issue": { "outputSchem": {} }"#,
            "unknown key `outputSchem` in the override of tool `create_issue`\n --> gh.overrides.json:4:23 (tool create_issue, /outputSchem)\n  = help: did \
             you mean `outputSchema`?",
        ),
        (
            r#""create_issue": { "patch": { "description": "x" } }"#,
            "unknown key `description` in the patch in the override of tool `create_issue`\n --> \
             gh.overrides.json:4:34 (tool create_issue, /patch/description)\n  = help: known keys: `inputSchema`, `outputSchema`",
        ),
        (
            r#""create_issue": { "outputSchema": true }"#,
            "`outputSchema` in the override of tool `create_issue` is not an object\n --> gh.overrides.json:4:23 (tool create_issue, /outputSchema)",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": ["a"] } }"#,
            "`inputSchema` in the patch in the override of tool `create_issue` is not an object\n --> gh.overrides.json:4:34 (tool create_issue, /patch/inputSchema)",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": null } }"#,
            "the patch in the override of tool `create_issue` removes `inputSchema`, which is required\n --> gh.overrides.json:4:34 (tool create_issue, /patch/inputSchema)",
        ),
        (
            r#""create_issue": { "outputSchema": {}, "patch": { "outputSchema": { "title": "x" } } }"#,
            "the override of tool `create_issue` has both an `outputSchema` and a patch for it\n --> gh.overrides.json:4:54 (tool create_issue, /patch/outputSchema)\n  = help: write the change into `outputSchema`",
        ),
        (
            r#""create_issue": { "outputSchema": {}, "learnedFrom": 1.5 }"#,
            "`learnedFrom` must be a whole number above zero\n --> gh.overrides.json:4:43 (tool create_issue, /learnedFrom)",
        ),
        (
            r#""create_issue": { "outputSchema": {}, "learnedFrom": 0 }"#,
            "`learnedFrom` must be a whole number above zero\n --> gh.overrides.json:4:43 (tool create_issue, /learnedFrom)",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": { "title": "x" } }, "learnedFrom": 2 }"#,
            "the override of tool `create_issue` has `learnedFrom` without a learned `outputSchema`\n --> gh.overrides.json:4:69 (tool create_issue, /learnedFrom)",
        ),
        (
            r#""create_issue": { "outputSchema": {"type": "string", "type": "object"} }"#,
            "duplicate key `type`\n --> gh.overrides.json:4:58 (tool create_issue, /outputSchema/type)",
        ),
    ] {
        assert_eq!(said(tools), expected, "{tools}");
    }
}

#[test]
fn override_that_does_not_match_the_snapshot_is_an_error() {
    for (tools, expected) in [
        (
            r#""creat_issue": { "outputSchema": {} }"#,
            "unknown tool `creat_issue` in the overrides\n --> gh.overrides.json:4:5 (tool creat_issue)\n  = help: did you mean `create_issue`, `get/issue`?",
        ),
        (
            r#""zebra": { "outputSchema": {} }"#,
            "unknown tool `zebra` in the overrides\n --> gh.overrides.json:4:5 (tool zebra)\n  = help: remove it; `mcp-bindgen list` shows the tools of a snapshot",
        ),
        (
            r#""twin": { "outputSchema": {} }"#,
            "the server has several tools named `twin`, so an override is ambiguous\n --> gh.overrides.json:4:5 (tool twin)\n  = help: remove it",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": { "properties": { "lables": { "items": {} } } } } }"#,
            "the patch of tool `create_issue` changes `lables`, which does not exist\n --> gh.overrides.json:4:67 (tool create_issue, /inputSchema/properties/lables)\n  = help: did you mean `labels`? a patch changes declared parts; add new constraints in `allOf`",
        ),
        (
            r#""create_issue": { "patch": { "inputSchema": { "properties": { "title": { "pattern": null } } } } }"#,
            "the patch of tool `create_issue` removes a key that does not exist\n --> gh.overrides.json:4:78 (tool create_issue, /inputSchema/properties/title/pattern)\n  = help: `null` removes a key; delete this line",
        ),
        (
            r#""create_issue": { "patch": { "outputSchema": null } }"#,
            "the patch of tool `create_issue` removes a key that does not exist\n --> gh.overrides.json:4:34 (tool create_issue, /outputSchema)\n  = help: `null` removes a key; delete this line",
        ),
        (
            r#""create_issue": { "patch": { "outputSchema": { "type": "object" } } }"#,
            "tool `create_issue` has no `outputSchema` to patch\n --> gh.overrides.json:4:34 (tool create_issue, /outputSchema)\n  = help: add a whole `outputSchema` beside `patch`",
        ),
        (
            r#""get/issue": { "outputSchema": { "type": "object", "title": "Issue" } }"#,
            "the override of tool `get/issue` has no effect: the server declares the same\n --> gh.overrides.json:4:5 (tool get/issue)\n  = help: remove it",
        ),
    ] {
        assert_eq!(said(tools), expected, "{tools}");
    }
}

#[test]
fn each_suggested_tool_is_escaped_by_itself() {
    let snapshot =
        Snapshot { tools: vec![json!({ "name": "ab" }), json!({ "name": "\u{fe0f}ab" })], ..Snapshot::default() };
    let overrides = Overrides::parse(&overriding(r#""abc": { "outputSchema": {} }"#)).unwrap();
    let help = overrides.apply(&snapshot).unwrap_err().help;
    assert_eq!(help.as_deref(), Some(r"did you mean `ab`, `\u{fe0f}ab`?"));
}

#[test]
fn every_mismatch_is_reported() {
    let tools = r#""gone": { "outputSchema": {} },
        "create_issue": { "patch": { "inputSchema": { "description": null, "properties": { "x": { "type": "string" } } } } }"#;
    let overrides = Overrides::parse(&overriding(tools)).unwrap();
    let misfits = overrides.misfits(&snapshot());
    let messages: Vec<&str> = misfits.iter().map(|misfit| misfit.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "the patch of tool `create_issue` removes a key that does not exist",
            "the patch of tool `create_issue` changes `x`, which does not exist",
            "unknown tool `gone` in the overrides",
        ]
    );
    assert_eq!(overrides.apply(&snapshot()).unwrap_err(), misfits[0]);
}

#[test]
fn names_are_escaped_in_messages() {
    let said = said("\"a\\u001b[2J\\u202e\": { \"outputSchema\": {} }");
    assert!(said.contains(r"`a\u{1b}[2J\u{202e}`"), "{said}");
}

#[test]
fn position_is_found_in_patches_and_schemas() {
    let text = overriding(
        r#""a/b": { "patch": { "inputSchema": { "title": "x" } },
             "outputSchema": { "type": "text" } }"#,
    );
    let overrides = Overrides::parse(&text).unwrap();
    assert_eq!(overrides.position("a/b", "/inputSchema/title"), Some((4, 42)));
    assert_eq!(overrides.position("a/b", "/outputSchema/type"), Some((5, 32)));
    assert_eq!(overrides.position("a/b", "/inputSchema/type"), None);
}

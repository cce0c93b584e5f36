//! `doctor`: each thing that can be in the way, with what mends it.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::common;

use std::net::TcpListener;

use common::Project;
use serde_json::json;

#[test]
fn what_is_in_the_way_is_told_with_what_mends_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let project = Project::new(&format!(
        r#"
        [servers.fine]
        command = "SERVER"
        env = {{ LEVEL = "${{DOCTOR_LEVEL:-debug}}" }}
        [servers.node]
        command = "npx-that-is-not-there"
        env = {{ TOKEN = "${{DOCTOR_TOKEN}}", PATH = "/nowhere" }}
        [servers.package]
        npm = "pkg"
        env = {{ PATH = "/nowhere" }}
        [servers.open]
        url = "http://{}/mcp"
        [servers.shut]
        url = "http://{closed}/mcp"
        "#,
        listener.local_addr().unwrap()
    ));
    project.write("Cargo.toml", "[package]\nname = \"app\"\n");
    project.write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"mcp-bindgen\"\nversion = \"9.1.0\"\n");
    project.write("src/main.rs", "mcp_bindgen::mcp_tools!(\"fin\");\nmcp_bindgen::mcp_tools!(\"fine\");\n");
    project.write("mcp/fine.json", r#"{"tools":[]}"#);
    project.write("mcp/open.json", r#"{"format":7,"tools":[]}"#);
    let run = |arguments: &[&str]| {
        let mut command = project.command();
        command.args(arguments);
        for name in [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "NO_PROXY",
            "SSL_CERT_FILE",
            "REQUESTS_CA_BUNDLE",
            "UV_INDEX_URL",
            "npm_config_registry",
            "VOLTA_HOME",
            "DOCTOR_TOKEN",
        ] {
            command.env_remove(name);
        }
        command.env("NODE_EXTRA_CA_CERTS", "/certificates.pem").output().unwrap()
    };
    let all = run(&["doctor"]);
    let said = String::from_utf8(all.stderr).unwrap();
    assert_eq!(all.status.code(), Some(1), "{said}");
    for line in [
        "error: versions: the crate is built with `mcp-bindgen` 9.1.0",
        "error: bindings: src/main.rs binds `fin`, which is no server of the configuration\n  = help: did you mean `fine`?",
        "        Fine fine: variables: `DOCTOR_LEVEL` is not set, and has a default",
        "warning: fine: environment: a variable is set here and not given to the server\n  = help: where it needs them: `inherit_env = [\"NODE_EXTRA_CA_CERTS\"]`",
        "        Fine fine: snapshot: mcp/fine.json",
        "error: node: variables: `DOCTOR_TOKEN` is not set\n  = help: `export DOCTOR_TOKEN=..`",
        "error: node: program: `npx-that-is-not-there` was not found in /nowhere\n  = help: install it",
        "error: package: program: `npx` was not found in /nowhere\n  = help: install node.js",
        "error: node: snapshot: mcp/node.json is not there\n  = help: run `mcp-bindgen sync node`",
        "        Fine open: address: 127.0.0.1:",
        "error: open: snapshot: mcp/open.json was written by a newer mcp-bindgen",
        "error: shut: address: 127.0.0.1:",
    ] {
        assert!(said.contains(line), "not said: {line}\n{said}");
    }
    let fine = run(&["doctor", "fine", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_slice(&fine.stdout).unwrap();
    assert_eq!(report["format"], 1);
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["server"] == "fine" || finding["server"] == json!(null)), "{report}");
    assert!(findings.iter().any(|finding| finding["subject"] == "program" && finding["level"] == "fine"), "{report}");
}

#[test]
fn what_a_file_of_other_programs_says_and_nobody_obeys_is_told() {
    let project = Project::empty();
    project.write(
        ".mcp.json",
        r#"{ "mcpServers": {
            "a": { "command": "sh", "disabled": true, "envFile": ".env", "timeout": 5, "oauth": { "clientId": "planted-1" } },
            "b": { "url": "http://127.0.0.1:9/", "headersHelper": "echo planted-2" },
            "c": { "command": "sh" }
        } }"#,
    );
    let report = project.run(&["doctor", "--format", "json"]).json();
    let told: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["subject"] == "configuration")
        .map(|finding| {
            assert!(finding["help"].as_str().unwrap().contains("mcp-bindgen import --from .mcp.json"), "{finding}");
            format!("{}: {}", finding["server"].as_str().unwrap(), finding["text"].as_str().unwrap())
        })
        .collect();
    let expected = [
        "a: it is switched off for other programs, and not here: `disabled` is true",
        "a: `timeout` is a number, whose unit nobody knows, and is passed over",
        "a: `envFile` is not taken over",
        "a: `oauth` (with `clientId`) is not taken over",
        "b: `headersHelper` is not taken over",
    ];
    for text in expected {
        assert!(told.iter().any(|told| told.starts_with(text)), "{text}\n{told:#?}");
    }
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    assert!(!report.to_string().contains("planted"), "{report}");
}

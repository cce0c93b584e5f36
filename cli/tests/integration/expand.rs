//! Tests the errors of `expand`, and `expand` with several servers.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::common;

use common::Project;
use serde_json::json;

const PING: &str = r#"{"tools": [{"name": "ping", "inputSchema": {"type": "object"}}]}"#;

/// Servers of these names, each with a snapshot.
fn with(servers: &[&str]) -> Project {
    let project = Project::empty();
    let config: String = servers.iter().map(|server| format!("[servers.{server}]\ncommand = \"x\"\n")).collect();
    project.write("mcp.toml", &config);
    for server in servers {
        project.write(&format!("mcp/{server}.json"), PING);
    }
    project
}

#[test]
fn conflicting_file_names_are_refused() {
    let project = with(&["a-b", "a_b", "c"]);
    project.run(&["expand", "-o", "gen"]).exits_with(1).says("servers `a-b`, `a_b` have the same file name `a_b.rs`");
    assert!(!project.path("gen/a_b.rs").exists());
    assert!(project.read("gen/c.rs").contains("ServerSpec::new(\"c\")"));
    project.run(&["expand", "a-b", "-o", "gen/one.rs"]).exits_with(0);
    assert!(project.read("gen/one.rs").contains("ServerSpec::new(\"a-b\")"));
}

#[test]
fn failed_server_does_not_stop_the_others() {
    let project = with(&["a", "b", "c"]);
    std::fs::remove_file(project.path("mcp/a.json")).unwrap();
    project.write("gen/b.rs", "fn main() {}\n");
    let run = project.run(&["expand", "-o", "gen", "--format", "json"]).exits_with(1);
    let run = run.says("server `a` has no snapshot").says("was not changed\n --> gen/b.rs").says("Wrote gen/c.rs");
    let json = run.json();
    assert_eq!(json["files"], json!([{ "format": 1, "file": "gen/c.rs", "status": "written" }]));
    let errors: Vec<&str> = json["errors"].as_array().unwrap().iter().map(|error| error.as_str().unwrap()).collect();
    assert!(
        errors.len() == 2 && errors[0].contains("no snapshot") && errors[1].contains("was not changed"),
        "{errors:?}"
    );
    assert_eq!(project.read("gen/b.rs"), "fn main() {}\n");
    // One that was named is all that was asked for.
    project.run(&["expand", "a", "-o", "gen/a.rs"]).exits_with(1).says("has no snapshot");
}

#[test]
fn prefix_option_follows_the_rules_of_the_configuration() {
    let project = with(&["s"]);
    for word in ["", "1 bad!", "a b", "_x", "é"] {
        project.run(&["expand", "s", "--prefix", word]).exits_with(2).says("invalid prefix").says("`--no-prefix`");
        project.write("other.toml", &format!("[servers.s]\ncommand = \"x\"\nprefix = {word:?}\n"));
        project.run(&["--config", "other.toml", "expand", "s"]).exits_with(1).says("is not a valid prefix");
    }
    let code = project.run(&["expand", "s", "--prefix", "my-own"]).exits_with(0).stdout;
    assert!(code.contains("pub struct MyOwnPingParams"), "{code}");
    project.write("other.toml", "[servers.s]\ncommand = \"x\"\nprefix = false\n");
    let code = project.run(&["expand", "s", "--no-prefix"]).exits_with(0).stdout;
    let configured = project.run(&["--config", "other.toml", "expand", "s"]).exits_with(0).stdout;
    // How the server is reached is in the code too.
    assert_eq!(code, configured.replace(r#",\"prefix\":false"#, ""));
    project.run(&["expand", "s", "--no-prefix", "--prefix", "x"]).exits_with(2);
    project.run(&["expand", "s", "--no-prefix", "-o", "s.rs"]).exits_with(0);
    let header = project.read("s.rs");
    assert!(header.lines().next().unwrap().ends_with("`mcp-bindgen expand s --no-prefix -o s.rs`"), "{header}");
}

#[test]
fn unused_config_option_is_refused() {
    let project = with(&["s"]);
    for arguments in [
        &["expand", "--snapshot", "mcp/s.json"][..],
        &["expand", "--snapshot", "mcp/s.json", "-o", "s.rs"],
        &["list", "--snapshot", "mcp/s.json"],
        &["list", "--shapes", "--snapshot", "mcp/s.json"],
        &["diff", "mcp/s.json", "mcp/s.json"],
        &["diff", "mcp/s.json@main", "./mcp/s.json"],
    ] {
        for config in ["nosuch.toml", "mcp.toml"] {
            let run = project.run(&[&["--config", config][..], arguments].concat()).exits_with(2);
            run.says("does not use a configuration: remove `--config`");
        }
    }
    assert!(!project.path("s.rs").exists());
    project.run(&["--config", "nosuch.toml", "diff", "mcp/s.json", "s"]).exits_with(1).says("nosuch.toml");
}

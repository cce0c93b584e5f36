//! Tests the effects of the environment: `MCP_SERVERS`, and the variables that child processes inherit.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout
)]

#[cfg(all(unix, feature = "stdio"))]
mod children;
#[cfg(all(unix, feature = "stdio"))]
#[path = "../common/mod.rs"]
mod common;
#[cfg(all(target_os = "linux", feature = "stdio"))]
mod descendants;

use std::fmt::Debug;
use std::process::Command;

use mcp_bindgen_runtime::{Client, ClientOptions, ServerSpec, Servers};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const SPEC: ServerSpec = ServerSpec::new("fixture").config(r#"{"command":"embedded"}"#);

/// Returns the output of a program with bindings of `fixture`, for this value of `MCP_SERVERS`.
fn program(servers: &str) -> String {
    let test = std::env::current_exe().expect("the test has a path");
    let output = Command::new(test)
        .args(["--exact", "bindings_connect", "--ignored", "--nocapture"])
        .env("MCP_SERVERS", servers)
        .output()
        .expect("the test runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
#[ignore = "the program that the other tests run"]
fn bindings_connect() {
    tracing::subscriber::with_default(Print, || {
        match Client::for_spec(&SPEC) {
            Ok(client) => println!("configured: {:?}", client.config().to_json()),
            Err(error) => println!("failed: {error}"),
        }
        let servers = Servers::from_env().expect("it can be read");
        println!("servers: {:?}", servers.names().collect::<Vec<_>>());
    });
}

#[test]
fn server_in_mcp_servers_overrides_the_embedded_one() {
    let said = program(r#"{"fixture":{"command":"named"}}"#);
    assert!(said.contains("named") && !said.contains("embedded") && !said.contains("warning"), "{said}");
    let said = program("{}");
    assert!(said.contains("embedded") && !said.contains("warning"), "{said}");
}

#[test]
fn unknown_names_in_mcp_servers_are_a_warning() {
    let said = program(r#"{"fixtur":{"command":"named"}}"#);
    let warning = "warning: MCP_SERVERS does not contain the server `fixture` of these bindings; was `fixtur` meant?";
    assert!(said.contains(warning) && said.contains("embedded"), "{said}");
    let said = program(r#"{"zebra":{"command":"named"}}"#);
    assert!(said.contains("of these bindings; it names zebra"), "{said}");
    let said = program(r#"{"Fixture":{"command":"named"}}"#);
    assert!(said.contains("was `Fixture` meant?"), "{said}");
}

const BARE: ServerSpec = ServerSpec::new("fixture");

/// The program of somebody who is in a folder of somebody else.
#[test]
#[ignore = "the program that the other tests run"]
fn bare_bindings_connect() {
    let trusts = std::env::var_os("TRUSTS").is_some();
    let client = if trusts {
        Client::for_spec_with(&BARE, ClientOptions::new().trust_current_folder())
    } else {
        Client::for_spec(&BARE)
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match client.map(|client| runtime.block_on(client.connect())) {
        Ok(outcome) => println!("tried: {outcome:?}"),
        Err(error) => println!("failed: {error}"),
    }
}

#[cfg(all(unix, feature = "stdio"))]
#[test]
fn configuration_in_the_working_directory_is_ignored_unless_trusted() {
    for name in ["mcp.toml", ".mcp.json"] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = match name {
            "mcp.toml" => "[servers.fixture]\ncommand = \"/bin/sh\"\nargs = [\"-c\", \"echo > ran\"]\n",
            _ => r#"{"mcpServers": {"fixture": {"command": "/bin/sh", "args": ["-c", "echo > ran"]}}}"#,
        };
        std::fs::write(folder.path().join(name), text).expect("a file");
        let run = |trusts: bool| {
            let mut program = Command::new(std::env::current_exe().expect("the test has a path"));
            program.args(["--exact", "bare_bindings_connect", "--ignored", "--nocapture"]);
            program.current_dir(folder.path()).env_remove("MCP_SERVERS");
            if trusts {
                program.env("TRUSTS", "1");
            }
            let output = program.output().expect("the test runs");
            assert!(output.status.success(), "{output:?}");
            (String::from_utf8(output.stdout).expect("text"), folder.path().join("ran").exists())
        };
        let (said, ran) = run(false);
        let refused = said.contains(&format!("{name}` is only read with `connect_with`"));
        assert!(refused && !ran, "{said}");
        let (said, ran) = run(true);
        assert!(said.contains("tried: Err") && ran, "{said}");
    }
}

/// Prints warnings.
struct Print;

impl Subscriber for Print {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Message);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            println!("warning: {value:?}");
        }
    }
}

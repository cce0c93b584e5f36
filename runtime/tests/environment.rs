//! `MCP_SERVERS`: what bindings do with it, and what is said where it names others.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::fmt::Debug;
use std::process::Command;

use mcp_runtime::{Client, ServerSpec, Servers};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

const SPEC: ServerSpec = ServerSpec::new("fixture").config(r#"{"command":"embedded"}"#);

/// What a program with bindings of `fixture` prints where `MCP_SERVERS` is this.
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
fn a_server_of_the_variable_comes_before_the_embedded_one() {
    let said = program(r#"{"fixture":{"command":"named"}}"#);
    assert!(said.contains("named") && !said.contains("embedded") && !said.contains("warning"), "{said}");
    let said = program("{}");
    assert!(said.contains("embedded") && !said.contains("warning"), "{said}");
}

#[test]
fn names_that_are_not_those_of_the_bindings_are_a_warning() {
    let said = program(r#"{"fixtur":{"command":"named"}}"#);
    let warning = "warning: MCP_SERVERS does not name the server `fixture` of these bindings; was `fixtur` meant?";
    assert!(said.contains(warning) && said.contains("embedded"), "{said}");
    let said = program(r#"{"zebra":{"command":"named"}}"#);
    assert!(said.contains("of these bindings; it names zebra"), "{said}");
    let said = program(r#"{"Fixture":{"command":"named"}}"#);
    assert!(said.contains("was `Fixture` meant?"), "{said}");
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

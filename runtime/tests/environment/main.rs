//! Tests the effects of the environment: `MCP_SERVERS`, and the variables that child processes inherit.

#![allow(clippy::disallowed_methods, clippy::print_stdout)]
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[cfg(all(unix, feature = "stdio"))]
mod children;
#[cfg(all(unix, feature = "stdio"))]
#[path = "../common/mod.rs"]
mod common;
#[cfg(all(target_os = "linux", feature = "stdio"))]
mod descendants;
#[path = "../recorder/mod.rs"]
mod recorder;

use std::process::Command;

use mcp_bindgen_runtime::{Client, ClientOptions, ServerSpec, Servers};
use recorder::Recorder;

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
    let recorder = Recorder::of_warnings();
    tracing::subscriber::with_default(recorder.clone(), || {
        match Client::for_spec(&SPEC) {
            Ok(client) => println!("configured: {:?}", client.config().to_json()),
            Err(error) => println!("failed: {error}"),
        }
        let servers = Servers::from_env().expect("it can be read");
        println!("servers: {:?}", servers.names().collect::<Vec<_>>());
    });
    recorder.lines().iter().for_each(|line| println!("warning: {line}"));
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
    let warning = "MCP_SERVERS does not contain the server `fixture` of these bindings; did you mean `fixtur`?";
    assert!(said.contains("warning: ") && said.contains(warning) && said.contains("embedded"), "{said}");
    let said = program(r#"{"zebra":{"command":"named"}}"#);
    assert!(said.contains("of these bindings; configured are zebra"), "{said}");
    let said = program(r#"{"Fixture":{"command":"named"}}"#);
    assert!(said.contains("did you mean `Fixture`?"), "{said}");
}

/// Asks where requests would go, and why two fail: the ports are closed.
#[cfg(feature = "http")]
#[test]
#[ignore = "the program that the other tests run"]
fn requests_over_http() {
    use std::time::Duration;

    use mcp_bindgen_model::ServerConfig;
    use mcp_bindgen_runtime::__private::fetch_json;
    use mcp_bindgen_runtime::Route;

    let url = "http://files.example/mcp";
    let route = Route::to(url, &ServerConfig::http("files", url)).expect("a route");
    println!("proxy: {:?}", route.proxy());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    for url in ["http://127.0.0.1:1/", "https://127.0.0.1:1/"] {
        let fetched = runtime.block_on(fetch_json(url, 100, Duration::from_secs(5)));
        println!("{url}: {}", fetched.expect_err("nobody listens"));
    }
}

#[cfg(all(target_os = "linux", feature = "http"))]
#[test]
fn environment_sets_the_proxy_and_the_certificates_of_the_system() {
    let program = |variables: &[(&str, &str)]| {
        let mut program = Command::new(std::env::current_exe().expect("the test has a path"));
        program.args(["--exact", "requests_over_http", "--ignored", "--nocapture"]);
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
            program.env_remove(name).env_remove(name.to_ascii_uppercase());
        }
        let output = program.envs(variables.iter().copied()).output().expect("the test runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let said = program(&[("http_proxy", "http://proxy.example:3128")]);
    assert!(said.contains(r#"proxy: Some("proxy.example:3128")"#), "{said}");
    let said = program(&[("SSL_CERT_FILE", "/nonexistent"), ("SSL_CERT_DIR", "/nonexistent")]);
    assert!(said.contains("proxy: None") && said.contains("http://127.0.0.1:1/: could not connect"), "{said}");
    assert!(said.contains("https://127.0.0.1:1/: failed to read the system's certificates"), "{said}");
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

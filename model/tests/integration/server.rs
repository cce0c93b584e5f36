//! One server's configuration: as JSON, and with its placeholders replaced.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_bindgen_model::{Config, SecretRef, ServerConfig, Transport, config_schema};
use serde_json::{Value, json};

fn toml(text: &str) -> Config {
    Config::parse_toml(text, Path::new("app/mcp.toml")).unwrap()
}

fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
    entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn server_json_round_trips() {
    let config = toml(
        r#"
        [servers.a]
        command = "x"
        args = ["${A}"]
        cwd = "${B:-/}"
        env = { C = "${env:C}" }
        inherit_env = ["D"]
        tools = []
        exclude = ["e"]
        approve = ["f"]
        prefix = "g"
        remote_use = ["f*"]
        description = "h"
        timeout = "1500ms"
        connect_timeout = "90s"
        drift = "deny"
        pin = "all"
        isolation = { home = "temp", network = "none", read = ["${DATA}", "~/x"], write = [] }

        [servers.b]
        url = "https://${HOST}/"
        headers = { X = "${Y}" }
        hosted = true
        prefix = false
        timeout = "2m"

        [servers.c]
        url = "https://example.com"
        transport = "sse"
        "#,
    );
    for (name, server) in &config.servers {
        assert_eq!(&ServerConfig::from_json(name, &server.to_json()).unwrap(), server);
    }
    let fault = ServerConfig::from_json("a", &json!({ "command": 1 })).unwrap_err();
    assert_eq!(fault.to_string(), "`command` of server `a` must be a string, not a number");
    assert!(ServerConfig::from_json("A", &json!({ "command": "x" })).is_err());
}

#[test]
fn texts_of_every_kind_of_character_round_trip() {
    let text = "\u{1}\u{8}\u{c}\n\r\t\u{1f}\u{7f}\"\\/'\u{85}\u{2028}\u{feff}\u{fffd}é課\u{1f600}\u{10ffff}";
    let server = ServerConfig::stdio("a", "x").args([text]).env(text, text).description(text);
    assert_eq!(ServerConfig::from_json("a", &server.to_json()).unwrap(), server);
}

#[test]
fn placeholders_are_expanded_everywhere_but_never_shown() {
    let server = ServerConfig::stdio("a", "${CMD}")
        .args(["--key=${KEY}", "plain"])
        .cwd("${DIR:-/tmp}")
        .env("TOKEN", "${KEY}")
        .env("PLAIN", "p");
    let lookup = |name: &str| match name {
        "CMD" => Some("run".to_owned()),
        "KEY" => Some("hunter2".to_owned()),
        _ => None,
    };
    let ready = server.expand(lookup).unwrap();
    assert_eq!(
        ready.transport,
        Transport::Stdio {
            command: "run".to_owned(),
            args: vec!["--key=hunter2".to_owned(), "plain".to_owned()],
            cwd: Some("/tmp".to_owned()),
        }
    );
    assert_eq!(ready.env, map(&[("PLAIN", "p"), ("TOKEN", "hunter2")]));
    assert_eq!(ready.to_json(), server.to_json());
    assert_eq!(format!("{ready:?}"), format!("{server:?}"));
    assert!(!format!("{:?}", ready.transport).contains("hunter2"));
    assert_eq!(ready.expand(|_| None).unwrap().to_json(), server.to_json(), "expanding again shows no more");

    let remote = ServerConfig::http("b", "https://u:${KEY}@h/${KEY}").header("X", "${KEY}").expand(lookup).unwrap();
    assert_eq!(
        remote.transport,
        Transport::Http { url: "https://u:hunter2@h/hunter2".to_owned(), headers: map(&[("X", "hunter2")]) }
    );
    assert!(!format!("{remote:?} {:?}", remote.transport).contains("hunter2"));
}

#[test]
fn missing_variable_error_names_the_server() {
    let server = ServerConfig::npm("github", "x").env("GITHUB_PERSONAL_ACCESS_TOKEN", "${GITHUB_TOKEN}");
    assert_eq!(
        server.expand(|_| None).unwrap_err().to_string(),
        "environment variable `GITHUB_TOKEN` is not set; server `github` needs it for env `GITHUB_PERSONAL_ACCESS_TOKEN`\n  \
         = help: set `GITHUB_TOKEN`"
    );
    let server = ServerConfig::npm("files", "x").args(["${FOLDER}"]);
    let error = server.expand(|_| None).unwrap_err().to_string();
    assert!(error.ends_with("= help: set `FOLDER`, or give it a default: `${FOLDER:-...}`"), "{error}");
}

#[test]
fn keyring_placeholder_is_named_and_embedded_unexpanded() {
    let server = ServerConfig::stdio("github", "x").env("TOKEN", "${keyring:my token}").env("B", "${B}").args(["${B}"]);
    assert_eq!(
        server.placeholders(),
        [SecretRef::Variable("B".to_owned()), SecretRef::Keyring("my token".to_owned())],
        "each once"
    );
    assert_eq!(
        server.expand(|name| Some(name.to_owned())).unwrap_err().to_string(),
        "no keyring entry `${keyring:my token}`; server `github` needs it for env `TOKEN`\n  = help: add it to the keyring with that name and the service `mcp-bindgen`"
    );
    let ready = server.expand_with(|secret| Some(format!("hidden {secret}"))).unwrap();
    assert_eq!(ready.env["TOKEN"], "hidden ${keyring:my token}", "a value is never expanded again");
    assert!(!format!("{ready:?}").contains("hidden") && format!("{ready:?}").contains("${keyring:my token}"));
    assert_eq!(ServerConfig::from_json("github", &ready.to_json()).unwrap(), server);

    // A default is written out, whatever it is called.
    let spare = ServerConfig::stdio("github", "x").env("MODE", "${keyring:mode:-hunter2}");
    assert_eq!(spare.secrets(), ["hunter2"]);
    assert!(!format!("{spare:?}{}", spare.to_json()).contains("hunter2"));
    assert_eq!(SecretRef::Keyring("a\u{202e}b".to_owned()).to_string(), "${keyring:a\\u{202e}b}");
}

#[test]
fn debug_of_a_configuration_escapes_control_and_bidi_characters() {
    let server = ServerConfig::stdio("a", "run").args(["\u{9b}2J\u{202e}txt"]);
    let shown = format!("{server:?}");
    assert!(!shown.contains(['\u{9b}', '\u{202e}']) && shown.contains("txt"), "{shown}");
}

/// The keys that restrict no call: the way to the server, and the code of its bindings.
const NO_DEMANDS: &str = "command args cwd npm uvx env inherit_env url transport type headers ca client_cert proxy auth \
    shared prefix types unknown rust description timeout connect_timeout secrets hosted";

#[test]
fn moved_server_keeps_every_key_that_is_a_demand() {
    let config = toml(
        r#"
        [servers.full]
        command = "x"
        args = ["a"]
        cwd = "b"
        env = { C = "c" }
        inherit_env = ["D"]
        tools = ["e*"]
        exclude = ["f"]
        approve = ["g"]
        resources = ["h"]
        prompts = ["i"]
        shared = true
        remote_use = ["j"]
        prefix = "k"
        types = "typify"
        unknown = "keep"
        rust = { checked = true }
        view.t.name = "l"
        description = "m"
        limit = "10/s"
        timeout = "1s"
        connect_timeout = "2s"
        drift = { mode = "deny", class = { MCPD0006 = "breaking" } }
        pin = "all"
        isolation = { home = "temp" }
        secrets = ["keyring"]
        [[policy]]
        tools = ["full/t"]
        then = "deny"
        "#,
    );
    let keys = |of: &Value| -> BTreeSet<String> { of.as_object().unwrap().keys().cloned().collect() };
    let no_demands: BTreeSet<String> = NO_DEMANDS.split_whitespace().map(str::to_owned).collect();
    let full = &config.servers["full"];
    let mut moved = ServerConfig::stdio("full", "moved").with_demands_of(full).to_json();
    assert_eq!(moved.as_object_mut().unwrap().remove("command"), Some(json!("moved")));
    assert_eq!(keys(&moved), &keys(&full.to_json()) - &no_demands);
    // A new key has to be in one of the lists: that of `with_demands_of`, or the one above.
    let all = keys(&config_schema()["properties"]["servers"]["additionalProperties"]["properties"]);
    assert_eq!(&keys(&moved) | &no_demands, all);
    // What a client of somebody else has to know about, but for keys about templates and about the degree of drift.
    let demands: BTreeSet<String> = full.demands().map(|demand| demand.replace(" = \"deny\"", "")).collect();
    assert_eq!(&keys(&moved) - &demands, ["pin", "remote_use"].map(str::to_owned).into());
    let demand = |server: &Value| keys(&moved).iter().map(|key| server[key].clone()).collect::<Vec<_>>();
    assert_eq!(demand(&moved), demand(&full.to_json()));
}

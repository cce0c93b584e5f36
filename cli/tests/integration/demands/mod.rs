//! Every key of `mcp.toml`, set and left out: what it changes, or why it is refused. A key without a row fails.

#![cfg(unix)]

mod bindings;
mod calls;
mod isolation;
mod network;
mod policies;
mod reach;
mod views;

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::thread;

use crate::common::{Project, fixture_server};
use mcp_bindgen_model::{Config, config_schema};
use mcp_bindgen_runtime::{Client, ClientOptions, Servers};
use serde_json::Value;

/// A key, and what shows that it is obeyed: it panics where that is not so.
type Row = (&'static str, fn());

const ROWS: &[Row] = &[
    ("tools.*.of", views::of),
    ("policy", policies::policy),
    ("access.*.principals", policies::principals),
    ("access.*.groups", policies::groups),
    ("access.*.scopes", policies::scopes),
    ("access.*.servers", policies::servers),
    ("access.*.tools", policies::tools),
    ("deny", bindings::deny),
    ("allow", bindings::allow),
    ("defaults.snapshots", bindings::snapshots),
    ("defaults.timeout", calls::default_timeout),
    ("defaults.drift", bindings::default_drift),
    ("defaults.pin", bindings::default_pin),
    ("defaults.live", bindings::live),
    ("defaults.isolation", isolation::default),
    ("defaults.secrets", reach::secrets),
    ("servers.*.command", reach::command),
    ("servers.*.args", reach::args),
    ("servers.*.cwd", reach::cwd),
    ("servers.*.npm", reach::npm),
    ("servers.*.uvx", reach::uvx),
    ("servers.*.env", reach::env),
    ("servers.*.inherit_env", reach::inherit_env),
    ("servers.*.url", reach::url),
    ("servers.*.headers", reach::headers),
    ("servers.*.transport", reach::transport),
    ("servers.*.type", reach::transport_as_type),
    ("servers.*.tools", calls::tools),
    ("servers.*.exclude", calls::exclude),
    ("servers.*.approve", calls::approve),
    ("servers.*.resources", policies::resources),
    ("servers.*.prompts", policies::prompts),
    ("servers.*.policy", policies::policy_of_server),
    ("servers.*.shared", policies::shared),
    ("servers.*.remote_use", calls::remote_use),
    ("servers.*.prefix", bindings::prefix),
    ("servers.*.types", bindings::types),
    ("servers.*.unknown", bindings::unknown),
    ("servers.*.view.*.name", views::name),
    ("servers.*.view.*.title", views::title),
    ("servers.*.view.*.description", views::description),
    ("servers.*.view.*.hints", views::hints),
    ("servers.*.view.*.hints.read_only", views::read_only),
    ("servers.*.view.*.hints.destructive", views::destructive),
    ("servers.*.view.*.hints.idempotent", views::idempotent),
    ("servers.*.view.*.hints.open_world", views::open_world),
    ("servers.*.view.*.fixed", views::fixed),
    ("servers.*.view.*.default", views::default),
    ("servers.*.view.*.hide", views::hide),
    ("servers.*.rust", bindings::rust),
    ("servers.*.rust.derive", bindings::derive),
    ("servers.*.rust.rename", bindings::rename),
    ("servers.*.rust.extern", bindings::extern_types),
    ("servers.*.rust.shared", bindings::shared),
    ("servers.*.rust.setters", bindings::setters),
    ("servers.*.rust.named", bindings::named),
    ("servers.*.rust.checked", bindings::checked),
    ("servers.*.description", calls::description),
    ("servers.*.timeout", calls::timeout),
    ("servers.*.connect_timeout", calls::connect_timeout),
    ("servers.*.drift", calls::drift),
    ("servers.*.drift.mode", calls::drift_mode),
    ("servers.*.drift.accept", calls::drift_accept),
    ("servers.*.drift.class", calls::drift_class),
    ("servers.*.pin", calls::pin),
    ("servers.*.isolation", isolation::any),
    ("servers.*.isolation.home", isolation::home),
    ("servers.*.isolation.network", isolation::network),
    ("servers.*.isolation.read", isolation::read),
    ("servers.*.isolation.write", isolation::write),
    ("servers.*.secrets", reach::secrets),
    ("servers.*.ca", network::ca),
    ("servers.*.client_cert", network::client_cert),
    ("servers.*.proxy", network::proxy),
    ("servers.*.limit", network::limit),
    ("servers.*.auth", network::auth),
    ("servers.*.auth.issuer", network::issuer),
    ("servers.*.auth.client", network::client),
    ("servers.*.auth.client_secret", network::client_secret),
    ("servers.*.auth.scopes", network::scopes),
    ("servers.*.auth.grant", network::grant),
    ("servers.*.auth.redirect_port", network::redirect_port),
    ("servers.*.hosted", reach::hosted),
];

/// Returns every key of `mcp.toml` with its tables: `defaults.timeout`, `servers.*.isolation.home`.
fn config_keys(prefix: &str, table: &Value) -> Vec<String> {
    let below = |(name, schema): (&String, &Value)| {
        let path = format!("{prefix}{name}");
        let named = &schema["additionalProperties"];
        if named["properties"].is_object() {
            return config_keys(&format!("{path}.*."), named);
        }
        let table = if schema["anyOf"].is_array() { &schema["anyOf"][1] } else { schema };
        match table["properties"].is_object() {
            // They are listed for servers.
            true if prefix == "defaults." => vec![path],
            true if prefix.is_empty() => config_keys(&format!("{path}."), table),
            // The members of an accepted change have an effect together, so lists of tables are one key.
            _ => [vec![path.clone()], config_keys(&format!("{path}."), table)].concat(),
        }
    };
    table["properties"].as_object().into_iter().flatten().flat_map(below).collect()
}

#[test]
fn every_key_has_a_row() {
    let keys = config_keys("", &config_schema());
    let known: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let shown: BTreeSet<&str> = ROWS.iter().map(|(key, _)| *key).collect();
    let missing: Vec<_> = known.difference(&shown).collect();
    assert!(missing.is_empty(), "nothing shows what these keys do: {missing:?}; give each a row in ROWS");
    let gone: Vec<_> = shown.difference(&known).collect();
    assert!(gone.is_empty(), "there are no such keys: {gone:?}");
    assert_eq!((known.len(), shown.len()), (keys.len(), ROWS.len()), "a key is there twice");
}

#[test]
fn every_key_has_an_effect_or_is_refused() {
    let _ = fixture_server();
    // Most of the time they wait for processes.
    let failed: Vec<&str> = thread::scope(|scope| {
        let rows = ROWS.iter().map(|(key, shows)| (key, scope.spawn(move || catch_unwind(shows).is_err())));
        let rows: Vec<_> = rows.collect();
        rows.into_iter().filter_map(|(key, row)| row.join().unwrap().then_some(*key)).collect()
    });
    assert!(failed.is_empty(), "not obeyed: {failed:?}");
}

#[test]
fn unknown_key_is_refused_in_every_table() {
    for (key, near, table) in [
        ("default", "defaults", ""),
        ("snapshot", "snapshots", "[defaults]"),
        ("aprove", "approve", "[servers.hub]\ncommand = \"x\""),
        ("renames", "rename", "[servers.hub]\ncommand = \"x\"\n[servers.hub.rust]"),
        ("fix", "fixed", "[servers.hub]\ncommand = \"x\"\n[servers.hub.view.add]"),
        ("redirect", "redirect_port", "[servers.hub]\nurl = \"http://x/\"\n[servers.hub.auth]"),
        ("networks", "network", "[servers.hub]\ncommand = \"x\"\n[servers.hub.isolation]"),
    ] {
        let said = refusal(&format!("{table}\n{key} = []\n"));
        let expected = [format!("unknown key `{key}`"), format!("did you mean `{near}`?")];
        assert!(expected.iter().all(|part| said.contains(part)), "{said}");
    }
}

/// Expands the macro as a build does; `bindings::live` runs this test with `DEMANDS_FOLDER` and `DEMANDS_OUT` set.
#[test]
#[ignore = "the program that another test runs"]
fn a_build() {
    let folder = std::env::var_os("DEMANDS_FOLDER").expect("the folder of a crate");
    let expanded = mcp_bindgen_codegen::project::expand_macro("\"hub\"".parse().unwrap(), Some(folder.into()));
    fs::write(std::env::var_os("DEMANDS_OUT").expect("a file"), expanded.to_string()).expect("the file");
}

/// Runs `use_it` with a client of the server `hub` of a project, as a program has it.
fn with_client<T>(project: &Project, options: ClientOptions, use_it: impl AsyncFnOnce(&Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let servers = Servers::load_with(project.path("mcp.toml"), options).expect("it can be read");
        let client = servers.client("hub").expect("the server");
        let result = use_it(&client).await;
        servers.close().await;
        result
    })
}

/// Why a configuration cannot be read.
fn refusal(config: &str) -> String {
    Config::parse_toml(config, "mcp.toml".as_ref()).expect_err(config).to_string()
}

//! Keys about the way to a server at a URL, as they are read, written and shown.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use mcp_bindgen_model::{AuthConfig, Config, GrantType, Rate, SecretRef, ServerConfig};
use serde_json::json;

fn remote() -> ServerConfig {
    let auth = AuthConfig::new("https://login.example").client("me").client_secret("${CLIENT_SECRET}");
    ServerConfig::http("remote", "https://example.com/mcp")
        .ca("certs/ca.pem")
        .client_cert("${CLIENT_CERT}")
        .proxy("http://me:${PROXY_PASSWORD}@proxy.example:3128")
        .limit(Rate::parse("10/s").unwrap())
        .auth(auth.scopes(["read"]).grant(GrantType::ClientCredentials))
}

#[test]
fn toml_json_and_code_are_equivalent() {
    let text = r#"
        [servers.remote]
        url = "https://example.com/mcp"
        ca = "certs/ca.pem"
        client_cert = "${CLIENT_CERT}"
        proxy = "http://me:${PROXY_PASSWORD}@proxy.example:3128"
        limit = "10/s"
        [servers.remote.auth]
        issuer = "https://login.example"
        client = "me"
        client_secret = "${CLIENT_SECRET}"
        grant = "client_credentials"
        scopes = ["read"]
    "#;
    let config = Config::parse_toml(text, Path::new("mcp.toml")).unwrap();
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.servers["remote"].to_json(), remote().to_json());
    assert_eq!(ServerConfig::from_json("remote", &remote().to_json()).unwrap(), remote());
    let port = ServerConfig::http("r", "https://h").auth(AuthConfig::default().redirect_port(8123));
    assert_eq!(ServerConfig::from_json("r", &port.to_json()).unwrap(), port);
}

#[test]
fn placeholders_are_listed_expanded_and_shown_unexpanded() {
    let names = ["CLIENT_CERT", "CLIENT_SECRET", "PROXY_PASSWORD"];
    let expected: Vec<_> = names.map(|name| SecretRef::Variable(name.to_owned())).to_vec();
    assert_eq!(remote().placeholders(), expected);
    let pem = "-----BEGIN CERTIFICATE-----\na\n-----BEGIN PRIVATE KEY-----\nhunter2";
    let value = |name: &str| Some(if name == "CLIENT_CERT" { pem } else { "hunter2" }.to_owned());
    let ready = remote().in_folder("/app").expand(value).unwrap();
    assert_eq!(ready.ca.as_deref(), Some("/app/certs/ca.pem"));
    assert_eq!(ready.client_cert.as_deref(), Some(pem), "the text of a file is no path");
    assert_eq!(ready.proxy.as_deref(), Some("http://me:hunter2@proxy.example:3128"));
    assert_eq!(ready.auth.as_ref().unwrap().client_secret.as_deref(), Some("hunter2"));
    let shown = format!("{ready:?} {:?} {}", ready.auth, ready.to_json());
    assert!(!shown.contains("hunter2") && shown.contains("${CLIENT_SECRET}"), "{shown}");
    let missing = remote().expand(|name| (name != "CLIENT_SECRET").then(String::new)).unwrap_err().to_string();
    assert!(missing.contains("needs it for `auth.client_secret`"), "{missing}");
}

#[test]
fn relative_certificate_paths_require_a_folder() {
    let with = |pem: &str| ServerConfig::http("r", "https://h").ca(pem).has_relative_paths();
    assert!(with("certs/ca.pem") && with("ca.pem"));
    assert!(!with("/etc/ca.pem") && !with("~/ca.pem") && !with("${CA}") && !with("-----BEGIN CERTIFICATE-----\n"));
}

#[test]
fn limit_is_preserved_when_a_server_moves() {
    let moved = ServerConfig::stdio("remote", "server").with_demands_of(&remote());
    assert_eq!(moved.limit, remote().limit);
    assert!(moved.ca.is_none() && moved.auth.is_none(), "they belong to the URL");
}

#[test]
fn auth_keys_of_other_programs_are_ignored() {
    for auth in [json!("oauth"), json!({ "CLIENT_ID": "me", "scopes": ["read"] }), json!(true)] {
        let text = json!({ "mcpServers": { "a": { "url": "https://h", "auth": auth } } }).to_string();
        let config = Config::parse_mcp_json(&text, Path::new(".mcp.json")).unwrap();
        assert_eq!(config.servers["a"].auth, None, "{text}");
    }
    let ours = json!({ "mcpServers": { "a": { "url": "https://h", "auth": { "scopes": ["read"] } } } }).to_string();
    let config = Config::parse_mcp_json(&ours, Path::new(".mcp.json")).unwrap();
    assert_eq!(config.servers["a"].auth, Some(AuthConfig::default().scopes(["read"])));
}

//! Connections to servers in this process, whose messages are written by hand.

use std::sync::Arc;
use std::time::Duration;

use mcp_bindgen_model::{AuthConfig, Isolation, ServerConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Listing};
use super::limits::SharedLimits;
use super::open::establish;
use super::options::ClientOptions;
use crate::rpc::handlers::{ElicitationAnswer, SamplingAnswer};
use crate::rpc::notices::Notices;
use crate::rpc::transports::duplex::Streams;
use crate::{ConnectError, ConnectErrorKind as Kind};

pub(super) const LEGACY: &str = "2025-11-25";
pub(super) const MODERN: &str = "2026-07-28";
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Returns the options of a client whose server answers each message with these messages, or ends.
pub(super) fn served(answer: impl Fn(&Value) -> Option<Vec<Value>> + Send + 'static) -> ClientOptions {
    let (near, far) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(far);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message = serde_json::from_str(&line).expect("JSON");
            let Some(answers) = answer(&message) else { return };
            for answer in answers {
                write.write_all(format!("{answer}\n").as_bytes()).await.expect("it is read");
            }
        }
    });
    let (read, write) = tokio::io::split(near);
    let mut options = ClientOptions::new();
    options.streams = Some(Streams::new(Box::new(read), Box::new(write)));
    options
}

pub(super) fn method(message: &Value) -> &str {
    message["method"].as_str().unwrap_or_default()
}

pub(super) fn result(to: &Value, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": to["id"], "result": result })
}

/// Returns the answer of a server that accepts either handshake, and answers no calls.
pub(super) fn usual(message: &Value) -> Vec<Value> {
    let answer = match method(message) {
        "initialize" => {
            json!({ "protocolVersion": LEGACY, "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } })
        }
        "server/discover" => json!({ "supportedVersions": [MODERN], "capabilities": {} }),
        "ping" => json!({}),
        _ => return Vec::new(),
    };
    vec![result(message, answer)]
}

async fn connected(config: &ServerConfig, options: &ClientOptions) -> Result<Connection, ConnectError> {
    let (notices, limits) = (Arc::new(Notices::default()), SharedLimits::new());
    establish((config, options), (&notices, &limits), PATIENCE).await
}

async fn refused(options: &ClientOptions) -> ConnectError {
    connected(&ServerConfig::stdio("s", "unused"), options).await.err().expect("no connection")
}

/// Returns an open connection, and the task that serves it.
pub(super) async fn open(options: &ClientOptions) -> (Connection, JoinHandle<()>) {
    let connection = connected(&ServerConfig::stdio("s", "unused"), options).await.expect("a connection");
    let receiving = connection.take_receiving().expect("its receiving side");
    (connection, tokio::spawn(receiving.run(CancellationToken::new())))
}

#[tokio::test]
async fn answers_and_changes_of_lists_are_counted_after_the_handshake() {
    let options = served(|message| {
        let changed = |list: &str| json!({ "jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed") });
        let changes = ["tools", "prompts", "tools", "resources", "prompts"].map(changed);
        let changes = changes.into_iter().filter(|_| method(message) == "ping");
        Some(changes.chain(usual(message)).collect())
    });
    let (connection, _serving) = open(&options).await;
    assert!(connection.is_open() && !connection.has_worked());
    assert!(connection.answers(PATIENCE).await);
    assert!(connection.has_worked());
    assert_eq!(connection.list_changes(), 2);
    assert_eq!([Listing::Tools, Listing::Prompts].map(|listing| connection.changes_of(listing)), [2, 3]);
}

#[tokio::test]
async fn server_lives_if_it_gives_any_response() {
    let error = json!({ "error": { "code": -32601, "message": "no such method" } });
    for (said, lives) in
        [(Some(json!({ "result": {} })), true), (Some(error), true), (Some(json!({})), true), (None, false)]
    {
        let response = said.clone();
        let options = served(move |message| {
            if method(message) != "ping" {
                return Some(usual(message));
            }
            let mut response = response.clone()?;
            response["jsonrpc"] = json!("2.0");
            response["id"] = message["id"].clone();
            Some(vec![response])
        });
        let (connection, serving) = open(&options).await;
        assert_eq!(connection.answers(PATIENCE).await, lives, "{said:?}");
        if !lives {
            serving.await.expect("no panic");
        }
        assert_eq!(connection.is_open(), lives, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silent_server_times_out_with_the_name_of_the_request() {
    let error = refused(&served(|_| Some(Vec::new()))).await;
    assert_eq!((error.kind, error.message.as_str()), (Kind::Timeout, "no answer to `initialize` within 10s"));
}

#[tokio::test(start_paused = true)]
async fn invalid_answer_to_initialize_outlasts_an_unanswered_discover() {
    let options = served(|message| {
        let initialize = (method(message) == "initialize").then(|| result(message, json!({})));
        Some(initialize.into_iter().collect())
    });
    let error = refused(&options).await;
    assert_eq!(error.kind, Kind::Protocol);
    assert!(error.message.contains("`initialize` failed: the response has no `protocolVersion`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn unanswered_discover_leaves_half_of_the_time_to_initialize() {
    let options =
        served(|message| Some(if method(message) == "server/discover" { Vec::new() } else { usual(message) }));
    let begun = Instant::now();
    let (connection, _serving) = open(&options.protocol_version(MODERN)).await;
    assert_eq!(connection.protocol_version, LEGACY);
    assert!((PATIENCE / 2..PATIENCE).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn demands_on_a_network_are_refused_for_streams_of_the_program() {
    let remote = || ServerConfig::http("s", "https://s.example/mcp");
    for config in [
        ServerConfig::stdio("s", "x").isolation(Isolation::new()),
        remote().ca("ca.pem"),
        remote().client_cert("client.pem"),
        remote().proxy("http://proxy.example"),
        remote().auth(AuthConfig::default()),
    ] {
        let error = connected(&config, &served(|message| Some(usual(message)))).await.err().expect("no connection");
        assert_eq!(error.kind, Kind::Config, "{config:?}");
        assert!(error.message.contains("cannot be enforced for streams"), "{error}");
    }
    connected(&remote(), &served(|message| Some(usual(message)))).await.expect("a connection");
}

#[test]
fn listing_is_found_by_its_method() {
    use Listing::{Prompts, ResourceTemplates, Resources, Skills, Tools};
    for listing in [Tools, Prompts, Resources, ResourceTemplates, Skills] {
        assert_eq!(Listing::of_method(listing.method()), Some(listing));
    }
    assert_eq!(Listing::of_method("tools/call"), None);
}

#[test]
fn options_answer_questions_with_any_handler() {
    assert!(!ClientOptions::new().answers_questions());
    assert!(ClientOptions::new().on_elicitation(async |_| ElicitationAnswer::Decline).answers_questions());
    assert!(ClientOptions::new().on_sampling(async |_| SamplingAnswer::Decline).answers_questions());
    assert!(ClientOptions::new().roots([]).answers_questions());
}

#[tokio::test]
async fn only_given_streams_are_for_one_transport() {
    let connector = async || Ok(tokio::io::split(tokio::io::duplex(1).0));
    assert!(served(|_| None).opens_one_transport());
    assert!(!ClientOptions::new().connector(connector).opens_one_transport());
    assert!(!ClientOptions::new().opens_one_transport());
}

#[test]
fn extensions_are_declared_beside_those_of_the_capabilities() {
    let locks = |options: ClientOptions| options.extension("com.example/locks", json!(1)).declared_capabilities();
    assert_eq!(ClientOptions::new().declared_capabilities(), json!({}));
    assert_eq!(locks(ClientOptions::new()), json!({ "extensions": { "com.example/locks": 1 } }));
    let own = ClientOptions::new().capabilities(json!({ "extensions": { "com.example/maps": 2 } }));
    assert_eq!(locks(own), json!({ "extensions": { "com.example/maps": 2, "com.example/locks": 1 } }));
}

#[cfg(feature = "cassette")]
#[test]
fn cassette_is_saved_while_others_still_have_it() {
    use crate::rpc::transports::cassette::Cassette;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("session.jsonl");
    let cassette = Cassette::record(&path).expect("it can be recorded");
    cassette.insert_for("s").expect("it is of no other server");
    let options = ClientOptions::new().cassette(cassette.clone());
    assert!(!path.exists());
    options.save_cassette();
    assert!(path.exists());
    drop(cassette);
}

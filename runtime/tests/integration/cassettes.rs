//! Sessions are recorded and replayed without a server; what was not recorded, and what is no cassette, is said so.

#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::http::HttpFixture;
use common::{Mark, bad, good, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    CallError, CallOptions, CallTool, Cassette, CassetteError, Client, ClientOptions, ConnectErrorKind, Dispatched,
    ElicitationAnswer, ToolCall,
};
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(20);

/// The folder of a cassette.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("cassettes").join("session.jsonl")
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.path()).expect("a cassette")
    }

    fn recording(&self, config: ServerConfig, options: ClientOptions) -> Client {
        Client::with_options(config, options.cassette(Cassette::record(self.path()).expect("it can be recorded")))
    }

    /// A client without a server: neither its program nor its secret is there.
    fn replaying(&self, options: ClientOptions) -> Client {
        let config = ServerConfig::stdio("fixture", "/no/such/program").env("TOKEN", "${NO_SUCH_VARIABLE}");
        Client::with_options(config, options.cassette(Cassette::replay(self.path()).expect("it can be replayed")))
    }
}

async fn add(client: &Client, a: i64, b: i64) -> Result<Value, CallError> {
    let call = client.call("add", object(json!({"a": a, "b": b})));
    let result = timeout(SOON, call).await.expect("no call hangs")?;
    Ok(result.structured().cloned().unwrap_or_default())
}

/// Runs a program's calls, and returns all that it sees of them.
async fn session(client: &Client) -> Vec<String> {
    let mut seen = vec![format!("{:?}", client.list_tools_raw().await)];
    for (a, b) in [(1, 2), (3, 4), (1, 2)] {
        seen.push(format!("{:?}", add(client, a, b).await));
    }
    for (tool, arguments) in
        [("always_fails", json!({"reason": "x"})), ("no_such_tool", json!({})), ("add", json!({"a": "x"}))]
    {
        seen.push(format!("{:?}", client.call(tool, object(arguments)).await));
    }
    let progress = Arc::new(Mutex::new(Vec::new()));
    let reports = progress.clone();
    let options = CallOptions::new().on_progress(move |report| reports.lock().unwrap().push(report.progress));
    let slow = ToolCall::new("fixture", "count_slowly", object(json!({"steps": 3, "pause_ms": 1})));
    seen.push(format!("{:?}", client.call_tool(slow.with(options)).await));
    seen.push(format!("{:?}", progress.lock().unwrap()));
    seen.push(format!("{:?}", client.snapshot().await));
    client.close().await;
    seen
}

#[tokio::test]
async fn replayed_session_matches_the_recorded_one_over_every_transport() {
    let mark = Mark::new();
    let http = HttpFixture::start(&["--http", "127.0.0.1:0"]);
    for (config, version) in [
        (good(&mark), "2025-11-25"),
        (ServerConfig::http("fixture", &http.url), "2025-11-25"),
        (ServerConfig::http("fixture", &http.url), "2026-07-28"),
    ] {
        let place = Place::new();
        let options = ClientOptions::new().protocol_version(version);
        let seen = session(&place.recording(config, options.clone())).await;
        assert!(seen[1].contains("result") && seen[1].contains('3'), "{}", seen[1]);
        assert_eq!(seen[8], "[1.0, 2.0, 3.0]");
        let replayed = session(&place.replaying(options)).await;
        assert_eq!(seen, replayed, "{}", place.text());
    }
}

#[tokio::test]
async fn results_of_a_tool_are_those_that_were_recorded_for_it() {
    let (mark, place) = (Mark::new(), Place::new());
    let recording = Cassette::record(place.path()).expect("it can be recorded");
    let client = Client::with_options(good(&mark), ClientOptions::new().cassette(recording.clone()));
    add(&client, 1, 2).await.expect("a sum");
    assert!(recording.results("add").is_empty(), "it does not replay");
    client.call("always_fails", object(json!({"reason": "x"}))).await.expect("a result");
    add(&client, 3, 4).await.expect("a sum");
    client.close().await;
    let cassette = Cassette::replay(place.path()).expect("a recording");
    let sums: Vec<_> = cassette.results("add").iter().map(|result| result.structured().cloned()).collect();
    assert_eq!(sums, [Some(json!({"result": 3})), Some(json!({"result": 7}))]);
    assert!(cassette.results("no_such_tool").is_empty());
}

#[tokio::test]
async fn result_is_replayed_without_the_keys_beside_it() {
    let place = recorded(&[(1, 2)]).await;
    let others = r#""response":{"error":null,"method":"roots/list","mcp-bindgen/unreadable":"x","#;
    let both = place.text().replace("\"response\":{", others);
    std::fs::write(place.path(), both).unwrap();
    assert_eq!(add(&place.replaying(ClientOptions::new()), 1, 2).await.unwrap(), json!({"result": 3}));
}

#[tokio::test]
async fn equal_sessions_record_equal_files() {
    let mark = Mark::new();
    let texts = [Place::new(), Place::new()];
    for place in &texts {
        let cassette = Cassette::record(place.path()).unwrap();
        let client = Client::with_options(good(&mark), ClientOptions::new().cassette(cassette.clone()));
        session(&client).await;
        assert!(place.path().exists(), "a client that was closed has written it");
        cassette.save().unwrap();
    }
    let [first, second] = texts.map(|place| place.text());
    assert_eq!(first, second);
    let lines: Vec<Value> = first.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], json!({"cassette": 1, "server": "fixture"}));
    assert_eq!(lines[1]["request"], json!({"method": "initialize"}));
    let add = lines.iter().find(|line| line.pointer("/request/params/name") == Some(&json!("add"))).unwrap();
    let params = json!({"name": "add", "arguments": {"a": 1, "b": 2}});
    assert_eq!(add["request"], json!({"method": "tools/call", "params": params}), "no id, no progress token");
    assert_eq!(lines.last(), Some(&json!({"end": lines.len() - 2})));
}

#[tokio::test]
async fn recording_is_written_atomically() {
    let (mark, place) = (Mark::new(), Place::new());
    let cassette = Cassette::record(place.path()).unwrap();
    let client = Client::with_options(good(&mark), ClientOptions::new().cassette(cassette.clone()));
    add(&client, 1, 2).await.unwrap();
    assert!(!place.path().exists());
    cassette.save().unwrap();
    assert!(place.text().ends_with("{\"end\":2}\n"), "{}", place.text());
    add(&client, 1, 2).await.unwrap();
    drop((client, cassette));
    // The task that has the connection lets go of the cassette in its own time.
    timeout(SOON, async {
        while !place.text().ends_with("{\"end\":3}\n") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the last to go has written it");
    let folder = Place::new();
    std::fs::write(folder.0.path().join("cassettes"), "a file").unwrap();
    assert!(matches!(Cassette::record(folder.path()), Err(CassetteError::Write { .. })));
    assert!(matches!(Cassette::record(folder.0.path()), Err(CassetteError::Write { .. })));
}

async fn recorded(calls: &[(i64, i64)]) -> Place {
    let (mark, place) = (Mark::new(), Place::new());
    let client = place.recording(good(&mark), ClientOptions::new());
    for (a, b) in calls {
        add(&client, *a, *b).await.unwrap();
    }
    client.close().await;
    place
}

/// The error of a cassette below the error of a call that never left.
#[track_caller]
fn of_cassette(error: &CallError) -> &CassetteError {
    assert_eq!(error.dispatched(), Dispatched::No, "{error}");
    error.source().and_then(|source| source.downcast_ref()).unwrap_or_else(|| panic!("{error:?}"))
}

#[tokio::test]
async fn changed_argument_error_shows_pointer_and_both_values() {
    let place = recorded(&[(1, 2), (5, 6)]).await;
    let client = place.replaying(ClientOptions::new());
    let error = add(&client, 1, 3).await.unwrap_err();
    let CassetteError::Changed { differences, .. } = of_cassette(&error) else { panic!("{error}") };
    let [only] = differences.as_slice() else { panic!("{differences:?}") };
    assert_eq!(
        (&*only.pointer, &only.recorded, &only.now),
        ("/arguments/b", &Some(json!(2)), &Some(json!(3))),
        "the nearest of the two"
    );
    let said = error.to_string();
    assert!(said.contains("at `/arguments/b`: recorded 2, found 3"), "{said}");
    assert!(said.contains("session.jsonl") && said.contains("`tools/call` of `add`"), "{said}");
    // The others are there all the same.
    assert_eq!(add(&client, 5, 6).await.unwrap(), json!({"result": 11}));
    let traced = ToolCall::new("fixture", "add", object(json!({"a": 1, "b": 2})));
    let traced = client.call_tool(traced.with(CallOptions::new().meta("trace", "t"))).await.unwrap_err();
    assert!(traced.to_string().contains("at `/_meta`: recorded nothing, found {\"trace\":\"t\"}"), "{traced}");
}

#[tokio::test]
async fn nearest_recorded_call_is_reported() {
    // The first of those that are equally near.
    for (calls, expected) in [([(5, 6), (1, 2)], 2), ([(1, 2), (1, 9)], 2), ([(1, 9), (1, 2)], 9)] {
        let client = recorded(&calls).await.replaying(ClientOptions::new());
        let error = add(&client, 1, 3).await.unwrap_err();
        let CassetteError::Changed { differences, .. } = of_cassette(&error) else { panic!("{error}") };
        let [only] = differences.as_slice() else { panic!("{differences:?}") };
        assert_eq!(only.recorded, Some(json!(expected)), "{calls:?}");
    }
}

#[tokio::test]
async fn unrecorded_call_is_an_error_without_delay() {
    let place = recorded(&[(1, 2)]).await;
    let client = place.replaying(ClientOptions::new());
    assert!(add(&client, 1, 2).await.is_ok());
    let again = add(&client, 1, 2).await.unwrap_err();
    assert!(matches!(of_cassette(&again), CassetteError::NotRecorded { .. }), "{again}");
    assert!(again.to_string().contains("each recorded response was used once"), "{again}");
    let other = timeout(SOON, client.call("subtract", Map::new())).await.unwrap().unwrap_err();
    assert!(matches!(of_cassette(&other), CassetteError::NotRecorded { .. }), "{other}");
    assert!(other.to_string().contains("`tools/call` of `subtract`: recorded were `add`"), "{other}");
    let listing = timeout(SOON, client.list_tools_raw()).await.unwrap().unwrap_err();
    assert!(listing.message.contains("no response to `tools/list`: it was not recorded"), "{listing}");
    // A conversation may begin as often as it likes.
    client.close().await;
    client.connect().await.unwrap();
}

#[tokio::test]
async fn recorded_responses_are_replayed_in_order_for_concurrent_callers() {
    let place = recorded(&[(1, 2); 64]).await;
    let client = place.replaying(ClientOptions::new());
    let mut callers = JoinSet::new();
    for _ in 0..64 {
        let client = client.clone();
        callers.spawn(async move { add(&client, 1, 2).await.map_err(|error| error.to_string()) });
    }
    assert!(callers.join_all().await.iter().all(|sum| *sum == Ok(json!({"result": 3}))));
    assert!(add(&client, 1, 2).await.is_err());
}

#[tokio::test]
async fn cassette_of_another_server_is_refused() {
    let place = recorded(&[(1, 2)]).await;
    let options = || ClientOptions::new().cassette(Cassette::replay(place.path()).unwrap());
    let error = Client::with_options(ServerConfig::stdio("github", "x"), options()).connect().await.unwrap_err();
    assert_eq!(error.kind, ConnectErrorKind::Config);
    assert!(error.message.contains("was recorded with server `fixture`, not `github`"), "{error}");
    let (mark, place) = (Mark::new(), Place::new());
    let options = ClientOptions::new().cassette(Cassette::record(place.path()).unwrap());
    Client::with_options(good(&mark), options.clone()).connect().await.unwrap();
    let error = Client::with_options(ServerConfig::stdio("github", "x"), options).connect().await.unwrap_err();
    assert!(error.message.contains("was recorded with server `fixture`, not `github`"), "{error}");
}

#[tokio::test]
async fn truncated_or_malformed_cassette_is_refused_before_any_call() {
    let place = recorded(&[(1, 2), (3, 4)]).await;
    let whole = place.text();
    let read = |text: &str| {
        std::fs::write(place.path(), text).unwrap();
        Cassette::replay(place.path()).unwrap_err()
    };
    for (end, _) in whole.char_indices() {
        let error = read(&whole[..end]);
        let is_truncated = matches!(error, CassetteError::Truncated { .. });
        // Only the last line's end can be done without.
        assert!(is_truncated || end == whole.len() - 1, "{end}: {error}");
        if end + 2 == whole.len() {
            break;
        }
    }
    let lines: Vec<&str> = whole.lines().collect();
    let without = |number: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != number).map(|(_, line)| format!("{line}\n"));
        kept.collect::<String>()
    };
    assert!(matches!(read(&without(2)), CassetteError::Truncated { .. }), "a line is missing in the middle");
    let newer = read(&whole.replace(lines[0], "{\"cassette\":2}"));
    assert!(matches!(newer, CassetteError::NewerFormat { format: 2, .. }), "it has another header: {newer}");
    let newer = read(&whole.replace("{\"cassette\":1", "{\"cassette\":2"));
    assert!(matches!(newer, CassetteError::NewerFormat { format: 2, known: 1, .. }), "{newer}");
    assert!(newer.to_string().contains("has format 2, and this version of mcp-bindgen reads 1"), "{newer}");
    for (text, line) in [
        (whole.replace("\"request\"", "\"requests\""), 2),
        (whole.replace("\"cassette\":1,", ""), 1),
        (whole.replace(",\"server\":\"fixture\"", ""), 1),
        (format!("{whole}{{}}\n"), lines.len() + 1),
        (whole.replacen(lines[1], "{'}", 1), 2),
        (whole.replacen(lines[1], "", 1), 2),
        (whole.replacen(lines[1], &lines[1][..lines[1].len() - 1], 1), 2),
        (whole.replace("\"result\":", "\"results\":"), 2),
        (whole.replacen(lines[1], r#"{"request":{"method":"initialize"}}"#, 1), 2),
        (whole.replace("\"response\":", r#""heard":[{"method":"roots/list","answer":{}}],"response":"#), 2),
    ] {
        let error = read(&text);
        assert!(matches!(error, CassetteError::Malformed { line: found, .. } if found == line), "{line}: {error}");
        assert!(error.to_string().contains(&format!("session.jsonl:{line}: ")), "{error}");
    }
    for (field, lack) in [("\"cassette\":1,", "no `cassette`"), (",\"server\":\"fixture\"", "no `server`")] {
        let error = read(&whole.replace(field, ""));
        assert!(error.to_string().contains(lack), "{error}");
    }
    let longer = read(&format!("{whole}{}\n", lines[1]));
    assert!(longer.to_string().contains("expected nothing after the line with `end`"), "{longer}");
    std::fs::write(place.path(), [0xff, 0xfe]).unwrap();
    assert!(matches!(Cassette::replay(place.path()), Err(CassetteError::Read { .. })));
    std::fs::remove_file(place.path()).unwrap();
    let missing = Cassette::replay(place.path()).unwrap_err();
    assert!(missing.to_string().contains("was it recorded?"), "{missing}");
}

#[tokio::test]
async fn cassette_contains_no_secrets_and_replays_without_them() {
    const SECRET: &str = "k-9d8c7b6a5f4e3d2c1b";
    let (mark, place) = (Mark::new(), Place::new());
    let config = bad("show-environment", &mark).env("FIXTURE_SECRET", SECRET).env("TOKEN", SECRET);
    let client = place.recording(config, ClientOptions::new());
    let arguments = |secret: &str| object(json!({"header": format!("Bearer {secret}"), "n": 1}));
    let result = client.call("good", arguments(SECRET)).await.unwrap();
    assert_eq!(result.structured().unwrap()["secret"], SECRET, "the result itself is exact");
    client.close().await;
    let text = place.text();
    assert!(!text.contains(SECRET) && text.matches("[redacted]").count() >= 2, "{text}");
    let client = place.replaying(ClientOptions::new());
    let other = client.call("good", object(json!({"header": "Basic x", "n": 1}))).await.unwrap_err();
    assert!(matches!(of_cassette(&other), CassetteError::Changed { .. }), "{other}");
    let result = client.call("good", arguments("another")).await.unwrap();
    assert_eq!(result.structured().unwrap()["secret"], "[redacted]");
}

#[tokio::test]
async fn difference_error_redacts_known_secrets() {
    const SECRET: &str = "k-1d8c7b6a5f4e3d2c1f";
    let place = recorded(&[(1, 2)]).await;
    let config = ServerConfig::stdio("fixture", "x").env("API_TOKEN", SECRET);
    let options = ClientOptions::new().cassette(Cassette::replay(place.path()).unwrap());
    let client = Client::with_options(config, options);
    let error = client.call("add", object(json!({"a": 1, "b": SECRET}))).await.unwrap_err();
    let said = format!("{error} {error:?} {:?}", error.source());
    assert!(!said.contains(SECRET) && said.contains("[redacted]"), "{said}");
}

#[tokio::test]
async fn server_requests_are_replayed_and_require_the_same_response() {
    let (mark, place) = (Mark::new(), Place::new());
    let answers = |name: &'static str| {
        ClientOptions::new()
            .on_elicitation(move |_| async move { ElicitationAnswer::Accept(object(json!({ "name": name }))) })
    };
    let client = place.recording(good(&mark).args(["--converse"]), answers("Ada"));
    let said = client.call("ask_user", Map::new()).await.unwrap();
    client.close().await;
    let both = place.text().replace("\"answer\":{", "\"answer\":{\"error\":null,");
    std::fs::write(place.path(), both).unwrap();
    let replayed = place.replaying(answers("Ada")).call("ask_user", Map::new()).await.unwrap();
    assert_eq!(replayed, said);
    let call = place.replaying(answers("Bob"));
    let error = timeout(SOON, call.call("ask_user", Map::new())).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("recorded \"Ada\", found \"Bob\""), "{error}");
    assert!(error.source().is_some_and(|source| source.is::<CassetteError>()), "{error:?}");
}

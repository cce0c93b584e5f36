//! How connections begin and end: shared, watched, replaced where they are lost, closed where nobody needs them.

#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use crate::common;

use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use common::{Mark, bad, fixture_server, good, named, object};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{
    CallError, Client, ClientOptions, ConnectErrorKind as Kind, ConnectionState as State, Dispatched, ServerSpec,
    Servers, StateWatch,
};
use serde_json::{Map, json};

/// Long enough for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(20);

/// The fixture server behind a script, which can count how often it was started.
fn behind(script: &str, mark: &Mark) -> ServerConfig {
    let script = script.replace("SERVER", &fixture_server().to_string_lossy());
    ServerConfig::stdio("fixture", "sh").args(["-c", &script]).env("FIXTURE_MARK", mark.value())
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap_or_default().lines().count()
}

async fn until(watch: &mut StateWatch, state: State) {
    let reached = async {
        while watch.current() != state {
            watch.changed().await.expect("the client is there");
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap_or_else(|_| panic!("{state:?} is not reached"));
}

fn kill(mark: &Mark) {
    for pid in mark.processes() {
        Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill runs");
    }
}

async fn adds(client: &Client) -> bool {
    client.call("add", object(json!({"a": 1, "b": 2}))).await.is_ok()
}

#[tokio::test]
async fn concurrent_connects_share_one_attempt() {
    let (mark, folder) = (Mark::new(), tempfile::tempdir().expect("a folder"));
    let starts = folder.path().join("starts");
    let client = Client::new(behind(&format!("echo x >> '{}'; sleep 0.2; exit 3", starts.display()), &mark));
    let attempts: Vec<_> = (0..20)
        .map(|_| {
            tokio::spawn({
                let client = client.clone();
                async move { client.connect().await }
            })
        })
        .collect();
    for attempt in attempts {
        let error = attempt.await.expect("the task").expect_err("it exits");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
    assert_eq!(lines(&starts), 1, "one attempt for all");
    client.connect().await.expect_err("it exits again");
    assert_eq!(lines(&starts), 2, "who comes afterwards tries anew");
}

#[tokio::test]
async fn connection_states_change_in_order() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    assert_eq!(client.state(), State::Disconnected);
    let mut watch = client.watch_state();
    let seen = tokio::spawn(async move {
        let mut seen = Vec::new();
        while let Some(state) = watch.changed().await {
            seen.push(state);
        }
        seen
    });
    assert!(adds(&client).await);
    assert_eq!(client.state(), State::Connected);
    let mut watch = client.watch_state();
    kill(&mark);
    until(&mut watch, State::Reconnecting).await;
    until(&mut watch, State::Connected).await;
    client.close().await;
    assert_eq!(client.state(), State::Disconnected);
    client.shutdown().await;
    drop((client, watch));
    let seen = seen.await.expect("the task");
    use State::{Connected, Connecting, Disconnected, Reconnecting, ShutDown};
    assert_eq!(seen, [Connecting, Connected, Reconnecting, Connected, Disconnected, ShutDown]);
}

#[tokio::test]
async fn lost_connection_is_replaced_without_a_call() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    assert!(adds(&client).await);
    let first = mark.counts(1).await;
    let mut watch = client.watch_state();
    kill(&mark);
    until(&mut watch, State::Reconnecting).await;
    until(&mut watch, State::Connected).await;
    assert!(mark.counts(1).await != first || first.is_empty());
    assert!(adds(&client).await);
    client.close().await;
    assert!(mark.processes().is_empty());
}

#[tokio::test]
async fn reconnect_gives_up_after_three_attempts_with_pauses() {
    let (mark, folder) = (Mark::new(), tempfile::tempdir().expect("a folder"));
    let starts = folder.path().join("starts");
    let script =
        format!("echo x >> '{0}'; if [ $(wc -l < '{0}') -gt 1 ]; then exit 3; fi; exec SERVER", starts.display());
    let client = Client::new(behind(&script, &mark));
    assert!(adds(&client).await);
    let mut watch = client.watch_state();
    kill(&mark);
    until(&mut watch, State::Reconnecting).await;
    let start = Instant::now();
    // A call during the reconnect fails with the error of the reconnect.
    let error = client.call("add", Map::new()).await.expect_err("there is no server");
    assert!(
        matches!(&error, CallError::NotConnected { .. }) && error.to_string().contains("exit status: 3"),
        "{error}"
    );
    assert_eq!(lines(&starts), 1 + 3);
    // The pauses are 250 ms and 1 s, and at least half of that.
    assert!(start.elapsed() > Duration::from_millis(500), "{:?}", start.elapsed());
    assert_eq!(client.state(), State::Disconnected);
    assert!(mark.processes().is_empty());
    std::fs::remove_file(&starts).expect("the log");
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(adds(&client).await, "a call after the pause tries anew");
    client.close().await;
}

#[tokio::test]
async fn unused_server_is_not_restarted_repeatedly() {
    let (mark, folder) = (Mark::new(), tempfile::tempdir().expect("a folder"));
    let starts = folder.path().join("starts");
    // From the second time on it answers the handshake, and ends.
    let script = format!(
        "echo x >> '{0}'; if [ $(wc -l < '{0}') -eq 1 ]; then exec SERVER; fi; read -r first; echo \"$first\" | SERVER --misbehave banner",
        starts.display()
    );
    let client = Client::new(behind(&script, &mark));
    assert!(adds(&client).await);
    let mut watch = client.watch_state();
    kill(&mark);
    until(&mut watch, State::Reconnecting).await;
    until(&mut watch, State::Disconnected).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(client.state(), State::Disconnected);
    // It may end before the handshake does, which counts as a try.
    assert!((2..=4).contains(&lines(&starts)), "{} starts", lines(&starts));
}

#[tokio::test]
async fn close_while_connecting_ends_the_attempt_and_the_process() {
    let mark = Mark::new();
    let client = Client::new(bad("silent", &mark));
    let connecting = tokio::spawn({
        let client = client.clone();
        async move { client.connect().await }
    });
    let mut watch = client.watch_state();
    until(&mut watch, State::Connecting).await;
    let start = Instant::now();
    while mark.processes().is_empty() {
        assert!(start.elapsed() < PATIENCE, "it does not start");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = Instant::now();
    client.close().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!(mark.processes(), Vec::<u32>::new(), "gone when `close` returns");
    let error = connecting.await.expect("the task").expect_err("it was closed");
    assert!(error.to_string().contains("the client was closed while it was connecting"), "{error}");
    assert_eq!(client.state(), State::Disconnected);
}

#[tokio::test]
async fn connect_attempt_ends_with_the_last_client_not_with_its_caller() {
    let mark = Mark::new();
    let client = Client::new(bad("silent", &mark));
    assert!(tokio::time::timeout(Duration::from_millis(200), client.connect()).await.is_err());
    assert_eq!((client.state(), mark.processes().len()), (State::Connecting, 1));
    let mut watch = client.watch_state();
    drop(client);
    assert_eq!((watch.changed().await, watch.changed().await), (Some(State::Disconnected), None));
    mark.gone_within(PATIENCE).await;
}

#[tokio::test]
async fn requests_after_shutdown_fail_immediately() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let servers = Servers::new().with_client(client.clone());
    assert!(adds(&client).await);
    servers.shutdown().await;
    assert!(mark.processes().is_empty());
    assert_eq!(client.state(), State::ShutDown);
    let error = client.connect().await.expect_err("it was shut down");
    assert_eq!((error.kind, error.to_string().as_str()), (Kind::ShutDown, "fixture: the client was shut down"));
    let error = client.call("add", Map::new()).await.expect_err("it was shut down");
    assert!(matches!(&error, CallError::NotConnected { .. }), "{error}");
    let report = servers.connect_all().await;
    assert_eq!((report.active.len(), report.failed.len()), (0, 1));
    assert!(mark.processes().is_empty());
}

#[tokio::test]
async fn shutdown_shows_the_end_of_the_connection_first() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    assert!(adds(&client).await);
    let mut watch = client.watch_state();
    tokio::join!(client.shutdown(), until(&mut watch, State::Disconnected));
    until(&mut watch, State::ShutDown).await;
}

#[tokio::test]
async fn connector_that_panics_is_tried_five_times() {
    let attempts = Arc::new(AtomicUsize::new(0));
    let count = attempts.clone();
    let client = Client::connected_by("panicking", ClientOptions::new(), move || {
        count.fetch_add(1, Ordering::SeqCst);
        async { if true { panic!("as planned") } else { Ok(tokio::io::split(tokio::io::duplex(1).0)) } }
    });
    let error = client.connect().await.expect_err("it panics");
    assert!(error.to_string().contains("5 connections ended while they were opening"), "{error}");
    assert_eq!(attempts.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn shutdown_fails_callers_waiting_for_a_connection() {
    let mark = Mark::new();
    let client = Client::new(bad("silent", &mark));
    let (connected, ()) = tokio::join!(client.connect(), async {
        until(&mut client.watch_state(), State::Connecting).await;
        client.shutdown().await;
    });
    assert_eq!(connected.expect_err("it was shut down").kind, Kind::ShutDown);
    assert!(mark.processes().is_empty());
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn idle_connection_is_closed_and_reopened_on_use() {
    let mark = Mark::new();
    let client = Client::with_options(good(&mark), ClientOptions::new().idle_timeout(Duration::from_millis(150)));
    let mut watch = client.watch_state();
    // A call is use, however long it takes.
    let slow = client.call("count_slowly", object(json!({"steps": 3, "pause_ms": 200}))).await.expect("the call");
    assert_eq!(slow.text(), "counted to 3");
    until(&mut watch, State::Disconnected).await;
    mark.gone_within(PATIENCE).await;
    assert!(adds(&client).await);
    client.close().await;
    let client = Client::with_options(good(&mark), ClientOptions::new().idle_timeout(Duration::ZERO));
    assert!(adds(&client).await, "what it is opened for is use");
    mark.gone_within(PATIENCE).await;
}

#[tokio::test]
#[ignore = "waits for seconds; a suite of its own: .ci/run patience"]
async fn unresponsive_server_is_replaced() {
    let mark = Mark::new();
    let options = ClientOptions::new()
        .timeout(Duration::from_millis(500))
        .connect_timeout(PATIENCE)
        .health_check(Duration::from_millis(100));
    let client = Client::with_options(bad("deaf", &mark), options);
    client.list_tools_raw().await.expect_err("it stops after the first page");
    let first = mark.counts(1).await;
    let mut watch = client.watch_state();
    until(&mut watch, State::Reconnecting).await;
    until(&mut watch, State::Connected).await;
    assert!(mark.processes().iter().any(|pid| !first.contains(pid)), "another is there");
    client.close().await;
    // The one before ignores that its input ended, and is on its way out.
    assert_eq!(mark.processes(), Vec::<u32>::new(), "both are gone when `close` returns");
}

#[tokio::test]
async fn responsive_server_is_not_replaced() {
    for version in ["2025-11-25", "2026-07-28"] {
        let mark = Mark::new();
        let options = ClientOptions::new().health_check(Duration::from_millis(20)).protocol_version(version);
        let client = Client::with_options(good(&mark), options);
        assert!(adds(&client).await);
        let first = mark.processes();
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!((client.state(), mark.processes()), (State::Connected, first), "{version}");
        client.close().await;
    }
}

#[tokio::test]
async fn reconnect_failed_retries_only_failed_servers() {
    let (one, two, folder) = (Mark::new(), Mark::new(), tempfile::tempdir().expect("a folder"));
    let program = folder.path().join("server");
    let late = ServerConfig::stdio("late", program.to_string_lossy()).env("FIXTURE_MARK", two.value());
    let servers =
        Servers::new().with(named("one", &one)).with(late).with(ServerConfig::stdio("never", "no-such-program"));
    let report = servers.connect_all().await;
    assert_eq!(report.active, ["one"]);
    let failed: Vec<_> = report.failed.iter().map(|error| (error.server.as_str(), error.kind)).collect();
    assert_eq!(failed, [("late", Kind::Spawn), ("never", Kind::Spawn)]);
    assert!(!report.is_complete());
    let running = one.processes();
    std::os::unix::fs::symlink(fixture_server(), &program).expect("a link");
    let report = servers.reconnect_failed().await;
    assert_eq!((report.active, report.failed.len()), (vec!["late".to_owned()], 1));
    assert_eq!(one.processes(), running);
    servers.close().await;
    assert!(servers.reconnect_failed().await.active.is_empty(), "what was closed has not failed");
    assert!(one.processes().is_empty() && two.processes().is_empty());
}

fn without_runtime<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let start = Instant::now();
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn clients_outside_a_runtime_neither_panic_nor_leak_processes() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    let error = without_runtime(client.connect()).expect_err("there is no runtime");
    assert!(error.to_string().contains("requires a tokio runtime"), "{error}");
    let report = without_runtime(Servers::new().with_client(client.clone()).connect_all());
    assert_eq!(report.failed.len(), 1);
    // With a runtime that goes on; with one that is not driven, and goes; with one that went before.
    let threads = tokio::runtime::Runtime::new().expect("a runtime");
    let still = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let servers = Servers::new().with_client(client).with(named("two", &mark));
    assert!(threads.block_on(servers.connect_all()).is_complete());
    drop(servers);
    threads.block_on(mark.gone_within(PATIENCE));
    let servers = Servers::new().with(good(&mark)).with(named("two", &mark));
    assert!(threads.block_on(servers.connect_all()).is_complete());
    without_runtime(servers.close());
    assert_eq!(mark.processes(), Vec::<u32>::new());

    let client = Client::new(good(&mark));
    still.block_on(client.connect()).expect("a connection");
    drop(client);
    let client = Client::new(good(&mark));
    still.block_on(client.connect()).expect("a connection");
    drop(still);
    assert_eq!(client.state(), State::Disconnected);
    drop(client);
    assert_eq!(mark.processes(), Vec::<u32>::new());
}

/// Bindings whose configuration is this.
fn bindings(config: &ServerConfig) -> &'static ServerSpec {
    Box::leak(Box::new(ServerSpec::new("fixture").config(Box::leak(config.to_json().to_string().into_boxed_str()))))
}

#[tokio::test]
async fn bindings_with_equal_configurations_share_a_connection() {
    let mark = Mark::new();
    let (spec, other) = (bindings(&good(&mark)), bindings(&good(&mark).env("OTHER", "1")));
    let first = Client::for_spec(spec).expect("a client");
    let second = Client::for_spec(spec).expect("a client");
    let third = Client::for_spec(other).expect("a client");
    for client in [&first, &second, &third] {
        client.connect().await.expect("a connection");
    }
    mark.counts(2).await;
    drop(first);
    assert!(adds(&second).await, "the other goes on");
    drop((second, third));
    mark.gone_within(PATIENCE).await;

    let first = Client::for_spec(spec).expect("a client");
    first.shutdown().await;
    let second = Client::for_spec(spec).expect("a client");
    assert!(adds(&second).await, "what was shut down is not handed out");
    second.close().await;
}

#[test]
fn connections_are_not_shared_between_runtimes() {
    let mark = Mark::new();
    let spec = bindings(&good(&mark));
    let connected = |runtime: &tokio::runtime::Runtime| {
        runtime.block_on(async {
            let client = Client::for_spec(spec).expect("a client");
            assert!(adds(&client).await);
            client
        })
    };
    let (one, two) = (tokio::runtime::Runtime::new().expect("one"), tokio::runtime::Runtime::new().expect("another"));
    let (first, second) = (connected(&one), connected(&two));
    two.block_on(mark.counts(2));
    drop(one);
    assert!(two.block_on(adds(&second)));
    drop((first, second, two));
}

#[tokio::test]
async fn changed_tool_list_is_reported_and_read_again() {
    for mode in ["changing-list", "modern-changing-list"] {
        let mark = Mark::new();
        let client = Client::new(bad(mode, &mark));
        let mut changes = client.tool_changes();
        client.list_tools_raw().await.expect("the list");
        let changed = tokio::time::timeout(PATIENCE, changes.changed()).await;
        let tools = changed.unwrap_or_else(|_| panic!("{mode}: nothing is heard")).expect("the list");
        assert!(tools.iter().any(|tool| tool["name"] == "late"), "{mode}: {tools:?}");
        let again = tokio::time::timeout(Duration::from_millis(200), changes.changed()).await;
        assert!(again.is_err(), "{mode}: once is enough");
        client.close().await;
        assert!(mark.processes().is_empty(), "{mode}");
    }
}

#[tokio::test]
async fn reconnect_reports_the_tool_list_again() {
    let mark = Mark::new();
    let client = Client::new(good(&mark));
    assert!(adds(&client).await);
    let mut changes = client.tool_changes();
    kill(&mark);
    let tools = tokio::time::timeout(PATIENCE, changes.changed()).await.expect("in time").expect("the list");
    assert_eq!(tools.len(), 10);
    client.close().await;
}

#[tokio::test]
async fn tool_list_is_reported_when_a_lost_server_returns() {
    let (mark, folder) = (Mark::new(), tempfile::tempdir().expect("a folder"));
    let is_up = folder.path().join("up");
    let client = Client::new(behind(&format!("test -e '{}' || exit 3; exec SERVER", is_up.display()), &mark));
    let up = || std::fs::write(&is_up, "").expect("it is written");
    up();
    assert!(adds(&client).await);
    let mut changes = client.tool_changes();
    for is_used in [false, true] {
        std::fs::remove_file(&is_up).expect("it is there");
        kill(&mark);
        let lost = tokio::time::timeout(PATIENCE, changes.changed()).await.expect("it is told");
        assert!(lost.is_err(), "nothing can be listed: {lost:?}");
        up();
        tokio::time::sleep(Duration::from_millis(300)).await;
        // The client reconnects either way: by a call, or by the watcher's next request.
        if is_used {
            assert!(adds(&client).await);
        }
        let tools = tokio::time::timeout(PATIENCE, changes.changed()).await.expect("in time").expect("the list");
        assert_eq!(tools.len(), 10, "used: {is_used}");
    }
    client.close().await;
}

/// A server that answers the handshake, and nothing else, on connections that it keeps open.
#[cfg(feature = "http")]
mod hung {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    pub(crate) fn serve() -> (String, Arc<AtomicUsize>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let open = Arc::new(AtomicUsize::new(0));
        let count = open.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                let count = count.clone();
                std::thread::spawn(move || {
                    answer(stream);
                    count.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        (url, open)
    }

    fn answer(mut stream: TcpStream) {
        let mut heard = String::new();
        let mut part = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut part) {
            heard.push_str(&String::from_utf8_lossy(&part[..length]));
            if heard.contains("\"initialize\"") && heard.ends_with('}') {
                let body = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hung","version":"1"}}}"#;
                let length = body.len();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: one\r\n";
                let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{body}");
                heard.clear();
            }
            if heard.contains("notifications/initialized") {
                let _ = write!(stream, "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n");
                heard.clear();
            }
        }
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn unresponsive_http_server_leaves_neither_task_nor_socket_on_close() {
    use std::sync::atomic::Ordering;

    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let (url, open) = hung::serve();
    let before = alive();
    let options = ClientOptions::new().timeout(Duration::from_millis(300)).connect_timeout(PATIENCE);
    let client = Client::with_options(ServerConfig::http("hung", url), options);
    client.connect().await.expect("the handshake");
    let error = client.call("any", Map::new()).await.expect_err("no answer");
    assert!(matches!(error, CallError::Timeout { .. }), "{error}");
    assert!(alive() > before && open.load(Ordering::SeqCst) > 0);
    let start = Instant::now();
    client.close().await;
    // It does not answer the goodbye either.
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    while alive() > before || open.load(Ordering::SeqCst) > 0 {
        let left = (alive() - before, open.load(Ordering::SeqCst));
        assert!(start.elapsed() < PATIENCE, "tasks and sockets are left: {left:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn connection_that_closes_after_each_handshake_is_not_retried_forever() {
    let answer = json!({
        "jsonrpc": "2.0",
        "id": 0,
        "result": {
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "stillborn", "version": "1" },
        },
    });
    let script = format!("read -r line; echo '{answer}'; exec 1>&-; cat >/dev/null");
    let server = ServerConfig::stdio("stillborn", "sh").args(["-c", &script]);
    let client = Client::with_options(server, ClientOptions::new().protocol_version("2025-11-25"));
    let connected = tokio::time::timeout(PATIENCE, client.call("work", Map::new())).await;
    let error = connected.expect("it ends").expect_err("nobody answers");
    // It goes on reading: whether the call came before the end was seen, nobody knows beforehand.
    assert_ne!(error.dispatched(), Dispatched::Yes, "{error:?}");
    client.close().await;
}

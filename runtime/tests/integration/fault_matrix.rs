//! Every fault of a server, when it is connected to, listed and called: each ends inside its deadline, with the right error
//! and the right word about whether the call was dispatched, and leaves no process.
//!
//! `.ci/run faults` runs it; it takes too long for every run of the tests.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::print_stdout, clippy::unwrap_used)]

use crate::common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Mark, fixture_server};
use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{CallError, Client, ClientOptions};
use serde_json::Map;
use tokio::sync::Semaphore;

const CALL: Duration = Duration::from_secs(6);
const CONNECT: Duration = Duration::from_secs(8);
/// The time that a loaded machine may add, including a process that must be killed.
const SLACK: Duration = Duration::from_secs(15);
const AT_ONCE: usize = 8;

/// The expected outcome of each fault at connect, list and call.
const EXPECTED: &[(&str, [&str; 3])] = &[
    ("answers-late", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("answers-twice", ["ok", "ok", "ok"]),
    ("banner", ["ok", "ok", "ok"]),
    ("batch", ["ok", "ok", "ok"]),
    ("both-result-and-error", ["ok", "ok", "ok"]),
    ("cancels-for-us", ["ok", "ok", "ok"]),
    ("closes-stdout", ["Transport", "Transport", "OutcomeUnknown, dispatched: Unknown"]),
    ("deep", ["ok", "ok", "InvalidResponse, dispatched: Yes"]),
    ("empty-error", ["Protocol", "Protocol", "Rpc, dispatched: Yes"]),
    ("endless-line", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("error", ["Protocol", "Protocol", "Rpc, dispatched: Yes"]),
    ("exits", ["Transport", "Transport", "OutcomeUnknown, dispatched: Unknown"]),
    ("exits-in-the-middle", ["Transport", "Transport", "OutcomeUnknown, dispatched: Unknown"]),
    ("flood-of-notes", ["ok", "ok", "ok"]),
    ("flood-of-requests", ["ok", "ok", "ok"]),
    ("garbage", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("half-a-line", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("invalid-utf8", ["ok", "ok", "ok"]),
    ("long-line", ["ok", "ok", "ok"]),
    ("missing-id", ["ok", "ok", "ok"]),
    ("neither-result-nor-error", ["Protocol", "Protocol", "InvalidResponse, dispatched: Yes"]),
    ("none", ["ok", "ok", "ok"]),
    ("null-bytes", ["ok", "ok", "ok"]),
    ("null-id", ["ok", "ok", "ok"]),
    ("number-out-of-range", ["ok", "ok", "InvalidResponse, dispatched: Yes"]),
    ("pretty", ["ok", "ok", "ok"]),
    ("result-is-list", ["Protocol", "Protocol", "InvalidResponse, dispatched: Yes"]),
    ("result-is-null", ["Protocol", "Protocol", "InvalidResponse, dispatched: Yes"]),
    ("silent", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("stays-after-eof", ["ok", "ok", "ok"]),
    ("stray-keys", ["ok", "ok", "ok"]),
    ("string-id", ["ok", "ok", "ok"]),
    ("surrogates", ["ok", "ok", "ok"]),
    ("unknown-method-first", ["ok", "ok", "ok"]),
    ("wrong-id", ["Timeout", "Timeout", "Timeout, dispatched: Unknown"]),
    ("wrong-version-of-json-rpc", ["ok", "ok", "ok"]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a suite of its own: .ci/run faults"]
async fn every_stdio_fault_ends_in_time_with_the_expected_error() {
    meet_all("stdio", "", meet_over_stdio).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a suite of its own: .ci/run faults"]
async fn every_connector_fault_ends_like_over_stdio() {
    // A process that closes its output still holds the socket, which is its input too.
    meet_all("a unix socket of the program", "closes-stdout", meet_over_socket).await;
}

async fn meet_all<F: Future<Output = String> + Send + 'static>(
    transport: &str,
    without: &str,
    meet: impl Fn(&'static str, &'static str) -> F,
) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = tokio::task::JoinSet::new();
    for (fault, expected) in EXPECTED.iter().filter(|(fault, _)| *fault != without) {
        for (moment, expected) in ["connect", "list", "call"].into_iter().zip(expected) {
            let (turns, met) = (turns.clone(), meet(fault, moment));
            running.spawn(async move {
                let _turn = turns.acquire_owned().await.expect("the semaphore is open");
                let start = Instant::now();
                let found = tokio::time::timeout(CONNECT + CALL + SLACK, met).await;
                let found = found.unwrap_or_else(|_| "hangs".to_owned());
                (found != *expected)
                    .then(|| format!("{fault} at {moment}: {found}, expected {expected} ({:?})", start.elapsed()))
            });
        }
    }
    let cases = running.len();
    let mut wrong: Vec<String> = running.join_all().await.into_iter().flatten().collect();
    wrong.sort();
    assert!(wrong.is_empty(), "{} of {cases} cases are wrong:\n{}", wrong.len(), wrong.join("\n"));
    println!("{cases} faults over {transport}, {} kinds at connect, list and call, ended in time", cases / 3);
}

/// Returns the outcome of one fault over stdio as text.
async fn meet_over_stdio(fault: &'static str, moment: &'static str) -> String {
    let mark = Mark::new();
    let server = ServerConfig::stdio("faulty", fixture_server().to_string_lossy())
        .args(["--fault", fault, "--at", moment])
        .env("FIXTURE_MARK", mark.value());
    let client = Client::with_options(server, ClientOptions::new().timeout(CALL).connect_timeout(CONNECT));
    let found = outcome(&client, moment).await;
    client.close().await;
    mark.gone_within(SLACK).await;
    found
}

/// The same server at the other end of a socket, one for each connection.
#[cfg(unix)]
async fn meet_over_socket(fault: &'static str, moment: &'static str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("server.sock");
    let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
    let mut serving = tokio::task::JoinSet::new();
    serving.spawn(async move {
        let mut servers = Vec::new();
        while let Ok((socket, _)) = listener.accept().await {
            let socket = socket.into_std().expect("a socket");
            socket.set_nonblocking(false).expect("it blocks");
            let output = std::os::fd::OwnedFd::from(socket.try_clone().expect("a second end"));
            let mut program = tokio::process::Command::new(fixture_server());
            program.args(["--fault", fault, "--at", moment]).stdin(std::os::fd::OwnedFd::from(socket)).stdout(output);
            servers.push(program.stderr(std::process::Stdio::null()).kill_on_drop(true).spawn().expect("it starts"));
        }
    });
    let options = ClientOptions::new().timeout(CALL).connect_timeout(CONNECT);
    let client = Client::connected_by("faulty", options, move || {
        let path = path.clone();
        async move { Ok(tokio::net::UnixStream::connect(path).await?.into_split()) }
    });
    let found = outcome(&client, moment).await;
    client.close().await;
    found
}

async fn outcome(client: &Client, moment: &str) -> String {
    let found = match moment {
        "connect" => client.connect().await.map_err(|error| format!("{:?}", error.kind)),
        "list" => client.list_tools_raw().await.map(drop).map_err(|error| format!("{:?}", error.kind)),
        _ => client.call("good", Map::new()).await.map(drop).map_err(|error| named(&error)),
    };
    found.map_or_else(|error| error, |()| "ok".to_owned())
}

fn named(error: &CallError) -> String {
    format!("{:?}, dispatched: {:?}", error.kind(), error.dispatched())
}

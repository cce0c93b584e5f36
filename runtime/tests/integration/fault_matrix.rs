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
/// What a loaded machine may add, and the end of a process that has to be killed.
const SLACK: Duration = Duration::from_secs(15);
const AT_ONCE: usize = 8;

/// What comes of a fault at connect, list and call.
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
async fn every_fault_ends_in_time_with_the_right_error() {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = tokio::task::JoinSet::new();
    for (fault, expected) in EXPECTED {
        for (moment, expected) in ["connect", "list", "call"].into_iter().zip(expected) {
            let turns = turns.clone();
            running.spawn(async move {
                let _turn = turns.acquire_owned().await.expect("the semaphore is open");
                let start = Instant::now();
                let found = tokio::time::timeout(CONNECT + CALL + SLACK, meet(fault, moment)).await;
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
    println!(
        "{cases} faults over stdio, {} kinds at connect, list and call, ended in time; no process is left",
        EXPECTED.len()
    );
}

/// What becomes of one server, in a word.
async fn meet(fault: &str, moment: &str) -> String {
    let mark = Mark::new();
    let server = ServerConfig::stdio("faulty", fixture_server().to_string_lossy())
        .args(["--fault", fault, "--at", moment])
        .env("FIXTURE_MARK", mark.value());
    let client = Client::with_options(server, ClientOptions::new().timeout(CALL).connect_timeout(CONNECT));
    let found = match moment {
        "connect" => client.connect().await.map_err(|error| format!("{:?}", error.kind)),
        "list" => client.list_tools_raw().await.map(drop).map_err(|error| format!("{:?}", error.kind)),
        _ => client.call("good", Map::new()).await.map(drop).map_err(|error| named(&error)),
    };
    client.close().await;
    mark.gone_within(SLACK).await;
    found.map_or_else(|error| error, |()| "ok".to_owned())
}

fn named(error: &CallError) -> String {
    let variant = format!("{error:?}");
    let variant = variant.split(|char: char| !char.is_alphanumeric()).next().unwrap_or_default();
    format!("{variant}, dispatched: {:?}", error.dispatched())
}

//! Helpers shared by the tests of the runtime: the program of the fixture server, and a list of its processes that are
//! alive.

#![allow(dead_code)]

pub(crate) mod http;
pub(crate) mod scripted;
#[cfg(target_os = "linux")]
pub(crate) mod usage;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mcp_bindgen_model::ServerConfig;
use mcp_bindgen_runtime::{Client, ClientOptions};
pub(crate) use mcp_fixture_server::program as fixture_server;
use serde_json::{Map, Value, json};

/// Writes a program in a process of its own: a process that another test starts meanwhile would hold a file of ours open for
/// writing, and such a file cannot be run.
#[cfg(unix)]
pub(crate) fn write_program(path: &std::path::Path, text: &[u8]) {
    use std::io::Write;
    use std::process::{Command, Stdio};

    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"cat > "$1" && chmod 755 "$1""#, "sh"]).arg(path).stdin(Stdio::piped());
    let mut shell = shell.spawn().expect("sh runs");
    shell.stdin.take().expect("its input").write_all(text).expect("it reads");
    assert!(shell.wait().is_ok_and(|status| status.success()), "{} was not written", path.display());
}

/// Makes calls at the same time, and leaves one that takes 30 seconds for a shorter one.
pub(crate) async fn call_concurrently(client: &Client) {
    let count = |steps| client.call("count_slowly", object(json!({"steps": steps, "pause_ms": 100})));
    let (a, b, c) = tokio::join!(count(1), count(2), count(1));
    assert_eq!([a, b, c].map(|result| result.expect("a result").text()), [1, 2, 1].map(|n| format!("counted to {n}")));
    tokio::select! {
        outcome = count(300) => panic!("thirty seconds come first: {outcome:?}"),
        outcome = count(1) => drop(outcome.expect("a result")),
    }
}

/// A text that only the processes of one test have in their environment.
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("mark-{}-{number}-", std::process::id()))
    }

    pub(crate) fn value(&self) -> &str {
        &self.0
    }

    /// The processes that carry the mark, where that can be seen.
    #[cfg(target_os = "linux")]
    pub(crate) fn processes(&self) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").expect("/proc is there");
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.windows(self.0.len()).any(|window| window == self.0.as_bytes())
        })
        .collect()
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn processes(&self) -> Vec<u32> {
        Vec::new()
    }

    /// Waits until so many processes are marked: a slow server may have been started twice.
    pub(crate) async fn counts(&self, expected: usize) -> Vec<u32> {
        let start = Instant::now();
        loop {
            let processes = self.processes();
            if processes.len() == expected || cfg!(not(target_os = "linux")) {
                return processes;
            }
            assert!(start.elapsed() < Duration::from_secs(20), "{processes:?} are not {expected}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until no marked process is left.
    pub(crate) async fn gone_within(&self, patience: Duration) {
        let start = Instant::now();
        while !self.processes().is_empty() {
            assert!(start.elapsed() < patience, "processes are left: {:?}", self.processes());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// The fixture server, well-behaved.
pub(crate) fn good(mark: &Mark) -> ServerConfig {
    named("fixture", mark)
}

/// The fixture server under a name.
pub(crate) fn named(name: &str, mark: &Mark) -> ServerConfig {
    ServerConfig::stdio(name, fixture_server().to_string_lossy()).env("FIXTURE_MARK", mark.value())
}

/// The fixture server with a fault.
pub(crate) fn bad(mode: &str, mark: &Mark) -> ServerConfig {
    good(mark).args(["--misbehave", mode])
}

/// A client whose patience is short.
pub(crate) fn impatient(config: ServerConfig) -> Client {
    let options =
        ClientOptions::new().timeout(Duration::from_millis(1500)).connect_timeout(Duration::from_millis(2500));
    Client::with_options(config, options)
}

/// A JSON object.
pub(crate) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

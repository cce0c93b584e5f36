//! How long a call with bindings takes, against rmcp's own client and the same server: over stdio, with a server that does no
//! more than it must and with one made with rmcp, and with the client that rmcp makes by default over HTTP, where answers
//! are JSON, and where they are streams of events in a session.
//!
//! `cargo bench --bench against_rmcp`, with `-- --quick` for fewer rounds. Fails where a budget of the design is missed.
//!
//! A separate package builds the dependencies of rmcp's clients, because members of one workspace share features.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

#[path = "../lists/mod.rs"]
mod lists;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use mcp_bindgen_model::write_if_changed;
use mcp_samples::{Fallible, repository};

const PROGRAM: &str = include_str!("measure.rs.in");
/// The transports, and the limit for the time of a call with bindings in relation to one of rmcp's, on one core. With a server
/// that is made with rmcp, most of a call over stdio is the server's time, so that has no limit.
const BUDGETS: [(&str, Option<f64>); 4] =
    [("stdio", Some(0.95)), ("rmcp server", None), ("http", Some(0.6)), ("events", Some(0.75))];

fn main() -> Fallible<ExitCode> {
    let rounds = if std::env::args().any(|argument| argument == "--quick") { 2 } else { 6 };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("against_rmcp");
    let program = build(&folder)?;
    let results = folder.join("criterion");
    let output =
        Command::new(program).arg("measure").arg(&results).arg(rounds.to_string()).stdout(Stdio::null()).output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the program that measures failed: {}", said.trim()).into());
    }
    let mut kept = true;
    println!("{:>12} {:>10} {:>10}  ratio", "a call", "bindings", "rmcp");
    for (transport, budget) in BUDGETS {
        let mut best = [Duration::MAX; 2];
        for round in 0..rounds {
            for (side, best) in ["ours", "rmcp"].into_iter().zip(&mut best) {
                *best = lists::fastest(&results, transport, &format!("{side}_{round}"))?.min(*best);
            }
        }
        let [ours, theirs] = best;
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let is_kept = budget.is_none_or(|budget| ratio <= budget);
        kept &= is_kept;
        let verdict = match budget {
            Some(budget) => format!("budget {budget:.2} x  {}", if is_kept { "kept" } else { "MISSED" }),
            None => "no budget".to_owned(),
        };
        println!("{transport:>12} {ours:>10.1?} {theirs:>10.1?}  {ratio:.2} x  {verdict}");
    }
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the program that measures, with the versions of the project.
fn build(folder: &Path) -> Fallible<std::path::PathBuf> {
    let root = repository();
    let snapshot = root.join("fixtures/snapshots/fixture.json");
    let write = |path: &str, text: &str| write_if_changed(&folder.join(path), text.as_bytes());
    write("Cargo.toml", &manifest(root))?;
    write("Cargo.lock", &fs::read_to_string(root.join("Cargo.lock"))?)?;
    write("src/main.rs", &PROGRAM.replace("/*SNAPSHOT*/", &format!("{snapshot:?}")))?;
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("CARGO_INCREMENTAL", "0")
        .env_remove("RUSTFLAGS")
        .status()?;
    if status.success() { Ok(folder.join("target/release/measure")) } else { Err("the program does not build".into()) }
}

fn manifest(root: &Path) -> String {
    let server = root.join("fixtures/server");
    format!(
        r#"[package]
name = "measure"
version = "0.1.0"
edition = "2024"
publish = false

[workspace]

[dependencies]
criterion = {{ version = "0.8", default-features = false, features = ["cargo_bench_support"] }}
mcp-bindgen = {{ path = {root:?}, features = ["http"] }}
mcp-fixture-server = {{ path = {server:?} }}
rmcp = {{ version = "3.8", default-features = false, features = ["client", "transport-child-process", "transport-streamable-http-client-reqwest"] }}
rustix = {{ version = "1", features = ["thread"] }}
rustls = {{ version = "0.23", default-features = false, features = ["ring", "std", "tls12"] }}
serde_json = "1"
tokio = {{ version = "1", features = ["macros", "process", "rt-multi-thread"] }}
"#
    )
}

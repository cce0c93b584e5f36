//! The tool lists that the benchmarks measure, and the fastest of what criterion measured.

#![allow(dead_code, reason = "each benchmark uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_bindgen_model::Snapshot;
use mcp_samples::{Fallible, repository};
use serde_json::Value;

/// GitHub's own server in the corpus.
const GITHUB: &str = "stored__toolsnaps__github-mcp-server";

pub(crate) struct List {
    pub(crate) name: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) snapshot: Snapshot,
    /// The folder of the corpus and the list's name in it, where it is from there.
    pub(crate) corpus: Option<(PathBuf, &'static str)>,
}

/// GitHub's own server from the corpus where it is there, or else the fixture of its shape. `MCP_BINDGEN_CORPUS` says
/// where the corpus is, if it is not beside the repository.
pub(crate) fn github() -> Fallible<List> {
    let root = repository();
    let corpus = std::env::var_os("MCP_BINDGEN_CORPUS").map_or_else(|| root.join("../shared/corpus"), PathBuf::from);
    let path = corpus.join(format!("lists/{GITHUB}.json"));
    let (name, path, corpus) = if path.is_file() {
        ("GitHub's server", path.canonicalize()?, Some((corpus, GITHUB)))
    } else {
        ("the fixture", root.join("fixtures/snapshots/github.json"), None)
    };
    let snapshot = Snapshot::load(&path)?;
    Ok(List { name, path, snapshot, corpus })
}

/// The fastest of criterion's samples of a function, by the files that it left in its folder.
pub(crate) fn fastest(folder: &Path, group: &str, function: &str) -> Fallible<Duration> {
    let path = folder.join(group).join(function).join("new/sample.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let sample: Value = serde_json::from_str(&text)?;
    let numbers = |key: &str| {
        let numbers = sample.get(key).and_then(Value::as_array).into_iter().flatten();
        numbers.filter_map(Value::as_f64).collect::<Vec<_>>()
    };
    let nanoseconds = numbers("times").into_iter().zip(numbers("iters")).map(|(time, iterations)| time / iterations);
    let fastest = nanoseconds.reduce(f64::min).ok_or_else(|| format!("{} has no samples", path.display()))?;
    Ok(Duration::from_secs_f64(fastest / 1e9))
}

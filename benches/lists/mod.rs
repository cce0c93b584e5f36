//! The tool lists that the benchmarks measure.

use std::path::{Path, PathBuf};

use mcp_model::Snapshot;

pub(crate) struct List {
    pub(crate) name: String,
    pub(crate) snapshot: Snapshot,
}

/// Where GitHub's own tool list is, and what to call it.
pub(crate) fn github_path() -> (&'static str, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("../shared/corpus/lists/stored__toolsnaps__github-mcp-server.json");
    if own.is_file() { ("GitHub's server", own) } else { ("the fixture", root.join("fixtures/snapshots/github.json")) }
}

/// GitHub's own server from the corpus where it is there, or else the fixture of its shape.
pub(crate) fn github() -> List {
    let (name, path) = github_path();
    let snapshot = Snapshot::load(&path).unwrap_or_else(|error| panic!("{error}"));
    List { name: name.to_owned(), snapshot }
}

//! The tool lists that the benchmarks measure.

use std::path::{Path, PathBuf};

use mcp_model::Snapshot;

pub struct List {
    pub name: String,
    pub path: PathBuf,
    pub snapshot: Snapshot,
}

/// GitHub's own server from the corpus where it is there, or else the fixture of its shape.
pub fn github() -> List {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let own = root.join("../shared/corpus/lists/stored__toolsnaps__github-mcp-server.json");
    let (name, path) = if own.is_file() {
        ("GitHub's server", own)
    } else {
        ("the fixture", root.join("fixtures/snapshots/github.json"))
    };
    let snapshot = Snapshot::load(&path).unwrap_or_else(|error| panic!("{error}"));
    List { name: name.to_owned(), path, snapshot }
}

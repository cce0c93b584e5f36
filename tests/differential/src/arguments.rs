//! The command line.

use std::path::PathBuf;

use mcp_bindgen_model::matches_glob;
use mcp_samples::Fallible;

const USAGE: &str = "usage: mcp-differential --corpus DIR [--most N | --all] [--only LIST] [--keep DIR]
  --most N     about so many lists, evenly taken from those that compile quickly (default 60)
  --all        every list
  --only LIST  only the lists whose name matches this glob
  --keep DIR   where the crates with the bindings are written (default: differential in the target folder)";

pub(crate) struct Arguments {
    pub(crate) corpus: PathBuf,
    /// `None` for all.
    pub(crate) most: Option<usize>,
    pub(crate) only: Option<String>,
    /// Where the crates with the bindings are written.
    pub(crate) scratch: PathBuf,
    /// What cargo builds from them.
    pub(crate) build: PathBuf,
    pub(crate) repository: PathBuf,
}

impl Arguments {
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Fallible<Self> {
        let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
        let (mut corpus, mut most, mut only, mut keep) = (None, Some(60), None, None);
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"));
            match option.as_str() {
                "--corpus" => corpus = Some(PathBuf::from(value()?)),
                "--most" => most = Some(value()?.parse().map_err(|error| format!("--most: {error}"))?),
                "--all" => most = None,
                "--only" => only = Some(value()?),
                "--keep" => keep = Some(PathBuf::from(value()?)),
                _ => return Err(format!("unknown option {option}\n{USAGE}").into()),
            }
        }
        Ok(Self {
            corpus: corpus.ok_or_else(|| format!("--corpus is missing\n{USAGE}"))?,
            most,
            only,
            scratch: keep.unwrap_or_else(|| target.join("differential")),
            build: target.join("differential-build"),
            repository,
        })
    }

    pub(crate) fn selects(&self, list: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| matches_glob(pattern, list))
    }
}

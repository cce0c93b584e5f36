//! The arguments of the suite.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mcp_bindgen_model::matches_glob;

/// Checks drift with thousands of changes to real tools.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) changes: Changes,
    /// The number of changes.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 10_000)]
    pub(crate) mutations: usize,
    /// At most this many values for each change.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 250)]
    pub(crate) samples: usize,
    /// Makes other changes.
    #[arg(long, global = true, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Takes only the kinds, files or shapes whose name matches this glob.
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) kind: Option<String>,
    /// The number of faults of each sort that are printed.
    #[arg(long, global = true, value_name = "COUNT", default_value_t = 3)]
    pub(crate) show: usize,
}

/// The changes to judge.
#[derive(Subcommand)]
pub(crate) enum Changes {
    /// Judges changes to the tools of the corpus.
    Corpus {
        /// The folder of the corpus.
        #[arg(long, value_name = "DIR")]
        corpus: PathBuf,
        /// Takes only the tools of lists whose name matches this glob.
        #[arg(long, value_name = "LIST")]
        only: Option<String>,
    },
    /// Judges the pairs of `suites/pairs`.
    Pairs,
    /// Judges random documents whose definitions refer to each other.
    Random,
    /// Measures how long comparing large documents takes.
    Times,
}

impl Arguments {
    pub(crate) fn selects_kind(&self, name: &str) -> bool {
        self.kind.as_ref().is_none_or(|pattern| matches_glob(pattern, name))
    }
}

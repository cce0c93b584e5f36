//! The lists of the corpus that a suite takes.

use std::path::PathBuf;

use clap::Args;
use mcp_bindgen_model::matches_glob;
use mcp_samples::Fallible;
use mcp_samples::corpus::{List, lists_with_samples};

#[derive(Args)]
pub(crate) struct Selection {
    /// The folder of the corpus.
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: PathBuf,
    /// Takes only the lists whose name matches this glob.
    #[arg(long, value_name = "LIST")]
    only: Option<String>,
    /// Takes only about this many lists, spread over all.
    #[arg(long, value_name = "COUNT")]
    lists: Option<usize>,
}

impl Selection {
    /// Reads the selected lists, with their sample values.
    pub(crate) fn read(&self) -> Fallible<Vec<List>> {
        Ok(self.sampled(self.all()?))
    }

    /// Reads the lists with a selected name, however many they are.
    pub(crate) fn all(&self) -> Fallible<Vec<List>> {
        lists_with_samples(&self.corpus, |name| self.selects(name))
    }

    pub(crate) fn selects(&self, list: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| matches_glob(pattern, list))
    }

    /// About as many of the lists as are asked for, from all over them.
    pub(crate) fn sampled<T>(&self, lists: Vec<T>) -> Vec<T> {
        let step = self.lists.map_or(1, |count| lists.len().div_ceil(count.max(1)).max(1));
        lists.into_iter().step_by(step).collect()
    }

    /// Returns `true` if some lists are left out.
    pub(crate) fn is_partial(&self) -> bool {
        self.only.is_some() || self.lists.is_some()
    }
}

//! The command line.

use std::path::PathBuf;

use mcp_bindgen_model::matches_glob;
use mcp_samples::Fallible;

const USAGE: &str =
    "usage: mcp-providers --corpus DIR [--only LIST] [--lists COUNT] [--mutations COUNT] [--seed NUMBER] [--show COUNT]
  --only LIST        only the lists whose name matches this glob
  --lists COUNT      only about so many lists, spread over all
  --mutations COUNT  how many damaged and random schemas are rewritten (default 2400)
  --show COUNT       how many failures of each kind are printed (default 5)";

pub(crate) struct Arguments {
    pub(crate) corpus: PathBuf,
    pub(crate) hostile: PathBuf,
    pub(crate) only: Option<String>,
    pub(crate) lists: Option<usize>,
    pub(crate) mutations: usize,
    pub(crate) seed: u64,
    pub(crate) show: usize,
}

impl Arguments {
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Fallible<Self> {
        let hostile = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hostile");
        let mut corpus = None;
        let mut arguments =
            Self { corpus: PathBuf::new(), hostile, only: None, lists: None, mutations: 2400, seed: 1, show: 5 };
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"));
            match option.as_str() {
                "--corpus" => corpus = Some(PathBuf::from(value()?)),
                "--only" => arguments.only = Some(value()?),
                "--lists" => arguments.lists = Some(value()?.parse().map_err(|error| format!("--lists: {error}"))?),
                "--mutations" => {
                    arguments.mutations = value()?.parse().map_err(|error| format!("--mutations: {error}"))?
                }
                "--seed" => arguments.seed = value()?.parse().map_err(|error| format!("--seed: {error}"))?,
                "--show" => arguments.show = value()?.parse().map_err(|error| format!("--show: {error}"))?,
                _ => return Err(format!("unknown option {option}\n{USAGE}").into()),
            }
        }
        arguments.corpus = corpus.ok_or_else(|| format!("--corpus is missing\n{USAGE}"))?;
        Ok(arguments)
    }

    pub(crate) fn selects(&self, list: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| matches_glob(pattern, list))
    }

    /// As many of the lists as are asked for, from all over them.
    pub(crate) fn sampled<T>(&self, lists: Vec<T>) -> Vec<T> {
        let step = self.lists.map_or(1, |count| lists.len().div_ceil(count.max(1)).max(1));
        lists.into_iter().step_by(step).collect()
    }

    /// Whether nothing is left out.
    pub(crate) fn is_whole(&self) -> bool {
        self.only.is_none() && self.lists.is_none()
    }
}

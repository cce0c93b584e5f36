//! The command line.

use std::path::PathBuf;

use mcp_bindgen_model::matches_glob;
use mcp_samples::Fallible;

const USAGE: &str = "usage: mcp-drift --corpus DIR | pairs | random | times  [--mutations N] [--samples N] [--seed N] [--kind NAME] [--only LIST] [--show N]
  --corpus DIR   judges changes to the tools of these lists
  pairs          judges the pairs of tests/drift/pairs; --kind NAME takes the files whose name matches
  random         judges random documents whose definitions refer to each other
  times          measures what comparing large documents costs
  --mutations N  how many changes (default 10000)
  --samples N    at most so many values for each of them (default 250)
  --seed N       other changes (default 1)
  --kind NAME    only the kinds, or the shapes of `times`, whose name matches this glob
  --only LIST    only tools of the lists whose name matches this glob
  --show N       how many of the faults of each sort are shown (default 3)";

/// The changes to judge.
pub(crate) enum Suite {
    Corpus(PathBuf),
    Pairs,
    Random,
    Times,
}

pub(crate) struct Arguments {
    pub(crate) suite: Suite,
    pub(crate) mutations: usize,
    pub(crate) samples: usize,
    pub(crate) seed: u64,
    pub(crate) kind: Option<String>,
    pub(crate) only: Option<String>,
    pub(crate) show: usize,
}

impl Arguments {
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Fallible<Self> {
        let (mut suite, mut kind, mut only) = (None, None, None);
        let (mut mutations, mut samples, mut seed, mut show) = (10_000, 250, 1, 3);
        while let Some(option) = given.next() {
            let word = match option.as_str() {
                "pairs" => Some(Suite::Pairs),
                "random" => Some(Suite::Random),
                "times" => Some(Suite::Times),
                _ => None,
            };
            if word.is_some() {
                suite = word;
                continue;
            }
            let value = given.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"))?;
            let bad = |error: std::num::ParseIntError| format!("{option} {value}: {error}\n{USAGE}");
            match option.as_str() {
                "--corpus" => suite = Some(Suite::Corpus(PathBuf::from(value))),
                "--mutations" => mutations = value.parse().map_err(bad)?,
                "--samples" => samples = value.parse().map_err(bad)?,
                "--seed" => seed = value.parse().map_err(bad)?,
                "--show" => show = value.parse().map_err(bad)?,
                "--kind" => kind = Some(value),
                "--only" => only = Some(value),
                _ => return Err(format!("unknown option {option}\n{USAGE}").into()),
            }
        }
        let suite = suite.ok_or_else(|| format!("expected a suite\n{USAGE}"))?;
        Ok(Self { suite, mutations, samples, seed, kind, only, show })
    }

    pub(crate) fn selects_list(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| matches_glob(pattern, name))
    }

    pub(crate) fn selects_kind(&self, name: &str) -> bool {
        self.kind.as_ref().is_none_or(|pattern| matches_glob(pattern, name))
    }

    /// Whether this is the whole suite, whose floors have to hold.
    pub(crate) fn is_whole(&self) -> bool {
        self.kind.is_none() && self.only.is_none()
    }
}

//! The command line.

use std::path::PathBuf;

use mcp_bindgen_model::{UnknownKeys, matches_glob};
use mcp_samples::Fallible;

use crate::learned::Learned;

const USAGE: &str =
    "usage: mcp-corpus --corpus DIR --suites DIR [--only LIST] [--lists COUNT] [--unknown keep] [--rust all] [--learn all|half] [--views] [--batch TOOLS] [--keep DIR] [--json FILE]
  --only LIST    only the lists whose name matches this glob; a suite's are named like draft7-allOf
  --lists COUNT  only about so many lists, spread over all
  --unknown keep bindings keep undeclared keys, and such keys are planted into the sample values
  --rust all     bindings have `setters`, `named` and `checked`
  --learn WHICH  results are typed by what is learned from all sample values, or from half of them to read the other half;
                 without the suites, and half only counts
  --views        one argument of every tool is fixed by a view; without the suites
  --batch TOOLS  about how many tools are compiled as one crate (default 600)
  --keep DIR     where the crates with the bindings are written (default: corpus in the target folder)
  --json FILE    write figures and findings as JSON too";

pub(crate) struct Arguments {
    pub(crate) corpus: PathBuf,
    pub(crate) suites: PathBuf,
    pub(crate) only: Option<String>,
    pub(crate) lists: Option<usize>,
    pub(crate) unknown: UnknownKeys,
    /// Whether all switches of `[servers.x.rust]` are on.
    pub(crate) switches: bool,
    pub(crate) learned: Option<Learned>,
    /// `true` if an argument of every tool is fixed.
    pub(crate) views: bool,
    pub(crate) batch: usize,
    /// Where the crates with the bindings are written.
    pub(crate) scratch: PathBuf,
    /// What cargo builds from them.
    pub(crate) build: PathBuf,
    pub(crate) json: Option<PathBuf>,
    pub(crate) exceptions: PathBuf,
    pub(crate) repository: PathBuf,
}

impl Arguments {
    pub(crate) fn parse(mut given: impl Iterator<Item = String>) -> Fallible<Self> {
        let home = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let repository = home.join("../..").canonicalize()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| repository.join("target"), PathBuf::from);
        let (mut corpus, mut suites, mut only, mut batch, mut keep, mut json) = (None, None, None, 600, None, None);
        let (mut lists, mut unknown, mut switches, mut learned) = (None, UnknownKeys::Ignore, false, None);
        let mut views = false;
        while let Some(option) = given.next() {
            let mut value = || given.next().ok_or_else(|| format!("{option} needs a value\n{USAGE}"));
            match option.as_str() {
                "--corpus" => corpus = Some(PathBuf::from(value()?)),
                "--suites" => suites = Some(PathBuf::from(value()?)),
                "--only" => only = Some(value()?),
                "--lists" => lists = Some(value()?.parse().map_err(|error| format!("--lists: {error}"))?),
                "--unknown" => {
                    let word = value()?;
                    let known = UnknownKeys::ALL.into_iter().find(|known| known.name() == word);
                    unknown = known.ok_or_else(|| format!("--unknown cannot be {word}\n{USAGE}"))?;
                }
                "--rust" => {
                    let word = value()?;
                    switches = word == "all";
                    if !switches {
                        return Err(format!("--rust cannot be {word}\n{USAGE}").into());
                    }
                }
                "--learn" => {
                    let word = value()?;
                    let known = Learned::named(&word).ok_or_else(|| format!("--learn cannot be {word}\n{USAGE}"))?;
                    learned = Some(known);
                }
                "--views" => views = true,
                "--batch" => batch = value()?.parse().map_err(|error| format!("--batch: {error}"))?,
                "--keep" => keep = Some(PathBuf::from(value()?)),
                "--json" => json = Some(PathBuf::from(value()?)),
                _ => return Err(format!("unknown option {option}\n{USAGE}").into()),
            }
        }
        Ok(Self {
            corpus: corpus.ok_or_else(|| format!("--corpus is missing\n{USAGE}"))?,
            suites: suites.ok_or_else(|| format!("--suites is missing\n{USAGE}"))?,
            only,
            lists,
            unknown,
            switches,
            learned,
            views,
            batch,
            scratch: keep.unwrap_or_else(|| {
                target.join(match (learned, unknown) {
                    _ if views => "corpus-views",
                    (Some(_), _) => "corpus-learned",
                    (None, UnknownKeys::Keep) => "corpus-keep",
                    (None, _) => "corpus",
                })
            }),
            build: target.join("corpus-build"),
            json,
            exceptions: home.join("exceptions.txt"),
            repository,
        })
    }

    /// Whether some lists are left out.
    pub(crate) fn is_partial(&self) -> bool {
        self.only.is_some() || self.lists.is_some() || self.learned.is_some() || self.views
    }

    /// As many of the lists as are asked for, from all over them.
    pub(crate) fn sampled<T>(&self, lists: Vec<T>) -> Vec<T> {
        let step = self.lists.map_or(1, |count| lists.len().div_ceil(count.max(1)).max(1));
        lists.into_iter().step_by(step).collect()
    }

    pub(crate) fn selects(&self, list: &str) -> bool {
        self.only.as_ref().is_none_or(|pattern| matches_glob(pattern, list))
    }
}

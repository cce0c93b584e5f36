//! What was told of differences, so that each is told once.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use super::verdict::Verdict;
use super::{Demand, lock};

/// So many differences of one tool are told.
const MOST_TOLD: usize = 20;

/// What was told of each tool of a server, over all its connections.
#[derive(Default)]
pub(crate) struct Told(Mutex<HashMap<String, HashSet<String>>>);

/// A bound tool that is not what it was.
pub(crate) struct DriftFound<'d> {
    pub(crate) server: &'d str,
    pub(crate) tool: &'d str,
    /// What changed, where, and the proof of it.
    pub(crate) words: &'d str,
    /// Whether calls that were fine may fail now, or `pin` wants it as it was.
    pub(crate) is_breaking: bool,
    /// Whether its calls are refused for it.
    pub(crate) is_refused: bool,
}

impl DriftFound<'_> {
    fn report(&self) {
        let Self { server, tool, words, is_breaking, is_refused } = *self;
        let so = match (is_breaking, is_refused) {
            (_, true) => "calls of it are refused",
            (true, false) => "calls of it may fail",
            (false, false) => "its bindings go on working",
        };
        tracing::warn!(server, tool, "the tool has changed since its bindings were made; {so}: {words}");
    }
}

impl Told {
    pub(super) fn tell(&self, server: &str, tool: &str, verdict: &Verdict, demand: Demand) {
        let mut told = lock(&self.0);
        if verdict.0.is_empty() {
            // What changes once more is told once more.
            told.remove(tool);
            return;
        }
        let before = told.insert(tool.to_owned(), verdict.0.iter().map(|found| found.words.clone()).collect());
        drop(told);
        let is_news = |words: &String| before.as_ref().is_none_or(|before| !before.contains(words));
        for found in verdict.0.iter().filter(|found| is_news(&found.words)).take(MOST_TOLD) {
            let is_breaking = found.is_breaking;
            let is_refused = is_breaking && demand.refuses();
            DriftFound { server, tool, words: &found.words, is_breaking, is_refused }.report();
        }
    }
}

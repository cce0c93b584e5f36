//! The differences that were reported, so that each is reported once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::Date;

use super::Demand;
use super::verdict::Verdict;
use crate::call::events::Observer;
use crate::ground::sync::lock;

/// The maximum number of differences reported for one tool.
const MOST_TOLD: usize = 20;

/// The differences that were reported of each tool of a server, over all its connections.
pub(crate) struct Told {
    observer: Arc<Observer>,
    words: Mutex<HashMap<String, HashSet<String>>>,
}

impl Told {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        Self { observer, words: Mutex::default() }
    }

    pub(super) fn tell(&self, server: &str, tool: &str, verdict: &Verdict, demand: &Demand) {
        let mut told = lock(&self.words);
        if verdict.0.is_empty() {
            // Another change is reported again.
            told.remove(tool);
            return;
        }
        let before = told.insert(tool.to_owned(), verdict.0.iter().map(|found| found.words.clone()).collect());
        drop(told);
        let today = Date::today();
        let is_news = |words: &String| before.as_ref().is_none_or(|before| !before.contains(words));
        for found in verdict.0.iter().filter(|found| is_news(&found.words)).take(MOST_TOLD) {
            let (words, is_breaking) = (&found.words, found.breaks(today));
            let is_refused = is_breaking && demand.refuses();
            let so = match (is_breaking, is_refused) {
                (_, true) => "calls are refused",
                (true, false) => "calls may fail",
                (false, false) => "its bindings still work",
            };
            tracing::warn!(server, tool, "the tool has changed since its bindings were generated; {so}: {words}");
            self.observer.drift_detected(tool, words, is_breaking, is_refused);
        }
    }
}

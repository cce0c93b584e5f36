//! The differences that were reported, so that each is reported once.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use mcp_bindgen_model::{Date, ServerConfig};

use super::refuses;
use super::verdict::Verdict;
use crate::call::events::Observer;
use crate::ground::sync::lock;

/// The maximum number of differences reported for one tool.
const MOST_REPORTED: usize = 20;

/// The differences that were reported of each tool of a server, over all its connections.
pub(crate) struct Reported {
    observer: Arc<Observer>,
    descriptions: Mutex<HashMap<String, HashSet<String>>>,
}

impl Reported {
    pub(crate) fn new(observer: Arc<Observer>) -> Self {
        Self { observer, descriptions: Mutex::default() }
    }

    pub(super) fn report(&self, config: &ServerConfig, tool: &str, verdict: &Verdict) {
        let mut reported = lock(&self.descriptions);
        if verdict.0.is_empty() {
            // Another change is reported again.
            reported.remove(tool);
            return;
        }
        let new = verdict.0.iter().map(|found| found.description.clone()).collect();
        let before = reported.insert(tool.to_owned(), new).unwrap_or_default();
        drop(reported);
        let today = Date::today();
        for found in verdict.0.iter().filter(|found| !before.contains(&found.description)).take(MOST_REPORTED) {
            let (change, is_breaking) = (&found.description, found.breaks(today));
            let is_refused = is_breaking && refuses(config);
            let effect = match (is_breaking, is_refused) {
                (_, true) => "calls are refused",
                (true, false) => "calls may fail",
                (false, false) => "its bindings still work",
            };
            let server = &*config.name;
            tracing::warn!(server, tool, "the tool has changed since its bindings were generated; {effect}: {change}");
            self.observer.drift_detected(tool, change, is_breaking, is_refused);
        }
    }
}

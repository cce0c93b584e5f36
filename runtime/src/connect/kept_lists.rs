//! Lists that a server lets clients keep (2026-07-28, `ttlMs` and `cacheScope`).

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::ground::sync::lock;

/// No list is kept longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// The lifetime and the scope of a cached list: `ttlMs` and `cacheScope` of 2026-07-28.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListTerms {
    /// The time from now on.
    pub ttl: Duration,
    /// `true` if the list may be shared between callers: `cacheScope` is `public`.
    pub is_public: bool,
}

/// The terms of the pages of a list: the strictest of all.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    begun: Instant,
    ttl: Duration,
    is_public: bool,
}

impl Terms {
    pub(crate) fn new() -> Self {
        Self { begun: Instant::now(), ttl: LONGEST, is_public: true }
    }

    /// Takes those of a page.
    pub(crate) fn add(&mut self, page: &Value) {
        let ttl = page.get("ttlMs").and_then(Value::as_u64).map_or(Duration::ZERO, Duration::from_millis);
        self.ttl = self.ttl.min(ttl);
        self.is_public &= page.get("cacheScope").and_then(Value::as_str) == Some("public");
    }

    fn left(&self) -> Duration {
        self.ttl.saturating_sub(self.begun.elapsed())
    }
}

/// The lists of a connection, by method.
#[derive(Default)]
pub(crate) struct KeptLists(Mutex<HashMap<&'static str, Kept>>);

struct Kept {
    items: Vec<Value>,
    terms: Terms,
    /// How often the list had changed.
    changes: u64,
}

impl KeptLists {
    /// Returns a list that is still good; `changes` is how often it has changed.
    pub(crate) fn get(&self, method: &str, changes: u64) -> Option<Vec<Value>> {
        lock(&self.0).get(method).filter(|kept| kept.is_good(changes)).map(|kept| kept.items.clone())
    }

    /// Returns how long a list may still be kept.
    pub(crate) fn terms(&self, method: &str, changes: u64) -> Option<ListTerms> {
        let terms = lock(&self.0).get(method).filter(|kept| kept.is_good(changes))?.terms;
        Some(ListTerms { ttl: terms.left(), is_public: terms.is_public })
    }

    /// Keeps a list, where its terms allow it.
    pub(crate) fn put(&self, method: &'static str, items: &[Value], terms: &Terms, changes: u64) {
        let mut lists = lock(&self.0);
        if terms.left().is_zero() {
            lists.remove(method);
        } else {
            lists.insert(method, Kept { items: items.to_vec(), terms: *terms, changes });
        }
    }
}

impl Kept {
    fn is_good(&self, changes: u64) -> bool {
        self.changes == changes && !self.terms.left().is_zero()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strictest_page_sets_the_cache_terms_until_the_list_changes() {
        let kept = KeptLists::default();
        let put = |pages: &[Value]| {
            let mut terms = Terms::new();
            pages.iter().for_each(|page| terms.add(page));
            kept.put("tools/list", &[json!(1)], &terms, 7);
            kept.terms("tools/list", 7)
        };
        let public = json!({ "ttlMs": 60_000, "cacheScope": "public" });
        let terms = put(&[public.clone(), json!({ "ttlMs": 30_000, "cacheScope": "private" })]).expect("it is kept");
        assert!(!terms.is_public && terms.ttl <= Duration::from_secs(30) && terms.ttl > Duration::from_secs(20));
        assert!(put(std::slice::from_ref(&public)).is_some_and(|terms| terms.is_public));
        assert_eq!(kept.get("tools/list", 7), Some(vec![json!(1)]));
        assert_eq!((kept.get("tools/list", 8), kept.get("prompts/list", 7)), (None, None));
        for page in [json!({}), json!({ "ttlMs": 0 }), json!({ "ttlMs": -1 }), json!({ "ttlMs": "60" })] {
            assert_eq!(put(&[public.clone(), page]), None);
        }
    }
}

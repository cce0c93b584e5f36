//! Results for recursive pairs. A pair in progress is assumed to be fine; results based on that are dropped if it
//! turns out otherwise.

use std::collections::HashMap;
use std::hash::Hash;

pub(super) struct Memo<K, V> {
    known: HashMap<K, Known<V>>,
    /// The pairs found fine while a pair that is still open was assumed to be.
    provisional: Vec<K>,
    open: Vec<Opened>,
    /// The outermost open pair that counted as fine since the innermost was opened.
    leans_on: usize,
}

/// A verdict, and the outermost open pair that it leans on.
struct Known<V> {
    verdict: V,
    leans_on: usize,
}

/// Leaning on no open pair.
const NOTHING: usize = usize::MAX;

/// The counts before a pair was opened.
struct Opened {
    provisional: usize,
    leans_on: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> Memo<K, V> {
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), provisional: Vec::new(), open: Vec::new(), leans_on: NOTHING }
    }

    /// Returns the verdict on a pair, if known.
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let known = self.known.get(key)?;
        self.leans_on = self.leans_on.min(known.leans_on);
        Some(known.verdict.clone())
    }

    /// Opens a pair, which counts as `fine` until it is closed. `None` means that no assumption is valid, because the
    /// pair may recur for the same value.
    pub(super) fn open(&mut self, key: &K, fine: Option<V>) {
        if let Some(verdict) = fine {
            self.known.insert(key.clone(), Known { verdict, leans_on: self.open.len() });
        }
        let leans_on = std::mem::replace(&mut self.leans_on, NOTHING);
        self.open.push(Opened { provisional: self.provisional.len(), leans_on });
    }

    /// Closes the pair that was opened last.
    pub(super) fn close(&mut self, key: K, verdict: V, is_fine: bool) {
        let Some(opened) = self.open.pop() else { return };
        let mut leans_on = std::mem::replace(&mut self.leans_on, opened.leans_on);
        if leans_on >= self.open.len() {
            leans_on = NOTHING;
        }
        if !is_fine {
            // A pair that fails although others are assumed to be fine fails without that, too. Those found fine may
            // have leaned on it.
            leans_on = NOTHING;
            for leaning in self.provisional.split_off(opened.provisional) {
                self.known.remove(&leaning);
            }
        } else {
            for leaning in self.provisional.iter().skip(opened.provisional) {
                if let Some(known) = self.known.get_mut(leaning) {
                    known.leans_on = leans_on;
                }
            }
            if leans_on == NOTHING {
                self.provisional.truncate(opened.provisional);
            } else {
                self.provisional.push(key.clone());
                self.leans_on = self.leans_on.min(leans_on);
            }
        }
        self.known.insert(key, Known { verdict, leans_on });
    }
}

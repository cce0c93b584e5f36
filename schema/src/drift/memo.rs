//! What was found out about pairs that may lead back to themselves. A pair that is open counts as fine; what was found
//! fine on the strength of that is forgotten when the open pair turns out not to be.

use std::collections::HashMap;
use std::hash::Hash;

pub(super) struct Memo<K, V> {
    known: HashMap<K, Known<V>>,
    /// Found fine on the strength of a pair that is still open.
    provisional: Vec<K>,
    open: usize,
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

/// A pair that is open, and what counted before.
pub(super) struct Opened {
    provisional: usize,
    leans_on: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> Memo<K, V> {
    pub(super) fn new() -> Self {
        Self { known: HashMap::new(), provisional: Vec::new(), open: 0, leans_on: NOTHING }
    }

    /// What is known of a pair.
    pub(super) fn get(&mut self, key: &K) -> Option<V> {
        let known = self.known.get(key)?;
        self.leans_on = self.leans_on.min(known.leans_on);
        Some(known.verdict.clone())
    }

    /// Opens a pair. Until it is closed it counts as `fine`, where that is said: it has to be asked about something smaller
    /// each time.
    pub(super) fn open(&mut self, key: &K, fine: Option<V>) -> Opened {
        if let Some(verdict) = fine {
            self.known.insert(key.clone(), Known { verdict, leans_on: self.open });
        }
        self.open += 1;
        Opened { provisional: self.provisional.len(), leans_on: std::mem::replace(&mut self.leans_on, NOTHING) }
    }

    /// Closes the pair that was opened last.
    pub(super) fn close(&mut self, opened: Opened, key: K, verdict: V, is_fine: bool) {
        self.open -= 1;
        let mut leans_on = std::mem::replace(&mut self.leans_on, opened.leans_on);
        if leans_on >= self.open {
            leans_on = NOTHING;
        }
        if !is_fine {
            // What is wrong is wrong, whatever was assumed; what was fine may have leaned on this pair.
            leans_on = NOTHING;
            for leaning in self.provisional.drain(opened.provisional..) {
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

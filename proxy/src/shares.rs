//! The shares of callers in something limited.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::lock::lock;

/// Limits the shares that each caller holds, and all callers together. Clones count together.
#[derive(Clone)]
pub(crate) struct Shares {
    most: usize,
    most_each: usize,
    held: Arc<Mutex<HashMap<String, usize>>>,
}

impl Shares {
    pub(crate) fn new(most: usize, most_each: usize) -> Self {
        Self { most, most_each, held: Arc::default() }
    }

    /// Takes a share for a caller, which is returned on drop. Returns `None` if a limit is reached; for an unknown caller
    /// only that of all callers.
    pub(crate) fn take(&self, caller: Option<&str>) -> Option<Share> {
        let mut held = lock(&self.held);
        let is_at_most = caller.and_then(|caller| held.get(caller)).is_some_and(|own| *own >= self.most_each);
        if is_at_most || held.values().sum::<usize>() >= self.most {
            return None;
        }
        let caller = caller.unwrap_or_default().to_owned();
        *held.entry(caller.clone()).or_default() += 1;
        Some(Share { shares: self.clone(), caller })
    }

    /// Returns how many are held.
    pub(crate) fn count(&self) -> usize {
        lock(&self.held).values().sum()
    }
}

/// One of them, as long as it is held.
pub(crate) struct Share {
    shares: Shares,
    caller: String,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut held = lock(&self.shares.held);
        if let Some(own) = held.get_mut(&self.caller) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_caller_cannot_take_all_shares() {
        let shares = Shares::new(3, 2);
        let first = (shares.take(Some("a")), shares.take(Some("a")));
        assert!(first.0.is_some() && first.1.is_some());
        assert!(shares.take(Some("a")).is_none(), "it has its share");
        let other = shares.take(Some("b"));
        assert!(other.is_some() && shares.take(Some("c")).is_none(), "there are three");
        drop(first);
        assert!(shares.take(Some("c")).is_some() && lock(&shares.held).len() == 1);
    }
}

//! Sets, counts and orders of keys.

use std::collections::{HashMap, HashSet};

/// Returns the set of some keys.
pub(crate) fn set(keys: &[String]) -> HashSet<&str> {
    keys.iter().map(String::as_str).collect()
}

/// Returns each key once, in the order of the first occurrences.
pub(crate) fn distinct(keys: &[&str]) -> Vec<String> {
    let (mut seen, mut distinct) = (HashSet::new(), Vec::new());
    for key in keys {
        if seen.insert(*key) {
            distinct.push((*key).to_owned());
        }
    }
    distinct
}

/// Appends the keys that are not in a list yet.
pub(crate) fn extend(list: &mut Vec<String>, more: &[String]) {
    let (known, mut new) = (set(list), Vec::new());
    for key in more {
        if !known.contains(key.as_str()) {
            new.push(key.clone());
        }
    }
    list.append(&mut new);
}

/// Returns the place of each key.
pub(crate) fn places<'k>(keys: &[&'k str]) -> HashMap<&'k str, usize> {
    keys.iter().enumerate().map(|(place, key)| (*key, place)).collect()
}

/// Returns each key once, sorted.
pub(crate) fn in_order<'k>(keys: &[&'k str]) -> Vec<&'k str> {
    let mut ordered: Vec<&str> = sorted(keys, |key| key).into_iter().copied().collect();
    ordered.dedup();
    ordered
}

/// Returns how often each key occurs.
pub(crate) fn counts(keys: &[String]) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    for key in keys {
        *counts.entry(key.as_str()).or_default() += 1;
    }
    counts
}

/// Returns items in the order of their keys. Those with one key keep their order.
pub(crate) fn sorted<T>(items: &[T], key: fn(&T) -> &str) -> Vec<&T> {
    let (mut order, mut sorted) = (Vec::new(), Vec::new());
    for (place, item) in items.iter().enumerate() {
        order.push((key(item), place));
    }
    order.sort_unstable();
    for (_, place) in order {
        sorted.extend(items.get(place));
    }
    sorted
}

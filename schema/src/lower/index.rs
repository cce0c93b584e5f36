//! Finding entries by their keys: few by comparing, many by hashing.

use std::collections::HashMap;

/// Up to here comparing is faster.
const FEW: usize = 16;

pub(super) struct Index<'e, T> {
    entries: &'e [T],
    key: fn(&T) -> &str,
    many: Option<HashMap<&'e str, &'e T>>,
}

impl<'e, T> Index<'e, T> {
    pub(super) fn new(entries: &'e [T], key: fn(&T) -> &str) -> Self {
        let many = (entries.len() > FEW).then(|| entries.iter().map(|entry| (key(entry), entry)).collect());
        Self { entries, key, many }
    }

    pub(super) fn get(&self, key: &str) -> Option<&'e T> {
        match &self.many {
            Some(many) => many.get(key).copied(),
            None => self.entries.iter().find(|entry| (self.key)(entry) == key),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }
}

/// Returns the index of a list of keys.
pub(super) fn keys(keys: &[String]) -> Index<'_, String> {
    Index::new(keys, String::as_str)
}

/// Appends the keys that are not there yet.
pub(super) fn extend(list: &mut Vec<String>, more: &[String]) {
    if more.is_empty() {
        return;
    }
    let new: Vec<String> = {
        let known = keys(list);
        more.iter().filter(|key| !known.has(key)).cloned().collect()
    };
    list.extend(new);
}

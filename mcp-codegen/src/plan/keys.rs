//! Keys that identify the tools or prompts of a list, regardless of their order.

use std::collections::{BTreeMap, HashSet};

use mcp_bindgen_model::canonical_json;
use serde_json::{Map, Value};

use crate::names::fingerprint;

/// Returns a key for each item of a list: its name. Of several with one name the least by content has it, and the
/// others have a fingerprint behind it.
pub(super) fn unique_keys(items: &[(&str, &Map<String, Value>)]) -> Vec<String> {
    let mut keys: Vec<String> = items.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, (name, _)) in items.iter().enumerate() {
        by_name.entry(name).or_default().push(place);
    }
    let mut taken: HashSet<String> = HashSet::new();
    for (name, places) in by_name.into_iter().filter(|(_, places)| places.len() > 1) {
        if taken.is_empty() {
            taken.extend(keys.iter().cloned());
        }
        let content = |place: usize| items.get(place).map(|(_, item)| canonical_json(&Value::Object((*item).clone())));
        let mut ranked: Vec<(Option<String>, usize)> =
            places.into_iter().map(|place| (content(place), place)).collect();
        ranked.sort();
        for (content, place) in ranked.into_iter().skip(1) {
            let mut key = format!("{name} {}", fingerprint(&content.unwrap_or_default()));
            while !taken.insert(key.clone()) {
                key.push('x');
            }
            if let Some(slot) = keys.get_mut(place) {
                *slot = key;
            }
        }
    }
    keys
}

//! Which tools fit a few words best: BM25 over names, descriptions and parameters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::super::Entry;

/// How soon repetition of a word no longer counts.
const SATURATION: f64 = 1.2;
/// The weight of a text's length: a longer text needs more matches.
const LENGTH: f64 = 0.75;
const NAME: f64 = 3.0;
const TITLE: f64 = 2.0;
const DESCRIPTION: f64 = 1.0;
const PARAMETER: f64 = 1.0;
const PARAMETER_DESCRIPTION: f64 = 0.3;
/// Schemas are walked as deep as people name parameters.
const DEEPEST: usize = 6;

/// The words of tools.
pub(super) struct Index {
    /// For each word, how much each tool says it.
    said: HashMap<String, Vec<(usize, f64)>>,
    lengths: Vec<f64>,
    average: f64,
}

impl Index {
    pub(super) fn of(entries: &[Arc<Entry>]) -> Self {
        let mut said: HashMap<String, Vec<(usize, f64)>> = HashMap::new();
        let mut lengths = Vec::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let words = words_of(entry);
            lengths.push(words.values().sum());
            for (word, weight) in words {
                said.entry(word).or_default().push((place, weight));
            }
        }
        let average = lengths.iter().sum::<f64>() / lengths.len().max(1) as f64;
        Self { said, lengths, average }
    }

    /// Returns the indices of matches, best first; equal matches keep their order.
    pub(super) fn best(&self, query: &str, most: usize) -> Vec<usize> {
        let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
        let mut wanted = words(query);
        wanted.sort_unstable();
        wanted.dedup();
        for said in wanted.iter().filter_map(|word| self.said.get(word)) {
            let (tools, with) = (self.lengths.len() as f64, said.len() as f64);
            let rarity = (1.0 + (tools - with + 0.5) / (with + 0.5)).ln();
            for (place, weight) in said {
                let length = self.lengths.get(*place).copied().unwrap_or_default() / self.average.max(1.0);
                let bound = SATURATION * (1.0 - LENGTH + LENGTH * length);
                *scores.entry(*place).or_default() += rarity * weight * (SATURATION + 1.0) / (weight + bound);
            }
        }
        let mut ranked: Vec<(usize, f64)> = scores.into_iter().collect();
        ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        ranked.into_iter().take(most).map(|(place, _)| place).collect()
    }
}

fn words_of(entry: &Entry) -> BTreeMap<String, f64> {
    let mut weights = BTreeMap::new();
    let mut add = |text: &str, weight: f64| {
        for word in words(text) {
            *weights.entry(word).or_default() += weight;
        }
    };
    add(&entry.server, DESCRIPTION);
    add(&entry.tool, NAME);
    add(entry.title.as_deref().unwrap_or_default(), TITLE);
    add(entry.description.as_deref().unwrap_or_default(), DESCRIPTION);
    parameters(&entry.input_schema, DEEPEST, &mut add);
    weights
}

/// Adds the names and descriptions of parameters, including nested ones.
fn parameters(schema: &Value, levels: usize, add: &mut impl FnMut(&str, f64)) {
    let Some(below) = levels.checked_sub(1) else { return };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        add(name, PARAMETER);
        add(property.get("description").and_then(Value::as_str).unwrap_or_default(), PARAMETER_DESCRIPTION);
        parameters(property, below, add);
    }
    if let Some(items) = schema.get("items") {
        parameters(items, below, add);
    }
}

/// Splits a text into words for comparison: `listPullRequests` has three, in the singular. In scripts without spaces,
/// each character is a word.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_lower = false;
    for character in text.chars() {
        let stands_alone = matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        if !character.is_alphanumeric() || stands_alone || (was_lower && character.is_uppercase()) {
            words.extend(singular(std::mem::take(&mut word)));
        }
        was_lower = character.is_lowercase();
        if stands_alone {
            words.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
    }
    words.extend(singular(word));
    words
}

/// Returns the singular of a word; names of tools need no other English endings.
fn singular(word: String) -> Option<String> {
    let stem = |ending: &str, least: usize| word.strip_suffix(ending).filter(|stem| stem.len() >= least);
    let singular = match (stem("ies", 2), stem("ss", 1), stem("s", 3)) {
        (Some(stem), ..) => format!("{stem}y"),
        (None, None, Some(stem)) => stem.to_owned(),
        _ => word,
    };
    (!singular.is_empty()).then_some(singular)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words("github_listPullRequests2"), ["github", "list", "pull", "requests2"]);
        assert_eq!(words("Repositories, classes; a/b's"), ["repository", "classe", "a", "b", "s"]);
        assert_eq!(words("检索 issues"), ["检", "索", "issue"]);
        assert!(words(" -- ").is_empty());
    }
}

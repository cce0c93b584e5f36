//! The fuzz target's harness over mutations of the fixtures, for a few seconds on stable Rust.
//!
//! `FUZZ_SECONDS=600 FUZZ_SEED=7 cargo test -p mcp-codegen --release --test fuzz_seeds` runs longer, from elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod harness;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_samples::Random;
use mcp_samples::schemas::KEYS;
use serde_json::{Map, Value, json};

const SECONDS: u64 = 8;
/// Mutations of larger lists would leave no time for others.
const LARGEST_SEED: usize = 6_000;

#[test]
fn mutated_fixtures_generate() {
    let number = |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (seconds, seed) = (number("FUZZ_SECONDS", SECONDS), number("FUZZ_SEED", 1));
    let mut random = Random::new(seed);
    let seeds = seeds();
    let values: Vec<Value> = seeds.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    assert!(values.len() > 40, "{} seeds", values.len());
    let started = Instant::now();
    let (mut runs, mut lists) = (0, 0);
    while started.elapsed() < Duration::from_secs(seconds) {
        let text = match random.below(4) {
            0 => damaged(random.pick(&seeds).unwrap().as_str(), &mut random),
            _ => mutated(&values, &mut random).to_string(),
        };
        let checked = std::panic::catch_unwind(|| harness::check(&text));
        match checked {
            Ok(is_list) => lists += usize::from(is_list),
            Err(_) => panic!("run {runs} of FUZZ_SEED={seed} fails on:\n{text}"),
        }
        runs += 1;
    }
    println!("{runs} texts, {lists} of them tool lists");
    assert!(lists > 20, "{runs} texts, {lists} of them tool lists");
}

fn seeds() -> Vec<String> {
    let mut seeds = Vec::new();
    for folder in ["lists", "features", "hostile", "broken"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(folder);
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let texts = paths.iter().filter_map(|path| fs::read_to_string(path).ok());
        seeds.extend(texts.filter(|text| text.len() <= LARGEST_SEED));
    }
    seeds
}

/// A list with a few of its parts replaced, removed, or put where others were.
fn mutated(values: &[Value], random: &mut Random) -> Value {
    let mut list = random.pick(values).unwrap().clone();
    for _ in 0..=random.below(6) {
        let part = match random.below(3) {
            0 => odd(random),
            _ => somewhere(random.pick(values).unwrap(), random).clone(),
        };
        let steps = random.below(12);
        let tools = list.get_mut("tools").filter(|_| random.below(20) > 0);
        match tools {
            Some(tools) => change(tools, part, steps.max(1), random),
            None => change(&mut list, part, steps, random),
        }
    }
    list
}

fn somewhere<'v>(value: &'v Value, random: &mut Random) -> &'v Value {
    let children: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    };
    if children.is_empty() || random.below(5) == 0 {
        return value;
    }
    somewhere(children[random.below(children.len())], random)
}

/// Walks down `steps` steps at most, and changes what is there.
fn change(value: &mut Value, part: Value, steps: usize, random: &mut Random) {
    match value {
        Value::Array(items) if steps > 0 && !items.is_empty() => {
            let index = random.below(items.len());
            change(&mut items[index], part, steps - 1, random);
        }
        Value::Object(map) if steps > 0 && !map.is_empty() => {
            let key = map.keys().nth(random.below(map.len())).unwrap().clone();
            match random.below(8) {
                0 => drop(map.remove(&key)),
                1 => drop(map.insert(random.pick(KEYS).unwrap().to_string(), part)),
                2 => {
                    let moved = map.remove(&key).unwrap();
                    map.insert(random.pick(KEYS).unwrap().to_string(), moved);
                }
                _ => change(&mut map[&key], part, steps - 1, random),
            }
        }
        other => *other = part,
    }
}

/// The text cut, or with some of its characters changed.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        if chars.is_empty() {
            break;
        }
        let place = random.below(chars.len());
        match random.below(5) {
            0 => chars.truncate(place.max(1)),
            1 => drop(chars.remove(place)),
            _ => {
                let odd = ['"', '{', '}', '[', ',', '0', '-', '\\', '\u{202e}', '\0', 'e', '$', '#'];
                chars[place] = *random.pick(&odd).unwrap();
            }
        }
    }
    chars.into_iter().collect()
}

fn odd(random: &mut Random) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1e308),
        json!(u64::MAX),
        json!(""),
        json!("object"),
        json!(["string", "null"]),
        json!([]),
        json!({}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/properties/a"}),
        json!({"$ref": "#/$defs/x%2"}),
        json!({"type": "array", "items": {"$ref": "#"}}),
        json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
        json!({"allOf": [{"$ref": "#"}, {"not": {}}]}),
        json!({"enum": ["a", "A", "", null, 1, 1.0, {}]}),
        json!("\u{202e}*/ }\n```rust"),
        Value::Object(Map::from_iter([("r#type".to_owned(), json!("string"))])),
    ];
    random.pick(&values).unwrap().clone()
}

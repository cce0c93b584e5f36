//! The harness of the fuzz targets over mutations of the fixtures, on stable Rust.
//!
//! `FUZZ_SECONDS=600 PROPTEST_RNG_SEED=7 cargo test -p mcp-bindgen-codegen --release --test fuzz_seeds` runs longer, from elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]
#![allow(clippy::indexing_slicing, clippy::disallowed_methods)]

mod harness;

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use mcp_samples::schemas::KEYS;
use mcp_samples::{Random, from_environment, seed};
use serde_json::{Map, Value, json};

/// Texts for each target, however fast the machine is.
const RUNS: usize = 150;
/// Mutations of larger lists would leave no time for others.
const LARGEST_SEED: usize = 6_000;

#[test]
fn mutated_tool_lists_generate_bindings() {
    let seeds = Seeds::of_lists();
    fuzz("tool lists", harness::check, |random| match random.below(4) {
        0 => damaged(random.pick(&seeds.texts).unwrap().as_str(), random),
        _ => mutated(&seeds.values, random).to_string(),
    });
}

#[test]
fn mutated_configurations_are_parsed() {
    let texts: Vec<String> = CONFIGURATIONS.iter().map(ToString::to_string).collect();
    let values: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
    fuzz("configurations", harness::config::check, |random| match random.below(3) {
        0 => damaged(random.pick(&texts).unwrap().as_str(), random),
        _ => mutated(&values, random).to_string(),
    });
}

#[test]
fn mutated_lists_are_compared() {
    let seeds = Seeds::of_lists();
    fuzz("pairs of lists", harness::drift::check, |random| {
        let old = random.pick(&seeds.values).unwrap().clone();
        let new = if random.below(4) == 0 { random.pick(&seeds.values).unwrap().clone() } else { old.clone() };
        format!("{old}{}{}", harness::drift::SEPARATOR, mutation(new, &seeds.values, random))
    });
}

#[test]
fn mutated_overrides_are_applied() {
    let lists = Seeds::of_lists();
    let texts = [include_str!("../../fixtures/overrides/github.overrides.json"), OVERRIDES].map(ToOwned::to_owned);
    let values: Vec<Value> = texts.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    fuzz("overrides", harness::overrides::check, |random| match random.below(8) {
        0 => damaged(random.pick(&texts).unwrap().as_str(), random),
        // Parts of schemas come from the lists.
        1..4 => mutation(random.pick(&values).unwrap().clone(), &lists.values, random).to_string(),
        _ => {
            let tools = random.pick(&values).unwrap()["tools"].as_object().unwrap();
            let tool = tools.keys().nth(random.below(tools.len())).unwrap();
            let schema = somewhere(random.pick(&lists.values).unwrap(), random).clone();
            let schema = if schema.is_object() { schema } else { json!({ "items": schema }) };
            json!({ "tools": { tool: { "outputSchema": schema } } }).to_string()
        }
    });
}

#[test]
fn planted_secrets_are_never_shown() {
    let texts: Vec<String> = CONFIGURATIONS.iter().chain(TEXTS).map(ToString::to_string).collect();
    fuzz("texts beside a secret", harness::secrets::check, |random| {
        damaged(random.pick(&texts).unwrap().as_str(), random)
    });
}

/// Set in the process that is to hang.
const HANG: &str = "MCP_FUZZ_HANG";

#[test]
fn hang_is_a_failure_that_names_its_case() {
    if std::env::var_os(HANG).is_some() {
        harness::watchdog::within(Duration::from_millis(50), "the text that hangs", || {
            loop {
                std::hint::black_box(());
            }
        });
    }
    let name = "hang_is_a_failure_that_names_its_case";
    let mut hanging = std::process::Command::new(std::env::current_exe().unwrap());
    let output = hanging.args(["--exact", name]).env(HANG, "1").output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the text that hangs") && said.contains("still running after"), "{said}");
}

/// Puts texts through a check for a while.
fn fuzz(what: &str, check: harness::Check, mut text: impl FnMut(&mut Random) -> String) {
    let seconds = from_environment("FUZZ_SECONDS").map(Duration::from_secs);
    let mut random = Random::new(seed());
    let started = Instant::now();
    let (mut runs, mut meant) = (0, 0);
    while runs < RUNS || seconds.is_some_and(|seconds| started.elapsed() < seconds) {
        let text = text(&mut random);
        match std::panic::catch_unwind(|| check(&text)) {
            Ok(is_meant) => meant += usize::from(is_meant),
            Err(_) => panic!("run {runs} of PROPTEST_RNG_SEED={} fails on:\n{text}", seed()),
        }
        runs += 1;
    }
    println!("{runs} texts, {meant} of them {what}");
    assert!(meant > 20, "{runs} texts, {meant} of them {what}");
}

struct Seeds {
    texts: Vec<String>,
    values: Vec<Value>,
}

impl Seeds {
    fn of_lists() -> Self {
        let texts = seeds();
        let values: Vec<Value> = texts.iter().filter_map(|text| serde_json::from_str(text).ok()).collect();
        assert!(values.len() > 40, "{} seeds", values.len());
        Self { texts, values }
    }
}

const CONFIGURATIONS: &[&str] = &[
    r#"{"mcpServers": {"github": {"command": "npx", "args": ["-y", "server", "--token=${T}"], "env": {"KEY": "${KEY:-x}"}}}}"#,
    r#"{"mcpServers": {"a": {"type": "http", "url": "https://u:p@example.com/mcp?key=1", "headers": {"Authorization": "Bearer x"}},
        "Not A Name": {"command": ""}, "b": {"type": "sse", "url": "${URL}", "timeout": 5, "disabled": true}}}"#,
    r#"{"fs": {"command": "uvx", "args": [], "cwd": "..", "tools": ["read_*"], "exclude": ["*"], "timeout": "30s"}}"#,
    "[defaults]\nsnapshots = \"mcp\"\ntimeout = \"30s\"\ndrift = \"warn\"\n\n[servers.github]\nnpm = \"@x/y\"\n\
     env = { A = \"${B}\" }\ntools = [\"a\", \"b_*\"]\nprefix = false\n",
    "deny = [\"MCP0001\"]\nallow = []\n[servers.docs]\nurl = \"https://example.com\"\nheaders = { X = \"y\" }\n\
     [servers.b]\ncommand = \"c\"\nargs = [\"--x=1\"]\nprefix = \"p\"\ntimeout = \"1m\"\n",
];

/// Over the tools of `features/output.json`.
const OVERRIDES: &str = r##"{"format": 1, "tools": {
    "structured": {"patch": {"inputSchema": {"properties": {"q": {"type": "string"}}}, "outputSchema": {"properties":
        {"id": {"type": ["integer", "null"]}, "tags": {"items": {"minLength": 1}}}, "required": null}}},
    "plain": {"outputSchema": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#"}}]}, "learnedFrom": 3},
    "text_root": {"patch": {"outputSchema": null}}
}}"##;

const TEXTS: &[&str] =
    &["", "--header", "--token", "Authorization:", "${A:-${B}}", "\u{202e}\u{1b}[2J", "a=b&c=d", "//@:?#"];

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
    let list = random.pick(values).unwrap().clone();
    mutation(list, values, random)
}

fn mutation(mut list: Value, values: &[Value], random: &mut Random) -> Value {
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
                chars[place] =
                    *random.pick(&['"', '{', '}', '[', ',', '0', '-', '\\', '\u{202e}', '\0', 'e', '$', '#']).unwrap()
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

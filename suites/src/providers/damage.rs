//! Schemas that are damaged, and schemas made up of everything: nothing may panic, hang, or give what is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_samples::{Random, schemas};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Map, Value, json};

use crate::providers::Arguments;
use crate::providers::report::Report;
use crate::providers::rewritten::Rewritten;

/// One in so many is made up, not damaged.
const MADE_UP: usize = 4;

pub(crate) fn judge(originals: &[&Value], arguments: &Arguments, report: &mut Report) {
    let mut random = Random::new(arguments.seed);
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(arguments.seed.to_le_bytes()).for_each(|(byte, seed)| *byte = seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let (lists, values) = (schemas::tools(), schemas::json());
    let mut made_up: Vec<Value> = Vec::new();
    let mut done = 0;
    while done < arguments.mutations {
        let schema = if done % MADE_UP == 0 {
            if made_up.is_empty() {
                let Ok(list) = lists.new_tree(&mut runner) else { break };
                made_up = list.current().into_iter().filter_map(|tool| tool.get("inputSchema").cloned()).collect();
            }
            made_up.pop().unwrap_or_default()
        } else {
            let Some(original) = random.pick(originals) else { break };
            let mut schema = (*original).clone();
            for _ in 0..=random.below(4) {
                let Ok(junk) = values.new_tree(&mut runner) else { break };
                damage(&mut schema, &junk.current(), &mut random);
            }
            schema
        };
        let rewritten = Rewritten::of("damaged", &schema, report, false);
        let Ok(value) = values.new_tree(&mut runner) else { break };
        let mut value = value.current();
        if let Some(nulls) = &rewritten.nulls
            && catch_unwind(AssertUnwindSafe(|| nulls.take_out(&mut value))).is_err()
        {
            report.fail("a panic", || format!("{value} under {schema}"));
        }
        done += 1;
    }
    if done < arguments.mutations {
        report.fail("too few damaged schemas", || format!("{done}"));
    }
    report.line(format!("{done} damaged and random schemas rewritten for each provider"));
}

const KEYWORDS: [&str; 18] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "enum",
    "const",
    "not",
    "patternProperties",
    "prefixItems",
    "$defs",
    "pattern",
    "default",
    "minimum",
];

/// Changes one place.
fn damage(schema: &mut Value, junk: &Value, random: &mut Random) {
    let mut pointers = Vec::new();
    places(schema, String::new(), &mut pointers);
    let Some(pointer) = random.pick(&pointers) else { return };
    let whole = schema.clone();
    let Some(place) = schema.pointer_mut(pointer) else { return };
    let keyword = random.pick(&KEYWORDS).copied().unwrap_or("type");
    match (random.below(8), &mut *place) {
        (0, place) => *place = junk.clone(),
        (1, place) => *place = Value::Null,
        (2, Value::Object(map)) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            if let Some(key) = random.pick(&keys) {
                map.shift_remove(key);
            }
        }
        (3, Value::Object(map)) => drop(map.insert(keyword.to_owned(), junk.clone())),
        (4, Value::Object(map)) => drop(map.insert("$ref".to_owned(), format!("#{pointer}").into())),
        (5, Value::Object(map)) => {
            let inner = Value::Object(std::mem::take(map));
            let combinator = ["anyOf", "oneOf", "allOf"].get(random.below(3)).copied().unwrap_or("anyOf");
            *map = Map::from_iter([(combinator.to_owned(), json!([inner, junk]))]);
        }
        (6, Value::Object(map)) => {
            let pointers = {
                let mut all = Vec::new();
                places(&whole, String::new(), &mut all);
                all
            };
            if let Some(target) = random.pick(&pointers) {
                map.insert(keyword.to_owned(), whole.pointer(target).cloned().unwrap_or_default());
            }
        }
        (7, Value::Array(items)) => items.reverse(),
        (_, place) => *place = json!([place.clone(), junk]),
    }
}

fn places(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                places(value, format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(pointer);
}

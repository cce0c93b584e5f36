//! How long comparing takes: documents of every shape that costs, as large as asked, each with one change.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::Role;
use mcp_bindgen_schema::drift::diff;
use mcp_samples::schema_key;
use serde_json::{Map, Value, json};

use crate::drift::arguments::Arguments;

/// The size of a list for which the limit holds; larger ones take in proportion.
const SIZE: usize = 64 << 10;
const AT_MOST: Duration = Duration::from_secs(2);
/// A document twice as large takes at most so many times as long, where it is flat.
const TWICE: f64 = 3.0;

/// A schema of so many parts, before or after its change.
type Shape = fn(usize, bool) -> Value;

/// Each shape, and whether it is flat.
const SHAPES: &[(&str, bool, Shape)] = &[
    ("properties", true, |count, new| object(named(count, |i| kind(new && i == count / 2)))),
    ("required properties", true, |count, new| {
        let required: Vec<String> = (0..count).filter(|i| new || *i != count / 2).map(|i| format!("p{i}")).collect();
        json!({ "type": "object", "properties": named(count, |_| kind(false)), "required": required })
    }),
    ("enum of strings", true, |count, new| {
        let values: Vec<String> =
            (0..count).map(|i| format!("value {}", i + usize::from(new && i == 0) * count)).collect();
        property(json!({ "enum": values }))
    }),
    ("enum of numbers", true, |count, new| {
        let values: Vec<usize> = (0..count).map(|i| i + usize::from(new && i == 0) * count).collect();
        property(json!({ "enum": values }))
    }),
    ("tuple", true, |count, new| {
        let items: Vec<Value> = (0..count).map(|i| kind(new && i == count / 2)).collect();
        property(json!({ "type": "array", "prefixItems": items, "items": false, "minItems": count }))
    }),
    ("patterns of keys", false, |count, new| {
        let patterns: Map<_, _> = (0..count).map(|i| (format!("^p{i}x"), kind(new && i == 0))).collect();
        property(json!({ "type": "object", "patternProperties": patterns, "additionalProperties": false }))
    }),
    ("dependentRequired", false, |count, new| {
        let needs: Map<_, _> = (0..count)
            .map(|i| (format!("p{i}"), json!([format!("p{}", (i + 1 + usize::from(new && i == 0)) % count)])))
            .collect();
        json!({ "type": "object", "properties": named(count, |_| kind(false)), "dependentRequired": needs })
    }),
    ("conditions", false, |count, new| {
        let conditions: Vec<Value> = (0..count)
            .map(|i| json!({ "if": { "properties": { "k": { "const": i } } }, "then": { "required": [format!("p{}", i + usize::from(new))] } }))
            .collect();
        json!({ "type": "object", "properties": { "k": { "type": "integer" } }, "allOf": conditions })
    }),
    ("tagged union", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(|i| json!({ "type": "object", "properties": { "k": { "const": format!("k{i}") }, "v": kind(new && i == 0) }, "required": ["k", "v"] }))
            .collect();
        property(json!({ "oneOf": branches }))
    }),
    ("union of objects", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(|i| json!({ "type": "object", "properties": { format!("p{i}"): kind(new && i == 0) } }))
            .collect();
        property(json!({ "anyOf": branches }))
    }),
    ("unions in allOf", false, |count, new| {
        let branches: Vec<Value> =
            (0..count / 3).map(|i| json!({ "properties": { format!("p{i}"): kind(new && i == 0) } })).collect();
        json!({ "type": "object", "allOf": [{ "anyOf": branches }, { "anyOf": branches }, { "oneOf": branches }] })
    }),
    ("nesting", false, |count, new| {
        (0..count.min(100)).fold(kind(new), |inner, _| object(Map::from_iter([("a".to_owned(), inner)])))
    }),
    ("a chain of definitions", false, |count, new| {
        chain(count, new, |next| json!({ "properties": { "n": { "$ref": next } } }))
    }),
    ("allOf twice", false, |count, new| {
        chain(count, new, |next| json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }))
    }),
    ("anyOf twice", false, |count, new| {
        chain(count, new, |next| json!({ "anyOf": [{ "$ref": next }, { "$ref": next }] }))
    }),
    ("properties twice", false, |count, new| {
        chain(
            count,
            new,
            |next| json!({ "type": "object", "properties": { "a": { "$ref": next }, "b": { "$ref": next } }, "required": ["a", "b"] }),
        )
    }),
    ("sums in sums", false, |count, new| {
        chain(
            count,
            new,
            |next| json!({ "properties": { "a": { "allOf": [{ "$ref": next }, { "$ref": "#/$defs/d0" }] }, "b": { "$ref": next } } }),
        )
    }),
    ("each in allOf of each", false, |count, new| {
        let count = count.isqrt() * 2;
        mesh(count, new, |others| json!({ "type": "object", "allOf": others }))
    }),
    ("each in anyOf of each", false, |count, new| {
        let count = count.isqrt() * 2;
        mesh(count, new, |others| json!({ "type": "object", "properties": { "n": { "anyOf": others } } }))
    }),
    ("recursive union", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(|i| json!({ "properties": { format!("r{i}"): kind(new && i == 0), "c": { "type": "array", "items": { "$ref": "#/$defs/r" } } }, "required": [format!("r{i}")] }))
            .collect();
        json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/r" } }, "$defs": { "r": { "anyOf": branches } } })
    }),
    ("a long pattern", false, |count, new| {
        let pattern = format!("^({}){}$", "[a-z]?".repeat(count), if new { "x" } else { "y" });
        property(json!({ "type": "string", "pattern": pattern }))
    }),
    ("patterns and properties", false, |count, new| {
        let patterns: Map<_, _> = (0..count / 2).map(|i| (format!("^p{i}x"), kind(new && i == 0))).collect();
        property(
            json!({ "type": "object", "properties": named(count / 2, |_| kind(false)), "patternProperties": patterns }),
        )
    }),
    ("patterns in allOf", false, |count, new| {
        let parts: Vec<Value> =
            (0..count).map(|i| json!({ "patternProperties": { format!("^p{i}x"): kind(new && i == 0) } })).collect();
        json!({ "type": "object", "allOf": parts })
    }),
    ("dependentSchemas", false, |count, new| {
        let needs: Map<_, _> = (0..count)
            .map(|i| (format!("p{i}"), json!({ "required": [format!("q{}", i + usize::from(new && i == 0))] })))
            .collect();
        json!({ "type": "object", "properties": named(count, |_| kind(false)), "dependentSchemas": needs })
    }),
    ("if, then and else", false, |count, new| {
        let last = json!({ "required": [if new { "new" } else { "old" }] });
        (0..count.min(100)).fold(last, |inner, i| {
            json!({ "if": { "properties": { "k": { "const": i } }, "required": ["k"] }, "then": { "required": [format!("p{i}")] }, "else": inner })
        })
    }),
    ("not in not", false, |count, new| {
        let inner = property(kind(new));
        (0..count.min(100)).fold(inner, |inner, _| json!({ "not": inner }))
    }),
    ("a sum of nots", false, |count, new| {
        let parts: Vec<Value> = (0..count)
            .map(|i| json!({ "not": { "required": [format!("p{}", i + usize::from(new && i == 0) * count)] } }))
            .collect();
        json!({ "type": "object", "allOf": parts })
    }),
    ("enum of objects", false, |count, new| {
        let values: Vec<Value> =
            (0..count).map(|i| json!({ "k": i + usize::from(new && i == 0) * count, "v": [i, "x"] })).collect();
        property(json!({ "enum": values }))
    }),
    ("enum in anyOf", false, |count, new| {
        let branches: Vec<Value> =
            (0..count).map(|i| json!({ "const": i + usize::from(new && i == 0) * count })).collect();
        property(json!({ "anyOf": branches }))
    }),
    ("types in anyOf", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(
                |i| json!({ "type": "integer", "minimum": i * 10, "maximum": i * 10 + 5 + usize::from(new && i == 0) }),
            )
            .collect();
        property(json!({ "anyOf": branches }))
    }),
    ("arrays in anyOf", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(|i| json!({ "type": "array", "items": { "enum": [i + usize::from(new && i == 0) * count] } }))
            .collect();
        property(json!({ "anyOf": branches }))
    }),
    ("oneOf of required keys", false, |count, new| {
        let branches: Vec<Value> = (0..count)
            .map(|i| json!({ "required": [format!("p{}", i + usize::from(new && i == 0) * count)] }))
            .collect();
        json!({ "type": "object", "properties": named(count, |_| kind(false)), "oneOf": branches })
    }),
    ("unions in unions", false, |count, new| {
        chain(
            count,
            new,
            |next| json!({ "anyOf": [{ "type": "object", "properties": { "n": { "$ref": next } }, "required": ["n"] }, { "type": "array", "items": { "$ref": next } }] }),
        )
    }),
    ("maps in maps", false, |count, new| {
        chain(count, new, |next| json!({ "type": "object", "additionalProperties": { "$ref": next } }))
    }),
    ("each in items of each", false, |count, new| {
        let count = count.isqrt() * 2;
        mesh(count, new, |others| json!({ "type": "array", "items": { "anyOf": others } }))
    }),
    ("dynamic references", false, |count, new| {
        let mut definitions: Map<_, _> = (0..count)
            .map(|i| (format!("d{i}"), json!({ "$dynamicAnchor": format!("n{i}"), "properties": { "a": { "$dynamicRef": format!("#n{}", i + 1) } } })))
            .collect();
        definitions.insert(
            format!("d{count}"),
            json!({ "$dynamicAnchor": format!("n{count}"), "properties": { "v": kind(new) } }),
        );
        defined(definitions, new)
    }),
    ("long strings", true, |count, new| {
        property(json!({ "enum": ["a".repeat(count * 20), format!("{}{}", "b".repeat(count * 20), i32::from(new))] }))
    }),
    ("bounds", false, |count, new| {
        let parts: Vec<Value> =
            (0..count).map(|i| json!({ "minLength": i, "pattern": format!("^a{{{i},}}"), "maxLength": count * 2 + usize::from(new) })).collect();
        property(json!({ "type": "string", "allOf": parts }))
    }),
];

/// A list of so many entries, before or after its change.
type List = fn(usize, bool) -> Snapshot;

/// Lists whose size is in their number of entries.
const LISTS: &[(&str, List)] = &[
    ("tools", |count, new| tools((0..count).map(|i| (format!("t{i}"), property(kind(new && i == 0)))))),
    ("tools renamed", |count, new| {
        let prefix = if new { "new" } else { "old" };
        tools((0..count).map(|i| (format!("{prefix}_t{i}"), property(kind(false)))))
    }),
    ("tools of one name", |count, new| tools((0..count).map(|i| ("t".to_owned(), property(kind(new && i == 0)))))),
    ("tools whose names clash", |count, new| {
        tools((0..count).map(|i| (format!("t{}{}", "-".repeat(i % 40), "_".repeat(i / 40)), property(kind(new)))))
    }),
    ("tools that all change", |count, new| tools((0..count).map(|i| (format!("t{i}"), property(kind(new)))))),
    ("prompts", |count, new| {
        let prompts =
            (0..count).map(|i| json!({ "name": format!("p{i}"), "arguments": [{ "name": "a", "required": new }] }));
        Snapshot { prompts: prompts.collect(), ..Snapshot::default() }
    }),
    ("resource templates", |count, new| {
        let variable = if new { "b" } else { "a" };
        let templates =
            (0..count).map(|i| json!({ "name": format!("r{i}"), "uriTemplate": format!("x://{i}/{{{variable}}}") }));
        Snapshot { resource_templates: templates.collect(), ..Snapshot::default() }
    }),
];

fn tools(named: impl Iterator<Item = (String, Value)>) -> Snapshot {
    let tools = named.map(|(name, schema)| json!({ "name": name, "inputSchema": schema }));
    Snapshot { tools: tools.collect(), ..Snapshot::default() }
}

fn kind(new: bool) -> Value {
    json!({ "type": if new { "integer" } else { "string" } })
}

fn named(count: usize, schema: impl Fn(usize) -> Value) -> Map<String, Value> {
    (0..count).map(|i| (format!("p{i}"), schema(i))).collect()
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties })
}

fn property(schema: Value) -> Value {
    object(Map::from_iter([("p".to_owned(), schema)]))
}

fn chain(count: usize, new: bool, link: impl Fn(&str) -> Value) -> Value {
    let mut definitions: Map<_, _> =
        (0..count).map(|i| (format!("d{i}"), link(&format!("#/$defs/d{}", i + 1)))).collect();
    definitions.insert(format!("d{count}"), json!({ "type": "object", "properties": { "v": kind(new) } }));
    defined(definitions, new)
}

fn mesh(count: usize, new: bool, node: impl Fn(Vec<Value>) -> Value) -> Value {
    let others =
        |i: usize| (0..count).filter(move |j| *j != i).map(|j| json!({ "$ref": format!("#/$defs/d{j}") })).collect();
    defined((0..count).map(|i| (format!("d{i}"), node(others(i)))).collect(), new)
}

fn defined(definitions: Map<String, Value>, new: bool) -> Value {
    let required = if new { json!(["new"]) } else { json!([]) };
    json!({ "type": "object", "properties": { "p": { "$ref": "#/$defs/d0" }, "new": { "type": "string" } }, "required": required, "$defs": definitions })
}

/// Compares each shape and each list, prints a line for it, and returns `true` if all kept their time.
pub(crate) fn judge(arguments: &Arguments) -> std::io::Result<bool> {
    let mut out = std::io::stdout();
    writeln!(out, "{:24}  {:>8}  {:>8}  {:>8}", "shape", "bytes", "seconds", "twice")?;
    let mut passed = true;
    let mut line = |name: &str, is_flat: bool, size: &dyn Fn(usize) -> usize, time: &dyn Fn(usize) -> f64| {
        let counts = (2..16).map(|power| 1_usize << power);
        let count = counts.take_while(|count| size(*count) <= SIZE).last().unwrap_or(4);
        let limit = |bytes: usize| {
            AT_MOST.as_secs_f64() * (f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 65_536.0).max(1.0)
        };
        let (seconds, twice) = (time(count), time(count * 2));
        let is_late = seconds > limit(size(count))
            || twice > limit(size(count * 2))
            || (is_flat && twice > seconds.max(0.02) * TWICE);
        passed &= !is_late;
        let mark = if is_late { "  too long" } else { "" };
        writeln!(out, "{name:24}  {:>8}  {seconds:>8.3}  {twice:>8.3}{mark}", size(count))
    };
    for (name, is_flat, shape) in SHAPES.iter().filter(|(name, ..)| arguments.selects_kind(name)) {
        line(name, *is_flat, &|count| shape(count, false).to_string().len(), &|count| of_shape(*shape, count))?;
    }
    for (name, list) in LISTS.iter().filter(|(name, _)| arguments.selects_kind(name)) {
        let time = |count| slowest(&list(count, false), &list(count, true));
        line(name, false, &|count| list(count, false).to_text().len(), &time)?;
    }
    writeln!(out, "{} shapes compared", SHAPES.len() + LISTS.len())?;
    Ok(passed)
}

/// The processor time of comparing a shape, in the slower role and direction.
fn of_shape(shape: Shape, count: usize) -> f64 {
    let of = |role: Role, new: bool| {
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, schema_key(role): shape(count, new) });
        Snapshot { tools: vec![tool], ..Snapshot::default() }
    };
    let times = [Role::Input, Role::Output].map(|role| slowest(&of(role, false), &of(role, true)));
    times.into_iter().fold(0.0, f64::max)
}

/// The processor time of comparing two lists, in the slower direction.
fn slowest(old: &Snapshot, new: &Snapshot) -> f64 {
    let times = [(old, new), (new, old)].map(|(old, new)| {
        let start = processor_time();
        let _ = diff(old, new);
        (processor_time() - start).as_secs_f64()
    });
    times.into_iter().fold(0.0, f64::max)
}

/// Returns the CPU time of this thread, or else the elapsed time.
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

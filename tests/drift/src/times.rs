//! How long comparing takes: documents of every shape that costs, as large as asked, each with one change.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use mcp_model::Snapshot;
use mcp_samples::schema_key;
use mcp_schema::Role;
use mcp_schema::drift::diff;
use serde_json::{Map, Value, json};

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
];

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

/// Compares each shape and prints a line for it; says whether all kept their time.
pub(crate) fn judge() -> std::io::Result<bool> {
    let mut out = std::io::stdout();
    writeln!(out, "{:24}  {:>8}  {:>8}  {:>8}", "shape", "bytes", "seconds", "twice")?;
    let mut passed = true;
    for (name, is_flat, shape) in SHAPES {
        let sizes = (2..16).map(|power| 1_usize << power);
        let count = sizes.take_while(|count| shape(*count, false).to_string().len() <= SIZE).last().unwrap_or(4);
        let (bytes, seconds) = compared(*shape, count);
        let (twice_bytes, twice) = compared(*shape, count * 2);
        let in_proportion = |bytes: usize| {
            AT_MOST.as_secs_f64() * (f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 65_536.0).max(1.0)
        };
        let is_late = seconds > in_proportion(bytes)
            || twice > in_proportion(twice_bytes)
            || (*is_flat && twice > seconds.max(0.005) * TWICE);
        let mark = if is_late { "  too long" } else { "" };
        writeln!(out, "{name:24}  {bytes:>8}  {seconds:>8.3}  {twice:>8.3}{mark}")?;
        passed &= !is_late;
    }
    writeln!(out, "{} shapes compared", SHAPES.len())?;
    Ok(passed)
}

/// The size of a pair, and the processor time of comparing it, in the slower role and direction.
fn compared(shape: Shape, count: usize) -> (usize, f64) {
    let (old, new) = (shape(count, false), shape(count, true));
    let bytes = old.to_string().len();
    let mut slowest: f64 = 0.0;
    for role in [Role::Input, Role::Output] {
        let of = |schema: &Value| {
            let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, schema_key(role): schema });
            Snapshot { tools: vec![tool], ..Snapshot::default() }
        };
        for (old, new) in [(of(&old), of(&new)), (of(&new), of(&old))] {
            let start = processor_time();
            let _ = diff(&old, &new);
            slowest = slowest.max((processor_time() - start).as_secs_f64());
        }
    }
    (bytes, slowest)
}

/// What this thread has had of the processor, or else what the clock says.
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|text| text.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

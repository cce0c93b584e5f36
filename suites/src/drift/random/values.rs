//! Random values of a schema: most are valid, and a validator sorts out the rest.

use mcp_samples::Random;
use mcp_samples::references::resolve;
use serde_json::{Map, Value, json};

/// The depth at which values are omitted, or replaced by a simple one.
const DEEPEST: usize = 9;
/// Optional properties and items end here.
const DEEPEST_OPTIONAL: usize = 5;

/// A value for a schema of the document `root`.
pub(super) fn value(root: &Value, schema: &Value, random: &mut Random, depth: usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth < DEEPEST) else { return simple(random) };
    if let Some((_, target)) = map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference)) {
        return value(root, target, random, depth + 1);
    }
    if let Some(constant) = map.get("const") {
        return constant.clone();
    }
    if let Some(listed) = map.get("enum").and_then(Value::as_array) {
        return random.pick(listed).cloned().unwrap_or_default();
    }
    let mut parts: Vec<Value> = Vec::new();
    for keyword in ["anyOf", "oneOf"] {
        let branches = map.get(keyword).and_then(Value::as_array);
        let branch = branches.and_then(|branches| random.pick(branches));
        parts.extend(branch.map(|branch| value(root, branch, random, depth + 1)));
    }
    for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
        parts.push(value(root, part, random, depth + 1));
    }
    let own = match map.get("type") {
        Some(Value::Array(kinds)) => random.pick(kinds).and_then(Value::as_str),
        Some(kind) => kind.as_str(),
        None if map.contains_key("properties") => Some("object"),
        None => None,
    };
    if let Some(kind) = own {
        parts.push(of_kind(root, kind, map, random, depth));
    }
    // Objects together are one; of anything else, one is as good as another.
    let together = |all: Value, part: Value| match (all, part) {
        (Value::Object(mut all), Value::Object(part)) => {
            all.extend(part);
            Value::Object(all)
        }
        (_, part) => part,
    };
    parts.into_iter().reduce(together).unwrap_or_else(|| simple(random))
}

fn simple(random: &mut Random) -> Value {
    let values = [json!(null), json!("a"), json!(1), json!(2.5), json!(false), json!([]), json!({}), json!({ "a": 1 })];
    random.pick(&values).cloned().unwrap_or_default()
}

fn of_kind(root: &Value, kind: &str, map: &Map<String, Value>, random: &mut Random, depth: usize) -> Value {
    let count = |keyword: &str| map.get(keyword).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    match kind {
        "string" => {
            let (least, most) = (count("minLength").unwrap_or(0), count("maxLength").unwrap_or(6));
            let length = least + random.below(most.saturating_sub(least) + 1);
            let fill = random.pick(&["x", "a", "0", "Z"]).copied().unwrap_or_default();
            let text = fill.repeat(length.max(1) - 1);
            json!(if length == 0 {
                String::new()
            } else {
                format!("{}{text}", random.pick(&["x", "y", "7"]).unwrap_or(&""))
            })
        }
        "integer" => {
            let step = count("multipleOf").unwrap_or(1).max(1);
            json!((count("minimum").unwrap_or(0) / step + random.below(4)) * step + usize::from(random.one_in(6)))
        }
        "number" => match random.below(3) {
            0 => json!(random.below(9)),
            1 => json!(f64::from(u32::try_from(random.below(9)).unwrap_or_default()) + 0.5),
            _ => json!(count("minimum").unwrap_or(0)),
        },
        "boolean" => json!(random.one_in(2)),
        "array" => {
            let least = count("minItems").unwrap_or(0);
            let length = if depth > DEEPEST_OPTIONAL { least } else { least + random.below(3) };
            let any = Value::Bool(true);
            let item = map.get("items").unwrap_or(&any);
            (0..length).map(|_| value(root, item, random, depth + 1)).collect()
        }
        "object" => object(root, map, random, depth),
        _ => Value::Null,
    }
}

fn object(root: &Value, map: &Map<String, Value>, random: &mut Random, depth: usize) -> Value {
    let mut object = Map::new();
    let required: Vec<&str> =
        map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    // Few properties or many.
    let share = 1 + random.below(3);
    for (key, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if required.contains(&key.as_str()) || (depth <= DEEPEST_OPTIONAL && random.one_in(share)) {
            object.insert(key.clone(), value(root, schema, random, depth + 1));
        }
    }
    for key in required {
        if !object.contains_key(key) {
            object.insert(key.to_owned(), simple(random));
        }
    }
    match map.get("additionalProperties") {
        Some(Value::Bool(false)) => {}
        Some(schema) if random.one_in(2) => {
            let key = *random.pick(&["a", "b", "more"]).unwrap_or(&"more");
            if map.get("properties").is_none_or(|declared| declared.get(key).is_none()) {
                object.insert(key.to_owned(), value(root, schema, random, depth + 1));
            }
        }
        None if random.one_in(8) => drop(object.entry("more").or_insert_with(|| simple(random))),
        // A server may answer what is declared elsewhere.
        None if random.one_in(4) => drop(object.entry("b").or_insert_with(|| simple(random))),
        _ => {}
    }
    Value::Object(object)
}

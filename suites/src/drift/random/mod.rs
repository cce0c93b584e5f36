//! Random pairs of documents whose definitions refer to each other, judged by sample values.

mod values;

use mcp_bindgen_schema::Role;
use mcp_samples::references::resolve;
use mcp_samples::{Fallible, Random, schema_key};
use serde_json::{Map, Value, json};

use crate::drift::arguments::Arguments;
use crate::drift::case::{Case, Direction, Subject, directions, mutation};
use crate::drift::judge::compile;
use crate::drift::kinds::{Effect, Mutation};
use crate::drift::report::{Bounds, Report};
use crate::drift::site::{Holder, sites};
use crate::drift::{finding, is_harmless};

/// Keys of objects, and names of definitions: few, so that pairs have much in common.
const KEYS: [&str; 4] = ["a", "b", "c", "kind"];
const OTHER_KEYS: [&str; 2] = ["d", "e"];
const DEEPEST: usize = 3;

/// Judges so many pairs; a row for those that a kind of change makes, and one for those of which a part is another.
pub(crate) fn judge(arguments: &Arguments, report: &mut Report) -> Fallible<()> {
    report.row(0, "a kind of change");
    report.row(1, "a part replaced");
    report.row(2, "two parts replaced");
    let directions = directions();
    let mut random = Random::new(arguments.seed);
    let mut judged = 0;
    while judged < arguments.mutations {
        let role = if judged % 2 == 0 { Role::Input } else { Role::Output };
        let document = document(&mut random);
        if compile(&document).is_none() {
            return Err(format!("the validator does not take {document}").into());
        }
        let tool = json!({ "name": "t", "inputSchema": { "type": "object" }, schema_key(role): document });
        let subject = Subject { list: judged.to_string(), tool, role, instances: Vec::new() };
        let row = random.below(3);
        let Some(mutation) = changed(&subject, &directions, row, &mut random) else { continue };
        let is_harmless = is_harmless(&mutation, role);
        let case = Case { subject: &subject, mutation, is_harmless, is_wording: false };
        let source = if role == Role::Input { &case.mutation.old } else { &case.mutation.new };
        let values = (0..arguments.samples).map(|_| values::value(source, source, &mut random, 0)).collect();
        if let Some(finding) = finding(&case, values) {
            report.add(row, finding, arguments.show);
            judged += 1;
        }
    }
    report.settle(&Bounds { cases: arguments.mutations, unproven: 50, breaking: 200, ..Bounds::default() });
    Ok(())
}

fn changed(subject: &Subject, directions: &[Direction], row: usize, random: &mut Random) -> Option<Mutation> {
    if row == 0 {
        let mutation = mutation(random.pick(directions)?, subject, random)?;
        return (!leads_to_itself(&mutation.old) && !leads_to_itself(&mutation.new)).then_some(mutation);
    }
    let old = mcp_samples::schema_of(&subject.tool, subject.role)?.clone();
    let mut new = old.clone();
    let mut place = String::new();
    for _ in 0..row {
        let sites: Vec<_> = sites(&new).into_iter().filter(|site| site.holder != Holder::Root).collect();
        let site = random.pick(&sites)?;
        place.clone_from(&site.pointer);
        // Nothing but what a schema holds may lead back to it, or it would have to hold for ever.
        *new.pointer_mut(&place)? = schema(random, DEEPEST - 1, usize::MAX);
    }
    let mutation = Mutation { old, new, old_place: String::new(), new_place: String::new(), effect: Effect::Any };
    (mutation.old != mutation.new && compile(&mutation.new).is_some()).then_some(mutation)
}

/// Returns `true` if a schema applies to itself through references alone. No validator terminates on such a schema.
fn leads_to_itself(document: &Value) -> bool {
    let at = |pointer: &str| document.pointer(pointer).unwrap_or(&Value::Null);
    let leads = |pointer: &str| {
        let (mut seen, mut pending) = (Vec::new(), vec![at(pointer)]);
        while let Some(schema) = pending.pop() {
            let reference = schema.get("$ref").and_then(Value::as_str);
            if let Some((target, schema)) = reference.and_then(|reference| resolve(document, reference)) {
                if target == pointer {
                    return true;
                }
                if !seen.contains(&target) {
                    seen.push(target);
                    pending.push(schema);
                }
            }
            for keyword in ["allOf", "anyOf", "oneOf"] {
                pending.extend(schema.get(keyword).and_then(Value::as_array).into_iter().flatten());
            }
            pending.extend(["not", "if", "then", "else"].iter().filter_map(|keyword| schema.get(keyword)));
        }
        false
    };
    sites(document).iter().any(|site| leads(&site.pointer))
}

/// An object whose properties refer to definitions, which refer to each other.
fn document(random: &mut Random) -> Value {
    let definitions: Map<_, _> = (0..KEYS.len()).map(|index| (name(index), schema(random, 0, index + 1))).collect();
    let mut document = object(random, 1, &KEYS);
    document.insert("type".to_owned(), json!("object"));
    document.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(document)
}

fn name(index: usize) -> String {
    format!("d{index}")
}

/// A schema; `next` is the first definition that it may be as a whole.
fn schema(random: &mut Random, depth: usize, next: usize) -> Value {
    let refers = depth > 0 && next < KEYS.len();
    if refers && random.below(5) < 2 {
        return json!({ "$ref": format!("#/$defs/{}", name(next + random.below(KEYS.len() - next))) });
    }
    let most = if depth < DEEPEST { 16 } else { 8 };
    match random.below(most) {
        0 | 1 => text(random),
        2 | 3 => number(random),
        4 => json!({ "type": "boolean" }),
        5 => json!({ "type": [random.pick(&["string", "integer", "boolean"]), "null"] }),
        6 => {
            json!({ "enum": random.pick(&[json!(["x", "y"]), json!(["x", "y", "z"]), json!([1, 2]), json!([true, "x"])]) })
        }
        7 => json!({ "const": random.pick(&[json!("x"), json!("y"), json!(1), json!(false)]) }),
        8 | 9 => array(random, depth),
        10 | 11 => union(random, depth, next),
        12 => {
            // Parts of one object that contradict each other would allow nothing.
            let mut part = object(random, depth + 1, &OTHER_KEYS);
            let mut both = object(random, depth + 1, &KEYS);
            part.remove("additionalProperties");
            both.remove("additionalProperties");
            both.insert("allOf".to_owned(), json!([part]));
            Value::Object(both)
        }
        _ => Value::Object(object(random, depth + 1, &KEYS)),
    }
}

fn text(random: &mut Random) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), json!("string"))]);
    let more = [
        ("minLength", json!(random.below(4))),
        ("maxLength", json!(random.below(4) + 2)),
        ("pattern", json!(random.pick(&["^[a-z]*$", "^x", "\\d"]))),
    ];
    schema.extend(more.into_iter().filter(|_| random.one_in(5)).map(|(key, value)| (key.to_owned(), value)));
    Value::Object(schema)
}

fn number(random: &mut Random) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), json!(random.pick(&["integer", "integer", "number"])))]);
    let more = [
        ("minimum", json!(random.below(4))),
        ("maximum", json!(random.below(4) + 3)),
        ("multipleOf", json!(random.below(3) + 1)),
    ];
    schema.extend(more.into_iter().filter(|_| random.one_in(5)).map(|(key, value)| (key.to_owned(), value)));
    Value::Object(schema)
}

fn array(random: &mut Random, depth: usize) -> Value {
    let mut schema = Map::from_iter([("type".to_owned(), json!("array"))]);
    schema.insert("items".to_owned(), self::schema(random, depth + 1, 0));
    let more = [("minItems", json!(random.below(3))), ("maxItems", json!(random.below(3) + 2))];
    schema.extend(more.into_iter().filter(|_| random.one_in(6)).map(|(key, value)| (key.to_owned(), value)));
    Value::Object(schema)
}

/// Some alternatives; of those of `oneOf`, no two take the same value.
fn union(random: &mut Random, depth: usize, next: usize) -> Value {
    let count = 2 + random.below(2);
    match random.below(4) {
        0 => {
            let tagged = (0..count).map(|branch| {
                let mut object = object(random, depth + 1, &KEYS[..3]);
                if let Some(Value::Object(properties)) = object.get_mut("properties") {
                    properties.insert("kind".to_owned(), json!({ "const": format!("k{branch}") }));
                }
                object.insert("required".to_owned(), json!(["kind"]));
                Value::Object(object)
            });
            json!({ "oneOf": tagged.collect::<Vec<_>>() })
        }
        1 => json!({ "oneOf": [text(random), number(random), array(random, depth)] }),
        _ => json!({ "anyOf": (0..count).map(|_| schema(random, depth + 1, next)).collect::<Vec<_>>() }),
    }
}

/// The keywords of an object.
fn object(random: &mut Random, depth: usize, keys: &[&str]) -> Map<String, Value> {
    let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
    let mut properties = Map::new();
    for _ in 0..=random.below(3) {
        let key = (*random.pick(keys).unwrap_or(&"a")).to_owned();
        properties.insert(key, self::schema(random, depth, 0));
    }
    let required: Vec<String> = properties.keys().filter(|_| random.one_in(3)).cloned().collect();
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    match random.below(8) {
        0 | 1 => drop(schema.insert("additionalProperties".to_owned(), json!(false))),
        2 => drop(schema.insert("additionalProperties".to_owned(), self::schema(random, depth, 0))),
        _ => {}
    }
    schema
}

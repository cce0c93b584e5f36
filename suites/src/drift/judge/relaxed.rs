//! Builds the schema that bindings enforce for a result: the original without the rules that types ignore.
//!
//! Bounds, patterns, formats, conditions and `not` are no part of a type. Enumerations of strings take any string, and
//! unions that a tag tells apart take any tag. Keys that are not declared are ignored, also where the schema denies them,
//! and `null` stands for a property that is absent.

use std::collections::HashMap;

use mcp_samples::Place;
use mcp_samples::references::{ref_stands_alone, resolve};
use serde_json::{Map, Value, json};

use super::kinds::{Kinds, kinds};
use super::tags;

/// The assumption where this judge cannot tell how the types behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// That they read the value: what is refused all the same cannot be read.
    Reads,
    /// That they refuse it: what is allowed all the same can be read.
    Refuses,
}

/// The longest array of a fixed length that is a tuple.
const LONGEST_TUPLE: usize = 8;
const DEEPEST: usize = 64;

/// A schema for what the bindings of a schema read.
pub(crate) fn relaxed(root: &Value, doubt: Doubt) -> Value {
    let (mut required, mut declared) = (Vec::new(), Vec::new());
    every_key(root, &mut required, &mut declared);
    let declared = declared.into_iter().map(|(key, property)| (key, kinds(root, property))).collect();
    let mut relaxing = Relaxing { root, doubt, targets: HashMap::new(), pending: Vec::new(), required, declared };
    let mut schema = relaxing.schema(root, Context::default(), 0);
    let mut definitions = Map::new();
    while let Some((name, target, context)) = relaxing.pending.pop() {
        definitions.insert(name, relaxing.schema(target, context, 0));
    }
    if let Value::Object(schema) = &mut schema {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

struct Relaxing<'a> {
    root: &'a Value,
    doubt: Doubt,
    /// The definitions, by the pointers of the schemas that they stand for, and by what is around the reference.
    targets: HashMap<(String, Context), String>,
    pending: Vec<(String, &'a Value, Context)>,
    /// Every name that any schema requires.
    required: Vec<&'a str>,
    /// Every name that any schema declares, with the kinds of its values.
    declared: Vec<(&'a str, Kinds)>,
}

/// The context of a schema.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Context {
    /// It is a branch.
    in_union: bool,
    /// The other branches list values that are no strings, so that all are one closed list.
    mixed: bool,
    /// Other schemas hold for the same value.
    has_others: bool,
}

impl<'a> Relaxing<'a> {
    fn reads(&self) -> bool {
        self.doubt == Doubt::Reads
    }

    fn schema(&mut self, schema: &'a Value, context: Context, depth: usize) -> Value {
        let map = match schema {
            Value::Object(map) if depth < DEEPEST => map,
            Value::Bool(false) => return json!(self.reads() && !context.in_union),
            _ => return json!(true),
        };
        let own = kinds(self.root, schema);
        if own.is_empty() && !context.in_union {
            // Nothing is valid: such a place is not typed.
            return json!(self.reads());
        }
        let mut all = Vec::new();
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            let has_others = context.has_others || map.len() > 1 && !ref_stands_alone(self.root);
            all.push(self.reference(reference, Context { has_others, ..context }));
            if ref_stands_alone(self.root) {
                return json!({ "allOf": all });
            }
        }
        all.extend(self.listed(map, context));
        all.extend(self.typed(map));
        all.extend(self.object(map, context, depth));
        all.extend(self.array(map, depth));
        for part in entries(map, "allOf") {
            let mut relaxed = self.schema(part, Context { has_others: true, ..context }, depth + 1);
            for key in self.never_valid_beside(map, part) {
                allow(&mut relaxed, key);
            }
            all.push(relaxed);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches: Vec<&Value> = entries(map, keyword).collect();
            if !branches.is_empty() {
                all.push(self.union(schema, &branches, context, depth));
            }
        }
        match all.len() {
            1 => all.swap_remove(0),
            0 => json!({}),
            _ => json!({ "allOf": all }),
        }
    }

    /// The properties of a part of `allOf` that the `additionalProperties` beside it rule out. They have no field, and may be
    /// read with the other keys.
    fn never_valid_beside(&self, map: &'a Map<String, Value>, part: &'a Value) -> Vec<&'a str> {
        let Some(extra) = map.get("additionalProperties").filter(|extra| extra.is_object() && self.reads()) else {
            return Vec::new();
        };
        let declared = |key: &String| map.get("properties").is_some_and(|properties| properties.get(key).is_some());
        let properties = part.get("properties").and_then(Value::as_object).into_iter().flatten();
        let ruled_out = |property| kinds(self.root, property).and(kinds(self.root, extra)).is_empty();
        properties.filter(|(key, value)| !declared(key) && ruled_out(value)).map(|(key, _)| key.as_str()).collect()
    }

    fn reference(&mut self, reference: &str, context: Context) -> Value {
        let Some((pointer, target)) = resolve(self.root, reference) else { return json!(true) };
        let count = self.targets.len();
        let name = match self.targets.get(&(pointer.clone(), context)) {
            Some(name) => name.clone(),
            None => {
                let name = format!("d{count}");
                self.targets.insert((pointer, context), name.clone());
                self.pending.push((name.clone(), target, context));
                name
            }
        };
        json!({ "$ref": format!("#/$defs/{name}") })
    }

    fn typed(&self, map: &Map<String, Value>) -> Option<Value> {
        let said = map.get("type")?;
        let mut names: Vec<&str> = match said {
            Value::String(name) => vec![name],
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => return None,
        };
        if map.get("nullable") == Some(&json!(true)) && !names.contains(&"null") {
            names.push("null");
        }
        let mut schema = json!({ "type": names });
        if names.contains(&"integer") && !names.contains(&"number") {
            let (least, greatest) = self.integers(map)?;
            schema = json!({ "type": names, "minimum": least, "maximum": greatest });
        }
        Some(schema)
    }

    /// The integers of the type: `i64`, or `u64` where the bounds ask for it. `None` for any value.
    fn integers(&self, map: &Map<String, Value>) -> Option<(Value, Value)> {
        let number = |keyword: &str| map.get(keyword).and_then(Value::as_f64);
        let least = number("minimum").into_iter().chain(number("exclusiveMinimum").map(|bound| bound + 1.0));
        let least = least.fold(f64::NEG_INFINITY, f64::max);
        let greatest = number("maximum").into_iter().chain(number("exclusiveMaximum").map(|bound| bound - 1.0));
        let greatest = greatest.fold(f64::INFINITY, f64::min);
        let beyond = 9_223_372_036_854_775_807.0;
        let wide = (json!(i64::MIN), json!(u64::MAX));
        match (least >= 0.0, greatest > beyond, greatest.is_infinite()) {
            // Without a maximum, `minimum: 0` means all of u64.
            (true, true, _) => Some((json!(0), json!(u64::MAX))),
            (false, true, false) if self.reads() => None,
            (_, true, false) => Some(wide),
            _ if self.reads() => Some(wide),
            _ => Some((json!(i64::MIN), json!(i64::MAX))),
        }
    }

    fn listed(&self, map: &Map<String, Value>, context: Context) -> Option<Value> {
        let allowed = typed_by(map);
        let values: Vec<Value> = match (map.get("enum"), map.get("const")) {
            (_, Some(constant)) => vec![constant.clone()],
            (Some(Value::Array(values)), None) => {
                let mut distinct: Vec<Value> = Vec::new();
                for value in values.iter().filter(|value| allowed.has(value)) {
                    if !distinct.contains(value) {
                        distinct.push(value.clone());
                    }
                }
                distinct
            }
            _ => return None,
        };
        let texts = values.iter().filter(|value| value.is_string()).count();
        let others = values.iter().filter(|value| !value.is_string() && !value.is_null()).count();
        let is_open = others == 0 && !context.mixed && (texts > 1 || (texts == 1 && context.in_union && self.reads()));
        // Branches that list some values each may list several together.
        let maybe_open = self.reads() && context.in_union && texts > 0 && others == 0;
        if is_open || maybe_open {
            let null = values.iter().any(Value::is_null);
            return Some(json!({ "type": if null { json!(["string", "null"]) } else { json!("string") } }));
        }
        Some(json!({ "enum": values }))
    }

    fn object(&mut self, map: &'a Map<String, Value>, context: Context, depth: usize) -> Vec<Value> {
        let mut schema = Map::new();
        let required: Vec<&str> = entries(map, "required").filter_map(Value::as_str).collect();
        if let Some(Value::Object(properties)) = map.get("properties") {
            let mut relaxed = Map::new();
            for (key, property) in properties {
                let is_required = required.contains(&key.as_str());
                if let Some(property) = self.property(key, property, is_required, context, depth) {
                    relaxed.insert(key.clone(), property);
                }
            }
            schema.insert("properties".to_owned(), Value::Object(relaxed));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        let patterns = map.get("patternProperties").and_then(Value::as_object).filter(|patterns| !patterns.is_empty());
        let additional = map.get("additionalProperties");
        let extra = match (additional, patterns.map(|patterns| patterns.values().collect::<Vec<_>>()).as_deref()) {
            (Some(Value::Bool(false)), Some([pattern])) => Some(*pattern),
            (Some(said @ Value::Object(_)), None) => Some(said),
            _ => None,
        };
        if let Some(extra) = extra {
            schema.insert("additionalProperties".to_owned(), self.schema(extra, Context::default(), depth + 1));
            // The same keys are the declared ones, as they are in the schema itself. Those that are never valid have no
            // field, and may be read with the others.
            let declared =
                map.get("properties").and_then(Value::as_object).filter(|_| self.reads()).into_iter().flatten();
            // So may those that another schema of the same object may declare, and that this rules out.
            let extra = kinds(self.root, extra);
            let reads = self.reads() && context.has_others;
            let elsewhere = self.declared.iter().filter(|(_, kinds)| reads && kinds.and(extra).is_empty());
            let keys: Vec<&str> = declared.map(|(key, _)| key.as_str()).chain(elsewhere.map(|(key, _)| *key)).collect();
            let properties = schema.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                for key in keys {
                    properties.entry(key).or_insert(json!(true));
                }
            }
        }
        if schema.is_empty() { Vec::new() } else { vec![Value::Object(schema)] }
    }

    /// `None` where there is no field, so that anything is ignored.
    fn property(
        &mut self,
        key: &str,
        property: &'a Value,
        is_required: bool,
        context: Context,
        depth: usize,
    ) -> Option<Value> {
        if kinds(self.root, property).is_empty() && !is_required {
            return None;
        }
        let relaxed = self.schema(property, Context::default(), depth + 1);
        let may_be_absent =
            if self.reads() { !is_required || context.in_union } else { !is_required && !self.required.contains(&key) };
        Some(if may_be_absent { json!({ "anyOf": [relaxed, { "type": "null" }] }) } else { relaxed })
    }

    fn array(&mut self, map: &'a Map<String, Value>, depth: usize) -> Option<Value> {
        let (tuple, rest) = match map.get("items") {
            Some(Value::Array(items)) => (items.as_slice(), map.get("additionalItems")),
            items => {
                // The keyword came with 2020-12.
                let said = self.root.get("$schema").and_then(Value::as_str).unwrap_or_default();
                let is_known = !said.contains("draft-0") && !said.contains("2019-09");
                let prefix = map.get("prefixItems").and_then(Value::as_array).filter(|_| is_known);
                (prefix.map(Vec::as_slice).unwrap_or_default(), items)
            }
        };
        let count =
            |keyword: &str| map.get(keyword).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
        let (least, most) = (count("minItems").unwrap_or(0), count("maxItems"));
        let closed = rest == Some(&Value::Bool(false));
        let longest = if closed { Some(most.map_or(tuple.len(), |most| most.min(tuple.len()))) } else { most };
        let is_fixed = !tuple.is_empty() && least == tuple.len() && longest == Some(tuple.len());
        if is_fixed && tuple.len() <= LONGEST_TUPLE {
            let items: Vec<Value> = tuple.iter().map(|item| self.schema(item, Context::default(), depth + 1)).collect();
            let length = items.len();
            return Some(json!({ "prefixItems": items, "minItems": length, "maxItems": length }));
        }
        // The first items have types of their own, unless all are alike.
        let first = tuple.get(..longest.map_or(tuple.len(), |longest| longest.min(tuple.len()))).unwrap_or(tuple);
        if !first.is_empty() && first.len() <= LONGEST_TUPLE {
            let prefix: Vec<Value> =
                first.iter().map(|item| self.schema(item, Context::default(), depth + 1)).collect();
            let is_closed = longest == Some(first.len());
            let rest = rest.filter(|_| !is_closed).map(|rest| self.schema(rest, Context::default(), depth + 1));
            let alike = |item: &Value| Some(item) == prefix.first();
            let are_alike = prefix.iter().all(alike) && rest.as_ref().map_or(is_closed, alike);
            let mut array = Map::from_iter([("prefixItems".to_owned(), Value::from(prefix))]);
            match rest {
                Some(rest) => drop(array.insert("items".to_owned(), rest)),
                // The type allows further items if all items have one type, which is uncertain here.
                None if is_closed && !self.reads() => drop(array.insert("items".to_owned(), Value::Bool(false))),
                None => {}
            }
            if !are_alike {
                return Some(Value::Object(array));
            }
        }
        let mut items: Vec<Value> = Vec::new();
        let is_list_of_one = tuple.is_empty();
        for item in tuple {
            items.push(self.schema(item, Context { in_union: true, ..Context::default() }, depth + 1));
        }
        match rest {
            Some(Value::Bool(false)) => {}
            Some(rest) => {
                let context = Context { in_union: !is_list_of_one, ..Context::default() };
                items.push(self.schema(rest, context, depth + 1));
            }
            None => return None,
        }
        (!items.is_empty()).then(|| json!({ "items": { "anyOf": items } }))
    }

    fn union(&mut self, schema: &'a Value, branches: &[&'a Value], around: Context, depth: usize) -> Value {
        let listed = Place::root(self.root).beside(branches).alternatives();
        let mixed = around.mixed || listed.iter().any(|schema| lists_other_than_texts(schema));
        let context = Context { in_union: around.in_union || branches.len() > 1, mixed, has_others: true };
        let mut any: Vec<Value> = branches.iter().map(|branch| self.schema(branch, context, depth + 1)).collect();
        // A branch of a branch is one of all: it is those that a tag has to tell apart.
        if self.reads() || !around.in_union {
            any.extend(tags::tags(self.root, schema, branches, self.doubt).iter().map(tags::Tag::unknown));
        }
        json!({ "anyOf": any })
    }
}

/// Lets a schema take any value of a property.
fn allow(schema: &mut Value, key: &str) {
    if let Some(property) = schema.get_mut("properties").and_then(|properties| properties.get_mut(key)) {
        *property = json!(true);
    }
    schema.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten().for_each(|part| allow(part, key));
}

fn lists_other_than_texts(schema: &Value) -> bool {
    let other = |value: &Value| !value.is_string() && !value.is_null();
    schema.get("const").is_some_and(other)
        || schema.get("enum").and_then(Value::as_array).is_some_and(|values| values.iter().any(other))
}

fn typed_by(map: &Map<String, Value>) -> Kinds {
    Kinds::of_type(map)
}

fn entries<'a>(map: &'a Map<String, Value>, keyword: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    map.get(keyword).and_then(Value::as_array).into_iter().flatten()
}

/// Adds every name that a schema requires, and every one that a schema declares with its schema.
fn every_key<'a>(value: &'a Value, required: &mut Vec<&'a str>, declared: &mut Vec<(&'a str, &'a Value)>) {
    match value {
        Value::Object(map) => {
            required.extend(entries(map, "required").filter_map(Value::as_str));
            let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
            declared.extend(properties.map(|(key, property)| (key.as_str(), property)));
            map.values().for_each(|value| every_key(value, required, declared));
        }
        Value::Array(items) => items.iter().for_each(|item| every_key(item, required, declared)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::judge::compile;

    /// Returns whether bindings read a value, or `None` if that is uncertain.
    fn reads(schema: &Value, value: &Value) -> Option<bool> {
        let with = |doubt| compile(&relaxed(schema, doubt)).expect("a relaxed schema is one").is_valid(value);
        match (with(Doubt::Reads), with(Doubt::Refuses)) {
            (true, true) => Some(true),
            (false, false) => Some(false),
            _ => None,
        }
    }

    /// `reads a, b` and `refuses c, d`.
    fn check(schema: Value, read: &[Value], refused: &[Value]) {
        for (values, expected) in [(read, true), (refused, false)] {
            for value in values {
                assert_eq!(reads(&schema, value), Some(expected), "{value} under {schema}");
            }
        }
    }

    #[test]
    fn constraints_outside_the_types_are_ignored() {
        check(json!({ "type": "string", "maxLength": 1, "pattern": "^a$", "not": {} }), &[json!("bc")], &[json!(1)]);
        check(json!({ "type": "number", "maximum": 1 }), &[json!(2.5)], &[json!("2")]);
        check(json!({ "type": "array", "maxItems": 1, "uniqueItems": true }), &[json!([1, 1])], &[json!({})]);
        check(json!({ "required": ["a"], "if": {}, "then": false }), &[json!({ "a": 1 })], &[json!({})]);
    }

    #[test]
    fn integers_have_64_bits() {
        check(
            json!({ "type": "integer", "maximum": 5 }),
            &[json!(6), json!(-1), json!(5.0)],
            &[json!(5.5), json!(1e30)],
        );
        check(json!({ "type": "integer", "minimum": 0 }), &[json!(u64::MAX)], &[json!(-1)]);
    }

    #[test]
    fn string_enums_with_several_values_are_open() {
        check(json!({ "enum": ["a", "b"] }), &[json!("c")], &[json!(1), json!(null)]);
        check(json!({ "enum": ["a", "b", null] }), &[json!("c"), json!(null)], &[json!(1)]);
        check(json!({ "enum": ["a"] }), &[json!("a")], &[json!("c")]);
        check(json!({ "enum": ["a", "b", 1] }), &[json!("a"), json!(1)], &[json!("c"), json!(2)]);
        check(json!({ "anyOf": [{ "enum": ["a", "b"] }, { "type": "null" }] }), &[json!("c")], &[json!(1)]);
        check(json!({ "anyOf": [{ "enum": ["a", "b"] }, { "const": 1 }] }), &[json!("b")], &[json!(2)]);
    }

    #[test]
    fn undeclared_properties_are_ignored() {
        let schema = json!({ "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
                             "required": ["b"], "additionalProperties": false });
        check(
            schema,
            &[json!({ "b": 1, "c": 2 }), json!({ "a": null, "b": 1 })],
            &[json!({ "b": null }), json!({ "a": 1 })],
        );
        let typed = json!({ "properties": { "a": {} }, "additionalProperties": { "type": "integer" } });
        check(typed, &[json!({ "a": "x", "b": 1 })], &[json!({ "b": "x" })]);
        let pattern = json!({ "patternProperties": { "^x": { "type": "integer" } }, "additionalProperties": false });
        check(pattern, &[json!({ "y": 1 })], &[json!({ "y": "x" })]);
    }

    #[test]
    fn properties_excluded_by_other_keywords_are_undecided() {
        let part = json!({ "properties": { "a": { "type": "object" } } });
        let schema = json!({ "additionalProperties": { "type": "integer" }, "allOf": [part] });
        assert_eq!(reads(&schema, &json!({ "a": 1 })), None);
        assert_eq!(reads(&schema, &json!({ "b": "x" })), Some(false));
        let part = json!({ "additionalProperties": { "type": "integer" } });
        let schema = json!({ "properties": { "a": { "type": "object" } }, "required": ["a"], "allOf": [part] });
        assert_eq!(reads(&schema, &json!({ "a": {} })), None);
    }

    #[test]
    fn first_items_of_an_array_have_their_own_types() {
        let pair = json!([{ "type": "integer" }, { "type": "string" }]);
        let fixed = json!({ "prefixItems": pair, "items": false, "minItems": 2 });
        check(fixed, &[json!([1, "a"])], &[json!([1]), json!([1, "a", 2]), json!(["a", 1])]);
        let closed = json!({ "prefixItems": pair, "items": false });
        check(closed, &[json!([]), json!([1])], &[json!(["a"]), json!([1, 1]), json!([true])]);
        let open = json!({ "type": "array", "prefixItems": pair });
        check(open, &[json!([1, "a", true])], &[json!([true]), json!(1)]);
        let alike = json!({ "prefixItems": [{ "type": "integer" }, { "type": "integer" }], "items": false });
        check(alike, &[json!([1, 1, 1])], &[json!(["a"])]);
    }

    #[test]
    fn tagged_unions_accept_unlisted_tags() {
        let branch = |tag: &str, kind: &str| json!({ "type": "object", "properties": { "tag": { "const": tag }, "v": { "type": kind } }, "required": ["tag", "v"] });
        let schema = json!({
            "oneOf": [{ "$ref": "#/$defs/a%20b" }, branch("b", "string")],
            "$defs": { "a b": branch("a", "integer") },
        });
        let read = [json!({ "tag": "a", "v": 1 }), json!({ "tag": "c" })];
        check(schema, &read, &[json!({ "tag": "a", "v": "x" }), json!({ "tag": 1 }), json!({})]);
    }

    #[test]
    fn unsatisfiable_schemas_are_undecided() {
        let schema = json!({ "required": ["a"], "properties": { "a": { "type": "string", "enum": [1] } } });
        assert_eq!(reads(&schema, &json!({ "a": 1 })), None);
        assert_eq!(reads(&schema, &json!({})), Some(false));
    }
}

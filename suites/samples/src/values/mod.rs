//! Values made up from a schema: at bounds, each optional property there and away, each branch and each listed value,
//! empty and filled. A validator has to sort out those that are valid; most are.

mod scalars;
mod view;

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::references::{resolve, step};
use view::{Additional, View, views};

/// Optional parts below this many levels are left out, so that recursion ends.
const DEEPEST: usize = 7;
/// Places looked at for one set of values: recursion in many directions is cut short.
const MOST_WORK: usize = 20_000;
/// Values of a place that is not in focus.
const FEW: usize = 3;

/// A schema, and where it stands in its document.
#[derive(Clone, Debug)]
struct Node<'a> {
    schema: &'a Value,
    pointer: String,
}

impl<'a> Node<'a> {
    fn below(&self, keyword: &str, key: Option<&str>, schema: &'a Value) -> Self {
        let key = key.map(|key| format!("/{}", step(key))).unwrap_or_default();
        Self { schema, pointer: format!("{}/{keyword}{key}", self.pointer) }
    }
}

/// Additional numbers, texts and keys to try, taken from other schemas.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Tried, and what is just above and below them, where a number or a length may be.
    pub numbers: Vec<f64>,
    /// Tried where a string may be.
    pub strings: Vec<String>,
    /// Tried where an undeclared key may be.
    pub keys: Vec<String>,
}

impl Hints {
    /// So many of each kind are kept.
    const MOST: usize = 24;

    /// Takes what a schema, or a part of one, mentions.
    pub fn read(&mut self, schema: &Value) {
        match schema {
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                if self.numbers.len() < Self::MOST && !self.numbers.contains(&number) {
                    self.numbers.push(number);
                }
            }
            Value::String(text)
                if self.strings.len() < Self::MOST && text.len() < 80 && !self.strings.contains(text) =>
            {
                self.strings.push(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.read(item)),
            Value::Object(map) => {
                for (key, value) in map {
                    if let ("properties" | "dependentRequired" | "dependentSchemas", Value::Object(named)) =
                        (key.as_str(), value)
                    {
                        let new = named.keys().filter(|key| !self.keys.contains(key)).cloned().collect::<Vec<_>>();
                        self.keys.extend(new);
                        self.keys.truncate(Self::MOST);
                    }
                    if !["description", "title", "$ref", "type", "$comment"].contains(&key.as_str()) {
                        self.read(value);
                    }
                }
            }
            _ => {}
        }
    }
}

/// How to make up values.
#[derive(Clone, Debug)]
pub struct Generator<'a> {
    root: &'a Value,
    hints: Hints,
    most: usize,
    /// The places that are varied in every way; all of them where nothing is in focus.
    focus: Option<HashSet<String>>,
    work: Cell<usize>,
}

impl<'a> Generator<'a> {
    /// For at most so many values of a schema.
    #[must_use]
    pub fn new(schema: &'a Value, most: usize) -> Self {
        Self { root: schema, hints: Hints::default(), most, focus: None, work: Cell::new(0) }
    }

    /// Tries these too.
    #[must_use]
    pub fn hints(mut self, hints: Hints) -> Self {
        self.hints = hints;
        self
    }

    /// Varies the place of a schema, and what is below it, in every way, and the rest a little.
    #[must_use]
    pub fn focus(mut self, pointer: &str) -> Self {
        let mut places = HashSet::new();
        let mut references = Vec::new();
        every_reference(self.root, String::new(), &mut references);
        let mut left = vec![pointer.to_owned()];
        while let Some(place) = left.pop() {
            let mut ancestor = place.as_str();
            loop {
                if places.insert(ancestor.to_owned()) {
                    // The references to this schema lead to the focus as well.
                    let leads = references.iter().filter(|(_, target)| target == ancestor);
                    left.extend(leads.map(|(from, _)| from.clone()));
                }
                let Some((parent, _)) = ancestor.rsplit_once('/') else { break };
                ancestor = parent;
            }
        }
        self.focus = Some(places);
        self.below_focus(pointer)
    }

    fn below_focus(mut self, pointer: &str) -> Self {
        let mut below = Vec::new();
        if let Some(schema) = self.root.pointer(pointer) {
            every_place(schema, pointer.to_owned(), &mut below);
        }
        self.focus.iter_mut().for_each(|focus| focus.extend(below.iter().cloned()));
        self
    }

    /// The values.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        self.work.set(0);
        let root = Node { schema: self.root, pointer: String::new() };
        let mut values = self.of(&[root], 0);
        values.truncate(self.most);
        values
    }

    fn is_hot(&self, nodes: &[Node<'a>]) -> bool {
        self.focus.as_ref().is_none_or(|focus| nodes.iter().any(|node| focus.contains(&node.pointer)))
    }

    /// Values for schemas that hold together.
    fn of(&self, nodes: &[Node<'a>], depth: usize) -> Vec<Value> {
        self.work.set(self.work.get() + 1);
        let depth = if self.work.get() > MOST_WORK { DEEPEST } else { depth };
        let ways = views(self.root, nodes);
        let hot = self.is_hot(nodes);
        let most = if hot { self.most } else { FEW };
        let kinds = 6;
        let share = (most / ways.len().max(1)).max(kinds);
        let mut found: Vec<Value> = Vec::new();
        // A value of each way first, so that none is cut off.
        let all: Vec<Vec<Value>> = ways.iter().map(|way| self.way(way, share, hot, depth)).collect();
        for index in 0..all.iter().map(Vec::len).max().unwrap_or_default() {
            found.extend(all.iter().filter_map(|values| values.get(index)).cloned());
        }
        let mut seen = HashSet::new();
        found.retain(|value| seen.insert(value.to_string()));
        found.truncate(most);
        found
    }

    fn way(&self, view: &View<'a>, most: usize, hot: bool, depth: usize) -> Vec<Value> {
        if let Some(listed) = view.listed() {
            return listed;
        }
        let hints = if hot { self.hints.clone() } else { Hints::default() };
        let mut kinds: Vec<Vec<Value>> = Vec::new();
        if view.allows("object") {
            kinds.push(self.objects(view, most, hot, depth));
        }
        if view.allows("array") {
            kinds.push(self.arrays(view, most, depth));
        }
        if view.allows("string") {
            kinds.push(scalars::strings(view, &hints));
        }
        if view.allows("number") {
            kinds.push(scalars::numbers(view, &hints));
        } else if view.allows("integer") {
            kinds.push(scalars::integers(view, &hints));
        }
        if view.allows("boolean") {
            kinds.push(vec![json!(true), json!(false)]);
        }
        if view.allows("null") {
            kinds.push(vec![Value::Null]);
        }
        if !view.is_typed() {
            // Any kind will do, and what the schema says is mostly about one of them.
            let said = usize::from(view.is_about_objects()) + usize::from(view.is_about_arrays());
            kinds.sort_by_key(|values| match values.first() {
                Some(Value::Object(_)) => !view.is_about_objects(),
                Some(Value::Array(_)) => !view.is_about_arrays(),
                _ => true,
            });
            kinds.iter_mut().skip(said).for_each(|values| values.truncate(FEW));
        }
        let mut found = Vec::new();
        for index in 0..kinds.iter().map(Vec::len).max().unwrap_or_default() {
            found.extend(kinds.iter().filter_map(|values| values.get(index)).cloned());
        }
        found
    }

    fn objects(&self, view: &View<'a>, most: usize, hot: bool, depth: usize) -> Vec<Value> {
        let required = view.required();
        let mut parts: Vec<Part> = Vec::new();
        for (key, nodes) in view.properties() {
            let is_required = required.contains(&key);
            if depth < DEEPEST || is_required {
                let values = if depth < DEEPEST * 2 { self.of(&nodes, depth + 1) } else { Vec::new() };
                parts.push(Part { key: key.to_owned(), values, is_required, hot: self.is_hot(&nodes) });
            }
        }
        for key in &required {
            if !parts.iter().any(|part| part.key == *key) {
                let values = self.undeclared(view, depth);
                parts.push(Part { key: (*key).to_owned(), values, is_required: true, hot });
            }
        }
        if parts.iter().any(|part| part.is_required && part.values.is_empty()) {
            return Vec::new();
        }
        parts.retain(|part| !part.values.is_empty());
        let minimal = object(parts.iter().filter(|part| part.is_required));
        let full = object(parts.iter());
        let mut found = vec![full.clone(), minimal.clone()];
        parts.sort_by_key(|part| !part.hot);
        for part in &parts {
            if !part.is_required {
                found.push(without(&full, &part.key));
                found.push(with(&minimal, &part.key, part.values.first()));
            }
            for value in part.values.iter().skip(1) {
                found.push(with(&full, &part.key, Some(value)));
                found.push(with(&minimal, &part.key, Some(value)));
            }
            if found.len() > most * 2 {
                break;
            }
        }
        let limit = view.count("maxProperties").unwrap_or(usize::MAX);
        let filler = view.count("minProperties").unwrap_or(0);
        found.splice(2..2, self.with_extra(view, &full, hot, depth));
        if filler > minimal.len() {
            let extra = self.undeclared(view, depth);
            found.insert(
                1,
                (minimal.len()..filler).fold(minimal, |map, index| with(&map, &format!("k{index}"), extra.first())),
            );
        }
        found.into_iter().filter(|map| map.len() <= limit).map(Value::Object).collect()
    }

    /// Objects with keys that are not declared.
    fn with_extra(
        &self,
        view: &View<'a>,
        full: &Map<String, Value>,
        hot: bool,
        depth: usize,
    ) -> Vec<Map<String, Value>> {
        let mut found = Vec::new();
        let patterns = view.patterns();
        for (pattern, node) in &patterns {
            for value in self.of(std::slice::from_ref(node), depth + 1) {
                if let Some(key) = scalars::of_pattern(pattern).first() {
                    found.push(with(full, key, Some(&value)));
                }
            }
        }
        let is_declared = |key: &&String| view.properties().iter().any(|(known, _)| known == key);
        let hinted: Vec<&String> =
            self.hints.keys.iter().filter(|key| hot && !is_declared(key)).take(if hot { 12 } else { 0 }).collect();
        for value in self.undeclared(view, depth) {
            for key in hinted.iter().map(|key| key.as_str()).chain(["undeclared"]) {
                found.push(with(full, key, Some(&value)));
            }
        }
        found
    }

    /// Returns values for keys that are not declared.
    fn undeclared(&self, view: &View<'a>, depth: usize) -> Vec<Value> {
        match view.additional() {
            Additional::Closed => Vec::new(),
            Additional::Of(nodes) if depth < DEEPEST => self.of(&nodes, depth + 1),
            _ => vec![json!("text"), json!(1), json!(null), json!({}), json!([]), json!(true)],
        }
    }

    fn arrays(&self, view: &View<'a>, most: usize, depth: usize) -> Vec<Value> {
        let (least, longest) = (view.count("minItems").unwrap_or(0), view.count("maxItems").unwrap_or(usize::MAX));
        if depth >= DEEPEST {
            return if least == 0 { vec![json!([])] } else { Vec::new() };
        }
        let (prefix, rest) = view.items();
        let first: Vec<Vec<Value>> = prefix.iter().map(|nodes| self.of(nodes, depth + 1)).collect();
        let others = rest.map(|nodes| self.of(&nodes, depth + 1)).unwrap_or_default();
        let at = |index: usize| first.get(index).unwrap_or(&others);
        let of_length = |length: usize| (0..length).map(|index| at(index).first().cloned()).collect::<Option<Vec<_>>>();
        let mut found: Vec<Vec<Value>> = Vec::new();
        let usual = first.len().max(least).max(1);
        for length in [usual, usual + 1, least, 0, first.len().saturating_sub(1), longest.min(least + 20), least + 2] {
            if (least..=longest).contains(&length) && length <= 200 {
                found.extend(of_length(length));
            }
        }
        if let Some(base) = of_length(usual).filter(|base| base.len() <= longest) {
            for index in 0..usual.min(first.len() + 1) {
                for value in at(index).iter().skip(1) {
                    let mut items = base.clone();
                    if let Some(item) = items.get_mut(index) {
                        *item = value.clone();
                    }
                    found.push(items);
                }
                if found.len() > most {
                    break;
                }
            }
        }
        // Different items, for those who ask for it.
        if others.len() > 1 {
            let different = first.iter().filter_map(|values| values.first()).chain(&others);
            found.push(different.take(longest.min(usual.max(3))).cloned().collect());
        }
        found.into_iter().map(Value::Array).collect()
    }
}

/// A property, and what it may be.
struct Part {
    key: String,
    values: Vec<Value>,
    is_required: bool,
    hot: bool,
}

fn object<'p>(parts: impl Iterator<Item = &'p Part>) -> Map<String, Value> {
    parts.filter_map(|part| Some((part.key.clone(), part.values.first()?.clone()))).collect()
}

fn with(map: &Map<String, Value>, key: &str, value: Option<&Value>) -> Map<String, Value> {
    let mut map = map.clone();
    map.extend(value.map(|value| (key.to_owned(), value.clone())));
    map
}

fn without(map: &Map<String, Value>, key: &str) -> Map<String, Value> {
    let mut map = map.clone();
    map.shift_remove(key);
    map
}

fn every_reference(schema: &Value, pointer: String, found: &mut Vec<(String, String)>) {
    let mut places = Vec::new();
    every_place(schema, pointer, &mut places);
    for place in places {
        let reference = schema.pointer(&place).and_then(|node| node.get("$ref")).and_then(Value::as_str);
        if let Some((target, _)) = reference.and_then(|reference| resolve(schema, reference)) {
            found.push((place, target));
        }
    }
}

/// The pointers of everything inside a document that may be a schema.
fn every_place(schema: &Value, pointer: String, found: &mut Vec<String>) {
    match schema {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| every_place(value, format!("{pointer}/{}", step(key)), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| every_place(item, format!("{pointer}/{index}"), found));
        }
        _ => return,
    }
    found.push(pointer);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_schema_is_varied() {
        let schema = json!({
            "type": "object",
            "properties": {
                "level": { "$ref": "#/$defs/level" },
                "size": { "type": "integer", "minimum": 3 },
                "code": { "type": "string", "pattern": "^[A-Z]{2}\\d$" },
                "pair": { "type": "array", "prefixItems": [{ "type": "boolean" }], "items": { "type": "null" } },
                "next": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] },
            },
            "required": ["level"],
            "$defs": { "level": { "enum": ["low", "high"] } },
        });
        let values = Generator::new(&schema, 400).values();
        let all = |pointer: &str| values.iter().filter_map(|value| value.pointer(pointer)).cloned().collect::<Vec<_>>();
        assert!(all("/level").contains(&json!("high")));
        assert!(all("/size").contains(&json!(3)) && !all("/size").contains(&json!(2)));
        assert!(all("/code").iter().any(|code| code.as_str().is_some_and(|code| code.len() == 3)));
        assert!(all("/pair").contains(&json!([])) && all("/pair").contains(&json!([true, null])));
        assert!(all("/next/next/level").contains(&json!("low")), "{values:#?}");
        assert!(values.contains(&json!({ "level": "low" })));
        assert!(values.iter().all(|value| value.get("level").is_some()));
    }

    #[test]
    fn focused_schema_is_varied_through_references() {
        let schema = json!({
            "properties": { "a": { "items": { "$ref": "#/$defs/x" } }, "b": { "type": "string" } },
            "$defs": { "x": { "type": "object", "properties": { "n": { "type": "integer", "maximum": 50 } } } },
        });
        let mut hints = Hints::default();
        hints.read(&json!({ "minimum": 20 }));
        let values = Generator::new(&schema, 100).hints(hints).focus("/$defs/x/properties/n").values();
        for expected in [50, 49, 19, 20, 21, 0] {
            assert!(
                values.iter().any(|value| value.pointer("/a/0/n") == Some(&json!(expected))),
                "{expected}: {values:?}"
            );
        }
        let others: HashSet<_> = values.iter().filter_map(|value| value.get("b")).map(Value::to_string).collect();
        assert_eq!(others.len(), FEW);
    }
}

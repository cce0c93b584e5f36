//! Combines the keywords of several schemas for one value.

use serde_json::{Map, Value};

use super::Node;
use crate::references::{ref_stands_alone, resolve};

/// More ways to combine branches than this are left out.
const MOST_WAYS: usize = 24;
const DEEPEST: usize = 24;

/// Schemas that hold together, without a choice among them.
#[derive(Clone, Debug, Default)]
pub(super) struct View<'a> {
    nodes: Vec<Node<'a>>,
    /// One of the schemas is `false`.
    never: bool,
}

/// The schemas of undeclared keys.
pub(super) enum Additional<'a> {
    Open,
    Closed,
    Of(Vec<Node<'a>>),
}

/// Every way to be valid under all of the schemas: references followed, `allOf` joined, a branch of each choice taken.
pub(super) fn views<'a>(root: &'a Value, nodes: &[Node<'a>]) -> Vec<View<'a>> {
    let mut ways = vec![View::default()];
    for node in nodes {
        ways = product(&ways, &expand(root, node, DEEPEST));
    }
    ways.retain(|view| !view.never);
    ways
}

fn product<'a>(left: &[View<'a>], right: &[View<'a>]) -> Vec<View<'a>> {
    let join = |one: &View<'a>, other: &View<'a>| View {
        nodes: one.nodes.iter().chain(&other.nodes).cloned().collect(),
        never: one.never || other.never,
    };
    right.iter().flat_map(|other| left.iter().map(move |one| join(one, other))).take(MOST_WAYS).collect()
}

fn expand<'a>(root: &'a Value, node: &Node<'a>, depth: usize) -> Vec<View<'a>> {
    let map = match node.schema {
        Value::Object(map) if depth > 0 => map,
        Value::Bool(false) => return vec![View { nodes: Vec::new(), never: true }],
        _ => return vec![View::default()],
    };
    let target = map.get("$ref").and_then(Value::as_str).and_then(|reference| resolve(root, reference));
    let target = target.map(|(pointer, schema)| expand(root, &Node { schema, pointer }, depth - 1));
    if let (Some(target), true) = (&target, ref_stands_alone(root)) {
        return target.clone();
    }
    let mut ways = vec![View { nodes: vec![node.clone()], never: false }];
    if let Some(target) = target {
        ways = product(&ways, &target);
    }
    let listed = |keyword: &str| -> Vec<Node<'a>> {
        let items = map.get(keyword).and_then(Value::as_array).into_iter().flatten();
        items.enumerate().map(|(index, item)| node.below(keyword, Some(&index.to_string()), item)).collect()
    };
    for part in listed("allOf") {
        ways = product(&ways, &expand(root, &part, depth - 1));
    }
    for keyword in ["anyOf", "oneOf"] {
        let branches: Vec<_> = listed(keyword).iter().flat_map(|branch| expand(root, branch, depth - 1)).collect();
        if map.contains_key(keyword) {
            ways = product(&ways, &branches);
        }
    }
    let one = |keyword: &str| map.get(keyword).map(|schema| node.below(keyword, None, schema));
    let when = |parts: [Option<Node<'a>>; 2]| {
        parts.into_iter().flatten().fold(ways.clone(), |ways, part| product(&ways, &expand(root, &part, depth - 1)))
    };
    if let Some(condition) = one("if") {
        let mut all = when([Some(condition), one("then")]);
        all.extend(when([one("else"), None]));
        all.truncate(MOST_WAYS);
        return all;
    }
    ways
}

impl<'a> View<'a> {
    fn maps(&self) -> impl Iterator<Item = (&Node<'a>, &'a Map<String, Value>)> {
        self.nodes.iter().filter_map(|node| Some((node, node.schema.as_object()?)))
    }

    fn all<'v>(&'v self, keyword: &'v str) -> impl Iterator<Item = &'a Value> + 'v {
        self.maps().filter_map(move |(_, map)| map.get(keyword))
    }

    /// Returns `true` if `type` allows a kind of values; `integer` is a kind of its own.
    pub(super) fn allows(&self, kind: &str) -> bool {
        self.maps().all(|(_, map)| {
            let named = |name: &str| name == kind || (name == "number" && kind == "integer");
            match map.get("type") {
                Some(Value::String(name)) => {
                    named(name) || (kind == "null" && map.get("nullable") == Some(&Value::Bool(true)))
                }
                Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).any(named),
                _ => true,
            }
        })
    }

    /// Returns `true` if any schema specifies a type.
    pub(super) fn is_typed(&self) -> bool {
        self.says("type")
    }

    pub(super) fn is_about_objects(&self) -> bool {
        ["properties", "required", "additionalProperties", "patternProperties"].iter().any(|keyword| self.says(keyword))
    }

    pub(super) fn is_about_arrays(&self) -> bool {
        ["items", "prefixItems", "contains"].iter().any(|keyword| self.says(keyword))
    }

    fn says(&self, keyword: &str) -> bool {
        self.all(keyword).next().is_some()
    }

    /// The values of `enum` and `const`, where they are listed.
    pub(super) fn listed(&self) -> Option<Vec<Value>> {
        let enums = self.all("enum").filter_map(|values| values.as_array().cloned());
        let constants = self.all("const").map(|value| vec![value.clone()]);
        enums.chain(constants).reduce(|left, right| left.into_iter().filter(|value| right.contains(value)).collect())
    }

    pub(super) fn numbers(&self, keyword: &str) -> Vec<f64> {
        self.all(keyword).filter_map(Value::as_f64).collect()
    }

    pub(super) fn texts(&self, keyword: &str) -> Vec<&'a str> {
        self.all(keyword).filter_map(Value::as_str).collect()
    }

    pub(super) fn count(&self, keyword: &str) -> Option<usize> {
        let counts = self.numbers(keyword).into_iter();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts of floats saturate")]
        let counts = counts.map(|count| count as usize);
        if keyword.starts_with("min") { counts.max() } else { counts.min() }
    }

    /// The declared properties, each with all that is asked of it.
    pub(super) fn properties(&self) -> Vec<(&'a str, Vec<Node<'a>>)> {
        let mut found: Vec<(&'a str, Vec<Node<'a>>)> = Vec::new();
        for (node, map) in self.maps() {
            for (key, schema) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let property = node.below("properties", Some(key), schema);
                match found.iter_mut().find(|(known, _)| known == key) {
                    Some((_, schemas)) => schemas.push(property),
                    None => found.push((key, vec![property])),
                }
            }
        }
        found
    }

    pub(super) fn required(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> =
            self.all("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(super) fn additional(&self) -> Additional<'a> {
        let said: Vec<Node<'a>> = self
            .maps()
            .filter_map(|(node, map)| Some(node.below("additionalProperties", None, map.get("additionalProperties")?)))
            .collect();
        match said.as_slice() {
            [] => Additional::Open,
            _ if said.iter().any(|node| node.schema == &Value::Bool(false)) => Additional::Closed,
            _ => Additional::Of(said),
        }
    }

    /// The patterns of keys, and what is under them.
    pub(super) fn patterns(&self) -> Vec<(&'a str, Node<'a>)> {
        let patterns = self.maps().flat_map(|(node, map)| {
            let patterns = map.get("patternProperties").and_then(Value::as_object).into_iter().flatten();
            patterns.map(move |(pattern, schema)| {
                (pattern.as_str(), node.below("patternProperties", Some(pattern), schema))
            })
        });
        patterns.collect()
    }

    /// Returns the schemas of each leading item, and those of the rest; `None` if there can be no rest.
    pub(super) fn items(&self) -> (Vec<Vec<Node<'a>>>, Option<Vec<Node<'a>>>) {
        let mut prefix: Vec<Vec<Node<'a>>> = Vec::new();
        let mut rest = Some(Vec::new());
        for (node, map) in self.maps() {
            let old_tuple = map.get("items").filter(|items| items.is_array());
            let (keyword, tuple) = match old_tuple {
                Some(items) => ("items", Some(items)),
                None => ("prefixItems", map.get("prefixItems")),
            };
            for (index, item) in tuple.and_then(Value::as_array).into_iter().flatten().enumerate() {
                let item = node.below(keyword, Some(&index.to_string()), item);
                match prefix.get_mut(index) {
                    Some(items) => items.push(item),
                    None => prefix.push(vec![item]),
                }
            }
            let keyword = if old_tuple.is_some() { "additionalItems" } else { "items" };
            match map.get(keyword) {
                Some(Value::Bool(false)) => rest = None,
                Some(schema) => rest.iter_mut().for_each(|rest| rest.push(node.below(keyword, None, schema))),
                None => {}
            }
        }
        (prefix, rest)
    }
}

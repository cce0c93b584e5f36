//! Which parts of a schema speak of a place in a value.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Alternatives of alternatives grow without measure.
const MOST: usize = 200;

/// A schema, to be gone through along with a value.
#[derive(Clone, Copy)]
pub(super) struct Places<'s> {
    root: &'s Value,
}

impl<'s> Places<'s> {
    pub(super) fn of(root: &'s Value) -> Self {
        Self { root }
    }

    /// Returns the schemas that speak of the whole.
    pub(super) fn whole(self) -> Vec<&'s Value> {
        self.all([self.root])
    }

    /// Returns the schemas that speak of the place at a JSON pointer.
    pub(super) fn at(self, pointer: &str) -> Vec<&'s Value> {
        let segments = pointer.split('/').skip(1).map(mcp_bindgen_model::pointer_key);
        segments.fold(self.whole(), |schemas, segment| match segment.parse() {
            // Digits may be a key as well.
            Ok(index) => {
                let [items, properties] = [self.item(&schemas, index), self.property(&schemas, &segment)];
                items.into_iter().chain(properties).collect()
            }
            Err(_) => self.property(&schemas, &segment),
        })
    }

    /// Returns the schemas of a property.
    pub(super) fn property(self, schemas: &[&'s Value], key: &str) -> Vec<&'s Value> {
        self.all(schemas.iter().filter_map(|schema| {
            let named = schema.get("properties").and_then(|properties| properties.get(key));
            named.or_else(|| schema.get("additionalProperties"))
        }))
    }

    /// Returns the schemas of an item.
    pub(super) fn item(self, schemas: &[&'s Value], index: usize) -> Vec<&'s Value> {
        self.all(schemas.iter().filter_map(|schema| {
            let tuple = ["prefixItems", "items"].into_iter().find_map(|key| schema.get(key)?.get(index));
            tuple.or_else(|| schema.get("items").filter(|items| items.is_object()))
        }))
    }

    /// Returns these schemas with those that they refer to and combine.
    fn all(self, schemas: impl IntoIterator<Item = &'s Value>) -> Vec<&'s Value> {
        let mut found: Vec<&'s Value> = Vec::new();
        let mut open: Vec<&'s Value> = schemas.into_iter().collect();
        open.reverse();
        while let Some(schema) = open.pop() {
            if found.len() == MOST || found.iter().any(|known| std::ptr::eq(*known, schema)) {
                continue;
            }
            found.push(schema);
            let referred = schema.get("$ref").and_then(Value::as_str).and_then(|target| self.referred(target));
            let branches = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
            let conditional = ["if", "then", "else"].into_iter().filter_map(|key| schema.get(key));
            open.extend(referred.into_iter().chain(branches.flatten()).chain(conditional));
        }
        found
    }

    fn referred(self, target: &str) -> Option<&'s Value> {
        self.root.pointer(target.strip_prefix('#')?)
    }
}

/// Returns the texts that some of the schemas name as values.
pub(super) fn named_values<'s>(schemas: &[&'s Value]) -> Vec<&'s str> {
    let several = schemas.iter().filter_map(|schema| schema.get("enum")?.as_array()).flatten();
    let single = schemas.iter().filter_map(|schema| schema.get("const"));
    let mut values: Vec<&str> = several.chain(single).filter_map(Value::as_str).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Returns the properties that some of the schemas name, in their order.
pub(super) fn named_properties<'s>(schemas: &[&'s Value]) -> Vec<&'s str> {
    let keys = schemas.iter().filter_map(|schema| schema.get("properties")?.as_object()).flat_map(Map::keys);
    let mut seen: HashSet<&str> = HashSet::new();
    keys.map(String::as_str).filter(|key| seen.insert(key)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_resolve_through_references_branches_and_items() {
        let schema = json!({
            "$defs": {"state": {"enum": ["open", "closed"]}, "node": {"properties": {"next": {"$ref": "#/$defs/node"}}}},
            "properties": {
                "state": {"anyOf": [{"$ref": "#/$defs/state"}, {"type": "null"}]},
                "list": {"items": {"oneOf": [{"const": "a"}, {"properties": {"kind": {"const": "b"}}}]}},
                "pair": {"prefixItems": [{"const": "first"}], "items": {"const": "rest"}},
                "map": {"additionalProperties": {"const": "any"}},
                "a/b": {"const": "slash"}, "0": {"const": "zero"},
                "tree": {"$ref": "#/$defs/node"}, "loop": {"$ref": "#/properties/loop"},
            },
        });
        let values = |pointer: &str| named_values(&Places::of(&schema).at(pointer));
        assert_eq!(values("/state"), ["closed", "open"]);
        assert_eq!(values("/list/3"), ["a"]);
        assert_eq!(values("/list/3/kind"), ["b"]);
        assert_eq!((values("/pair/0"), values("/pair/1")), (vec!["first"], vec!["rest"]));
        assert_eq!((values("/map/x"), values("/a~1b"), values("/0")), (vec!["any"], vec!["slash"], vec!["zero"]));
        assert!(values("/loop").is_empty() && values("/nowhere/at/all").is_empty());
        let deep = "/tree".to_owned() + &"/next".repeat(50);
        assert_eq!(named_properties(&Places::of(&schema).at(&deep)), ["next"]);
    }
}

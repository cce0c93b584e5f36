//! The shapes, values and properties that a schema declares for a place in a value.

use std::collections::HashSet;

use mcp_bindgen_model::pointer_key;
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Presence, Role, Shape, ShapeId, Shapes};
use serde_json::Value;

/// The shapes of a schema, to be gone through along with a value.
pub(super) struct Places {
    shapes: Shapes,
    root: ShapeId,
}

impl Places {
    pub(super) fn of(schema: &Value) -> Self {
        let Document { shapes, root, .. } = Document::read(schema, Role::Input, &mut Reporter::new("", 0, ""));
        Self { shapes, root }
    }

    /// Returns the shapes of the place at a JSON pointer.
    fn at(&self, pointer: &str) -> impl Iterator<Item = &Shape> {
        let mut found: Vec<ShapeId> = self.shapes.leaves([self.root]).collect();
        for segment in pointer.split('/').skip(1).map(pointer_key) {
            let slots = found.into_iter().filter_map(|shape| match self.shapes.get(shape) {
                Shape::Struct(object) => object.slot(&segment),
                Shape::Map(value) => Some(*value),
                list => list.item(segment.parse().ok()?),
            });
            found = self.shapes.leaves(slots.map(|slot| slot.shape)).collect();
        }
        found.into_iter().map(|shape| self.shapes.get(shape))
    }

    /// Returns the texts that are named as values of a place.
    pub(super) fn values(&self, pointer: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for shape in self.at(pointer) {
            match shape {
                Shape::TextEnum(texts) => values.extend(texts.iter().map(String::as_str)),
                Shape::LiteralEnum(literals) => values.extend(literals.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the properties that are declared for a place, in their order, and whether they are required.
    pub(super) fn properties(&self, pointer: &str) -> Vec<(&str, bool)> {
        let objects = self.at(pointer).filter_map(|shape| match shape {
            Shape::Struct(object) => Some(object),
            _ => None,
        });
        let mut seen: HashSet<&str> = HashSet::new();
        let fields = objects.flat_map(|object| &object.fields).filter(|field| seen.insert(&field.wire));
        fields.map(|field| (field.wire.as_str(), field.presence == Presence::Required)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_resolve_through_references_branches_and_items() {
        let schema = json!({
            "$defs": {"state": {"enum": ["open", "closed"]}, "node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
            "properties": {
                "state": {"anyOf": [{"$ref": "#/$defs/state"}, {"type": "null"}]},
                "list": {"items": {"oneOf": [{"const": "a"}, {"type": "object", "properties": {"kind": {"const": "b"}}}]}},
                "pair": {"prefixItems": [{"const": "first"}], "items": {"const": "rest"}},
                "map": {"additionalProperties": {"const": "any"}},
                "a/b": {"const": "slash"}, "0": {"const": "zero"},
                "tree": {"$ref": "#/$defs/node"}, "loop": {"$ref": "#/properties/loop"},
            },
        });
        let places = Places::of(&schema);
        let values = |pointer: &str| places.values(pointer);
        assert_eq!(values("/state"), ["closed", "open"]);
        assert_eq!(values("/list/3"), ["a"]);
        assert_eq!(values("/list/3/kind"), ["b"]);
        assert_eq!((values("/pair/0"), values("/pair/1")), (vec!["first"], vec!["rest"]));
        assert_eq!((values("/map/x"), values("/a~1b"), values("/0")), (vec!["any"], vec!["slash"], vec!["zero"]));
        assert!(values("/loop").is_empty() && values("/nowhere/at/all").is_empty());
        let deep = "/tree".to_owned() + &"/next".repeat(50);
        assert_eq!(places.properties(&deep), [("next", false)]);
    }
}

//! The shapes, values and properties that a schema declares for a place in a value.

use std::collections::HashMap;

use mcp_bindgen_model::pointer_key;
use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Presence, Role, Shape, ShapeId, Shapes, StructShape};
use serde_json::Value;

/// The shapes of a schema, to be gone through along with a value.
#[derive(Debug)]
pub(super) struct Places {
    shapes: Shapes,
    root: ShapeId,
    /// The texts that say that an object is of this branch of a union.
    tags: HashMap<ShapeId, String>,
}

impl Places {
    pub(super) fn of(schema: &Value) -> Self {
        let Document { shapes, root, .. } = Document::read(schema, Role::Input, &mut Reporter::new("", 0, ""));
        let mut tags = HashMap::new();
        for id in shapes.ids() {
            match shapes.get(id) {
                Shape::Union(union) if union.tag.as_ref().is_some_and(|tag| tag.is_text) => {
                    tags.extend(union.branches.iter().filter_map(|branch| Some((branch.shape, branch.tag.clone()?))));
                }
                _ => {}
            }
        }
        Self { shapes, root, tags }
    }

    /// Returns the shapes of the place at a JSON pointer.
    fn at(&self, pointer: &str) -> Vec<ShapeId> {
        let mut found: Vec<ShapeId> = self.shapes.leaves([self.root]).collect();
        for segment in pointer.split('/').skip(1).map(pointer_key) {
            let slots = found.into_iter().filter_map(|shape| match self.shapes.get(shape) {
                Shape::Struct(object) if has_tag(object, &segment) => None,
                Shape::Struct(object) => object.slot(&segment),
                Shape::Map(value) => Some(*value),
                list => list.item(segment.parse().ok()?),
            });
            found = self.shapes.leaves(slots.map(|slot| slot.shape)).collect();
        }
        found
    }

    /// Returns the texts that are named as values of a place.
    pub(super) fn values(&self, pointer: &str) -> Vec<&str> {
        let mut values: Vec<&str> = Vec::new();
        for id in self.at(pointer) {
            match self.shapes.get(id) {
                Shape::TextEnum(texts) => values.extend(texts.iter().map(String::as_str)),
                Shape::LiteralEnum(literals) => values.extend(literals.iter().filter_map(Value::as_str)),
                _ => {}
            }
        }
        if let Some((parent, key)) = pointer.rsplit_once('/') {
            let key = pointer_key(key);
            let is_tagged =
                |id: &ShapeId| matches!(self.shapes.get(*id), Shape::Struct(object) if has_tag(object, &key));
            let tagged = self.at(parent).into_iter().filter(is_tagged);
            values.extend(tagged.filter_map(|id| self.tags.get(&id)).map(String::as_str));
        }
        values.sort_unstable();
        values.dedup();
        values
    }

    /// Returns the properties that are declared for a place, in their order, and whether all its objects require them.
    pub(super) fn properties(&self, pointer: &str) -> Vec<(&str, bool)> {
        let objects = self.at(pointer).into_iter().filter_map(|id| match self.shapes.get(id) {
            Shape::Struct(object) => Some(object),
            _ => None,
        });
        let (mut names, mut requiring, mut count) = (Vec::new(), HashMap::new(), 0);
        for object in objects {
            count += 1;
            let tag = object.tag.iter().map(|tag| (tag.as_str(), true));
            let fields = object.fields.iter().map(|field| (field.wire.as_str(), field.presence == Presence::Required));
            for (name, is_required) in tag.chain(fields) {
                let requiring = requiring.entry(name).or_insert_with(|| {
                    names.push(name);
                    0
                });
                *requiring += usize::from(is_required);
            }
        }
        names.into_iter().map(|name| (name, requiring.get(name) == Some(&count))).collect()
    }
}

fn has_tag(object: &StructShape, key: &str) -> bool {
    object.tag.as_deref() == Some(key)
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

    #[test]
    fn property_is_required_if_all_branches_require_it() {
        let branch = |required: [&str; 2]| json!({"type": "object", "required": required, "properties": {"a": {}, "b": {}, "c": {}}});
        let schema = json!({"properties": {"any": {"anyOf": [branch(["c", "a"]), branch(["c", "b"])]}}});
        let places = Places::of(&schema);
        let mut properties = places.properties("/any");
        properties.sort_unstable();
        assert_eq!(properties, [("a", false), ("b", false), ("c", true)]);
    }
}

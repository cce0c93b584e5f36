//! Checks whether two schemas are structurally equal: references are followed, and annotations ignored.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::version::Version;
use crate::alike::refined;
use crate::keys::sorted;
use crate::normalize::SchemaId;
use crate::number::{ByValue, hashed, same};

/// The classes of equal schemas of two versions.
pub(super) struct Equality {
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Equality {
    pub(super) fn of(left: &Version<'_>, right: &Version<'_>) -> Self {
        let (mut outlines, mut children, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        // The places of outlines, by their hashes.
        let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
        for version in [left, right] {
            let start = classes.len();
            for id in version.ids() {
                let (outline, held) = outline(version, id);
                let alike = known.entry(hashed(&ByValue(&outline))).or_default();
                let twin = alike.iter().find(|twin| outlines.get(**twin).is_some_and(|twin| same(twin, &outline)));
                // Nothing is known of a schema beyond the limit on schemas: what holds it equals no other.
                let is_whole = held.iter().all(|held| version.has(*held));
                let class = twin.copied().filter(|_| is_whole).unwrap_or(classes.len());
                if class == classes.len() && is_whole {
                    alike.push(class);
                }
                classes.push(class);
                children.push(held.iter().map(|held| start.saturating_add(held.index())).collect());
                outlines.push(outline);
            }
        }
        let mut left_classes = refined(classes, &children);
        let right = left_classes.split_off(left.ids().count());
        Self { left: left_classes, right }
    }

    /// Returns `true` if two schemas that do more than refer to others are equal.
    pub(super) fn equal(&self, left: SchemaId, right: SchemaId) -> bool {
        let (left, right) = (self.left.get(left.index()), self.right.get(right.index()));
        left.is_some() && left == right
    }
}

/// Returns the keywords of a schema in one form, without the schemas that they hold, and those, in an order that the
/// keywords decide.
fn outline(version: &Version<'_>, id: SchemaId) -> (Value, Vec<SchemaId>) {
    let (node, asserted) = (version.node(id), version.assertions(id));
    let (mut said, mut held): (Vec<Value>, Vec<SchemaId>) = (Vec::new(), Vec::new());
    for (keyword, named) in [
        ("properties", &node.properties),
        ("patternProperties", &asserted.patterns),
        ("dependentSchemas", &asserted.dependent_schemas),
    ] {
        for (name, schema) in sorted(named, |(name, _)| name) {
            said.extend([keyword.into(), name.as_str().into()]);
            held.push(*schema);
        }
    }
    let (contains, condition) = (asserted.contains.as_ref(), asserted.condition.as_ref());
    let mut lists: Vec<(&str, &[SchemaId])> = vec![("prefixItems", &node.prefix_items), ("allOf", &node.parts)];
    for choice in &node.choices {
        lists.push((if choice.is_exclusive { "oneOf" } else { "anyOf" }, &choice.branches));
    }
    let singles = [
        ("additionalProperties", version.additional(id)),
        ("items", node.items),
        ("not", asserted.not),
        ("propertyNames", asserted.property_names),
        ("contains", contains.map(|contains| contains.schema)),
        ("if", condition.map(|condition| condition.test)),
        ("then", condition.and_then(|condition| condition.then)),
        ("else", condition.and_then(|condition| condition.otherwise)),
    ];
    lists.extend(singles.iter().map(|(keyword, single)| (*keyword, single.as_slice())));
    for (keyword, list) in lists {
        for schema in list {
            said.push(keyword.into());
            held.push(*schema);
        }
    }
    held.iter_mut().for_each(|schema| *schema = version.followed(*schema));
    let keys = || node.required.iter().map(|key| (key.as_str(), Value::Null)).collect();
    let others = [
        ("false", node.never.then_some(Value::Null)),
        ("type", node.kinds.map(|kinds| kinds.names().into())),
        ("enum", node.allowed.as_ref().map(|values| set_of(values))),
        ("required", (!node.required.is_empty()).then(keys)),
        ("minContains", contains.map(|contains| contains.least.into())),
        ("maxContains", contains.map(|contains| contains.most.into())),
        ("format", asserted.format.as_deref().map(Value::from)),
        ("unevaluated", asserted.unevaluated.as_deref().map(Value::from)),
        ("$ref", asserted.unresolved.as_deref().map(Value::from)),
    ];
    let own = asserted.keywords(node).into_iter().map(|(_, keyword, value)| (keyword, Some(value)));
    for (keyword, value) in own.chain(others) {
        said.extend(value.map(|value| Value::Array(vec![keyword.into(), value])));
    }
    (said.into(), held)
}

/// Returns listed values as a set, in which equal ones are there once.
fn set_of(values: &[Value]) -> Value {
    let mut by_hash = Map::new();
    for value in values {
        let alike = by_hash.entry(hashed(&ByValue(value)).to_string()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(alike) = alike
            && !alike.iter().any(|known| same(known, value))
        {
            alike.push(value.clone());
        }
    }
    by_hash.into()
}

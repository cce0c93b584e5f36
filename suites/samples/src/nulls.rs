//! Values that are invalid for a `null` alone.

use serde_json::Value;

use crate::Place;

/// The value without every `null` that stands for an optional property which cannot be null.
/// `None` where there is no such `null`.
#[must_use]
pub fn without_needless_nulls(schema: &Value, value: &Value) -> Option<Value> {
    let mut pruned = value.clone();
    prune(&Place::root(schema), &mut pruned).then_some(pruned)
}

fn prune(place: &Place<'_>, value: &mut Value) -> bool {
    let mut removed = false;
    match value {
        Value::Object(members) => {
            let needless = |key: &String, value: &Value| {
                value.is_null() && place.declared(key).is_some_and(|declared| !declared.allows_null())
            };
            let before = members.len();
            members.retain(|key, value| !needless(key, value));
            removed |= members.len() < before;
            for (key, value) in members {
                removed |= prune(&place.property(key), value);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                removed |= prune(&place.item(index), item);
            }
        }
        _ => {}
    }
    removed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_needless_only_for_declared_non_nullable_properties() {
        let schema = json!({
            "properties": {
                "name": { "type": "string" },
                "note": { "type": ["string", "null"] },
                "tags": { "anyOf": [{ "type": "array" }, { "type": "null" }], "type": "array" },
            },
            "additionalProperties": { "type": "string" },
        });
        let value = json!({ "name": null, "note": null, "tags": null, "other": null });
        assert_eq!(without_needless_nulls(&schema, &value), Some(json!({ "note": null, "other": null })));
        assert_eq!(without_needless_nulls(&schema, &json!({ "other": null })), None);
    }
}

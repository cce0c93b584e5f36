//! Anthropic's ceilings over all strict schemas of a request.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::below;

/// The counts of a schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) optional: usize,
    pub(crate) unions: usize,
}

/// Counts what may be absent, and what is of several types: in definitions wherever they are referred to.
pub(crate) fn counted(schema: &Value) -> Counted {
    let mut total = Counted::default();
    count(schema, schema, &mut total, &mut HashMap::new());
    total
}

fn count(root: &Value, schema: &Value, total: &mut Counted, known: &mut HashMap<String, Counted>) {
    let Value::Object(map) = schema else { return };
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|place| root.pointer(place));
        if let Some(target) = target.filter(|_| reference != "#") {
            let counted = known.get(reference).copied().unwrap_or_else(|| {
                let mut own = Counted::default();
                known.insert(reference.to_owned(), own);
                count(root, target, &mut own, known);
                known.insert(reference.to_owned(), own);
                own
            });
            total.optional = total.optional.saturating_add(counted.optional);
            total.unions = total.unions.saturating_add(counted.unions);
        }
    }
    let required = map.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: HashSet<&str> = required.filter_map(Value::as_str).collect();
    for name in map.get("properties").and_then(Value::as_object).into_iter().flat_map(|it| it.keys()) {
        total.optional += usize::from(!required.contains(name.as_str()));
    }
    total.unions += usize::from(map.contains_key("anyOf") || map.get("type").is_some_and(Value::is_array));
    for (name, schema, _) in below(map) {
        if !name.starts_with("$defs/") {
            count(root, schema, total, known);
        }
    }
}

/// Returns the limits that a request exceeds.
pub(crate) fn beyond_ceilings(strict: &[Value]) -> Vec<&'static str> {
    let (mut optional, mut unions) = (0, 0);
    for schema in strict {
        let counted = counted(schema);
        optional += counted.optional;
        unions += counted.unions;
    }
    let found = [
        (strict.len() > 20, "more than 20 strict tools"),
        (optional > 24, "more than 24 optional parameters"),
        (unions > 16, "more than 16 parameters of several types"),
    ];
    found.into_iter().filter(|(is_beyond, _)| *is_beyond).map(|(_, why)| why).collect()
}

//! What can be said, or done, about arguments that do not fit.

use mcp_model::{nearest, pointer_segment, printable};
use mcp_runtime::validate::Violation;
use serde_json::Value;

use super::places::{Places, named_properties, named_values};

/// Longer names and values are no slips of the pen.
const LONGEST: usize = 200;
const MOST_SUGGESTIONS: usize = 3;
const MOST_PARAMETERS: usize = 40;
/// How many properties are compared, and how many values are looked at.
const MOST_COMPARED: usize = 50;
const MOST_VALUES: usize = 10_000;

/// Writes values as the schema does where they differ from one named value by the case of their letters alone: models
/// that are held to a schema may still change it, and nothing else can be meant.
pub(super) fn mend_case(schema: &Value, arguments: &mut Value) -> bool {
    let places = Places::of(schema);
    recase(places, &places.whole(), arguments, &mut 0)
}

fn recase<'s>(places: Places<'s>, schemas: &[&'s Value], value: &mut Value, seen: &mut usize) -> bool {
    *seen += 1;
    if schemas.is_empty() || *seen > MOST_VALUES {
        return false;
    }
    let mut is_changed = false;
    match value {
        Value::String(text) => {
            let named = named_values(schemas);
            if text.len() <= LONGEST && !named.contains(&text.as_str()) {
                let mut alike = named.into_iter().filter(|named| named.to_lowercase() == text.to_lowercase());
                if let (Some(only), None) = (alike.next(), alike.next()) {
                    only.clone_into(text);
                    is_changed = true;
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().take(MOST_VALUES).enumerate() {
                is_changed |= recase(places, &places.item(schemas, index), item, seen);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut().take(MOST_VALUES) {
                is_changed |= recase(places, &places.property(schemas, key), field, seen);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    is_changed
}

/// What a violation is about, with what was probably meant: all that a model needs to mend its call.
pub(super) fn explained(schema: &Value, arguments: &Value, violation: &Violation) -> String {
    let mut said = violation.to_string();
    let places = Places::of(schema);
    let mut hints = near_values(places, arguments, violation);
    hints.extend(near_properties(places, arguments, &violation.pointer));
    // Of what is forbidden, the place is that of the property itself.
    if let Some((parent, _)) = violation.pointer.rsplit_once('/') {
        hints.extend(near_properties(places, arguments, parent));
    }
    for hint in hints.iter().take(MOST_SUGGESTIONS) {
        said.push_str("; ");
        said.push_str(hint);
    }
    if violation.pointer.is_empty() {
        said.push_str(&parameters(schema, places));
    }
    said
}

fn near_values(places: Places<'_>, arguments: &Value, violation: &Violation) -> Vec<String> {
    let Some(Value::String(text)) = arguments.pointer(&violation.pointer) else { return Vec::new() };
    if text.len() > LONGEST {
        return Vec::new();
    }
    let near = nearest(text, named_values(&places.at(&violation.pointer)));
    near.first().map(|near| format!("was `{}` meant?", printable(near))).into_iter().collect()
}

/// For each property that nobody declared, the declared one that is not there and that is most like it.
fn near_properties(places: Places<'_>, arguments: &Value, pointer: &str) -> Vec<String> {
    let Some(Value::Object(fields)) = arguments.pointer(pointer) else { return Vec::new() };
    let declared = named_properties(&places.at(pointer));
    let missing: Vec<&str> = declared.iter().copied().filter(|name| !fields.contains_key(*name)).collect();
    let unknown = fields.keys().filter(|key| key.len() <= LONGEST && !declared.contains(&key.as_str()));
    unknown
        .take(MOST_COMPARED)
        .filter_map(|key| {
            let near = nearest(key, missing.iter().copied());
            let near = printable(near.first()?);
            let place = printable(&format!("{pointer}/{}", pointer_segment(key)));
            Some(format!("`{place}` is not declared: was `{near}` meant?"))
        })
        .take(MOST_SUGGESTIONS)
        .collect()
}

/// The tool's parameters, for a model that has mistaken it for another.
fn parameters(schema: &Value, places: Places<'_>) -> String {
    let names = named_properties(&places.whole());
    if names.is_empty() {
        return "; the tool has no parameters".to_owned();
    }
    let is_required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|required| required == name))
    };
    let shown = names.iter().take(MOST_PARAMETERS).map(|name| {
        let mark = if is_required(name) { " (required)" } else { "" };
        format!("`{}`{mark}", printable(name))
    });
    let shown: Vec<String> = shown.collect();
    let more = names.len().saturating_sub(MOST_PARAMETERS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; the parameters are {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use mcp_runtime::validate::Validator;
    use serde_json::{Map, json};

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object", "required": ["title"], "additionalProperties": false,
            "properties": {
                "title": {"type": "string"},
                "state": {"enum": ["open", "closed"]},
                "order": {"enum": ["ASC", "Asc", "desc"]},
                "labels": {"type": "array", "items": {"type": "string", "enum": ["bug", "feature"]}},
                "by": {"oneOf": [
                    {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "user"}}},
                    {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "team"}}},
                ]},
            },
        })
    }

    fn said(arguments: Value) -> String {
        let violation = Validator::new(&schema()).expect("it compiles").check(&arguments).expect_err("it does not fit");
        explained(&schema(), &arguments, &violation)
    }

    #[test]
    fn the_nearest_value_and_the_nearest_name_are_said() {
        let value = said(json!({"title": "t", "state": "opne"}));
        assert!(
            value.contains("at `/state`") && value.contains("`enum`") && value.contains("was `open` meant?"),
            "{value}"
        );
        let item = said(json!({"title": "t", "labels": ["bug", "featur"]}));
        assert!(item.contains("`/labels/1`") && item.contains("was `feature` meant?"), "{item}");
        let name = said(json!({"titel": "t"}));
        assert!(name.contains("`/titel` is not declared: was `title` meant?"), "{name}");
        let strange = said(json!({"title": "t", "zzz": 1}));
        assert!(!strange.contains("meant?") && strange.contains("zzz"), "{strange}");
        assert!(strange.contains("the parameters are `title` (required), `state`"), "{strange}");
    }

    #[test]
    fn the_case_of_named_values_is_mended_where_one_alone_can_be_meant() {
        let mended = |mut arguments: Value| mend_case(&schema(), &mut arguments).then_some(arguments);
        assert_eq!(mended(json!({"state": "OPEN"})), Some(json!({"state": "open"})));
        assert_eq!(mended(json!({"labels": ["BUG", "bug"]})), Some(json!({"labels": ["bug", "bug"]})));
        assert_eq!(mended(json!({"by": {"kind": "Team"}})), Some(json!({"by": {"kind": "team"}})));
        assert_eq!(mended(json!({"order": "DESC"})), Some(json!({"order": "desc"})));
        for kept in [json!({"order": "aSC"}), json!({"title": "OPEN"}), json!({"state": "opne"}), json!({"state": 5})] {
            assert_eq!(mended(kept.clone()), None, "{kept}");
        }
    }

    #[test]
    fn large_arguments_are_looked_at_in_part() {
        let large: Map<String, Value> = (0..20_000).map(|n| (format!("key_{n}"), json!("OPNE"))).collect();
        assert!(said(large.into()).len() < 2000);
        let many = |count: usize| json!({"title": "t", "labels": vec!["BUG"; count]});
        assert!(said(many(20_000)).len() < 2000);
        let schema = schema();
        let validator = Validator::new(&schema).expect("it compiles");
        for (count, fits) in [(1000, true), (20_000, false)] {
            let mut mended = many(count);
            assert!(mend_case(&schema, &mut mended));
            assert_eq!(validator.check(&mended).is_ok(), fits, "{count}");
        }
    }

    #[test]
    fn hostile_names_are_shown_harmlessly_and_briefly() {
        let text = said(json!({"titl\u{202e}e": "t", "x".repeat(100_000): 1}));
        assert!(!text.contains('\u{202e}') && text.len() < 2000, "{}", text.len());
    }
}

//! Explanations and repairs of arguments that do not fit.

use std::collections::HashSet;

use mcp_bindgen_model::{nearest, pointer_segment, printable};
use mcp_bindgen_runtime::validate::Violation;
use serde_json::Value;

use super::places::Places;

/// Longer names and values are no slips of the pen.
const LONGEST: usize = 200;
const MOST_SUGGESTIONS: usize = 3;
const MOST_PARAMETERS: usize = 40;
/// How many properties are compared, and with how many.
const MOST_COMPARED: usize = 50;
const MOST_CANDIDATES: usize = 1000;

/// Corrects the case of a string that otherwise equals exactly one named value of the schema. Models in strict mode may
/// still change the case, and the meaning is clear. A valid string is unchanged.
pub(super) fn mend_case<'p>(places: impl FnOnce() -> &'p Places, arguments: &mut Value, violation: &Violation) -> bool {
    let Some(Value::String(text)) = arguments.pointer_mut(&violation.pointer) else { return false };
    if text.len() > LONGEST {
        return false;
    }
    let named = places().values(&violation.pointer);
    let folded = text.to_lowercase();
    let mut alike = named.into_iter().filter(|named| named.to_lowercase() == folded);
    match (alike.next(), alike.next()) {
        (Some(only), None) if only != text => {
            only.clone_into(text);
            true
        }
        _ => false,
    }
}

/// Describes the places of violations, and the nearest names: all that a model needs to mend its call.
pub(super) fn explained(places: &Places, arguments: &Value, violations: &[Violation]) -> String {
    let mut known = HashSet::new();
    let mut said = Vec::new();
    for violation in violations {
        let mut hints = near_values(places, arguments, violation);
        hints.extend(near_properties(places, arguments, &violation.pointer));
        // A violation of a forbidden property points to the property itself.
        if let Some((parent, _)) = violation.pointer.rsplit_once('/') {
            hints.extend(near_properties(places, arguments, parent));
        }
        // Several violations may have one cause.
        hints.retain(|hint| known.insert(hint.clone()));
        hints.truncate(MOST_SUGGESTIONS);
        hints.insert(0, violation.to_string());
        said.push(hints.join("; "));
    }
    let mut said = said.join("; also: ");
    if violations.iter().any(|violation| violation.pointer.is_empty()) {
        said.push_str(&parameters(places));
    }
    said
}

fn near_values(places: &Places, arguments: &Value, violation: &Violation) -> Vec<String> {
    let Some(Value::String(text)) = arguments.pointer(&violation.pointer) else { return Vec::new() };
    if text.len() > LONGEST {
        return Vec::new();
    }
    let named = places.values(&violation.pointer);
    let near = nearest(text, named.into_iter().take(MOST_CANDIDATES));
    near.first().map(|near| format!("was `{}` meant?", printable(near))).into_iter().collect()
}

/// Suggests, for each undeclared property, the most similar declared one that is missing.
fn near_properties(places: &Places, arguments: &Value, pointer: &str) -> Vec<String> {
    let Some(Value::Object(fields)) = arguments.pointer(pointer) else { return Vec::new() };
    let declared = places.properties(pointer).into_iter().map(|(name, _)| name);
    let declared: Vec<&str> = declared.collect();
    let missing = declared.iter().copied().filter(|name| !fields.contains_key(*name));
    let missing: Vec<&str> = missing.take(MOST_CANDIDATES).collect();
    let declared: HashSet<&str> = declared.into_iter().collect();
    let unknown = fields.keys().filter(|key| key.len() <= LONGEST && !declared.contains(key.as_str()));
    unknown
        .take(MOST_COMPARED)
        .filter_map(|key| {
            let near = nearest(key, missing.iter().copied());
            let near = printable(near.first()?);
            let place = printable(&format!("{pointer}/{}", pointer_segment(key)));
            Some(format!("`{place}` is not declared: did you mean `{near}`?"))
        })
        .take(MOST_SUGGESTIONS)
        .collect()
}

/// Returns the tool's parameters, for a model that has mistaken it for another.
fn parameters(places: &Places) -> String {
    let properties = places.properties("");
    if properties.is_empty() {
        return "; the tool has no parameters".to_owned();
    }
    let shown = properties.iter().take(MOST_PARAMETERS).map(|(name, is_required)| {
        let mark = if *is_required { " (required)" } else { "" };
        format!("`{}`{mark}", printable(name))
    });
    let shown: Vec<String> = shown.collect();
    let more = properties.len().saturating_sub(MOST_PARAMETERS);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("; the parameters are {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use mcp_bindgen_runtime::validate::Validator;
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
        explained(&Places::of(&schema()), &arguments, &[violation])
    }

    #[test]
    fn violation_suggests_the_nearest_value_or_name() {
        let value = said(json!({"title": "t", "state": "opne"}));
        assert!(
            value.contains("at `/state`") && value.contains("`enum`") && value.contains("was `open` meant?"),
            "{value}"
        );
        let item = said(json!({"title": "t", "labels": ["bug", "featur"]}));
        assert!(item.contains("`/labels/1`") && item.contains("was `feature` meant?"), "{item}");
        let name = said(json!({"titel": "t"}));
        assert!(name.contains("`/titel` is not declared: did you mean `title`?"), "{name}");
        let strange = said(json!({"title": "t", "zzz": 1}));
        assert!(!strange.contains("meant?") && strange.contains("zzz"), "{strange}");
        assert!(strange.contains("the parameters are `title` (required), `state`"), "{strange}");
    }

    #[test]
    fn tag_of_a_union_is_declared_and_has_named_values() {
        let branch = |tag: &str, own: &str| json!({"type": "object", "required": ["type", own], "properties": {"type": {"const": tag}, own: {}}});
        let schema = json!({"properties": {"shape": {"oneOf": [branch("list", "types"), branch("one", "value")]}}});
        let places = Places::of(&schema);
        assert_eq!(places.values("/shape/type"), ["list", "one"]);
        assert_eq!(places.properties("/shape"), [("type", true), ("types", false), ("value", false)]);
        let said = |arguments: Value| {
            let violations = Validator::new(&schema).expect("it compiles").violations(&arguments, 8);
            explained(&places, &arguments, &violations)
        };
        let right = said(json!({"shape": {"type": "list"}}));
        assert!(!right.is_empty() && !right.contains("is not declared"), "{right}");
        let wrong = said(json!({"shape": {"typ": "list", "types": []}}));
        assert!(wrong.contains("`/shape/typ` is not declared: did you mean `type`?"), "{wrong}");
    }

    #[test]
    fn all_violations_are_reported_together() {
        let arguments = json!({"state": "opne", "labels": ["bug", 5], "titel": "t"});
        let violations = Validator::new(&schema()).expect("it compiles").violations(&arguments, 8);
        let text = explained(&Places::of(&schema()), &arguments, &violations);
        for part in ["`title`", "at `/state`", "was `open` meant?", "`/labels/1`", "did you mean `title`?", "; also: "]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(text.matches("the parameters are").count(), 1, "{text}");
        assert_eq!(text.matches("did you mean `title`?").count(), 1, "{text}");
    }

    #[test]
    fn letter_case_of_enum_values_is_corrected_if_unambiguous() {
        let places = Places::of(&schema());
        let mended = |mut arguments: Value| {
            let violation =
                Validator::new(&schema()).expect("it compiles").check(&arguments).expect_err("it does not fit");
            mend_case(|| &places, &mut arguments, &violation).then_some(arguments)
        };
        assert_eq!(mended(json!({"title": "t", "state": "OPEN"})), Some(json!({"title": "t", "state": "open"})));
        let label = mended(json!({"title": "t", "labels": ["BUG", "bug"]}));
        assert_eq!(label, Some(json!({"title": "t", "labels": ["bug", "bug"]})));
        let descending = mended(json!({"title": "t", "order": "DESC"}));
        assert_eq!(descending, Some(json!({"title": "t", "order": "desc"})));
        for kept in [
            json!({"title": "t", "order": "aSC"}),
            json!({"title": "t", "state": "opne"}),
            json!({"title": "t", "state": 5}),
        ] {
            assert_eq!(mended(kept.clone()), None, "{kept}");
        }
    }

    #[test]
    fn large_arguments_are_explained_in_bounded_time() {
        let large: Map<String, Value> = (0..20_000).map(|n| (format!("key_{n}"), json!("OPNE"))).collect();
        assert!(said(large.into()).len() < 2000);
        let wide: Map<String, Value> =
            (0..10_000).map(|n| (format!("name_{n}"), json!({"enum": ["a", "b"]}))).collect();
        let wide = json!({"type": "object", "properties": wide, "required": ["none"]});
        let violation = Validator::new(&wide).expect("it compiles").check(&json!({})).expect_err("it does not fit");
        let begun = std::time::Instant::now();
        let strange: Map<String, Value> = (0..100_000).map(|n| (format!("key_{n}"), json!("A"))).collect();
        assert!(explained(&Places::of(&wide), &strange.into(), &[violation]).len() < 5000);
        println!("100,000 strange properties beside 10,000 declared ones: {:?}", begun.elapsed());
        assert!(begun.elapsed().as_secs() < 10);
    }

    #[test]
    fn hostile_names_are_escaped_and_truncated() {
        let text = said(json!({"titl\u{202e}e": "t", "x".repeat(100_000): 1}));
        assert!(!text.contains('\u{202e}') && text.len() < 2000, "{}", text.len());
    }
}

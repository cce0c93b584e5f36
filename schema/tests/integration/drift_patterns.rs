//! Objects whose keys match patterns, compared by all keys that may match.

use serde_json::{Value, json};

use super::drift_small::{breaking, breaks, holds, of_input, of_output, with};

/// A schema of objects whose keys match one of the patterns.
fn closed(patterns: &Value) -> Value {
    with("p", &json!({ "type": "object", "patternProperties": patterns, "additionalProperties": false }))
}

fn texts(pattern: &str) -> Value {
    closed(&json!({ pattern: { "type": "string" } }))
}

#[test]
fn pattern_properties_are_compared_by_their_schema() {
    let [old, new] = ["string", "integer"].map(|name| closed(&json!({ "^a": { "type": name } })));
    breaks(&of_output(&old, &new), "/properties/p");
    breaks(&of_input(&old, &new), "/properties/p");
}

#[test]
fn narrower_pattern_beside_closed_keys_is_breaking() {
    holds(&of_input(&texts("^[a-z]+"), &texts("^[a-z]+")));
    assert_ne!(breaking(&of_input(&texts("^[a-z]+"), &texts("^[a-z]+$"))), Vec::<String>::new());
    assert_ne!(breaking(&of_input(&texts("^x-"), &texts("^x-foo-"))), Vec::<String>::new());
}

#[test]
fn pattern_is_compared_beside_a_declared_key_that_matches_it() {
    let numbers = |patterns: Value| {
        let (properties, whole) = (json!({ "x": { "type": "string" } }), json!({ "type": "integer" }));
        let schema = json!({ "type": "object", "properties": properties, "patternProperties": patterns, "additionalProperties": whole });
        with("p", &schema)
    };
    let of_text = json!({ "^x": { "type": "string" } });
    let of_both = json!({ "^a": { "type": "string" }, "^a$": { "type": "integer" } });
    breaks(&of_input(&numbers(json!({})), &numbers(of_text)), "/properties/p");
    breaks(&of_output(&numbers(json!({})), &numbers(of_both)), "/properties/p");
}

#[test]
fn patterns_of_different_prefixes_have_no_common_keys() {
    let both = json!({ "^S": { "type": "string" }, "^I": { "type": "integer" } });
    holds(&of_input(&texts("^S"), &closed(&both)));
}

#[test]
fn pattern_that_surely_matches_has_the_keys_of_the_other() {
    holds(&of_input(&texts("^x-foo-"), &texts("^x-")));
    let open = |patterns: Value| with("p", &json!({ "type": "object", "patternProperties": patterns }));
    let text = || json!({ "type": "string" });
    holds(&of_input(&open(json!({ "^x-": text() })), &open(json!({ "^x-": text(), "^x-a": text() }))));
    holds(&of_input(&open(json!({ ".*": text() })), &open(json!({ "^.*$": text() }))));
}

//! Keys that a schema only names come through: in what a branch requires, under conditions, beside a reference.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use mcp_bindgen::__private::{Wire, from_value, to_value};
use serde_json::{Value, json};

mod named {
    mcp_bindgen::mcp_tools!("keys", path = "fixtures/features/named_keys.json");
}

use named::keys::{
    KeysBesideAReferenceParams as BesideAReference, KeysClosedParams as Closed, KeysDependentParams as Dependent,
    KeysInTaggedBranchesParams as InTaggedBranches, KeysOptionalChoiceParams as OptionalChoice,
    KeysQuoteParams as Quote, KeysUnderConditionsParams as UnderConditions, KeysWithExtraParams as WithExtra,
};

#[track_caller]
fn round_trips<T: Wire>(value: Value) {
    let read: T = from_value(&value).unwrap();
    assert_eq!(to_value(&read).unwrap(), value);
}

/// Each of the keys alone, with any value.
#[track_caller]
fn keeps<T: Wire>(beside: &Value, keys: &[&str]) {
    for key in keys {
        for held in [json!("x"), json!(1), json!({"a": [null]}), Value::Null] {
            let mut value = beside.clone();
            value[key] = held;
            round_trips::<T>(value);
        }
    }
}

#[test]
fn keys_required_by_a_branch_have_fields() {
    keeps::<Quote>(&json!({"name": "n"}), &["symbol", "symbols"]);
    keeps::<Quote>(&json!({}), &["symbol", "symbols"]);
    assert!(from_value::<Quote>(&json!({"name": "n"})).is_err(), "one of the keys has to be there");
    keeps::<OptionalChoice>(&json!({}), &["symbol", "market"]);
    round_trips::<OptionalChoice>(json!({}));
    for value in [json!({"label": "a"}), json!({"title": "b", "size": 1, "other": "c"})] {
        round_trips::<WithExtra>(value);
    }
    assert!(from_value::<WithExtra>(&json!({"label": 1})).is_err(), "additional properties are strings");
}

#[test]
fn forbidden_keys_have_no_field() {
    round_trips::<Closed>(json!({"name": "n"}));
    round_trips::<Closed>(json!({"id": "n"}));
    assert!(from_value::<Closed>(&json!({"symbol": "x"})).is_err());
    assert!(from_value::<Closed>(&json!({})).is_err());
}

#[test]
fn keys_under_conditions_have_fields() {
    keeps::<UnderConditions>(
        &json!({"name": "n"}),
        &["in_if", "in_then", "in_else", "in_not", "deep_key", "deep_value"],
    );
    let keys = ["user", "password", "card", "address", "street", "from", "to", "list", "page", "by_name"];
    keeps::<Dependent>(&json!({"by_id": 1}), &keys);
}

#[test]
fn keys_beside_a_reference_have_fields() {
    keeps::<BesideAReference>(&json!({}), &["none"][..0]);
    for (key, held) in [("note", json!(1)), ("mood", json!("good"))] {
        round_trips::<BesideAReference>(json!({"place": {"city": "c", key: held}}));
    }
    let closed = json!({"exact_place": {"city": "c", "note": "n"}});
    assert!(from_value::<BesideAReference>(&closed).is_err(), "the definition is closed");
}

#[test]
fn keys_of_tagged_branches_have_fields() {
    round_trips::<InTaggedBranches>(json!({"order": {"kind": "buy", "amount": 1}}));
    round_trips::<InTaggedBranches>(json!({"order": {"kind": "cancel", "amount": 1}}));
    round_trips::<InTaggedBranches>(json!({"order": {"kind": "cancel"}}));
}

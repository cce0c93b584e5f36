//! Values of a union come back as the branch that they were: no branch shadows another, none loses what it was given.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use mcp_bindgen::__private::{Wire, from_value, to_value};
use serde_json::{Value, json};

mcp_bindgen::mcp_tools!("draw", path = "fixtures/features/union_tagged.json");
mcp_bindgen::mcp_tools!("integer", path = "fixtures/features/integer.json");
mcp_bindgen::mcp_tools!("store", path = "fixtures/features/union_overlapping.json");
mcp_bindgen::mcp_tools!("places", path = "fixtures/features/tuple.json");
mcp_bindgen::mcp_tools!("either", path = "fixtures/features/union_untagged.json");

use draw::{DrawDrawParamsShape as Shape, DrawDrawParamsTwoTags as TwoTags};
use either::{
    EitherEitherParamsLists as Lists, EitherEitherParamsMaps as Maps, EitherEitherParamsObjects as Objects,
    EitherEitherParamsOverlap as Overlap, EitherEitherParamsUntypedFirst as UntypedFirst,
};
use integer::{IntegerCountParams as Count, IntegerCountParamsWideOrText as WideOrText};
use store::StoreStoreParams as Overlapping;

#[track_caller]
fn round_trips<T: Wire>(value: Value) -> T {
    let read: T = from_value(&value).unwrap();
    assert_eq!(to_value(&read).unwrap(), value);
    read
}

#[track_caller]
fn is_refused<T: Wire>(value: Value) -> String {
    match from_value::<T>(&value) {
        Ok(_) => panic!("{value} parses"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn tag_selects_the_branch() {
    assert!(matches!(round_trips(json!({"kind": "circle", "radius": 2})), Shape::Circle(_)));
    assert!(matches!(round_trips(json!({"kind": "square", "side": 0.5})), Shape::Square(_)));
    assert!(matches!(round_trips(json!({"kind": "point"})), Shape::Point(_)));
    assert_eq!(is_refused::<Shape>(json!({"kind": "blob"})), "expected one of `circle`, `square`, `point` at `/kind`");
    assert_eq!(is_refused::<Shape>(json!({"kind": "circle"})), "missing property `radius`");
    assert_eq!(is_refused::<Shape>(json!({"radius": 1})), "missing property `kind`");
}

#[test]
fn tag_is_the_property_that_distinguishes_all_branches() {
    let first: TwoTags = round_trips(json!({"version": 1, "type": "a", "x": 3}));
    let second: TwoTags = round_trips(json!({"version": 2, "type": "a", "y": 3}));
    assert_ne!(std::mem::discriminant(&first), std::mem::discriminant(&second));
    is_refused::<TwoTags>(json!({"version": "1", "type": "a"}));
    is_refused::<TwoTags>(json!({"version": 3, "type": "a"}));
}

#[test]
fn more_specific_branch_is_selected() {
    assert!(matches!(round_trips(json!({"path": "p", "line": 1})), Objects::WithLine(_)));
    assert!(matches!(round_trips(json!({"path": "p"})), Objects::Object(_)));
}

#[test]
fn keys_of_another_branch_are_preserved() {
    assert!(matches!(round_trips(json!({"a": "x"})), Overlap::WithA(_)));
    assert!(matches!(round_trips(json!({"b": 1})), Overlap::WithB(_)));
    round_trips::<Overlap>(json!({"a": "x", "b": 1}));
    is_refused::<Overlap>(json!({"a": 1, "b": "x"}));
}

#[test]
fn keys_of_another_branch_are_preserved_at_every_level() {
    let both = json!({"p": 1, "q": 2});
    round_trips::<Overlapping>(json!({"objects": {"d": both}}));
    round_trips::<Overlapping>(json!({"lists": [both, {"p": 1}]}));
    round_trips::<Overlapping>(json!({"map_or_object": {"d": both}}));
    round_trips::<Overlapping>(json!({"tagged": {"kind": "a", "p": 1, "q": 2}}));
    is_refused::<Overlapping>(json!({"closed": both}));
}

#[test]
fn lists_are_distinguished_by_their_items() {
    assert!(matches!(round_trips(json!(["a"])), Lists::Strings(_)));
    assert!(matches!(round_trips(json!([1])), Lists::Numbers(_)));
    round_trips::<Lists>(json!([]));
    is_refused::<Lists>(json!([1, "a"]));
}

#[test]
fn untyped_branches_do_not_shadow_typed_ones() {
    assert!(matches!(round_trips(json!({"a": "x", "b": 1})), UntypedFirst::Object(_)));
    assert!(matches!(round_trips(json!({"a": 1})), UntypedFirst::Object2(_)));
    assert!(matches!(round_trips(json!({"b": 1})), UntypedFirst::Object3(_)));
    assert!(matches!(round_trips(json!(["a"])), UntypedFirst::Strings(_)));
    assert!(matches!(round_trips(json!([1, "a"])), UntypedFirst::Array(_)));
    assert!(matches!(round_trips(json!({"n": 1})), Maps::Object(_)));
    assert!(matches!(round_trips(json!({"n": "x"})), Maps::Object2(_)));
}

#[test]
fn untyped_integer_branch_does_not_shadow_strings() {
    assert!(matches!(round_trips(json!("x")), WideOrText::String(_)));
    assert!(matches!(round_trips(json!(u64::MAX)), WideOrText::Other(_)));
    assert!(matches!(round_trips(json!(-1)), WideOrText::Other(_)));
    is_refused::<WideOrText>(json!([]));
}

#[test]
fn every_integer_that_the_schema_allows_is_decoded() {
    for key in ["at_least_zero", "above_minus_one", "in_all_of", "beside_a_reference", "unsigned_64"] {
        round_trips::<Count>(json!({"plain": -1, key: u64::MAX}));
        round_trips::<Count>(json!({"plain": 1, key: 0}));
        is_refused::<Count>(json!({"plain": 1, key: -1}));
    }
    for key in ["as_format", "rounded_by_javascript", "lowest", "any_double"] {
        round_trips::<Count>(json!({"plain": 1, key: i64::MIN}));
        round_trips::<Count>(json!({"plain": 1, key: i64::MAX}));
    }
}

#[test]
fn item_has_the_fields_of_every_schema_that_describes_it() {
    let item: places::PlacesPlaceParamsInParts1 = round_trips(json!({"a": 1, "b": "x"}));
    assert_eq!((item.a, item.b.as_deref()), (1, Some("x")));
}

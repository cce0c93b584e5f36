//! Keywords bind in the drafts that have them, and in no other.

#![allow(clippy::panic)]

use mcp_bindgen_schema::diagnostics::Reporter;
use mcp_bindgen_schema::{Document, Role, Shape};
use serde_json::{Value, json};

const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_6: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the shape of a property; the document names the draft, if any.
fn shape(draft: Option<&str>, property: &Value) -> Shape {
    let mut schema = json!({"type": "object", "properties": {"a": property}});
    if let Some(draft) = draft {
        schema["$schema"] = draft.into();
    }
    let document = Document::read(&schema, Role::Input, &mut Reporter::new("t", 0, "/inputSchema"));
    let Shape::Struct(object) = document.shapes.get(document.root) else { panic!("arguments are an object") };
    object.fields.first().map(|field| document.shapes.get(field.slot.shape).clone()).unwrap_or_default()
}

#[test]
fn prefix_items_apply_since_draft_2020() {
    let pair =
        json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "minItems": 2, "maxItems": 2});
    for draft in [Some(DRAFT_2020), None] {
        assert!(matches!(shape(draft, &pair), Shape::Tuple(_)), "{draft:?}");
    }
    for draft in [DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019] {
        assert!(matches!(shape(Some(draft), &pair), Shape::List(_)), "{draft}");
    }
}

#[test]
fn recursive_and_dynamic_references_apply_only_in_their_drafts() {
    let recursive = json!({"$recursiveRef": "#"});
    for (draft, binds) in [(Some(DRAFT_2019), true), (None, true), (Some(DRAFT_7), false), (Some(DRAFT_2020), false)] {
        assert_eq!(matches!(shape(draft, &recursive), Shape::Struct(_)), binds, "$recursiveRef in {draft:?}");
    }
    let dynamic = json!({"$dynamicRef": "#"});
    for (draft, binds) in [(Some(DRAFT_2020), true), (None, true), (Some(DRAFT_7), false), (Some(DRAFT_2019), false)] {
        assert_eq!(matches!(shape(draft, &dynamic), Shape::Struct(_)), binds, "$dynamicRef in {draft:?}");
    }
}

#[test]
fn exclusive_bounds_are_flags_in_draft_4_and_numbers_since() {
    let flag = json!({"type": "integer", "minimum": -1, "exclusiveMinimum": true});
    let number = json!({"type": "integer", "exclusiveMinimum": -1});
    for (draft, has_flags, has_numbers) in [
        (Some(DRAFT_4), true, false),
        (Some(DRAFT_6), false, true),
        (Some(DRAFT_2020), false, true),
        (None, true, true),
    ] {
        assert_eq!(matches!(shape(draft, &flag), Shape::U64), has_flags, "a flag in {draft:?}");
        assert_eq!(matches!(shape(draft, &number), Shape::U64), has_numbers, "a number in {draft:?}");
    }
}

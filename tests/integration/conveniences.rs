//! Tests conveniences of generated code: constants are filled in, texts are ordered, deprecated items are marked, and
//! documentation explains renamed items.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]
#![deny(warnings)]

use std::collections::BTreeSet;

use mcp_bindgen::__private::to_value;
use serde_json::json;

mod constants {
    mcp_bindgen::mcp_tools!("fix", path = "fixtures/features/const.json");
}
mod enums {
    mcp_bindgen::mcp_tools!("pick", path = "fixtures/features/enum_string.json");
    mcp_bindgen::mcp_tools!("other", path = "fixtures/features/enum_other.json");
}
mod conversions {
    mcp_bindgen::mcp_tools!("give", path = "fixtures/features/union_conversions.json");
}
mod marked {
    mcp_bindgen::mcp_tools!("old", path = "fixtures/features/deprecated.json");
}

use constants::fix::{FixFillOutput, FixFillParams, FixFillParamsNested, FixFixParams};
use enums::pick::PickPickParamsState as State;

#[test]
fn constants_require_no_argument() {
    let params = FixFillParams::new("n", FixFillParamsNested::new());
    let expected = json!({"kind": "fixed", "nothing": null, "name": "n", "nested": {"type": "inner", "size": 3}});
    assert_eq!(to_value(&params).unwrap(), expected);
    assert_eq!(to_value(&FixFillParamsNested::default()).unwrap(), expected["nested"]);
    assert_eq!(to_value(&FixFixParams::new()).unwrap(), json!({"kind": "fixed", "version": 2}));
    assert_eq!(to_value(&FixFillOutput::default()).unwrap(), json!({"ok": true, "state": "done"}));
}

#[test]
fn string_enums_have_schema_order() {
    let sorted: Vec<State> =
        [State::All, State::Open, State::Closed].into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(sorted, State::ALL);
}

#[test]
fn deprecated_items_are_marked_deprecated() {
    use marked::old;
    // Without the attribute the expectation is not met, which is a warning.
    #[expect(deprecated, reason = "the type")]
    fn of_type(_: &old::OldCountAllOutput) {}
    #[expect(deprecated, reason = "the field")]
    let read = |output: &old::OldCountAllOutput| output.n;
    #[expect(deprecated, reason = "the variant")]
    let is_look = |call: &old::OldCall| matches!(call, old::OldCall::Look(_));
    #[expect(deprecated, reason = "the handler")]
    let handler = |client: mcp_bindgen::Client, params| async move { old::old_look(&client, params).await };
    let _ = (of_type, read, is_look, handler);
    let kept = old::OldListAllParams::new();
    assert_eq!(kept, old::OldListAllParams::default());
}

#[test]
fn union_converts_from_its_branches() {
    use conversions::give::{
        GiveGiveOutput as Output, GiveGiveOutputLine as OutputLine, GiveGiveParams as Params,
        GiveGiveParamsAlike as Alike, GiveGiveParamsKinds as Kinds, GiveGiveParamsTarget as Target,
        GiveGiveParamsTargetFile as File, GiveGiveParamsTree as Tree, GiveGiveParamsTreeObject as Node,
    };
    let params = Params {
        target: Some(File::new("a").into()),
        kinds: Some("text".into()),
        tree: Some(vec![Tree::from("leaf"), Node::new(Box::new("left".into())).into()].into()),
        ..Params::new()
    };
    let expected = json!({
        "target": {"kind": "file", "path": "a"}, "kinds": "text", "tree": ["leaf", {"left": "left"}],
    });
    assert_eq!(to_value(&params).unwrap(), expected);
    assert_eq!(Kinds::from("s".to_owned()), Kinds::String("s".to_owned()));
    assert_eq!((Kinds::from(true), Kinds::from(0.5)), (Kinds::Boolean(true), Kinds::Number(0.5)));
    assert_eq!(Target::from(File::new("a")), Target::File(File::new("a")));
    assert_eq!(Output::from(OutputLine::new(1)), Output::Line(OutputLine::new(1)));
    assert_eq!(Tree::from((Tree::from("leaf"), 1)), Tree::Tuple(Box::new((Tree::String("leaf".to_owned()), 1))));
    // Lists of texts could be either of two branches.
    assert_eq!(Alike::from(vec![1]), Alike::Numbers(vec![1]));
    assert_eq!(Alike::from(1), Alike::Integer(1));
}

//! What generated code does for those who write by hand what it is used for: constants are filled in, texts have an order,
//! what the server calls deprecated is, and documentation says what a name does not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]
#![deny(warnings)]

use std::collections::BTreeSet;

use mcp_bindgen::wire::to_value;
use serde_json::json;

mod constants {
    mcp_bindgen::mcp_tools!("fix", path = "fixtures/features/const.json");
}
mod enums {
    mcp_bindgen::mcp_tools!("pick", path = "fixtures/features/enum_string.json");
    mcp_bindgen::mcp_tools!("other", path = "fixtures/features/enum_other.json");
}
mod marked {
    mcp_bindgen::mcp_tools!("old", path = "fixtures/features/deprecated.json");
}

use constants::fix::{FixFillOutput, FixFillParams, FixFillParamsNested, FixFixParams};
use enums::pick::PickPickParamsState as State;

#[test]
fn constants_need_no_argument() {
    let params = FixFillParams::new("n", FixFillParamsNested::new());
    let expected = json!({"kind": "fixed", "nothing": null, "name": "n", "nested": {"type": "inner", "size": 3}});
    assert_eq!(to_value(&params).unwrap(), expected);
    assert_eq!(to_value(&FixFillParamsNested::default()).unwrap(), expected["nested"]);
    assert_eq!(to_value(&FixFixParams::new()).unwrap(), json!({"kind": "fixed", "version": 2}));
    assert_eq!(to_value(&FixFillOutput::default()).unwrap(), json!({"ok": true, "state": "done"}));
}

#[test]
fn texts_have_the_order_of_the_schema() {
    let sorted: Vec<State> =
        [State::All, State::Open, State::Closed].into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    assert_eq!(sorted, State::ALL);
}

#[test]
fn what_the_server_calls_deprecated_is() {
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

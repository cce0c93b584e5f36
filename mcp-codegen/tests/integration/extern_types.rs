//! `extern`: types of the user's in place of definitions.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::{Snapshot, Types};
use serde_json::{Value, json};

/// Two tools that speak of money.
fn shop() -> Snapshot {
    let definitions = json!({
        "Money": {"type": "object", "properties": {"cents": {"type": "integer"}, "unit": {"$ref": "#/$defs/Unit"}},
                  "required": ["cents"]},
        "Unit": {"type": "object", "properties": {"code": {"type": "string"}}},
        "Sku": {"type": "string"},
    });
    let object = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "$defs": definitions});
    let money = json!({"$ref": "#/$defs/Money"});
    let order = object(
        json!({"total": money, "tip": money, "skus": {"type": "array", "items": {"$ref": "#/$defs/Sku"}},
               "discount": {"anyOf": [money, {"type": "null"}]}, "either": {"anyOf": [money, {"type": "string"}]}}),
        json!(["total"]),
    );
    let priced = object(json!({"price": money}), json!(["price"]));
    Snapshot::parse(
        &json!({"tools": [
            {"name": "order", "inputSchema": order, "outputSchema": priced},
            {"name": "price", "inputSchema": object(json!({"sku": {"$ref": "#/$defs/Sku"}}), json!([])),
             "outputSchema": {"$ref": "#/$defs/Money", "$defs": definitions}},
        ]})
        .to_string(),
    )
    .unwrap()
}

#[track_caller]
fn code(options: &Options) -> String {
    let faults: Vec<String> = Bindings::faults(&shop(), options).iter().map(|fault| fault.error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    format(Bindings::generate(&shop(), options).0).unwrap()
}

fn with(pointer: &str, path: &str) -> Options {
    Options::new("shop").extern_type(pointer, path)
}

#[test]
fn extern_type_replaces_every_reference() {
    let code = code(&with("#/$defs/Money", "crate::Money"));
    for expected in [
        "pub total: crate::Money,",
        "pub tip: Option<crate::Money>,",
        "pub discount: Option<Nullable<crate::Money>>,",
        "Object(crate::Money),",
        "pub price: crate::Money,",
        "pub struct ShopPriceOutput(\n        /// The value.\n        pub crate::Money,\n    );",
        "pub fn new(total: crate::Money) -> Self",
    ] {
        assert!(code.contains(expected), "{expected} is not in {code}");
    }
    assert_eq!(code.matches("::mcp_bindgen::__private::__wire_through_serde!(").count(), 1, "{code}");
    // Neither the definition nor what it alone holds has a type.
    assert!(!code.contains("pub cents") && !code.contains("pub code"), "{code}");
}

#[test]
fn extern_type_requires_only_the_common_traits() {
    let code = code(&with("#/$defs/Money", "crate::Money"));
    let derives = |name: &str| {
        let (before, _) = code.split_once(&format!("pub struct {name} ")).unwrap();
        before.trim_end().rsplit("#[derive(").next().unwrap().to_owned()
    };
    assert_eq!(derives("ShopOrderParams"), "Clone, Debug, PartialEq)]");
    assert_eq!(derives("ShopPriceParams"), "Clone, Debug, PartialEq, Eq, Hash, Default)]");
}

#[test]
fn holder_of_an_extern_type_omits_optional_derives() {
    let all = ["Eq", "Hash", "PartialOrd", "Ord", "Default"];
    let code = code(&with("#/$defs/Money", "crate::Money").derive(all));
    let (before, _) = code.split_once("pub struct ShopOrderParams ").unwrap();
    let derives = before.trim_end().rsplit("#[derive(").next().unwrap();
    assert_eq!(derives, "Clone, Debug, PartialEq)]");
}

#[test]
fn extern_types_replace_scalars_and_several_definitions() {
    let options = with("#/$defs/Sku", "crate::shop::Sku").extern_type("#/$defs/Money", "super::Money");
    let code = self::code(&options);
    assert!(code.contains("pub skus: Option<Vec<crate::shop::Sku>>,"), "{code}");
    assert!(code.contains("pub sku: Option<crate::shop::Sku>,"), "{code}");
    let same = with("#/$defs/Sku", "crate::Any").extern_type("#/$defs/Money", "crate::Any");
    assert_eq!(self::code(&same).matches("__wire_through_serde!(").count(), 1);
}

#[test]
fn invalid_extern_rules_are_refused() {
    let fault = |options: &Options| {
        let faults = Bindings::faults(&shop(), options);
        let [fault] = faults.as_slice() else { panic!("{faults:?}") };
        format(Bindings::generate(&shop(), options).0).unwrap();
        fault.error.to_string()
    };
    let no_path = "is not a path to a type of this crate\n  = help: use a path from the crate root, such as `crate::Money`; wrap a type of another crate in a newtype";
    for (pointer, path, expected) in [
        (
            "#/$defs/Mony",
            "crate::Money",
            "in `extern`: no bound tool has the definition `#/$defs/Mony`\n  = help: did you mean `#/$defs/Money`?"
                .to_owned(),
        ),
        (
            "#/$defs/Something",
            "crate::Money",
            "in `extern`: no bound tool has the definition `#/$defs/Something`\n  = help: there is `#/$defs/Money`, `#/$defs/Sku`, `#/$defs/Unit`"
                .to_owned(),
        ),
        (
            "Money",
            "crate::Money",
            "in `extern`: `Money` is not a pointer to a definition\n  = help: write `\"#/$defs/Money\" = \"crate::Money\"`"
                .to_owned(),
        ),
        ("#/$defs/Money", "Money", format!("in `extern`: `Money` {no_path}")),
        ("#/$defs/Money", "::other::Money", format!("in `extern`: `::other::Money` {no_path}")),
        ("#/$defs/Money", "crate::Money; fn f() {}", format!("in `extern`: `crate::Money; fn f() {{}}` {no_path}")),
    ] {
        assert_eq!(fault(&with(pointer, path)), expected);
    }
    assert_eq!(
        fault(&with("#/$defs/Money", "crate::Money").types(Types::Typify)),
        "`extern` has no effect with `types = \"typify\"`\n  = help: remove one of the two"
    );
    assert_eq!(
        fault(&with("#/$defs/Money", "crate::Money").shared("Money", "order/total")),
        "in `shared`: `order/total` is a type of yours, by `extern`\n  = help: it already replaces every use of the definition"
    );
}

#[test]
fn definition_without_an_exact_use_is_refused() {
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Money", "required": ["unit"]}},
        "$defs": {"Money": {"type": "object", "properties": {"cents": {"type": "integer"}}}},
    });
    let list = Snapshot::parse(&json!({"tools": [{"name": "a", "inputSchema": schema}]}).to_string()).unwrap();
    let faults = Bindings::faults(&list, &with("#/$defs/Money", "crate::Money"));
    assert_eq!(
        faults.iter().map(|fault| fault.error.to_string()).collect::<Vec<_>>(),
        [
            "in `extern`: no bound value has exactly the definition `#/$defs/Money`\n  = help: if other keywords narrow a definition, its type is still generated"
        ]
    );
}

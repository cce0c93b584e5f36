//! Tests `shared` and `extern`: one tool's result is passed to another, and the program's own types appear in
//! parameters and results.

#![deny(warnings)]

use mcp_bindgen::__private::{Wire, from_value, to_value};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

mod documented {
    #![deny(missing_docs)]

    mcp_bindgen::mcp_tools!(
        "memory",
        path = "fixtures/lists/memory.json",
        shared = {
            Entity = "create_entities/entities/*",
            Relation = "create_relations/relations/*",
            Graph = "read_graph/$output",
        }
    );
    mcp_bindgen::mcp_tools!(
        "shop",
        path = "fixtures/lists/shop.json",
        extern = { "#/$defs/Money" = "crate::shared_types::Money", "#/$defs/Sku" = "crate::shared_types::numbers::Sku" }
    );
}

use documented::memory::{
    MemoryCreateEntitiesOutput, MemoryCreateEntitiesParams, MemoryCreateRelationsParams, MemoryEntity, MemoryGraph,
    MemoryReadGraphParams,
};
use documented::shop::{ShopOrderOutput, ShopOrderParams, ShopOrderParamsPaid};
use mcp_bindgen::{Nullable, Tool};

/// An amount, as a program would have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Money {
    #[serde(with = "cents")]
    amount: u64,
    currency: String,
}

mod cents {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(cents: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}.{:02}", cents / 100, cents % 100))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.replacen('.', "", 1).parse().map_err(|_| D::Error::custom("no amount"))
    }
}

mod numbers {
    use serde::{Deserialize, Serialize};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(transparent)]
    pub(crate) struct Sku(pub(crate) String);
}

fn graph() -> Value {
    json!({
        "entities": [
            {"name": "ferris", "entityType": "crab", "observations": ["orange"]},
            {"name": "corro", "entityType": "crab", "observations": []},
        ],
        "relations": [{"from": "ferris", "to": "corro", "relationType": "knows"}],
    })
}

#[track_caller]
fn round_trips<T: Wire>(value: &Value) -> T {
    let read: T = from_value(value).unwrap();
    assert_eq!(to_value(&read).unwrap(), *value);
    read
}

#[test]
fn results_can_be_sent_as_arguments() {
    let MemoryGraph { entities, relations } = round_trips(&graph());
    let entity: &MemoryEntity = &entities[0];
    assert_eq!(entity.name, "ferris");
    let params = MemoryCreateEntitiesParams::new(entities);
    assert_eq!(to_value(&params).unwrap()["entities"], graph()["entities"]);
    let params = MemoryCreateRelationsParams::new(relations);
    assert_eq!(to_value(&params).unwrap()["relations"], graph()["relations"]);
}

#[test]
fn several_tools_return_one_shared_type() {
    fn answers<T: Tool<Output = MemoryGraph>>() {}
    answers::<MemoryReadGraphParams>();
    answers::<documented::memory::MemoryOpenNodesParams>();
    answers::<documented::memory::MemorySearchNodesParams>();
}

#[test]
fn shared_type_ignores_undeclared_keys() {
    // The schema forbids other keys, and servers have them all the same.
    let mut said = graph();
    said["entities"][0]["version"] = json!(2);
    let read: MemoryGraph = from_value(&said).unwrap();
    assert_eq!(to_value(&read).unwrap(), graph());
    let created: MemoryCreateEntitiesOutput = round_trips(&json!({"entities": graph()["entities"]}));
    assert_eq!(created.entities, read.entities);
    for wrong in [json!({"entities": [{"name": "x", "entityType": "y"}]}), json!({"entities": [1]})] {
        assert!(from_value::<MemoryCreateEntitiesParams>(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn extern_types_are_used_in_parameters_and_results() {
    let money = |amount: u64| Money { amount, currency: "EUR".to_owned() };
    let wire = |amount: &str| json!({"amount": amount, "currency": "EUR"});
    let arguments = json!({"skus": ["a-1"], "limit": wire("12.50"), "tip": null, "paid": wire("1.00")});
    let params: ShopOrderParams = round_trips(&arguments);
    let expected = ShopOrderParams {
        tip: Some(Nullable::Null),
        paid: Some(ShopOrderParamsPaid::Object(money(100))),
        ..ShopOrderParams::new(vec![numbers::Sku("a-1".to_owned())], money(1250))
    };
    assert_eq!(params, expected);
    let voucher: ShopOrderParams = round_trips(&json!({"skus": [], "limit": wire("0.00"), "paid": "voucher"}));
    assert_eq!(voucher.paid, Some(ShopOrderParamsPaid::String("voucher".to_owned())));
    let answer: ShopOrderOutput = round_trips(&json!({"total": wire("3.05"), "prices": {"a-1": wire("3.05")}}));
    assert_eq!((answer.total, answer.prices.unwrap()["a-1"].amount), (money(305), 305));
}

#[test]
fn value_refused_by_an_extern_type_is_an_error_with_its_pointer() {
    let value = json!({"skus": [], "limit": {"amount": "much", "currency": "EUR"}});
    let error = from_value::<ShopOrderParams>(&value).unwrap_err().to_string();
    assert!(error.contains("no amount") && error.contains("/limit/amount"), "{error}");
    let error = from_value::<ShopOrderParams>(&json!({"skus": [], "limit": {"amount": "1"}})).unwrap_err().to_string();
    assert!(error.contains("currency") && error.contains("/limit"), "{error}");
}

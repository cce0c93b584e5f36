//! Tool lists whose every name is after another's: words of Rust, of the library and of the generator, names that read
//! the same, and names that the generator would make up.

use mcp_bindgen_codegen::Options;
use mcp_bindgen_model::Prefix;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

const WORDS: &[&str] = &[
    "a",
    "b",
    "c",
    "C",
    "x",
    "order",
    "item",
    "order_item",
    "orderItem",
    "order-item",
    "Order",
    "order_items",
    "items",
    "value",
    "order_value",
    "order_1",
    "order1",
    "extra",
    "extra_properties",
    "all_extra_properties",
    "extra_extra_properties",
    "extra_extra_extra_properties",
    "new",
    "params",
    "output",
    "call",
    "order_params",
    "order_output",
    "order_call",
    "c_call",
    "c_order_params",
    "c_order",
    "a_l_l",
    "all",
    "ALL",
    "a_l_l_value",
    "other",
    "Other",
    "other_value",
    "NAME",
    "SPEC",
    "SERVER",
    "TOOLS",
    "Output",
    "Err",
    "Error",
    "self",
    "Self",
    "self_",
    "super",
    "crate",
    "_",
    "__x",
    "",
    "gen",
    "async",
    "r#async",
    "r_async",
    "str",
    "u8",
    "bool",
    "client",
    "client_tool",
    "with",
    "with a",
    "with_a",
    "connect",
    "connect_tool",
    "clone",
    "server",
    "tool",
    "Tool",
    "tool_call",
    "result",
    "option",
    "box",
    "vec",
    "string",
    "some",
    "none",
    "ok",
    "name",
    "arguments",
    "parse",
    "1",
    "1m",
    "1M",
    "1_m",
    "a1",
    "a_1",
    "foo",
    "a-b-c",
    "a--b-c",
    "a_b_c_x8d997b24",
    "object",
    "Object 2",
    "object_2",
    "drop",
    "main",
    "std",
    "core",
    "mcp_bindgen",
];

/// A name of the small alphabet, or two of them together, or a long one.
pub(crate) fn word() -> BoxedStrategy<String> {
    let word = || select(WORDS).prop_map(str::to_owned);
    prop_oneof![
        16 => word(),
        3 => (word(), select(&["_", "-", "", "."][..]), word()).prop_map(|(left, gap, right)| format!("{left}{gap}{right}")),
        1 => select(&["a", "b", "-", "--"][..]).prop_map(|end| format!("{}{end}", "long_".repeat(20))),
    ]
    .boxed()
}

pub(crate) fn tool() -> BoxedStrategy<Value> {
    let root = || {
        prop_oneof![
            4 => object(schema()).prop_map(with_definitions).boxed(),
            1 => vec(object(schema()), 2..4).prop_map(|any| json!({"type": "object", "anyOf": any})).boxed(),
        ]
    };
    (word(), root(), option::weighted(0.4, root()))
        .prop_map(|(name, input, output)| {
            let mut tool = json!({"name": name, "inputSchema": input});
            tool.as_object_mut().expect("a tool").extend(output.map(|output| ("outputSchema".to_owned(), output)));
            tool
        })
        .boxed()
}

pub(crate) fn tools() -> BoxedStrategy<Vec<Value>> {
    vec(tool(), 1..5).boxed()
}

pub(crate) fn options() -> BoxedStrategy<Options> {
    let servers = &[
        "c",
        "s",
        "self",
        "client",
        "call",
        "tool",
        "result",
        "option",
        "with",
        "x-y",
        "order",
        "c_order_params",
        "str",
    ];
    let prefix = prop_oneof![
        2 => Just(Prefix::ServerName),
        2 => Just(Prefix::None),
        1 => word().prop_map(Prefix::Named),
    ];
    (select(&servers[..]), prefix).prop_map(|(server, prefix)| Options::new(server).prefix(prefix)).boxed()
}

/// The definitions that its references need, and one more.
fn with_definitions(mut root: Value) -> Value {
    let definitions = ["order", "order_item", "Order"].map(|name| {
        let inner = json!({"type": "object", "properties": {"item": {"type": "object", "properties": {"x": {}}}}});
        (name.to_owned(), inner)
    });
    root["$defs"] = Value::Object(definitions.into_iter().collect());
    root
}

fn schema() -> BoxedStrategy<Value> {
    let values = || vec(word(), 1..5);
    let leaf = prop_oneof![
        3 => Just(json!({"type": "string"})),
        2 => values().prop_map(|values| json!({ "enum": values })),
        1 => values().prop_map(|values| json!({ "enum": values.into_iter().map(Value::from).chain([json!(1)]).collect::<Value>() })),
        2 => select(&["#/$defs/order", "#/$defs/order_item", "#/$defs/Order", "#/properties/order", "#/properties/a/items",
                      "#/properties/order_item", "#"][..]).prop_map(|target| json!({ "$ref": target })),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            1 => vec(inner.clone(), 1..4).prop_map(|items| {
                json!({"type": "array", "prefixItems": items, "items": false, "minItems": items.len()})
            }),
            1 => vec(inner, 1..4).prop_map(|any| json!({ "anyOf": any })),
        ]
    })
    .boxed()
}

fn object(inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let additional = option::weighted(0.4, prop_oneof![Just(json!(true)), Just(json!(false)), inner.clone()]);
    (btree_map(word(), inner, 0..5), additional, 0..3_usize)
        .prop_map(|(properties, additional, required)| {
            let required: Vec<&String> = properties.keys().take(required).collect();
            let mut object = json!({"type": "object", "properties": properties, "required": required});
            object
                .as_object_mut()
                .expect("an object")
                .extend(additional.map(|of| ("additionalProperties".to_owned(), of)));
            object
        })
        .boxed()
}

/// The same value with the keys of every object in another order.
pub(crate) fn permuted(value: &Value, seed: u64) -> Value {
    match value {
        Value::Object(map) => {
            let weight = |key: &str| {
                key.bytes()
                    .fold(seed | 1, |sum, byte| sum.rotate_left(7).wrapping_mul(0x9e37_79b9).wrapping_add(byte.into()))
            };
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| weight(key));
            let entries = entries.into_iter().map(|(key, value)| (key.clone(), permuted(value, seed)));
            Value::Object(entries.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(|item| permuted(item, seed)).collect(),
        other => other.clone(),
    }
}

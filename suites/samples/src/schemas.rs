//! Random schemas over the whole set of keywords, with well-formed and malformed values.

use std::ops::Range;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// Stands in texts, so that it would show where a text became code. A name made of it is `zq_mark` or `ZqMark`.
pub const MARK: &str = "zqMark";

/// Any JSON, of keys that mean something now and then.
pub fn json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number(),
        text().prop_map(Value::from),
        select(TYPES).prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let key = prop_oneof![select(KEYS).prop_map(str::to_owned), name()];
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key, inner), 0..6).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Short tool lists.
pub fn tools() -> BoxedStrategy<Vec<Value>> {
    let tool = (name(), text(), root(), proptest::option::weighted(0.4, root()), annotations());
    let tool = tool.prop_map(|(name, description, input, output, annotations)| {
        let mut tool = json!({"name": name, "description": description, "inputSchema": input});
        let optional = [("outputSchema", output), ("annotations", annotations)];
        if let Value::Object(members) = &mut tool {
            members.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        }
        tool
    });
    vec(tool, 1..4).boxed()
}

fn annotations() -> impl Strategy<Value = Option<Value>> {
    proptest::option::weighted(
        0.3,
        prop_oneof![
            any::<[bool; 2]>().prop_map(|[read, open]| json!({"readOnlyHint": read, "openWorldHint": open})),
            text().prop_map(|title| json!({"title": title, "destructiveHint": "yes"})),
            json(),
        ],
    )
}

/// A whole inputSchema: mostly an object with properties and definitions that its references can find.
fn root() -> BoxedStrategy<Value> {
    let definitions = || entries(schema(), 0..3);
    let object = (entries(schema(), 0..5), vec(name(), 0..3), definitions(), schema());
    let object = object.prop_map(|(properties, also, definitions, rest)| {
        let mut required: Vec<String> = properties.keys().take(2).cloned().collect();
        required.extend(also);
        let mut root = if let Value::Object(rest) = rest { rest } else { Map::new() };
        root.insert("type".to_owned(), json!("object"));
        root.insert("properties".to_owned(), Value::Object(properties));
        root.insert("required".to_owned(), json!(required));
        root.insert("$defs".to_owned(), Value::Object(definitions));
        Value::Object(root)
    });
    prop_oneof![6 => object, 2 => schema(), 1 => json()].boxed()
}

fn schema() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        8 => keywords(Just(json!({"type": "string"})).boxed()),
        1 => any::<bool>().prop_map(Value::from),
        1 => select(vec![Value::Null, json!(7), json!("string"), json!([])]),
    ];
    leaf.prop_recursive(4, 40, 5, keywords).boxed()
}

/// A schema of a few keywords, whose parts are `inner`.
fn keywords(inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let typed = proptest::option::weighted(0.7, kind());
    (typed, vec(keyword(inner), 0..5))
        .prop_map(|(kind, keywords)| {
            let mut schema: Map<String, Value> = kind.map(|kind| ("type".to_owned(), kind)).into_iter().collect();
            schema.extend(keywords);
            Value::Object(schema)
        })
        .boxed()
}

fn kind() -> BoxedStrategy<Value> {
    prop_oneof![
        8 => select(TYPES).prop_map(Value::from),
        2 => vec(select(TYPES), 0..4).prop_map(Value::from),
        1 => json(),
    ]
    .boxed()
}

fn keyword(inner: BoxedStrategy<Value>) -> BoxedStrategy<(String, Value)> {
    let list = vec(inner.clone(), 0..4).prop_map(Value::from).boxed();
    let map = entries(inner.clone(), 0..4).prop_map(Value::Object).boxed();
    let names = vec(name(), 0..4).prop_map(Value::from).boxed();
    let values = vec(value(), 0..6).prop_map(Value::from).boxed();
    let tagged = vec((select(&["a", "b", "B", "c d", ""][..]), entries(inner.clone(), 0..3)), 1..4);
    let tagged = tagged.prop_map(|branches| branches.into_iter().map(|(tag, rest)| branch(tag, rest)).collect());
    let word = |words: &'static [&'static str]| select(words).prop_map(str::to_owned);
    let well_formed = prop_oneof![
        3 => (word(&["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"]), map),
        4 => (word(&["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
                     "unevaluatedProperties", "unevaluatedItems", "additionalItems"]), inner),
        4 => (word(&["anyOf", "oneOf", "allOf", "prefixItems", "items"]), list),
        2 => (word(&["anyOf", "oneOf"]), tagged),
        3 => (word(&["enum", "examples"]), values),
        2 => (word(&["const", "default"]), value()),
        2 => (word(&["required"]), names),
        3 => (word(&["$ref", "$dynamicRef", "$recursiveRef"]), reference()),
        1 => (word(&["$id", "$anchor", "$dynamicAnchor", "id", "$schema"]), reference()),
        2 => (word(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]), number().boxed()),
        1 => (word(&["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties",
                     "minContains", "maxContains"]), number().boxed()),
        1 => (word(&["nullable", "uniqueItems", "deprecated", "readOnly", "writeOnly", "exclusiveMinimum",
                     "exclusiveMaximum", "additionalProperties", "items", "x-fastmcp-wrap-result"]),
              any::<bool>().prop_map(Value::from).boxed()),
        2 => (word(&["title", "description", "$comment", "format", "pattern", "contentEncoding"]),
              text().prop_map(Value::from).boxed()),
        1 => (word(&["discriminator"]), name().prop_map(|name| json!({ "propertyName": name })).boxed()),
        1 => (word(&["dependentRequired", "dependencies"]),
              (name(), name()).prop_map(|(key, name)| Value::Object(Map::from_iter([(key, json!([name]))]))).boxed()),
    ];
    let malformed = (select(KEYS).prop_map(str::to_owned), json());
    prop_oneof![12 => well_formed, 1 => malformed].boxed()
}

fn branch(tag: &str, rest: Map<String, Value>) -> Value {
    let mut properties = rest;
    properties.insert("kind".to_owned(), json!({ "const": tag }));
    json!({"type": "object", "properties": properties, "required": ["kind"]})
}

fn entries(inner: BoxedStrategy<Value>, size: Range<usize>) -> impl Strategy<Value = Map<String, Value>> {
    vec((name(), inner), size).prop_map(|entries| entries.into_iter().collect())
}

fn value() -> BoxedStrategy<Value> {
    prop_oneof![
        4 => name().prop_map(Value::from),
        2 => number(),
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => text().prop_map(Value::from),
        1 => json(),
    ]
    .boxed()
}

fn number() -> BoxedStrategy<Value> {
    let edges = [
        json!(0),
        json!(-0.0),
        json!(1),
        json!(1.0),
        json!(-1),
        json!(0.5),
        json!(i64::MIN),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e19),
        json!(-1e19),
        json!(1e308),
        json!(5e-324),
        json!(9_007_199_254_740_993_u64),
    ];
    let edges: Vec<Value> = edges.into();
    prop_oneof![3 => select(edges), 1 => any::<i64>().prop_map(Value::from), 1 => any::<f64>().prop_map(Value::from)]
        .boxed()
}

fn reference() -> BoxedStrategy<Value> {
    let known = [
        "#",
        "#/",
        "#/$defs/a",
        "#/$defs/b",
        "#/definitions/a",
        "#/properties/a",
        "#/properties/b/items",
        "#/$defs/a~1b",
        "#/$defs/%61",
        "#/$defs/%",
        "#/$defs/~2",
        "#here",
        "a",
        "http://example.com/x",
        "http://example.com/x#/$defs/a",
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-04/schema#",
        "",
        "//",
        "#/allOf/0",
    ];
    prop_oneof![6 => select(known.to_vec()).prop_map(Value::from), 1 => text().prop_map(Value::from)].boxed()
}

/// Names that collide, are keywords, or hold what identifiers cannot.
pub fn name() -> BoxedStrategy<String> {
    let known = [
        "a",
        "b",
        "c",
        "A",
        "a_b",
        "a-b",
        "a.b",
        "aB",
        "AB",
        "a b",
        "a__b",
        "_a",
        "a_",
        "kind",
        "type",
        "self",
        "Self",
        "super",
        "crate",
        "fn",
        "async",
        "match",
        "_",
        "",
        "-",
        "1",
        "1a",
        "+1",
        "-1",
        "<",
        "<=",
        "é",
        "ß",
        "名",
        "🦀",
        "new",
        "extra",
        "client",
        "connect",
        "with",
        "parse",
        "name",
        "call",
        "arguments",
        "params",
        "output",
        "a_params",
        "a_output",
        "Option",
        "String",
        "Vec",
        "Value",
        "Tool",
        "server",
        "SERVER",
        "TOOLS",
        "None",
        "Some",
        "r#type",
        "result",
        "other",
        "Other",
        "Ok",
        "Err",
        "Result",
        "BTreeMap",
        "Map",
        "Nullable",
        "Client",
    ];
    prop_oneof![
        12 => select(known.to_vec()).prop_map(str::to_owned),
        2 => "[a-c]{1,2}[_\\-. /]?[A-C]?[0-9]?",
        1 => "\\PC{0,8}",
        1 => "[a-z]{1,3}(_[a-z0-9]{1,60}){1,4}",
    ]
    .boxed()
}

/// Different names.
pub fn names(size: Range<usize>) -> impl Strategy<Value = Vec<String>> {
    btree_set(name(), size).prop_map(|names| names.into_iter().collect())
}

/// Generates untrusted text with a mark.
fn text() -> BoxedStrategy<String> {
    let known = [
        "",
        "zqMark",
        "```rust\nzqMark()\n```",
        "    zqMark();",
        "[`zqMark`] [x]: y",
        "<zqMark>",
        "*/ zqMark /*",
        "\"; zqMark!()",
        "\u{202e}zqMark\u{7}",
        "#![zqMark]",
        "~~~\nzqMark",
        "\\",
        "r#\"zqMark\"#",
        "1. zqMark\n* zqMark",
        "http://zqMark/[",
    ];
    prop_oneof![4 => select(known.to_vec()).prop_map(str::to_owned), 1 => "(?s).{0,40}"].boxed()
}

/// The valid values of `type`, and `any`, which is invalid.
const TYPES: &[&str] = &["string", "integer", "number", "boolean", "null", "array", "object", "any"];

/// Keys that mean something in a tool list, or in a schema.
pub const KEYS: &[&str] = &[
    "tools",
    "name",
    "title",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "icons",
    "_meta",
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "additionalItems",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "enum",
    "const",
    "default",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "$ref",
    "$defs",
    "definitions",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$schema",
    "$vocabulary",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "format",
    "pattern",
    "nullable",
    "discriminator",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "unevaluatedProperties",
    "unevaluatedItems",
    "contains",
    "minContains",
    "deprecated",
    "readOnly",
    "examples",
    "x-fastmcp-wrap-result",
    "contentEncoding",
    "$comment",
];

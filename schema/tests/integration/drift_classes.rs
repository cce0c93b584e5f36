//! Classes of changes that only code for the bindings meets: what compiles and means something else.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use mcp_bindgen_model::Snapshot;
use mcp_bindgen_schema::drift::{diff, told};
use serde_json::{Value, json};

fn list(snapshot: &Value) -> Snapshot {
    Snapshot::parse(&snapshot.to_string()).unwrap()
}

/// The lines of a report and the proofs, without the ids of rules.
fn lines(old: &Value, new: &Value) -> Vec<String> {
    let without_id = |line: String| line.split_once(" [MCPD").map_or(line.clone(), |(text, _)| text.to_owned());
    told(&diff(&list(old), &list(new)), 100).into_iter().map(without_id).collect()
}

fn tool(key: &str, schema: &Value) -> Value {
    let mut tool = json!({ "name": "t", "inputSchema": {} });
    tool[key] = schema.clone();
    json!({ "tools": [tool] })
}

/// A tool with these properties, all of them required in this order.
fn requires(properties: &[(&str, Value)]) -> Value {
    tool("inputSchema", &object(properties))
}

fn object(properties: &[(&str, Value)]) -> Value {
    let declared: Value = properties.iter().map(|(key, schema)| ((*key).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = properties.iter().map(|(key, _)| *key).collect();
    json!({ "type": "object", "properties": declared, "required": required })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn choice(values: &[&str]) -> Value {
    json!({ "enum": values })
}

const REORDERED: &str =
    "silent      t /inputSchema/required: `new` takes its arguments in another order, and calls still compile";

#[test]
fn reordered_arguments_of_one_type_are_a_silent_change() {
    let of = |first: &str, second: &str, schema: &Value| requires(&[(first, schema.clone()), (second, schema.clone())]);
    for (schema, ty) in [
        (text(), "impl Into<String>"),
        (json!({ "type": "integer" }), "i64"),
        (json!({ "type": "array", "items": { "type": "string" } }), "Vec<String>"),
        (json!({ "type": ["string", "null"] }), "Option<String>"),
    ] {
        let [old, new] = [of("source", "destination", &schema), of("destination", "source", &schema)];
        let (forth, back) =
            (format!("new(source: {ty}, destination: {ty})"), format!("new(destination: {ty}, source: {ty})"));
        assert_eq!(lines(&old, &new), [REORDERED.to_owned(), format!("            = was {forth}, is {back}")]);
        assert_eq!(lines(&new, &old), [REORDERED.to_owned(), format!("            = was {back}, is {forth}")]);
    }
    // A type that a definition names is one type.
    let defined = |keys: [&str; 2]| {
        let mut schema = object(&keys.map(|key| (key, json!({ "$ref": "#/$defs/place" }))));
        schema["$defs"] = json!({ "place": object(&[("x", json!({ "type": "integer" }))]) });
        tool("inputSchema", &schema)
    };
    assert_eq!(
        lines(&defined(["from", "to"]), &defined(["to", "from"])),
        [REORDERED, "            = was new(from: Place, to: Place), is new(to: Place, from: Place)"]
    );
    // The literal of an integer is of both types.
    let natural = json!({ "type": "integer", "minimum": 0 });
    let integers = |first: (&str, &Value), second: (&str, &Value)| {
        requires(&[(first.0, first.1.clone()), (second.0, second.1.clone())])
    };
    let integer = json!({ "type": "integer" });
    let (old, new) = (integers(("a", &integer), ("b", &natural)), integers(("b", &natural), ("a", &integer)));
    assert_eq!(lines(&old, &new)[0], REORDERED);
    // In a nested object, and in what a server answers.
    let nested =
        |keys: [&str; 2]| json!({ "type": "object", "properties": { "move": object(&keys.map(|key| (key, text()))) } });
    for key in ["inputSchema", "outputSchema"] {
        let found = lines(&tool(key, &nested(["a", "b"])), &tool(key, &nested(["b", "a"])));
        let place = format!("silent      t /{key}/properties/move/required: ");
        assert!(found[0].starts_with(&place) && found.len() == 2, "{found:?}");
    }
}

#[test]
fn reordered_arguments_of_different_types_are_a_source_change() {
    let order = ["source      t /inputSchema/required: another order, in which `new` takes its arguments"];
    let (a, b) = (("a", text()), ("b", json!({ "type": "integer" })));
    assert_eq!(lines(&requires(&[a.clone(), b.clone()]), &requires(&[b, a])), order);
    // Each is a type of its own.
    let (a, b) = (("a", choice(&["x", "y"])), ("b", choice(&["x", "y"])));
    assert_eq!(lines(&requires(&[a.clone(), b.clone()]), &requires(&[b, a])), order);
    // A constant is no argument.
    let (a, b) = (("a", choice(&["x"])), ("b", text()));
    let found = lines(&requires(&[a.clone(), b.clone()]), &requires(&[b, a]));
    assert_eq!(found, ["compatible  t /inputSchema/required: written differently"], "{found:?}");
}

#[test]
fn replaced_argument_of_the_same_type_is_a_silent_change() {
    let found = lines(&requires(&[("message", text())]), &requires(&[("text", text())]));
    assert_eq!(
        found,
        [
            "breaking    t /inputSchema/properties/text: new required property",
            "            = may be sent, and is refused now: {\"message\":\"a\"}",
            "silent      t /inputSchema/required: `new` takes `text` in place of `message`, and calls still compile",
            "            = was new(message: impl Into<String>), is new(text: impl Into<String>)",
            "source      t /inputSchema/properties/message: the property was removed",
        ]
    );
    let found = lines(&requires(&[("message", text())]), &requires(&[("count", json!({ "type": "integer" }))]));
    assert!(!found.iter().any(|line| line.starts_with("silent")), "{found:?}");
    let found = lines(&requires(&[("a", text())]), &requires(&[("a", text()), ("b", text())]));
    assert!(!found.iter().any(|line| line.starts_with("silent")), "{found:?}");
}

#[test]
fn field_that_maps_to_another_property_is_a_silent_change() {
    let of = |properties: &Value| tool("inputSchema", &json!({ "type": "object", "properties": properties }));
    let found = lines(&of(&json!({ "userId": text() })), &of(&json!({ "user_id": text() })));
    assert_eq!(
        found,
        [
            "silent      t /inputSchema/properties/userId: gone, and was called `user_id` in Rust: property `user_id` takes \
             that name",
            "            = was user_id: Option<String> for \"userId\", is user_id: Option<String> for \"user_id\"",
            "compatible  t /inputSchema/properties/user_id: new property",
        ]
    );
    let found = lines(&of(&json!({ "fooBar": text() })), &of(&json!({ "fooBar": text(), "foo_bar": text() })));
    assert_eq!(
        found[..2],
        [
            "silent      t /inputSchema/properties/fooBar: called `foo_bar_camel` in Rust now, and not `foo_bar`: property \
             `foo_bar` takes that name",
            "            = was foo_bar: Option<String> for \"fooBar\", is foo_bar: Option<String> for \"foo_bar\"",
        ]
    );
    // Of another type it does not compile.
    let integer = json!({ "type": "integer" });
    assert_eq!(
        lines(&of(&json!({ "userId": text() })), &of(&json!({ "user_id": integer }))),
        [
            "source      t /inputSchema/properties/userId: the property was removed",
            "compatible  t /inputSchema/properties/user_id: new property",
        ]
    );
}

#[test]
fn variant_that_maps_to_another_value_is_a_silent_change() {
    let of = |values: &[&str]| tool("inputSchema", &json!({ "type": "object", "properties": { "p": choice(values) } }));
    let found = lines(&of(&["OPEN", "SHUT"]), &of(&["open", "SHUT"]));
    let silent = "silent      t /inputSchema/properties/p: `OPEN` is gone, and was called `Open` in Rust: value `open` takes that \
                  name";
    assert!(found[0].starts_with("breaking    t /inputSchema/properties/p: "), "{found:?}");
    assert_eq!(found[2..], [silent, "            = was Open for \"OPEN\", is Open for \"open\""]);
    // A server may answer what is not listed: nothing breaks.
    let of =
        |values: &[&str]| tool("outputSchema", &json!({ "type": "object", "properties": { "p": choice(values) } }));
    let found = lines(&of(&["OPEN", "SHUT"]), &of(&["open", "SHUT"]));
    assert_eq!(found[0], silent.replace("input", "output"));
}

#[test]
fn variant_that_maps_to_another_alternative_is_a_silent_change() {
    let of = |tags: [&str; 2]| {
        let branches = tags.map(|tag| object(&[("kind", json!({ "const": tag })), ("n", text())]));
        tool("inputSchema", &object(&[("p", json!({ "oneOf": branches }))]))
    };
    let found = lines(&of(["addItem", "drop"]), &of(["add_item", "drop"]));
    let silent = found.iter().position(|line| line.starts_with("silent")).unwrap();
    assert_eq!(
        found[silent..=silent + 1],
        [
            "silent      t /inputSchema/properties/p: the alternative addItem is gone, and was called `AddItem` in Rust: alternative `add_item` takes that name",
            "            = was AddItem(AddItem) for \"addItem\", is AddItem(AddItem) for \"add_item\"",
        ]
    );
    assert!(
        !found.iter().any(|line| line.contains("the alternative addItem was removed") && line.starts_with("source"))
    );
}

#[test]
fn method_that_calls_another_tool_is_a_silent_change() {
    let tools = |tools: &[(&str, &[&str])]| {
        let tools: Vec<Value> = tools
            .iter()
            .map(|(name, keys)| {
                let keys: Vec<_> = keys.iter().map(|key| (*key, text())).collect();
                json!({ "name": name, "inputSchema": object(&keys) })
            })
            .collect();
        json!({ "tools": tools })
    };
    let signatures = "            = was foo_bar(..) for \"fooBar\", is foo_bar(..) for \"foo_bar\"";
    let found = lines(&tools(&[("fooBar", &["a"])]), &tools(&[("fooBar", &["a"]), ("foo_bar", &["b"])]));
    let moved = "silent      fooBar /name: called `foo_bar_camel` in Rust now, and not `foo_bar`: tool `foo_bar` takes that name";
    assert_eq!(found[1..], [moved, signatures]);
    let found = lines(&tools(&[("fooBar", &["a"])]), &tools(&[("foo_bar", &["b"])]));
    let gone = "silent      fooBar /name: gone, and was called `foo_bar` in Rust: tool `foo_bar` takes that name";
    assert_eq!(found[3..], [gone, signatures]);
    // Calls of it do not compile.
    let found = lines(&tools(&[("fooBar", &["a"])]), &tools(&[("fooBar", &["a"]), ("foo_bar", &["b", "c"])]));
    assert_eq!(found[1..], [moved.replace("silent", "source")]);
}

#[test]
fn reordered_prompt_arguments_and_uri_variables_are_a_silent_change() {
    let prompt = |names: &[&str]| {
        let arguments: Vec<Value> = names.iter().map(|name| json!({ "name": name, "required": true })).collect();
        json!({ "tools": [], "prompts": [{ "name": "p", "arguments": arguments }] })
    };
    assert_eq!(
        lines(&prompt(&["from", "to"]), &prompt(&["to", "from"])),
        [
            "silent      server /prompts: prompt `p` has a `new` that takes its arguments in another order, and calls \
             still compile",
            "            = was new(from: impl Into<String>, to: impl Into<String>), is new(to: impl Into<String>, from: impl \
             Into<String>)",
        ]
    );
    let found = lines(&prompt(&["message"]), &prompt(&["text"]));
    assert!(found.iter().any(|line| line.starts_with("silent") && line.contains("takes `text` in place of `message`")));
    let template = |uri: &str| json!({ "tools": [], "resourceTemplates": [{ "name": "r", "uriTemplate": uri }] });
    assert_eq!(
        lines(&template("x://{owner}/{repo}"), &template("x://{repo}/{owner}")),
        [
            "breaking    server /resourceTemplates: resource template `r` has another `uriTemplate`",
            "silent      server /resourceTemplates: resource template `r` has a `new` that takes its arguments in \
             another order, and calls still compile",
            "            = was new(owner: impl Into<String>, repo: impl Into<String>), is new(repo: impl Into<String>, owner: \
             impl Into<String>)",
        ]
    );
    let found = lines(&template("x://{owner}"), &template("y://{owner}"));
    assert_eq!(found.len(), 1, "{found:?}");
}

/// A tool with a property `p`, in what it takes or answers.
fn with(key: &str, schema: &Value) -> Value {
    tool(key, &json!({ "type": "object", "properties": { "p": schema } }))
}

#[test]
fn number_that_removes_eq_and_hash_is_a_source_change() {
    let of = |properties: &Value| tool("inputSchema", &json!({ "type": "object", "properties": properties }));
    let number = json!({ "type": "number" });
    let (plain, with_number) = (of(&json!({ "a": text() })), of(&json!({ "a": text(), "n": number })));
    assert_eq!(
        lines(&plain, &with_number),
        ["source      t /inputSchema/properties/n: new property: the types that hold it lose `Eq` and `Hash`"]
    );
    // They had none.
    let more = of(&json!({ "a": text(), "n": number, "m": number }));
    assert_eq!(lines(&with_number, &more), ["compatible  t /inputSchema/properties/m: new property"]);
    assert_eq!(lines(&plain, &of(&json!({ "a": text(), "b": text() }))).len(), 1);
    // In a list of objects that the property holds.
    let items = json!({ "type": "array", "items": { "type": "object", "properties": { "x": number } } });
    let found = lines(&plain, &of(&json!({ "a": text(), "n": items })));
    assert!(found[0].starts_with("source ") && found.len() == 1, "{found:?}");
    let found = lines(&with("inputSchema", &json!({ "type": "integer" })), &with("inputSchema", &number));
    assert_eq!(found, ["source      t /inputSchema/properties/p: an integer became a number, without `Eq` and `Hash`"]);
}

#[test]
fn new_variant_is_a_source_change() {
    for key in ["inputSchema", "outputSchema"] {
        let listed = format!(
            "source      t /{key}/properties/p: \"in review\" is listed now: a `match` needs the variant `InReview`"
        );
        let of = |values: &[&str]| with(key, &choice(values));
        assert_eq!(lines(&of(&["open", "shut"]), &of(&["open", "shut", "in review"])), [listed]);
    }
    let of = |more: &[Value]| {
        let branches = [&[text(), json!({ "type": "boolean" })], more].concat();
        with("inputSchema", &json!({ "anyOf": branches }))
    };
    assert_eq!(
        lines(&of(&[]), &of(&[json!({ "type": "integer" })])),
        [
            "source      t /inputSchema/properties/p: the alternative Integer is new: a `match` needs the variant `Integer`"
        ]
    );
    let found = lines(&of(&[]), &of(&[json!({ "type": "number" })]));
    assert!(found[0].ends_with("the variant `Number`; it has no `Eq` and `Hash`"), "{found:?}");
}

#[test]
fn constant_that_becomes_an_enum_reports_the_lost_default() {
    let found = lines(&with("inputSchema", &choice(&["a"])), &with("inputSchema", &choice(&["a", "b"])));
    assert!(found[0].ends_with("a constant and a choice are different types: `Default` is gone"), "{found:?}");
    let found = lines(&with("outputSchema", &choice(&["a", "b"])), &with("outputSchema", &choice(&["a"])));
    assert!(found[0].ends_with("a constant and a choice are different types"), "{found:?}");
}

#[test]
fn second_alternative_of_one_type_removes_its_from_impl() {
    let array = |least: u8| json!({ "type": "array", "items": { "type": "string" }, "minItems": least });
    let of = |branches: &[Value]| with("inputSchema", &json!({ "anyOf": branches }));
    let most = json!({ "type": "array", "items": { "type": "string" }, "maxItems": 1 });
    let found = lines(&of(&[text(), array(2)]), &of(&[text(), array(2), most]));
    assert_eq!(
        found,
        [
            "source      t /inputSchema/properties/p: the alternative Strings 2 is new: a `match` needs the variant `Strings2`",
            "source      t /inputSchema/properties/p: no `From<Vec<String>>` any more: two alternatives hold it",
        ]
    );
    // Another type of array has a `From` of its own.
    let integers = json!({ "type": "array", "items": { "type": "integer" }, "minItems": 1 });
    let found = lines(&of(&[text(), array(2)]), &of(&[text(), array(2), integers]));
    assert!(!found.iter().any(|line| line.contains("From<")), "{found:?}");
}

#[test]
fn deprecation_is_a_source_change() {
    let deprecated = |mut schema: Value| {
        schema["deprecated"] = json!(true);
        schema
    };
    let schema = json!({ "type": "object", "properties": { "p": text() } });
    assert_eq!(
        lines(&tool("inputSchema", &schema), &with("inputSchema", &deprecated(text()))),
        ["source      t /inputSchema/properties/p: deprecated now: uses of its field warn, by `#[deprecated]`"]
    );
    assert_eq!(
        lines(&tool("inputSchema", &schema), &tool("inputSchema", &deprecated(schema.clone()))),
        ["source      t /inputSchema: deprecated now: its calls warn, by `#[deprecated]`"]
    );
    assert_eq!(
        lines(&with("inputSchema", &deprecated(text())), &tool("inputSchema", &schema)),
        ["wording     t /inputSchema/properties/p: another deprecated"]
    );
    let list = |item: Value| with("outputSchema", &json!({ "type": "array", "items": item }));
    let item = object(&[("x", text())]);
    assert_eq!(
        lines(&list(item.clone()), &list(deprecated(item))),
        ["source      t /outputSchema/properties/p/items: deprecated now: uses of its type warn, by `#[deprecated]`"]
    );
    // A string has no item of its own.
    assert_eq!(
        lines(&list(text()), &list(deprecated(text()))),
        ["wording     t /outputSchema/properties/p/items: another deprecated"]
    );
}

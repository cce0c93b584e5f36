//! Schemas that real tools rarely have, each with values that must get through: names that are not taken, objects that
//! declare nothing, and more properties than anybody needs.

use serde_json::{Value, json};

use crate::providers::report::Report;
use crate::providers::rewritten::Rewritten;
use crate::providers::samples::Figures;

/// A name, its schema, and values that are valid under it.
struct Case(&'static str, Value, Vec<Value>);

pub(crate) fn judge(report: &mut Report) {
    let mut figures = Figures::default();
    let cases = cases();
    for Case(name, schema, values) in &cases {
        let rewritten = Rewritten::of(name, schema, report, false);
        figures.judge(&rewritten, values, report);
    }
    if figures.as_sent() == 0 {
        report.fail("nulls without which a value is no longer valid", || "none was found".to_owned());
    }
    report.line(format!(
        "{} hard schemas rewritten for each provider, and their values sent and brought back; {} go as they were \
         sent, since they are no longer valid without their nulls",
        cases.len(),
        figures.as_sent()
    ));
}

/// A branch that a property tells from others.
fn branch(tag: &str, kind: &str, key: &str) -> Value {
    json!({"type": "object", "required": [tag], "properties": {tag: {"const": kind}, key: {"type": "string"}}})
}

/// One property `f` of that schema.
fn of(schema: &Value) -> Value {
    json!({"type": "object", "properties": {"f": schema}, "required": ["f"]})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn cases() -> Vec<Case> {
    const MANY: usize = 20_000;
    let declared = json!({"type": "object", "properties": {"a": text()}});
    let tagged = |tag| json!({"oneOf": [branch(tag, "a", "v"), branch(tag, "b", "w")]});
    let mut root = tagged("$kind");
    if let Value::Object(root) = &mut root {
        root.insert("type".to_owned(), "object".into());
    }
    let many = |odd: &str| -> Value { (0..MANY).map(|number| (format!("{odd}p{number}"), text())).collect() };
    let required: Vec<String> = (0..MANY).map(|number| format!("$p{number}")).collect();
    // The alias of the first, as it would be beside the second.
    let hashed = "_filter_e2ba687d";
    let either = |open: Value| of(&json!({"anyOf": [declared, open]}));
    let open = json!({"type": "object", "properties": {"b": text()}, "additionalProperties": true});
    vec![
        Case("tags", of(&tagged("@type")), vec![json!({"f": {"@type": "a", "v": "x"}}), json!({"f": {"@type": "b"}})]),
        Case("a tag of the root", root, vec![json!({"$kind": "a", "v": "x"}), json!({"$kind": "b", "w": "x"})]),
        Case(
            "tags, and a key like their alias",
            of(&json!({"oneOf": [branch("@type", "a", "_type"), branch("@type", "b", "w")]})),
            vec![json!({"f": {"@type": "a", "_type": "x"}}), json!({"f": {"@type": "b", "w": "x"}})],
        ),
        Case(
            "a key like a hashed alias",
            json!({"type": "object", "properties": {"$filter": text(), "_filter": text(), hashed: text()}}),
            vec![
                json!({"$filter": "a", "_filter": "b", hashed: "c"}),
                json!({"$filter": "a"}),
                json!({"_filter": "a"}),
            ],
        ),
        Case(
            "an alias where any key goes",
            json!({"type": "object", "properties": {"$filter": text()}, "additionalProperties": true}),
            vec![json!({"_filter": "a"}), json!({"$filter": "a"}), json!({"$filter": "a", "_filter": "b"})],
        ),
        Case(
            "any object beside one that declares",
            either(json!({"type": "object"})),
            vec![json!({"f": {"a": null}}), json!({"f": {"z": 1}}), json!({"f": {"a": "x"}})],
        ),
        Case(
            "an open object beside one",
            either(open),
            vec![json!({"f": {"a": null}}), json!({"f": {"b": "x", "z": 1}})],
        ),
        Case(
            "a null that leaves too little",
            json!({"type": "object", "minProperties": 1, "properties": {"a": {"type": ["string", "null"], "default": null}}}),
            vec![json!({"a": null}), json!({"a": "x"})],
        ),
        Case(
            "fixed tuples",
            of(
                &json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false, "minItems": 2}),
            ),
            vec![json!({"f": [1, 2.5]})],
        ),
        Case(
            "20,000 names that are not taken",
            json!({"type": "object", "properties": many("$"), "required": required}),
            vec![required.iter().map(|name| (name.clone(), json!("x"))).collect()],
        ),
        Case(
            "20,000 that may be absent",
            json!({"type": "object", "properties": many("$")}),
            vec![json!({"$p7": "x"})],
        ),
    ]
}

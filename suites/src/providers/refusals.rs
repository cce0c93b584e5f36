//! Schemas that are known to be refused, which the checker must refuse, and ones that are taken, which it must not.

use serde_json::{Value, json};

use crate::providers::checker::{Provider, beyond_ceilings, refusals};

/// A name, a schema, a provider, whether the schema is strict, and a part of the expected refusal. An empty refusal
/// means that the schema is accepted.
struct Case(&'static str, Value, Provider, bool, &'static str);

/// How many cases came out as known, and what is wrong with the others.
pub(crate) fn judge() -> (usize, Vec<String>) {
    let (mut passed, mut failures) = (0, Vec::new());
    for Case(name, schema, provider, is_strict, expected) in cases() {
        let found = refusals(&schema, provider, is_strict);
        let holds =
            if expected.is_empty() { found.is_empty() } else { found.iter().any(|refusal| refusal.contains(expected)) };
        if holds {
            passed += 1;
        } else {
            failures.push(format!("{name} to {provider}: expected {expected:?}, the checker says {found:?}"));
        }
    }
    for (name, schemas, expected) in requests() {
        let found = beyond_ceilings(&schemas);
        if found.iter().any(|it| it.contains(expected)) != expected.is_empty() {
            passed += 1;
        } else {
            failures.push(format!("{name}: expected {expected:?}, the checker says {found:?}"));
        }
    }
    (passed, failures)
}

/// A closed object of required properties.
fn object(properties: Value) -> Value {
    let names: Vec<String> = properties.as_object().into_iter().flat_map(|it| it.keys().cloned()).collect();
    json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
}

fn with(mut schema: Value, keyword: &str, value: Value) -> Value {
    if let Value::Object(map) = &mut schema {
        map.insert(keyword.to_owned(), value);
    }
    schema
}

fn without(mut schema: Value, keyword: &str) -> Value {
    if let Value::Object(map) = &mut schema {
        map.shift_remove(keyword);
    }
    schema
}

/// One property `a` of that schema.
fn of(schema: Value) -> Value {
    object(json!({ "a": schema }))
}

fn nested(levels: usize) -> Value {
    (1..levels).fold(of(json!({"type": "string"})), |inner, _| of(inner))
}

fn enumeration(count: usize, length: usize) -> Value {
    let values: Vec<String> = (0..count).map(|number| format!("{number:0length$}")).collect();
    json!({"type": "string", "enum": values})
}

fn wide(count: usize, length: usize) -> Value {
    object(Value::Object((0..count).map(|number| (format!("{number:0length$}"), json!({"type": "string"}))).collect()))
}

fn tree() -> Value {
    let node = object(json!({"next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}));
    with(of(json!({"$ref": "#/$defs/Node"})), "$defs", json!({ "Node": node }))
}

fn text() -> Value {
    json!({"type": "string"})
}

#[allow(clippy::too_many_lines)] // a table
fn cases() -> Vec<Case> {
    use Provider::{Anthropic, Gemini, OpenAiChat, OpenAiResponses};
    let loose = || json!({"type": "object", "properties": {}});
    let mut cases = vec![
        Case("root anyOf", with(loose(), "anyOf", json!([{}])), Anthropic, false, "`anyOf` at the root"),
        Case("root oneOf", with(loose(), "oneOf", json!([{}])), Anthropic, false, "`oneOf` at the root"),
        Case("root allOf", with(loose(), "allOf", json!([{}])), Anthropic, false, "`allOf` at the root"),
        Case("root without a type", json!({"properties": {}}), Anthropic, false, "the type is not `object`"),
        Case("no properties", json!({"type": "object"}), OpenAiChat, false, "no `properties`"),
        Case("a boolean schema", json!(true), OpenAiChat, false, "not an object"),
        Case(
            "$schema",
            with(loose(), "$schema", "https://json-schema.org/draft/2020-12/schema".into()),
            OpenAiChat,
            false,
            "`$schema`",
        ),
        Case("array without items", of(json!({"type": "array"})), OpenAiChat, false, "without `items`"),
        Case("an external reference", of(json!({"$ref": "https://example.com/a.json"})), Anthropic, false, "external"),
        Case("a dangling reference", of(json!({"$ref": "#/$defs/A"})), Gemini, false, "nowhere"),
        Case("an unknown type", of(json!({"type": "any"})), OpenAiChat, false, "unknown `type`"),
        Case("a key with brackets", object(json!({"filter[id]": text()})), Anthropic, false, "a property named"),
        Case("a key with a dot", object(json!({"a.b": text()})), Gemini, false, "a property named"),
        Case("a key with a dot", object(json!({"a.b": text()})), Anthropic, true, ""),
        Case("const", of(json!({"const": "a"})), Gemini, false, "`const`"),
        Case("a title", of(json!({"type": "string", "title": "A"})), Gemini, false, "`title`"),
        Case("examples", of(json!({"type": "string", "examples": ["a"]})), Gemini, false, "`examples`"),
        Case(
            "exclusiveMinimum",
            of(json!({"type": "integer", "exclusiveMinimum": 1})),
            Gemini,
            false,
            "`exclusiveMinimum`",
        ),
        Case("a format of strings", of(json!({"type": "string", "format": "date"})), Gemini, false, "`format`"),
        Case("oneOf", of(json!({"oneOf": [text()]})), Gemini, false, "`oneOf`"),
        Case("a large enum", of(enumeration(260, 3)), Gemini, false, "so many values"),
        Case("an undeclared required", with(loose(), "required", json!(["a"])), Gemini, false, "not declared"),
        Case("recursion", tree(), Anthropic, true, "recursion"),
        Case("recursion", tree(), Gemini, true, "recursion"),
        Case("a bound", of(json!({"type": "integer", "minimum": 1})), Anthropic, true, "`minimum`"),
        Case("minLength", of(json!({"type": "string", "minLength": 1})), Anthropic, true, "`minLength`"),
        Case("maxItems", of(json!({"type": "array", "items": text(), "maxItems": 3})), Anthropic, true, "`maxItems`"),
        Case("minItems 2", of(json!({"type": "array", "items": text(), "minItems": 2})), Anthropic, true, "`minItems`"),
        Case("minItems 1", of(json!({"type": "array", "items": text(), "minItems": 1})), Anthropic, true, ""),
        Case(
            "a map",
            of(json!({"type": "object", "properties": {}, "additionalProperties": text()})),
            Anthropic,
            true,
            "additionalProperties",
        ),
        Case("look-ahead", of(json!({"type": "string", "pattern": "(?=a)"})), Anthropic, true, "`pattern`"),
        Case("a word boundary", of(json!({"type": "string", "pattern": r"\ba"})), Anthropic, true, "`pattern`"),
        Case("format uri", of(json!({"type": "string", "format": "uri"})), Anthropic, true, ""),
        Case("format regex", of(json!({"type": "string", "format": "regex"})), Anthropic, true, "`format`"),
        Case(
            "an object in an enum",
            of(json!({"type": "object", "properties": {}, "additionalProperties": false, "enum": [{}]})),
            Anthropic,
            true,
            "plain values",
        ),
        Case(
            "allOf with $ref",
            with(of(json!({"allOf": [{"$ref": "#/$defs/A"}]})), "$defs", json!({"A": text()})),
            Anthropic,
            true,
            "`allOf` with `$ref`",
        ),
        Case(
            "optional",
            json!({"type": "object", "properties": {"a": text()}, "additionalProperties": false}),
            Anthropic,
            true,
            "",
        ),
        Case("a map of texts", of(json!({"type": "object", "additionalProperties": text()})), Gemini, true, ""),
        Case("an open object", without(of(text()), "additionalProperties"), Gemini, true, "additionalProperties"),
    ];
    for provider in [OpenAiChat, OpenAiResponses] {
        let nullable = |values: Value| of(json!({"type": ["string", "null"], "enum": values}));
        let definitions = |schema: Value| with(of(schema), "$defs", json!({"A": text()}));
        let described = json!({"$ref": "#/$defs/A", "description": "A."});
        cases.extend([
            Case("oneOf", of(json!({"oneOf": [text()]})), provider, true, "`oneOf`"),
            Case("allOf", of(json!({"allOf": [text()]})), provider, true, "`allOf`"),
            Case("not", of(json!({"type": "string", "not": {"enum": ["a"]}})), provider, true, "`not`"),
            Case("if", of(json!({"type": "string", "if": {}, "then": {}})), provider, true, "`if`"),
            Case(
                "root anyOf",
                with(object(json!({})), "anyOf", json!([object(json!({}))])),
                provider,
                true,
                "at the root",
            ),
            Case("root $ref", with(object(json!({})), "$ref", "#/$defs/A".into()), provider, true, "at the root"),
            Case("a sibling of $ref", definitions(described), provider, true, "a sibling of `$ref`"),
            Case(
                "wrapped $ref",
                definitions(json!({"anyOf": [{"$ref": "#/$defs/A"}], "description": "A."})),
                provider,
                true,
                "",
            ),
            Case(
                "not closed",
                without(of(text()), "additionalProperties"),
                provider,
                true,
                "additionalProperties: false",
            ),
            Case(
                "an inner object not closed",
                of(without(of(text()), "additionalProperties")),
                provider,
                true,
                "additionalProperties: false",
            ),
            Case(
                "a map",
                of(json!({"type": "object", "properties": {}, "additionalProperties": text()})),
                provider,
                true,
                "additionalProperties: false",
            ),
            Case("an optional property", with(of(text()), "required", json!([])), provider, true, "not required"),
            Case("an untyped property", of(json!({})), provider, true, "untyped"),
            Case("untyped items", of(json!({"type": "array", "items": {}})), provider, true, "untyped"),
            Case(
                "a bare object",
                of(json!({"type": "object", "additionalProperties": false})),
                provider,
                true,
                "an object without `properties`",
            ),
            Case("format uri", of(json!({"type": "string", "format": "uri"})), provider, true, "`format`"),
            Case("look-behind", of(json!({"type": "string", "pattern": "(?<!a)b"})), provider, true, "`pattern`"),
            Case("minLength", of(json!({"type": "string", "minLength": 1})), provider, true, "`minLength`"),
            Case("default", of(json!({"type": "string", "default": "a"})), provider, true, "`default`"),
            Case("a nullable enum", nullable(json!(["a"])), provider, true, "without `null`"),
            Case("a nullable enum with null", nullable(json!(["a", null])), provider, true, ""),
            Case("11 levels", nested(11), provider, true, "10 levels"),
            Case("10 levels", nested(10), provider, true, ""),
            Case("5,001 properties", wide(5_001, 4), provider, true, "5,000 properties"),
            Case("long names", wide(1_000, 121), provider, true, "120,000 characters"),
            Case("1,001 values", of(enumeration(1_001, 4)), provider, true, "1,000 values"),
            Case("a long enum", of(enumeration(251, 60)), provider, true, "250 values"),
            Case("recursion", tree(), provider, true, ""),
            Case(
                "keywords as names",
                object(json!({"required": text(), "$ref": text(), "oneOf": text()})),
                provider,
                true,
                "",
            ),
        ]);
    }
    cases
}

/// Requests to Anthropic, and a part of what the checker has to say.
fn requests() -> Vec<(&'static str, Vec<Value>, &'static str)> {
    let optional = |count: usize| without(wide(count, 2), "required");
    let unions = |count: usize| {
        let union = |number: usize| (format!("a{number}"), json!({"type": ["string", "null"]}));
        object(Value::Object((0..count).map(union).collect()))
    };
    vec![
        ("21 strict tools", vec![of(text()); 21], "20 strict tools"),
        ("20 strict tools", vec![of(text()); 20], ""),
        ("25 optional parameters", vec![optional(13), optional(12)], "24 optional"),
        ("24 optional parameters", vec![optional(12), optional(12)], ""),
        ("17 unions", vec![unions(17)], "16 parameters"),
        ("16 unions", vec![unions(16)], ""),
    ]
}

//! What the providers of models are given for a schema, and what comes back from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_schema::provider::{Dialect, Nulls, Rewrite, loose, strict};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini];

/// The arguments of a tool with one required property `a`.
fn of(schema: Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}, "required": ["a"]})
}

fn property(rewrite: &Rewrite) -> &Value {
    &rewrite.schema["properties"]["a"]
}

/// What a property becomes in a strict schema.
fn strictly(schema: Value, dialect: Dialect) -> Value {
    let rewrite = strict(&of(schema), dialect).expect("a schema that can be strict");
    assert!(rewrite.is_strict);
    property(&rewrite).clone()
}

fn reason(schema: &Value, dialect: Dialect) -> (String, String) {
    let not = strict(schema, dialect).expect_err("a schema that cannot be strict");
    (not.pointer, not.why)
}

#[test]
fn optional_properties_of_openai_are_required_and_nullable() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "depth": {"type": "integer", "minimum": 1},
            "order": {"enum": ["up", "down"]},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "Some tags."},
            "page": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": null},
            "either": {"oneOf": [{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}, {"type": "string"}]},
        },
        "required": ["path"],
    });
    let closed = json!({
        "type": "object",
        "properties": {"x": {"type": "string"}},
        "required": ["x"],
        "additionalProperties": false,
    });
    let openai = strict(&schema, Dialect::OpenAi).expect("strict");
    assert_eq!(
        openai.schema,
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "depth": {"type": ["integer", "null"], "minimum": 1},
                "order": {"type": ["string", "null"], "enum": ["up", "down", null]},
                "tags": {
                    "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                    "description": "Some tags.",
                },
                "page": {"type": ["integer", "null"]},
                "either": {"anyOf": [closed, {"type": "string"}, {"type": "null"}]},
            },
            "required": ["path", "depth", "order", "tags", "page", "either"],
            "additionalProperties": false,
        })
    );
    let anthropic = strict(&schema, Dialect::Anthropic).expect("strict");
    assert_eq!(anthropic.schema["required"], json!(["path"]));
    assert_eq!(anthropic.schema["properties"]["depth"], json!({"type": "integer", "description": "At least 1"}));
    assert_eq!((anthropic.load.optional, anthropic.load.unions), (5, 2));
}

#[test]
fn what_no_keyword_says_is_said_in_words() {
    let text = json!({"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^(?=a)", "format": "uri", "description": "A link."});
    let words = "A link. (not empty; at most 9 characters; matches ^(?=a); format uri)";
    assert_eq!(strictly(text.clone(), Dialect::OpenAi), json!({"type": "string", "description": words}));
    let rewrite = strict(&of(text.clone()), Dialect::OpenAi).unwrap();
    let lost: Vec<&str> = rewrite.lost.iter().map(|lost| lost.keyword.as_str()).collect();
    assert_eq!(lost, ["minLength", "maxLength", "pattern", "format"]);
    assert!(rewrite.lost.iter().all(|lost| lost.pointer == "/properties/a" && lost.words.is_some()));
    let anthropic = strictly(text.clone(), Dialect::Anthropic);
    assert_eq!(anthropic["format"], "uri");
    let gemini = strictly(text, Dialect::Gemini);
    assert_eq!((&gemini["minLength"], &gemini["maxLength"]), (&json!(1), &json!(9)));
    assert_eq!(gemini["description"], "A link. (matches ^(?=a); format uri)");

    let number = json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 10, "default": 5});
    assert_eq!(
        strictly(number.clone(), Dialect::OpenAi),
        json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 10, "description": "Default 5"})
    );
    assert_eq!(
        strictly(number.clone(), Dialect::Anthropic),
        json!({"type": "integer", "default": 5, "description": "More than 0; at most 10"})
    );
    assert_eq!(
        strictly(number, Dialect::Gemini),
        json!({"type": "integer", "minimum": 1, "maximum": 10, "default": 5})
    );
}

#[test]
fn references_stand_alone() {
    let schema = json!({
        "type": "object",
        "properties": {
            "from": {"$ref": "#/$defs/Place", "description": "Where it begins."},
            "to": {"$ref": "#/$defs/Place"},
        },
        "required": ["from", "to"],
        "$defs": {"Place": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    });
    let rewrite = strict(&schema, Dialect::OpenAi).unwrap();
    let properties = &rewrite.schema["properties"];
    assert_eq!(properties["to"], json!({"$ref": "#/$defs/Place"}));
    assert_eq!(properties["from"], json!({"anyOf": [{"$ref": "#/$defs/Place"}], "description": "Where it begins."}));
    assert_eq!(rewrite.schema["$defs"]["Place"]["additionalProperties"], json!(false));
    let anthropic = strict(&schema, Dialect::Anthropic).unwrap();
    assert_eq!(anthropic.schema["properties"]["from"]["description"], "Where it begins.");
    assert_eq!(anthropic.schema["properties"]["from"]["type"], "object");
    assert_eq!(anthropic.load.unions, 0);
}

#[test]
fn recursion_is_for_openai_alone() {
    let schema = json!({
        "type": "object",
        "properties": {"filter": {"$ref": "#/$defs/Filter"}},
        "$defs": {"Filter": {"type": "object", "properties": {
            "field": {"type": "string"},
            "and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}},
        }}},
    });
    let rewrite = strict(&schema, Dialect::OpenAi).unwrap();
    assert_eq!(
        rewrite.schema["properties"]["filter"],
        json!({"anyOf": [{"$ref": "#/$defs/Filter"}, {"type": "null"}]})
    );
    for dialect in [Dialect::Anthropic, Dialect::Gemini] {
        assert_eq!(reason(&schema, dialect).1, "a schema that leads back to itself");
        assert_eq!(loose(&schema, dialect).schema["properties"]["filter"], json!({"$ref": "#/$defs/Filter"}));
    }
    let root = json!({"type": "object", "properties": {"not": {"$ref": "#"}, "field": {"type": "string"}}});
    let rewrite = strict(&root, Dialect::OpenAi).unwrap();
    assert_eq!(rewrite.schema["properties"]["not"], json!({"anyOf": [{"$ref": "#"}, {"type": "null"}]}));
    let mut sent = json!({"not": {"not": null, "field": "a"}, "field": null});
    Nulls::of(&root).take_out(&mut sent);
    assert_eq!(sent, json!({"not": {"field": "a"}}));
}

#[test]
fn one_of_is_strict_where_its_branches_exclude_each_other() {
    let of_kind = |kind: &str, key: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, key: {"type": "string"}}, "required": ["kind", key]});
    let tagged = json!({"oneOf": [of_kind("file", "path"), of_kind("link", "url")]});
    let branch = |kind: &str, key: &str| {
        json!({
            "type": "object",
            "properties": {"kind": {"type": "string", "enum": [kind]}, key: {"type": "string"}},
            "required": ["kind", key],
            "additionalProperties": false,
        })
    };
    for dialect in DIALECTS {
        assert_eq!(
            strictly(tagged.clone(), dialect),
            json!({"anyOf": [branch("file", "path"), branch("link", "url")]})
        );
    }
    for overlapping in [
        json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
        json!({"oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"b": {"type": "string"}}},
        ]}),
    ] {
        let expected =
            ("/properties/a/oneOf".to_owned(), "branches of `oneOf` that a value may fit several of".to_owned());
        assert_eq!(reason(&of(overlapping.clone()), Dialect::OpenAi), expected);
        assert!(loose(&of(overlapping), Dialect::OpenAi).lost.iter().any(|lost| lost.keyword == "oneOf"));
    }
    // Apart by kind, and by a key that one requires and the other does not have.
    strictly(json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), Dialect::OpenAi);
    let one = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    let other = json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false});
    strictly(json!({"oneOf": [one, other]}), Dialect::OpenAi);
}

#[test]
fn all_of_is_merged() {
    let schema = json!({
        "allOf": [
            {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
            {"type": "object", "properties": {"y": {"type": "integer", "maximum": 9}}, "required": ["y"]},
        ],
    });
    assert_eq!(
        strictly(schema, Dialect::OpenAi),
        json!({
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "maximum": 9}},
            "required": ["x", "y"],
            "additionalProperties": false,
        })
    );
}

#[test]
fn what_would_lose_values_is_not_strict() {
    let open = "an object of any keys beside those that it declares";
    for (schema, why) in [
        (json!({}), "any value"),
        (json!(true), "any value"),
        (json!({"type": ["object", "string"]}), "an object of any keys"),
        (json!({"type": "object"}), "an object of any keys"),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), "an object of any keys"),
        (json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}), "an object of any keys"),
        (json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true}), open),
        (json!({"type": "array"}), "items of any kind"),
        (json!({"type": "array", "items": {}}), "any value"),
        (json!({"enum": ["a", {"b": 1}]}), "listed values that are objects or arrays"),
        (json!({"$ref": "https://example.com/elsewhere.json"}), "any value"),
        (json!({"type": "any"}), "any value"),
    ] {
        for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
            let found = reason(&of(schema.clone()), dialect).1;
            assert!(found == why || (why == "items of any kind" && found == "any value"), "{schema}: {found}");
        }
    }
    // A tool that says nothing of its arguments has none.
    for nothing in [json!({"type": "object"}), json!({"type": "object", "properties": {}})] {
        assert!(strict(&nothing, Dialect::OpenAi).is_ok());
    }
    assert!(strict(&json!({"type": "object", "additionalProperties": true}), Dialect::OpenAi).is_err());
    let map = of(json!({"type": "object", "additionalProperties": {"type": "string"}}));
    assert_eq!(
        strict(&map, Dialect::Gemini).unwrap().schema["properties"]["a"],
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    );
}

#[test]
fn optional_or_null_cannot_be_strict_for_openai_and_is_kept_apart() {
    let schema = json!({"type": "object", "properties": {"assignee": {"type": ["string", "null"]}}});
    let expected = "absent and `null` are two things, of which only one can be sent";
    assert_eq!(reason(&schema, Dialect::OpenAi), ("/properties/assignee".to_owned(), expected.to_owned()));
    assert!(strict(&schema, Dialect::Anthropic).is_ok() && strict(&schema, Dialect::Gemini).is_ok());
}

#[test]
fn limits_of_openai_are_kept() {
    let nested = |levels: usize| (1..levels).fold(of(json!({"type": "string"})), |inner, _| of(inner));
    assert!(strict(&nested(10), Dialect::OpenAi).is_ok());
    assert_eq!(reason(&nested(11), Dialect::OpenAi).1, "more levels than are taken");
    let values = |count: usize| of(json!({"enum": (0..count).map(|number| format!("v{number}")).collect::<Vec<_>>()}));
    assert!(strict(&values(1_000), Dialect::OpenAi).is_ok());
    assert_eq!(reason(&values(1_001), Dialect::OpenAi).1, "more listed values than are taken");
    assert_eq!(reason(&values(101), Dialect::Gemini).1, "more listed values than are taken");
    assert!(property(&loose(&values(101), Dialect::Gemini)).get("enum").is_none());
}

#[test]
fn names_that_are_not_taken_are_given_back() {
    let schema = json!({"type": "object", "properties": {
        "$filter": {"type": "string", "description": "An expression."},
        "filter[id]": {"type": "integer"},
        "plain": {"type": "string"},
        "inner": {"type": "object", "properties": {"If-Match": {"type": "string"}}},
    }});
    let rewrite = strict(&schema, Dialect::Anthropic).unwrap();
    let properties = &rewrite.schema["properties"];
    assert_eq!(properties["_filter"]["description"], "An expression. (named \"$filter\")");
    assert_eq!(properties["filter_id_"]["type"], "integer");
    assert!(properties["inner"]["properties"].get("If-Match").is_some());
    assert_eq!(rewrite.renamed.len(), 2);
    let gemini = loose(&schema, Dialect::Gemini);
    assert!(gemini.schema["properties"]["inner"]["properties"].get("If_Match").is_some());
    assert!(loose(&schema, Dialect::OpenAi).renamed.is_empty());

    let nulls = Nulls::of(&schema);
    let mut sent = json!({"_filter": "a eq 1", "filter_id_": 5, "plain": null, "inner": {"If_Match": "x"}});
    nulls.take_out(&mut sent);
    assert_eq!(sent, json!({"$filter": "a eq 1", "filter[id]": 5, "inner": {"If-Match": "x"}}));
    let mut direct = json!({"$filter": "a", "filter[id]": null});
    nulls.take_out(&mut direct);
    assert_eq!(direct, json!({"$filter": "a"}));
}

#[test]
fn keywords_as_names_are_data() {
    let names = ["required", "properties", "type", "$ref", "default", "enum", "additionalProperties", "null", "$defs"];
    let properties: Value = names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["type"]});
    for dialect in [Dialect::OpenAi, Dialect::Anthropic] {
        let rewrite = strict(&schema, dialect).unwrap();
        let given = rewrite.schema["properties"].as_object().unwrap();
        assert_eq!(given.keys().map(String::as_str).collect::<Vec<_>>().len(), names.len());
        assert_eq!(given["type"], json!({"type": "string"}));
    }
    let mut sent =
        json!({"required": null, "properties": null, "type": "a", "$ref": null, "default": null, "enum": "b"});
    Nulls::of(&schema).take_out(&mut sent);
    assert_eq!(sent, json!({"type": "a", "enum": "b"}));
}

#[test]
fn whatever_it_is_the_root_is_an_object() {
    for schema in [
        json!(true),
        json!(false),
        json!(null),
        json!("string"),
        json!([]),
        json!({}),
        json!({"type": "string"}),
        json!({"type": "object", "properties": []}),
        json!({"properties": {"a": 5}, "required": "a"}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {}}}}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"allOf": [{"anyOf": [{"properties": {"a": {"$ref": "other.json"}}}, {"type": "object"}]}]}),
    ] {
        for dialect in DIALECTS {
            let rewrite = loose(&schema, dialect);
            let root = rewrite.schema.as_object().expect("an object");
            assert!(root["type"] == "object" && root["properties"].is_object(), "{schema}: {}", rewrite.schema);
            for keyword in ["anyOf", "oneOf", "allOf", "$ref", "$schema", "enum", "not"] {
                assert!(!root.contains_key(keyword), "{schema}: {}", rewrite.schema);
            }
        }
    }
}

#[test]
fn alternatives_of_the_root_become_one_object_that_tells_them() {
    let schema = json!({
        "description": "Opens one.",
        "oneOf": [
            {"type": "object", "properties": {"kind": {"const": "id"}, "id": {"type": "integer"}}, "required": ["kind", "id"]},
            {"type": "object", "properties": {"kind": {"const": "name"}, "name": {"type": "string"}}, "required": ["kind", "name"]},
        ],
    });
    let rewrite = loose(&schema, Dialect::Anthropic);
    assert_eq!(
        rewrite.schema,
        json!({
            "type": "object",
            "properties": {
                "kind": {"type": "string", "enum": ["id", "name"]},
                "id": {"type": "integer"},
                "name": {"type": "string"},
            },
            "required": ["kind"],
            "description": "Opens one. (either kind \"id\" with id, or kind \"name\" with name)",
        })
    );
    assert_eq!(reason(&schema, Dialect::OpenAi).1, "alternatives of the arguments as a whole");
}

#[test]
fn nulls_are_taken_out_at_every_depth_by_the_original() {
    let schema = json!({
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
            "pair": {"type": "array", "prefixItems": [{"$ref": "#/$defs/Item"}, {"type": ["integer", "null"]}], "minItems": 2, "maxItems": 2},
            "either": {"anyOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}, "x": {"type": ["string", "null"]}}, "required": ["kind"]},
            ]},
            "both": {"allOf": [{"$ref": "#/$defs/Item"}, {"properties": {"more": {"type": "string"}}}]},
            "map": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Item"}},
            "matching": {"type": "object", "patternProperties": {"^x-": {"$ref": "#/$defs/Item"}}},
            "needed": {"type": ["string", "null"]},
        },
        "required": ["needed"],
        "$defs": {"Item": {"type": "object", "properties": {
            "note": {"type": "string"},
            "next": {"$ref": "#/$defs/Item"},
            "free": {"type": ["string", "null"]},
        }}},
    });
    let item = json!({"note": null, "next": {"note": null, "next": null, "free": null}, "free": "x", "unknown": null});
    let clean = json!({"next": {"free": null}, "free": "x", "unknown": null});
    let mut sent = json!({
        "list": [item, null],
        "pair": [item, null],
        "either": {"kind": "a", "x": null},
        "both": {"note": null, "more": null},
        "map": {"k": item},
        "matching": {"x-a": item},
        "needed": null,
    });
    let nulls = Nulls::of(&schema);
    nulls.take_out(&mut sent);
    assert_eq!(
        sent,
        json!({
            "list": [clean, null],
            "pair": [clean, null],
            "either": {"kind": "a"},
            "both": {},
            "map": {"k": clean},
            "matching": {"x-a": clean},
            "needed": null,
        })
    );
    let mut other = json!({"either": {"kind": "b", "x": null}, "list": null, "needed": "x"});
    nulls.take_out(&mut other);
    assert_eq!(other, json!({"either": {"kind": "b", "x": null}, "needed": "x"}));
}

#[test]
fn what_fits_nothing_is_left_as_it_is() {
    let nulls = Nulls::of(&of(json!({"type": "string"})));
    for value in [json!(null), json!([null]), json!("x"), json!({"a": null}), json!({"b": null})] {
        let mut sent = value.clone();
        nulls.take_out(&mut sent);
        assert_eq!(sent, value);
    }
}

#[test]
fn the_order_of_keys_is_that_of_the_schema_every_time() {
    let schema = json!({"type": "object", "properties": {"z": {"$ref": "#/$defs/B"}, "a": {"$ref": "#/$defs/A"}, "y": {"$ref": "#/$defs/B"}, "b": {"$ref": "#/$defs/A"}},
        "$defs": {"B": {"type": "object", "properties": {"b": {"type": "string"}}}, "A": {"type": "object", "properties": {"a": {"type": "string"}}}}});
    let first = strict(&schema, Dialect::OpenAi).unwrap().schema.to_string();
    for _ in 0..20 {
        assert_eq!(strict(&schema, Dialect::OpenAi).unwrap().schema.to_string(), first);
    }
    let rewrite = strict(&schema, Dialect::OpenAi).unwrap();
    assert_eq!(rewrite.schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["z", "a", "y", "b"]);
    assert_eq!(rewrite.schema["$defs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["A", "B"]);
}

//! Tests the schemas that model providers receive, and the arguments that they return.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use mcp_bindgen_schema::provider::{Dialect, Nulls, Rewrite, loose, strict};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini];

/// The arguments of a tool with one required property `a`.
fn of(schema: Value) -> Value {
    json!({"type": "object", "properties": {"a": schema}, "required": ["a"]})
}

fn property(rewrite: &Rewrite) -> &Value {
    &rewrite.schema["properties"]["a"]
}

/// Returns the property in a strict schema.
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
fn optional_properties_are_required_and_nullable_for_openai() {
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
fn unsupported_keywords_are_added_to_the_description() {
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
fn references_have_no_sibling_keywords() {
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
fn recursive_schemas_are_strict_only_for_openai() {
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
fn one_of_is_strict_only_if_its_branches_are_exclusive() {
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
fn lossy_schema_is_not_strict() {
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
fn property_both_optional_and_nullable_is_not_strict_for_openai() {
    let schema = json!({"type": "object", "properties": {"assignee": {"type": ["string", "null"]}}});
    let expected = "absent and `null` are two things, of which only one can be sent";
    assert_eq!(reason(&schema, Dialect::OpenAi), ("/properties/assignee".to_owned(), expected.to_owned()));
    assert!(strict(&schema, Dialect::Anthropic).is_ok() && strict(&schema, Dialect::Gemini).is_ok());
}

#[test]
fn provider_limits_are_enforced() {
    let nested = |levels: usize| (1..levels).fold(of(json!({"type": "string"})), |inner, _| of(inner));
    assert!(strict(&nested(10), Dialect::OpenAi).is_ok());
    assert_eq!(reason(&nested(11), Dialect::OpenAi).1, "more levels than are taken");
    let values = |count: usize| of(json!({"enum": (0..count).map(|number| format!("v{number}")).collect::<Vec<_>>()}));
    assert!(strict(&values(1_000), Dialect::OpenAi).is_ok());
    assert_eq!(reason(&values(1_001), Dialect::OpenAi).1, "more listed values than are taken");
    assert_eq!(reason(&values(101), Dialect::Gemini).1, "more listed values than are taken");
    assert!(property(&loose(&values(101), Dialect::Gemini)).get("enum").is_none());
}

/// The levels of schemas that lead back to each other are those of the longest way.
#[test]
fn levels_of_recursive_schemas_do_not_depend_on_the_order_of_properties() {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let text = json!({"type": "string"});
    let or_null = |name: &str| json!({"anyOf": [{"$ref": format!("#/$defs/{name}")}, {"type": "null"}]});
    let chain = (0..8).fold(text.clone(), |inner, _| object(json!({"x": inner}), &["x"]));
    let definitions = json!({
        "a": object(json!({"b": or_null("b"), "c": chain}), &["b", "c"]),
        "b": object(json!({"a": or_null("a"), "s": text}), &["a", "s"]),
    });
    let whys = [["a", "b"], ["b", "a"]].map(|[first, second]| {
        let text = format!(r##"{{"{first}":{{"$ref":"#/$defs/{first}"}},"{second}":{{"$ref":"#/$defs/{second}"}}}}"##);
        let mut schema = object(serde_json::from_str(&text).unwrap(), &["a", "b"]);
        schema["$defs"] = definitions.clone();
        reason(&schema, Dialect::OpenAi).1
    });
    assert_eq!(whys, ["more levels than are taken"; 2]);
}

#[test]
fn invalid_property_names_are_aliased_and_restored() {
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
fn property_names_that_equal_keywords_are_data() {
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
fn root_schema_is_always_an_object() {
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
fn root_alternatives_become_one_described_object() {
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
fn nulls_are_removed_at_every_depth_by_the_original_schema() {
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
fn values_that_match_no_schema_are_unchanged() {
    let nulls = Nulls::of(&of(json!({"type": "string"})));
    for value in [json!(null), json!([null]), json!("x"), json!({"a": null}), json!({"b": null})] {
        let mut sent = value.clone();
        nulls.take_out(&mut sent);
        assert_eq!(sent, value);
    }
}

#[test]
fn key_order_follows_the_schema_deterministically() {
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

/// Returns the arguments after the placeholder nulls of the schema are removed.
fn taken(schema: &Value, mut sent: Value) -> Value {
    Nulls::of(schema).take_out(&mut sent);
    sent
}

#[test]
fn invalid_tag_names_are_aliased_and_restored() {
    let branch = |tag: &str, kind: &str, key: &str| {
        json!({"type": "object", "required": [tag], "properties": {
            tag: {"const": kind, "description": "Which."}, key: {"type": "string"},
        }})
    };
    let schema = of(json!({"oneOf": [branch("@type", "a", "v"), branch("@type", "b", "w")]}));
    for (rewrite, sent) in [
        (strict(&schema, Dialect::Anthropic).unwrap(), "_type"),
        (loose(&schema, Dialect::Gemini), "_type"),
        (strict(&schema, Dialect::OpenAi).unwrap(), "@type"),
    ] {
        let branches = property(&rewrite)["anyOf"].as_array().unwrap();
        for (branch, (kind, key)) in branches.iter().zip([("a", "v"), ("b", "w")]) {
            let properties = branch["properties"].as_object().unwrap();
            assert_eq!(properties.keys().collect::<Vec<_>>(), [sent, key]);
            assert_eq!(properties[sent]["enum"], json!([kind]));
            let description = if sent == "@type" { "Which." } else { "Which. (named \"@type\")" };
            assert_eq!(properties[sent]["description"], description);
            assert_eq!(branch["required"][0], sent);
        }
        assert_eq!(rewrite.renamed.len(), if sent == "@type" { 0 } else { 2 });
    }
    assert_eq!(taken(&schema, json!({"a": {"_type": "b", "w": null}})), json!({"a": {"@type": "b"}}));
    assert_eq!(taken(&schema, json!({"a": {"@type": "b", "w": null}})), json!({"a": {"@type": "b"}}));

    let root = json!({"type": "object", "oneOf": [branch("$kind", "a", "v"), branch("$kind", "b", "$w")]});
    let rewrite = loose(&root, Dialect::Anthropic);
    assert_eq!(rewrite.schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["_kind", "v", "_w"]);
    assert_eq!(rewrite.schema["required"], json!(["_kind"]));
    let words = rewrite.schema["description"].as_str().unwrap();
    assert!(words.contains("_kind \"a\"") && !words.contains('$'), "{words}");
    assert_eq!(taken(&root, json!({"_kind": "b", "_w": "x"})), json!({"$kind": "b", "$w": "x"}));
}

#[test]
fn aliasing_time_is_linear_in_the_number_of_names() {
    let count = 10_000;
    let property = || json!({"type": "string", "minLength": 1});
    let properties: Value = (0..count).map(|number| (format!("$p{number}"), property())).collect();
    let required: Vec<String> = (0..count).map(|number| format!("$p{number}")).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let started = std::time::Instant::now();
    let rewrite = loose(&schema, Dialect::Gemini);
    assert_eq!((rewrite.renamed.len(), rewrite.lost.len()), (count, 0));
    let sent: Value = (0..count).map(|number| (format!("_p{number}"), json!("x"))).collect();
    let back = taken(&schema, sent);
    assert!(back.as_object().unwrap().keys().eq(&required));
    // 4,000 took 12 s when each name was compared with all others.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn candidates_of_patterns_are_limited() {
    let (count, branches, keys) = (63, 300, 10_000);
    let branch = |number: usize| json!({"type": "object", "properties": {format!("b{number}"): {"type": "string"}}});
    let patterns: Value = (0..count).map(|number| (format!("^k{number}"), json!({"$ref": "#/$defs/U"}))).collect();
    let any_of: Vec<Value> = (0..branches).map(branch).collect();
    let schema = json!({"type": "object", "patternProperties": patterns, "$defs": {"U": {"anyOf": any_of}}});
    let sent: Value = (0..keys).map(|number| (format!("k{number}"), json!({}))).collect();
    let nulls = Nulls::of(&schema);
    let started = std::time::Instant::now();
    let mut back = sent.clone();
    nulls.take_out(&mut back);
    assert_eq!(back, sent);
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn object_without_declared_properties_stays_open() {
    let declared = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for free in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}}),
        json!({"type": "object", "minProperties": 1}),
    ] {
        let schema = of(json!({"anyOf": [declared, free]}));
        for dialect in DIALECTS {
            assert_eq!(reason(&schema, dialect).1, "an object of any keys", "{schema}");
        }
    }
    let closed = json!({"type": "object", "additionalProperties": false});
    for schema in [of(json!({"anyOf": [declared, closed]})), of(closed)] {
        assert!(DIALECTS.iter().all(|dialect| strict(&schema, *dialect).is_ok()), "{schema}");
    }
}

#[test]
fn nulls_that_an_open_alternative_accepts_are_preserved() {
    let declared = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for open in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true}),
        json!({"type": "object", "additionalProperties": {"type": ["string", "null"]}}),
        json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"c": {"type": "string"}}}]}}),
        json!({}),
        json!({"type": ["object", "string"]}),
    ] {
        let schema = of(json!({"anyOf": [declared, open]}));
        let value = json!({"a": {"a": null}});
        assert_eq!(taken(&schema, value.clone()), value, "{schema}");
    }
    // A schema that does not mention other keys counts as closed, because the model had to send the null.
    for closed in [
        json!({"type": "object", "properties": {"b": {"type": "string"}}}),
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
    ] {
        let schema = of(json!({"anyOf": [declared, closed]}));
        assert_eq!(taken(&schema, json!({"a": {"a": null}})), json!({"a": {}}), "{schema}");
    }
}

#[test]
fn key_that_is_not_an_alias_is_unchanged() {
    let open = json!({"type": "object", "properties": {"$filter": {"type": "string"}}, "additionalProperties": true});
    assert_eq!(taken(&open, json!({"_filter": "a"})), json!({"_filter": "a"}));
    let rewrite = loose(&open, Dialect::Anthropic);
    let sent = rewrite.renamed[0].sent.clone();
    assert!(sent.starts_with("_filter_") && rewrite.schema["properties"].get(&sent).is_some(), "{sent}");
    assert_eq!(taken(&open, json!({ sent: "a", "_filter": "b" })), json!({"$filter": "a", "_filter": "b"}));

    // The hash is a name as well.
    let first = json!({"type": "object", "properties": {"$filter": {"type": "string"}, "_filter": {"type": "string"}}});
    let hashed = loose(&first, Dialect::Anthropic).renamed[0].sent.clone();
    let mut second = first;
    second["properties"][&hashed] = json!({"type": "string"});
    let rewrite = loose(&second, Dialect::Anthropic);
    let properties = rewrite.schema["properties"].as_object().unwrap();
    assert_eq!(properties.len(), 3);
    let sent: Value = properties.keys().map(|key| (key.clone(), json!(key))).collect();
    let back = taken(&second, sent);
    assert_eq!(back["$filter"], rewrite.renamed[0].sent.as_str());
    assert_eq!((&back["_filter"], &back[&hashed]), (&json!("_filter"), &json!(hashed)));

    // Two alternatives, and what one calls its own the other has as an alias.
    let either = json!({"oneOf": [
        {"type": "object", "properties": {"$a": {"type": "string"}}, "required": ["$a"]},
        {"type": "object", "properties": {"_a": {"type": "string"}}, "required": ["_a"]},
        {"type": "object", "properties": {"@a": {"type": "string"}}, "required": ["@a"]},
    ]});
    let rewrite = loose(&either, Dialect::Gemini);
    assert_eq!(rewrite.schema["properties"].as_object().unwrap().len(), 3);
    for (wire, sent) in
        rewrite.renamed.iter().map(|it| (&it.wire, &it.sent)).chain([(&"_a".to_owned(), &"_a".to_owned())])
    {
        assert_eq!(taken(&either, json!({ sent: "x" })), json!({ wire: "x" }));
    }
}

#[test]
fn tuple_length_is_described_if_no_keyword_expresses_it() {
    let pair = json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "number"}], "items": false, "minItems": 2});
    let rewrite = strict(&of(pair.clone()), Dialect::Anthropic).unwrap();
    assert_eq!(property(&rewrite)["items"], json!({"type": "number"}));
    let words = property(&rewrite)["description"].as_str().unwrap();
    assert!(words.starts_with("Exactly 2 items"), "{words}");
    assert!(
        rewrite
            .lost
            .iter()
            .any(|lost| lost.keyword == "prefixItems" && lost.words.as_deref() == Some("exactly 2 items"))
    );
    for dialect in [Dialect::OpenAi, Dialect::Gemini] {
        let rewrite = strict(&of(pair.clone()), dialect).unwrap();
        let expected = json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2});
        assert_eq!((property(&rewrite), rewrite.lost.as_slice()), (&expected, [].as_slice()));
    }
    let mixed = json!({"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": false, "minItems": 2});
    let words = &strictly(mixed, Dialect::OpenAi)["description"];
    assert_eq!(words, "Exactly 2 items, each of its own kind");
}

#[test]
fn duplicate_alternatives_are_printed_once() {
    let one = |keys: [&str; 1]| json!({"type": "object", "properties": {keys[0]: {"type": "string"}, "x": {"type": "string"}}, "required": keys});
    let schema = json!({"anyOf": [one(["a"]), one(["b"]), one(["a"])]});
    let words = loose(&schema, Dialect::OpenAi).schema["description"].to_string();
    assert_eq!(words.matches('a').count(), "\"Either a, or b\"".matches('a').count(), "{words}");
    let either = json!({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "array", "items": {"type": "string"}, "title": "Again"}]});
    assert_eq!(property(&loose(&of(either), Dialect::Gemini))["anyOf"].as_array().unwrap().len(), 2);
}

#[test]
fn loose_root_accepts_additional_properties_of_open_branches() {
    let declared = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let branch =
        |open: Value| json!({"type": "object", "properties": {"b": {"type": "boolean"}}, "additionalProperties": open});
    for dialect in DIALECTS {
        let a = |open: Value| {
            let schema = json!({"type": "object", "anyOf": [declared, branch(open)]});
            property(&loose(&schema, dialect)).to_string()
        };
        assert!(a(json!({"type": "string"})).contains("string"), "{dialect:?}: strings under other keys");
        assert!(!a(json!(true)).starts_with(r#"{"type":"integer""#), "{dialect:?}: anything under other keys");
        assert_eq!(a(json!(false)), r#"{"type":"integer"}"#, "{dialect:?}: no other keys");
    }
}

#[test]
fn nested_conjunctions_are_rewritten_in_bounded_time() {
    let definition = |level: usize| json!({ "allOf": vec![json!({ "$ref": format!("#/$defs/d{}", level + 1) }); 30] });
    let mut definitions: serde_json::Map<String, Value> =
        (0..6).map(|level| (format!("d{level}"), definition(level))).collect();
    definitions.insert("d6".to_owned(), json!({ "minProperties": 1 }));
    let one_of = json!({ "oneOf": [{ "type": "object" }, { "$ref": "#/$defs/d0" }] });
    let schema = json!({ "type": "object", "properties": { "a": one_of }, "$defs": definitions });
    let started = std::time::Instant::now();
    for dialect in DIALECTS {
        let _ = (loose(&schema, dialect), strict(&schema, dialect));
    }
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

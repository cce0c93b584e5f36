//! Conditions of policies that no arguments can meet are refused, and those that some arguments can meet are not.

use mcp_bindgen_codegen::Options;
use mcp_bindgen_model::{Config, Snapshot};
use mcp_bindgen_schema::apply_views;

const TOOLS: &str = r##"{"tools": [
    {"name": "put", "inputSchema": {"type": "object", "properties": {
        "entities": {"type": "array", "items": {"$ref": "#/$defs/Entity"}},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2},
        "tags": {"type": ["array", "null"], "items": {"type": "string"}},
        "mode": {"enum": ["open", "closed"]},
        "level": {"enum": [1, 2, "high"]},
        "size": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "target": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"id": {"type": "integer"}}}]},
        "shape": {"oneOf": [
            {"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind"]},
            {"type": "object", "properties": {"kind": {"const": "b"}, "y": {"type": "number"}}, "required": ["kind"]}
        ]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object"},
        "open": {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": true},
        "any": {},
        "any_list": {"type": "array"},
        "a/b": {"type": "object", "properties": {"c~d": {"type": "string"}}},
        "later": {"type": "object", "properties": {"a": {"type": "string"}},
            "if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "string"}}}}
    }, "$defs": {"Entity": {"type": "object", "properties": {
        "name": {"type": "string"}, "parent": {"$ref": "#/$defs/Entity"}, "notes": {"type": "array", "items": {"type": "string"}}
    }, "required": ["name"]}}}},
    {"name": "find", "inputSchema": {"type": "object", "properties": {
        "query": {"type": "string"}, "mode": {"type": "integer"}, "filter": {"type": "object", "properties": {"by": {"type": "string"}}}
    }}},
    {"name": "ping", "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false}},
    {"name": "free", "inputSchema": {"type": "object"}}
]}"##;

/// Returns what is said about a condition, with its column and its help.
fn said_of(tools: &str, condition: &str) -> Vec<String> {
    let text = format!(
        "[servers.hub]\nnpm = \"x\"\n[[servers.hub.policy]]\nthen = \"deny\"\ntools = [{tools}]\nwhen = {{ {condition} }}\n"
    );
    let config = Config::parse_toml(&text, "mcp.toml".as_ref()).unwrap_or_else(|error| panic!("{condition}: {error}"));
    let idle = Options::for_server(&config.servers["hub"]).idle_patterns(&Snapshot::parse(TOOLS).unwrap());
    let said = idle.iter().map(|idle| {
        assert_eq!(idle.place.position, Some((6, 10)), "{condition}");
        format!("{idle}; {}", idle.help)
    });
    said.collect()
}

#[test]
fn pointer_to_no_possible_argument_is_refused() {
    for (pointer, help) in [
        ("/entitis/0/name", "did you mean `/entities/0/name`?"),
        ("/entities/0/nam", "did you mean `/entities/0/name`?"),
        ("/entities/0/parent/parent/nam", "did you mean `/entities/0/parent/parent/name`?"),
        ("/entities/0/zzz", "`/entities/0` has `name`, `notes`, `parent`"),
        (
            "/entities/x/name",
            "`/entities` is an array: name one element, as in `/entities/0/name`; a rule cannot look at every element",
        ),
        (
            "/entities/*/name",
            "`/entities` is an array: name one element, as in `/entities/0/name`; a rule cannot look at every element",
        ),
        (
            "/entities/-/name",
            "`/entities` is an array: name one element, as in `/entities/0/name`; a rule cannot look at every element",
        ),
        (
            "/entities/01",
            "`/entities` is an array: name one element, as in `/entities/0`; a rule cannot look at every element",
        ),
        (
            "/entities/name",
            "`/entities` is an array: name one element, as in `/entities/0`; a rule cannot look at every element",
        ),
        ("/entities/0/name/first", "`/entities/0/name` has no members"),
        ("/pair/2", "`/pair` has fewer elements"),
        ("/tags/0/x", "`/tags/0` has no members"),
        ("/mode/x", "`/mode` has no members"),
        ("/labels/a/b", "`/labels/a` has no members"),
        ("/shape/z", "`/shape` has `kind`, `x`, `y`"),
        ("/a~1b/c~0e", "did you mean `/a~1b/c~0d`?"),
    ] {
        for operator in ["present = true", "present = false", "equals = 1"] {
            assert_eq!(
                said_of("\"put\"", &format!("{pointer:?} = {{ {operator} }}")),
                [format!("no tool of the policy has an argument `{pointer}`; {help}")],
            );
        }
    }
    // By name, as before.
    assert_eq!(
        said_of("\"put\"", "entitis = { present = true }"),
        ["no tool of the policy has an argument `entitis`; did you mean `entities`?"]
    );
}

#[test]
fn operator_that_no_value_of_the_type_meets_is_refused() {
    for (argument, operator, value, help) in [
        ("entities", "prefix", "\"a\"", "its type is `array`: use `equals`, or a pointer to a value in it"),
        ("entities", "min", "1", "its type is `array`: use `equals`, or a pointer to a value in it"),
        ("/entities/0", "pattern", "\"a\"", "its type is `object`: use `equals`, or a pointer to a value in it"),
        ("/entities/0/name", "min", "3", "its type is `string`: use `equals`, `prefix` or `pattern`"),
        ("/entities/0/name", "equals", "3", "its type is `string`"),
        ("/entities/0/notes/3", "max", "3", "its type is `string`: use `equals`, `prefix` or `pattern`"),
        ("tags", "prefix", "\"a\"", "its type is `array`: use `equals`, or a pointer to a value in it"),
        ("size", "prefix", "\"a\"", "its type is `integer`: use `equals`, `min` or `max`"),
        ("size", "equals", "1.5", "its type is `integer`"),
        ("ratio", "pattern", "\"a\"", "its type is `number`: use `equals`, `min` or `max`"),
        ("ratio", "equals", "\"one\"", "its type is `number`"),
        ("loud", "min", "0", "its type is `boolean`: use `equals`"),
        ("loud", "equals", "\"loud\"", "its type is `boolean`"),
        ("mode", "equals", "\"opne\"", "it is `closed` or `open`"),
        ("mode", "prefix", "\"x\"", "it is `closed` or `open`"),
        ("mode", "min", "1", "it is `closed` or `open`"),
        ("level", "min", "3", "it is `1`, `2` or `high`"),
        ("free", "prefix", "\"a\"", "its type is `object`: use `equals`, or a pointer to a value in it"),
        (
            "target",
            "min",
            "1",
            "its type is `object` or `string`: use `equals`, `prefix` or `pattern`, or a pointer to a value in it",
        ),
    ] {
        assert_eq!(
            said_of("\"put\"", &format!("{argument:?} = {{ {operator} = {value} }}")),
            [format!("`{operator}` matches no value of the argument `{argument}`; {help}")],
        );
    }
    // One operator is enough.
    assert_eq!(said_of("\"put\"", "ratio = { min = 1, prefix = \"a\" }").len(), 1);
}

#[test]
fn condition_that_arguments_can_meet_is_accepted() {
    for condition in [
        "entities = { present = true }",
        "entities = { equals = [] }",
        "\"/entities\" = { present = false }",
        "\"/entities/0/name\" = { prefix = \"a\" }",
        "\"/entities/12\" = { equals = { name = \"a\" } }",
        "\"/entities/0/parent/parent/notes/1\" = { pattern = \"a\" }",
        "\"/pair/0\" = { prefix = \"a\" }",
        "\"/pair/1\" = { min = 1 }",
        "\"/tags/0\" = { prefix = \"a\" }",
        "mode = { equals = \"open\" }",
        "mode = { prefix = \"cl\" }",
        "mode = { pattern = \"^o\" }",
        "level = { min = 2 }",
        "level = { equals = 1.0 }",
        "level = { prefix = \"hi\" }",
        "size = { max = 1.5 }",
        "size = { equals = 3.0 }",
        "ratio = { min = 1, max = 2 }",
        "loud = { equals = true }",
        // Some servers take text for the value in it.
        "loud = { equals = \"true\" }",
        "ratio = { equals = \"0.5\" }",
        "target = { prefix = \"a\" }",
        "\"/target/id\" = { min = 1 }",
        "\"/shape/kind\" = { equals = \"a\" }",
        "\"/shape/x\" = { prefix = \"a\" }",
        "\"/shape/y\" = { min = 1 }",
        "\"/labels/any thing\" = { prefix = \"a\" }",
        "\"/free/a/0/b\" = { min = 1 }",
        "\"/open/a\" = { prefix = \"a\" }",
        "\"/open/b/c\" = { min = 1 }",
        "any = { min = 1 }",
        "\"/any/a/-/b\" = { prefix = \"a\" }",
        "\"/any_list/0/b\" = { prefix = \"a\" }",
        "\"/a~1b/c~0d\" = { prefix = \"a\" }",
        "\"a/b\" = { present = true }",
        "\"/later/b\" = { prefix = \"a\" }",
    ] {
        assert_eq!(said_of("\"put\"", condition), Vec::<String>::new(), "{condition}");
    }
}

#[test]
fn condition_that_one_tool_of_the_policy_can_meet_is_accepted() {
    let none = Vec::<String>::new();
    for condition in ["mode = { min = 1 }", "mode = { equals = \"open\" }", "\"/filter/by\" = { prefix = \"a\" }"] {
        assert_eq!(said_of("\"put\", \"find\"", condition), none, "{condition}");
    }
    // The tool that has the argument says what is wrong.
    assert_eq!(
        said_of("\"put\", \"find\", \"ping\"", "\"/filter/bi\" = { present = true }"),
        ["no tool of the policy has an argument `/filter/bi`; did you mean `/filter/by`?"]
    );
    assert_eq!(
        said_of("\"put\", \"find\"", "query = { min = 1 }"),
        ["`min` matches no value of the argument `query`; its type is `string`: use `equals`, `prefix` or `pattern`"]
    );
    assert_eq!(
        said_of("\"put\", \"find\"", "mode = { equals = true }"),
        ["`equals` matches no value of the argument `mode`; its type is `integer` or `string`"]
    );
    // A tool that declares no arguments takes any, unless it forbids them.
    assert_eq!(said_of("\"*\"", "\"/anything/x\" = { min = 1 }"), none);
    assert_eq!(said_of("\"ping\"", "x = { min = 1 }").len(), 1);
}

#[test]
fn condition_on_an_argument_that_a_view_fixes_is_accepted() {
    let text = "[servers.hub]\nnpm = \"x\"\n[servers.hub.view.find]\nfixed.query = \"a\"\n[[servers.hub.policy]]\n\
                then = \"deny\"\ntools = [\"find\"]\nwhen = { query = { equals = \"a\" } }\n";
    let config = Config::parse_toml(text, "mcp.toml".as_ref()).unwrap();
    let hub = &config.servers["hub"];
    let snapshot = apply_views(&Snapshot::parse(TOOLS).unwrap(), hub).unwrap();
    assert_eq!(Options::for_server(hub).idle_patterns(&snapshot), []);
}

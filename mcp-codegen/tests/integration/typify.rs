//! The opt-in backend: what it makes of schemas that typify takes, and that nothing gets past its guard.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![cfg(feature = "typify")]

use std::collections::HashSet;
use std::path::Path;

use mcp_bindgen_codegen::{Bindings, Diagnostics, Options};
use mcp_bindgen_model::{ServerConfig, Snapshot, Types};
use serde_json::{Value, json};

const FALLBACK: &str = "MCP0015";

fn options(types: Types) -> Options {
    Options::new("demo").types(types)
}

fn snapshot(tool: &Value) -> Snapshot {
    Snapshot::parse(&json!({ "tools": [tool] }).to_string()).unwrap()
}

/// The bindings without spaces, and what was said.
fn generate(tool: &Value) -> (String, Diagnostics) {
    let (tokens, said) = Bindings::generate(&snapshot(tool), &options(Types::Typify));
    let text = tokens.to_string();
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (text.replace(' ', ""), said)
}

#[track_caller]
fn contains(code: &str, parts: &[&str]) {
    for part in parts {
        assert!(code.contains(&part.replace(' ', "")), "no `{part}` in {code}");
    }
}

fn reasons(said: &Diagnostics) -> Vec<(&str, &str)> {
    said.iter().filter(|said| said.code.id == FALLBACK).map(|said| (&*said.pointer, &*said.message)).collect()
}

fn create_issue() -> Value {
    json!({
        "name": "create_issue",
        "inputSchema": {
            "type": "object",
            "properties": {
                "labels": {"type": "array", "items": {"type": "string"}},
                "owner": {"type": "string", "pattern": "^[a-z]+$", "title": "Owner"},
                "state": {"enum": ["open", "closed"], "default": "open", "description": "```\nSee [here]"},
                "title": {"type": "string", "description": "What it is"},
                "parent": {"$ref": "#"}
            },
            "required": ["title", "owner"]
        },
        "outputSchema": {
            "type": "object",
            "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/Issue"}}},
            "required": ["result"],
            "x-fastmcp-wrap-result": true,
            "$defs": {"Issue": {"type": "object", "properties": {"number": {"type": "integer"}}}}
        }
    })
}

#[test]
fn types_are_generated_in_modules_with_public_names() {
    let (code, said) = generate(&create_issue());
    assert!(said.is_empty(), "{said:?}");
    contains(
        &code,
        &[
            "pub mod demo_create_issue_input {",
            "pub use self::demo_create_issue_input::DemoCreateIssueParams;",
            "pub use self::demo_create_issue_output::DemoCreateIssueOutput;",
            "pub struct DemoCreateIssueParamsOwner(::std::string::String);",
            "pub enum DemoCreateIssueParamsState {",
            "pub parent: ::std::option::Option<::std::boxed::Box<DemoCreateIssueParams>>",
            "::mcp_bindgen::__private::__wire_through_serde!(DemoCreateIssueParams);",
            "-> ::std::vec::Vec<demo_create_issue_output::Issue> = DemoCreateIssueOutput::new(result)",
        ],
    );
}

#[test]
fn new_takes_required_properties_in_schema_order() {
    let (code, _) = generate(&create_issue());
    contains(&code, &["pub fn new(title: impl Into<String>, owner: DemoCreateIssueParamsOwner) -> Self"]);
}

#[test]
fn generated_code_depends_only_on_the_library() {
    let tool = create_issue();
    let (code, _) = generate(&tool);
    contains(
        &code,
        &["::mcp_bindgen::__private::regress::Regex", "#[serde(crate=\"::mcp_bindgen::__private::serde\")]"],
    );
    let (tokens, _) =
        Bindings::generate(&snapshot(&tool), &options(Types::Typify).crate_path("my::lib".parse().unwrap()));
    let text = tokens.to_string().replace(' ', "");
    contains(&text, &["my::lib::__private::serde::Deserialize", "#[serde(crate=\"my::lib::__private::serde\")]"]);
    for code in [&code, &text] {
        for (place, _) in code.match_indices("::serde") {
            let before = code.get(..place).unwrap();
            assert!(before.ends_with("::__private"), "{}", &code[place.saturating_sub(60)..place + 20]);
        }
    }
}

#[test]
fn defaults_are_not_sent_and_doc_text_is_escaped() {
    let (code, _) = generate(&create_issue());
    assert!(!code.contains("moddefaults"), "{code}");
    contains(&code, &["pub state: ::std::option::Option<DemoCreateIssueParamsState>"]);
    let docs = code.match_indices("#[doc=").map(|(place, _)| code.get(place..place + 12).unwrap());
    assert!(docs.clone().count() > 10);
    assert!(docs.clone().all(|doc| !doc.contains("```")), "{:?}", docs.collect::<Vec<_>>());
}

#[test]
fn typify_names_equal_the_default_names() {
    const NATIVE: &str = "Vec<DemoCreateIssueOutputIssue>";
    const TYPIFY: &str = "::std::vec::Vec<demo_create_issue_output::Issue>";
    let snapshot = snapshot(&create_issue());
    let names = |types| Bindings::describe(&snapshot, &options(types)).0;
    let (mut native, typify) = (names(Types::Native), names(Types::Typify));
    // A wrapper contains a type that typify generates.
    assert_eq!((&*native[0].returns, &*typify[0].returns), (NATIVE, TYPIFY));
    native[0].returns = TYPIFY.to_owned();
    native[0].params_inner_types.clear();
    native[0].output_inner_types.clear();
    assert_eq!(typify, native);
}

#[test]
fn unsupported_schema_falls_back_with_the_reason() {
    let property = |schema: Value| json!({"type": "object", "properties": {"p": schema}});
    let with = |schema: Value, definitions: Value| json!({"type": "object", "properties": {"p": schema}, "$defs": definitions});
    let chain: serde_json::Map<String, Value> = (0..40)
        .map(|level| {
            let next = json!({"type": "object", "properties": {"n": {"$ref": format!("#/$defs/d{}", level + 1)}}});
            (format!("d{level}"), next)
        })
        .chain([("d40".to_owned(), json!({"type": "string"}))])
        .collect();
    let both = json!({"allOf": [{"anyOf": vec![json!({"type": "object"}); 9]}, {"anyOf": vec![json!({"type": "object"}); 9]}]});
    let cases = [
        (property(json!({"prefixItems": [{"type": "string"}]})), "it does not support `prefixItems`"),
        (property(json!({"type": "array", "items": [{"type": "string"}]})), "it does not support tuples of this kind"),
        (property(json!({"not": {"type": "string"}})), "it does not support `not`"),
        (property(json!({"type": "string", "nullable": true})), "it does not support `nullable`"),
        (property(json!({"enum": ["asc", "ASC"]})), "it has no names for the values of an `enum`"),
        (property(json!({"enum": ["+1", "-1"]})), "it has no names for the values of an `enum`"),
        (property(json!({"enum": ["a", 1]})), "an `enum` has values that are not strings"),
        (property(json!({"type": "string", "pattern": "("})), "its regular expressions do not take a `pattern`"),
        (property(json!({"$ref": "#/properties/p"})), "a `$ref` does not point to a definition"),
        (property(json!({"$ref": "#/$defs/none"})), "a `$ref` points to no definition"),
        (with(json!({"$ref": "#/$defs/a"}), json!({"a": {"$ref": "#/$defs/a"}})), "a `$ref` only points to itself"),
        (
            with(json!({"$ref": "#/$defs/a"}), json!({"a": {"allOf": [{"$ref": "#/$defs/a"}]}})),
            "a `$ref` only points to itself",
        ),
        (with(json!({"$ref": "#/$defs/d0"}), Value::Object(chain)), "its types would nest too deep"),
        (property(both), "it would merge the parts of an `allOf`"),
        (property(json!({"allOf": [{"type": "string"}], "minLength": 1})), "`minLength` is next to `allOf`"),
        (
            property(json!({"type": "object", "required": ["a"], "anyOf": [{"required": ["b"]}, {"required": ["c"]}]})),
            "it multiplies out a union that is next to other keywords",
        ),
        (
            json!({"type": "object", "properties": {"fill-opacity": {"type": "string"}, "fillOpacity": {"type": "string"}}}),
            "its `DemoTParams` has `fill_opacity` twice",
        ),
        (
            json!({"type": "object", "properties": {"a-b": {"enum": ["x"]}, "aB": {"enum": ["y"]}}}),
            "it would take two types for one, `demotparamsab`",
        ),
        (
            with(json!({"$ref": "#/$defs/String"}), json!({"String": {"enum": ["x"]}})),
            "it has a type `String`, which Rust has too",
        ),
        (property(json!({"type": "any"})), "data did not match any variant of untagged enum Schema"),
        (json!({"type": "object", "properties": {"p": false}}), "the property \"p\" can have no value"),
    ];
    for (schema, reason) in cases {
        let (code, said) = generate(&json!({"name": "t", "inputSchema": schema}));
        assert_eq!(reasons(&said), [("/inputSchema", reason)], "{schema}");
        assert!(!code.contains("moddemo_t_input"), "{schema}");
    }
}

#[test]
fn long_chain_of_definitions_falls_back() {
    let to = |index: usize| json!({"type": "object", "properties": {"a": {"$ref": format!("#/$defs/d{index}")}}});
    let mut schema = to(0);
    schema["$defs"] = (0..900).map(|index| (format!("d{index}"), to(index + 1))).collect();
    schema["$defs"]["d900"] = json!({"type": "string"});
    let (_, said) = generate(&json!({"name": "t", "inputSchema": schema}));
    assert_eq!(reasons(&said), [("/inputSchema", "its types would nest too deep")]);
}

#[test]
fn server_configuration_selects_typify() {
    let snapshot = snapshot(&create_issue());
    let server = ServerConfig::stdio("demo", "x").types(Types::Typify);
    let asks = |server: &ServerConfig| Bindings::generate(&snapshot, &Options::for_server(server)).0.to_string();
    assert!(asks(&server).contains("mod demo_create_issue_input"));
    assert!(!asks(&server.clone().types(Types::Native)).contains("mod demo_create_issue_input"));
}

#[test]
fn input_and_output_fall_back_separately() {
    let mut tool = create_issue();
    tool["outputSchema"] = json!({"type": "object", "properties": {"p": {"prefixItems": [{}]}}});
    let (code, said) = generate(&tool);
    assert_eq!(reasons(&said), [("/outputSchema", "it does not support `prefixItems`")]);
    assert!(code.contains("moddemo_create_issue_input") && !code.contains("moddemo_create_issue_output"));
}

#[test]
#[ignore = "takes seconds: .ci/run compiled"]
fn hostile_lists_generate_rust_with_every_tool() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hostile");
    let (mut lists, mut by_typify, mut fell_back) = (0, 0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let snapshot = Snapshot::load(&path).unwrap();
        let (tokens, said) = Bindings::generate(&snapshot, &options(Types::Typify));
        let text = tokens.to_string();
        syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(text, Bindings::generate(&snapshot, &options(Types::Typify)).0.to_string(), "{}", path.display());
        let names = |types| -> HashSet<_> {
            Bindings::describe(&snapshot, &options(types)).0.into_iter().map(|tool| tool.params_type).collect()
        };
        assert_eq!(names(Types::Typify), names(Types::Native), "{}", path.display());
        lists += 1;
        by_typify += text.matches("__wire_through_serde").count();
        fell_back += reasons(&said).len();
    }
    println!("{lists} lists: {by_typify} schemas by typify, {fell_back} fell back");
    assert!(lists > 20 && by_typify > 200 && fell_back > 50);
}

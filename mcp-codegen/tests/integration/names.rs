//! Names, whatever strangers call their tools, properties and values: different in every scope, and a matter of content
//! alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use crate::parsed;
use crate::squatters;

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_codegen::{Bindings, Options, ToolBinding};
use mcp_bindgen_model::Prefix;
use parsed::{Parsed, snapshot};
use proptest::prelude::*;
use serde_json::{Value, json};

fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    // A case is several lists. `.ci/run fuzz` has twice as many.
    ProptestConfig { cases: usual.cases / 8, max_shrink_iters: 2_000, ..usual }
}

fn describe(tools: &[Value], options: &Options) -> Vec<ToolBinding> {
    Bindings::describe(&snapshot(tools), options).0
}

/// Tool, role and wire path, and the type that stands there.
type TypeNames = BTreeMap<(String, &'static str, Vec<String>), String>;

fn type_names(tools: &[Value], options: &Options) -> TypeNames {
    let parsed = Parsed::of(tools, options);
    let mut names = TypeNames::new();
    for tool in describe(tools, options) {
        let roots = [("input", Some(tool.params_type)), ("output", tool.output_type)];
        for (role, root) in roots.into_iter().filter_map(|(role, root)| Some((role, root?))) {
            for (path, name) in parsed.paths(&root) {
                names.insert((tool.tool.clone(), role, path), name);
            }
        }
    }
    names
}

fn distinct(mut tools: Vec<Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    tools.retain(|tool| seen.insert(tool["name"].to_string()));
    tools
}

/// A tool for every name that the bindings define, and each of them as a property and a value of it.
fn squat(tools: &[Value], options: &Options) -> Vec<Value> {
    let parsed = Parsed::of(tools, options);
    let client = parsed.variants.keys().chain(&parsed.types).chain(parsed.functions.keys());
    let names: BTreeSet<String> = client
        .flat_map(|name| [name.clone(), name.trim_end_matches("Params").to_owned()])
        .chain(describe(tools, options).into_iter().flat_map(|tool| [tool.method, tool.variant]))
        .take(24)
        .collect();
    let tool = |name: &String| {
        let properties: BTreeMap<&String, Value> =
            names.iter().map(|name| (name, json!({"type": "object", "properties": {"x": {}}}))).collect();
        let schema = json!({"type": "object", "properties": properties, "additionalProperties": {"enum": names}});
        json!({"name": name, "inputSchema": schema})
    };
    distinct(tools.iter().cloned().chain(names.iter().take(6).map(tool)).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_name_is_unique_in_its_scope(tools in squatters::tools(), options in squatters::options()) {
        Parsed::of(&tools, &options);
    }

    #[test]
    fn order_does_not_affect_type_names(
        tools in squatters::tools(),
        options in squatters::options(),
        seed in any::<u64>(),
        middle in any::<prop::sample::Index>(),
    ) {
        let tools = distinct(tools);
        let mut other: Vec<Value> = tools.iter().map(|tool| squatters::permuted(tool, seed)).collect();
        other.rotate_left(middle.index(tools.len()));
        prop_assert_eq!(type_names(&tools, &options), type_names(&other, &options));
    }

    #[test]
    fn added_tool_renames_only_conflicting_types(
        tools in squatters::tools(),
        added in squatters::tool(),
        options in squatters::options(),
    ) {
        let tools = distinct(tools);
        prop_assume!(tools.iter().all(|tool| tool["name"] != added["name"]));
        let before = type_names(&tools, &options);
        let after = type_names(&[tools.clone(), vec![added.clone()]].concat(), &options);
        let taken: BTreeSet<String> = type_names(&[added], &options).into_values().collect();
        for tool in &tools {
            let alone = type_names(std::slice::from_ref(tool), &options);
            for (place, wanted) in alone {
                let was = &before[&place];
                // A tool whose name collides is renamed with all its types.
                let collides = |name: &String| taken.contains(name) || taken.iter().any(|root| {
                    let root = root.trim_end_matches("Params").trim_end_matches("Output");
                    name.starts_with(root)
                });
                prop_assert!(
                    after[&place] == *was || collides(was) || collides(&wanted),
                    "{place:?}: {was} -> {}", after[&place]
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: config().cases / 4, ..config() })]

    #[test]
    fn generated_names_may_already_be_used(tools in squatters::tools(), options in squatters::options()) {
        let once = squat(&distinct(tools), &options);
        let twice = squat(&once, &options);
        let names = type_names(&twice, &options);
        let reversed: Vec<Value> = twice.iter().rev().map(|tool| squatters::permuted(tool, 7)).collect();
        prop_assert_eq!(names, type_names(&reversed, &options));
    }
}

fn tool(name: &str, properties: &Value) -> Value {
    json!({"name": name, "inputSchema": {"type": "object", "properties": properties}})
}

#[test]
fn shallower_of_two_types_keeps_the_name() {
    let object = |key: &str| json!({"type": "object", "properties": {key: {}}});
    let list = json!({"type": "array", "items": object("x")});
    let options = Options::new("s");
    for properties in
        [json!({"order": list, "order_item": object("y")}), json!({"order_item": object("y"), "order": list})]
    {
        let names = type_names(&[tool("t", &properties)], &options);
        let at = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
            names[&("t".to_owned(), "input", path)].clone()
        };
        assert_eq!(at(&["order_item"]), "STParamsOrderItem");
        assert!(at(&["order", "<Vec>"]).starts_with("STParamsOrderItemX"), "{names:?}");
    }
}

#[test]
fn type_is_named_after_the_definition_of_its_schema() {
    let object = json!({"type": "object", "properties": {"x": {}}});
    let properties = json!({"a": {"$ref": "#/properties/z"}, "z": object});
    let names = type_names(&[tool("t", &properties)], &Options::new("s"));
    assert!(names.values().any(|name| name == "STParamsZ"), "{names:?}");
}

#[test]
fn order_does_not_affect_names_of_mutually_recursive_lists() {
    let definitions = json!({
        "left": {"type": "array", "items": {"$ref": "#/$defs/right"}},
        "right": {"type": "array", "items": {"$ref": "#/$defs/left"}},
    });
    let schema = |first: &str, second: &str| {
        let properties: serde_json::Map<String, Value> = [first, second]
            .map(|key| (key.to_owned(), json!({"$ref": format!("#/$defs/{key}")})))
            .into_iter()
            .collect();
        json!({"name": "t", "inputSchema": {"type": "object", "properties": properties, "$defs": definitions}})
    };
    let options = Options::new("s");
    let names = type_names(&[schema("left", "right")], &options);
    assert!(names.len() > 1, "{names:?}");
    assert_eq!(names, type_names(&[schema("right", "left")], &options));
}

#[test]
fn branch_is_named_by_its_smallest_key() {
    let branch = |keys: [&str; 2]| {
        let properties: serde_json::Map<String, Value> =
            keys.map(|key| (key.to_owned(), json!({}))).into_iter().collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    };
    let list = |keys| [tool("t", &json!({"p": {"anyOf": [branch(keys), branch(["c", "d"])]}}))];
    let options = Options::new("s");
    assert_eq!(type_names(&list(["a", "b"]), &options), type_names(&list(["b", "a"]), &options));
}

#[test]
fn branches_are_named_after_their_constants() {
    let branch = |constant: Value, key: &str, required: &[&str]| json!({"type": "object", "properties": {"type": constant, key: {"type": "integer"}}, "required": required});
    let text = |required| branch(json!({"const": "text"}), "a", required);
    let image = |required| branch(json!({"const": "image"}), "b", required);
    let titled = |branch: &Value, title: &str| {
        let mut branch = branch.clone();
        branch["title"] = json!(title);
        branch
    };
    let flag = |is: bool, key: &str| branch(json!({"enum": [is]}), key, &["type"]);
    let version = json!({"type": "object", "properties": {"format": {"const": "v1"}, "type": {"const": "plan"}}});
    for (branches, names) in [
        (vec![text(&["type"]), image(&["type"])], &["Image", "Text"][..]),
        // No tag where it may be absent, and the same names.
        (vec![text(&[]), image(&[])], &["Image", "Text"]),
        (vec![titled(&text(&[]), "TextContent"), titled(&image(&["type"]), "ImageContent")], &["Image", "Text"]),
        (
            vec![text(&["type"]), image(&["type"]), branch(json!({"type": "string"}), "c", &["c"])],
            &["Image", "Text", "WithC"],
        ),
        (
            vec![text(&["a"]), branch(json!({"const": "text"}), "c", &["c"]), image(&["b"])],
            &["Image", "WithA", "WithC"],
        ),
        (vec![flag(true, "a"), flag(false, "b")], &["TypeFalse", "TypeTrue"]),
        (vec![titled(&flag(true, "a"), "Done"), titled(&flag(false, "b"), "Failed")], &["Done", "Failed"]),
        // The property that names most of them, then the one that is required.
        (vec![version.clone(), text(&["a"])], &["Plan", "Text"]),
        (vec![json!({"type": "string"}), text(&["type"])], &["String", "Text"]),
        (vec![json!({"type": "string"}), version], &["String", "V1"]),
    ] {
        let mut reversed = branches.clone();
        reversed.reverse();
        for branches in [branches, reversed] {
            let schema = json!({"type": "object", "properties": {"p": {"anyOf": branches}}});
            let tool = json!({"name": "t", "inputSchema": schema, "outputSchema": schema});
            let parsed = Parsed::of(&[tool], &Options::new("s"));
            for union in ["STParamsP", "STOutputP"] {
                let mut variants = parsed.variants[union].clone();
                variants.remove("Other");
                assert_eq!(variants.iter().map(String::as_str).collect::<Vec<_>>(), names, "{schema}");
                let types = names.iter().filter(|name| **name != "String").map(|name| format!("{union}{name}"));
                assert!(types.clone().all(|name| parsed.types.contains(&name)), "{:?}", parsed.types);
            }
        }
    }
}

#[test]
fn tools_with_equal_names_get_unique_names() {
    let options = Options::new("s");
    let twins = [tool("foo", &json!({"a": {}})), tool("foo", &json!({"b": {}}))];
    let made_up: Vec<String> = describe(&twins, &options).into_iter().map(|tool| tool.method).collect();
    let other = made_up.iter().find(|method| *method != "foo").expect("one of them is renamed");
    let key = other.replacen('_', " ", 1);
    let mut tools = twins.to_vec();
    tools.extend([tool(other, &json!({"c": {}})), tool(&key, &json!({"d": {}}))]);
    let methods: BTreeSet<String> = describe(&tools, &options).into_iter().map(|tool| tool.method).collect();
    assert_eq!(methods.len(), 4, "{methods:?}");
    Parsed::of(&tools, &options);
}

#[test]
fn repeated_tool_has_its_code_in_each_place() {
    let (one, other) = (tool("one", &json!({})), tool("other", &json!({})));
    let snapshot = snapshot(&[one.clone(), other, one]);
    let sources = Bindings::plan(&snapshot, &Options::new("s")).tool_sources();
    assert_eq!(sources.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(sources[0].1.contains("struct SOneParams") && sources[1].1.contains("struct SOtherParams"), "{sources:?}");
    assert_eq!(sources[2].1, sources[0].1);
}

#[test]
fn prefixed_name_is_accepted_by_parse() {
    let tools = [tool("x", &json!({})), tool("s_x", &json!({})), tool("y", &json!({}))];
    let prefixed = |options: &Options| -> Vec<String> {
        describe(&tools, options).into_iter().map(|tool| tool.prefixed).collect()
    };
    // `s_x` is the name that the server knows another tool by.
    assert_eq!(prefixed(&Options::new("s")), ["s_x_2961e56e", "s_s_x", "s_y"]);
    assert_eq!(prefixed(&Options::new("s").prefix(Prefix::None)), ["x", "s_x", "y"]);
}

#[test]
fn handler_returns_the_described_type() {
    let result = |schema: Value| {
        json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {
            "type": "object", "properties": {"result": schema}, "required": ["result"], "x-fastmcp-wrap-result": true,
        }})
    };
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2});
    let options = Options::new("s");
    for (tool, returns) in [
        (tool("t", &json!({})), "ToolResult"),
        (result(json!({"type": "array", "items": {"type": ["string", "null"]}})), "Vec<Option<String>>"),
        (result(json!({"type": "object", "additionalProperties": pair})), "BTreeMap<String, (String, i64,)>"),
    ] {
        let described = describe(std::slice::from_ref(&tool), &options);
        assert_eq!(described[0].returns, returns);
        assert_eq!(Parsed::of(&[tool], &options).functions["s_t"], format!("(STParams) -> {returns}"));
    }
}

#[test]
fn module_has_the_requested_name() {
    let module = |name: &str| describe(&[tool("t", &json!({}))], &Options::new("s").module(name))[0].module.clone();
    for (written, called) in [
        ("gh", "gh"),
        ("GitHub", "GitHub"),
        ("r#async", "r#async"),
        ("async", "r#async"),
        ("my-mod", "my_mod"),
        ("self", "self_"),
    ] {
        assert_eq!(module(written), called);
        let tokens = Bindings::generate(&snapshot(&[tool("t", &json!({}))]), &Options::new("s").module(written)).0;
        assert!(tokens.to_string().contains(&format!("pub mod {called} {{")), "{tokens}");
    }
}

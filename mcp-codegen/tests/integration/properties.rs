//! Rules that hold for every tool list, checked with random schemas over all keywords and with random JSON.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

use crate::harness;
use crate::parsed;

use std::collections::{BTreeMap, BTreeSet};

use mcp_bindgen_codegen::{Bindings, Options, ToolBinding};
use mcp_samples::schemas;
use parsed::{Parsed, snapshot};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    // `.ci/run fuzz` has twice as many cases.
    ProptestConfig { cases: usual.cases / 4, max_shrink_iters: 2_000, ..usual }
}

fn describe(tools: &[Value]) -> Vec<ToolBinding> {
    Bindings::describe(&snapshot(tools), &Options::new("server")).0
}

/// The names of a tool, apart from what is said about it.
type Names = (String, Option<String>, String, String, String);

fn names(tool: &ToolBinding) -> Names {
    let ToolBinding { params_type, output_type, handler, method, variant, .. } = tool;
    (params_type.clone(), output_type.clone(), handler.clone(), method.clone(), variant.clone())
}

fn names_by_tool(tools: &[Value]) -> BTreeMap<String, Names> {
    describe(tools).iter().map(|tool| (tool.tool.clone(), names(tool))).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn description_matches_the_generated_code(tools in schemas::tools()) {
        let options = Options::new("server");
        let diagnostics = Bindings::generate(&snapshot(&tools), &options).1;
        let defined = Parsed::of(&tools, &options);
        let (described, said) = Bindings::describe(&snapshot(&tools), &options);
        prop_assert_eq!(diagnostics, said);
        let mut handlers = BTreeSet::new();
        for tool in &described {
            prop_assert!(defined.types.contains(&tool.params_type), "{tool:?}");
            prop_assert!(tool.output_type.iter().all(|output| defined.types.contains(output)), "{tool:?}");
            prop_assert!(defined.methods["Server"].contains(&tool.method), "{tool:?}");
            prop_assert!(defined.variants["ServerCall"].contains(&tool.variant), "{tool:?}");
            let signature = defined.functions.get(&tool.handler);
            let expected = format!("({}) -> {}", tool.params_type, tool.returns);
            prop_assert_eq!(signature, Some(&expected), "{:?}", tool);
            handlers.insert(tool.handler.clone());
        }
        prop_assert_eq!(handlers, defined.functions.into_keys().collect::<BTreeSet<_>>());
    }

    #[test]
    fn text_of_a_list_never_becomes_code(tools in schemas::tools()) {
        let (tokens, _) = Bindings::generate(&snapshot(&tools), &Options::new("server"));
        prop_assert!(!identifiers(tokens).any(|ident| ident == schemas::MARK));
    }

    #[test]
    fn added_tool_renames_only_conflicting_tools(list in schemas::names(2..6), added in schemas::name()) {
        prop_assume!(!list.contains(&added));
        let tool = |name: &String| json!({"name": name, "inputSchema": {"type": "object"}});
        let before: Vec<Value> = list.iter().map(tool).collect();
        let after: Vec<Value> = list.iter().chain([&added]).map(tool).collect();
        let (before, after) = (names_by_tool(&before), names_by_tool(&after));
        let alone = names_by_tool(&[tool(&added)]);
        let taken = &alone[&added];
        for (name, was) in &before {
            let unchanged = after.get(name) == Some(was);
            let alone = &names_by_tool(&[tool(name)])[name];
            let collides = |other: &Names| other.0 == taken.0 || other.2 == taken.2 || other.3 == taken.3 || other.4 == taken.4;
            prop_assert!(unchanged || collides(was) || collides(alone), "{name}: {was:?} -> {:?} by {added}", after.get(name));
        }
    }

    #[test]
    fn tool_order_does_not_affect_names(list in schemas::names(2..7), seed in any::<prop::sample::Index>()) {
        let tool = |name: &String| json!({"name": name, "inputSchema": {"type": "object"}});
        let mut tools: Vec<Value> = list.iter().map(tool).collect();
        let before = names_by_tool(&tools);
        let middle = seed.index(tools.len());
        tools.rotate_left(middle);
        prop_assert_eq!(&before, &names_by_tool(&tools));
        tools.reverse();
        prop_assert_eq!(&before, &names_by_tool(&tools));
    }

    #[test]
    fn property_order_does_not_affect_names(list in schemas::names(2..7)) {
        let fields = |names: &mut dyn Iterator<Item = &String>| {
            let properties: serde_json::Map<String, Value> =
                names.map(|name| (name.clone(), json!({"type": "string"}))).collect();
            let tool = json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}});
            fields_by_key(&[tool])
        };
        let forwards = fields(&mut list.iter());
        prop_assert_eq!(forwards.len(), list.len());
        prop_assert_eq!(forwards, fields(&mut list.iter().rev()));
    }

    #[test]
    fn arbitrary_json_as_tools_generates_bindings(tools in prop::collection::vec(schemas::json(), 0..4)) {
        let is_list = harness::check(&json!({ "tools": tools }).to_string());
        prop_assert!(is_list);
    }

    #[test]
    fn arbitrary_json_as_schemas_generates_bindings(
        input in schemas::json(),
        output in schemas::json(),
        prefix in select(&["", "get_", "r#"][..]),
    ) {
        let tool = json!({"name": format!("{prefix}x"), "inputSchema": input, "outputSchema": output});
        let is_list = harness::check(&json!({ "tools": [tool] }).to_string());
        prop_assert!(is_list);
    }
}

fn identifiers(tokens: proc_macro2::TokenStream) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    let mut left = vec![tokens];
    while let Some(tokens) = left.pop() {
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => left.push(group.stream()),
                proc_macro2::TokenTree::Ident(ident) => found.push(ident.to_string()),
                _ => {}
            }
        }
    }
    found.into_iter()
}

/// The fields of the parameters of the one tool, by their keys.
fn fields_by_key(tools: &[Value]) -> BTreeMap<String, String> {
    let (tokens, _) = Bindings::generate(&snapshot(tools), &Options::new("server"));
    let mut fields = BTreeMap::new();
    let mut left = vec![tokens];
    while let Some(tokens) = left.pop() {
        let tokens: Vec<_> = tokens.into_iter().collect();
        for token in &tokens {
            if let proc_macro2::TokenTree::Group(group) = token {
                left.push(group.stream());
            }
        }
        // `name : optional "key"`, in the table of the fields.
        for window in tokens.windows(4) {
            let [name, colon, presence, key] = window else { continue };
            if colon.to_string() == ":" && presence.to_string() == "optional" {
                let key: String = serde_json::from_str(&key.to_string()).unwrap_or_else(|_| key.to_string());
                fields.insert(key, name.to_string());
            }
        }
    }
    fields
}

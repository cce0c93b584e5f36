//! Bindings whose every name is after another's compile without a warning of rustc or clippy, as the part of a library
//! and as that of a program.
//!
//! `NAMED_LISTS=500 PROPTEST_RNG_SEED=7 cargo test --test names_compiled` compiles more of them, and others.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod common;
#[allow(dead_code)]
#[path = "../mcp-codegen/tests/squatters/mod.rs"]
mod squatters;

use std::process::Command;

use common::{Crate, dependency};
use mcp_bindgen_codegen::{Bindings, Options, format};
use mcp_bindgen_model::{Prefix, Snapshot};
use mcp_samples::{from_environment, seed};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

const LISTS: u64 = 6;

#[test]
#[ignore = "takes long; a suite of its own: .ci/run compiled"]
fn bindings_compile_for_any_names() {
    let lists = from_environment("NAMED_LISTS").unwrap_or(LISTS);
    let mut runner = TestRunner::default();
    let mut cases = chosen();
    for _ in 0..lists {
        let tools = squatters::tools().new_tree(&mut runner).expect("a list").current();
        cases.push((tools, squatters::options().new_tree(&mut runner).expect("options").current()));
    }

    let package = Crate::new("named", "2024", &format!("[dependencies]\nmcp-bindgen = {}", dependency(".")));
    let (mut library, mut program) = (String::from("//! Bindings.\n#![deny(missing_docs, warnings)]\n"), String::new());
    for (index, (tools, options)) in cases.iter().enumerate() {
        let list = json!({ "tools": tools }).to_string();
        let options = options.clone().setters(index % 2 == 0).named(index % 3 == 0).checked(index % 4 < 2);
        let (tokens, _) = Bindings::generate(&Snapshot::parse(&list).expect("a list"), &options);
        package.write(&format!("src/of_{index}.rs"), &format(tokens).expect("the bindings are Rust"));
        // A program sees its own names, which lints of clippy spare in a library.
        if index % 4 == 0 {
            program.push_str(&format!("mod of_{index};\n"));
        } else {
            library.push_str(&format!("/// List {index}.\npub mod of_{index};\n"));
        }
    }
    package.write("src/lib.rs", &library);
    package.write("src/main.rs", &format!("//! Bindings.\n#![deny(warnings)]\n{program}fn main() {{}}\n"));
    let has_clippy = Command::new(env!("CARGO")).args(["clippy", "--version"]).output();
    let check: &[&str] = if has_clippy.is_ok_and(|output| output.status.success()) {
        &["clippy", "--", "-Dwarnings"]
    } else {
        &["check"]
    };
    let run = package.run(check);
    if !run.succeeded {
        // The first list that fails, so that the message has all that is needed to mend it.
        let failed = (0..cases.len()).find(|index| run.stderr.contains(&format!("src/of_{index}.rs")));
        panic!("PROPTEST_RNG_SEED={}:\n{}\nfrom {:#?}", seed(), run.stderr, failed.map(|index| &cases[index]));
    }
}

/// Returns lists that once failed to compile, and lists for servers whose names may collide.
fn chosen() -> Vec<(Vec<Value>, Options)> {
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let open = |keys: &[&str]| {
        let properties: serde_json::Map<String, Value> =
            keys.iter().map(|key| ((*key).to_owned(), json!({}))).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": true})
    };
    let tool = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema, "outputSchema": schema});
    let mixed = json!({"enum": ["a_l_l", "other", "Other", "other_value", 1]});
    let mut lists = vec![
        vec![tool("t", object(json!({"e": {"enum": ["a_l_l", "a_b_c", "other", "Other", "all"]}, "m": mixed})))],
        vec![
            tool("t", open(&["extra", "extra_properties", "all_extra_properties", "extra_extra_properties"])),
            tool("u", open(&["extra", "extra_properties", "all_extra_properties", "extra_extra_extra_properties"])),
        ],
        ["a-b-c", "a--b-c", "a_b_c_x8d997b24"].map(|name| tool(name, object(json!({name: {}})))).to_vec(),
        // `Output` and `Other` as branches of the parameters themselves.
        vec![tool(
            "t",
            json!({"type": "object", "oneOf": [
                {"title": "Output", "properties": {"output": {}, "x": {}}, "required": ["output"]},
                {"title": "Other", "properties": {"other": {}, "y": {}}, "required": ["other"]},
                {"title": "Self", "properties": {"self": {}, "z": {}}, "required": ["self"]},
            ]}),
        )],
        vec![tool(
            "foo",
            json!({"type": "object", "properties": {"foo": {}, "baz": {}, "quux": {}}, "required": ["foo", "baz", "quux"]}),
        )],
    ]
    .into_iter()
    .map(|tools| (tools, Options::new("c")))
    .collect::<Vec<_>>();
    let tools = |names: &[&str]| -> Vec<Value> {
        let inner = object(json!({"client": {"enum": ["C", "Call", "Client"]}, "c": object(json!({"c": {}}))}));
        names.iter().map(|name| json!({"name": name, "inputSchema": inner})).collect()
    };
    let names =
        ["call", "connect", "with", "client", "clone", "self", "gen", "new", "main", "drop", "result", "C", "fmt"];
    lists.push((tools(&names), Options::new("c").prefix(Prefix::None)));
    let fields =
        ["new", "new_property", "clone", "default", "into", "fmt", "eq", "hash", "uri", "build", "builder", "value"];
    let fields =
        fields.iter().chain(&["self", "add", "not", "is_open", "to_it", "as_it", "from_it", "into_it", "get", "extra"]);
    lists.push((
        vec![tool("t", open(&fields.copied().collect::<Vec<_>>()))],
        Options::new("c").setters(true).named(true),
    ));
    let required = json!({"type": "object", "required": ["a", "build", "builder"], "properties": {
        "a": object(json!({})), "build": {"enum": ["x", "y"]}, "builder": {"type": "object", "properties": {"x": {}}, "required": ["x"]}
    }});
    lists.push((vec![tool("t", required)], Options::new("t").named(true)));
    lists.extend(["GitHub", "r#async", "a__b"].map(|module| (tools(&["c"]), Options::new("s").module(module))));
    for server in [
        "a",
        "c",
        "s",
        "t",
        "d",
        "client",
        "result",
        "option",
        "self",
        "call",
        "tool",
        "tool-call",
        "value",
        "with",
        "connect",
        "box",
        "string",
        "send",
        "wire",
        "str",
        "u8",
        "gen",
        "std",
        "core",
        "1",
        "mcp_bindgen",
        "new",
        "output",
    ] {
        let prefix = if server.len() > 4 { Prefix::None } else { Prefix::ServerName };
        lists.push((tools(&["call"]), Options::new(server).prefix(prefix)));
    }
    lists
}

//! Large values of unions whose branches are told apart by the keys that they require: none is refused for its size.
#![allow(clippy::unwrap_used)]

use mcp_bindgen::__private::{Wire, from_value, to_value};
use serde_json::{Value, json};

mod large {
    mcp_bindgen::mcp_tools!("large", path = "tests/integration/large_unions.json");
}

use large::large::LargeTakeParams as Params;

/// An object of a branch of `R`, whose children are of the next ones.
fn nested(branch: usize, fan_out: usize, depth: usize) -> Value {
    tree("r", 8, branch, fan_out, depth)
}

fn tree(prefix: &str, branches: usize, branch: usize, fan_out: usize, depth: usize) -> Value {
    let mut value = json!({ format!("{prefix}{}", branch % branches): branch });
    if depth > 0 {
        value["c"] = (1..=fan_out).map(|next| tree(prefix, branches, branch + next, fan_out, depth - 1)).collect();
    }
    value
}

/// Reads a value and prints it again.
#[track_caller]
fn comes_back<T: Wire>(name: &str, value: &Value) {
    let read: T = from_value(value).unwrap();
    assert!(to_value(&read).unwrap() == *value, "{name}");
}

#[test]
fn recursive_unions_are_decoded_at_any_size() {
    comes_back::<Params>("fan-out 5", &json!({ "recursive": nested(0, 5, 6) }));
    comes_back::<Params>("fan-out 3", &json!({ "recursive": nested(0, 3, 9) }));
    comes_back::<Params>("three branches", &json!({ "three": tree("t", 3, 0, 5, 6) }));
    comes_back::<Params>("a chain", &json!({ "recursive": nested(0, 1, 40) }));
}

#[test]
fn nested_unions_are_decoded_at_any_size() {
    let child = |of: usize, at: usize| json!({ format!("k{}_{}", of % 8, at % 8): at, "s": "text" });
    let item = |at: usize| {
        let children: Vec<Value> = (0..8).map(|next| child(at, next)).collect();
        json!({ format!("o{}", at % 8): at, "children": children })
    };
    comes_back::<Params>("inline", &json!({ "inline": (0..500).map(item).collect::<Vec<_>>() }));
}

#[test]
fn long_lists_of_many_branches_are_decoded() {
    let item = |at: usize| json!({ format!("f{}", at % 60): at, "name": "text" });
    comes_back::<Params>("flat", &json!({ "flat": (0..8_000).map(item).collect::<Vec<_>>() }));
    let item = |at: usize| json!({ format!("m{}", at % 290): at, "name": "text" });
    comes_back::<Params>("many", &json!({ "many": (0..4_000).map(item).collect::<Vec<_>>() }));
}

#[test]
fn value_that_fits_no_branch_is_an_error_at_its_pointer() {
    let mut value = json!({ "recursive": nested(0, 3, 7) });
    *value.pointer_mut("/recursive/c/2/c/2/c/2/c/2/c/2/c/2/c/2/r5").unwrap() = json!("five");
    let error = from_value::<Params>(&value).err().unwrap().to_string();
    assert!(error.contains("/recursive/c/2/c/2/c/2/c/2/c/2/c/2/c/2/r5"), "{error}");
}

//! Any arguments to the tools of hostile lists: every call ends in time with an answer.

use std::fs;
use std::path::Path;

use crate::dispatch_harness::{SEPARATOR, check};

const ARGUMENTS: [&str; 8] = [
    "",
    "{}",
    "null",
    "[1, 2]",
    r#"{"q": "\u001b[31m", "n": 1e400}"#,
    r#"{"owner": "o", "repo": "r", "title": "t", "labels": [null, {"a": {"a": {"a": []}}}]}"#,
    r#"{"a": -0.0, "b": 18446744073709551616, "c": true, "d": [[[[[[[[[[]]]]]]]]]]}"#,
    "{\"unfinished\": ",
];

#[test]
fn every_dispatch_returns_a_reply() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut dispatched = 0;
    for folder in ["lists", "hostile", "features"] {
        for entry in fs::read_dir(fixtures.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let list = fs::read_to_string(&path).unwrap();
            dispatched += usize::from(check(&format!("{list}{SEPARATOR}{}", ARGUMENTS.join(SEPARATOR))));
        }
    }
    assert!(dispatched >= 50, "{dispatched} lists");
}

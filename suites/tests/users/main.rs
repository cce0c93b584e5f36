//! Bindings as users of serde have them: in types of their own, in every format, beside the same types by hand.
//!
//! `cargo test -p mcp-suites --features serde_json/arbitrary_precision` is the same with numbers kept as text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::disallowed_methods)]

mod by_hand;
mod differences;
mod flatten;
mod formats;
mod forms;
mod inside;
mod numbers;

use std::collections::BTreeMap;
use std::fmt::Debug;

use mcp_samples::{Difference, differences};
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

mcp_bindgen::mcp_tools!("github", path = "../fixtures/snapshots/github.json", tools = ["create_issue", "get_issue"]);
mcp_bindgen::mcp_tools!("draw", path = "../fixtures/features/union_tagged.json");
mcp_bindgen::mcp_tools!("either", path = "../fixtures/features/union_untagged.json");
mcp_bindgen::mcp_tools!("integer", path = "../fixtures/features/integer.json");
mcp_bindgen::mcp_tools!("map", path = "../fixtures/features/map.json");
mcp_bindgen::mcp_tools!("nullable", path = "../fixtures/features/optional_nullable.json");
mcp_bindgen::mcp_tools!("keys", path = "../fixtures/features/named_keys.json");
mcp_bindgen::mcp_tools!("recursion", path = "../fixtures/features/recursion.json");
mcp_bindgen::mcp_tools!("tuple", path = "../fixtures/features/tuple.json");

pub(crate) use draw::{DrawDrawParams as Draw, DrawDrawParamsShape as Shape};
pub(crate) use either::EitherEitherParams as Either;
pub(crate) use github::{GithubCreateIssueParams as CreateIssue, GithubGetIssueOutput as Issue};
pub(crate) use integer::IntegerCountParams as Count;
pub(crate) use keys::{KeysClosedParams as Closed, KeysWithExtraParams as WithExtra};
pub(crate) use map::MapLabelParams as Label;
pub(crate) use nullable::NullableThreeWaysParams as ThreeWays;
pub(crate) use recursion::RecursionGrowParams as Grow;
pub(crate) use tuple::TuplePlaceParams as Place;

/// Returns the text that a type prints for JSON text, or `None` if the type refuses it.
pub(crate) fn reprinted<T: Serialize + DeserializeOwned>(text: &str) -> Option<String> {
    serde_json::from_str::<T>(text).ok().map(|value| serde_json::to_string(&value).unwrap())
}

/// Returns `true` if `serde_json` keeps numbers as text. Serde's derives then read no double below a tag or beside a
/// flattened field, because it arrives as a map.
pub(crate) fn keeps_numbers_as_text() -> bool {
    json("1.10").to_string().len() == "1.10".len()
}

/// Both types take the same of these texts, and print the same JSON: numbers by value, and each key once.
#[track_caller]
pub(crate) fn alike<Ours: Serialize + DeserializeOwned, ByHand: Serialize + DeserializeOwned>(texts: &[&str]) {
    for text in texts {
        let (ours, by_hand) = (reprinted::<Ours>(text), reprinted::<ByHand>(text));
        if keeps_numbers_as_text() && text.contains(|text: char| text.is_ascii_digit()) && by_hand.is_none() {
            continue;
        }
        assert_eq!(ours.is_some(), by_hand.is_some(), "{text}: {ours:?}, by hand {by_hand:?}");
        if let (Some(ours), Some(by_hand)) = (ours, by_hand) {
            assert!(same(&json(&ours), &json(&by_hand)), "{text}: {ours}, by hand {by_hand}");
            assert_eq!(keys(&ours), keys(&by_hand), "{text}: {ours}, by hand {by_hand}");
        }
    }
}

#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns `true` if two values are equal, with numbers compared by value.
pub(crate) fn same(left: &Value, right: &Value) -> bool {
    differences(&Value::Bool(true), left, right).iter().all(Difference::is_licensed)
}

/// How often each key of an object stands in its text.
fn keys(text: &str) -> BTreeMap<String, usize> {
    struct Keys(BTreeMap<String, usize>);

    impl<'de> Deserialize<'de> for Keys {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visit;

            impl<'de> Visitor<'de> for Visit {
                type Value = Keys;

                fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                    let mut keys = BTreeMap::new();
                    while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                        *keys.entry(key).or_default() += 1;
                    }
                    Ok(Keys(keys))
                }
            }

            deserializer.deserialize_map(Visit)
        }
    }

    serde_json::from_str::<Keys>(text).map(|keys| keys.0).unwrap_or_default()
}

/// The value of some type, and what it prints.
#[track_caller]
pub(crate) fn read<T: DeserializeOwned + Debug>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

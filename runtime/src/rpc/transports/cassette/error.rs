//! Errors of cassettes, and the differences between a recorded request and the present one.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use mcp_bindgen_model::{pointer_segment, printable};
use serde_json::Value;

use crate::ground::redact::{REDACTED, Redactor};

/// More differences are of no use to a reader.
const MOST: usize = 8;
const LONGEST_VALUE: usize = 120;

/// Why a cassette cannot be used, or has no answer to a request.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("failed to read the cassette `{}`: {message}; was it recorded?", .path.display())]
    #[non_exhaustive]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The file cannot be written.
    #[error("failed to write the cassette `{}`: {message}", .path.display())]
    #[non_exhaustive]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A line is not valid in a cassette.
    #[error("{}:{line}: invalid cassette line: {message}; record it again", .path.display())]
    #[non_exhaustive]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// The fault.
        message: String,
    },
    /// The end of the file is missing.
    #[error("the cassette `{}` is truncated: {message}; record it again", .path.display())]
    #[non_exhaustive]
    Truncated {
        /// The file.
        path: PathBuf,
        /// How that shows.
        message: String,
    },
    /// The file is of a later version.
    #[error(
        "the cassette `{}` has format {format}, and this version of mcp-bindgen reads {known}; update mcp-bindgen, or \
         record it again",
        .path.display()
    )]
    #[non_exhaustive]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u64,
        /// The newest format that can be read.
        known: u64,
    },
    /// The cassette is another server's.
    #[error("the cassette `{}` was recorded with server `{recorded}`, not `{server}`", .path.display())]
    #[non_exhaustive]
    OtherServer {
        /// The file.
        path: PathBuf,
        /// The recorded server.
        recorded: String,
        /// The server to replay.
        server: String,
    },
    /// Nothing like the request was recorded, or not so often.
    #[error("the cassette `{}` has no response to {request}: {message}; record it again", .path.display())]
    #[non_exhaustive]
    NotRecorded {
        /// The file.
        path: PathBuf,
        /// The request.
        request: String,
        /// The recorded error.
        message: String,
    },
    /// The request was recorded with other parameters.
    #[error("the cassette `{}` has {request} with other parameters: {}; record it again if this is intended", .path.display(), listed(.differences))]
    #[non_exhaustive]
    Changed {
        /// The file.
        path: PathBuf,
        /// The request.
        request: String,
        /// The differences from the most similar recorded one; the first few.
        differences: Vec<Difference>,
    },
}

fn listed(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A difference between a request and the recorded one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// The position in the parameters, as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The recorded value.
    pub recorded: Option<Value>,
    /// The present value, without the secrets of the server's configuration.
    pub now: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Value| Redactor::default().shown(&value.to_string(), LONGEST_VALUE);
        let text = |value: &Option<Value>| value.as_ref().map_or_else(|| "nothing".to_owned(), shown);
        let (place, recorded, now) = (printable(&self.pointer), text(&self.recorded), text(&self.now));
        write!(f, "at `{place}`: recorded {recorded}, found {now}")
    }
}

/// Returns the first few differences; empty if the values match.
pub(super) fn differences(recorded: &Value, now: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(String::new(), Some(recorded), Some(now), &mut found);
    found
}

fn compare(pointer: String, recorded: Option<&Value>, now: Option<&Value>, found: &mut Vec<Difference>) {
    if found.len() >= MOST {
        return;
    }
    match (recorded, now) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare(format!("{pointer}/{}", pointer_segment(key)), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            for index in 0..a.len().max(b.len()) {
                compare(format!("{pointer}/{index}"), a.get(index), b.get(index), found);
            }
        }
        (Some(a), Some(b)) if stands_for(a, b) => {}
        _ => found.push(Difference { pointer, recorded: recorded.cloned(), now: now.cloned() }),
    }
}

/// Returns `true` if a recorded value matches: a redacted part matches anything.
fn stands_for(recorded: &Value, now: &Value) -> bool {
    match (recorded, now) {
        (Value::String(recorded), Value::Number(_)) => recorded == REDACTED,
        (Value::String(recorded), Value::String(now)) => {
            let Some((first, rest)) = recorded.split_once(REDACTED) else { return recorded == now };
            let (middle, last) = rest.rsplit_once(REDACTED).unwrap_or(("", rest));
            let between = now.strip_prefix(first).and_then(|now| now.strip_suffix(last));
            // The texts between redacted parts follow each other, with anything before and after each.
            between.is_some_and(|now| {
                middle.split(REDACTED).try_fold(now, |now, text| Some(now.split_once(text)?.1)).is_some()
            })
        }
        _ => recorded == now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_show_the_pointer_and_both_values() {
        let recorded = json!({"a": [1, {"b/c": "x"}], "gone": null, "same": {"k": [1.5, true]}});
        let now = json!({"a": [1, {"b/c": "y"}, 3], "same": {"k": [1.5, true]}, "new": {"n": 1}});
        let texts: Vec<String> = differences(&recorded, &now).iter().map(ToString::to_string).collect();
        let expected = [
            "at `/a/1/b~1c`: recorded \"x\", found \"y\"",
            "at `/a/2`: recorded nothing, found 3",
            "at `/gone`: recorded null, found nothing",
            "at `/new`: recorded nothing, found {\"n\":1}",
        ];
        assert_eq!(texts, expected);
        assert!(differences(&recorded, &recorded).is_empty());
        let many = |n: i64| json!((0..100).map(|i| i * n).collect::<Vec<_>>());
        assert_eq!(differences(&many(1), &many(2)).len(), MOST);
        let long = Difference { pointer: String::new(), recorded: Some("x".repeat(1000).into()), now: None };
        assert!(long.to_string().len() < 300, "{long}");
    }

    #[test]
    fn redacted_part_matches_any_text() {
        let same = |recorded: &str, now: Value| differences(&recorded.into(), &now).is_empty();
        assert!(same("[redacted]", json!("k-1")) && same("[redacted]", json!(5)) && same("[redacted]", json!("")));
        assert!(same("Bearer [redacted]!", json!("Bearer x!")) && same("a[redacted]b[redacted]c", json!("a1b2c")));
        assert!(!same("Bearer [redacted]!", json!("Bearer x")) && !same("a[redacted]b", json!("b")));
        assert!(!same("a[redacted]", json!(["a"])) && !same("[redacted]", json!({"k": 1})));
    }
}

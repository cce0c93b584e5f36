//! Arguments and results in events, for programs that record content.

use mcp_bindgen_model::{is_secret_key, without_secrets};
use serde_json::{Map, Value};

use crate::ground::redact::{REDACTED, Redactor};

/// The approximate number of bytes of one value that are recorded; the rest is left out.
const MOST: usize = 16 * 1024;
const LONGEST_TEXT: usize = 4 * 1024;
/// The margin for a secret at the end of the recorded part.
const MARGIN: usize = 1024;
/// The longest text that is searched as JSON.
const LONGEST_JSON: usize = 256 * 1024;
const DEEPEST: usize = 64;
const CUT: &str = "…";

/// Copies values up to a size and without secrets: known values, values under secret keys, and values that look like
/// secrets.
pub(super) struct Copying<'r> {
    redactor: &'r Redactor,
    left: usize,
}

impl<'r> Copying<'r> {
    pub(super) const fn new(redactor: &'r Redactor) -> Self {
        Self { redactor, left: MOST }
    }

    pub(super) fn value(&mut self, key: &str, value: &Value, depth: usize) -> Value {
        self.spend(4);
        match value {
            Value::Null | Value::Bool(_) => value.clone(),
            _ if is_secret_key(key) => REDACTED.into(),
            Value::Number(number) => {
                let text = number.to_string();
                self.spend(text.len());
                if self.redactor.knows(&text) { REDACTED.into() } else { value.clone() }
            }
            Value::String(text) => self.text(key, text, depth).into(),
            Value::Array(_) | Value::Object(_) if depth == DEEPEST => CUT.into(),
            Value::Array(items) => {
                let mut copied = Vec::new();
                for item in items {
                    if self.left == 0 {
                        copied.push(CUT.into());
                        break;
                    }
                    copied.push(self.value(key, item, depth + 1));
                }
                Value::Array(copied)
            }
            Value::Object(members) => Value::Object(self.object(members, depth + 1)),
        }
    }

    pub(super) fn object(&mut self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut copied = Map::new();
        for (key, value) in members {
            if self.left == 0 {
                copied.insert(CUT.to_owned(), CUT.into());
                break;
            }
            // A key may be a secret itself.
            let name = self.text("", key, depth);
            copied.insert(name, self.value(key, value, depth));
        }
        copied
    }

    fn text(&mut self, key: &str, text: &str, depth: usize) -> String {
        let longest = LONGEST_TEXT.min(self.left);
        let text = self.as_json(text, depth).unwrap_or_else(|| {
            // Known secrets are removed before truncation, recognizable ones before the last truncation.
            let known_hidden = self.redactor.shown(text, longest.saturating_add(MARGIN));
            without_secrets(key, &known_hidden, REDACTED).into_owned()
        });
        let kept = match text.char_indices().nth(longest) {
            Some((end, _)) => format!("{}{CUT}", text.get(..end).unwrap_or_default()),
            None => text,
        };
        self.spend(kept.len() + 2);
        kept
    }

    /// Returns JSON text, which tools without a schema return, without secrets.
    fn as_json(&self, text: &str, depth: usize) -> Option<String> {
        let may_be = text.trim_start().starts_with(['{', '[']) && text.len() <= LONGEST_JSON;
        if !may_be || depth == DEEPEST {
            return None;
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let mut within = Copying { redactor: self.redactor, left: self.left.min(LONGEST_TEXT) };
        Some(within.value("", &value, depth + 1).to_string())
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::redact::PrivateValues;
    use serde_json::json;

    fn redacted(redactor: &Redactor, value: &Value) -> Value {
        Copying::new(redactor).value("", value, 0)
    }

    fn redactor() -> Redactor {
        let mut values = PrivateValues::default();
        values.secret("hunter22");
        values.secret("8675309");
        Redactor::new(&values)
    }

    #[test]
    fn secrets_are_redacted_by_key_by_format_and_by_value() {
        let token = format!("{}_{}", "ghp", "a1B2".repeat(9));
        let value = json!({
            "title": "It broke", "number": 5, "phone": 8_675_309, "draft": true, "max_tokens": 100, "password": null,
            "apiKey": "abc", "credentials": { "user": "ada", "pin": [1, 2] }, "note": format!("see {token} and hunter22"),
            "hunter22": "x", "text": "{\"client_secret\": \"s3\", \"page\": 2}", "list": [{ "auth_token": "t" }, "hunter22"],
        });
        let expected = json!({
            "title": "It broke", "number": 5, "phone": REDACTED, "draft": true, "max_tokens": 100, "password": null,
            "apiKey": REDACTED, "credentials": REDACTED, "note": format!("see {REDACTED} and {REDACTED}"),
            "[redacted]": "x", "text": "{\"client_secret\":\"[redacted]\",\"page\":2}",
            "list": [{ "auth_token": REDACTED }, REDACTED],
        });
        assert_eq!(redacted(&redactor(), &value), expected);
    }

    #[test]
    fn large_content_is_truncated_but_never_inside_a_secret() {
        let long = format!("{}hunter22{}", "a ".repeat(LONGEST_TEXT / 2 - 2), "b".repeat(1_000_000));
        let token = format!("{}{}_{} more", "c ".repeat(LONGEST_TEXT / 2 - 5), "ghp", "a1B2".repeat(9));
        let mut deep = json!("hunter22");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        let wide: Vec<Value> = (0..100_000).map(|number| json!({ "n": number, "t": "some text" })).collect();
        for value in [json!(long), json!(token), deep, json!(wide), json!({ "data": "=".repeat(1 << 20) })] {
            let copied = redacted(&redactor(), &value).to_string();
            assert!(copied.len() < 3 * MOST, "{} bytes", copied.len());
            assert!(!copied.contains("hunt") && !copied.contains("ghp"), "{}", &copied[copied.len() - 100..]);
            assert!(copied.contains(CUT), "{}", &copied[..100]);
        }
    }
}

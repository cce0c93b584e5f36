//! Parses untrusted JSON: one invalid value does not invalidate the rest.

use serde_json::Value;

use crate::locate::Scanner;
use crate::text::without_byte_order_mark;

/// The replacement for a number that no double holds, such as `1e400`. It is close to the greatest double, which real
/// files contain, and all parsers read and print it alike.
const BEYOND: f64 = 1.797e308;
/// `serde_json` reads containers in containers up to here.
const DEEPEST: usize = 127;

/// The `$comment` of an object that replaces one that was nested too deeply.
pub const TOO_DEEP: &str = "nested too deeply";

/// A parsed value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lenient {
    /// The value.
    pub value: Value,
    /// `true` if parts of the value replace unreadable ones.
    pub is_mended: bool,
    /// `true` if more than unpaired surrogates was lost: numbers, or too deeply nested values.
    pub is_lossy: bool,
}

/// Parses JSON, and replaces values that a [`Value`] cannot hold. A number beyond the range of doubles becomes one that
/// [`is_beyond_doubles`] detects, and an unpaired surrogate becomes U+FFFD. Values nested deeper than 127 levels become
/// an empty list, or an object whose only member is a `$comment`, [`TOO_DEEP`].
///
/// # Errors
/// Fails if the text is still not JSON.
///
/// ```
/// let read = mcp_bindgen_model::parse_leniently(r#"{ "maximum": 1e400, "minimum": 0 }"#)?;
/// assert!(read.is_mended);
/// assert_eq!(read.value["minimum"], 0);
/// assert!(mcp_bindgen_model::is_beyond_doubles(&read.value["maximum"]));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn parse_leniently(text: &str) -> Result<Lenient, serde_json::Error> {
    let text = without_byte_order_mark(text);
    serde_json::from_str(text).map(|value| Lenient { value, is_mended: false, is_lossy: false }).or_else(|error| {
        let mut mending =
            Mending { text, scanner: Scanner::new(text), copied: 0, mended: String::new(), is_lossy: false };
        mending.run();
        if mending.copied == 0 {
            return Err(error);
        }
        mending.replace(text.len(), text.len(), "");
        let value = serde_json::from_str(&mending.mended)?;
        Ok(Lenient { value, is_mended: true, is_lossy: mending.is_lossy })
    })
}

/// Returns `true` for a number that replaces one beyond the range of doubles.
#[must_use]
pub fn is_beyond_doubles(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.is_f64()
        && number.as_f64().is_some_and(|double| double.abs() == BEYOND))
}

/// A copy of a text with replaced parts.
struct Mending<'t> {
    text: &'t str,
    scanner: Scanner<'t>,
    copied: usize,
    mended: String,
    is_lossy: bool,
}

impl Mending<'_> {
    fn run(&mut self) {
        let mut depth = 0usize;
        while let Some(byte) = self.scanner.peek() {
            match byte {
                b'"' => self.string(),
                b'{' | b'[' if depth == DEEPEST - 1 => self.too_deep(byte == b'{'),
                b'{' | b'[' => {
                    depth += 1;
                    self.scanner.position += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.scanner.position += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => self.scanner.position += 1,
                _ => self.token(),
            }
        }
    }

    fn replace(&mut self, start: usize, end: usize, with: &str) {
        self.mended.push_str(self.text.get(self.copied..start).unwrap_or_default());
        self.mended.push_str(with);
        self.copied = end;
    }

    /// Moves past a string, and mends the escapes in it.
    fn string(&mut self) {
        self.scanner.position += 1;
        while let Some(byte) = self.scanner.peek() {
            let at = self.scanner.position;
            self.scanner.position += match byte {
                b'\\' => match self.escaped(at) {
                    Some(0xD800..=0xDBFF) if matches!(self.escaped(at + 6), Some(0xDC00..=0xDFFF)) => 12,
                    Some(0xD800..=0xDFFF) => {
                        self.replace(at, at + 6, "\\ufffd");
                        6
                    }
                    _ => 2,
                },
                _ => 1,
            };
            if byte == b'"' {
                return;
            }
        }
    }

    /// Returns the unit that an escape `\uXXXX` at `start` writes.
    fn escaped(&self, start: usize) -> Option<u16> {
        let digits = self.text.get(start..start.checked_add(6)?)?.strip_prefix("\\u")?;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
    }

    /// Moves past a number or a word. Python writes `NaN` and `Infinity`, which are no JSON.
    fn token(&mut self) {
        let start = self.scanner.position;
        self.scanner.skip_scalar();
        let end = self.scanner.position;
        let token = self.text.get(start..end).unwrap_or_default();
        let digits = token.strip_prefix('-').unwrap_or(token);
        let is_number = digits.starts_with(|first: char| first.is_ascii_digit());
        let is_beyond = is_number && token.parse::<f64>().is_ok_and(f64::is_infinite);
        if is_beyond || matches!(digits, "Infinity" | "NaN") {
            self.is_lossy = true;
            let sign = if digits.len() < token.len() { "-" } else { "" };
            self.replace(start, end, &format!("{sign}{BEYOND:e}"));
        }
    }

    /// Replaces a container; its line breaks stay, for the lines of errors.
    fn too_deep(&mut self, is_object: bool) {
        self.is_lossy = true;
        let start = self.scanner.position;
        // A container that does not end is replaced too: the text is no JSON in either case.
        let _ = self.scanner.skip_value();
        let end = self.scanner.position;
        let skipped = self.text.get(start..end).unwrap_or_default();
        let lines = "\n".repeat(skipped.matches('\n').count());
        let stand_in = if is_object { format!("{{\"$comment\":\"{TOO_DEEP}\"{lines}}}") } else { format!("[{lines}]") };
        self.replace(start, end, &stand_in);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn mended(text: &str) -> Value {
        let read = parse_leniently(text).expect("it can be mended");
        assert!(read.is_mended, "{text}");
        read.value
    }

    #[test]
    fn numbers_beyond_f64_are_replaced_and_the_rest_is_parsed() {
        for number in ["1e400", "1E+999", "123e99999999999", "Infinity", "NaN"] {
            let value = mended(&format!("[{number}, 5, \"{number}\"]"));
            assert!(is_beyond_doubles(&value[0]), "{number}");
            assert!(parse_leniently(&format!("[{number}]")).expect("it can be mended").is_lossy);
            assert_eq!((&value[1], &value[2]), (&json!(5), &json!(number)));
        }
        let negative = mended(r#"{"a":-1e400,"b":-Infinity}"#);
        assert!(negative["a"].as_f64() < Some(0.0) && negative["a"] == negative["b"]);
        assert!(!is_beyond_doubles(&json!(f64::MAX)));
        let read = parse_leniently(&json!(BEYOND).to_string()).expect("a number");
        assert!(!read.is_mended && is_beyond_doubles(&read.value), "it stays what it is in a file");
    }

    #[test]
    fn unpaired_surrogates_are_replaced() {
        let text = r#"["\ud83d\ude00", "\ud83d", "\ude00x", "\\ud83d", "\ud83d\ud83d\ude00", "\"\ud800"]"#;
        assert!(!parse_leniently(text).expect("it can be mended").is_lossy);
        assert_eq!(mended(text), json!(["😀", "\u{fffd}", "\u{fffd}x", "\\ud83d", "\u{fffd}😀", "\"\u{fffd}"]));
    }

    #[test]
    fn too_deeply_nested_values_are_replaced() {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let deep = format!("{}1{}", open.repeat(5000), close.repeat(5000));
            let value = mended(&format!("[{deep}, \"kept\"]"));
            assert_eq!(value[1], "kept");
            assert!(serde_json::from_str::<Value>(&value.to_string()).is_ok(), "it can be read again");
        }
        assert!(mended(&format!("{}{}{}", "{\"a\":".repeat(200), 1, "}".repeat(200))).to_string().contains(TOO_DEEP));
    }

    #[test]
    fn malformed_json_is_an_error() {
        for text in ["", "[1e400", "{\"a\":1e400,}", "[1e400 1]", "\"\\ud800", "[NaNs]", "[01e400]]", "1e"] {
            assert!(parse_leniently(text).is_err(), "{text}");
        }
        let error = parse_leniently("[\n1e400,\n1e400,\n]").expect_err("a trailing comma");
        assert_eq!(error.line(), 4);
    }
}
